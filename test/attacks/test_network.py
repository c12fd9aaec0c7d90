# test/attacks/test_network.py - the network that pods share: what one namespace does with its services, connections and packets
# keeps no other one from its own.
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from attacks import sized
from people import Town
from tenants import make_ground

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


@pytest.fixture(scope="module", params=["root", "rootless"])
def ground(request):
    made = make_ground(request.param)
    for name in ("bad", "good"):
        made.muster.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}")
    yield made
    made.muster.leave()
    shutil.rmtree(made.folder, ignore_errors=True)


def start(ground, ns: str, pod: dict, *wanted: str) -> dict:
    pod["metadata"]["namespace"] = ns
    ground.muster.apply(json.dumps(pod))
    reached = lambda: (lambda pod: pod if pod.get("status", {}).get("phase") in wanted else None)(  # noqa: E731
        ground.muster.get("pod", pod["metadata"]["name"], "-n", ns))
    return ground.muster.until(f"{pod['metadata']['name']} is {wanted}", reached, 60)


def said(ground, ns: str, name: str) -> str:
    return ground.muster.run("logs", name, "-n", ns, check=False).stdout


FLOOD = """
import socket, sys, time
lines = lambda: [line.split() for line in open("/proc/net/if_inet6")]
for _ in range(30):  # An address of IPv6, if it gets one, can be used after a second or two.
    if sys.argv[1] != "six" or any(line[5] == "eth0" and not int(line[4], 16) & 0x40 for line in lines()): break
    time.sleep(0.1)
while True:
    for n in range(20000):
        if n % 100 == 0:
            made = socket.socket(socket.AF_INET6 if sys.argv[1] == "six" else socket.AF_INET, socket.SOCK_DGRAM)
            if sys.argv[1] == "direct":
                made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
                made.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
        to = (f"fe80::1:{n:x}", 9, 0, socket.if_nametoindex("eth0")) if sys.argv[1] == "six" else (f"10.244.{100 + n // 250}.{1 + n % 250}", 9)
        try: made.sendto(b"x", socket.MSG_DONTWAIT, to)
        except OSError: pass
    print("sent", flush=True)
"""
# In a network of its own: how many of 20 neighbors the machine has no room for.
OTHER_NETWORK = """
import errno, socket, subprocess
for words in ("link add v0 type veth peer name v1", "link set v1 up", "addr add 10.9.0.1/16 dev v0", "link set v0 up"): subprocess.run(["ip", *words.split()], check=True)
full = 0
for n in range(20):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.setsockopt(socket.IPPROTO_IP, 11, 1)  # IP_RECVERR: it is told.
        try: made.sendto(b"x", (f"10.9.1.{1 + n}", 9))
        except OSError as error: full += error.errno == errno.ENOBUFS
print(full)
"""


def neighbors(way: str) -> int:
    """Entries of a table of neighbors, which is one for all networks of the machine."""
    table = "ndisc_cache" if way == "six" else "arp_cache"
    return int(pathlib.Path(f"/proc/net/stat/{table}").read_text().splitlines()[1].split()[0], 16)


@pytest.mark.parametrize("way", ["routed", "direct", "six"])
def test_f24_a_pod_that_sends_to_everybody_leaves_the_table_of_neighbors_to_others(ground, way):
    before = neighbors(way)
    third = start(ground, "good", python(f"third-{way}", SERVER), "Running")
    start(ground, "bad", python(f"flood-{way}", FLOOD, way), "Running")
    try:
        ground.muster.until("it has sent to 20,000 addresses", lambda: "sent" in said(ground, "bad", f"flood-{way}"))
        after = neighbors(way)
        full = int(subprocess.run(["unshare", "-n", "python3", "-c", OTHER_NETWORK], text=True, capture_output=True, check=True).stdout)
        begun = time.monotonic()
        start(ground, "good", python(f"near-{way}", CLIENT, third["status"]["podIP"], "8080"), "Succeeded", "Failed")
        print(f"neighbors, {way}: {before} before, {after} after, no room for {full} of 20 others; another pod reached after {time.monotonic() - begun:.1f} s")
        assert said(ground, "good", f"near-{way}").split() == ["reached"]
        # Past its routes a pod makes entries that give way to others at once.
        assert full == 0 and (way == "direct" or after < before + 50)
    finally:
        ground.muster.run("delete", "pod", f"flood-{way}", "-n", "bad", "--now")
