# test/attacks/test_disk.py - pods that fill the disk, or leave much of it to be removed, cost nobody else a pod: on a file system of
# its own, small enough to be filled.
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from tenants import Ground, make_ground
from test_turns import processes_with

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it mounts a file system: that needs root")

SIZE = 2 << 30          # Sparse: nothing of it is written but the names of files.
LITTLE = 60 << 20       # Free space at which the disk is low.
MEBI = 1 << 20


class Disk:
    """The file system of a data folder."""

    def __init__(self, folder: pathlib.Path):
        self.place = folder / "state"
        self.place.mkdir(mode=0o700)
        image = folder / "disk"
        with image.open("wb") as file:
            file.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-i", "16384", image], check=True, capture_output=True)
        self.mounted = subprocess.run(["mount", "-o", "loop", image, self.place], capture_output=True).returncode == 0
        if self.mounted:
            (self.place / "lost+found").rmdir()
        self.ballast = self.place / "agent/ballast"

    def free(self) -> int:
        now = os.statvfs(self.place)
        return now.f_bavail * now.f_frsize

    def make_low(self) -> None:
        """Takes what is free but for a little."""
        more = self.free() - LITTLE
        if more > 0:
            with self.ballast.open("ab") as file:
                os.posix_fallocate(file.fileno(), file.seek(0, 2), more)

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.place], check=False)


@pytest.fixture(scope="module")
def place():
    """A Muster whose pods have such a disk."""
    made: dict[str, Disk] = {}
    ground = make_ground("root", ["--shutdown-grace", "1"], before=lambda folder: made.update(disk=Disk(folder)))
    try:
        if not made["disk"].mounted:
            pytest.skip("no file system can be mounted here")
        for namespace in ("red", "blue"):
            ground.muster.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}")
        yield ground, made["disk"]
        assert ground.muster.process.poll() is None, "muster up has ended"
    finally:
        ground.muster.leave()
        made["disk"].close()
        shutil.rmtree(ground.folder, ignore_errors=True)


@pytest.fixture
def ground(place):
    ground, disk = place
    yield ground
    disk.ballast.unlink(missing_ok=True)
    for namespace in ("red", "blue"):
        ground.muster.run("delete", "pods", "--all", "--force", "--grace-period=0", "-n", namespace, check=False)
    ground.muster.until("every pod's folder is gone", lambda: not list((disk.place / "agent/pods").iterdir()))


@pytest.fixture
def disk(place):
    return place[1]


def start(ground: Ground, namespace: str, name: str, script: str, spec: str = "") -> None:
    ground.muster.apply(f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  {spec or 'terminationGracePeriodSeconds: 1'}
  volumes: [{{name: v, emptyDir: {{}}}}]
  containers:
  - name: main
    image: python
    volumeMounts: [{{name: v, mountPath: /v}}]
    command:
    - sh
    - -c
    - |
      {script}
      touch /v/done
      sleep 1000
""")
    folder = lambda: folder_of(ground, namespace, name)  # noqa: E731
    ground.muster.until(f"{name} has written", lambda: folder() and (folder() / "volumes/v/done").exists())


def folder_of(ground: Ground, namespace: str, name: str) -> pathlib.Path | None:
    uid = ground.muster.get("pod", name, "-n", namespace).get("metadata", {}).get("uid")
    return ground.folder / "state/agent/pods" / uid if uid else None


def many_files(count: int, each: int) -> str:
    return f"python3 -c 'for i in range({count}): f = open(f\"/v/{{i}}\", \"w\"); __import__(\"os\").posix_fallocate(f.fileno(), 0, {each})'"


def status(ground: Ground, namespace: str, name: str) -> dict:
    return ground.muster.get("pod", name, "-n", namespace).get("status", {})


def removers(ground: Ground) -> list[int]:
    """The processes that remove files of pods now."""
    found = []
    for process in processes_with(f"{ground.folder}/state/agent"):
        try:
            if (process / "comm").read_text() == "muster-remover\n":
                found.append(int(process.name))
        except OSError:
            pass  # It has ended.
    return found


def stopped_remover(ground: Ground) -> int:
    """Catches the process that removes a pod's files, and stops it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for each in removers(ground):
            os.kill(each, signal.SIGSTOP)
            time.sleep(0.02)
            if each in removers(ground):
                return each
    raise AssertionError("nothing is removed")


def test_what_one_pod_left_behind_holds_up_the_removal_of_no_others(ground, disk):
    start(ground, "red", "large", many_files(60_000, 1))
    start(ground, "blue", "small", "true")
    small, large = folder_of(ground, "blue", "small"), folder_of(ground, "red", "large")
    ground.muster.run("delete", "pod", "large", "-n", "red", "--now")
    remover = stopped_remover(ground)
    try:
        ground.muster.run("delete", "pod", "small", "-n", "blue", "--now")
        ground.muster.until("the other pod's folder is gone", lambda: not small.exists(), 20)
        assert large.exists()
    finally:
        os.kill(remover, signal.SIGCONT)
    ground.muster.until("the large one is gone", lambda: not large.exists())


def test_nobody_is_evicted_for_space_that_is_being_freed_until_that_stands_still(ground, disk):
    start(ground, "blue", "innocent", f"fallocate -l {600 * MEBI} /v/large")
    start(ground, "red", "filler", many_files(12_000, 64 << 10))
    disk.make_low()
    remover = stopped_remover(ground)
    try:
        ground.muster.until("the filler is evicted", lambda: status(ground, "red", "filler").get("reason") == "Evicted")
        for _ in range(20):  # Ten seconds in which little is freed, and others take as much.
            os.kill(remover, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(remover, signal.SIGSTOP)
            disk.make_low()
            time.sleep(0.5)
        assert status(ground, "blue", "innocent")["phase"] == "Running"
        assert remover in removers(ground), "the removal was too quick for this test"
        ground.muster.until("the next one is evicted", lambda: status(ground, "blue", "innocent").get("reason") == "Evicted", 20)
    finally:
        os.kill(remover, signal.SIGCONT)


def test_a_pod_that_ends_slowly_keeps_nobody_from_being_evicted(ground, disk):
    start(ground, "red", "slow", f"trap '' TERM; fallocate -l {200 * MEBI} /v/large",
          "activeDeadlineSeconds: 3\n  terminationGracePeriodSeconds: 300")
    start(ground, "blue", "filler", f"fallocate -l {900 * MEBI} /v/large")
    ground.muster.until("the first one is past its deadline", lambda: any(
        e["reason"] == "Killing" and e["involvedObject"]["name"] == "slow" for e in ground.muster.get("events", "-n", "red").get("items", [])))
    disk.make_low()
    ground.muster.until("the larger one is evicted", lambda: status(ground, "blue", "filler").get("reason") == "Evicted", 20)
    assert (folder_of(ground, "red", "slow") / "volumes/v/large").exists()
