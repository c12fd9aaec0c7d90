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
sys.path.insert(0, str(ROOT / "test/kube/differences"))
from cluster import Cluster  # noqa: E402  (in the folders just named)
from servers import Muster, Server  # noqa: E402
from waiting import until  # noqa: E402, F401  (tests take it from here)
from world import World  # noqa: E402


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


@pytest.fixture(scope="session")
def world():
    """The real API server and Muster's, both without controllers, with Muster's kinds on both: for comparing what they answer."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-kube-"))
    partner, muster = Cluster(folder, with_accounts=True), None
    try:
        partner.start()
        muster = Muster(MUSTER, folder)
        made = World(Server("kubernetes", partner.kubeconfig), Server("muster", muster.kubeconfig))
        made.install_crds(MUSTER)
        yield made
    finally:
        if muster:
            muster.stop()
        partner.stop()
        shutil.rmtree(folder, ignore_errors=True)
