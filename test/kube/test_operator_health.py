# test/kube/test_operator_health.py - what `muster operator` says of itself: probes, metrics, profiles, log, its end.
import http.client
import json
import math
import re
import signal
import socket
import ssl
import struct
import time

import pytest

import access
import kinds
from cluster import free_ports
from conftest import until
from test_operator import Operator, Team


class Watched(Operator):
    """An operator whose endpoints can be asked."""

    def __init__(self, cluster, *flags: str, kubeconfig=None):
        self.health, self.metrics, self.profile = free_ports(3)
        super().__init__(cluster, "--health-probe-bind-address", f"127.0.0.1:{self.health}", "--metrics-bind-address",
                         f"127.0.0.1:{self.metrics}", "--pprof-bind-address", f"127.0.0.1:{self.profile}", *flags,
                         kubeconfig=kubeconfig)

    def get(self, path: str, port: int = 0, token: str = "") -> tuple[int, bytes]:
        """Status 0: nobody listens (yet, or any more)."""
        if port == self.metrics:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", port or self.health, timeout=30)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()

    def says(self, path: str, words: str) -> bool:
        return words in self.get(path)[1].decode()


@pytest.fixture(scope="module")
def ground(cluster):
    kinds.install(cluster, kinds.crds(kinds.KUEUE))
    access.install(cluster)
    return cluster


@pytest.fixture
def start(ground):
    running = []

    def start(*flags: str, **more) -> Watched:
        running.append(Watched(ground, *flags, **more).start())
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.stop()


def scraper(cluster, name: str, role: str = "") -> str:
    """The token of a service account with this ClusterRole."""
    cluster.request("POST", f"/api/v1/namespaces/{access.NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
    if role:
        cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": access.NAMESPACE, "name": name}]})
    return access.token(cluster, name)


def test_it_is_ready_when_everything_is_seen_and_says_so_as_json(start):
    operator = start("--log-format", "json", "--log-level", "debug").wait_ready()
    assert operator.get("/healthz") == (200, b"ok")
    until("it is ready", lambda: operator.get("/readyz") == (200, b"ok"))
    assert operator.get("/readyz?verbose")[1].decode().splitlines() == [
        "[+]going-on ok", "[+]loop ok", "[+]server ok", "[+]caches ok", "readyz check passed"]
    assert operator.get("/metrics")[0] == 404
    lines = [json.loads(line) for line in operator.log.read_text().splitlines() if line.startswith("{")]
    assert {"level", "ts", "logger", "msg"} == set(lines[-1])
    assert any(line["msg"].startswith("everything is seen") for line in lines)


def test_who_may_not_look_is_alive_and_says_what_it_waits_for(start, ground):
    nobody = ground.write_kubeconfig("nobody", ground.authority.issue("nobody"))
    operator = start(kubeconfig=nobody)
    until("it says why", lambda: operator.says("/readyz", "[-]caches failed: waiting: not allowed to list"))
    assert operator.get("/readyz")[0] == 500
    assert operator.get("/healthz") == (200, b"ok")


def test_a_follower_is_ready(start):
    first = start("--leader-elect")
    assert first.line() == "leading" and first.line() == "ready"
    second = start("--leader-elect")
    until("the second is ready", lambda: second.get("/readyz")[0] == 200)
    assert second.lines.empty()


def test_metrics_are_for_whom_the_cluster_allows_them(start, ground):
    operator = start().wait_ready()
    assert operator.get("/metrics", operator.metrics)[0] == 401
    assert operator.get("/metrics", operator.metrics, "nobody's")[0] == 401
    status, text = operator.get("/metrics", operator.metrics, scraper(ground, "stranger"))
    assert status == 403 and b"nonResourceURLs" in text
    prometheus = scraper(ground, "prometheus", "muster-metrics-reader")
    for path, body in kinds.queues("measured", "default", "1"):
        assert ground.request("POST", path, body)[0] == 201

    def families() -> set[str]:
        status, text = operator.get("/metrics", operator.metrics, prometheus)
        assert status in (200, 403)  # The API server goes by a new right a moment after it was given.
        return {line.split()[2] for line in text.decode().splitlines() if line.startswith("# TYPE")}
    until("the queues are counted", lambda: "kueue_cluster_queue_status" in families())
    assert {"process_resident_memory_bytes", "rest_client_requests_total"} <= families()
    assert operator.get("/else", operator.metrics, prometheus)[0] == 404


class Histogram:
    """One line of a family with these labels: its buckets, cumulative, by their upper bound; its sum and its count."""

    def __init__(self, text: str, name: str, **labels: str):
        self.buckets: dict[float, float] = {}
        self.sum = self.count = 0.0
        for what, inside, value in re.findall(rf"^{name}_(bucket|sum|count)\{{(.*)\}} (\S+)$", text, re.M):
            found = dict(re.findall(r'(\w+)="([^"]*)"', inside))
            if not labels.items() <= found.items():
                continue
            if what == "bucket":
                self.buckets[float(found["le"])] = float(value)
            else:
                setattr(self, what, float(value))

    def is_one(self) -> bool:
        """Counts grow from bound to bound and end with all; the sum is one that values in these buckets can have."""
        bounds, counts = list(self.buckets), list(self.buckets.values())
        assert bounds, "there is none with these labels"
        if bounds != sorted(bounds) or counts != sorted(counts) or bounds[-1] != math.inf or counts[-1] != self.count:
            return False
        inside = [counts[0], *(b - a for a, b in zip(counts, counts[1:]))]
        least = sum(n * low for n, low in zip(inside, [0.0, *bounds]))
        most = sum(n * high for n, high in zip(inside, bounds) if n)
        return least <= self.sum <= most


def test_waits_for_admission_are_told_as_long_as_they_were(start, ground):
    operator = start().wait_ready()
    reader = scraper(ground, "historian", "muster-metrics-reader")
    team = Team(ground, cpu="1")

    def told(name: str, **labels: str) -> Histogram:
        status, text = operator.get("/metrics", operator.metrics, reader)
        assert status == 200, text
        return Histogram(text.decode(), f"kueue_{name}_seconds", **labels)

    until("its right is known", lambda: operator.get("/metrics", operator.metrics, reader)[0] == 200)
    assert told("admission_wait_time", cluster_queue=team.name).count == 0
    team.submit("first")
    until("the first runs", lambda: team.runs("first"))
    began = time.time()
    team.submit("second")
    seen = until("the second has its Workload", lambda: team.workload("second") and time.time())
    until("it has waited", lambda: time.time() > seen + 4)
    until("the first is over", lambda: team.finishes("first"))
    until("the second is admitted", lambda: team.is_true("second", "Admitted"))
    longest = time.time() - began
    for name in ("admission_wait_time", "quota_reserved_wait_time"):
        waits = until("both are counted", lambda name=name: (
            seen if (seen := told(name, cluster_queue=team.name)).count == 2 else None))
        assert waits.is_one(), vars(waits)
        assert list(waits.buckets)[:4] == [1, 2.5, 5, 10] and len(waits.buckets) == (17 if name.startswith("admission") else 15)
        # Creation times are of whole seconds. The second waited longer than 2.5 s for sure.
        assert 3 <= waits.sum and waits.buckets[2.5] <= 1, vars(waits)
        assert waits.sum <= longest + 62, "the first waited as long as a test waits at most"
    attempts = told("admission_attempt_duration", result="success")
    assert attempts.is_one() and attempts.count >= 2 and attempts.sum < longest + 62
    born = told("workload_creation_latency", job_kind="Job")
    assert born.is_one() and born.count >= 2, vars(born)


def test_a_profile_is_one_that_pprof_reads(start):
    operator = start().wait_ready()
    status, body = operator.get("/debug/pprof/profile?seconds=1", operator.profile)
    assert status == 200
    words = struct.unpack(f"<{5}Q", body[:40])
    assert words == (0, 3, 0, 10_000, 0)
    assert str(operator.command[0]).encode() in body  # The maps that follow the stacks.
    assert operator.get("/debug/pprof/profile?seconds=x", operator.profile)[0] == 400
    assert b"profile?seconds=N" in operator.get("/debug/pprof/", operator.profile)[1]


def test_who_ends_says_first_that_it_is_not_ready(start, ground):
    operator = start("--leader-elect")
    assert operator.line() == "leading" and operator.line() == "ready"
    server = ground.running["kube-apiserver"]
    server.send_signal(signal.SIGSTOP)  # So that its end takes a while: the Lease cannot be given back.
    try:
        operator.process.send_signal(signal.SIGTERM)
        until("it says that it ends", lambda: operator.says("/readyz", "[-]going-on failed: it is ending"))
        assert operator.get("/healthz") == (200, b"ok")
    finally:
        server.send_signal(signal.SIGCONT)
    assert operator.process.wait(timeout=30) == 0


def test_metrics_speak_the_tls_that_the_file_wants(start, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\ntls: {minVersion: VersionTLS13}\n")
    operator = start("--config", str(file))

    def shaken(version: ssl.TLSVersion) -> str:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode, context.maximum_version = False, ssl.CERT_NONE, version
        with socket.create_connection(("127.0.0.1", operator.metrics), timeout=30) as raw, context.wrap_socket(raw) as wire:
            return wire.version()
    until("metrics are served", lambda: operator.get("/metrics", operator.metrics)[0] in (401, 403))
    assert shaken(ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        shaken(ssl.TLSVersion.TLSv1_2)
