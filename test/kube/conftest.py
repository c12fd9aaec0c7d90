# test/kube/conftest.py - the real Kubernetes as a partner: one control plane for the session, and Muster beside it.
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MUSTER = pathlib.Path(os.environ.get("MUSTER", ROOT / "build/release/muster"))
sys.path.insert(0, str(ROOT / "test/kubernetes"))
sys.path.insert(0, str(ROOT / "test"))
from cluster import Cluster  # noqa: E402  (in the folders just named)
from waiting import until  # noqa: E402, F401  (tests take it from here)


@pytest.fixture
def make_folder():
    """Makes folders that go with the test."""
    made = []

    def make() -> pathlib.Path:
        made.append(pathlib.Path(tempfile.mkdtemp(prefix="muster-kube-")))
        return made[-1]

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster():
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler, for tests that leave them as they were."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-kube-"))
    made = Cluster(folder, with_controllers=True, with_scheduler=True)
    try:
        yield made.start()
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)
