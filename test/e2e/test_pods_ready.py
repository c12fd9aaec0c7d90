# test/e2e/test_pods_ready.py - waitForPodsReady on the real program: pods that never become ready are sent back, then for good.
from conditions import condition
from conftest import QUEUES, both

CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady:
  timeout: 4s
  requeuingStrategy: {backoffBaseSeconds: 3, backoffLimitCount: 1}
"""

NEVER_READY = """
apiVersion: batch/v1
kind: Job
metadata: {name: stuck, namespace: sandbox}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: ["sleep", "600"]
        readinessProbe: {exec: {command: ["false"]}, periodSeconds: 1}
        resources: {requests: {cpu: 100m}}
"""


@both
def test_pods_that_never_become_ready_are_sent_back_over_a_crash_and_then_for_good(make_muster):
    muster = make_muster()
    config = muster.folder / "config.yaml"
    config.write_text(CONFIG)
    muster.flags += ["--config", str(config)]
    muster.start()
    muster.apply(QUEUES)
    muster.apply(NEVER_READY)

    def workload() -> dict:
        return (muster.get("-n", "sandbox", "workloads").get("items") or [{}])[0]

    muster.until("it is sent back", lambda: workload().get("status", {}).get("requeueState", {}).get("count") == 1)
    assert condition(workload(), "Evicted")["reason"] == "PodsReadyTimeout"
    muster.kill()
    muster.start()
    # Its second try lasts some seconds, which may be over when the start returns; the counts below tell of it.
    muster.until("it is tried again", lambda: (lambda now: (
        condition(now, "Requeued").get("reason") == "BackoffFinished" and condition(now, "Admitted").get("status") == "True"
    ) or condition(now, "Evicted").get("reason") == "DeactivatedDueToRequeuingLimitExceeded")(workload()))
    muster.until("it is deactivated", lambda: condition(workload(), "Evicted").get(
        "reason") == "DeactivatedDueToRequeuingLimitExceeded")
    muster.until("its quota is free", lambda: "admission" not in workload()["status"])
    assert workload()["spec"]["active"] is False
    stats = {(e["reason"], e["underlyingCause"]): e["count"] for e in workload()["status"]["schedulingStats"]["evictions"]}
    assert stats == {("PodsReadyTimeout", "WaitForStart"): 1, ("Deactivated", "RequeuingLimitExceeded"): 1}
