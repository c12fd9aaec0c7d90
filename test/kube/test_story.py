# test/kube/test_story.py - the story of the demo, played by the demo's own code: on `muster up` with real Ray, and by
# `muster operator` on the real Kubernetes, where a kubelet only tells of the pods.
import importlib.util
import os
import pathlib
import sys

from conftest import MUSTER, ROOT
from on_cluster import OnCluster

# By its file: the suite of differences has a `play` of its own.
spec = importlib.util.spec_from_file_location("demo_play", ROOT / "demo/play.py")
play = importlib.util.module_from_spec(spec)
spec.loader.exec_module(play)

PYTHON = pathlib.Path(os.environ.get("MUSTER_PYTHON_HOME", sys.prefix))


class TellingStage(play.Stage):
    """Its pods are only told of: the training begins and is deleted. A server that is not Muster's own explains without numbers."""

    trains = False

    def why(self, what: str, expect: list[str]) -> None:
        self.run(f"muster why {what}", ["nsufficient"])


def test_the_story_on_muster_up(make_folder):
    stage = play.Stage(MUSTER, PYTHON, make_folder())
    try:
        stage.start()
        play.play_all(stage)
    except play.Failed:
        print(stage.log.read_text()[-6000:])
        raise
    finally:
        stage.stop()


def test_the_story_on_kubernetes(make_folder):
    place = OnCluster(MUSTER, make_folder(), play.NODE, runs=False)
    try:
        place.start()
        play.play_all(TellingStage(MUSTER, PYTHON, place.folder))
        assert place.refused() == set(), "what the operator has no right to"
    finally:
        place.close()
        print(pathlib.Path(place.log.name).read_text()[-3000:])
