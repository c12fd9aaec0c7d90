# test/e2e/test_queues.py - jobs through the default queue on the real program.
import json
import subprocess

import pytest

from cluster import kubectl  # in test/kubernetes
from conditions import condition
from conftest import QUEUES, both, job


def raw(muster, path: str) -> str:
    done = subprocess.run([kubectl(), "--kubeconfig", str(muster.kubeconfig), "get", "--raw", path], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def done(muster, name: str, ns: str = "sandbox") -> bool:
    return condition(muster.get("-n", ns, "job", name), "Complete").get("status") == "True"


@both
def test_a_job_without_a_label_takes_the_default_queue_and_runs(muster):
    muster.apply(QUEUES)
    muster.apply(job("hello", '["sh", "-c", "echo hello from the pod"]'))
    muster.until("the job completes", lambda: done(muster, "hello"))
    found = muster.get("-n", "sandbox", "job", "hello")
    assert found["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "local-queue-test"
    workloads = muster.get("-n", "sandbox", "workloads")["items"]
    assert len(workloads) == 1
    muster.until("the workload is Finished", lambda: condition(
        muster.get("-n", "sandbox", "workloads")["items"][0], "Finished").get("status") == "True")
    assert "hello from the pod" in muster.run("logs", "-n", "sandbox", "job/hello").stdout


@both
def test_what_can_never_fit_waits_with_the_reason_and_is_passed(muster):
    muster.apply(QUEUES)
    muster.apply(job("too-big", cpu="10"))
    muster.apply(job("small"))
    muster.until("the small job completes", lambda: done(muster, "small"))
    reserved = muster.until("the other says why it waits", lambda: next((c for c in [condition(w, "QuotaReserved") for w in muster.get(
        "-n", "sandbox", "workloads")["items"] if "too-big" in w["metadata"]["name"]] if c), None))
    assert reserved["status"] == "False"
    assert "maximum capacity (9)" in reserved["message"]
    said = muster.until("why knows it", lambda: muster.run("why", "-n", "sandbox", "job/too-big", check=False).stdout)
    assert "cpu" in said and "9" in said and (muster.explains is False or "10" in said)


@both
def test_a_full_queue_lets_wait_and_deletion_frees_it(muster):
    muster.apply(QUEUES)
    muster.apply(job("holder", '["sleep", "600"]', cpu="5"))
    muster.until("the holder runs", lambda: muster.get("-n", "sandbox", "job", "holder")["status"].get("active") == 1)
    muster.apply(job("waiter", cpu="5"))
    muster.until("the waiter has a reason", lambda: all(word in muster.run(
        "why", "-n", "sandbox", "job/waiter", check=False).stdout for word in (
            ("cpu", "needs 5", "free 4 of 9", "holder") if muster.explains else ("cpu", "waits: ", "1 more needed"))))
    assert muster.get("-n", "sandbox", "job", "waiter")["spec"]["suspend"] is True
    muster.run("delete", "-n", "sandbox", "job", "holder")
    muster.until("the waiter completes", lambda: done(muster, "waiter"))


@both
def test_a_local_queue_to_a_missing_cluster_queue_says_so(muster):
    muster.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: default}
spec: {clusterQueue: nowhere}
""")
    queue = muster.until("the queue has a condition",
                         lambda: condition(muster.get("localqueue", "default"), "Active") and
                         muster.get("localqueue", "default"))
    assert condition(queue, "Active")["status"] == "False"
    muster.apply(job("stuck", ns="default"))
    muster.until("the reason names the queue", lambda: "nowhere" in muster.run("why", "job/stuck", check=False).stdout)


@both
def test_many_jobs_at_once_all_complete(muster):
    muster.apply(QUEUES)
    muster.apply("---".join(job(f"many-{i}", cpu="2m") for i in range(200)))
    muster.until("all complete", lambda: all(
        condition(j, "Complete").get("status") == "True" for j in muster.get("-n", "sandbox", "jobs")["items"]), 180)
    # The queue's status is written in the same breath as a Workload's end, not before the Job's own.
    muster.until("the quota is free", lambda: muster.get("clusterqueue", "cluster-queue")["status"].get(
        "reservingWorkloads", 0) == 0)


@pytest.mark.muster_up("there is no such API on a cluster: docs/deviations.md")
def test_who_waits_is_listed_by_the_visibility_api(muster):
    muster.apply(QUEUES)
    muster.apply(job("holder", '["sleep", "600"]', cpu="8"))
    muster.until("the holder runs", lambda: muster.get("-n", "sandbox", "job", "holder")["status"].get("active") == 1)
    for name in ("first", "second", "third"):
        muster.apply(job(name, cpu="5"))
    base = "/apis/visibility.kueue.x-k8s.io/v1beta2"

    def names(path: str) -> list:
        return [item["metadata"]["name"].rsplit("-", 1)[0] for item in json.loads(raw(muster, path))["items"]]

    everybody = ["job-first", "job-second", "job-third"]
    queue = muster.get("clusterqueues")["items"][0]["metadata"]["name"]
    of_cluster = f"{base}/clusterqueues/{queue}/pendingworkloads"
    muster.until("all wait", lambda: sorted(names(of_cluster)) == everybody)
    of_local = f"{base}/namespaces/sandbox/localqueues/local-queue-test/pendingworkloads"
    summary = json.loads(raw(muster, of_local))
    assert summary["kind"] == "PendingWorkloadsSummary"
    assert [item["positionInLocalQueue"] for item in summary["items"]] == [0, 1, 2]
    assert summary["items"][0]["localQueueName"] == "local-queue-test"
    assert names(of_local + "?offset=1&limit=1") == names(of_local)[1:2]
    assert {r["name"] for r in json.loads(raw(muster, base))["resources"]} >= {"clusterqueues/pendingworkloads", "localqueues/pendingworkloads"}
    admitted = f'kueue_admitted_active_workloads{{cluster_queue="{queue}",replica_role="standalone"}} 1\n'
    waiting = f'kueue_pending_workloads{{cluster_queue="{queue}",status="inadmissible",replica_role="standalone"}} 3\n'
    muster.until("the metrics say so too", lambda: all(line in raw(muster, "/metrics") for line in (admitted, waiting)))
