# test/e2e/test_quiet.py - where nothing happens an operator writes nothing but its Lease, also one that has just begun: the API
# server's log of what it asks is read. (The embedded server takes what changes nothing for no write at all.)
import json

import pytest

import access
from conditions import condition, is_true
from conftest import job
from test_queued_kinds import pod, serving

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: sandbox}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: placed}
spec: {topologyName: hosts, nodeLabels: {kubernetes.io/hostname: laptop}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: some}
spec: {parentName: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: unanswered}
spec: {controllerName: example.com/nobody}
"""


def queue(name: str, cpu: str, flavor: str = "plain", **more) -> str:
    said = "".join(f", {key}: {value}" for key, value in more.items())
    return f"""
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec: {{namespaceSelector: {{}}, resourceGroups: [{{coveredResources: [cpu], flavors: [
  {{name: {flavor}, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}]}}]{said}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: sandbox}}
spec: {{clusterQueue: {name}}}
"""


ALL_QUEUES = QUEUES + "".join([
    queue("local-queue-test", "2", cohortName="some", preemption="{reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}"),
    queue("lends", "1", cohortName="all"), queue("places", "1", "placed"), queue("stopped", "1", stopPolicy="Hold"),
    queue("checked", "1", admissionChecksStrategy="{admissionChecks: [{name: unanswered}]}"), queue("broken", "1", "not-there")])
SLEEP = '["sleep", "600"]'
RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: sandbox, labels: {kueue.x-k8s.io/queue-name: local-queue-test},
  annotations: {ray.io/overwrite-container-cmd: "true"}}
spec:
  rayVersion: "2.58.0"
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: head
          image: rayproject/ray:2.58.0
          command: ["sleep", "600"]
          resources: {requests: {cpu: 100m}}
          readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
          livenessProbe: {exec: {command: ["true"]}}
"""
WRAPPER = """
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: wrapper, namespace: sandbox, labels: {kueue.x-k8s.io/queue-name: local-queue-test}}
spec:
  resources:
    GenericItems:
    - generictemplate:
"""


def queued(name: str, in_queue: str = "local-queue-test", command: str = SLEEP, cpu: str = "100m", placed: bool = False) -> str:
    made = job(name, command, cpu=cpu).replace("namespace: sandbox", f"namespace: sandbox, labels: {{kueue.x-k8s.io/queue-name: {in_queue}}}")
    where = "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}}"
    return made.replace("  template:\n", f"  template:\n    {where}\n") if placed else made


def wrapper() -> str:
    inside = "\n".join("        " + line for line in job("wrapped", SLEEP).strip().splitlines())
    return WRAPPER + inside + "\n"


def member(name: str) -> str:
    return pod(name, SLEEP, cpu="100m", labels=", kueue.x-k8s.io/pod-group-name: gang",
               annotations='kueue.x-k8s.io/pod-group-total-count: "2"')


RUNNING = ["runs", "places", "wrapper", "gang", "alone", "raycluster-ray", "web"]
WAITING = ["too-big", "no-room", "job-stopped", "job-broken", "nowhere"]


def workload(muster, part: str) -> dict:
    found = muster.get("-n", "sandbox", "workloads").get("items", [])
    return next((each for each in found if part in each["metadata"]["name"]), {})


def begin(muster) -> None:
    """Some of each kind that runs, waits for all sorts of reasons, and is over."""
    muster.apply(ALL_QUEUES)
    muster.apply("---".join([
        queued("runs"), queued("places", "places", placed=True), queued("over", command='["true"]'), RAY, wrapper(), member("first"),
        member("second"), pod("alone", SLEEP, cpu="100m"), pod("short", cpu="100m"), serving("StatefulSet", 1, cpu="100m"),
        queued("elsewhere", "lends")]))
    for each in RUNNING:
        muster.until(f"{each} is admitted", lambda each=each: is_true(workload(muster, each), "Admitted"))
    for each in ("job-over", "short"):
        muster.until(f"{each} is over", lambda each=each: is_true(workload(muster, each), "Finished"))
    muster.until("the wrapper runs", lambda: muster.get("-n", "sandbox", "appwrapper", "wrapper")["status"].get("state") == "Running")
    muster.until("the cluster is ready", lambda: muster.get("-n", "sandbox", "raycluster", "ray")["status"].get("state") == "ready")
    muster.apply("---".join([
        queued("too-big", cpu="100"), queued("no-room", cpu="2500m"), queued("stopped", "stopped"), queued("checked", "checked"),
        queued("broken", "broken"), queued("nowhere", "nowhere"), queued("put-out", "lends")]))
    for each in WAITING:
        muster.until(f"{each} says why it waits", lambda each=each: condition(workload(muster, each), "QuotaReserved").get(
            "status") == "False")
    muster.until("one may be put out", lambda: workload(muster, "put-out"))
    name = workload(muster, "put-out")["metadata"]["name"]
    muster.run("patch", "-n", "sandbox", "workload", name, "--type", "merge", "-p", '{"spec": {"active": false}}')
    muster.until("it is put out", lambda: muster.get("-n", "sandbox", "job", "put-out")["spec"]["suspend"] is True)


def is_lease(request: dict) -> bool:
    return request["verb"] == "update" and request["objectRef"]["resource"] == "leases"


def writes(muster, since: int) -> list[str]:
    """What the operator has written since then, but its Lease."""
    return [f"{each['verb']} {each['requestURI']} {each['responseStatus'].get('code')} {json.dumps(each.get('requestObject'))}"
            for each in access.asked(muster.folder, since) if each["verb"] not in ("get", "list", "watch") and not is_lease(each)]


def wait_for_renewals(muster, count: int) -> None:
    since = access.asked_until_now(muster.folder)
    muster.until(f"the Lease is renewed {count} times", lambda: sum(map(is_lease, access.asked(muster.folder, since))) >= count)


def is_quiet(muster) -> bool:
    since = access.asked_until_now(muster.folder)
    wait_for_renewals(muster, 4)
    return not writes(muster, since)


@pytest.mark.kubernetes("its server writes down what it is asked, and `muster up` drops writes that change nothing")
@pytest.mark.parametrize("server", ["kubernetes"], indirect=True)
def test_an_operator_that_begins_where_nothing_happens_writes_nothing(make_muster):
    muster = make_muster(flags=["--leader-elect"]).start()
    before = access.asked_until_now(muster.folder)
    begin(muster)
    assert writes(muster, before), "the log tells of writes"
    muster.until("nothing happens any more", lambda: is_quiet(muster))
    before = access.asked_until_now(muster.folder)
    assert muster.stop() == 0
    muster.start()
    wait_for_renewals(muster, 5)
    assert writes(muster, before) == []
    # It is not asleep.
    muster.apply(queued("after", "lends", command='["true"]'))
    muster.until("what comes is worked on", lambda: is_true(workload(muster, "job-after"), "Finished"))
