# test/attacks/test_network.py - the network that pods share: what one namespace does with its services, connections and packets
# keeps no other one from its own.
import concurrent.futures
import json
import os
import pathlib
import time

import pytest

from attacks import sized
from people import Town

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it looks into processes of all pods, and Musters of all kinds: that needs root")

SERVER = """
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 8080)); s.listen(100)
while True:
    c, _ = s.accept(); c.sendall(b"hello"); c.close()
"""
CLIENT = """
import socket, sys, time
for i in range(600):
    try:
        with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) as c:
            if c.recv(100) == b"hello": print("reached", flush=True); break
    except OSError: time.sleep(0.05)
"""


def python(name: str, script: str, *words: str, app: str = "") -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app or name}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False,
                     "containers": [{"name": "main", "image": "python", "command": ["python3", "-c", script, *words]}]}}


def service(name: str, app: str, ports: int, ip: str = "") -> dict:
    listed = [{"name": f"p{i}", "port": 80 + i, "targetPort": 8080 + i} for i in range(ports)]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": app}, "ports": listed, **({"clusterIP": ip} if ip else {})}}


def make(person, ns: str, plural: str, body: dict) -> None:
    answer = person.post(f"/api/v1/namespaces/{ns}/{plural}", body)
    assert answer.status == 201, answer


def until(what: str, true, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (got := true()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.1)
    return got


def pod_of(person, ns: str, name: str) -> dict:
    return person.get(f"/api/v1/namespaces/{ns}/pods/{name}").json


def phase(person, ns: str, name: str, *wanted: str) -> dict:
    """The pod, when it has come so far."""
    return until(f"{name} is {wanted}", lambda: (lambda pod: pod if pod.get("status", {}).get("phase") in wanted else None)(pod_of(person, ns, name)))


def logs(person, ns: str, name: str) -> str:
    return person.get(f"/api/v1/namespaces/{ns}/pods/{name}/log").text


def busy_of(pid: int, thread: str = "") -> float:
    """Seconds that a process, or a thread of it, has computed."""
    ticks = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if thread in (task / "comm").read_text():
            words = (task / "stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def holder_of(muster) -> int:
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[1:3] == [b"namespace-holder", str(muster.folder / "state/agent").encode()] and (entry / "comm").read_text() == "muster-holder\n":
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError("no holder")


def test_f22_ports_of_very_many_services_do_not_stop_those_of_others(town):
    bad, good = town.namespace(), town.namespace()
    attacker, other = town.person(bad, "edit"), town.person(good, "edit")
    make(attacker, bad, "pods", python("sleeps", "import time; time.sleep(1000)", app="x"))
    phase(attacker, bad, "sleeps", "Running")
    count = sized(800)
    with concurrent.futures.ThreadPoolExecutor(4) as lanes:
        for made in [lanes.submit(make, attacker, bad, "services", service(f"s{i}", "x", 100)) for i in range(count)]:
            made.result()
    muster, holder = town.muster.process.pid, holder_of(town.muster)
    before, begun = (busy_of(muster), busy_of(muster, "muster-forward"), busy_of(holder)), time.monotonic()
    make(other, good, "services", service("web", "web", 1, "10.96.9.9"))
    make(other, good, "pods", python("web", SERVER))
    make(other, good, "pods", python("client", CLIENT, "10.96.9.9", "80"))
    phase(other, good, "client", "Succeeded", "Failed")
    took = time.monotonic() - begun
    while time.monotonic() - begun < 10:
        time.sleep(0.1)
    shares = [(now - then) / (time.monotonic() - begun) for now, then in
              zip((busy_of(muster), busy_of(muster, "muster-forward"), busy_of(holder)), before)]
    print(f"{count * 100} ports: another's service is reached after {took:.1f} s; computing: server {shares[0]:.0%}, its forwarder {shares[1]:.0%}, "
          f"holder {shares[2]:.0%}")
    assert logs(other, good, "client").split() == ["reached"]
    assert took < 15 and shares[1] < 0.5 and shares[2] < 0.5
    events = other.town.person(bad, "view").get(f"/api/v1/namespaces/{bad}/events").json["items"] if count > 10 else []
    told = [event for event in events if event["reason"] == "PortsNotServed"]
    assert told and told[0]["involvedObject"]["kind"] == "Service" and "ports refuse connections" in told[0]["message"], told[:1]


HOLDS = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
for i in range(900):
    try: held.append(socket.create_connection((sys.argv[1], 80), timeout=5))
    except OSError: time.sleep(0.01)
print("tried", flush=True)
time.sleep(1000)
"""
LISTENS = "import socket, time; s = socket.socket(); s.bind(('', 8080)); s.listen(4096); time.sleep(1000)"


@pytest.fixture()
def small_town():
    """A server that may have 2,000 open files."""
    made = Town(prefix=["prlimit", "--nofile=2000:2000"])
    yield made
    made.leave()


def test_f23_connections_to_services_leave_others_their_own(small_town):
    town = small_town
    bad, good = town.namespace(), town.namespace()
    attacker, other = town.person(bad, "edit"), town.person(good, "edit")
    make(attacker, bad, "services", service("sink", "sink", 1, "10.96.9.8"))
    make(attacker, bad, "pods", python("sink", LISTENS))
    make(attacker, bad, "pods", python("once", CLIENT.replace('if c.recv(100) == b"hello": ', ""), "10.96.9.8", "80"))
    phase(attacker, bad, "once", "Succeeded")
    for i in range(3):
        make(attacker, bad, "pods", python(f"holds-{i}", HOLDS, "10.96.9.8"))
    until("all have tried", lambda: all("tried" in logs(town.admin, bad, f"holds-{i}") for i in range(3)), 120)
    files = len(list(pathlib.Path(f"/proc/{town.muster.process.pid}/fd").iterdir()))
    make(other, good, "services", service("web", "web", 1, "10.96.9.9"))
    make(other, good, "pods", python("web", SERVER))
    make(other, good, "pods", python("client", CLIENT, "10.96.9.9", "80"))
    phase(other, good, "client", "Succeeded", "Failed")
    print(f"2,700 connections of one namespace: the server has {files} of 2,000 files open")
    assert logs(other, good, "client").split() == ["reached"]
    assert files < 500 and town.admin.get("/readyz").status == 200
