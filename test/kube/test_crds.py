# test/kube/test_crds.py - `muster crds` beside the CustomResourceDefinitions of Kueue, KubeRay and MCAD.
import concurrent.futures
import json
import re
import subprocess
import sys

import pytest

import cluster as partner
from conftest import MUSTER, ROOT, Cluster, until

sys.path.insert(0, str(ROOT / "test/kubernetes/crds"))
import changes  # noqa: E402
import compare  # noqa: E402
import objects  # noqa: E402
import originals  # noqa: E402
from side import Side  # noqa: E402

# What differs on purpose; each is a row of docs/deviations.md.
EXPLAINED = [
    (r"^ray\S+ \S+:\S*[tT]emplate\.spec\.(schedulingGroup|workloadRef) field", "pod templates are those of Kubernetes 1.36, not 1.35"),
    (r"^rayjobs\S+ v1:\.status\.jobStatusCheckFailureStartTime field", "of KubeRay's next version"),
    (r"^appwrappers\S+ +names\.shortNames", "that of v1beta2"),
    (r"^appwrappers\S+ \S+\.forcefulDeletionAfterSeconds field", "of MCAD after v1.40"),
    (r"^appwrappers\S+ \S+\.(trafficDistribution|pendingpodconditions\[\]\.conditions\[\]\.observedGeneration) field", "Kubernetes 1.36"),
    (r"^appwrappers\S+ \S+\.status\.totalmemory format", "bytes of memory are more than 31 bits hold"),
]
EXPLAINED_ANSWERS = {"AppWrapper v1beta1 .status.totalmemory: beyond int32"}
WITHOUT_ORIGINAL = {"appwrappers.mcad.ibm.com"}
SIZE_MAX = 1_000_000  # etcd takes 1.5 MB.


def muster_crds(*words: str) -> list[dict]:
    done = subprocess.run([str(MUSTER), "crds", "-o", "json", *words], capture_output=True, text=True, check=True, timeout=60)
    printed = json.loads(done.stdout)
    return printed["items"] if printed["kind"] == "List" else [printed]


@pytest.fixture(scope="module")
def ours() -> dict[str, dict]:
    return {crd["metadata"]["name"]: crd for crd in muster_crds()}


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict]:
    return originals.originals()


def test_every_field_is_that_of_the_original(ours, theirs):
    found = [f"{name} {path} {keyword}: {one} | {other}" for name, crd in ours.items() if name not in WITHOUT_ORIGINAL
             for path, keyword, one, other in compare.compare(theirs[name], crd)]
    assert [line for line in found if not any(re.search(pattern, line) for pattern, _ in EXPLAINED)] == []
    assert [pattern for pattern, _ in EXPLAINED if not any(re.search(pattern, line) for line in found)] == []


def test_they_are_small_enough_for_etcd(ours):
    assert {name: size for name, crd in ours.items() if (size := len(json.dumps(crd))) > SIZE_MAX} == {}


def test_what_is_committed_is_what_is_printed():
    done = subprocess.run([sys.executable, str(ROOT / "scripts/write_crds.py"), "--check", "--muster", str(MUSTER)],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_word_that_names_nothing_is_an_error():
    done = subprocess.run([str(MUSTER), "crds", "nonsense"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert 'no kind or group of Muster\'s is called "nonsense"' in done.stderr and "workloads.kueue.x-k8s.io" in done.stderr


@pytest.mark.parametrize("word", ["kueue.x-k8s.io", "ClusterQueue", "cq", "clusterqueues.kueue.x-k8s.io"])
def test_kinds_and_groups_can_be_named(word):
    names = [crd["metadata"]["name"] for crd in muster_crds(word)]
    assert "clusterqueues.kueue.x-k8s.io" in names
    assert len(names) == (11 if "." in word and not word.startswith("cluster") else 1)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("crds"))
    try:
        yield made.start()
    finally:
        made.stop()


def conditions_of(cluster, name: str) -> dict[str, str]:
    crd = cluster.request("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")[1]
    return {each["type"]: each["status"] for each in crd["status"].get("conditions") or []}


@pytest.mark.parametrize("words", [[], ["--no-conversion"]])
def test_kubectl_applies_them_and_all_become_established(server, ours, words):
    text = subprocess.run([str(MUSTER), "crds", *words], capture_output=True, text=True, check=True, timeout=60).stdout
    done = subprocess.run([partner.kubectl(), "--kubeconfig", str(server.kubeconfig), "apply", "--server-side", "-f", "-"], input=text,
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    for name in ours:
        until(f"{name} is established", lambda: conditions_of(server, name).get("Established") == "True")
        assert "NonStructuralSchema" not in conditions_of(server, name)


def missing(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(MUSTER), "crds", "--missing", "-o", "json", *words], capture_output=True, text=True, check=False,
                          timeout=60)


def test_what_somebody_else_brought_is_left_out(server):
    """Ours are there from the tests above; the label is what makes them ours."""
    at = ["--kubeconfig", str(server.kubeconfig), "kueue.x-k8s.io"]
    names = [crd["metadata"]["name"] for crd in muster_crds("--missing", *at)]
    assert len(names) == 11
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    unlabelled = {"metadata": {"labels": {"app.kubernetes.io/part-of": None}}}
    for name in names:
        server.request("PATCH", f"{definitions}/{name}", unlabelled, "application/merge-patch+json")
    done = missing(*at)
    assert (done.returncode, done.stdout) == (0, "")
    assert "has these from somebody else, and they stay as they are: " + ", ".join(names) in done.stderr
    assert done.stderr.endswith("no definition is missing\n")
    assert len(muster_crds("--missing", *at[:2])) == 4
    elsewhere = missing(*at, "--context", "elsewhere")
    assert (elsewhere.returncode, elsewhere.stdout) == (1, "") and '"elsewhere"' in elsewhere.stderr


def test_an_unreachable_cluster_is_an_error_and_prints_nothing():
    port = partner.free_ports(1)[0]
    done = missing("--server", f"https://127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"127.0.0.1:{port}" in done.stderr


@pytest.fixture(scope="module")
def sides(server, ours, theirs) -> dict[tuple[str, str], tuple[Side, Side]]:
    """(kind, version) to the original and ours."""
    made = {}
    for name, crd in ours.items():
        if name in WITHOUT_ORIGINAL:
            continue
        for version in crd["spec"]["versions"]:
            original = next(v for v in theirs[name]["spec"]["versions"] if v["name"] == version["name"])
            pair = Side(server, theirs[name], original, "original"), Side(server, crd, version, "muster")
            made[crd["spec"]["names"]["kind"], version["name"]] = pair
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(Side.install, [side for pair in made.values() for side in pair]))
    for side in (side for pair in made.values() for side in pair):
        until(f"{side.group} is served", lambda: server.request("GET", side.path)[0] == 200)
    return made


def test_objects_at_and_beyond_each_limit_get_the_same_answer(sides):
    counts = {"taken": 0, "refused": 0}

    def judge(case: tuple[Side, Side, dict, dict, str, dict]):
        original, muster, there, here, what, body = case
        if "status" in body:
            return what, original.judge_change(there, {}, body), muster.judge_change(here, {}, body)
        return what, original.judge_new(body), muster.judge_new(body)

    cases = []
    for (kind, version), (original, muster) in sides.items():
        schema = original.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        base = objects.smallest(kind, schema)
        there, here = original.created(base, "base"), muster.created(base, "base")
        cases += [(original, muster, there, here, f"{kind} {version} {what}", body)
                  for what, body in objects.beside_limits(kind, schema)]
    different = []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for what, one, other in pool.map(judge, cases):
            counts["taken" if one["status"] < 300 else "refused"] += 1
            if one != other and what not in EXPLAINED_ANSWERS:
                different.append((what, one, other))
    assert not different, "\n".join(f"{what}: {one} | {other}" for what, one, other in different)
    assert counts["taken"] > 1500 and counts["refused"] > 1500, counts


def test_rules_judge_alike_and_every_rule_refuses_something(sides):
    different, wrong, heard = [], [], set()
    for number, (kind, versions, before, after, fine) in enumerate(changes.ROWS):
        for version in versions:
            one, other = (side.judge(f"row-{number}", before, after) for side in sides[kind, version])
            if one != other:
                different.append((kind, version, before, after, one, other))
            if (one["status"] < 300) != fine:
                wrong.append((kind, version, before, after, one))
            heard.add(json.dumps(one["answer"]))
    assert different == []
    assert wrong == []
    messages = {rule["message"] for original, _ in sides.values()
                for rule in rules_of(original.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])}
    assert {message for message in messages if not any(json.dumps(message)[1:-1] in text for text in heard)} == set()
    assert len(messages) > 35


def rules_of(schema: dict) -> list[dict]:
    found = list(schema.get("x-kubernetes-validations", []))
    for child in compare.below(schema).values():
        found += rules_of(child)
    return found
