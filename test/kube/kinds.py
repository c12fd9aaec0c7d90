# test/kube/kinds.py - CRDs that take any field: enough for controllers to work on, until `muster crds` writes the real ones.

import datetime

KUEUE = "kueue.x-k8s.io"
# Kind, plural, whether it is in a namespace.
KUEUE_KINDS = [("ClusterQueue", "clusterqueues", False), ("LocalQueue", "localqueues", True), ("Workload", "workloads", True),
               ("ResourceFlavor", "resourceflavors", False), ("Cohort", "cohorts", False), ("Topology", "topologies", False),
               ("AdmissionCheck", "admissionchecks", False), ("WorkloadPriorityClass", "workloadpriorityclasses", False)]


def crd(group: str, version: str, kind: str, plural: str, namespaced: bool) -> dict:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    annotations = {"api-approved.kubernetes.io": "unapproved, a test"} if group.endswith(".k8s.io") else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {"group": group, "scope": "Namespaced" if namespaced else "Cluster",
                 "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": kind + "List"},
                 "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": anything}}]}}


def kueue_crds() -> list[dict]:
    return [crd(KUEUE, "v1beta2", *names) for names in KUEUE_KINDS]


def install(cluster, crds: list[dict]) -> None:
    for one in crds:
        status, answer = cluster.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", one)
        assert status in (201, 409), answer


def queues(name: str, ns: str, cpu: str) -> list[tuple[str, dict]]:
    """A flavor, a ClusterQueue with so many CPUs of it, and a LocalQueue, all of one name; each with the path to post it to."""
    at = f"/apis/{KUEUE}/v1beta2"
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    return [
        (f"{at}/resourceflavors", thing("ResourceFlavor", name)),
        (f"{at}/clusterqueues", thing("ClusterQueue", name, spec={
            "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]})),
        (f"{at}/namespaces/{ns}/localqueues", thing("LocalQueue", name, spec={"clusterQueue": name}))]


def thing(kind: str, name: str, **rest) -> dict:
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": kind, "metadata": {"name": name}, **rest}


def job(name: str, queue: str, cpu: str = "1", pods: int = 1) -> dict:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {f"{KUEUE}/queue-name": queue}},
            "spec": {"parallelism": pods, "completions": pods,
                     "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}


def add_node(cluster, name: str, cpu: str) -> None:
    """A node that says once that it is ready; nobody runs anything on it."""
    status, answer = cluster.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    assert status == 201, answer
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now}
    status, answer = cluster.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
        "capacity": amounts, "allocatable": amounts, "conditions": [ready]}}, "application/merge-patch+json")
    assert status == 200, answer
