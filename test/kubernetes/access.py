# test/kubernetes/access.py - the operator's service account on a cluster, with the rights that `muster rbac` prints and no others;
# what it has asked is in the API server's audit log.
import json
import os
import pathlib
import subprocess

from waiting import until

MUSTER = pathlib.Path(os.environ.get("MUSTER", pathlib.Path(__file__).resolve().parent.parent.parent / "build/release/muster"))
NAMESPACE = "muster-system"
ACCOUNT = "muster-operator"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
AUDIT = f"""apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {{level: Request, users: ["{USER}"], verbs: [create, update, patch]}}
- {{level: Metadata, users: ["{USER}"]}}
- {{level: None}}
"""


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
    until("the API server knows its rights", lambda: all(is_allowed(cluster, each) for each in [
        {"verb": "list", "group": "batch", "resource": "jobs"},
        {"verb": "create", "group": "coordination.k8s.io", "resource": "leases", "namespace": NAMESPACE}]))


def is_allowed(cluster, what: dict) -> bool:
    """Whether the API server, which hears of roles a moment after they are written, would let the operator do it."""
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return cluster.request("POST", path, {"spec": {"user": USER, "resourceAttributes": what}})[1]["status"]["allowed"]


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


def audited(folder: pathlib.Path) -> list[str]:
    """Flags of an API server that writes down what the operator asks."""
    (folder / "audit.yaml").write_text(AUDIT)
    return [f"--audit-policy-file={folder}/audit.yaml", f"--audit-log-path={folder}/audit.log"]


def asked_until_now(folder: pathlib.Path) -> int:
    """A place in that, for `asked`."""
    log = folder / "audit.log"
    return log.stat().st_size if log.exists() else 0


def asked(folder: pathlib.Path, since: int = 0) -> list[dict]:
    """What the operator has asked until now, or since then."""
    log = folder / "audit.log"
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(since)
        return [json.loads(line) for line in file.read().splitlines() if line.endswith(b"}")]


def refused(folder: pathlib.Path) -> set[str]:
    """What it has asked and has no right to. Others forbid too: a webhook, a namespace that is going, a quota."""
    return {f"{each['verb']} {each['requestURI'].partition('?')[0]}: {each['responseStatus'].get('message', '')}"
            for each in asked(folder) if is_refusal(each)}


def is_refusal(request: dict) -> bool:
    answer = request.get("responseStatus", {})
    return (answer.get("code") == 401 or request.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
            or "you can't set finalizers on" in answer.get("message", ""))
