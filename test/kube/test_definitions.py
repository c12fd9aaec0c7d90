# test/kube/test_definitions.py - the same definitions and objects given to the real API server and to `muster up`.
import base64
import concurrent.futures
import json
import re
import ssl
import subprocess
import sys

import pytest
import yaml

from conftest import MUSTER, ROOT, Cluster, until

sys.path.insert(0, str(ROOT / "test/kubernetes/crds"))
import objects  # noqa: E402
from side import Side  # noqa: E402

# Objects whose answers differ on purpose; each is a row of docs/deviations.md.
EXPLAINED = [r"\.timeAdded: of another type"]


class MusterServer(Cluster):
    """`muster up`, asked as the real server is."""

    def __init__(self, folder):  # pylint: disable=super-init-not-called
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.process = subprocess.Popen([str(MUSTER), "up", "--data", str(folder / "state"), "--kubeconfig", str(self.kubeconfig),
                                         "--listen", "127.0.0.1:0", "--node", "laptop:cpu=2"], stdout=subprocess.PIPE,
                                        stderr=(folder / "muster.log").open("w"), text=True)
        assert any(line.strip() == "ready" for line in self.process.stdout)
        config = yaml.safe_load(self.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.port = int(cluster["server"].rsplit(":", 1)[1])
        self._context = ssl.create_default_context(cadata=self._pem(cluster["certificate-authority-data"]))
        self._context.check_hostname = False
        pair = folder / "pair.pem"
        pair.write_text(self._pem(user["client-certificate-data"]) + self._pem(user["client-key-data"]))
        self._context.load_cert_chain(pair)

    @staticmethod
    def _pem(data: str) -> str:
        return base64.b64decode(data).decode()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    real = Cluster(tmp_path_factory.mktemp("definitions"))
    try:
        real.start()
        ours = MusterServer(tmp_path_factory.mktemp("definitions-up"))
        try:
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
