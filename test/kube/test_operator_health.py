# test/kube/test_operator_health.py - what `muster operator` says of itself: probes, metrics, profiles, log, its end.
import http.client
import json
import math
import re
import signal
import socket
import ssl
import struct
import subprocess
import time

import pytest

import access
import kinds
from cluster import free_ports
from conftest import MUSTER, until
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
        "[+]going-on ok", "[+]loop ok", "[+]server ok", "[+]caches ok", "[+]watches ok", "readyz check passed"]
    assert operator.get("/metrics")[0] == 404
    lines = [json.loads(line) for line in operator.log.read_text().splitlines() if line.startswith("{")]
    assert all({"level", "ts", "logger", "msg"} <= set(line) for line in lines)
    assert any(line["msg"].startswith("everything is seen") for line in lines)


def log_of(ground, level: str, play) -> list[dict]:
    """What an operator with this level says while something is played; after it, the operator has ended."""
    log = ground.folder / "operator.log"
    before = log.stat().st_size if log.exists() else 0

    def lines() -> list[dict]:
        with log.open("rb") as file:
            file.seek(before)
            return [json.loads(line) for line in file.read().decode().splitlines() if line.startswith("{")]
    play(level, lines)
    return lines()


def test_debug_names_what_was_decided_of_which_object_and_info_does_not(start, ground):
    """At info a line for each of thousands of admissions would cost more than they do; at debug nothing is left out."""
    workloads: dict[str, tuple[str, str]] = {}

    def admit(level: str, lines) -> None:
        operator = start("--log-format", "json", "--log-level", level).wait_ready()
        team = Team(ground, cpu="1")
        team.submit("told")
        until("it runs", lambda: team.runs("told"))
        workloads[level] = (team.name, team.workload("told")["metadata"]["name"])
        if level == "debug":
            until("the answers to its writes are told", lambda: any(
                line["msg"] == "written" and line.get("name") == workloads[level][1] for line in lines()))
        assert operator.stop() == 0

    told = {level: log_of(ground, level, admit) for level in ("debug", "info")}
    ns, name = workloads["debug"]
    about = [line for line in told["debug"] if (line.get("kind"), line.get("namespace"), line.get("name")) == ("Workload", ns, name)]
    assert {line["level"] for line in about} == {"debug"}
    decided = {line["condition"]: line for line in about if line["msg"] == "decided"}
    assert decided["QuotaReserved"]["status"] == decided["Admitted"]["status"] == "True"
    assert decided["Admitted"]["reason"] == "Admitted" and decided["Admitted"]["message"] == "The workload is admitted"
    assert {"QuotaReserved", "Admitted"} <= {line["reason"] for line in about if line["msg"] == "event"}
    assert (201, "create") in {(line["code"], line["verb"]) for line in about if line["msg"] == "written"}
    assert (200, "patch") in {(line["code"], line["verb"]) for line in about if line["msg"] == "written"}
    assert any(line["kind"] == "Job" and line["msg"] == "written" for line in told["debug"] if line.get("namespace") == ns)
    assert any(line["logger"] == "kube" and line.get("resource") == "workloads" for line in told["debug"])
    assert {line["level"] for line in told["info"]} <= {"info", "warning"}
    assert not any(workloads["info"][1] in json.dumps(line) for line in told["info"])
    assert [line["msg"].split(":")[0] for line in told["info"] if line["logger"] == "operator" and line["msg"][0] in "se"] == [
        "starting", "everything is seen; stop with SIGTERM", "ending", "ended"]


def test_a_level_that_is_none_is_refused():
    done = subprocess.run([str(MUSTER), "operator", "--log-level", "loud"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0 and "--log-level" in done.stderr and "debug" in done.stderr


def metrics_of(operator, reader: str) -> str:
    status, text = operator.get("/metrics", operator.metrics, reader)
    return text.decode() if status == 200 else ""


def patiently(what: str, true):
    """A server that was restarted, or whose store stood still, takes a minute and more to take a definition away on a busy machine."""
    return until(what, true, 180)


def await_ready_again(operator) -> None:
    said = []

    def is_ready() -> bool:
        said.append(operator.get("/readyz"))
        return said[-1] == (200, b"ok")
    began = time.monotonic()
    try:
        patiently("it is ready again", is_ready)
    finally:
        print(f"{time.monotonic() - began:.1f} s:", said[-1])


def test_a_kind_that_is_gone_is_named_until_it_is_back(start, ground):
    clusters = next(one for one in kinds.crds("ray.io") if one["spec"]["names"]["plural"] == "rayclusters")
    kinds.install(ground, [clusters])
    patiently("it is there", lambda: ground.request("GET", "/apis/ray.io/v1/rayclusters")[0] == 200)
    operator = start().wait_ready()
    patiently("it is ready", lambda: operator.get("/readyz") == (200, b"ok"))
    reader = scraper(ground, "outage-reader", "muster-metrics-reader")
    patiently("its right is known", lambda: metrics_of(operator, reader))
    assert "muster_watch_down_seconds{" not in patiently("its metrics are read", lambda: metrics_of(operator, reader))
    definition = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{clusters['metadata']['name']}"
    assert ground.request("DELETE", definition)[0] == 200
    try:
        patiently("it is measured", lambda: 'muster_watch_down_seconds{group="ray.io",resource="rayclusters"}' in metrics_of(operator, reader))
        patiently("it is named", lambda: operator.says("/readyz", "[-]watches failed: nothing is heard of rayclusters.ray.io for "))
        assert operator.says("/readyz", "answered 404: the server does not have them any more")
        assert operator.get("/readyz")[0] == 500
        # Whoever calls webhooks is served all the same: that is what the pod's probe asks.
        assert operator.get("/readyz?exclude=watches") == (200, b"ok")
        assert operator.get("/healthz") == (200, b"ok")
    finally:
        patiently("it is gone", lambda: ground.request("GET", definition)[0] == 404)
        kinds.install(ground, [clusters])
    await_ready_again(operator)
    assert "muster_watch_down_seconds{" not in patiently("its metrics are read", lambda: metrics_of(operator, reader))


def test_who_may_not_watch_any_more_says_so_until_it_may_again(start, ground):
    operator = start().wait_ready()
    binding = next(item for item in access.printed() if item["kind"] == "ClusterRoleBinding"
                   and item["roleRef"]["name"] == access.ACCOUNT)
    assert ground.request("DELETE", f"{access.path_of(binding)}/{binding['metadata']['name']}")[0] == 200
    try:
        patiently("the right is gone", lambda: not access.is_allowed(ground, {"verb": "watch", "group": "batch", "resource": "jobs"}))
        ground.kill("kube-apiserver")  # Watches that are open stay so, and hear everything.
        ground.start()
        for words in ("[-]watches failed: nothing is heard of", "workloads.kueue.x-k8s.io", "jobs.batch", "answered 403"):
            patiently(f"{words} is said", lambda words=words: operator.says("/readyz", words))
        assert operator.get("/healthz") == (200, b"ok")
    finally:
        ground.request("POST", access.path_of(binding), binding)
    await_ready_again(operator)


def test_a_server_without_its_store_is_none(start, ground):
    operator = start().wait_ready()
    patiently("it is ready", lambda: operator.get("/readyz") == (200, b"ok"))
    store = ground.running["etcd"]
    store.send_signal(signal.SIGSTOP)
    try:
        for words in ("[-]server failed: the API server has not answered for ", "etcd failed"):
            patiently(f"{words} is said", lambda words=words: operator.says("/readyz", words))
        assert operator.get("/healthz") == (200, b"ok")
    finally:
        store.send_signal(signal.SIGCONT)
    await_ready_again(operator)


def let_go_of_wrappers(ground) -> None:
    """Those that other tests have left have a finalizer and nobody who takes it away: with them their definition stays."""
    status, left = ground.request("GET", "/apis/workload.codeflare.dev/v1beta1/appwrappers")
    for each in left["items"] if status == 200 else []:
        path = f"/apis/workload.codeflare.dev/v1beta1/namespaces/{each['metadata']['namespace']}/appwrappers/{each['metadata']['name']}"
        assert ground.request("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")[0] == 200
        ground.request("DELETE", path)


def test_app_wrappers_that_nobody_here_manages_are_told(start, ground):
    """The definition of CodeFlare's own operator: the same group and plural, another version."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    ours = next(one for one in kinds.crds("workload.codeflare.dev") if one["spec"]["names"]["plural"] == "appwrappers")
    name = ours["metadata"]["name"]
    let_go_of_wrappers(ground)
    was_there = ground.request("DELETE", f"{definitions}/{name}")[0] == 200
    patiently("there is none", lambda: ground.request("GET", f"{definitions}/{name}")[0] == 404)
    newer = {**ours["spec"]["versions"][0], "name": "v1beta2", "served": True, "storage": True, "schema": {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}, "additionalPrinterColumns": []}
    theirs = {**ours, "metadata": {"name": name}, "spec": {**ours["spec"], "versions": [newer]}}
    theirs["spec"].pop("conversion", None)
    words = "the server has AppWrappers of workload.codeflare.dev/v1beta2, which are not managed"

    def hear(level: str, lines) -> None:
        operator = start("--log-format", "json", "--log-level", level).wait_ready()
        patiently("it is told", lambda: any(line["msg"].startswith(words) for line in lines()))
        assert operator.stop() == 0
    try:
        kinds.install(ground, [theirs])
        patiently("it is there", lambda: ground.request("GET", "/apis/workload.codeflare.dev/v1beta2/appwrappers")[0] == 200)
        told = log_of(ground, "info", hear)
        assert [line["level"] for line in told if line["msg"].startswith(words)] == ["warning"]
    finally:
        ground.request("DELETE", f"{definitions}/{name}")
        patiently("it is gone", lambda: ground.request("GET", f"{definitions}/{name}")[0] == 404)
        if was_there:
            kinds.install(ground, [ours])


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
    # pprof asks there what the functions of libraries are called, and gives up when that is not found.
    assert operator.get("/debug/pprof/symbol?0x1", operator.profile) == (200, b"num_symbols: 1\n")
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
