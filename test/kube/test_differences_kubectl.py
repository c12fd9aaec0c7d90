# test/kube/test_differences_kubectl.py - the newest kubectl asks kube-apiserver and `muster up` the same, hears the same and prints the same.
import concurrent.futures

import pytest

import accepted  # in test/kube/differences, as are the next two
import cases_kubectl
import cluster
from recorder import Recorder

SHOWN = 60


@pytest.fixture(scope="module")
def played(world, tmp_path_factory) -> dict[str, list]:
    """What is different, by case: they all run at once, as each waits for its commands."""
    binary, folder = cluster.kubectl(), tmp_path_factory.mktemp("kubectl")

    def play(case) -> list:
        def with_kubectl(session) -> None:
            with Recorder(session, binary, folder) as kubectl:
                case(kubectl)
        return world.compare(f"kubectl_{case.__name__}", with_kubectl)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return dict(zip([case.__name__ for case in cases_kubectl.CASES], pool.map(play, cases_kubectl.CASES)))


@pytest.mark.parametrize("case", [case.__name__ for case in cases_kubectl.CASES])
def test_kubectl(played, case):
    found = played[case]
    assert not found, f"{len(found)} differences\n" + "\n".join(str(each)[:600] for each in found[:SHOWN])


def test_no_accepted_difference_of_kubectl_is_left_that_nobody_needs(world, played):
    assert [pattern for pattern, _ in accepted.KUBECTL if pattern not in world.needed] == []
