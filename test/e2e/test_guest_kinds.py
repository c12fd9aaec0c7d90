# test/e2e/test_guest_kinds.py - job kinds of other projects, brought by their CustomResourceDefinitions, in the queues.
import json

import yaml

from conftest import QUEUES
from test_queues import condition


def definition(group: str, version: str, kind: str) -> dict:
    plural = kind.lower() + "s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
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
    assert "needs 6" in said and "pair" in said

    muster.run("patch", "-n", "sandbox", "jobset", "pair", "--subresource", "status", "--type", "merge", "-p", json.dumps(
        {"status": {"conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "done",
                                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}))
    muster.until("its Workload is finished", lambda: condition(workload_of(muster, "pair"), "Finished").get("status") == "True")
    muster.until("the training job is started", lambda: muster.get(
        "-n", "sandbox", "pytorchjob", "train")["spec"]["runPolicy"]["suspend"] is False)
    muster.run("delete", "-n", "sandbox", "pytorchjob", "train")
    muster.until("its Workload is gone", lambda: not workload_of(muster, "train"))
