# test/attacks/test_turns.py - one pod holds up no other: neither with a first process that stands still nor with what it prints,
# starts or leaves behind.
import concurrent.futures
import os
import pathlib
import shutil
import signal
import time

import pytest

from tenants import Ground, make_ground

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it stops processes of pods: that needs root")


@pytest.fixture(scope="module")
def ground():
    made = make_ground("root", ["--shutdown-grace", "1"])
    yield made
    try:
        assert made.muster.process.poll() is None, "muster up has ended"
    finally:
        made.muster.leave()
        shutil.rmtree(made.folder, ignore_errors=True)


def start(ground: Ground, name: str, command: str, spec: str = "", container: str = "") -> None:
    ground.muster.apply(f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  {spec}
  containers:
  - {{name: main, image: python, command: [sh, -c, "{command}"]{', ' + container if container else ''}}}
""")
    ground.muster.run("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")


def processes_with(word: str) -> list[pathlib.Path]:
    """The folders in /proc of those that have the word on their command line."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent)
        except OSError:
            pass  # It has ended.
    return found


def init_of(word: str) -> int:
    """The first process of the pod in which a command with this word runs."""
    at = int(processes_with(word)[0].name)
    while at > 1:
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{at}/status").read_text().splitlines() if ":\t" in line)
        if status["Name"] == "muster-pod":
            return at
        at = int(status["PPid"])
    raise AssertionError(f"no pod runs {word}")


def seconds_of(what) -> float:
    began = time.monotonic()
    what()
    return time.monotonic() - began


def test_a_pod_whose_first_process_stands_still_holds_up_no_other_and_is_lost(ground):
    start(ground, "still", "sleep 100731")
    start(ground, "other", "sleep 1000")
    stopped = init_of("100731")
    os.kill(stopped, signal.SIGSTOP)
    try:
        # More than its socket takes, and more than is kept for it.
        long = "x" * 60_000
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            asked = [pool.submit(ground.muster.run, "exec", "still", "--", "true", long, check=False) for _ in range(40)]
            refused = ground.muster.until("some are refused", lambda: [a for a in asked if a.done()])
            assert "does not take commands as fast" in refused[0].result().stderr
            took = seconds_of(lambda: ground.muster.run("exec", "other", "--", "true"))
            assert took < 5, took
            for each in asked:
                assert each.result().returncode != 0
        pod = ground.muster.until("the pod is lost", lambda: [
            p for p in [ground.muster.get("pod", "still")] if p["status"]["phase"] == "Failed"])[0]
        ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        assert ended["reason"] == "ContainerStatusUnknown" and "took no message for 30 s" in ended["message"], ended
        assert not pathlib.Path(f"/proc/{stopped}").exists()
    finally:
        if pathlib.Path(f"/proc/{stopped}").exists():
            os.kill(stopped, signal.SIGCONT)
    ground.muster.run("delete", "pods", "still", "other", "--now")


def test_a_probe_that_prints_without_end_holds_up_no_other_pod(ground):
    start(ground, "quiet", "sleep 1000")
    probe = "{exec: {command: [sh, -c, yes & yes & yes & yes]}, timeoutSeconds: 20, periodSeconds: 1}"
    start(ground, "loud", "sleep 1000", container=f"livenessProbe: {probe}")
    try:
        ground.muster.until("the probe prints", lambda: processes_with("yes"))
        took = max(seconds_of(lambda: ground.muster.run("exec", "quiet", "--", "true")) for _ in range(10))
        assert took < 5, took
        assert processes_with("yes"), "the probe has ended"
    finally:
        ground.muster.run("delete", "pods", "quiet", "loud", "--now")


def test_all_pods_together_leave_processes_to_the_machine(ground):
    start(ground, "counted", "sleep 100732")
    cgroups = (processes_with("100732")[0] / "cgroup").read_text()
    lines = [line.split(":", 2) for line in cgroups.splitlines()]
    own = next((path for _, kind, path in lines if kind == "pids"), "/")
    group = pathlib.Path("/sys/fs/cgroup/pids" + own).parent.parent
    if own == "/" or not group.name.startswith("muster-"):
        pytest.skip("no control groups of version 1 count processes here")
    machine = min(int(pathlib.Path(f"/proc/sys/kernel/{name}").read_text()) for name in ("threads-max", "pid_max"))
    assert int((group / "pids.max").read_text()) == machine - machine // 8
    ground.muster.run("delete", "pod", "counted", "--now")
