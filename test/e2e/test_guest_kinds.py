# test/e2e/test_guest_kinds.py - job kinds of other projects, brought by their CustomResourceDefinitions, in the queues.
import json

import yaml

from conftest import QUEUES, both
from test_queues import condition


def definition(group: str, version: str, kind: str, scope: str = "Namespaced") -> dict:
    plural = kind.lower() + "s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {
        "name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": group, "scope": scope, "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                         "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def pods(cpu: str) -> dict:
    return {"spec": {"containers": [{"name": "main", "image": "b", "resources": {"requests": {"cpu": cpu}}}]}}


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


@both
def test_jobs_of_others_wait_start_and_end_in_the_queues(muster):
    muster.apply(QUEUES)
    muster.apply(yaml.safe_dump_all([definition("jobset.x-k8s.io", "v1alpha2", "JobSet"),
                                     definition("kubeflow.org", "v1", "PyTorchJob")]))
    for plural in ("jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org"):
        muster.until(f"{plural} are served", lambda name=plural: muster.run("get", "-n", "sandbox", name, check=False).returncode == 0)
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
    muster.until("its Workload is gone", lambda: not workload_of(muster, "train"))


def install(muster, *definitions: dict) -> None:
    muster.apply(yaml.safe_dump_all(definitions))
    for crd in definitions:
        name = crd["metadata"]["name"]
        muster.until(f"{name} is served", lambda name=name: muster.run("get", "-A", name, check=False).returncode == 0)


@both
def test_a_train_job_has_the_pods_of_its_runtime(muster):
    muster.apply(QUEUES)
    group, version = "trainer.kubeflow.org", "v1alpha1"
    install(muster, definition(group, version, "TrainJob"), definition(group, version, "ClusterTrainingRuntime", "Cluster"))
    muster.apply(yaml.safe_dump({"apiVersion": f"{group}/{version}", "kind": "TrainJob", "metadata": {
        "name": "tune", "namespace": "sandbox"}, "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}}}))
    assert muster.get("-n", "sandbox", "trainjob", "tune")["spec"]["suspend"] is True
    muster.apply(yaml.safe_dump({"apiVersion": f"{group}/{version}", "kind": "ClusterTrainingRuntime", "metadata": {
        "name": "torch"}, "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": pods("1")}}}]}}}}))
    muster.until("the TrainJob is started", lambda: muster.get("-n", "sandbox", "trainjob", "tune")["spec"]["suspend"] is False)
    assert [(s["name"], s["count"]) for s in workload_of(muster, "tune")["spec"]["podSets"]] == [("node", 3)]
    patch = muster.get("-n", "sandbox", "trainjob", "tune")["spec"]["runtimePatches"][0]
    assert patch["manager"] == "kueue.x-k8s.io/manager"
    node = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    assert node["name"] == "node" and "kueue.x-k8s.io/podset" in node["template"]["spec"]["template"]["metadata"]["labels"]
    muster.run("delete", "-n", "sandbox", "trainjob", "tune")
    muster.until("its Workload is gone", lambda: not workload_of(muster, "tune"))


@both
def test_a_spark_application_is_its_driver_and_its_executors(muster):
    muster.apply(QUEUES)
    install(muster, definition("sparkoperator.k8s.io", "v1beta2", "SparkApplication"))
    application = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {
        "name": "pi", "namespace": "sandbox"}, "spec": {"mode": "client", "driver": {"cores": 1}, "executor": {
            "cores": 1, "instances": 2, "memory": "512m"}}}
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


@both
def test_an_app_wrapper_wraps_a_training_job(muster):
    muster.apply(QUEUES)
    install(muster, definition("kubeflow.org", "v1", "PyTorchJob"))
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
    wrapper["spec"]["resources"]["GenericItems"][0]["generictemplate"]["kind"] = "MPIJob"
    wrapper["spec"]["resources"]["GenericItems"][0]["generictemplate"]["apiVersion"] = "kubeflow.org/v2beta1"
    refused = muster.run("apply", "-f", "-", input=yaml.safe_dump(wrapper), check=False)
    assert "no matches for kind" in refused.stdout + refused.stderr


@both
def test_each_group_of_a_leader_worker_set_is_a_workload_that_its_pods_join(muster):
    muster.apply(QUEUES)
    install(muster, definition("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"))
    muster.apply(yaml.safe_dump({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {
        "name": "serve", "namespace": "sandbox", "labels": {"kueue.x-k8s.io/queue-name": "local-queue-test"}}, "spec": {
            "replicas": 2, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": pods("1"), "workerTemplate": pods("1")}}}))
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
