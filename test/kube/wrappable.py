# test/kube/wrappable.py - one object of each kind that an AppWrapper may wrap (but Pods, Jobs and Ray's), and what defines those kinds
# that other projects bring.
import json

POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "RESTART", "containers": [
    {"name": "main", "image": "b", "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}}]}}
# Job kinds of others: their spec.
JOBS = {
    ("kubeflow.org/v1", "JAXJob"): {"jaxReplicaSpecs": {"Worker": {"replicas": 1, "template": "POD"}}},
    ("kubeflow.org/v2beta1", "MPIJob"): {"mpiReplicaSpecs": {"Launcher": {"template": "POD"}, "Worker": {"template": "POD"}}},
    ("kubeflow.org/v1", "PaddleJob"): {"paddleReplicaSpecs": {"Worker": {"template": "POD"}}},
    ("kubeflow.org/v1", "PyTorchJob"): {"pytorchReplicaSpecs": {"Worker": {"template": "POD"}}},
    ("kubeflow.org/v1", "TFJob"): {"tfReplicaSpecs": {"Worker": {"template": "POD"}}},
    ("kubeflow.org/v1", "XGBoostJob"): {"xgbReplicaSpecs": {"Worker": {"template": "POD"}}},
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): {"replicatedJobs": [{"name": "one", "template": {"spec": {"template": "POD"}}}]},
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): {"mode": "cluster", "driver": {"cores": 1}, "executor": {"instances": 1}},
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): {"runtimeRef": {"name": "plain"}}}
RUNTIME = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": "POD"}}}]}}}
BESIDE = {("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): RUNTIME,
          ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"): RUNTIME,
          ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): {"replicas": 0, "leaderWorkerTemplate": {"size": 1, "workerTemplate": "POD"}}}
SELECTOR = {"selector": {"matchLabels": {"a": "b"}}}
# What else an AppWrapper may wrap; only the DaemonSet makes a pod.
THINGS = {
    ("v1", "ConfigMap"): {}, ("v1", "Endpoints"): {}, ("v1", "Secret"): {}, ("v1", "ServiceAccount"): {},
    ("v1", "LimitRange"): {"spec": {"limits": []}}, ("v1", "ResourceQuota"): {"spec": {}},
    ("v1", "PersistentVolumeClaim"): {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}},
    ("v1", "PodTemplate"): {"template": "POD"}, ("v1", "Service"): {"spec": {"ports": [{"port": 80}]}},
    ("v1", "ReplicationController"): {"spec": {"replicas": 0, "selector": {"a": "b"}, "template": "POD"}},
    ("apps/v1", "ControllerRevision"): {"revision": 1, "data": {"a": "b"}}, ("apps/v1", "DaemonSet"): {"spec": {**SELECTOR, "template": "POD"}},
    ("apps/v1", "Deployment"): {"spec": {**SELECTOR, "replicas": 0, "template": "POD"}},
    ("apps/v1", "ReplicaSet"): {"spec": {**SELECTOR, "replicas": 0, "template": "POD"}},
    ("apps/v1", "StatefulSet"): {"spec": {**SELECTOR, "replicas": 0, "serviceName": "a", "template": "POD"}},
    ("batch/v1", "CronJob"): {"spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": {"template": "POD"}}}},
    ("networking.k8s.io/v1", "Ingress"): {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): {"spec": {"clusterQueue": "nobody"}},
    ("policy/v1", "PodDisruptionBudget"): {"spec": {**SELECTOR, "minAvailable": 0}}}


def filled(value):
    """With pods where a template is named."""
    text = json.dumps(value).replace('"POD"', json.dumps(POD))
    return json.loads(text.replace("RESTART", "Never" if "jobTemplate" in value.get("spec", {}) else "Always"))


def plural_of(kind: str) -> str:
    irregular = {"Endpoints": "endpoints", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies"}
    return irregular.get(kind, kind.lower() + "s")


def definitions() -> list[dict]:
    """Of the kinds of others, without a word about what is in them."""
    made = []
    for version, kind in [*JOBS, *BESIDE]:
        group, _, number = version.partition("/")
        made.append({"metadata": {"name": f"{plural_of(kind)}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
                     "spec": {"group": group, "scope": "Cluster" if kind.startswith("Cluster") else "Namespaced",
                              "names": {"kind": kind, "plural": plural_of(kind), "singular": kind.lower()},
                              "versions": [{"name": number, "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                                  "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    return made


def path_of(version: str, kind: str) -> str:
    """Where they are, in the namespace default."""
    ns = "" if kind.startswith("Cluster") else "/namespaces/default"
    return f"{'/api/' if version == 'v1' else '/apis/'}{version}{ns}/{plural_of(kind)}"


def job(version: str, kind: str, name: str, labels: dict) -> dict:
    """A job of another project."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": filled(JOBS[version, kind])}


def runtime(name: str) -> dict:
    """What TrainJobs name as theirs."""
    version, kind = "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": filled(BESIDE[version, kind])}


def jobs() -> list[dict]:
    """One of each."""
    return [job(version, kind, "one", {}) for version, kind in JOBS]


def things() -> list[dict]:
    """One of each other kind that has a namespace."""
    others = {what: {"spec": spec} for what, spec in BESIDE.items() if not what[1].startswith("Cluster")}
    return [{"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, **filled(body)}
            for (version, kind), body in {**THINGS, **others}.items()]
