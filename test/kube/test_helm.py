# test/kube/test_helm.py - helm on the real Kubernetes and on `muster up`: the same lines are typed, the same answers come.
import difflib
import os
import re
import subprocess

import pytest

import cluster as partner
from conftest import ROOT, Cluster, until
from kubelet import Kubelet
from up import UpServer

CHART = ROOT / "test/kube/chart"
# What differs from run to run: times, what chance has made, names that end in chance.
MASKS = [(r"\b20\d\d-\d\d-\d\d[T ][0-9:.]+( ?(Z|UTC|[+-]\d\d\d\d( UTC)?))?", "TIME"),
         (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ [0-9:]+ 20\d\d", "TIME"), (r"(?m)^ +key: \S+$", "key: CHANCE"),
         (r"\b10\.96\.\d+\.\d+", "ADDRESS"), (r"\bshop-[a-z0-9]{8,10}-[a-z0-9]{5}\b", "shop-POD"), (r"(?m)\b\d+[sm](\d+s)?$", "AGE"),
         (r"https://127\.0\.0\.1:\d+", "SERVER"), (r"modifiedAt=\d+", "modifiedAt=TIME"), (r"in \d+(\.\d+)?m?s", "in TIME"), (r'(?m)^(level|time)=\S+ (level=\S+ )?', "")]


class Shell:
    """Where helm and kubectl are typed for one server; keeps what was said."""

    def __init__(self, name: str, server):
        self.name, self.server, self.said = name, server, []
        at = server.folder / "helm"
        self.env = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HELM_CACHE_HOME": f"{at}", "HELM_CONFIG_HOME": f"{at}",
                    "HELM_DATA_HOME": f"{at}", "KUBECACHEDIR": f"{at}", "PATH": f"{partner.programs()}:{os.environ['PATH']}"}

    def type(self, line: str, code: int = 0) -> str:
        """What it says, on both outputs; `CHART` is the chart."""
        command = line.replace("CHART", str(CHART)).replace("kubectl ", f"{partner.kubectl()} ", 1)
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=240, env=self.env, check=False)
        text = done.stdout + done.stderr
        assert done.returncode == code, f"{self.name}: {line}: {done.returncode}\n{text[-4000:]}"
        for pattern, word in MASKS:
            text = re.sub(pattern, word, text)
        text = re.sub(" +", " ", text)  # Columns are as wide as what is masked.
        if "\nRESOURCES:" in text:
            # By kind, in an order that helm leaves to chance.
            text = "\n\n".join(sorted(text.replace("RESOURCES:\n", "RESOURCES:\n\n").split("\n\n")))
        self.said.append((line, text))
        return text

    def get(self, path: str) -> dict:
        status, answer = self.server.request("GET", path)
        return answer if status == 200 else {}


@pytest.fixture(scope="module")
def shells(tmp_path_factory):
    """Both servers, each with a node that runs pods."""
    real, kubelet = Cluster(tmp_path_factory.mktemp("helm"), with_controllers=True, with_scheduler=True), None
    ours = UpServer(tmp_path_factory.mktemp("helm-up"), "--node", "node:cpu=8,memory=8Gi,pods=110")
    try:
        kubelet = Kubelet(real.start(), runs=True)
        yield [Shell("kubernetes", real), Shell("muster up", ours.start())]
    finally:
        if kubelet:
            kubelet.stop()
        real.stop()
        ours.stop()


def same(shells, play) -> None:
    """Plays on both, and compares what was said line by line."""
    for shell in shells:
        shell.said.clear()
        play(shell)
    for (line, theirs), (_, ours) in zip(*(shell.said for shell in shells)):
        if theirs != ours:
            raise AssertionError(f"$ {line}\n" + "\n".join(difflib.unified_diff(
                theirs.splitlines(), ours.splitlines(), shells[0].name, shells[1].name, lineterm="")))
    assert len(shells[0].said) == len(shells[1].said)


def managers(thing: dict) -> list[tuple]:
    return sorted({(each["manager"], each["operation"]) for each in thing["metadata"]["managedFields"]} - {
        ("kube-controller-manager", "Update"), ("muster", "Update")})


def test_a_release_from_its_first_to_its_last_day(shells):
    def play(shell: Shell) -> None:
        shell.type("kubectl create namespace shops")
        said = shell.type("helm install shop CHART -n shops --wait --timeout 120s")
        assert "STATUS: deployed" in said and "shop says hello in shops, for the 1. time." in said
        for line in ("helm list -n shops", "helm status shop -n shops", "helm get manifest shop -n shops", "helm get values -a shop -n shops",
                     "helm get hooks shop -n shops", "helm get notes shop -n shops", "helm get metadata shop -n shops"):
            assert "shop" in shell.type(line) or "values" in line
        words, key = (shell.get(f"/api/v1/namespaces/shops/{path}")["data"] for path in ("configmaps/shop-words", "secrets/shop-key"))
        assert words == {"words": "hello", "here": "shops", "knows": "true"}
        # The hook without a deletion policy stays; that of before is gone.
        jobs = shell.get("/apis/batch/v1/namespaces/shops/jobs")["items"]
        assert [(job["metadata"]["name"], job["status"]["succeeded"]) for job in jobs] == [("shop-after", 1)]
        assert "tried hello" in shell.type("helm test shop -n shops --logs --timeout 120s")
        assert "for the 2. time" in shell.type("helm upgrade shop CHART -n shops --set words=hi --set replicas=2 --wait --timeout 120s")
        assert shell.get("/api/v1/namespaces/shops/secrets/shop-key")["data"]["key"] == key["key"], "it did not look up what there was"
        deployed = shell.get("/apis/apps/v1/namespaces/shops/deployments/shop")
        assert deployed["status"]["readyReplicas"] == deployed["status"]["updatedReplicas"] == 2
        assert shell.get("/apis/test.muster.dev/v1/namespaces/shops/banners/shop")["spec"]["words"] == ["hi", "shops"]
        assert "superseded" in shell.type("helm history shop -n shops")
        assert "Rollback was a success" in shell.type("helm rollback shop 1 -n shops --wait --timeout 120s")
        assert shell.get("/api/v1/namespaces/shops/configmaps/shop-words")["data"]["words"] == "hello"
        assert shell.type("kubectl get -n shops banners,configmaps,secrets,roles,rolebindings,serviceaccounts -l app.kubernetes.io/instance=shop -o name")
        assert "Rollback to 1" in shell.type("helm history shop -n shops")
        assert 'release "shop" uninstalled' in shell.type("helm uninstall shop -n shops --wait --timeout 120s")
        heard = len(shell.said)  # How often is asked is not compared.
        for kind in ("configmaps", "secrets", "deployments", "services", "roles", "banners", "pods"):
            until(f"the {kind} are gone", lambda kind=kind: not shell.type(f"kubectl get -n shops {kind} -l app.kubernetes.io/instance=shop -o name"))
        del shell.said[heard:]
        shell.type("kubectl get crd banners.test.muster.dev -o name")
        assert "not found" in shell.type("helm status shop -n shops", 1)
    same(shells, play)


def test_what_others_changed_meanwhile(shells):
    """By server-side apply it is a conflict that may be forced; by helm's own three-way merge what is theirs stays."""
    def play(shell: Shell) -> None:
        shell.type("kubectl create namespace shared")
        shell.type("helm install ours CHART -n shared --no-hooks")
        maps = "/api/v1/namespaces/shared/configmaps"
        assert managers(shell.get(f"{maps}/ours-words")) == [("helm", "Apply")]
        shell.type("""kubectl patch cm -n shared ours-words --type merge -p '{"data":{"words":"theirs","more":"stays"}}'""")
        shell.type("kubectl scale -n shared deployment/ours --replicas 2")
        refused = shell.type("helm upgrade ours CHART -n shared --no-hooks --set words=hi", 1)
        assert "conflict with \"kubectl-patch\"" in refused and "words" in refused
        shell.type("helm upgrade ours CHART -n shared --no-hooks --set words=hi --force-conflicts")
        assert shell.get(f"{maps}/ours-words")["data"] == {"words": "hi", "here": "shared", "knows": "true", "more": "stays"}
        shell.type("helm history ours -n shared")
        shell.type("helm install merged CHART -n shared --no-hooks --server-side=false")
        shell.type("""kubectl patch cm -n shared merged-words --type merge -p '{"data":{"words":"theirs","more":"stays"}}'""")
        shell.type("kubectl label banner -n shared merged mine=too")
        shell.type("helm upgrade merged CHART -n shared --no-hooks --server-side=false --set words=hi --set colour=green")
        assert shell.get(f"{maps}/merged-words")["data"] == {"words": "hi", "here": "shared", "knows": "true", "more": "stays"}
        banner = shell.get("/apis/test.muster.dev/v1/namespaces/shared/banners/merged")
        assert banner["spec"] == {"colour": "green", "words": ["hi", "shared"]} and banner["metadata"]["labels"]["mine"] == "too"
        # Somebody else's object is not taken over unasked.
        assert "cannot reuse a name that is still in use" in shell.type("helm install ours CHART -n shared --no-hooks", 1)
        shell.type("kubectl create cm -n shared taken-words")
        refused = shell.type("helm install taken CHART -n shared --no-hooks", 1)
        assert "exists and cannot be imported into the current release" in refused
        shell.type("helm install taken CHART -n shared --no-hooks --take-ownership --force-conflicts")
        assert shell.type("helm list -n shared --filter 'ours|taken' -q").split() == ["ours", "taken"]
        for name in ("ours", "merged", "taken"):
            shell.type(f"helm uninstall {name} -n shared --no-hooks")
    same(shells, play)


def test_what_fails_is_said_and_taken_back(shells):
    def play(shell: Shell) -> None:
        shell.type("helm install sad CHART -n sads --create-namespace --wait --timeout 120s")
        # A hook that fails, and what was there stays.
        said = shell.type("helm upgrade sad CHART -n sads --set hookExit=3 --set words=never --timeout 120s", 1)
        assert "pre-upgrade hooks failed" in said
        assert "failed" in shell.type("helm list -n sads")
        assert shell.get("/api/v1/namespaces/sads/configmaps/sad-words")["data"]["words"] == "hello"
        # What the server refuses.
        refused = shell.type("helm upgrade sad CHART -n sads --set colour=purple", 1)
        assert 'Unsupported value: "purple"' in refused
        refused = shell.type("helm upgrade sad CHART -n sads --set replicas=many", 1)
        # Pods that never become ready: told, and with the flag for it taken back.
        assert "failed" in shell.type("helm upgrade sad CHART -n sads --set ready=false --set words=late --no-hooks --wait --timeout 4s > /dev/null 2>&1 || echo failed")
        assert "failed" in shell.type("helm upgrade sad CHART -n sads --set ready=false --set words=later --no-hooks --wait --timeout 12s --rollback-on-failure"
                                      " > /dev/null 2>&1 || echo failed")
        until("it is as it was", lambda: shell.get("/api/v1/namespaces/sads/configmaps/sad-words")["data"]["words"] in ("hello", "late"))
        shell.type("helm history sad -n sads")
        shell.type("helm rollback sad 1 -n sads --wait --timeout 120s")
        assert shell.get("/api/v1/namespaces/sads/configmaps/sad-words")["data"]["words"] == "hello"
        # The farewell's exit is that of the release that goes.
        shell.type("helm uninstall sad -n sads --keep-history --wait --timeout 120s")
        assert shell.type("helm list -n sads --uninstalled -q") == "sad\n"
    same(shells, play)


def test_what_would_be_is_rendered_the_same(shells):
    def play(shell: Shell) -> None:
        shell.type("kubectl create namespace looked")
        said = shell.type("helm install look CHART -n looked --dry-run=server --set words=hi")
        assert "here: looked" in said
        shell.type("helm template look CHART -n looked --dry-run=server --kube-version 1.36.0 --show-only templates/data.yaml")
        assert shell.type("helm list -n looked -q") == ""
    same(shells, play)
