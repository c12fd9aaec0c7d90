# test/e2e/test_ray_jobs.py - a RayJob on real Ray that submits beside its head, and what goes when it is over.
import pytest

pytestmark = pytest.mark.muster_up("Ray's pods need addresses of their own; real Ray on the real Kubernetes is test/kube/test_ray.py")

JOB = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: beside}
spec:
  entrypoint: >-
    python -c "import ray; ray.init(log_to_driver=False); f = ray.remote(lambda x: x);
    print('sum', sum(ray.get([f.remote(i) for i in range(4)])))"
  submissionMode: SidecarMode
  deletionStrategy:
    deletionRules:
    - {policy: DeleteWorkers, condition: {jobStatus: SUCCEEDED, ttlSeconds: 2}}
    - {policy: DeleteCluster, condition: {jobStatus: SUCCEEDED, ttlSeconds: 15}}
    - {policy: DeleteSelf, condition: {jobStatus: SUCCEEDED, ttlSeconds: 25}}
  rayClusterSpec:
    rayVersion: "2.58.0"
    authOptions: {mode: token}
    headGroupSpec:
      rayStartParams: {num-cpus: "1", object-store-memory: "100000000"}
      template: &node
        spec:
          containers:
          - name: ray
            image: rayproject/ray:2.58.0
            env: [{name: RAY_USAGE_STATS_ENABLED, value: "0"}]
            resources: {requests: {cpu: "1", memory: 1G}, limits: {cpu: "1", memory: 2G}}
    workerGroupSpecs:
    - groupName: small
      replicas: 1
      minReplicas: 1
      maxReplicas: 1
      rayStartParams: {num-cpus: "1", object-store-memory: "100000000"}
      template: *node
"""


def pods(muster, node_type: str) -> list[dict]:
    return muster.get("pods", "-l", f"ray.io/node-type={node_type}").get("items", [])


def test_a_job_submitted_beside_its_head_ends_and_takes_what_its_rules_say(muster):
    muster.apply(JOB)
    status = muster.until("the job is over", lambda: (lambda job: job if job.get("jobDeploymentStatus") in (
        "Complete", "Failed") else None)(muster.get("rayjob", "beside").get("status", {})), timeout=300)
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED"), status
    head = pods(muster, "head")[0]["metadata"]["name"]
    token = muster.get("secret", status["rayClusterName"])["data"]["auth_token"]
    assert len(token) > 40, "the cluster has a token of its own, and all that happened so far needed it"
    assert "sum 6" in muster.run("logs", head, "-c", "ray-job-submitter").stdout
    assert not muster.get("jobs").get("items"), "no submitter Job in this mode"
    muster.until("the workers are gone", lambda: not pods(muster, "worker"))
    muster.until("the cluster is gone", lambda: not muster.get("rayclusters").get("items"), timeout=90)
    muster.until("the job itself is gone", lambda: not muster.get("rayjob", "beside"), timeout=90)
    muster.until("and its last process", lambda: not pods(muster, "head"))
