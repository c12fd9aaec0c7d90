# test/kube/access.py - the operator's service account on a cluster, with the rights that `muster rbac` prints and no others.
import json
import subprocess

from conftest import MUSTER

NAMESPACE = "muster-system"
ACCOUNT = "muster-operator"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"


def printed(*words: str) -> list[dict]:
    """What `muster rbac` prints."""
    done = subprocess.run([str(MUSTER), "rbac", "-o", "json", *words], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["items"]


def path_of(item: dict) -> str:
    """Where objects of this sort are."""
    version, kind, ns = item["apiVersion"], item["kind"].lower() + "s", item["metadata"].get("namespace")
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    return f"{root}/namespaces/{ns}/{kind}" if ns else f"{root}/{kind}"


def install(cluster) -> None:
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for item in printed():
        status, answer = cluster.request("POST", path_of(item), item)
        assert status in (201, 409), answer


def token(cluster, account: str = ACCOUNT, ns: str = NAMESPACE) -> str:
    status, answer = cluster.request("POST", f"/api/v1/namespaces/{ns}/serviceaccounts/{account}/token",
                                     {"spec": {"expirationSeconds": 86400}})
    assert status == 201, answer
    return answer["status"]["token"]


def operator_kubeconfig(cluster):
    """The kubeconfig of the operator's account, which is made when it is not there yet."""
    kept = cluster.folder / "operator.kubeconfig"
    if not kept.exists():
        install(cluster)
        cluster.write_kubeconfig(kept.name, user={"token": token(cluster)})
    return kept
