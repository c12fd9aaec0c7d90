# test/kubernetes/crds/changes.py - objects that CEL rules judge: what is there, what it becomes, and whether that may be.
"""Each row: kind, versions, object before, object after, whether it is taken. None before: it is created. Status goes to the
status subresource when it is what differs."""
import copy

from objects import POD

NEW, OLD, BOTH = ["v1beta2"], ["v1beta1"], ["v1beta1", "v1beta2"]
RAY = ["v1"]
AT = "2026-01-02T03:04:05Z"


def condition(kind: str, status: str = "True") -> dict:
    return {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": AT}


def workload(spec: dict | None = None, status: dict | None = None) -> dict:
    sets = [{"name": "main", "count": 2, "template": copy.deepcopy(POD)}]
    return {"spec": {"podSets": sets, "queueName": "a", **(spec or {})}, **({"status": status} if status is not None else {})}


def reserved(**more) -> dict:
    return {"conditions": [condition("QuotaReserved")],
            "admission": {"clusterQueue": "a", "podSetAssignments": [{"name": "main"}]}, **more}


def admitted() -> dict:
    return reserved(conditions=[condition("QuotaReserved"), condition("Admitted")])


def class_of(group: str, kind: str, name: str = "a") -> dict:
    return {"priority": 1, "priorityClassRef": {"group": group, "kind": kind, "name": name}}


def source(name: str, of: str = "scheduling.k8s.io/priorityclass") -> dict:
    return {"priority": 1, "priorityClassName": name, "priorityClassSource": of}


def assignment(levels: int, slices: list) -> dict:
    assigned = {"name": "main", "topologyAssignment": {"levels": [f"l{i}" for i in range(levels)], "slices": slices}}
    return {"admission": {"clusterQueue": "a", "podSetAssignments": [assigned]}}


def a_slice(count: int, values: list, counts: dict) -> dict:
    return {"domainCount": count, "valuesPerLevel": values, "podCounts": counts}


ONE, TWO = {"universal": 1}, {"individual": [1, 2]}
PLAIN, ROOTS = {"universal": "a"}, {"individual": {"roots": ["a", "b"]}}
JOB_CLASS = ("kueue.x-k8s.io", "WorkloadPriorityClass")
POD_CLASS = ("scheduling.k8s.io", "PriorityClass")


def quotas(limit: str | None = None, covered: int = 1, **spec) -> dict:
    resource = {"name": "cpu", "nominalQuota": 1, **({limit: 1} if limit else {})}
    names = ["cpu", "memory", "pods"][:covered]
    return {"spec": {"resourceGroups": [{"coveredResources": names, "flavors": [{"name": "a", "resources": [resource]}]}], **spec}}


def flavor(**spec) -> dict:
    return {"spec": {"nodeLabels": {"a": "b"}, **spec}}


def levels(*names: str) -> dict:
    return {"spec": {"levels": [{"nodeLabel": name} for name in names]}}


def ray_cluster(**spec) -> dict:
    return {"spec": {"headGroupSpec": {"template": copy.deepcopy(POD), "rayStartParams": {}}, **spec}}


def ray_job(**spec) -> dict:
    return {"spec": {"entrypoint": "true", **spec}}


def deletion(**strategy) -> dict:
    return ray_job(deletionStrategy=strategy)


FUNGIBLE = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "PreemptionOverBorrowing"}
SELF = {"policy": "DeleteSelf"}
RULE = {"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}

ROWS = [
    # MultiKueueCluster, MultiKueueConfig: one way to a cluster, each cluster once.
    ("MultiKueueCluster", NEW, None, {"spec": {"clusterSource": {"kubeConfig": {"location": "a"}}}}, True),
    ("MultiKueueCluster", NEW, None, {"spec": {"clusterSource": {"clusterProfileRef": {"name": "a"}}}}, True),
    ("MultiKueueCluster", NEW, None, {"spec": {"clusterSource": {}}}, False),
    ("MultiKueueCluster", NEW, None, {"spec": {"clusterSource": {
        "kubeConfig": {"location": "a"}, "clusterProfileRef": {"name": "a"}}}}, False),
    ("MultiKueueCluster", OLD, None, {"spec": {"kubeConfig": {"location": "a"}, "clusterProfileRef": {"name": "a"}}}, True),
    ("MultiKueueConfig", BOTH, None, {"spec": {"clusters": ["a", "b"]}}, True),
    ("MultiKueueConfig", NEW, None, {"spec": {"clusters": ["a", "a"]}}, False),
    # AdmissionCheck, LocalQueue, Topology: what cannot change.
    ("AdmissionCheck", BOTH, {"spec": {"controllerName": "a"}}, {"spec": {"controllerName": "b"}}, False),
    ("AdmissionCheck", BOTH, {"spec": {"controllerName": "a"}}, {"spec": {"controllerName": "a"}}, True),
    ("LocalQueue", BOTH, {"spec": {"clusterQueue": "a"}}, {"spec": {"clusterQueue": "b"}}, False),
    ("LocalQueue", BOTH, {"spec": {}}, {"spec": {"clusterQueue": "b"}}, True),
    ("LocalQueue", BOTH, {"spec": {"clusterQueue": "a"}}, {"spec": {"clusterQueue": "a", "stopPolicy": "Hold"}}, True),
    ("Topology", BOTH, levels("a"), levels("b"), False),
    ("Topology", BOTH, levels("a", "b"), levels("a"), False),
    ("Topology", BOTH, None, levels("a", "a"), False),
    ("Topology", BOTH, None, levels("kubernetes.io/hostname", "a"), False),
    ("Topology", BOTH, None, levels("a", "kubernetes.io/hostname"), True),
    # Queues.
    ("ClusterQueue", BOTH, None, quotas("borrowingLimit"), False),
    ("ClusterQueue", OLD, None, quotas("borrowingLimit", cohort="a"), True),
    ("ClusterQueue", NEW, None, quotas("borrowingLimit", cohortName="a"), True),
    ("ClusterQueue", BOTH, None, quotas(covered=2), False),
    ("Cohort", BOTH, None, quotas(covered=2), False),
    ("Cohort", BOTH, None, quotas("borrowingLimit", parentName="a"), True),
    ("ClusterQueue", BOTH, None, {"spec": {"flavorFungibility": FUNGIBLE}}, True),
    ("ClusterQueue", BOTH, None, {"spec": {"flavorFungibility": {"preference": "PreemptionOverBorrowing"}}}, False),
    ("ClusterQueue", BOTH, None, {"spec": {"flavorFungibility": {**FUNGIBLE, "whenCanPreempt": "MayStopSearch"}}}, False),
    ("ClusterQueue", OLD, None, {"spec": {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}}}, True),
    ("ClusterQueue", NEW, None, {"spec": {"flavorFungibility": {"whenCanBorrow": "Borrow"}}}, False),
    ("ClusterQueue", BOTH, None, {"spec": {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}}}, False),
    ("ClusterQueue", BOTH, None, {"spec": {"preemption": {
        "reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}}}, True),
    # ResourceFlavor.
    ("ResourceFlavor", BOTH, None, {"spec": {"topologyName": "a", "nodeLabels": {}}}, False),
    ("ResourceFlavor", BOTH, None, {"spec": {"topologyName": "a"}}, False),
    ("ResourceFlavor", BOTH, None, flavor(topologyName="a"), True),
    ("ResourceFlavor", BOTH, flavor(), flavor(topologyName="a"), True),
    ("ResourceFlavor", BOTH, flavor(topologyName="a"), flavor(topologyName="b"), False),
    ("ResourceFlavor", BOTH, flavor(topologyName="a"), flavor(), False),
    ("ResourceFlavor", BOTH, flavor(topologyName="a"), flavor(topologyName="a", nodeLabels={"a": "c"}), False),
    ("ResourceFlavor", BOTH, flavor(topologyName="a"), flavor(topologyName="a", tolerations=[{"operator": "Exists"}]), False),
    ("ResourceFlavor", BOTH, flavor(), flavor(nodeLabels={"a": "c"}), True),
    ("ResourceFlavor", BOTH, None, flavor(nodeTaints=[{"key": "a", "effect": "Never"}]), False),
    *[("ResourceFlavor", BOTH, None, flavor(tolerations=[toleration]), fine) for toleration, fine in (
        ({"operator": "Equal", "value": "b"}, False), ({"key": "a", "operator": "Equal", "value": "b"}, True),
        ({"operator": "Exists"}, True), ({"key": "a", "operator": "Exists", "value": "b"}, False),
        ({"key": "a", "operator": "In"}, False), ({"key": "a", "effect": "Never"}, False), ({"value": "b"}, False),
        ({"key": "a", "tolerationSeconds": 5, "effect": "NoSchedule"}, False), ({"key": "a", "tolerationSeconds": 5}, False),
        ({"key": "a", "tolerationSeconds": 5, "effect": "NoExecute"}, True))],
    # Workload: pod sets and priority classes.
    ("Workload", BOTH, None, workload({"podSets": [{"name": "a", "count": 2, "minCount": 3, "template": POD}]}), False),
    ("Workload", BOTH, None, workload({"podSets": [{"name": "a", "count": 2, "minCount": 2, "template": POD}]}), True),
    ("Workload", BOTH, None, workload({"podSets": [{"name": n, "count": 1, "template": POD} for n in ("a", "a")]}), False),
    ("Workload", BOTH, None, workload({"podSets": [{"count": 1, "template": {"spec": {"containers": [{"image": "a"}]}}}]}), False),
    ("Workload", BOTH, None, workload({"podSets": [{"count": 1, "template": {"spec": {}}}]}), False),
    ("Workload", BOTH, None, workload({"podSets": [{"count": 1, "template": {"spec": {"containers": [
        {"name": "a", "imagePullPolicy": "Sometimes"}]}}}]}), True),
    ("Workload", OLD, None, workload({"priorityClassName": "a"}), False),
    ("Workload", OLD, None, workload(source("a")), True),
    ("Workload", OLD, None, workload(source("a", "")), True),
    ("Workload", NEW, None, workload(class_of(*JOB_CLASS)), True),
    ("Workload", NEW, None, workload({"priorityClassRef": class_of(*JOB_CLASS)["priorityClassRef"]}), False),
    ("Workload", NEW, None, workload(class_of("kueue.x-k8s.io", "PriorityClass")), False),
    ("Workload", NEW, None, workload(class_of("scheduling.k8s.io", "WorkloadPriorityClass")), False),
    # Workload: what is fixed while quota is reserved.
    ("Workload", BOTH, workload(status=reserved()), workload({"queueName": "b"}, reserved()), False),
    ("Workload", BOTH, workload(status={}), workload({"queueName": "b"}, {}), True),
    ("Workload", BOTH, workload(status=reserved()), workload({"podSets": [
        {"name": n, "count": 1, "template": POD} for n in ("main", "b")]}, reserved()), False),
    ("Workload", BOTH, workload(status=admitted()), workload({"maximumExecutionTimeSeconds": 5}, admitted()), False),
    ("Workload", BOTH, workload(status=reserved()), workload({"maximumExecutionTimeSeconds": 5}, reserved()), True),
    ("Workload", OLD, workload(source("a"), reserved()), workload(source("b"), reserved()), False),
    ("Workload", OLD, workload(source("a"), reserved()), workload(source("a", "kueue.x-k8s.io/workloadpriorityclass"), reserved()), False),
    ("Workload", OLD, workload(source("a", "kueue.x-k8s.io/workloadpriorityclass"), reserved()),
     workload(source("b", "kueue.x-k8s.io/workloadpriorityclass"), reserved()), True),
    ("Workload", NEW, workload(class_of(*POD_CLASS), reserved()), workload(class_of(*POD_CLASS, "b"), reserved()), False),
    ("Workload", NEW, workload(class_of(*JOB_CLASS), reserved()), workload(class_of(*JOB_CLASS, "b"), reserved()), True),
    ("Workload", NEW, workload(class_of(*JOB_CLASS), reserved()), workload(class_of(*POD_CLASS), reserved()), False),
    ("Workload", NEW, workload(class_of(*JOB_CLASS), reserved()), workload({"priority": 1}, reserved()), False),
    ("Workload", NEW, workload(class_of(*JOB_CLASS), {}), workload({"priority": 1}, {}), True),
    # Workload: its status.
    ("Workload", BOTH, workload(status={}), workload(status=reserved()), True),
    ("Workload", BOTH, workload(status={}), workload(status=reserved(admission={"clusterQueue": "a", "podSetAssignments": []})), False),
    ("Workload", BOTH, workload(status={"clusterName": "a"}), workload(status={"clusterName": "b"}), False),
    ("Workload", BOTH, workload(status={"clusterName": "a"}), workload(status={}), True),
    ("Workload", BOTH, workload(status={}), workload(status={"clusterName": "a", "nominatedClusterNames": ["a"]}), False),
    ("Workload", BOTH, workload(status={"nominatedClusterNames": ["a"]}),
     workload(status={"clusterName": "a", "nominatedClusterNames": []}), True),
    ("Workload", BOTH, workload(status={}), workload(status={"admissionChecks": [{
        "name": "a", "state": "Ready", "message": "", "lastTransitionTime": AT,
        "podSetUpdates": [{"name": "main", "tolerations": [{"operator": "Equal"}]}]}]}), False),
    *[("Workload", NEW, workload(status={}), workload(status=assignment(*places)), fine) for places, fine in (
        ((1, [a_slice(1, [PLAIN], ONE)]), True), ((2, [a_slice(1, [PLAIN], ONE)]), False),
        ((1, [a_slice(2, [ROOTS], TWO)]), True), ((1, [a_slice(3, [ROOTS], ONE)]), False),
        ((1, [a_slice(3, [PLAIN], TWO)]), False), ((1, [a_slice(1, [{**PLAIN, **ROOTS}], ONE)]), False),
        ((1, [a_slice(1, [{}], ONE)]), False), ((1, [a_slice(1, [PLAIN], {})]), False),
        ((1, [a_slice(2, [PLAIN], {**ONE, **TWO})]), False))],
    # Ray.
    ("RayCluster", RAY, None, ray_cluster(managedBy="somebody"), False),
    ("RayCluster", RAY, None, ray_cluster(managedBy="kueue.x-k8s.io/multikueue"), True),
    ("RayCluster", RAY, ray_cluster(managedBy="ray.io/kuberay-operator"), ray_cluster(managedBy="kueue.x-k8s.io/multikueue"), False),
    ("RayCluster", RAY, ray_cluster(managedBy="ray.io/kuberay-operator"), ray_cluster(), True),
    ("RayJob", RAY, None, ray_job(managedBy="somebody"), False),
    ("RayJob", RAY, ray_job(managedBy="ray.io/kuberay-operator"), ray_job(managedBy="kueue.x-k8s.io/multikueue"), False),
    ("RayJob", RAY, None, ray_job(rayClusterSpec=ray_cluster(managedBy="somebody")["spec"]), False),
    ("RayJob", RAY, None, deletion(), False),
    ("RayJob", RAY, None, deletion(onSuccess=SELF), False),
    ("RayJob", RAY, None, deletion(onSuccess=SELF, onFailure=SELF), True),
    ("RayJob", RAY, None, deletion(onSuccess=SELF, deletionRules=[RULE]), False),
    ("RayJob", RAY, None, deletion(deletionRules=[RULE]), True),
    ("RayJob", RAY, None, deletion(deletionRules=[{**RULE, "condition": {}}]), False),
    ("RayJob", RAY, None, deletion(deletionRules=[{**RULE, "condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}]), False),
]
