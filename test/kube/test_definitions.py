# test/kube/test_definitions.py - the same definitions and objects given to the real API server and to `muster up`.
import concurrent.futures
import json
import re
import subprocess
import sys

import pytest

from conftest import MUSTER, ROOT, Cluster, until
from up import UpServer

sys.path.insert(0, str(ROOT / "test/kubernetes/crds"))
import objects  # noqa: E402
from side import Side  # noqa: E402

# Objects whose answers differ on purpose; each is a row of docs/deviations.md.
EXPLAINED = [r"\.timeAdded: of another type"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    real = Cluster(tmp_path_factory.mktemp("definitions"))
    try:
        real.start()
        ours = UpServer(tmp_path_factory.mktemp("definitions-up"))
        try:
            ours.start()
            yield real, ours
        finally:
            ours.stop()
    finally:
        real.stop()


def our_definitions() -> list[dict]:
    done = subprocess.run([str(MUSTER), "crds", "-o", "json"], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["items"]


@pytest.fixture(scope="module")
def sides(servers) -> dict[tuple[str, str], tuple[Side, Side]]:
    made = {}
    for crd in our_definitions():
        if crd["spec"]["group"] == "mcad.ibm.com":
            continue
        for version in crd["spec"]["versions"]:
            made[crd["spec"]["names"]["kind"], version["name"]] = tuple(Side(server, crd, version, "both") for server in servers)
    for side in (side for pair in made.values() for side in pair):
        side.install()
    for side in (side for pair in made.values() for side in pair):
        until(f"{side.group} is served", lambda: side.server.request("GET", side.path)[0] == 200)
    return made


def test_objects_at_and_beyond_each_limit_get_the_same_answer(sides):
    different, counts = [], {"taken": 0, "refused": 0}

    def judge(case):
        real, ours, what, body = case
        return what, real.judge_new(body), ours.judge_new(body)

    cases = []
    for (kind, version), (real, ours) in sides.items():
        schema = real.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        cases += [(real, ours, f"{kind} {version} {what}", body) for what, body in objects.beside_limits(kind, schema)
                  if "status" not in body]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for what, one, other in pool.map(judge, cases):
            counts["taken" if one["status"] < 300 else "refused"] += 1
            if one != other and not any(re.search(pattern, what) for pattern in EXPLAINED):
                different.append((what, one, other))
    assert not different, f"{len(different)} of {len(cases)}\n" + "\n".join(f"{w}: {a} | {b}" for w, a, b in different[:40])
    assert counts["taken"] > 500 and counts["refused"] > 500, counts
