# test/e2e/test_kill_loop.py - Muster killed at random moments again and again: nothing is orphaned, nothing is started twice, every job ends.
import collections
import pathlib
import random
import time

import pytest

from conftest import OPEN, read
from test_queues import done

pytestmark = pytest.mark.muster_up("who is killed runs the pods; operators are killed in test/kube/test_trouble.py")

TURNS = 8

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  template:
    spec:
      restartPolicy: POLICY
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: ["sh", "-c", "SCRIPT"]
        env:
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: KILL_LOOP, value: MARK}
        resources: {limits: {cpu: "1", memory: 64Mi}}
        volumeMounts: [{name: starts, mountPath: /starts}]
      volumes: [{name: starts, hostPath: {path: STARTS}}]
"""

# One line per start, written with one call, so that lines of several processes cannot mix.
RECORD = "echo $POD >> /starts/all; "
FAILS_ONCE = RECORD + "[ -e /starts/$POD ] || { touch /starts/$POD; exit 3; }; sleep SECONDS"


def job(name: str, policy: str, script: str, starts: pathlib.Path, mark: str) -> str:
    return (JOB.replace("NAME", name).replace("POLICY", policy).replace("SCRIPT", script)
            .replace("STARTS", str(starts)).replace("MARK", mark))


def living(mark: str) -> dict[str, list[int]]:
    """The processes of the test's pods on this machine, by pod."""
    found = collections.defaultdict(list)
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        variables = read(entry / "environ").split(b"\0")
        if f"KILL_LOOP={mark}".encode() in variables:
            pod = next((v[4:].decode() for v in variables if v.startswith(b"POD=")), "?")
            found[pod].append(int(entry.name))
    return found


def group_of(muster) -> str:
    """The name of the control group that holds all of a Muster's pods: it derives from its folder."""
    number = 0xCBF29CE484222325
    for byte in str(muster.folder / "state/agent").encode():
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"muster-{number:016x}"


def make_recorded(make_muster, *nodes: str):
    """A Muster whose pods may write down their starts in a folder of this machine."""
    muster = make_muster(*nodes)
    starts = muster.folder / "starts"
    starts.mkdir()
    starts.chmod(0o777)  # Pods have users of their own.
    config = muster.folder / "config.yaml"
    config.write_text("apiVersion: muster.dev/v1alpha1\nkind: Configuration\n"
                      f"hostPaths: [{{path: {starts}, writable: true}}]\n")
    muster.flags += ["--config", str(config)]
    muster.start()
    muster.apply(OPEN.replace("NAME", "default"))
    return muster, starts


def starts_of(starts: pathlib.Path) -> collections.Counter:
    return collections.Counter(read(starts / "all").decode().split())


def restarts(pod: dict) -> int:
    return sum(s["restartCount"] for s in pod["status"].get("containerStatuses", []))


def test_killed_at_random_moments_it_loses_and_doubles_nothing(make_muster):
    seed = 20
    chance = random.Random(seed)
    muster, starts = make_recorded(make_muster, "laptop:cpu=16,memory=16Gi,pods=110")
    mark = str(muster.folder)
    names = []
    for turn in range(TURNS):
        made = []
        for i in range(4):
            name = f"t{turn}-{i}"
            fails = chance.random() < 0.3
            script = (FAILS_ONCE if fails else RECORD + "sleep SECONDS").replace(
                "SECONDS", f"{chance.uniform(0, 2):.2f}")
            made.append(job(name, "OnFailure" if fails else "Never", script, starts, mark))
            names.append(name)
        muster.apply("---".join(made))
        time.sleep(chance.uniform(0, 1.5))  # The moment is the test's subject.
        if chance.random() < 0.5:  # Some pods are ending when the blow comes.
            pods = [p["metadata"]["name"] for p in muster.get("pods")["items"]]
            for pod in chance.sample(pods, min(2, len(pods))):
                muster.run("delete", "pod", pod, "--wait=false", check=False)
        muster.kill()
        muster.start()
    said = f"seed {seed}"
    muster.until(f"all jobs complete ({said})", lambda: all(done(muster, n, ns="default") for n in names), 180)
    counted = starts_of(starts)
    kept = {p["metadata"]["name"]: p for p in muster.get("pods")["items"]}
    assert len(kept) >= len(names) // 2, "many pods are still there to be compared"
    wrong = {name: (counted[name], restarts(pod)) for name, pod in kept.items() if counted[name] != restarts(pod) + 1}
    assert not wrong, f"{said}: starts and restartCount of {wrong}"
    muster.until("no process of an ended pod is left", lambda: not living(mark))
    assert muster.stop() == 0
    assert not list(pathlib.Path("/sys/fs/cgroup").rglob(f"{group_of(muster)}*")), "control groups are left"
    assert not list((muster.folder / "state/agent/pods").iterdir()) or not living(mark)


def test_a_pod_deleted_just_before_the_kill_ends_after_the_restart(make_muster):
    muster, starts = make_recorded(make_muster)
    mark = str(muster.folder)
    muster.apply(job("stubborn", "Never", "trap '' TERM; " + RECORD + "while :; do sleep 0.2; done", starts, mark))
    pod = muster.until("it runs", lambda: next(
        (p["metadata"]["name"] for p in muster.get("pods")["items"] if living(mark) and starts_of(starts).get(p["metadata"]["name"])), None))
    muster.run("delete", "job", "stubborn", "--wait=false")
    muster.kill()
    muster.start()
    muster.until("the object is gone", lambda: not muster.get("pod", pod))
    assert not living(mark), "the object went before its processes"
    assert starts_of(starts)[pod] == 1
