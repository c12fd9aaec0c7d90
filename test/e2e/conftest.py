# test/e2e/conftest.py - a real `muster up` for tests: started, restarted, killed and stopped by its process id; and, for tests of
# what both can, `muster operator` on a real Kubernetes in its place.
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import shutil
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MUSTER = pathlib.Path(os.environ.get("MUSTER", ROOT / "build/release/muster"))
sys.path.insert(0, str(ROOT / "test"))
sys.path.insert(0, str(ROOT / "test/kubernetes"))
from on_cluster import OnCluster  # noqa: E402  (in the folders just named)
from program import Program  # noqa: E402
from waiting import until  # noqa: E402

NODE = "laptop:cpu=8,memory=8118372Ki,pods=110"


class Commands:
    """The command line, typed for the server that `env` names."""

    env: dict[str, str] = {}
    explains = True  # Whether `why` answers in numbers; elsewhere it tells what a Workload says of itself.

    def run(self, *words: str, input: str | None = None, check: bool = True) -> subprocess.CompletedProcess:
        """Types `muster WORDS`."""
        done = subprocess.run([str(MUSTER), *words], env=self.env, text=True, capture_output=True, input=input,
                              timeout=120, check=False)
        assert not check or done.returncode == 0, f"muster {' '.join(words)}: {done.stdout}{done.stderr}"
        return done

    def apply(self, yaml: str) -> None:
        self.run("apply", "-f", "-", input=yaml)

    def get(self, *words: str) -> dict:
        """An object or list; an empty dict when it is not there."""
        done = self.run("get", *words, "-o", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else {}

    def until(self, what: str, true, timeout: float = 60):
        """Asks again and again until `true()` gives something; that is returned."""
        return until(what, true, timeout)


class Operator(Commands, OnCluster):
    """`muster operator` with a cluster of its own, and the command line on that."""

    explains = False

    def apply(self, yaml: str) -> None:
        super().apply(yaml)
        self.settle(yaml)


class Muster(Commands, Program):
    """One `muster up` with a data folder of its own, and the command line on it."""

    def __init__(self, folder: pathlib.Path, nodes: list[str], flags: list[str] = (), user: int | None = None):
        self.folder, self.nodes, self.flags, self.user = folder, nodes, list(flags), user
        self.program = MUSTER
        self.kubeconfig = folder / "kubeconfig"
        self.env = dict(os.environ, KUBECONFIG=str(self.kubeconfig))
        self.log = (folder / "muster.log").open("a")
        self.prefix: list[str] = []  # Words before the command, such as those that enter a namespace.
        self.port = 0
        self.process = None

    def start(self, timeout: float = 60) -> "Muster":
        command = [*self.prefix, str(self.program), "up", "--data", str(self.folder / "state"), "--kubeconfig", str(self.kubeconfig),
                   "--listen", f"127.0.0.1:{self.port}", *self.flags]
        if "--shutdown-grace" not in self.flags:  # Tests that end with running pods do not wait for them.
            command += ["--shutdown-grace", "1"]
        for node in self.nodes:
            command += ["--node", node]
        identity = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        self.process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        **identity)
        deadline = time.time() + timeout
        for line in self.process.stdout:
            if line.strip() == "ready":
                return self
            assert time.time() < deadline, "muster up is not ready in time"
        raise AssertionError(f"muster up ended with {self.process.wait()}; see {self.log.name}")

    def leave(self) -> None:
        if self.process is not None and self.process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def memory_mb(self) -> float:
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0


# What a test is marked with that runs on both. Who runs on one only says why, by a mark that is named after that one.
SERVERS = ["muster up", "kubernetes"]
both = pytest.mark.parametrize("server", SERVERS, indirect=True)


def pytest_configure(config):
    for name in SERVERS:
        config.addinivalue_line("markers", f"{name.replace(' ', '_')}(reason): runs on `{name}` only, and why")


def servers_of(item) -> list[str]:
    """Those on which a test runs."""
    for mark in item.iter_markers("parametrize"):
        if mark.args[0] in ("server", "either") and mark.kwargs.get("indirect"):
            return list(mark.args[1])
    return SERVERS if "either" in item.fixturenames else SERVERS[:1]


def fault_of(item) -> str:
    """What is wrong with the servers that it says it runs on; empty when nothing is."""
    servers = servers_of(item)
    only = {name: item.get_closest_marker(name.replace(" ", "_")) for name in SERVERS}
    if len(servers) == len(SERVERS):
        return "runs on both, and is marked for one" if any(only.values()) else ""
    mark = only[servers[0]]
    if mark is None or len(mark.args) != 1 or not mark.args[0]:
        return f"runs on `{servers[0]}` only and does not say why: pytest.mark.{servers[0].replace(' ', '_')}(reason)"
    return ""


def pytest_collection_modifyitems(items):
    faults = {f"{item.path.name}::{getattr(item, 'originalname', item.name)} {fault_of(item)}"
              for item in items if pathlib.Path(__file__).parent in item.path.parents and fault_of(item)}
    if faults:
        raise pytest.UsageError("\n".join(sorted(faults)))


@pytest.fixture
def server(request) -> str:
    return getattr(request, "param", SERVERS[0])


@pytest.fixture(scope="session")
def kubernetes():
    """One cluster for all tests, each with an operator of its own: that takes seconds, a cluster with all kinds ten."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-e2e-"))
    made = Operator(MUSTER, folder, NODE)
    yield made
    made.close()
    refused = made.refused()
    print((folder / "operator.log").read_text()[-6000:])  # What the operator said last.
    shutil.rmtree(folder, ignore_errors=True)
    assert refused == set(), "what the operator has no right to"


@pytest.fixture
def make_muster(server, request):
    """Makes Musters, on the server of the test, in folders that go with it. On Kubernetes there is one, with one node."""
    made: list[Muster | Operator] = []

    def make(*nodes: str, flags: list[str] = ()) -> Muster | Operator:
        if server == "kubernetes":
            assert not nodes and not made
            made.append(request.getfixturevalue("kubernetes"))
            made[-1].flags = list(flags)
        else:
            made.append(Muster(pathlib.Path(tempfile.mkdtemp(prefix="muster-e2e-")), list(nodes) or [NODE], flags))
        return made[-1]

    yield make
    for muster in made:
        muster.leave()


@pytest.fixture
def muster(make_muster):
    return make_muster().start()


@pytest.fixture(scope="module", params=SERVERS)
def either(request):
    """One server for all tests of a file, which run on each of the two."""
    if request.param == "kubernetes":
        muster = request.getfixturevalue("kubernetes")
        muster.flags = []
    else:
        muster = Muster(pathlib.Path(tempfile.mkdtemp(prefix="muster-e2e-")), [NODE])
    try:
        yield muster.start()
        assert muster.process.poll() is None, "it has ended"
    finally:
        muster.leave()


# A mount namespace of its own, so that nothing of this machine changes; as nobody special also a user namespace.
UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
ENTER = ["-m"] if os.geteuid() == 0 else ["-U", "-m", "--preserve-credentials"]


@pytest.fixture
def mounts():
    """Gives shells in mount namespaces of their own, which end with the test."""
    holders = []

    def hold(script: str) -> list[str]:
        """Runs the script in a new namespace; gives the words that run a command there."""
        holder = subprocess.Popen([*UNSHARE, "sh", "-ec", script + "; echo held; exec sleep 100000"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        holders.append(holder)
        if holder.stdout.readline() != "held\n":
            pytest.fail("mount namespaces cannot be made here: " + holder.stderr.read())
        return ["nsenter", *ENTER, "-t", str(holder.pid)]

    yield hold
    for holder in holders:
        holder.kill()
        holder.wait()


def read(path: pathlib.Path) -> bytes:
    """A file's content; nothing when it cannot be read (any more)."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


# A namespace that takes every pod: its label is an administrator's.
OPEN = """
apiVersion: v1
kind: Namespace
metadata: {name: NAME, labels: {pod-security.kubernetes.io/enforce: privileged, pod-security.kubernetes.io/warn: privileged}}
"""

QUEUES = (ROOT / "deploy/samples/story/1-queues.yaml").read_text()


def job(name: str, command: str = '["true"]', ns: str = "sandbox", cpu: str = "100m") -> str:
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: {ns}}}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: {command}
        resources: {{requests: {{cpu: {cpu}}}}}
"""
