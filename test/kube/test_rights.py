# test/kube/test_rights.py - what `muster rbac` prints is enough for all that the operator does, and no more: the API server's
# audit log of a whole story is compared with it.
import http.client
import ssl
import time

import pytest

import access
import kinds
from conftest import until
from outside import PATCH, is_true
from place import JOBS, WORKLOADS, opened

RAY = "/apis/ray.io/v1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"
GUESTS = [("jobset.x-k8s.io", "jobsets"), ("sparkoperator.k8s.io", "sparkapplications"), ("trainer.kubeflow.org", "trainjobs")] + [
    ("kubeflow.org", f"{kind}jobs") for kind in ("jax", "mpi", "paddle", "pytorch", "tf", "xgboost")]
# What the story does not do, by (group, resource): verbs, and when it is needed.
UNUSED = {
    ("", "events"): ({"patch"}, "the same again"),
    ("", "secrets"): ({"update"}, "certificates are renewed"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): ({"update"}, "somebody has changed it"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): ({"update"}, "somebody has changed it"),
    ("batch", "jobs/status"): ({"patch"}, "the start time of one that waits again"),
    ("coordination.k8s.io", "leases"): ({"watch"}, "there is a second operator (test_operator_leader.py)"),
    ("kueue.x-k8s.io", "admissionchecks"): ({"patch"}, "its finalizer, while it is in use"),
    ("kueue.x-k8s.io", "cohorts/status"): ({"patch"}, "there are cohorts"),
    ("ray.io", "rayclusters"): ({"update"}, "an elastic RayJob changes its cluster"),
    ("mcad.ibm.com", "appwrappers"): ({"delete"}, "those of nobody's Workload are removed"),
    ("workload.codeflare.dev", "appwrappers"): ({"delete"}, "those of nobody's Workload are removed"),
    **{(group, resource): ({"patch", "delete"}, "a kind that this server does not have") for group, resource in GUESTS},
}
# What an AppWrapper may wrap is made and deleted by it; the story wraps some.
WRAPPED_VERBS = {"create", "delete"}


def test_rights_are_named_after_what_is_installed():
    items = access.printed("--install-namespace", "kueue-system", "--prefix", "kueue")
    names = {(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace", "")) for item in items}
    assert {("ServiceAccount", "kueue-operator", "kueue-system"), ("Role", "kueue-operator", "kueue-system"),
            ("ClusterRole", "kueue-batch-admin-role", ""), ("ClusterRole", "kueue-batch-user-role", ""),
            ("ClusterRole", "kueue-localqueue-viewer-role", "")} <= names
    wildcards = [item["metadata"]["name"] for item in items for rule in item.get("rules", [])
                 if "*" in rule["verbs"] + rule.get("resources", []) + rule.get("apiGroups", [])]
    assert wildcards == []


@pytest.fixture(scope="module")
def place():
    with opened() as made:
        made.type("helm install muster deploy/helm/muster --namespace muster-system --create-namespace --wait --set replicas=1")
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
    place.make_job("stopped")
    place.keep_running("stopped")
    workload = f"{WORKLOADS}/{place.workload_of('stopped')['metadata']['name']}"
    place.client.insist("PATCH", workload, {"spec": {"active": False}}, PATCH)
    until("it has stopped", lambda: place.get(f"{JOBS}/stopped")["spec"]["suspend"] and not place.pods_of("stopped"))
    place.client.insist("DELETE", f"{JOBS}/stopped?propagationPolicy=Background")


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


def granted() -> set[tuple[str, str, str]]:
    roles = [item for item in access.printed() if item["kind"] in ("ClusterRole", "Role") and item["metadata"]["name"] == access.ACCOUNT]
    return {(group, resource, verb) for role in roles for rule in role["rules"] for group in rule.get("apiGroups", [])
            for resource in rule.get("resources", []) for verb in rule["verbs"]}


def right_of(request: dict) -> tuple[str, str, str]:
    about = request["objectRef"]
    sub = about.get("subresource", "")
    return about.get("apiGroup", ""), about["resource"] + (f"/{sub}" if sub else ""), request["verb"]


def test_the_rights_are_enough_and_not_too_many(place):
    jobs_come_and_go(place)
    pods_come_and_go(place)
    ray_comes_and_goes(place)
    wrappers_come_and_go(place, "workload.codeflare.dev")
    wrappers_come_and_go(place, "mcad.ibm.com")
    until("metrics are told", lambda: scrape(place) == 200)
    place.type("kubectl delete -f deploy/samples/first-queue.yaml --wait=false")
    time.sleep(2)
    asked = [each for each in place.asked() if "objectRef" in each]
    refused = {(*right_of(each), each["responseStatus"]["message"]) for each in asked
               if each.get("responseStatus", {}).get("code") in (401, 403)}
    assert refused == set()
    used = {right_of(each) for each in asked}
    assert len(used) > 60, used
    wrapped = {(group, resource) for group, resource, verb in granted() if verb == "create"}
    unused = {(group, resource, verb) for group, resource, verb in granted() - used
              if not (verb == "get" and (group, resource, "watch") in used)  # Read again after a conflict.
              and not resource.endswith("/finalizers")  # Where owners are checked (OwnerReferencesPermissionEnforcement).
              and not (verb in WRAPPED_VERBS and (group, resource) in wrapped)
              and verb not in UNUSED.get((group, resource), ((), ""))[0]}
    assert sorted(unused) == []
    assert place.kubelet.restarts == 0
