# test/e2e/test_pod_network.py - services in front of pods, and the process that holds the pods' network killed from outside.
import os
import pathlib
import re
import signal

import pytest

from conftest import job, read
from test_pod_spec import output, pod
from test_queues import done

pytestmark = pytest.mark.muster_up("it is about the network that the node gives to its pods; on a cluster others do that")

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {clusterIP: 10.96.7.7, selector: {app: NAME}, ports: [{name: one, port: 80, targetPort: 8080}, {name: two, port: 81, targetPort: 8081}]}
"""

# Listens at 8080 only when told to, and says what it was asked.
SERVER = """
import os, socket, time
while not os.path.exists("/tmp/go"): time.sleep(0.05)
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 8080)); s.listen()
while True:
    c, _ = s.accept()
    c.sendall(b"hello from " + os.environ["HOSTNAME"].encode()); c.close()
"""

# Connects again and again; prints each new outcome once: a refusal, an accepted connection that was dead, or the answer.
CLIENT = """
import socket, sys, time
last = None
for i in range(1200):
    try:
        with socket.create_connection(("10.96.7.7", int(sys.argv[1])), timeout=10) as c:
            c.settimeout(10)
            got = c.recv(100).decode() or "dead"
    except ConnectionRefusedError: got = "refused"
    except OSError as e: got = type(e).__name__
    if got != last: print(got, flush=True)
    last = got
    if got.startswith(sys.argv[2]): break
    time.sleep(0.05)
"""


def python_pod(name: str, script: str, *words: str, labels: str = "") -> str:
    lines = "\n".join("      " + line for line in script.strip().splitlines())
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{{labels}}}}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: python
    args: {list(words)}
    command:
    - python3
    - -c
    - |
{lines}
"""


def test_a_service_refuses_until_its_pod_listens_and_answers_then(muster):
    muster.apply("---".join([SERVICE.replace("NAME", "late"), python_pod("late", SERVER, labels="app: late"),
                             python_pod("waiter", CLIENT, "80", "hello")]))
    muster.until("the client was refused", lambda: "refused" in muster.run("logs", "waiter", check=False).stdout)
    muster.until("the server may listen", lambda: muster.run("exec", "late", "--", "touch", "/tmp/go", check=False).returncode == 0)
    assert output(muster, "waiter").splitlines() == ["refused", "hello from late"]


def test_a_service_without_a_listening_port_or_pod_refuses(muster):
    muster.apply("---".join([SERVICE.replace("NAME", "half"), python_pod("half", SERVER, labels="app: half")]))
    muster.until("the pod runs", lambda: muster.run("exec", "half", "--", "touch", "/tmp/go", check=False).returncode == 0)
    muster.apply("---".join([python_pod("good", CLIENT, "80", "hello"), python_pod("bad", CLIENT, "81", "refused")]))
    assert output(muster, "good").splitlines()[-1] == "hello from half"
    assert output(muster, "bad").splitlines() == ["refused"]
    muster.run("delete", "pod", "half")
    muster.apply(python_pod("after", CLIENT, "80", "refused"))
    assert output(muster, "after").splitlines()[-1] == "refused"


def test_connections_spread_over_the_pods_of_a_service(muster):
    pods = [python_pod(f"many-{i}", SERVER.replace('while not os.path.exists("/tmp/go"): time.sleep(0.05)', ""), labels="app: many")
            for i in range(2)]
    muster.apply("---".join([SERVICE.replace("NAME", "many"), *pods]))
    counter = CLIENT.replace("if got != last: print(got, flush=True)", "print(got, flush=True)").replace(
        "if got.startswith(sys.argv[2]): break", "seen = seen | {got} if i else {got}\n    if {'hello from many-0', 'hello from many-1'} <= seen: break")
    muster.apply(python_pod("counter", counter, "80", "-"))
    said = output(muster, "counter").splitlines()
    assert {"hello from many-0", "hello from many-1"} <= set(said)


def holder_of(muster) -> int:
    """The process that holds this Muster's network."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        words = read(entry / "cmdline").split(b"\0")
        if words[1:2] == [b"namespace-holder"] and words[2:3] == [str(muster.folder / "state/agent").encode()]:
            if read(entry / "comm").strip() == b"muster-holder":
                return int(entry.name)
    return 0


def test_the_helper_processes_that_fork_have_one_thread(muster):
    # What another thread had locked at the moment of a fork stays locked in the child: one pod of ten thousand never started.
    muster.apply(job("once", '["sleep", "7653"]', ns="default"))
    muster.until("the job's pod runs", lambda: any(p["status"]["phase"] == "Running" for p in muster.get("pods")["items"]))
    holder = holder_of(muster)
    helpers = [holder, *map(int, read(pathlib.Path(f"/proc/{holder}/task/{holder}/children")).split())]
    assert len(helpers) == 2
    assert [len(list(pathlib.Path(f"/proc/{pid}/task").iterdir())) for pid in helpers] == [1, 1]


def test_pods_come_back_when_the_holder_of_their_network_is_killed(muster):
    muster.apply(SERVICE.replace("NAME", "steady"))
    muster.apply(python_pod("steady", SERVER.replace('while not os.path.exists("/tmp/go"): time.sleep(0.05)', ""),
                            labels="app: steady").replace("restartPolicy: Never", "restartPolicy: Always"))
    muster.apply(job("once", '["sh", "-c", "echo started; sleep 7654"]', ns="default"))
    muster.apply(python_pod("first", CLIENT, "80", "hello"))
    assert "hello from steady" in output(muster, "first")
    lost = muster.until("the job's pod runs", lambda: next((p["metadata"]["name"] for p in muster.get(
        "pods", "-l", "job-name=once")["items"] if p["status"]["phase"] == "Running"), None))
    old = holder_of(muster)
    assert old
    os.kill(old, signal.SIGKILL)
    muster.until("a new holder is there", lambda: holder_of(muster) not in (0, old))
    muster.until("the pod was started again", lambda: muster.get("pod", "steady")["status"]["containerStatuses"][0]["restartCount"] >= 1
                 and "running" in muster.get("pod", "steady")["status"]["containerStatuses"][0]["state"])
    failed = muster.until("the job's pod is Failed", lambda: next(
        (p for p in [muster.get("pod", lost)] if not p or p["status"]["phase"] == "Failed"), None) is not None)
    assert failed
    muster.until("the job has another pod", lambda: any(
        p["metadata"]["name"] != lost and p["status"]["phase"] == "Running" for p in muster.get("pods", "-l", "job-name=once")["items"]))
    # Names, service addresses and the API server work in the new network.
    muster.apply(python_pod("second", CLIENT, "80", "hello"))
    assert output(muster, "second").splitlines()[-1] == "hello from steady"
    muster.apply(job("ask", '["python3", "-c", "import socket; print(socket.gethostbyname(\\"steady.default.svc.cluster.local\\")); '
                     'socket.create_connection((\\"kubernetes.default.svc\\", 443), 10); print(443)"]', ns="default"))
    muster.until("the job completes", lambda: done(muster, "ask", ns="default"))
    assert muster.run("logs", "job/ask").stdout.split() == ["10.96.7.7", "443"]
    assert muster.stop() == 0
    assert not holder_of(muster)


def test_a_restart_without_a_node_says_what_becomes_of_its_pods(make_muster):
    muster = make_muster("one:cpu=4,memory=4Gi", "two:cpu=4,memory=4Gi").start()
    muster.apply(pod("left", "sleep 600", "nodeName: two"))
    muster.until("it runs", lambda: muster.get("pod", "left")["status"].get("phase") == "Running")
    muster.kill()
    muster.nodes = ["one:cpu=4,memory=4Gi"]
    muster.start()
    said = muster.until("the sentence is there", lambda: re.search(
        r".*node two is not declared any more.*", (muster.folder / "muster.log").read_text()))
    assert "1 pod" in said[0] and "--node two" in said[0], said[0]
