# test/kube/test_connections.py - connections to the real server that are cut, delayed and frozen while objects change: no
# watcher loses an event or hears one twice.
import collections
import os
import pathlib
import random
import shutil
import subprocess
import threading

import pytest

from conftest import MUSTER, until
from proxy import Proxy

PROBE = pathlib.Path(os.environ.get("MUSTER_WATCH_PROBE", MUSTER.parent / "watch_probe"))
PATCH = "application/merge-patch+json"
PING_MS = 2000  # A proxy or a server that is slow for a moment is not silent.


class Probe:
    """The program that watches, and what it has told."""

    def __init__(self, kubeconfig: pathlib.Path, *targets: str):
        self.told = collections.defaultdict(list)  # Object: the versions in the order in which they were told, None for removed.
        self.listed = collections.Counter()
        self.process = subprocess.Popen([str(PROBE), str(kubeconfig), str(PING_MS), *targets], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.synced = set()
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            what, plural, *rest = line.split()
            if what == "applied":
                self.told[plural, rest[0]].append(int(rest[1]))
            elif what == "removed":
                self.told[plural, rest[0]].append(None)
            elif what == "synced":
                self.synced.add(plural)
            else:
                self.listed[plural] += 1

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.thread.join(timeout=10)


class Writer:
    """Changes objects, past the proxy, and knows what watchers must have heard."""

    def __init__(self, cluster, ns: str, seed: int):
        self.cluster, self.ns, self.random = cluster, ns, random.Random(seed)
        self.wanted = collections.defaultdict(list)
        self.alive = set()
        status, answer = cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
        assert status == 201, answer

    def step(self) -> None:
        plural, name = self.random.choice(["configmaps", "secrets"]), f"thing-{self.random.randrange(12)}"
        path = f"/api/v1/namespaces/{self.ns}/{plural}"
        key = (plural, f"{self.ns}/{name}")
        body = {"metadata": {"name": name}, "data": {"text": "QUFB" * self.random.choice([0, 1, 1000])}}
        if key not in self.alive:
            status, answer = self.cluster.request("POST", path, body)
            self.alive.add(key)
        elif self.random.random() < 0.2:
            status, answer = self.cluster.request("DELETE", f"{path}/{name}")
            self.alive.remove(key)
            assert status == 200, answer
            self.wanted[key].append(None)
            return
        else:
            change = {"metadata": {"annotations": {"turn": str(self.random.random())}}}
            status, answer = self.cluster.request("PATCH", f"{path}/{name}", change, PATCH)
        assert status in (200, 201), answer
        self.wanted[key].append(int(answer["metadata"]["resourceVersion"]))


@pytest.fixture
def ground(cluster, request, make_folder):
    """Proxy, probe and writer; what the probe was told is compared at the end."""
    seed = abs(hash(request.node.name)) % 10**6 if os.environ.get("MUSTER_SEED") is None else int(os.environ["MUSTER_SEED"])
    print("MUSTER_SEED", seed)
    proxy = Proxy(cluster.port, seed)
    kubeconfig = cluster.write_kubeconfig(f"proxied-{seed}", cluster={"server": f"https://127.0.0.1:{proxy.port}"})
    writer = Writer(cluster, f"connections-{seed}", seed)
    probe = Probe(kubeconfig, "/v1/configmaps", "/v1/secrets", "/v1/pods", "apps/v1/deployments", "coordination.k8s.io/v1/leases")
    yield proxy, probe, writer
    probe.stop()
    proxy.stop()


def told_of(probe: Probe, writer: Writer) -> dict:
    return {key: told for key, told in list(probe.told.items()) if key[1].startswith(writer.ns + "/thing-")}


def compare(probe: Probe, writer: Writer) -> None:
    """Every change of every object was told, once, in order. The final state is the same in any case."""
    until("the last states are known", lambda: {k: v[-1] for k, v in told_of(probe, writer).items() if v} ==
          {k: v[-1] for k, v in writer.wanted.items()}, timeout=30)
    for key, told in told_of(probe, writer).items():
        assert told == writer.wanted[key], key


def there(cluster, writer: Writer) -> dict:
    """The versions of the writer's objects that the server has."""
    found = {}
    for plural in ["configmaps", "secrets"]:
        status, answer = cluster.request("GET", f"/api/v1/namespaces/{writer.ns}/{plural}")
        assert status == 200, answer
        found.update({(plural, f"{writer.ns}/{item['metadata']['name']}"): int(item["metadata"]["resourceVersion"])
                      for item in answer["items"] if item["metadata"]["name"].startswith("thing-")})
    return found


def test_all_watches_share_one_connection(ground):
    proxy, probe, writer = ground
    until("all is seen", lambda: len(probe.synced) == 5)
    for _ in range(50):
        writer.step()
    compare(probe, writer)
    assert proxy.connections == 1


def test_connections_that_break_at_any_byte(ground):
    proxy, probe, writer = ground
    until("all is seen", lambda: len(probe.synced) == 5)
    proxy.cut_after = 60_000
    proxy.cut_all()
    for _ in range(400):
        writer.step()
    compare(probe, writer)
    assert proxy.connections > 5
    assert max(probe.listed.values()) == 1, "a watch started anew instead of going on"


def test_slow_connections_that_break(ground):
    proxy, probe, writer = ground
    until("all is seen", lambda: len(probe.synced) == 5)
    proxy.cut_after, proxy.delay = 400_000, 0.003
    proxy.cut_all()
    for _ in range(200):
        writer.step()
    proxy.cut_after, proxy.delay = None, 0.0
    proxy.cut_all()
    compare(probe, writer)


def test_connections_that_overtake_each_other_and_go_on_after_their_end(ground):
    """What the client had asked over a connection that was cut comes to the server beside what it asks anew."""
    proxy, probe, writer = ground
    until("all is seen", lambda: len(probe.synced) == 5)
    proxy.cut_after, proxy.spread, proxy.lingering = 100_000, 0.2, 1.0
    proxy.cut_all()
    for _ in range(300):
        writer.step()
    proxy.cut_after, proxy.spread, proxy.lingering = None, 0.0, 0.0
    proxy.cut_all()
    compare(probe, writer)
    assert proxy.connections > 5


def test_the_first_list_breaks_again_and_again(cluster, request, make_folder):
    proxy = Proxy(cluster.port, 7)
    writer = Writer(cluster, "connections-list", 7)
    for _ in range(60):
        writer.step()
    kubeconfig = cluster.write_kubeconfig("proxied-list", cluster={"server": f"https://127.0.0.1:{proxy.port}"})
    proxy.cut_after = 12_000
    probe = Probe(kubeconfig, "/v1/configmaps", "/v1/secrets")
    try:
        until("several connections have broken", lambda: proxy.connections > 3)
        proxy.cut_after = None
        proxy.cut_all()
        until("both are seen", lambda: len(probe.synced) == 2)
        told = {key: versions for key, versions in told_of(probe, writer).items()}
        assert told == {key: versions[-1:] for key, versions in writer.wanted.items() if versions[-1] is not None}
    finally:
        probe.stop()
        proxy.stop()


def test_connections_that_die_in_silence(ground):
    proxy, probe, writer = ground
    until("all is seen", lambda: len(probe.synced) == 5)
    for _ in range(2):
        writer.step()
        proxy.frozen = True
        before = proxy.connections
        writer.step()
        until("the silence is noticed", lambda: proxy.connections > before, timeout=60)
        proxy.frozen = False
        writer.step()
        compare(probe, writer)


def test_a_server_that_restarts(make_folder):
    from conftest import Cluster
    made = Cluster(make_folder())
    probe = None
    try:
        made.start()
        writer = Writer(made, "restarts", 1)
        probe = Probe(made.kubeconfig, "/v1/configmaps", "/v1/secrets")
        until("both are seen", lambda: len(probe.synced) == 2)
        for name in ["kube-apiserver", "kube-apiserver", "etcd"]:
            for _ in range(10):
                writer.step()
            made.kill(name)
            made.start()
        for _ in range(10):
            writer.step()
        # A new server's memory starts after what the watch has seen: then it lists again, and may skip what was between.
        until("the last states are known", lambda: {k: v[-1] for k, v in told_of(probe, writer).items()} ==
              {k: v[-1] for k, v in writer.wanted.items()})
        for key, told in told_of(probe, writer).items():
            versions = [v for v in told if v is not None]
            assert versions == sorted(set(versions)), key
            assert set(versions) <= set(writer.wanted[key]), key
    finally:
        if probe:
            probe.stop()
        made.stop()

def test_etcd_that_is_restored_from_a_backup(make_folder):
    """The server is back with an older state, in which a watch from a newer version would hear nothing."""
    from conftest import Cluster
    made = Cluster(make_folder())
    probe = None
    try:
        made.start()
        writer = Writer(made, "restored", 1)
        for _ in range(30):
            writer.step()
        for name in ["kube-apiserver", "etcd"]:
            made.kill(name)
        shutil.copytree(made.folder / "etcd", made.folder / "backup")
        made.start()
        probe = Probe(made.kubeconfig, "/v1/configmaps", "/v1/secrets")
        until("both are seen", lambda: len(probe.synced) == 2)
        for _ in range(200):  # More than the server writes by itself when it starts.
            writer.step()
        until("the probe knows what the server has", lambda: {k: v[-1] for k, v in told_of(probe, writer).items() if v[-1]} ==
              there(made, writer), timeout=60)
        for name in ["kube-apiserver", "etcd"]:
            made.kill(name)
        shutil.rmtree(made.folder / "etcd")
        (made.folder / "backup").rename(made.folder / "etcd")
        made.start()
        until("the probe knows what the server has", lambda: {k: v[-1] for k, v in told_of(probe, writer).items() if v[-1]} ==
              there(made, writer), timeout=60)
        # And it hears of what comes now, each once.
        writer.wanted.clear()
        writer.alive = set(there(made, writer))
        before = {key: len(told) for key, told in told_of(probe, writer).items()}
        for _ in range(40):
            writer.step()
        until("all is told", lambda: {k: v[before.get(k, 0):] for k, v in told_of(probe, writer).items() if v[before.get(k, 0):]} ==
              dict(writer.wanted))
    finally:
        if probe:
            probe.stop()
        made.stop()
