# test/kube/moved.py - what Kueue, KubeRay and MCAD leave behind on a cluster, written as they write it: their CRDs, their
# deployments without a program in it, and their objects with what runs.
import copy
import json
import sys

import yaml

import kinds
from conftest import ROOT, until
from outside import PATCH, is_true

sys.path.insert(0, str(ROOT / "test/kubernetes/crds"))
import originals  # noqa: E402  (in the folder just named)

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KUEUE_AT = f"/apis/{kinds.KUEUE}/v1beta2"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
RAYS = "/apis/ray.io/v1/namespaces/default/rayclusters"
SERVICES = "/apis/ray.io/v1/namespaces/default/rayservices"
WRAPPERS = "/apis/workload.codeflare.dev/v1beta1/namespaces/default/appwrappers"
CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
THEN = "2026-01-02T03:04:05Z"


def deployment(name: str, ns: str, labels: dict) -> dict:
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "example.com/theirs:1"}]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": ns},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}}


def wipe(client) -> None:
    """A cluster that has none of these kinds: nobody is there who would let go of anything."""
    groups = (f".{kinds.KUEUE}", ".ray.io", ".workload.codeflare.dev", ".mcad.ibm.com")
    found = [crd for crd in client.insist("GET", CRDS)["items"] if crd["metadata"]["name"].endswith(groups)]
    for crd in found:
        client.insist("DELETE", f"{CRDS}/{crd['metadata']['name']}")
    for crd in found:
        name = crd["metadata"]["name"]
        until(f"{name} is gone", lambda crd=crd: is_gone(client, crd), 180)  # One after the other, with the server's pauses.


def is_gone(client, crd: dict) -> bool:
    """Whether a definition that is being deleted has gone; if not, its objects are let go of, once more: a server that stops
    serving a kind may just not have answered."""
    spec = crd["spec"]
    if client.ask("GET", f"{CRDS}/{crd['metadata']['name']}")[0] == 404:
        return True
    version = next(v["name"] for v in spec["versions"] if v["storage"])
    status, listed = client.ask("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
    for each in listed["items"] if status == 200 else []:
        ns = f"/namespaces/{each['metadata']['namespace']}" if "namespace" in each["metadata"] else ""
        client.ask("PATCH", f"/apis/{spec['group']}/{version}{ns}/{spec['names']['plural']}/{each['metadata']['name']}",
                   {"metadata": {"finalizers": None}}, PATCH)
    return False


def install_crds(client, crds: list[dict]) -> dict[str, dict]:
    """As the server has them then."""
    for crd in crds:
        client.insist("POST", CRDS, crd)
    for crd in crds:
        spec = crd["spec"]
        served = next(v["name"] for v in spec["versions"] if v["storage"])
        path = f"/apis/{spec['group']}/{served}/{spec['names']['plural']}"
        until(f"{path} is served", lambda path=path: client.ask("GET", path)[0] == 200)
        # Said after it is served.
        about = f"{CRDS}/{crd['metadata']['name']}"
        until(f"{about} is established", lambda about=about: is_true(client.insist("GET", about), "Established"))
    return {crd["metadata"]["name"]: client.insist("GET", f"{CRDS}/{crd['metadata']['name']}") for crd in crds}


def install_all(client) -> list[dict]:
    """The definitions of all of them, as their own manifests have them."""
    others = [crd for name, crd in originals.originals().items() if not name.endswith(f".{kinds.KUEUE}")]
    found = [*Kueue.definitions(), *others]
    install_crds(client, found)
    return found


def definitions(client, names: set[str]) -> dict[str, str]:
    """Byte for byte."""
    return {name: json.dumps(client.insist("GET", f"{CRDS}/{name}"), sort_keys=True) for name in names}


def run_deployment(client, made: dict) -> None:
    ns = made["metadata"]["namespace"]
    client.insist("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
    path = f"/apis/apps/v1/namespaces/{ns}/deployments"
    client.insist("POST", path, made)
    until("it runs", lambda: client.insist("GET", f"{path}/{made['metadata']['name']}")["status"].get("readyReplicas") == 1)


def ready_pods(client, name: str, ns: str) -> int:
    """Of a deployment."""
    return client.insist("GET", f"/apis/apps/v1/namespaces/{ns}/deployments/{name}")["status"].get("readyReplicas", 0)


def owner(thing: dict, api_version: str, kind: str) -> dict:
    meta = thing["metadata"]
    return {"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True,
            "blockOwnerDeletion": True}


def condition(kind: str, status: str, reason: str, message: str = "") -> dict:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": THEN, "observedGeneration": 1}


class Kueue:
    """Kueue 0.19 in kueue-system, with a queue of eight CPUs."""

    def __init__(self, cluster, client, home):
        self.cluster, self.client, self.folder = cluster, client, home / "kueue"
        self.crds: dict[str, dict] = {}

    def install(self) -> None:
        self.crds = install_crds(self.client, self.definitions())
        manager = deployment("kueue-controller-manager", "kueue-system", {"control-plane": "controller-manager"})
        run_deployment(self.client, manager)
        self.folder.mkdir()
        (self.folder / "manifests.yaml").write_text(yaml.safe_dump_all([*self.definitions(), manager, *self._asked()]))
        (self.folder / "controller_manager_config.yaml").write_text(
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations:\n  frameworks: [batch/job]\n")
        for path, body in kinds.queues("team", "default", "8"):
            body["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"] if body["kind"] != "LocalQueue" else []
            self.client.insist("POST", path, body)
            status = {"conditions": [condition("Active", "True", "Ready", "Can admit new workloads")]}
            if body["kind"] != "ResourceFlavor":
                self.client.insist("PATCH", f"{path}/team/status", {"status": status}, PATCH)
        self.client.insist("POST", f"{KUEUE_AT}/multikueueclusters", kinds.thing("MultiKueueCluster", "far", spec={
            "clusterSource": {"kubeConfig": {"location": "far-away"}}}))

    @staticmethod
    def definitions() -> list[dict]:
        """With what Kueue's own manifests add to them."""
        found = [copy.deepcopy(crd) for name, crd in originals.originals().items() if name.endswith(f".{kinds.KUEUE}")]
        for crd in found:
            crd["metadata"].pop("creationTimestamp", None)
            if crd["spec"]["names"]["plural"] in CONVERTED:
                service = {"namespace": "kueue-system", "name": "kueue-webhook-service", "path": "/convert", "port": 443}
                crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {
                    "clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}}
        return found

    @staticmethod
    def _asked() -> list[dict]:
        """What the API server asks of Kueue. Nobody answers here."""
        made = []
        for phase in ("mutating", "validating"):
            service = {"namespace": "kueue-system", "name": "kueue-webhook-service", "path": f"/{phase}-batch-v1-job"}
            rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["jobs"]}
            made.append({"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{phase.capitalize()}WebhookConfiguration",
                         "metadata": {"name": f"kueue-{phase}-webhook-configuration"},
                         "webhooks": [{"name": f"{phase[0]}job.kb.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                                       "sideEffects": "None", "clientConfig": {"service": service}, "rules": [rule]}]})
        for version in ("v1beta1", "v1beta2"):
            made.append({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                         "metadata": {"name": f"{version}.visibility.{kinds.KUEUE}"},
                         "spec": {"group": f"visibility.{kinds.KUEUE}", "version": version, "groupPriorityMinimum": 100,
                                  "versionPriority": 100, "insecureSkipTLSVerify": True,
                                  "service": {"namespace": "kueue-system", "name": "kueue-visibility-server", "port": 443}}})
        return made

    @staticmethod
    def _path(thing: dict) -> str:
        plural = thing["kind"].lower() + "s"
        return f"/apis/{thing['apiVersion']}/{plural}"

    def ask_webhooks(self) -> None:
        """From now on nobody makes or changes a Job."""
        for each in self._asked():
            self.client.insist("POST", self._path(each), each)
        until("they are asked", lambda: self.client.ask("POST", JOBS, kinds.job("refused", "team"))[0] == 500)

    def _job(self, name: str, cpu: int) -> dict:
        body = kinds.job(name, "team", cpu=str(cpu))
        body["spec"]["suspend"] = True
        made = self.client.insist("POST", JOBS, body)
        self.client.insist("POST", f"{KUEUE_AT}/namespaces/default/workloads", kinds.thing("Workload", f"job-{name}-1a2b3", spec={
            "active": True, "queueName": "team", "priority": 0,
            "podSets": [{"name": "main", "count": 1, "template": made["spec"]["template"]}]}) | {"metadata": {
                "name": f"job-{name}-1a2b3", "labels": {f"{kinds.KUEUE}/job-uid": made["metadata"]["uid"]},
                "finalizers": [f"{kinds.KUEUE}/resource-in-use"], "ownerReferences": [owner(made, "batch/v1", "Job")]}})
        return made

    def _say(self, name: str, status: dict) -> None:
        self.client.insist("PATCH", f"{KUEUE_AT}/namespaces/default/workloads/job-{name}-1a2b3/status", {"status": status}, PATCH)

    def admit(self, name: str, cpu: int) -> None:
        self._job(name, cpu)
        self._say(name, {
            "admission": {"clusterQueue": "team", "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {"cpu": "team"}, "resourceUsage": {"cpu": str(cpu)}}]},
            "conditions": [condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue team"),
                           condition("Admitted", "True", "Admitted", "The workload is admitted"),
                           condition("PodsReady", "True", "Started", "All pods reached readiness and the workload is running")]})
        self.client.insist("PATCH", f"{JOBS}/{name}", {"spec": {"suspend": False}}, PATCH)

    def wait_for(self, name: str, cpu: int) -> None:
        self._job(name, cpu)
        self._say(name, {"conditions": [condition("QuotaReserved", "False", "Pending", "couldn't assign flavors to pod set main")],
                         "resourceRequests": [{"name": "main", "resources": {"cpu": str(cpu)}}]})

    def workload(self, name: str) -> dict:
        return self.client.insist("GET", f"{KUEUE_AT}/namespaces/default/workloads/job-{name}-1a2b3")

    def message(self, name: str) -> str:
        return next(c["message"] for c in self.workload(name)["status"]["conditions"] if c["type"] == "QuotaReserved")

    def is_unsuspended(self, name: str) -> bool:
        return self.client.insist("GET", f"{JOBS}/{name}")["spec"]["suspend"] is False

    def state(self, name: str) -> dict:
        """What must stay when another one takes over."""
        workload, job = self.workload(name), self.client.insist("GET", f"{JOBS}/{name}")
        kept = {key: workload["metadata"].get(key) for key in ("uid", "labels", "finalizers", "ownerReferences")}
        return {**kept, "spec": workload["spec"], "admission": workload["status"]["admission"],
                "conditions": workload["status"]["conditions"], "job": job["spec"]}

    def converters(self) -> set[str]:
        """The services that convert one of the kinds with two forms."""
        crds = [self.client.insist("GET", f"{CRDS}/{plural}.{kinds.KUEUE}") for plural in CONVERTED]
        services = [crd["spec"]["conversion"].get("webhook", {}).get("clientConfig", {}).get("service", {}) for crd in crds]
        return {f"{service.get('namespace')}/{service.get('name')}" for service in services}

    def crds_are_its_own(self) -> bool:
        now = {name: self.client.insist("GET", f"{CRDS}/{name}")["spec"] for name in self.crds}
        for spec in now.values():  # The authority is that of whoever serves; Kueue writes its own there.
            spec["conversion"].get("webhook", {}).get("clientConfig", {}).pop("caBundle", None)
        return now == {name: crd["spec"] for name, crd in self.crds.items()}

    def ready(self) -> int:
        return ready_pods(self.client, "kueue-controller-manager", "kueue-system")

    def remove(self) -> None:
        for each in self._asked():
            self.client.insist("DELETE", f"{self._path(each)}/{each['metadata']['name']}")
        wipe(self.client)
        self.client.insist("DELETE", f"{JOBS}?propagationPolicy=Background")


class Ray:
    """KubeRay 1.6."""

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client

    def install(self) -> None:
        install_crds(self.client, [crd for name, crd in originals.originals().items() if name.endswith(".ray.io")])
        run_deployment(self.client, deployment("kuberay-operator", "kuberay-system",
                                               {"app.kubernetes.io/component": "kuberay-operator"}))

    def _spec(self) -> dict:
        return {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": self._template("head")},
                "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "minReplicas": 1, "maxReplicas": 5, "rayStartParams": {},
                                      "template": self._template("worker")}]}

    def serve(self, name: str) -> None:
        """A RayService that has no cluster yet."""
        self.client.insist("POST", SERVICES, {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name},
                                              "spec": {"rayClusterConfig": self._spec()}})

    def run(self, name: str, **more) -> None:
        made = self.client.insist("POST", RAYS, {
            "apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": {**self._spec(), **more}})
        head = self._pod(made, "head", "headgroup", "4xk2p")
        for suffix in ("7hq8c", "zz9tr"):
            self._pod(made, "worker", "small", suffix)
        service = f"{name}-head-svc"
        labels = {"ray.io/cluster": name, "ray.io/node-type": "head", "ray.io/identifier": f"{name}-head",
                  "app.kubernetes.io/created-by": "kuberay-operator", "app.kubernetes.io/name": "kuberay"}
        self.client.insist("POST", "/api/v1/namespaces/default/services", {
            "metadata": {"name": service, "labels": labels, "ownerReferences": [owner(made, "ray.io/v1", "RayCluster")]},
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": labels,
                     "ports": [{"name": "gcs-server", "port": 6379}, {"name": "dashboard", "port": 8265}]}})
        until("its pods run", lambda: all(p["status"]["phase"] == "Running" for p in self._all(name)))
        self.client.insist("PATCH", f"{RAYS}/{name}/status", {"status": {
            "state": "ready", "observedGeneration": 1, "desiredWorkerReplicas": 2, "availableWorkerReplicas": 2,
            "readyWorkerReplicas": 2, "minWorkerReplicas": 1, "maxWorkerReplicas": 5, "desiredCPU": "3",
            "head": {"podName": head, "serviceName": service, "podIP": "10.0.0.9", "serviceIP": "10.0.0.9"},
            "stateTransitionTimes": {"ready": THEN}, "lastUpdateTime": THEN,
            "conditions": [condition("HeadPodReady", "True", "HeadPodRunningAndReady"),
                           condition("RayClusterProvisioned", "True", "AllPodRunningAndReadyFirstTime",
                                     "All Ray Pods are ready for the first time")]}}, PATCH)

    @staticmethod
    def _template(what: str) -> dict:
        return {"spec": {"containers": [{"name": f"ray-{what}", "image": "rayproject/ray:2.52.0",
                                         "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}]}}

    def _pod(self, made: dict, what: str, group: str, suffix: str) -> str:
        name = made["metadata"]["name"]
        labels = {"app.kubernetes.io/created-by": "kuberay-operator", "app.kubernetes.io/name": "kuberay", "ray.io/cluster": name,
                  "ray.io/group": group, "ray.io/identifier": f"{name}-{what}", "ray.io/is-ray-node": "yes", "ray.io/node-type": what}
        pod = f"{name}-head-{suffix}" if what == "head" else f"{name}-{group}-worker-{suffix}"
        self.client.insist("POST", PODS, {"metadata": {
            "name": pod, "labels": labels, "annotations": {"ray.io/ft-enabled": "false"},
            "ownerReferences": [owner(made, "ray.io/v1", "RayCluster")]}, "spec": self._template(what)["spec"]})
        return pod

    def _all(self, name: str) -> list[dict]:
        return self.client.insist("GET", f"{PODS}?labelSelector=ray.io/cluster={name}")["items"]

    def pods(self, name: str) -> list[str]:
        return sorted(pod["metadata"]["uid"] for pod in self._all(name))

    def ready(self) -> int:
        return ready_pods(self.client, "kuberay-operator", "kuberay-system")

    def get(self, name: str) -> dict:
        return self.client.insist("GET", f"{RAYS}/{name}")

    def is_looked_after(self, name: str) -> bool:
        return self.client.insist("GET", f"{RAYS}/{name}")["status"]["lastUpdateTime"] != THEN

    def grow(self, name: str) -> None:
        spec = self.client.insist("GET", f"{RAYS}/{name}")["spec"]
        spec["workerGroupSpecs"][0]["replicas"] = 3
        self.client.insist("PATCH", f"{RAYS}/{name}", {"spec": spec}, PATCH)


class Mcad:
    """MCAD 1.40."""

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client

    def install(self) -> None:
        install_crds(self.client, [crd for name, crd in originals.originals().items() if name == "appwrappers.workload.codeflare.dev"])
        run_deployment(self.client, deployment("mcad-controller", "mcad-system", {"app": "mcad-controller"}))

    def run(self, name: str) -> None:
        job = kinds.job(name, "")
        del job["metadata"]["labels"]
        job["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"  # It does not end here.
        label = {"appwrapper.mcad.ibm.com": name, "resourceName": f"{name}-resource-0"}
        made = self.client.insist("POST", WRAPPERS, {
            "apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper", "metadata": {"name": name},
            "spec": {"resources": {"GenericItems": [{"replicas": 1, "generictemplate": job}]}}})
        job["metadata"].update(labels=label, ownerReferences=[owner(made, "workload.codeflare.dev/v1beta1", "AppWrapper")])
        job["spec"]["template"]["metadata"] = {"labels": label}
        self.client.insist("POST", JOBS, job)
        until("its pod runs", lambda: self.pods(name))
        steps = [{"type": step, "status": "True", "reason": why, "lastUpdateMicroTime": "2026-01-02T03:04:05.000000Z",
                  "lastTransitionMicroTime": "2026-01-02T03:04:05.000000Z"}
                 for step, why in [("Init", ""), ("Queueing", "AwaitingHeadOfLine"), ("HeadOfLine", "FrontOfQueue."),
                                   ("Dispatched", "AppWrapperRunnable"), ("Running", "PodsRunning")]]
        self.client.insist("PATCH", f"{WRAPPERS}/{name}/status", {"status": {
            "state": "Running", "queuejobstate": "Running", "canrun": True, "filterignore": True, "isdispatched": True,
            "sender": "before ScheduleNext - setHOL", "systempriority": 9, "running": 1,
            "controllerfirsttimestamp": "2026-01-02T03:04:04.000000Z", "conditions": steps}}, PATCH)

    def ready(self) -> int:
        return ready_pods(self.client, "mcad-controller", "mcad-system")

    def get(self, name: str) -> dict:
        return self.client.insist("GET", f"{WRAPPERS}/{name}")

    def pods(self, name: str) -> list[str]:
        return [pod["metadata"]["uid"] for pod in self.client.insist("GET", f"{PODS}?labelSelector=job-name={name}")["items"]
                if pod["status"]["phase"] == "Running"]
