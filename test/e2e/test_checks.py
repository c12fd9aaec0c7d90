# test/e2e/test_checks.py - admission checks on the real program, with a test that plays their controller.
import datetime
import json

from conditions import condition
from conftest import QUEUES, both, job

CHECK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
"""


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def patch(muster, *words: str, status: dict | None = None, spec: dict | None = None) -> None:
    body = {"status": status} if status is not None else {"spec": spec}
    more = ["--subresource=status"] if status is not None else []
    muster.run("patch", *words, "--type=merge", "-p", json.dumps(body), *more)


def workload(muster, name: str) -> dict:
    return next((w for w in muster.get("-n", "sandbox", "workloads").get("items", []) if name in w["metadata"]["name"]), {})


def answer(muster, name: str, state: str, **more) -> None:
    """What the check's controller says of a job's Workload."""
    mine = muster.until("the workload has its check", lambda: workload(muster, name).get("status", {}).get("admissionChecks") and workload(
        muster, name))
    patch(muster, "-n", "sandbox", "workload", mine["metadata"]["name"], status={"admissionChecks": [
        {"name": "budget", "state": state, "message": "said so", "lastTransitionTime": now(), **more}]})


def demand(muster) -> None:
    muster.apply(QUEUES)
    muster.apply(CHECK)
    patch(muster, "clusterqueue", "cluster-queue", spec={"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}})
    muster.until("the queue says that nobody answers", lambda: condition(
        muster.get("clusterqueue", "cluster-queue"), "Active").get("reason") == "AdmissionCheckInactive")
    patch(muster, "admissioncheck", "budget", status={"conditions": [
        {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": now()}]})
    muster.until("the queue is active", lambda: condition(
        muster.get("clusterqueue", "cluster-queue"), "Active").get("status") == "True")


@both
def test_a_job_starts_when_its_check_is_ready_also_after_a_crash(muster):
    demand(muster)
    muster.apply(job("train", '["sh", "-c", "true"]'))
    muster.until("its quota is reserved", lambda: condition(workload(muster, "train"), "QuotaReserved").get("status") == "True")
    muster.until("it says what it waits for", lambda: condition(workload(muster, "train"), "Admitted").get(
        "reason") == "UnsatisfiedAdmissionChecks")
    assert muster.get("-n", "sandbox", "job", "train")["spec"]["suspend"] is True
    muster.kill()
    muster.start()
    assert condition(workload(muster, "train"), "QuotaReserved").get("status") == "True"
    assert muster.get("-n", "sandbox", "job", "train")["spec"]["suspend"] is True
    answer(muster, "train", "Ready", podSetUpdates=[{"name": "main", "labels": {"team": "red"}}])
    muster.until("it completes", lambda: condition(muster.get("-n", "sandbox", "job", "train"), "Complete").get("status") == "True")
    assert muster.get("-n", "sandbox", "job", "train")["spec"]["template"]["metadata"]["labels"]["team"] == "red"
    assert "budget" in muster.run("get", "ac").stdout


@both
def test_retry_waits_as_long_as_the_check_says_over_a_crash_and_rejected_is_for_good(muster):
    demand(muster)
    muster.apply(job("again"))
    answer(muster, "again", "Retry", requeueAfterSeconds=8)
    muster.until("it is sent back", lambda: condition(workload(muster, "again"), "Requeued").get("status") == "False")
    until = workload(muster, "again")["status"]["requeueState"]["requeueAt"]
    muster.kill()
    muster.start()
    muster.until("it is tried again", lambda: condition(workload(muster, "again"), "QuotaReserved").get("status") == "True")
    assert now() >= until
    assert condition(workload(muster, "again"), "Requeued")["reason"] == "BackoffFinished"
    answer(muster, "again", "Rejected")
    muster.until("it is deactivated", lambda: condition(workload(muster, "again"), "Evicted").get(
        "reason") == "DeactivatedDueToAdmissionCheck")
    muster.until("its quota is free", lambda: "admission" not in workload(muster, "again")["status"])
    assert workload(muster, "again")["spec"]["active"] is False
