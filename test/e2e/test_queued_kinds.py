# test/e2e/test_queued_kinds.py - each kind that queues, on the real program with real processes.
from conftest import QUEUES, both, job
from test_queues import condition, done

QUEUE = "kueue.x-k8s.io/queue-name: local-queue-test"
HELD = QUEUES.replace("spec:\n  namespaceSelector: {}", "spec:\n  stopPolicy: HoldAndDrain\n  namespaceSelector: {}")


def pod(name: str, command: str = '["true"]', cpu: str = "1", labels: str = "", annotations: str = "") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: sandbox
  labels: {{{QUEUE}{labels}}}
  annotations: {{{annotations}}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    command: {command}
    resources: {{requests: {{cpu: {cpu}}}}}
"""


def member(name: str, command: str = '["sleep", "600"]', more: str = "") -> str:
    return pod(name, command, labels=", kueue.x-k8s.io/pod-group-name: gang",
               annotations='kueue.x-k8s.io/pod-group-total-count: "2"' + more)


def phase(muster, name: str) -> str:
    return muster.get("-n", "sandbox", "pod", name).get("status", {}).get("phase", "")


def workload(muster, part: str) -> dict:
    found = muster.get("-n", "sandbox", "workloads").get("items", [])
    return next((w for w in found if part in w["metadata"]["name"]), {})


def says(muster, part: str, kind: str) -> str:
    return condition(workload(muster, part), kind).get("status", "")


def hold_everything(muster) -> None:
    muster.apply(job("holder", '["sleep", "600"]', cpu="8", ns="sandbox"))
    muster.until("the holder runs", lambda: muster.get("-n", "sandbox", "job", "holder").get("status", {}).get("active") == 1)


def let_go(muster) -> None:
    muster.run("delete", "-n", "sandbox", "job", "holder", "--cascade=background")


@both
def test_a_pod_waits_behind_its_gate_and_runs_when_it_is_admitted(muster):
    muster.apply(QUEUES)
    hold_everything(muster)
    muster.apply(pod("alone", cpu="2"))
    muster.until("it has a reason", lambda: says(muster, "alone", "QuotaReserved") == "False")
    seen = muster.get("-n", "sandbox", "pod", "alone")
    assert {"name": "kueue.x-k8s.io/admission"} in seen["spec"]["schedulingGates"]
    assert condition(seen, "PodScheduled").get("reason", "SchedulingGated") == "SchedulingGated"
    assert "cpu" in muster.run("why", "-n", "sandbox", "pod/alone").stdout
    let_go(muster)
    muster.until("it succeeds", lambda: phase(muster, "alone") == "Succeeded")
    muster.until("its Workload is finished", lambda: says(muster, "alone", "Finished") == "True")
    muster.until("nothing holds it any more", lambda: not muster.get("-n", "sandbox", "pod", "alone")["metadata"].get("finalizers"))


@both
def test_a_namespace_goes_with_the_group_that_runs_in_it(muster):
    muster.apply(QUEUES)
    muster.apply("---".join([member("a"), member("b")]))
    for name in ("a", "b"):
        muster.until(f"{name} runs", lambda name=name: phase(muster, name) == "Running")
    muster.run("delete", "namespace", "sandbox", "--wait=false")
    muster.until("it is gone", lambda: not muster.get("namespace", "sandbox"))
    muster.until("the quota is free", lambda: muster.get("clusterqueue", "cluster-queue")["status"].get("reservingWorkloads", 0) == 0)


@both
def test_a_pod_that_is_put_out_is_deleted_and_told_why(muster):
    muster.apply(QUEUES)
    muster.apply(pod("alone", '["sh", "-c", "trap \'\' TERM; sleep 600 & wait; sleep 600"]', labels=""))
    muster.until("it runs", lambda: phase(muster, "alone") == "Running")
    muster.apply(HELD)
    muster.until("it is gone, and its Workload too", lambda: not muster.get("-n", "sandbox", "pod", "alone") and not workload(
        muster, "alone"))
    muster.until("the quota is free", lambda: muster.get("clusterqueue", "cluster-queue")["status"].get("reservingWorkloads", 0) == 0)


@both
def test_a_group_of_pods_starts_whole_and_a_failed_one_is_replaced(muster):
    muster.apply(QUEUES)
    muster.apply(member("first"))
    muster.until("it waits for the second", lambda: any(
        "fewer runnable pods" in e["message"] for e in muster.get("-n", "sandbox", "events").get("items", [])))
    assert not workload(muster, "gang")
    muster.apply(member("second", '["false"]'))
    muster.until("the first runs", lambda: phase(muster, "first") == "Running")
    muster.until("the second is missed", lambda: says(muster, "gang", "WaitingForReplacementPods") == "True")
    muster.apply(member("third"))
    muster.until("the third runs in its place", lambda: phase(muster, "third") == "Running")
    muster.until("nobody is missed", lambda: says(muster, "gang", "WaitingForReplacementPods") == "False")
    muster.apply(member("fourth"))
    muster.until("a fourth is one too many", lambda: not muster.get("-n", "sandbox", "pod", "fourth"))
    muster.run("delete", "-n", "sandbox", "workload", "gang", "--wait=false")
    muster.until("the group goes with its Workload", lambda: not muster.get("-n", "sandbox", "pods", "-l",
                                                                          "kueue.x-k8s.io/pod-group-name=gang").get("items"))


@both
def test_a_group_may_be_named_by_annotations(muster):
    """By a name that no label holds; the pods start together."""
    muster.apply(QUEUES)
    name = "gang-" + "a" * 60
    annotations = f'kueue.x-k8s.io/pod-group-name: {name}, kueue.x-k8s.io/pod-group-total-count: "2"'
    refused = muster.run("apply", "-f", "-", input=pod("wrong", annotations="kueue.x-k8s.io/pod-group-name: g"), check=False)
    assert "annotation and the 'kueue.x-k8s.io/pod-group-name' annotation should be set" in refused.stderr
    muster.apply(pod("first", '["sleep", "600"]', annotations=annotations))
    muster.until("it waits for the second", lambda: any(
        "fewer runnable pods" in e["message"] for e in muster.get("-n", "sandbox", "events").get("items", [])))
    muster.apply(pod("second", '["sleep", "600"]', annotations=annotations))
    muster.until("both run", lambda: phase(muster, "first") == phase(muster, "second") == "Running")
    assert workload(muster, name)["spec"]["podSets"][0]["count"] == 2
    muster.run("delete", "-n", "sandbox", "workload", name, "--wait=false")
    muster.until("the group goes with its Workload", lambda: not muster.get("-n", "sandbox", "pods").get("items"))


@both
def test_a_group_that_succeeds_is_finished(muster):
    muster.apply(QUEUES)
    muster.apply(member("first", '["true"]') + "---" + member("second", '["true"]'))
    muster.until("it is finished", lambda: condition(workload(muster, "gang"), "Finished").get("message") == "Pods succeeded: 2/2.")


def serving(kind: str, replicas: int, cpu: str = "2") -> str:
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web, namespace: sandbox, labels: {{{QUEUE}}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: ["sleep", "600"]
        resources: {{requests: {{cpu: {cpu}}}}}
"""


def web(muster, wanted: str) -> list[str]:
    pods = muster.get("-n", "sandbox", "pods", "-l", "app=web").get("items", [])
    return [p["metadata"]["name"] for p in pods if p.get("status", {}).get("phase") == wanted and
            "deletionTimestamp" not in p["metadata"]]


@both
def test_a_deployments_pods_queue_one_by_one_and_come_back(muster):
    muster.apply(QUEUES)
    muster.apply(serving("Deployment", 3, cpu="3"))  # Two fit the node's 8, three the queue's 9.
    muster.apply(serving("Deployment", 2, cpu="3"))
    muster.until("both run", lambda: len(web(muster, "Running")) == 2)
    muster.apply(HELD)
    muster.until("their successors wait", lambda: len(web(muster, "Pending")) == 2 and not web(muster, "Running"))
    muster.until("the quota is free", lambda: muster.get("clusterqueue", "cluster-queue")["status"].get("reservingWorkloads", 0) == 0)
    muster.apply(QUEUES)
    muster.run("get", "clusterqueue", "cluster-queue")
    muster.until("they run", lambda: len(web(muster, "Running")) == 2)
    muster.run("delete", "-n", "sandbox", "deployment", "web")
    muster.until("nothing is left", lambda: not muster.get("-n", "sandbox", "pods").get("items") and not muster.get(
        "-n", "sandbox", "workloads").get("items"))


@both
def test_a_stateful_set_queues_as_a_whole_and_waits_on_hold_at_none(muster):
    muster.apply(QUEUES)
    hold_everything(muster)
    muster.apply(serving("StatefulSet", 2))
    muster.until("it waits", lambda: says(muster, "statefulset-web", "QuotaReserved") == "False")
    let_go(muster)
    muster.until("both run", lambda: web(muster, "Running") == ["web-0", "web-1"])
    refused = muster.run("apply", "-f", "-", input=serving("StatefulSet", 1), check=False)
    assert 'admission webhook "vstatefulset.kb.io" denied the request: spec.replicas: Invalid value: 1: field is immutable' in refused.stderr
    muster.apply(serving("StatefulSet", 0))
    muster.until("it is on hold", lambda: condition(workload(muster, "statefulset-web"), "QuotaReserved").get("reason") == "OnHold")
    muster.until("its pods are gone", lambda: not muster.get("-n", "sandbox", "pods", "-l", "app=web").get("items"))
    muster.apply(serving("StatefulSet", 1))
    muster.until("one runs", lambda: web(muster, "Running") == ["web-0"])
    muster.run("delete", "-n", "sandbox", "statefulset", "web")
    muster.until("nothing is left", lambda: not muster.get("-n", "sandbox", "pods", "-l", "app=web").get("items") and not workload(
        muster, "statefulset-web"))


@both
def test_a_job_starts_with_as_many_pods_as_fit(muster):
    muster.apply(QUEUES)
    flexible = job("many", '["sleep", "3"]', cpu="2").replace(
        "namespace: sandbox}", 'namespace: sandbox, annotations: {kueue.x-k8s.io/job-min-parallelism: "2"}}').replace(
        "spec:\n  template", "spec:\n  parallelism: 6\n  completions: 6\n  template", 1)
    muster.apply(flexible)
    muster.until("four run", lambda: muster.get("-n", "sandbox", "job", "many").get("status", {}).get("active") == 4)
    assert muster.get("-n", "sandbox", "job", "many")["spec"]["parallelism"] == 4
    muster.until("all six are done", lambda: done(muster, "many"), 120)
    wrong = muster.run("apply", "-f", "-", input=flexible.replace("many", "wrong").replace('"2"', '"6"'), check=False)
    assert ('admission webhook "vjob.kb.io" denied the request: metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: '
            "Invalid value: 6: should be between 0 and 5") in wrong.stderr


@both
def test_an_elastic_job_grows_and_shrinks_while_it_runs(muster):
    muster.apply(QUEUES)

    def scale(pods: int) -> None:
        muster.apply(job("elastic", '["sleep", "600"]', cpu="2").replace(
            "namespace: sandbox}", 'namespace: sandbox, annotations: {kueue.x-k8s.io/elastic-job: "true"}}').replace(
            "spec:\n  template", f"spec:\n  parallelism: {pods}\n  template", 1))

    def runs() -> int:
        return sum(p.get("status", {}).get("phase") == "Running" for p in muster.get("-n", "sandbox", "pods").get("items", []))

    def used() -> str:
        flavors = muster.get("clusterqueue", "cluster-queue").get("status", {}).get("flavorsUsage", [])
        return next((r.get("total") for f in flavors for r in f["resources"] if r["name"] == "cpu"), "")

    scale(2)
    muster.until("two run", lambda: runs() == 2)
    first = workload(muster, "elastic")["metadata"]["name"]
    scale(4)
    muster.until("four run", lambda: runs() == 4)
    muster.until("the first slice was replaced", lambda: condition(muster.get("-n", "sandbox", "workload", first), "Finished").get(
        "reason") == "WorkloadSliceReplaced")
    muster.until("eight are charged", lambda: used() == "8")
    scale(5)  # More than the queue has.
    slices = muster.until("a third slice waits", lambda: len(
        [w for w in muster.get("-n", "sandbox", "workloads")["items"] if condition(w, "Finished").get("status") != "True"]) == 2)
    assert slices and runs() == 4
    scale(1)
    muster.until("one runs", lambda: runs() == 1)
    muster.until("two are charged", lambda: used() == "2")
    muster.run("delete", "-n", "sandbox", "job", "elastic", "--cascade=background")
    muster.until("nothing is left", lambda: not muster.get("-n", "sandbox", "workloads").get("items"))


@both
def test_an_elastic_job_shrinks_below_what_it_has_done(muster):
    """Four of its six pods are done, so two of four are not needed any more; one is fewer than that."""
    muster.apply(QUEUES)
    muster.apply(job("elastic", '["sh", "-c", "test $JOB_COMPLETION_INDEX -lt 4 || sleep 600"]', cpu="1").replace(
        "namespace: sandbox}", 'namespace: sandbox, annotations: {kueue.x-k8s.io/elastic-job: "true"}}').replace(
        "spec:\n  template", "spec:\n  parallelism: 4\n  completions: 6\n  completionMode: Indexed\n  template", 1))
    reclaimable = [{"name": "main", "count": 2}]
    muster.until("four are done", lambda: workload(muster, "elastic").get("status", {}).get("reclaimablePods") == reclaimable)
    muster.run("patch", "-n", "sandbox", "job", "elastic", "--type", "merge", "-p", '{"spec": {"parallelism": 1}}')
    muster.until("its Workload asks for one", lambda: workload(muster, "elastic")["spec"]["podSets"][0]["count"] == 1)
    muster.until("and says nothing of the others", lambda: not workload(muster, "elastic")["status"].get("reclaimablePods"))
    muster.run("delete", "-n", "sandbox", "job", "elastic", "--cascade=background")
