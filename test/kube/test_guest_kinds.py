# test/kube/test_guest_kinds.py - the kinds of others that queues manage, by their own definitions, on kube-apiserver and `muster up`.
import concurrent.futures
import re
import subprocess
import sys

import pytest

import cluster as partner
from conftest import ROOT, Cluster, until
from up import UpServer

sys.path.insert(0, str(ROOT / "test/kubernetes/crds"))
import guest_jobs  # noqa: E402
import objects  # noqa: E402
import originals  # noqa: E402
from side import Side  # noqa: E402

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Of each kind about so many objects are judged: some have thousands of limits, most of them those of pods.
JUDGED = 400
# Answers that differ on purpose; each is a row of docs/deviations.md.
EXPLAINED = [r"\.(time|lastProbeTime|lastTransitionTime): of another type"]


@pytest.fixture(scope="module")
def guests() -> dict[str, dict]:
    return originals.guests()


def judged(crd: dict) -> dict[str, str]:
    return {each["type"]: each["status"] + " " + each["reason"] + " " + each["message"] for each in crd["status"].get("conditions") or []}


@pytest.fixture(scope="module")
def servers(tmp_path_factory, guests):
    """The real API server and Muster's, both alone, with all the definitions."""
    both = Cluster(tmp_path_factory.mktemp("guests")), UpServer(tmp_path_factory.mktemp("guests-up"), "--api-only")
    try:
        for server in both:
            server.start()
            for name, crd in guests.items():
                status, answer = server.request("POST", DEFINITIONS, crd)
                assert status == 201, (name, answer)
        for server in both:
            for name, crd in guests.items():
                version = crd["spec"]["versions"][0]["name"]
                path = f"/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}"
                until(f"{name} is served", lambda server=server, path=path: server.request("GET", path)[0] == 200)
        yield both
    finally:
        for server in both:
            server.stop()


def test_both_take_the_definitions_and_say_the_same_of_them(servers, guests):
    for name in guests:
        one, other = (server.request("GET", f"{DEFINITIONS}/{name}")[1] for server in servers)
        assert (one["spec"], judged(one), one["status"]["acceptedNames"]) == (
            other["spec"], judged(other), other["status"]["acceptedNames"]), name


def unknown(schema: dict, path: str) -> str:
    """The first step of a path that the schema does not have; below what keeps every field all are there."""
    for step in re.findall(r"\[\]|[^.\[\]]+", path):
        if step == "[]":
            schema = schema.get("items") or {}
        elif step in schema.get("properties", {}):
            schema = schema["properties"][step]
        elif isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
        else:
            return "" if schema.get("x-kubernetes-preserve-unknown-fields") else step
    return ""


def test_every_field_that_queues_read_or_write_is_in_the_definitions(guests):
    schemas = {crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for crd in guests.values()}
    text = (ROOT / "src/control/queue/guest_fields.inc").read_text()
    fields = [line.split() for line in text.split('R"fields(')[1].split(")fields")[0].splitlines()]
    assert {kind for kind, _ in fields} == set(schemas)
    assert [(kind, path, step) for kind, path in fields if (step := unknown(schemas[kind], path))] == []
    assert unknown(schemas["JobSet"], "spec.replicatedJobs[].nonsense") == "nonsense"


def written(server: Cluster, job: guest_jobs.GuestJob) -> dict:
    """One that its operator has said something about, as the server has it."""
    status, made = server.request("POST", job.path.format(ns="default"), job.made("shown"))
    assert status == 201, (job.kind, made)
    status, made = server.request("PUT", job.path.format(ns="default") + "/shown/status", {**made, "status": job.end})
    assert status == 200, (job.kind, made)
    return {"spec": made["spec"], "status": made["status"]}


def shown(server: Cluster, job: guest_jobs.GuestJob) -> str:
    """Ages are not the same."""
    words = [partner.kubectl(), "--kubeconfig", str(server.kubeconfig), "get", job.resource, "-o", "wide"]
    text = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    return re.sub(r"\b\d+(m\d+)?s\b *", "AGE", re.sub(r"AGE *", "AGE", text))


def test_jobs_and_what_kubectl_shows_of_them_are_the_same(servers):
    for job in [*guest_jobs.JOBS, guest_jobs.LEADER_WORKER_SET]:
        one, other = (written(server, job) for server in servers)
        assert one == other, job.kind
        one, other = (shown(server, job) for server in servers)
        assert one == other, f"{job.kind}\n{one}{other}"
    assert "Succeeded" in shown(servers[1], guest_jobs.JOBS[1]), "the last condition is the state"


def test_objects_at_and_beyond_each_limit_get_the_same_answer(servers, guests):
    cases = []
    for crd in guests.values():
        version = crd["spec"]["versions"][0]
        sides = [Side(server, crd, version, "") for server in servers]
        found = [case for case in objects.beside_limits(sides[0].kind, version["schema"]["openAPIV3Schema"]) if "status" not in case[1]]
        cases += [(sides, f"{sides[0].kind} {what}", body) for what, body in found[::max(len(found) // JUDGED, 1)]]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda case: [side.judge_new(case[2]) for side in case[0]], cases))
    different = [f"{what}: {one} | {other}" for (_, what, _), (one, other) in zip(cases, answers)
                 if one != other and not any(re.search(pattern, what) for pattern in EXPLAINED)]
    assert not different, f"{len(different)} of {len(cases)}\n" + "\n".join(each[:900] for each in different[:40])
    taken = sum(one["status"] < 300 for one, _ in answers)
    assert taken > 400 and len(answers) - taken > 400, (taken, len(answers))
