# test/e2e/test_limits.py - limits of cpu and memory: enforced where control groups may be written, and the node says the truth.
import pathlib

import pytest

from conftest import read
from test_pod_spec import ended, events_of, main_state, output, pod
from test_queues import condition

pytestmark = pytest.mark.muster_up("it is about the control groups that the node makes")

EATER = 'python3 -c "x = bytearray(300 << 20); print(len(x))"'
LIMITS = "resources: {limits: {memory: 96Mi, cpu: 500m}}"


@pytest.fixture
def limited(muster):
    """A Muster on a machine whose control groups may be written; elsewhere its node says why not."""
    node = muster.get("nodes")["items"][0]
    told = condition(node, "muster.dev/LimitsEnforced")
    if told["status"] != "True":
        assert "not limited" in told["message"], told
        pytest.skip(told["message"])
    return muster


def groups(muster) -> list[pathlib.Path]:
    """The control groups that belong to pods of this Muster, by the pods' uids."""
    uids = [p["metadata"]["uid"] for p in muster.get("pods")["items"]]
    try:
        return [g for g in pathlib.Path("/sys/fs/cgroup").rglob("muster-*/*") if g.name in uids]
    except FileNotFoundError:  # One went while they were looked through.
        return groups(muster)


def test_the_node_says_whether_limits_are_enforced(muster):
    told = condition(muster.get("nodes")["items"][0], "muster.dev/LimitsEnforced")
    assert (told["status"], told["reason"]) in {("True", "LimitsAreEnforced"), ("False", "LimitsAreNotEnforced")}
    assert told["message"]


def test_who_uses_more_memory_than_allowed_is_killed_and_says_so(limited):
    limited.apply(pod("glutton", EATER.replace("python3", "exec python3"), container=LIMITS))
    state = main_state(ended(limited, "glutton"))["terminated"]
    assert (state["reason"], state["exitCode"]) == ("OOMKilled", 137), state
    limited.apply(pod("free", EATER))
    assert output(limited, "free").strip() == str(300 << 20)


def test_a_container_sees_its_own_limits(limited):
    limited.apply(pod("reader", "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max;"
                      " cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d\" \" -f1 /sys/fs/cgroup/cpu.max", container=LIMITS))
    assert output(limited, "reader").split() == [str(96 << 20), "50000"]


def test_cpu_is_held_to_its_limit_also_by_exec(limited):
    limited.apply(pod("busy", "sleep 600", container="resources: {limits: {cpu: 200m}}"))
    burn = "import time; t = time.time(); c = time.process_time()\\nwhile time.time() - t < 3: pass\\nprint((time.process_time() - c) / (time.time() - t))"
    share = limited.until("exec works", lambda: limited.run(
        "exec", "busy", "--", "python3", "-c", burn.replace("\\n", "\n"), check=False).stdout.strip())
    assert float(share) < 0.35, share


def test_groups_go_with_their_pods_also_after_a_kill(limited):
    limited.apply(pod("short", "true", container=LIMITS))
    limited.apply(pod("long", "until [ -e /tmp/go ]; do sleep 0.1; done", container=LIMITS))
    made = limited.until("the long one's groups are there", lambda: groups(limited))
    limited.kill()
    limited.start()
    limited.until("exec works", lambda: limited.run("exec", "long", "--", "touch", "/tmp/go", check=False).returncode == 0)
    ended(limited, "long")
    limited.until("the groups are gone", lambda: not any(g.exists() for g in made))
    parents = {g.parent for g in made}
    assert limited.stop() == 0
    limited.until("their parents are gone", lambda: not any(p.exists() for p in parents))


def test_a_limit_holds_after_a_kill(limited):
    limited.apply(pod("patient", f"until [ -e /tmp/go ]; do sleep 0.1; done; exec {EATER}", container=LIMITS))
    limited.until("it runs", lambda: main_state(limited.get("pod", "patient")).get("running")
                  if limited.get("pod", "patient")["status"].get("containerStatuses") else None)
    limited.kill()
    limited.start()
    limited.until("exec works", lambda: limited.run("exec", "patient", "--", "touch", "/tmp/go", check=False).returncode == 0)
    assert main_state(ended(limited, "patient"))["terminated"]["reason"] == "OOMKilled"


def test_a_limit_that_the_kernel_refuses_is_told(limited):
    """A container starts within its limits or not at all."""
    limited.apply(pod("tiny", "echo never", container="resources: {limits: {memory: 100Ki}}"))
    state = main_state(ended(limited, "tiny"))["terminated"]
    assert state["exitCode"] != 0 and state["reason"] in ("OOMKilled", "StartError"), state
    assert read(pathlib.Path("/proc/self/stat"))  # This machine lives.
    assert "never" not in limited.run("logs", "tiny", check=False).stdout
    limited.until("an event tells of it", lambda: events_of(limited, "tiny"))
