# test/kube/kinds.py - the kinds that the operator works on, and objects of them.
import datetime
import pathlib

import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CRDS = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy/helm/muster/crds-as-printed"
KUEUE = "kueue.x-k8s.io"


def crds(group: str) -> list[dict]:
    """The CustomResourceDefinitions of a group, as `muster crds` writes them."""
    return [yaml.load(path.read_text(), Loader=Loader) for path in sorted(CRDS.glob(f"{group}_*.yaml"))]


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
