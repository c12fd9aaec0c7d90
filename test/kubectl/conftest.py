# test/kubectl/conftest.py - the real kubectl, in the oldest and the newest version that must work, on one `muster up`; and the
# newest on the real Kubernetes with `muster operator`, where the same words must do the same.
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


sys.path.insert(0, str(ROOT / "test"))
import e2e_servers as e2e  # noqa: E402  (in the folder just named)

VERSIONS = ["v0.32.3", "v0.36.3"]


def binary(version: str) -> str:
    done = subprocess.run([str(ROOT / "test/kubernetes/build.sh"), version], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


def pytest_configure(config):
    config.addinivalue_line("markers", "muster_up(reason): is played on `muster up` only, and why")


def pytest_collection_modifyitems(config, items):
    """On Kubernetes the newest kubectl plays what needs no more than an API server and a node that runs commands."""
    def is_played(item) -> bool:
        params = getattr(item, "callspec", None) and item.callspec.params or {}
        if params.get("muster") != "kubernetes":
            return True
        return item.get_closest_marker("muster_up") is None and params.get("kubectl", VERSIONS[-1]) == VERSIONS[-1]

    left = [item for item in items if not is_played(item)]
    items[:] = [item for item in items if is_played(item)]
    config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="session", params=["muster up", "kubernetes"])
def muster(request):
    """Whichever server it is, with the queues of the documents and a node that is named laptop."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-kubectl-"))
    if request.param == "kubernetes":
        made = e2e.Operator(e2e.MUSTER, folder, e2e.NODE)
    else:
        made = e2e.Muster(folder, ["laptop:cpu=8,memory=8Gi"])
    try:
        made.start()
        made.env["KUBECACHEDIR"] = str(folder / "cache")
        made.apply(e2e.QUEUES)
        yield made
    finally:
        made.close() if request.param == "kubernetes" else made.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Kubectl:
    """One kubectl, at work in a namespace of its own."""

    def __init__(self, muster, version: str, ns: str):
        self.muster, self.version, self.ns, self.binary = muster, version, ns, binary(version)
        self.minor = int(version.split(".")[1])
        config = yaml.safe_load(muster.kubeconfig.read_text())
        for context in config["contexts"]:
            context["context"]["namespace"] = self.ns
        self.kubeconfig = muster.folder / f"kubeconfig-{ns}"
        self.kubeconfig.write_text(yaml.safe_dump(config))
        self.env = dict(muster.env, KUBECONFIG=str(self.kubeconfig), KUBECACHEDIR=str(muster.folder / f"cache-{ns}"))

    def __call__(self, *words: str, input: str | None = None, check: bool = True, env: dict | None = None,
                 timeout: float = 120) -> str:
        """Both outputs of the command; it must succeed unless `check` says otherwise."""
        done = self.run(*words, input=input, env=env, timeout=timeout)
        assert not check or done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def run(self, *words: str, input: str | None = None, env: dict | None = None, timeout: float = 120):
        return subprocess.run([self.binary, *words], env={**self.env, **(env or {})}, input=input, capture_output=True,
                              text=True, timeout=timeout, check=False)

    def json(self, *words: str):
        return json.loads(self("get", *words, "-o", "json"))


@pytest.fixture(scope="session", params=VERSIONS)
def kubectl(muster, request):
    made = Kubectl(muster, request.param, "kubectl-" + request.param.replace(".", "-"))
    made("create", "namespace", made.ns)
    return made


@pytest.fixture(scope="module")
def newest(muster):
    """The newest kubectl alone."""
    made = Kubectl(muster, VERSIONS[-1], "same-output")
    made("create", "namespace", made.ns)
    return made
