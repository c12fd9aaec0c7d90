# test/kube/test_rights.py - what `muster rbac` prints is enough for all that the operator does, and no more: the API server's
# audit log of a whole story is compared with it.
import http.client
import ssl
import time

import pytest

import access
import kinds
import wrappable
from conftest import until
from outside import PATCH, is_true
from place import JOBS, WORKLOADS, Place, opened

RAY = "/apis/ray.io/v1/namespaces/default"
QUEUES = f"/apis/{kinds.KUEUE}/v1beta2"
OF_JOB = "ray.io/originated-from-cr-name="
PODS = "/api/v1/namespaces/default/pods"
# What the story does not do, by (group, resource): verbs, and when it is needed.
UNUSED = {
    ("", "secrets"): ({"update"}, "certificates are renewed: test_webhooks.py, with these rights"),
    ("batch", "jobs/status"): ({"patch"}, "the start time of one that waits again, when its own controller has left it there"),
}


def test_rights_are_named_after_what_is_installed():
    items = access.printed("--install-namespace", "kueue-system", "--prefix", "kueue")
    names = {(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace", "")) for item in items}
    assert {("ServiceAccount", "kueue-operator", "kueue-system"), ("Role", "kueue-operator", "kueue-system"),
            ("ClusterRole", "kueue-batch-admin-role", ""), ("ClusterRole", "kueue-batch-user-role", ""),
            ("ClusterRole", "kueue-localqueue-viewer-role", "")} <= names
    wildcards = [item["metadata"]["name"] for item in items for rule in item.get("rules", [])
                 if "*" in rule["verbs"] + rule.get("resources", []) + rule.get("apiGroups", [])]
    assert wildcards == []


class StrictPlace(Place):
    """Where only those make owned things who may say when the owner goes."""

    server_flags = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]


@pytest.fixture(scope="module")
def place():
    with opened(StrictPlace) as made:
        made.type("helm install muster deploy/helm/muster --namespace muster-system --create-namespace --wait "
                  "--set config.objectRetentionPolicies.workloads.afterDeactivatedByKueue=1s "
                  """--set-json 'config.fairSharing={"preemptionStrategies":["LessThanOrEqualToFinalShare"]}'""")
        made.type("kubectl apply -f deploy/samples/first-queue.yaml")
        made.type("kubectl wait --for=condition=Active clusterqueue/first-queue")
        yield made


def scrape(place) -> int:
    """Of /metrics, by somebody who may."""
    port = next(iter(place.kubelet.operators.values())).ports["metrics"]
    account = {"metadata": {"name": "scraper", "namespace": access.NAMESPACE}}
    place.client.insist("POST", f"/api/v1/namespaces/{access.NAMESPACE}/serviceaccounts", account)
    place.client.insist("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "scraper"}, "subjects": [{"kind": "ServiceAccount", **account["metadata"]}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "muster-metrics-reader"}})
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {access.token(place.cluster, 'scraper')}"})
    return connection.getresponse().status


def jobs_come_and_go(place) -> None:
    place.make_job("ends")
    until("it is finished", lambda: is_true(place.workload_of("ends"), "Finished"))
    make_queue_of_places(place)
    place.make_job("stopped", queue="placed")
    for _ in range(2):  # The second time the same is said.
        place.keep_running("stopped")
        until("its cohort tells its share", lambda: place.get(f"{QUEUES}/cohorts/them").get("status", {}).get("fairSharing"))
        workload = f"{WORKLOADS}/{place.workload_of('stopped')['metadata']['name']}"
        place.client.insist("PATCH", workload, {"spec": {"active": False}}, PATCH)
        until("it has stopped", lambda: place.get(f"{JOBS}/stopped")["spec"]["suspend"] and not place.pods_of("stopped"))
        until("its pods are as it wants them", lambda: "nodeSelector" not in place.get(f"{JOBS}/stopped")["spec"]["template"]["spec"])
        place.client.insist("PATCH", workload, {"spec": {"active": True}}, PATCH)
    place.client.insist("DELETE", f"{JOBS}/stopped?propagationPolicy=Background")
    until("nothing of it is left", lambda: not place.workload_of("stopped"))
    for path in ("clusterqueues/placed", "admissionchecks/looked-at", "resourceflavors/placed", "cohorts/them"):
        place.client.insist("DELETE", f"{QUEUES}/{path}")
        until(f"{path} is let go", lambda path=path: place.client.ask("GET", f"{QUEUES}/{path}")[0] == 404)


def make_queue_of_places(place) -> None:
    """With all that queues may refer to."""
    place.client.insist("POST", f"{QUEUES}/cohorts", kinds.thing("Cohort", "them"))
    place.client.insist("POST", f"{QUEUES}/admissionchecks", kinds.thing("AdmissionCheck", "looked-at", spec={"controllerName": "a/b"}))
    place.client.insist("POST", f"{QUEUES}/resourceflavors", kinds.thing(
        "ResourceFlavor", "placed", spec={"nodeLabels": {"kubernetes.io/hostname": place.kubelet.name}}))
    amounts = [{"name": "cpu", "nominalQuota": "2"}, {"name": "memory", "nominalQuota": "1Gi"}]
    place.client.insist("POST", f"{QUEUES}/clusterqueues", kinds.thing("ClusterQueue", "placed", spec={
        "cohortName": "them", "namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["cpu", "memory"], "flavors": [{"name": "placed", "resources": amounts}]}]}))
    place.client.insist("POST", f"{QUEUES}/clusterqueues", kinds.thing("ClusterQueue", "looked-at", spec={
        "admissionChecksStrategy": {"admissionChecks": [{"name": "looked-at"}]}}))
    place.client.insist("POST", f"{QUEUES}/namespaces/default/localqueues", kinds.thing("LocalQueue", "placed", spec={"clusterQueue": "placed"}))
    until("the check is in use", lambda: place.get(f"{QUEUES}/admissionchecks/looked-at")["metadata"].get("finalizers"))
    place.client.insist("DELETE", f"{QUEUES}/clusterqueues/looked-at")


def pods_come_and_go(place) -> None:
    pod = {"metadata": {"name": "alone", "labels": {f"{kinds.KUEUE}/queue-name": "first-queue"}},
           "spec": kinds.job("alone", "first-queue")["spec"]["template"]["spec"]}
    pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Mi"
    place.kubelet.forever.add("alone")
    place.client.insist("POST", PODS, pod)
    until("it runs", lambda: place.get(f"{PODS}/alone")["status"]["phase"] == "Running")
    workload = place.workload_of("alone")
    place.client.insist("PATCH", f"{WORKLOADS}/{workload['metadata']['name']}", {"spec": {"active": False}}, PATCH)
    until("it is gone", lambda: place.client.ask("GET", f"{PODS}/alone")[0] == 404)


def ray_spec(workers: int) -> dict:
    def template(name: str) -> dict:
        return {"spec": {"containers": [{"name": name, "image": "rayproject/ray:2.52.0",
                                         "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}]}}
    return {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": template("head")}, "workerGroupSpecs": [{
        "groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 5, "rayStartParams": {},
        "template": template("worker")}]}


def ray_comes_and_goes(place) -> None:
    labels = {f"{kinds.KUEUE}/queue-name": "first-queue"}

    def pods(name: str) -> int:
        return len([pod for pod in place.get(f"{PODS}?labelSelector=ray.io/cluster={name}")["items"]
                    if "deletionTimestamp" not in pod["metadata"]])
    place.client.insist("POST", f"{RAY}/rayclusters", {
        "apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray", "labels": labels},
        "spec": {**ray_spec(1), "authOptions": {"mode": "token"}}})
    until("it has its pods", lambda: pods("ray") == 2)
    place.client.insist("POST", f"{RAY}/rayjobs", {
        "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "job", "labels": labels},
        "spec": {"entrypoint": "true", "shutdownAfterJobFinishes": True, "rayClusterSpec": ray_spec(1)}})
    until("the job has its cluster", lambda: place.get(f"{RAY}/rayjobs/job").get("status", {}).get("rayClusterName"))
    until("the cluster has its pods", lambda: pods(place.get(f"{RAY}/rayjobs/job")["status"]["rayClusterName"]) == 2)
    for kind, name in [("rayclusters", "ray"), ("rayjobs", "job")]:
        workload = place.workload_of(name)
        place.client.insist("PATCH", f"{WORKLOADS}/{workload['metadata']['name']}", {"spec": {"active": False}}, PATCH)
        until(f"{name} is suspended", lambda kind=kind, name=name: place.get(f"{RAY}/{kind}/{name}")["spec"].get("suspend"))
    until("the pods are gone", lambda: pods("ray") == 0)
    until("the cluster of the job is gone", lambda: not place.get(f"{RAY}/rayclusters?labelSelector={OF_JOB}job")["items"])
    for kind, name in [("rayclusters", "ray"), ("rayjobs", "job")]:
        place.client.insist("DELETE", f"{RAY}/{kind}/{name}?propagationPolicy=Background")


def wrappers_come_and_go(place, group: str) -> None:
    path = f"/apis/{group}/v1beta1/namespaces/default/appwrappers"
    name = group.split(".")[0]
    inner = kinds.job(f"{name}-inner", "")
    del inner["metadata"]["labels"]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-config"}, "data": {"a": "b"}}
    place.client.insist("POST", path, {
        "apiVersion": f"{group}/v1beta1", "kind": "AppWrapper", "metadata": {"name": name},
        "spec": {"resources": {"GenericItems": [{"generictemplate": config}, {"generictemplate": inner, "completionstatus": "Complete"}]}}})
    until("it is over", lambda: place.get(f"{path}/{name}").get("status", {}).get("state") == "Completed")
    place.client.insist("DELETE", f"{path}/{name}")
    until("it is gone with what it wrapped", lambda: place.client.ask(
        "GET", f"/api/v1/namespaces/default/configmaps/{name}-config")[0] == 404)


def jobs_of_others_come_and_go(place) -> None:
    """Each starts, has used up its time and is stopped; who waits too long after that is removed. AppWrappers too."""
    labels = {f"{kinds.KUEUE}/queue-name": "first-queue", f"{kinds.KUEUE}/max-exec-time-seconds": "1"}
    made = [wrappable.job(version, kind, "short", labels) for version, kind in wrappable.JOBS]
    for group in ("workload.codeflare.dev", "mcad.ibm.com"):
        made.append({"apiVersion": f"{group}/v1beta1", "kind": "AppWrapper", "metadata": {"name": group, "labels": labels}, "spec": {
            "resources": {"GenericItems": [{"generictemplate": wrappable.job("kubeflow.org/v1", "TFJob", group.split(".")[0], {})}]}}})
    place.client.insist("POST", wrappable.path_of("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"), wrappable.runtime("plain"))
    for each in made:
        place.client.insist("POST", wrappable.path_of(each["apiVersion"], each["kind"]), each)
    for each in made:
        path = f"{wrappable.path_of(each['apiVersion'], each['kind'])}/{each['metadata']['name']}"
        until(f"{each['kind']} is removed", lambda path=path: place.client.ask("GET", path)[0] == 404)


def all_kinds_are_wrapped(place) -> None:
    path = "/apis/workload.codeflare.dev/v1beta1/namespaces/default/appwrappers"
    ray = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "one"}, "spec": {
        "entrypoint": "true", "suspend": True, "shutdownAfterJobFinishes": True, "rayClusterSpec": ray_spec(0)}}
    parts = {"jobs": wrappable.jobs() + [ray], "things": wrappable.things()}
    for name, items in parts.items():
        place.client.insist("POST", path, {
            "apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper", "metadata": {"name": name},
            "spec": {"resources": {"GenericItems": [{"generictemplate": each} for each in items]}}})
    for name, items in parts.items():
        made = [f"{wrappable.path_of(each['apiVersion'], each['kind'])}/one" for each in items]
        try:
            until("all are made", lambda made=made: all(place.client.ask("GET", each)[0] == 200 for each in made))
        finally:
            print(name, place.get(f"{path}/{name}").get("status"))
        place.client.insist("DELETE", f"{path}/{name}")
        # What has dependents goes when the garbage collector has heard of its kind.
        until("it is gone", lambda name=name: place.client.ask("GET", f"{path}/{name}")[0] == 404, 180)


def a_ray_job_keeps_the_head_of_its_cluster(place) -> None:
    """It has no time at all, and its workers go."""
    place.client.insist("POST", f"{RAY}/rayjobs", {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "late"}, "spec": {
        "entrypoint": "true", "activeDeadlineSeconds": 2, "rayClusterSpec": ray_spec(1), "deletionStrategy": {"deletionRules": [
            {"policy": "DeleteWorkers", "condition": {"jobDeploymentStatus": "Failed", "ttlSeconds": 0}}]}}})
    until("its workers are suspended", lambda: any(each["spec"]["workerGroupSpecs"][0].get("suspend")
                                                   for each in place.get(f"{RAY}/rayclusters?labelSelector={OF_JOB}late")["items"]))
    place.client.insist("DELETE", f"{RAY}/rayjobs/late?propagationPolicy=Background")


def somebody_changes_the_configurations(place) -> None:
    for kind in ("mutating", "validating"):
        path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/muster-{kind}-webhook-configuration"
        whole = place.get(path)["webhooks"]
        place.client.insist("PATCH", path, {"webhooks": []}, PATCH)
        until("it is put right", lambda path=path, whole=whole: place.get(path).get("webhooks") == whole)


def granted() -> set[tuple[str, str, str]]:
    roles = [item for item in access.printed() if item["kind"] in ("ClusterRole", "Role") and item["metadata"]["name"] == access.ACCOUNT]
    return {(group, resource, verb) for role in roles for rule in role["rules"] for group in rule.get("apiGroups", [])
            for resource in rule.get("resources", []) for verb in rule["verbs"]}


def right_of(request: dict) -> tuple[str, str, str]:
    about = request["objectRef"]
    sub = about.get("subresource", "")
    return about.get("apiGroup", ""), about["resource"] + (f"/{sub}" if sub else ""), request["verb"]


def test_the_rights_are_enough_and_not_too_many(place):
    kinds.install(place.cluster, wrappable.definitions())
    jobs_come_and_go(place)
    pods_come_and_go(place)
    ray_comes_and_goes(place)
    a_ray_job_keeps_the_head_of_its_cluster(place)
    wrappers_come_and_go(place, "workload.codeflare.dev")
    wrappers_come_and_go(place, "mcad.ibm.com")
    jobs_of_others_come_and_go(place)
    all_kinds_are_wrapped(place)
    somebody_changes_the_configurations(place)
    until("metrics are told", lambda: scrape(place) == 200)
    place.type("kubectl delete -f deploy/samples/first-queue.yaml --wait=false")
    time.sleep(2)
    assert access.refused(place.cluster.folder) == set()
    used = {right_of(each) for each in place.asked() if "objectRef" in each}
    unused = {(group, resource, verb) for group, resource, verb in granted() - used
              if not (verb == "get" and (group, resource, "watch") in used)  # Read again after a conflict.
              and not resource.endswith("/finalizers")  # No request names it: a plugin asks (StrictPlace).
              and verb not in UNUSED.get((group, resource), ((), ""))[0]}
    assert not unused, sorted(unused)
    assert place.kubelet.restarts == 0
