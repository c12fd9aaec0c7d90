# test/e2e/test_guest_kinds.py - job kinds of other projects, brought by their own CustomResourceDefinitions, in the queues; what
# their operators would do is played.
import json
import sys

import pytest
import yaml

from conftest import QUEUES, ROOT
from test_queues import condition

sys.path.insert(0, str(ROOT / "test/kubernetes/crds"))
import guest_jobs  # noqa: E402
import originals  # noqa: E402
from guest_jobs import JOBS, RUNTIME, GuestJob, at, pods  # noqa: E402

# Those who wait here start together: a queue of its own, of a flavor with its nodes and a toleration.
FLAVOR = {"nodeLabels": {"instance-type": "guest"}, "tolerations": [{"key": "guest", "operator": "Exists", "effect": "NoSchedule"}]}
SPACIOUS = [
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "guest-flavor"}, "spec": FLAVOR},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "spacious"}, "spec": {
        "namespaceSelector": {}, "stopPolicy": "Hold", "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
            {"name": "guest-flavor", "resources": [{"name": "cpu", "nominalQuota": 90}, {"name": "memory", "nominalQuota": "90Gi"}]}]}]}},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "spacious", "namespace": "sandbox"}, "spec": {
        "clusterQueue": "spacious"}},
]


@pytest.fixture(scope="module")
def muster(either):
    """With every kind of others, as their projects define them; they go with the file."""
    definitions = originals.guests()
    either.run("apply", "-f", "-", input="\n---\n".join(json.dumps(each) for each in definitions.values()))
    for name in definitions:
        either.until(f"{name} is served", lambda name=name: either.run("get", "-A", name, check=False).returncode == 0)
    either.apply(QUEUES)
    yield either
    either.run("delete", "crd", *definitions, "--wait=false")


def made_of(job: GuestJob, name: str, **labels) -> dict:
    return job.made(name, namespace="sandbox", **({"labels": labels} if labels else {}))


def job_set(name: str, cpu: str) -> dict:
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name, "namespace": "sandbox"}, "spec": {
        "replicatedJobs": [{"name": "workers", "replicas": 2, "template": {"spec": {
            "parallelism": 2, "completions": 2, "template": pods(cpu)}}}]}}


def training_job(name: str, cpu: str) -> dict:
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "namespace": "sandbox"}, "spec": {
        "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": pods(cpu)}}}}


def workload_of(muster, name: str) -> dict:
    found = [w for w in muster.get("-n", "sandbox", "workloads")["items"] if w["metadata"]["ownerReferences"][0]["name"] == name]
    return found[0] if found else {}


def patch(muster, resource: str, name: str, change: dict, *words: str) -> None:
    muster.run("patch", "-n", "sandbox", resource, name, "--type", "merge", "-p", json.dumps(change), *words)


def test_each_kind_waits_starts_on_its_nodes_stops_and_ends(muster):
    """All of them together, which takes no longer than one."""
    muster.apply(yaml.safe_dump_all([*SPACIOUS, RUNTIME]))
    named = {job.kind.lower(): job for job in JOBS}

    def seen(name: str) -> dict:
        return muster.get("-n", "sandbox", named[name].resource, name)

    def started(name: str) -> bool:
        return at(seen(name), named[name].suspend) is False

    for name, job in named.items():
        muster.apply(yaml.safe_dump(made_of(job, name, **{"kueue.x-k8s.io/queue-name": "spacious"})))
    before = {name: seen(name)["spec"] for name in named}
    for name, job in named.items():
        assert at({"spec": before[name]}, job.suspend) is True, name
        muster.until(f"{name} has a Workload", lambda name=name: workload_of(muster, name))
        assert [(s["name"], s["count"]) for s in workload_of(muster, name)["spec"]["podSets"]] == job.sets, name

    patch(muster, "clusterqueue", "spacious", {"spec": {"stopPolicy": "None"}})
    for name, job in named.items():
        muster.until(f"{name} is started", lambda name=name: started(name))
        now = seen(name)
        for path in job.templates:
            assert at(now, f"{path}.{job.selector}") == FLAVOR["nodeLabels"], (name, path, now["spec"])
            assert at(now, f"{path}.{job.selector.replace('nodeSelector', 'tolerations')}") == FLAVOR["tolerations"], (name, path, now["spec"])

    patch(muster, "clusterqueue", "spacious", {"spec": {"stopPolicy": "HoldAndDrain"}})
    for name, job in named.items():
        muster.until(f"{name} is stopped", lambda name=name: not started(name))
        # Its templates change only once it has no pods any more.
        muster.until(f"{name} has its own templates again",
                     lambda name=name, job=job: all(at(seen(name), f"{path}.{job.selector}") is None for path in job.templates))

    patch(muster, "clusterqueue", "spacious", {"spec": {"stopPolicy": "None"}})
    for name, job in named.items():
        muster.until(f"{name} is started again", lambda name=name: started(name))
        patch(muster, job.resource, name, {"status": job.end}, "--subresource", "status")
        muster.until(f"{name} is finished", lambda name=name: condition(workload_of(muster, name), "Finished").get("reason") == "Succeeded")
        muster.run("delete", "-n", "sandbox", job.resource, name)
    muster.until("no Workload is left", lambda: not muster.get("-n", "sandbox", "workloads")["items"])


def test_jobs_of_others_wait_start_and_end_in_the_queues(muster):
    muster.apply(yaml.safe_dump(job_set("pair", "1")))
    made = muster.get("-n", "sandbox", "jobset", "pair")
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "local-queue-test"
    muster.until("the JobSet is started", lambda: muster.get("-n", "sandbox", "jobset", "pair")["spec"]["suspend"] is False)
    assert [(s["name"], s["count"]) for s in workload_of(muster, "pair")["spec"]["podSets"]] == [("workers", 4)]

    muster.apply(yaml.safe_dump(training_job("train", "3")))  # 4 of 9 cpu are taken.
    muster.until("the training job waits", lambda: condition(workload_of(muster, "train"), "QuotaReserved").get("status") == "False")
    assert muster.get("-n", "sandbox", "pytorchjob", "train")["spec"]["runPolicy"]["suspend"] is True
    said = muster.run("why", "-n", "sandbox", "pytorchjob/train").stdout
    assert ("needs 6" in said and "pair" in said) if muster.explains else "1 more needed" in said

    muster.run("patch", "-n", "sandbox", "jobset", "pair", "--subresource", "status", "--type", "merge", "-p", json.dumps(
        {"status": {"conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "done",
                                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}))
    muster.until("its Workload is finished", lambda: condition(workload_of(muster, "pair"), "Finished").get("status") == "True")
    muster.until("the training job is started", lambda: muster.get(
        "-n", "sandbox", "pytorchjob", "train")["spec"]["runPolicy"]["suspend"] is False)
    muster.run("delete", "-n", "sandbox", "pytorchjob", "train")
    muster.run("delete", "-n", "sandbox", "jobset", "pair")
    muster.until("its Workload is gone", lambda: not workload_of(muster, "train"))


def test_a_train_job_has_the_pods_of_its_runtime(muster):
    muster.run("delete", "clustertrainingruntime", "torch", check=False)
    muster.apply(yaml.safe_dump(made_of(guest_jobs.TRAIN_JOB, "tune")))
    assert muster.get("-n", "sandbox", "trainjob", "tune")["spec"]["suspend"] is True
    muster.apply(yaml.safe_dump(RUNTIME))
    muster.until("the TrainJob is started", lambda: muster.get("-n", "sandbox", "trainjob", "tune")["spec"]["suspend"] is False)
    assert [(s["name"], s["count"]) for s in workload_of(muster, "tune")["spec"]["podSets"]] == [("node", 3)]
    added = muster.get("-n", "sandbox", "trainjob", "tune")["spec"]["runtimePatches"][0]
    assert added["manager"] == "kueue.x-k8s.io/manager"
    node = added["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    assert node["name"] == "node" and "kueue.x-k8s.io/podset" in node["template"]["spec"]["template"]["metadata"]["labels"]
    muster.run("delete", "-n", "sandbox", "trainjob", "tune")
    muster.until("its Workload is gone", lambda: not workload_of(muster, "tune"))


def test_a_spark_application_is_its_driver_and_its_executors(muster):
    application = made_of(guest_jobs.SPARK, "pi")
    application["spec"] = {**application["spec"], "mode": "client"}
    refused = muster.run("apply", "-f", "-", input=yaml.safe_dump(application), check=False)
    assert refused.returncode != 0 and "only Cluster mode is supported" in refused.stdout + refused.stderr
    application["spec"]["mode"] = "cluster"
    muster.apply(yaml.safe_dump(application))
    muster.until("the application is started", lambda: muster.get("-n", "sandbox", "sparkapplication", "pi")["spec"]["suspend"] is False)
    sets = workload_of(muster, "pi")["spec"]["podSets"]
    assert [(s["name"], s["count"]) for s in sets] == [("driver", 1), ("executor", 2)]
    assert sets[1]["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "896Mi"}
    muster.run("delete", "-n", "sandbox", "sparkapplication", "pi")
    muster.until("its Workload is gone", lambda: not workload_of(muster, "pi"))


def test_an_app_wrapper_wraps_a_training_job(muster):
    inner = training_job("inner", "1")
    del inner["metadata"]["namespace"]
    wrapper = {"apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper", "metadata": {
        "name": "wrapped", "namespace": "sandbox"}, "spec": {"resources": {"GenericItems": [{"generictemplate": inner}]}}}
    muster.apply(yaml.safe_dump(wrapper))
    muster.until("the training job is made", lambda: muster.run("get", "-n", "sandbox", "pytorchjob", "inner", check=False).returncode == 0)
    assert [(s["name"], s["count"]) for s in workload_of(muster, "wrapped")["spec"]["podSets"]] == [("item-0-worker", 2)]
    made = muster.get("-n", "sandbox", "pytorchjob", "inner")
    assert not made["spec"].get("runPolicy", {}).get("suspend")
    muster.run("delete", "-n", "sandbox", "appwrapper", "wrapped")
    muster.until("the training job is gone", lambda: muster.run("get", "-n", "sandbox", "pytorchjob", "inner", check=False).returncode != 0)
    wrapper["spec"]["resources"]["GenericItems"][0]["generictemplate"]["kind"] = "MXJob"
    refused = muster.run("apply", "-f", "-", input=yaml.safe_dump(wrapper), check=False)
    assert "no matches for kind" in refused.stdout + refused.stderr


def test_each_group_of_a_leader_worker_set_is_a_workload_that_its_pods_join(muster):
    muster.apply(yaml.safe_dump(made_of(guest_jobs.LEADER_WORKER_SET, "serve", **{"kueue.x-k8s.io/queue-name": "local-queue-test"})))
    template = muster.get("-n", "sandbox", "leaderworkerset", "serve")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert template["metadata"]["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] == "leaderworkerset.x-k8s.io/leaderworkerset"

    def groups() -> list[dict]:
        return [w for w in muster.get("-n", "sandbox", "workloads")["items"]
                if w["metadata"]["ownerReferences"][0]["name"] == "serve" and condition(w, "Admitted").get("status") == "True"]

    muster.until("both groups are admitted", lambda: len(groups()) == 2)
    sets = groups()[0]["spec"]["podSets"]
    assert [(s["name"], s["count"]) for s in sets] == [("leader", 1), ("worker", 1)]
    leader = {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "serve-0", "namespace": "sandbox", "annotations": template["metadata"]["annotations"], "labels": {
            "leaderworkerset.sigs.k8s.io/name": "serve"}}, "spec": {"containers": [{
                "name": "main", "image": "b", "command": ["sleep", "600"], "resources": {"requests": {"cpu": "1"}}}]}}
    muster.apply(yaml.safe_dump(leader))
    pod = muster.get("-n", "sandbox", "pod", "serve-0")
    assert {"name": "kueue.x-k8s.io/admission"} in pod["spec"]["schedulingGates"]
    muster.run("label", "-n", "sandbox", "pod", "serve-0", "leaderworkerset.sigs.k8s.io/group-index=0")
    muster.until("its gate is opened", lambda: muster.get("-n", "sandbox", "pod", "serve-0")["spec"].get("nodeName") == "laptop")
    assert muster.get("-n", "sandbox", "pod", "serve-0")["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"] == "leader"
    muster.run("delete", "-n", "sandbox", "leaderworkerset", "serve")
    muster.until("its Workloads are gone", lambda: not groups())
    muster.until("its pod is ended", lambda: muster.run("get", "-n", "sandbox", "pod", "serve-0", check=False).returncode != 0)
