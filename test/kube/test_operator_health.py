# test/kube/test_operator_health.py - what `muster operator` says of itself: probes, metrics, profiles, log, its end.
import http.client
import json
import signal
import socket
import ssl
import struct

import pytest

import access
import kinds
from cluster import free_ports
from conftest import until
from test_operator import Operator


class Watched(Operator):
    """An operator whose endpoints can be asked; it has the rights of its own account."""

    def __init__(self, cluster, *flags: str, kubeconfig=None):
        self.health, self.metrics, self.profile = free_ports(3)
        super().__init__(cluster, "--health-probe-bind-address", f"127.0.0.1:{self.health}", "--metrics-bind-address",
                         f"127.0.0.1:{self.metrics}", "--pprof-bind-address", f"127.0.0.1:{self.profile}", *flags,
                         kubeconfig=kubeconfig or access.operator_kubeconfig(cluster))

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
