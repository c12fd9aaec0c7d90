# test/kubernetes/crds/guest_jobs.py - one small job of each kind of others: what it asks for, and how its operator says that it is done.
import dataclasses

TIME = "2026-01-01T00:00:00Z"


def pods(cpu: str = "100m") -> dict:
    return {"spec": {"containers": [{"name": "main", "image": "b", "resources": {"requests": {"cpu": cpu}}}]}}


def done(type_: str) -> dict:
    return {"conditions": [{"type": type_, "status": "True", "reason": "Played", "message": "as its operator would say",
                            "lastTransitionTime": TIME}]}


@dataclasses.dataclass
class GuestJob:
    kind: str
    api_version: str
    spec: dict
    sets: list[tuple[str, int]]   # Its pod sets: names and counts.
    templates: list[str]          # Dotted paths of the pods' templates, or of what has their nodeSelector, in the order of the sets.
    end: dict                     # Its status when it has succeeded.
    suspend: str = "spec.suspend"
    selector: str = "spec.nodeSelector"  # Below the template.

    @property
    def resource(self) -> str:
        return f"{self.kind.lower()}s.{self.api_version.split('/')[0]}"

    @property
    def path(self) -> str:
        """Where objects of the namespace are."""
        return f"/apis/{self.api_version}/namespaces/{{ns}}/{self.kind.lower()}s"

    def made(self, name: str, **metadata) -> dict:
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name, **metadata}, "spec": self.spec}


def training(kind: str, member: str, *roles: str, version: str = "v1") -> GuestJob:
    """The first role is one pod, each other two."""
    counts = [1] + [2] * (len(roles) - 1)
    spec = {member: {role: {"replicas": count, "template": pods()} for role, count in zip(roles, counts)}}
    status = {**done("Succeeded"), "replicaStatuses": {role: {"succeeded": count} for role, count in zip(roles, counts)}}
    return GuestJob(kind, f"kubeflow.org/{version}", spec, [(role.lower(), count) for role, count in zip(roles, counts)],
                    [f"spec.{member}.{role}.template" for role in roles], status, "spec.runPolicy.suspend")


JOB_SET = GuestJob(
    "JobSet", "jobset.x-k8s.io/v1alpha2",
    {"replicatedJobs": [{"name": "leader", "template": {"spec": {"template": pods()}}},
                        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 3, "template": pods()}}}]},
    [("leader", 1), ("workers", 6)], [f"spec.replicatedJobs.{i}.template.spec.template" for i in range(2)],
    {**done("Completed"), "restarts": 0, "terminalState": "Completed"})

# Its pods stand in the runtime; a patch of the job has what is added to them.
PATCH = "spec.runtimePatches.0.trainingRuntimeSpec.template.spec.replicatedJobs.0.template.spec.template"
RUNTIME = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"}, "spec": {
    "mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": pods()}}}]}}}}
TRAIN_JOB = GuestJob("TrainJob", "trainer.kubeflow.org/v1alpha1", {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}},
                     [("node", 3)], [PATCH], done("Complete"))

SPARK = GuestJob(
    "SparkApplication", "sparkoperator.k8s.io/v1beta2",
    {"type": "Scala", "mode": "cluster", "sparkVersion": "4.0.0", "mainApplicationFile": "local:///pi.jar", "driver": {"cores": 1},
     "executor": {"cores": 1, "instances": 2, "memory": "512m"}},
    [("driver", 1), ("executor", 2)], ["spec.driver", "spec.executor"],
    {"applicationState": {"state": "COMPLETED"}, "driverInfo": {}, "executionAttempts": 1, "terminationTime": TIME}, selector="nodeSelector")

# Those that start by a field of their own; a LeaderWorkerSet serves, and its pods wait.
JOBS = [
    JOB_SET,
    training("PyTorchJob", "pytorchReplicaSpecs", "Master", "Worker"),
    training("TFJob", "tfReplicaSpecs", "Chief", "PS", "Worker", "Evaluator"),
    training("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"),
    training("PaddleJob", "paddleReplicaSpecs", "Master", "Worker"),
    training("JAXJob", "jaxReplicaSpecs", "Worker"),
    training("MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", version="v2beta1"),
    TRAIN_JOB,
    SPARK,
]
LEADER_WORKER_SET = GuestJob(
    "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1",
    {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": pods("1"), "workerTemplate": pods("1")}}, [], [],
    {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2})


def at(value, path: str):
    """What is at a dotted path; None when nothing is."""
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) and int(step) < len(value) else value.get(step) if isinstance(value, dict) else None
    return value
