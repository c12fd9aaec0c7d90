# test/kube/test_trouble.py - what goes wrong around an operator that has hundreds of Workloads to decide about: whatever it is,
# no quota is exceeded for a moment, nothing is lost, nothing admitted twice, and all comes to its end.
import collections
import concurrent.futures
import contextlib
import copy
import datetime
import json
import os
import pathlib
import random
import re
import time
import urllib.request

import pytest

import access
import crowd
import kinds
from conftest import until
from crowd import WORKLOADS
from jail import Jail
from outside import PATCH, Client, is_true
from place import opened
from shifted_clock import ShiftedClock
from stage import QUICK, Stage
from test_operator_leader import LEASE, times

MANY = int(os.environ.get("MUSTER_MANY", "500"))  # With 10000 it takes 9 minutes on two busy cores.
WRITERS = 6
OUTLIVED = 6  # Seconds without a renewal that the usual Lease certainly lasts: it is renewed every 2, for 10.
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = [f"{RBAC}/clusterroles/{access.ACCOUNT}", f"{RBAC}/namespaces/{access.NAMESPACE}/roles/{access.ACCOUNT}"]
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
SOMEBODYS = {"whose": "somebody's", "deep": {"list": [1, {"a": None, "b": 2.5}]}}
KEPT = {"whose": "somebody's", "deep": {"list": [1, {"b": 2.5}]}}  # Without nulls, which a merge patch removes.


@pytest.fixture(scope="module")
def bare():
    """The operator is started before any of its kinds is there."""
    with opened(Stage) as stage:
        yield stage


@pytest.fixture(scope="module")
def ready(bare):
    """The kinds have come, with fields that Muster has never heard of."""
    until("it says what it waits for", lambda: "workloads.kueue.x-k8s.io/v1beta2" in bare.operator.log.read_text())
    assert bare.operator.lives() and bare.operator.line() == "leading" and bare.operator.lines.empty()
    # One after the other: in between, some of them are there and others are not.
    crds = [extended(each) for group in (kinds.KUEUE, "ray.io", "workload.codeflare.dev") for each in kinds.crds(group)]
    for each in sorted(crds, key=lambda crd: "workloads." in crd["metadata"]["name"]):
        kinds.install(bare.cluster, [each])
    until("they are served", lambda: all(bare.client.ask("GET", path_of(each))[0] == 200 for each in crds))
    bare.operator.wait_ready()
    bare.watch()
    return bare


@pytest.fixture
def stage(ready):
    """Afterwards all that was broken is whole again, and nothing was ever wrong."""
    before = ready.outside.admissions, ready.outside.evictions, ready.outside.lists
    began = time.time()
    yield ready
    now = ready.outside.admissions, ready.outside.evictions, ready.outside.lists
    print("admissions, evictions, lists: %d %d %d" % tuple(b - a for a, b in zip(before, now)),
          f"in {time.time() - began:.1f} s")
    ready.outside.check()
    until("the operator lives", ready.operator.lives, timeout=10)
    ready.operator.wait_ready()


def extended(crd: dict) -> dict:
    """With a field in spec and one in status whose names only somebody else knows."""
    made = copy.deepcopy(crd)
    for version in made["spec"]["versions"]:
        parts = version["schema"]["openAPIV3Schema"]["properties"]
        for part in ("spec", "status"):
            if "properties" in parts.get(part, {}):
                parts[part]["properties"]["somebodys"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return made


def path_of(crd: dict) -> str:
    spec = crd["spec"]
    return f"/apis/{spec['group']}/{next(v['name'] for v in spec['versions'] if v['storage'])}/{spec['names']['plural']}?limit=1"


def test_kinds_that_were_missing_at_the_start_are_worked_on_when_they_come(stage):
    stage.crowd("late", 60, jobs=10, seconds=1).wait_over()


def test_the_operator_is_killed_again_and_again(stage):
    """Each waits until the Lease of the one before is over: some are killed then."""
    chance = random.Random(7)
    with stage.other_operator(lease=QUICK):
        crowd = stage.crowd("killed", 250, jobs=30, seconds=11)
        kills = 0
        while crowd.over() < crowd.count and kills < 8:
            time.sleep(chance.uniform(0, 0.3))
            if chance.random() < 0.7:
                stage.operator.wait_ready()
                time.sleep(chance.uniform(0, 0.3))
            stage.operator.kill()
            stage.operator.start()
            kills += 1
        stage.operator.wait_ready()
        print("kills:", kills, "over before the last:", crowd.over())
        crowd.wait_over()


def after(began: datetime.datetime, then: datetime.datetime) -> float:
    return (then - began).total_seconds()


def test_the_work_goes_from_leader_to_leader(stage):
    """By the times in the Lease: from one that is killed when that is over, and from one that ends at once, long before."""
    to_be_killed = {"leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "500ms"}
    to_be_ended = {"leaseDuration": "60s", "renewDeadline": "58s", "retryPeriod": "500ms"}
    stage.operator.stop()
    leader = stage.start(lease=to_be_killed)
    assert leader.line() == "leading" and leader.line() == "ready"
    crowd = stage.crowd("leaders", 300, jobs=20, seconds=16)
    for turn in range(4):
        follower = stage.start(lease=to_be_killed if turn % 2 else to_be_ended)
        holder = stage.client.insist("GET", LEASE)["spec"]["holderIdentity"]
        until("the next one waits", lambda: f"{holder} is working" in follower.log.read_text())
        if turn % 2:
            began = datetime.datetime.now(datetime.timezone.utc)
            assert leader.stop() == 0
            least, most = 0, 15
        else:
            leader.kill()
            began = times(stage.cluster)[0]
            least, most = 6, 8 + 3  # What the guide says, and what a busy machine takes.
        assert follower.line() == "leading"
        took = after(began, times(stage.cluster)[1])
        print(f"turn {turn}: {took:.2f} s")
        assert least <= took <= most
        leader = follower
    crowd.wait_over()
    assert leader.stop() == 0
    stage.operator = stage.start().wait_ready()


def test_a_leader_that_cannot_renew_its_lease_ends_and_is_started_again(stage):
    """The server is away for longer than that lasts."""
    with stage.other_operator(lease=QUICK):
        crowd = stage.crowd("lost", 200, jobs=10, seconds=10)
        for _ in range(2):
            stage.operator.wait_ready()
            time.sleep(1)
            losses = stage.operator.losses
            stage.cluster.kill("kube-apiserver")
            until("the Lease is lost", lambda losses=losses: stage.operator.losses > losses)
            stage.cluster.start()
        crowd.wait_over()
        print("losses:", stage.operator.losses)


@pytest.mark.parametrize("name", ["kube-apiserver", "etcd"])
def test_the_server_or_its_store_is_killed(stage, name):
    crowd = stage.crowd(f"killed-{name}", 200, jobs=10, seconds=8)
    for _ in range(3):
        time.sleep(1)
        stage.restart(name)
    crowd.wait_over()
    assert crowd.over() == crowd.count


def test_requests_come_late_out_of_order_and_twice(stage):
    """Connections are cut again and again; what was said over them still comes, beside what is said anew over others."""
    crowd = stage.crowd("doubled", 200, jobs=10, seconds=8)
    proxy, before = stage.proxy, stage.proxy.delivered_late
    proxy.spread, proxy.lingering = 0.3, 1.0
    try:
        proxy.cut_all()
        for _ in range(16):
            time.sleep(0.5)
            proxy.cut_clients()
    finally:
        proxy.spread = proxy.lingering = 0.0
        proxy.cut_all()
    print("late:", proxy.delivered_late - before)
    assert proxy.delivered_late > before
    crowd.wait_over()
    assert crowd.over() == crowd.count


def test_the_server_takes_seconds_for_every_answer(stage):
    crowd = stage.crowd("slow", 120, seconds=2)
    stage.is_slow_and_stands_still()
    crowd.wait_over()


def test_the_server_has_no_time_for_it(stage):
    """Whatever it asks, its Lease too."""
    with contextlib.closing(Jail(stage.cluster)) as jail:
        crowd = stage.crowd("busy", 250, jobs=10, seconds=12)

        def refused(said: int, what: str = r"\b429\b") -> None:
            until("it is refused", lambda: re.search(what, stage.said()[said:]))
        losses, began = stage.operator.losses, time.monotonic()
        with jail:
            refused(len(stage.said()))
            time.sleep(2)
        assert stage.operator.losses == losses or time.monotonic() - began > OUTLIVED, "its Lease lasts longer than that"
        with stage.other_operator(lease=QUICK):
            with jail:
                refused(len(stage.said()))
                stage.operator.kill()
                said = len(stage.said())
                stage.operator.start()
                refused(said, "the Lease cannot be read: 429")
                time.sleep(2)  # The Lease of the one before is over.
                assert not stage.operator.is_ready and stage.operator.lines.empty()
            stage.operator.wait_ready()
            losses = stage.operator.losses
            with jail:
                until("its Lease is lost", lambda: stage.operator.losses > losses)
            stage.operator.wait_ready()
        crowd.wait_over()


def without_writes(rules: list[dict]) -> list[dict]:
    left = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb not in WRITES]} for rule in rules]
    return [rule for rule in left if rule["verbs"]]


def wait_until_seen(stage) -> None:
    """By who watches from outside: all that has been written until now."""
    listed = stage.client.insist("GET", f"/apis/{kinds.KUEUE}/v1beta2/workloads")["items"]

    def is_seen() -> bool:
        seen = {each["metadata"]["uid"]: int(each["metadata"]["resourceVersion"]) for each in list(stage.outside.seen.values())}
        return all(seen.get(each["metadata"]["uid"], 0) >= int(each["metadata"]["resourceVersion"]) for each in listed)
    until("all that was written before is seen", is_seen)


def nothing_is_admitted_for(stage, seconds: float) -> None:
    held, admissions = sum(stage.outside.held.values()), stage.outside.admissions
    time.sleep(seconds)
    assert stage.outside.admissions == admissions and sum(stage.outside.held.values()) <= held


def test_writes_are_forbidden_for_a_while(stage):
    """Also to its Lease, which binds for longer."""
    rules = {path: stage.client.insist("GET", path)["rules"] for path in ROLES}
    crowd = stage.crowd("forbidden", 200, jobs=10, seconds=8)
    time.sleep(1)
    said, losses, began = len(stage.said()), stage.operator.losses, time.monotonic()
    try:
        for path in ROLES:
            stage.client.insist("PATCH", path, {"rules": without_writes(rules[path])}, PATCH)
        until("the API server knows it", lambda: not any(access.is_allowed(stage.cluster, each) for each in [
            {"verb": "patch", "group": kinds.KUEUE, "resource": "workloads", "subresource": "status"},
            {"verb": "update", "group": "coordination.k8s.io", "resource": "leases", "namespace": access.NAMESPACE}]))
        wait_until_seen(stage)
        nothing_is_admitted_for(stage, 2)
        until("its Lease cannot be written", lambda: "the Lease cannot be written: 403" in stage.said()[said:])
    finally:
        for path in ROLES:
            stage.client.insist("PATCH", path, {"rules": rules[path]}, PATCH)
    took = time.monotonic() - began
    crowd.wait_over()
    assert stage.operator.losses == losses or took > OUTLIVED


def alarm(cluster, action: str) -> None:
    """What etcd says when its disk is full: it answers no writes any more."""
    at = f"http://127.0.0.1:{cluster.etcd_port}/v3/maintenance/"

    def ask(path: str, body: dict) -> dict:
        return json.load(urllib.request.urlopen(at + path, json.dumps(body).encode(), timeout=10))
    member = ask("status", {})["header"]["member_id"]
    ask("alarm", {"action": action, "memberID": member, "alarm": "NOSPACE"})


def test_the_store_takes_no_writes_for_a_while(stage):
    def write() -> tuple[int, dict]:
        return stage.client.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "full-"}})
    crowd = stage.crowd("full", 200, jobs=10, seconds=8)
    time.sleep(1)
    assert write()[0] == 201
    alarm(stage.cluster, "ACTIVATE")
    try:
        until("a write is refused", lambda: "database space exceeded" in write()[1].get("message", ""))
        wait_until_seen(stage)
        changes = stage.outside.changes
        nothing_is_admitted_for(stage, 4)
        assert stage.outside.changes == changes and write()[0] == 500
    finally:
        alarm(stage.cluster, "DEACTIVATE")
    until("a write is taken", lambda: write()[0] == 201)
    crowd.wait_over()


def test_the_clock_jumps(stage, tmp_path):
    """That of the wall, as when somebody sets it; the machine's own goes on."""
    clock = ShiftedClock(tmp_path)
    with stage.other_operator(env=clock.environment):
        crowd = stage.crowd("clock", 250, jobs=10, seconds=6)
        time.sleep(1)
        for shift in range(1500, -1500, -100):  # Not half an hour forward: else pods that never became ready time out.
            clock.set(shift)
            time.sleep(0.2)
        crowd.wait_over()
        assert stage.operator.losses == 0


def test_fields_of_somebody_else_are_kept(stage):
    ns, at = "fields", f"/apis/{kinds.KUEUE}/v1beta2"
    made = {}

    def make(path: str, body: dict) -> str:
        body = {**body, "spec": {**body["spec"], "somebodys": SOMEBODYS},
                "metadata": {**body["metadata"], "annotations": {"somebodys": "x"}, "finalizers": ["example.com/somebodys"]}}
        made[f"{path}/{body['metadata']['name']}"] = body
        stage.client.insist("POST", path, body)
        address = f"{path}/{body['metadata']['name']}"
        stage.client.insist("PATCH", f"{address}/status", {"status": {"somebodys": SOMEBODYS}}, PATCH)
        return address
    stage.client.insist("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
    for path, body in kinds.queues(ns, ns, "8"):
        if body["kind"] == "ResourceFlavor":
            stage.client.insist("POST", path, body)
        else:
            make(path, body)
    stage.outside.know_queue(ns, 8)
    beside = stage.crowd("beside-fields", 200, jobs=20, seconds=6)
    one = make(f"{at}/namespaces/{ns}/workloads", crowd.workload("one", ns, 1))
    wrapper = make(f"/apis/workload.codeflare.dev/v1beta1/namespaces/{ns}/appwrappers", app_wrapper(ns))
    ray = make(f"/apis/ray.io/v1/namespaces/{ns}/rayclusters", ray_cluster(ns))
    job = make(f"/apis/ray.io/v1/namespaces/{ns}/rayjobs", ray_job(ns))
    kinds.add_node(stage.cluster, "room", "64")  # A wrapper starts only where its pods have room.
    until("the Workload has had its life", lambda: is_true(stage.client.insist("GET", one), "Finished"))
    for what, address in [("wrapper", wrapper), ("cluster", ray), ("job", job)]:
        until(f"the {what} has a status of ours", lambda address=address: len(stage.client.insist("GET", address)["status"]) > 1)
    until("the queue counts", lambda: "flavorsReservation" in stage.client.insist("GET", f"{at}/clusterqueues/{ns}")["status"])
    beside.wait_over()
    for address, body in made.items():
        now = stage.client.insist("GET", address)
        assert now["spec"]["somebodys"] == SOMEBODYS, address
        assert now["status"]["somebodys"] == KEPT, address
        assert now["metadata"]["annotations"]["somebodys"] == "x", address
        assert "example.com/somebodys" in now["metadata"]["finalizers"], address
        stage.client.insist("PATCH", address, {"metadata": {"finalizers": [
            each for each in now["metadata"]["finalizers"] if each != "example.com/somebodys"]}}, PATCH)
    stage.outside.may_vanish.add(ns)
    stage.client.insist("DELETE", f"/api/v1/namespaces/{ns}")


def app_wrapper(ns: str) -> dict:
    job = kinds.job("wrapped", "")
    del job["metadata"]["labels"]
    return {"apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper",
            "metadata": {"name": "wrapper", "labels": {f"{kinds.KUEUE}/queue-name": ns}},
            "spec": {"resources": {"GenericItems": [{"generictemplate": job}]}}}


def ray_spec() -> dict:
    container = {"name": "head", "image": "rayproject/ray:2.52.0", "resources": {"requests": {"cpu": "1"}}}
    return {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}}


def ray_cluster(ns: str) -> dict:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster",
            "metadata": {"name": "ray", "labels": {f"{kinds.KUEUE}/queue-name": ns}}, "spec": {**ray_spec(), "suspend": True}}


def ray_job(ns: str) -> dict:
    return {"apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": "ray-job", "labels": {f"{kinds.KUEUE}/queue-name": ns}},
            "spec": {"entrypoint": "true", "shutdownAfterJobFinishes": True, "suspend": True, "rayClusterSpec": ray_spec()}}


def test_a_namespace_is_deleted_under_what_runs_in_it(stage):
    stage.lives.paused.set()  # What is admitted runs on.
    try:
        first = stage.crowd("deleted", 80, jobs=20, seconds=1)
        until("all quota is in use", lambda: first.thread.is_alive() is False and sum(stage.outside.held.values()) >= 50_000)
        second = stage.crowd("heirs", 60, jobs=10, seconds=1)
        until("the second wait", lambda: second.thread.is_alive() is False)
        stage.outside.may_vanish.add("deleted")
        stage.client.insist("DELETE", "/api/v1/namespaces/deleted")
        until("the namespace is gone", lambda: stage.client.ask("GET", "/api/v1/namespaces/deleted")[0] == 404, timeout=120)
    finally:
        stage.lives.paused.clear()
    second.wait_over()
    until("nothing is held", lambda: sum(stage.outside.held[each] for each in crowd.QUEUE_NAMES) == 0)


def answers(stage) -> collections.Counter:
    """What the API server has answered to everybody, by code."""
    told = collections.Counter()
    for code, count in re.findall(r'^apiserver_request_total\{[^}]*code="(\d+)"[^}]*\} (\S+)$', stage.cluster.request("GET", "/metrics")[1], re.M):
        told[code] += int(float(count))
    return told


def most_memory(operator) -> int:
    """That it ever had, in MB."""
    said = pathlib.Path(f"/proc/{operator.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", said).group(1)) // 1024


def test_many_objects_change_at_once(stage):
    """They are there and wait, all are changed by somebody, twice, all are admitted, all are sent away, all are deleted."""
    ns, at, queue = "many", f"/apis/{kinds.KUEUE}/v1beta2", f"/apis/{kinds.KUEUE}/v1beta2/clusterqueues/many"
    stage.client.insist("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
    for path, body in kinds.queues(ns, ns, str(MANY)):
        if body["kind"] == "ClusterQueue":
            body["spec"]["stopPolicy"] = "Hold"
        stage.client.insist("POST", path, body)
    stage.outside.know_queue(ns, MANY)
    seconds, path, before, losses = {}, WORKLOADS.format(ns=ns), answers(stage), stage.operator.losses

    def phase(name: str, work, true) -> None:
        began = time.time()
        work()
        until(name, true, timeout=max(120, MANY / 10))
        seconds[name] = round(time.time() - began, 1)

    def all_at_once(method: str, where: str, body: dict, content_type: str) -> None:
        """By several, each over a connection of its own."""
        def send(first: int) -> None:
            client = Client(stage.cluster)
            for number in range(first, MANY, WRITERS):
                path = where.replace("NAME", f"one-{number}")
                client.insist(method, path, json.loads(json.dumps(body).replace("NAME", f"one-{number}")), content_type)
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(send, range(WRITERS)))

    def waiting() -> int:
        return stage.client.insist("GET", queue)["status"].get("pendingWorkloads", 0)
    stage.lives.paused.set()
    try:
        phase("made", lambda: all_at_once("POST", path, crowd.workload("NAME", ns, 1), "application/json"),
              lambda: len(of(stage, ns)) == MANY)
        phase("deactivated", lambda: all_at_once("PATCH", f"{path}/NAME", {"spec": {"active": False}}, PATCH), lambda: waiting() == 0)
        phase("activated", lambda: all_at_once("PATCH", f"{path}/NAME", {"spec": {"active": True}}, PATCH), lambda: waiting() == MANY)
        phase("admitted", lambda: stage.client.insist("PATCH", queue, {"spec": {"stopPolicy": "None"}}, PATCH),
              lambda: stage.outside.held[ns] == MANY * 1000)
        phase("drained", lambda: stage.client.insist("PATCH", queue, {"spec": {"stopPolicy": "HoldAndDrain"}}, PATCH),
              lambda: stage.outside.held[ns] == 0)
        stage.outside.may_vanish.add(ns)
        phase("deleted", lambda: stage.client.insist("DELETE", path), lambda: not of(stage, ns))
    finally:
        stage.lives.paused.clear()
    print(f"{MANY} Workloads, seconds:", seconds, "answers:", dict(answers(stage) - before), "MB:", most_memory(stage.operator))
    assert stage.operator.losses == losses, "its Lease does not wait behind all this"
    until("the queue knows", lambda: waiting() == 0)
    stage.crowd("after-many", 20, seconds=0.5).wait_over()


def of(stage, ns: str) -> list[str]:
    return [name for name in list(stage.outside.seen) if name.startswith(ns + "/")]
