# test/kube/test_webhooks.py - the operator's webhooks on the real Kubernetes, beside `muster up` with the same objects.
import base64
import datetime
import http.client
import json
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading

import pytest
import yaml

import kinds
from certificates import Authority, key_text
from client import await_account
from cluster import free_ports, kubectl
from conftest import MUSTER, until
from test_operator import Operator, Team

KUEUE = kinds.KUEUE
MERGE = "application/merge-patch+json"
SECRET = "/api/v1/namespaces/muster-system/secrets/muster-webhook-server-cert"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"


@pytest.fixture(scope="module")
def operator(cluster):
    """An operator whose webhooks the API server reaches on loopback; afterwards nobody asks it any more."""
    for group in (KUEUE, "ray.io", "workload.codeflare.dev", "mcad.ibm.com"):
        kinds.install(cluster, kinds.crds(group))
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "muster-system"}})
    port = free_ports(1)[0]
    running = Operator(cluster, "--webhook-url", f"https://127.0.0.1:{port}", "--webhook-listen", f"127.0.0.1:{port}")
    running.port = port
    try:
        running.start().wait_ready()
        until("its webhooks are asked", lambda: cluster.request(
            "POST", JOBS.format(ns="default") + "?dryRun=All", kinds.job("asked", "Not_A_Name"))[0] == 403)
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
        print(running.log.read_text()[-6000:])
        for kind in ("mutating", "validating"):
            cluster.request("DELETE", f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/"
                                      f"muster-{kind}-webhook-configuration")


class Up:
    """`muster up`, asked as the cluster is."""

    def __init__(self, folder: pathlib.Path):
        self.kubeconfig = folder / "kubeconfig"
        self.log = (folder / "up.log").open("w")
        self.process = subprocess.Popen(
            [str(MUSTER), "up", "--data", str(folder / "state"), "--kubeconfig", str(self.kubeconfig), "--listen", "127.0.0.1:0",
             "--node", "laptop:cpu=8,memory=8Gi,pods=110"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
        said = yaml.safe_load(self.kubeconfig.read_text())
        self.client = Client(said["clusters"][0]["cluster"], said["users"][0]["user"], folder)

    def request(self, *words, **more):
        return self.client.request(*words, **more)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.log.close()


class Client:
    """JSON over HTTPS as a kubeconfig says."""

    def __init__(self, cluster: dict, user: dict, folder: pathlib.Path):
        self.host, self.port = cluster["server"].removeprefix("https://").rsplit(":", 1)
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        if "client-certificate-data" in user:
            for name in ("certificate", "key"):
                (folder / name).write_bytes(base64.b64decode(user[f"client-{name}-data"]))
                (folder / name).chmod(0o600)
            self.context.load_cert_chain(folder / "certificate", folder / "key")

    def request(self, method: str, path: str, body=None, content_type: str = "application/json"):
        connection = http.client.HTTPSConnection(self.host, int(self.port), timeout=30, context=self.context)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": content_type, **self.headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def up():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-kube-"))
    made = Up(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def job(name: str, labels: dict | None = None, annotations: dict | None = None, **spec) -> dict:
    made = kinds.job(name, "")
    made["metadata"] = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    made["spec"].update(spec)
    return made


QUEUED = {f"{KUEUE}/queue-name": "main"}
QUOTA = {"name": "cpu", "nominalQuota": "5"}


def cluster_queue(name: str, version: str = "v1beta2", quota: dict | None = None, **spec) -> dict:
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota or QUOTA]}]}]
    return {"apiVersion": f"{KUEUE}/{version}", "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": {"resourceGroups": groups, **spec}}


def workload(name: str, ns: str, *pod_sets: dict) -> dict:
    made = kinds.thing("Workload", name, spec={"queueName": "main", "podSets": list(pod_sets)})
    made["metadata"]["namespace"] = ns
    return made


def pod_set(name: str = "main", requests: dict | None = None, **more) -> dict:
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {"cpu": "1"}}}
    return {"name": name, "count": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}, **more}


def ray_cluster(name: str, labels: dict, **spec) -> dict:
    template = {"spec": {"containers": [{"name": "ray", "image": "rayproject/ray"}]}}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name, "labels": labels},
            "spec": {"headGroupSpec": {"rayStartParams": {}, "template": template}, **spec}}


def wrapper(name: str, *objects: dict) -> dict:
    return {"apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper", "metadata": {"name": name, "labels": QUEUED},
            "spec": {"resources": {"GenericItems": [{"generictemplate": one} for one in objects]}}}


def elastic(made: dict) -> dict:
    made["metadata"]["annotations"] = {f"{KUEUE}/elastic-job": "true"}
    return made


def labelled(made: dict, labels: dict) -> dict:
    made["template"]["metadata"] = {"labels": labels}
    return made


def reserved(admission: dict | None) -> dict:
    condition = {"type": "QuotaReserved", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"admission": admission, "conditions": [condition]}


RACE = {"migration": {"mode": "TryPreferredFlavors", "constraints": {"lastAcceptableFlavorName": "f"}}}
AT = f"/apis/{KUEUE}/v1beta2"
# What is posted (an update: what is there first, and what of it changes), and where.
REFUSED = {
    "a queue name that is no name": (JOBS, job("bad-queue", {f"{KUEUE}/queue-name": "Bad_Name"}), None),
    "a time limit of nothing": (JOBS, job("no-time", {**QUEUED, f"{KUEUE}/max-exec-time-seconds": "0"}), None),
    "a time limit that is no number": (JOBS, job("words", {**QUEUED, f"{KUEUE}/max-exec-time-seconds": "soon"}), None),
    "more than one fault": (JOBS, job("faults", {**QUEUED, f"{KUEUE}/max-exec-time-seconds": "0"},
                                      {f"{KUEUE}/job-min-parallelism": "x"}), None),
    "partial admission of too many": (JOBS, job("partial", QUEUED, {f"{KUEUE}/job-min-parallelism": "9"}), None),
    "completions that cannot follow": (JOBS, job("equal", QUEUED, {f"{KUEUE}/job-completions-equal-parallelism": "true"}), None),
    "a topology that is no label": (JOBS, job("place", QUEUED, template={
        "metadata": {"annotations": {f"{KUEUE}/podset-required-topology": "no label"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}), None),
    "elastic and partial": (JOBS, job("elastic", QUEUED, {
        f"{KUEUE}/elastic-job": "true", f"{KUEUE}/job-min-parallelism": "1"}, parallelism=3, completions=3), None),
    "a running job's queue": (JOBS, job("moves", suspend=False),
                              {"metadata": {"labels": {f"{KUEUE}/queue-name": "other"}}}),
    "a running job's priority class": (JOBS, job("class", suspend=False),
                                       {"metadata": {"labels": {f"{KUEUE}/priority-class": "high"}}}),
    "a running job's time limit": (JOBS, job("limit", suspend=False),
                                   {"metadata": {"labels": {f"{KUEUE}/max-exec-time-seconds": "60"}}}),
    "gates after creation": (JOBS, job("gates", QUEUED), {"metadata": {"annotations": {
        f"{KUEUE}/admission-gated-by": "example.com/later"}}}),
    "lending more than there is": (f"{AT}/clusterqueues", cluster_queue(
        "lender", quota={**QUOTA, "lendingLimit": "6"}, cohortName="team"), None),
    "quotas in the wrong order": (f"{AT}/clusterqueues", cluster_queue("order", quota={"name": "memory", "nominalQuota": "5"}), None),
    "less than no quota": (f"{AT}/clusterqueues", cluster_queue("negative", quota={"name": "cpu", "nominalQuota": "-5"}), None),
    "an update of a queue": (f"{AT}/clusterqueues", cluster_queue("later"),
                             {"spec": {"fairSharing": {"weight": "-1"}}}),
    "a cohort without parent that lends": (f"{AT}/cohorts", kinds.thing("Cohort", "lender", spec={"resourceGroups": [
        {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [{**QUOTA, "lendingLimit": "1"}]}]}]}), None),
    "a weight below nothing": (f"{AT}/namespaces/{{ns}}/localqueues", kinds.thing(
        "LocalQueue", "light", spec={"clusterQueue": "q", "fairSharing": {"weight": "-1"}}), None),
    "a flavor's label": (f"{AT}/resourceflavors", kinds.thing("ResourceFlavor", "label", spec={
        "nodeLabels": {"a b": "c"}}), None),
    "a flavor's taint": (f"{AT}/resourceflavors", kinds.thing("ResourceFlavor", "taint", spec={
        "nodeTaints": [{"key": "a b", "effect": "NoSchedule"}]}), None),
    "two pod sets that may shrink": (f"{AT}/namespaces/{{ns}}/workloads", workload(
        "two", "{ns}", pod_set("a", minCount=1), pod_set("b", minCount=1)), None),
    "an elastic workload that may be partial": (f"{AT}/namespaces/{{ns}}/workloads", elastic(workload(
        "elastic", "{ns}", pod_set(minCount=1))), None),
    "slices without a size": (f"{AT}/namespaces/{{ns}}/workloads", workload("sliced", "{ns}", pod_set(
        topologyRequest={"podSetSliceRequiredTopology": "rack"})), None),
    "pods whose label is none": (f"{AT}/namespaces/{{ns}}/workloads", workload("label", "{ns}", labelled(pod_set(), {"a": "b c"})), None),
    "an amount that pods do not share": (f"{AT}/namespaces/{{ns}}/workloads", workload("share", "{ns}", pod_set()), {
        "status": reserved({"clusterQueue": "q", "podSetAssignments": [
            {"name": "main", "count": 2, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1001m"}}]})}),
    "an admission of pods that are not there": (f"{AT}/namespaces/{{ns}}/workloads", workload("other", "{ns}", pod_set()), {
        "status": reserved({"clusterQueue": "q", "podSetAssignments": [{"name": "other", "count": 1}]})}),
    "quota without an admission": (f"{AT}/namespaces/{{ns}}/workloads", workload("bare", "{ns}", pod_set()), {"status": reserved(None)}),
    "a cluster that nobody nominated": (f"{AT}/namespaces/{{ns}}/workloads", workload("far", "{ns}", pod_set()), {
        "status": {"clusterName": "far"}}),
    "how admissions compete": (f"{AT}/clusterqueues", cluster_queue("competes", concurrentAdmissionPolicy=RACE), {
        "spec": {"concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirstAdmission"}}}}),
    "a check on a flavor that the queue has not": (f"{AT}/clusterqueues", cluster_queue("checked", admissionChecksStrategy={
        "admissionChecks": [{"name": "check", "onFlavors": ["f", "other"]}]}), None),
    "the resource pods": (f"{AT}/namespaces/{{ns}}/workloads", workload("pods", "{ns}", pod_set(requests={"pods": "1"})), None),
    "a cluster with too many groups": ("/apis/ray.io/v1/namespaces/{ns}/rayclusters", ray_cluster(
        "scaled", QUEUED, enableInTreeAutoscaling=True), None),
    "a Ray job in somebody's cluster": ("/apis/ray.io/v1/namespaces/{ns}/rayjobs", {
        "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "there", "labels": QUEUED},
        "spec": {"entrypoint": "x", "clusterSelector": {"ray.io/cluster": "c"}, "rayClusterSpec": ray_cluster("c", {})["spec"]}},
                                        None),
    "a Ray job without a cluster": ("/apis/ray.io/v1/namespaces/{ns}/rayjobs", {
        "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "nowhere", "labels": QUEUED},
        "spec": {"entrypoint": "x"}}, None),
    "a wrapper in a wrapper": ("/apis/workload.codeflare.dev/v1beta1/namespaces/{ns}/appwrappers",
                               wrapper("outer", wrapper("inner")), None),
    "a wrapper of something unknown": ("/apis/workload.codeflare.dev/v1beta1/namespaces/{ns}/appwrappers",
                                       wrapper("unknown", {"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "x"}}), None),
    "a queued StatefulSet that grows": ("/apis/apps/v1/namespaces/{ns}/statefulsets", {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "set", "labels": QUEUED},
        "spec": {"serviceName": "s", "replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}},
        {"spec": {"replicas": 2}}),
    "half a pod group": ("/api/v1/namespaces/{ns}/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "half", "labels": {**QUEUED, f"{KUEUE}/pod-group-name": "g"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}, None),
}


def answer_of(server, ns: str, path: str, body: dict, change: dict | None) -> dict:
    """What the server says at last, without what is of one time and place."""
    path, body = (json.loads(json.dumps(one).replace("{ns}", ns)) for one in (path, body))
    status, said = server.request("POST", path, body)
    if change is not None:
        assert status == 201, said
        at = f"{path}/{body['metadata']['name']}{'/status' if 'status' in change else ''}"
        status, said = server.request("PATCH", at, change, MERGE)
    return {"status": status, **{field: said.get(field) for field in ("message", "reason", "code", "details")}}


@pytest.fixture(scope="module")
def ns(operator, cluster, up):
    """A namespace of one name on both servers."""
    for server in (cluster, up):
        assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "both"}})[0] == 201
    await_account(cluster.request, "both")
    return "both"


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_are_those_of_muster_up(cluster, up, ns, what):
    on_cluster, embedded = (answer_of(server, ns, *REFUSED[what]) for server in (cluster, up))
    assert on_cluster["status"] == 403, on_cluster
    assert on_cluster["message"].startswith("admission webhook ")
    assert on_cluster == embedded


def test_what_a_queue_keeps_and_nobody_obeys_is_told_on_both_servers(operator, cluster, up):
    body = cluster_queue("kept", concurrentAdmissionPolicy=RACE)
    told = ("spec.concurrentAdmissionPolicy is kept, but this version of Muster does not obey it: each workload is tried as one in the "
            "flavors' order, not in several flavors at once, and does not move to another flavor once it is admitted")
    for server in (cluster, up):
        done = subprocess.run([kubectl(), "--kubeconfig", str(server.kubeconfig), "create", "-f", "-"], input=json.dumps(body),
                              capture_output=True, text=True, check=True, timeout=60)
        assert f"Warning: {told}" in done.stderr.splitlines()
        held = {"spec": {"stopPolicy": "Hold"}}
        status, changed = server.request("PATCH", f"{AT}/clusterqueues/kept", held, MERGE)
        assert status == 200 and changed["spec"]["concurrentAdmissionPolicy"] == RACE
        assert "concurrentAdmissionPolicy" not in server.request("GET", f"/apis/{KUEUE}/v1beta1/clusterqueues/kept")[1]["spec"]


def test_other_clusters_are_kept_in_both_forms_on_both_servers(operator, cluster, up):
    old, new = (f"/apis/{KUEUE}/{version}/multikueueclusters" for version in ("v1beta1", "v1beta2"))
    for server in (cluster, up):
        made = {"apiVersion": f"{KUEUE}/v1beta1", "kind": "MultiKueueCluster", "metadata": {"name": "far"},
                "spec": {"kubeConfig": {"location": "far-away"}}}
        status, said = server.request("POST", old, made)
        assert status == 201 and said["spec"] == {"kubeConfig": {"location": "far-away", "locationType": "Secret"}}, said
        source = {"kubeConfig": {"location": "far-away", "locationType": "Secret"}}
        assert server.request("GET", f"{new}/far")[1]["spec"] == {"clusterSource": source}
        profile = {"spec": {"clusterSource": {"kubeConfig": None, "clusterProfileRef": {"name": "p"}}}}
        assert server.request("PATCH", f"{new}/far", profile, MERGE)[0] == 200
        assert server.request("GET", f"{old}/far")[1]["spec"] == {
            "kubeConfig": {"location": "", "locationType": ""}, "clusterProfileRef": {"name": "p"}}
        both = {"spec": {"clusterSource": {"kubeConfig": {"location": "x"}}}}
        assert server.request("PATCH", f"{new}/far", both, MERGE)[0] == 422


def test_a_queued_job_is_made_suspended_and_then_runs(operator, cluster):
    team = Team(cluster, cpu="3")
    made = team.post(f"/apis/batch/v1/namespaces/{team.name}/jobs", kinds.job("train", team.name))
    assert made["spec"]["suspend"] is True
    until("it runs", lambda: team.runs("train"))
    assert team.post(JOBS.format(ns=team.name), job("free"))["spec"]["suspend"] is False


def test_a_job_without_queue_goes_to_the_default_one(operator, cluster):
    team = Team(cluster, cpu="3")
    team.post(f"{AT}/namespaces/{team.name}/localqueues", kinds.thing("LocalQueue", "default", spec={"clusterQueue": team.name}))

    def is_labelled() -> bool:
        status, made = cluster.request("POST", JOBS.format(ns=team.name) + "?dryRun=All", job("anyone"))
        assert status == 201, made
        return made["metadata"]["labels"].get(f"{KUEUE}/queue-name") == "default" and made["spec"]["suspend"]

    until("the webhook has seen the queue", is_labelled)
    assert cluster.request("GET", JOBS.format(ns=team.name) + "/anyone")[0] == 404


def test_namespaces_of_the_system_are_left_alone(operator, cluster):
    for ns in ("kube-system", "muster-system"):
        made = cluster.request("POST", JOBS.format(ns=ns) + "?dryRun=All", kinds.job("mine", "Not_A_Name"))[1]
        assert made["spec"]["suspend"] is False, made


def test_both_versions_of_an_object_are_read_as_they_were_written(operator, cluster):
    old, new = (f"/apis/{KUEUE}/{version}/clusterqueues" for version in ("v1beta1", "v1beta2"))
    written = cluster_queue("versions", "v1beta1", cohort="team", admissionChecks=["check"],
                            flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "TryNextFlavor"})
    status, made = cluster.request("POST", old, written)
    assert status == 201, made
    assert made["spec"]["cohort"] == "team"
    read = cluster.request("GET", f"{new}/versions")[1]["spec"]
    assert read["cohortName"] == "team" and "cohort" not in read
    assert read["admissionChecksStrategy"] == {"admissionChecks": [{"name": "check"}]}
    assert read["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"
    status, changed = cluster.request("PATCH", f"{new}/versions", {"spec": {"cohortName": "other"}}, MERGE)
    assert status == 200, changed
    listed = cluster.request("GET", old)[1]["items"]
    assert next(one for one in listed if one["metadata"]["name"] == "versions")["spec"]["cohort"] == "other"
    # A rule that names flavors has no place in the old form's list of names.
    assert cluster.request("DELETE", f"{old}/versions")[0] == 200


def test_places_of_a_workload_are_compressed_and_expanded(operator, cluster):
    """Written as finished, and into a queue that is not there: the operator takes back places in a flavor without topology."""
    team = Team(cluster, cpu="3")
    nobodys = workload("placed", team.name, pod_set())
    nobodys["spec"]["queueName"] = "nobodys"
    team.post(f"{AT}/namespaces/{team.name}/workloads", nobodys)
    slices = {"levels": ["kubernetes.io/hostname"], "slices": [{
        "domainCount": 2, "valuesPerLevel": [{"individual": {"prefix": "node-", "roots": ["1", "2"]}}],
        "podCounts": {"universal": 1}}]}
    admission = {"clusterQueue": team.name, "podSetAssignments": [{
        "name": "main", "count": 2, "flavors": {"cpu": team.name}, "resourceUsage": {"cpu": "2"}, "topologyAssignment": slices}]}
    now = "2026-01-01T00:00:00Z"
    conditions = [{"type": one, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": now}
                  for one in ("QuotaReserved", "Finished")]
    status, said = cluster.request("PATCH", f"{AT}/namespaces/{team.name}/workloads/placed/status",
                                   {"status": {"admission": admission, "conditions": conditions}}, MERGE)
    assert status == 200, said
    old = cluster.request("GET", f"/apis/{KUEUE}/v1beta1/namespaces/{team.name}/workloads/placed")[1]
    places = old["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    assert places == {"levels": ["kubernetes.io/hostname"], "domains": [
        {"values": ["node-1"], "count": 1}, {"values": ["node-2"], "count": 1}]}


def keys(cluster) -> dict[str, str]:
    return {name: base64.b64decode(text).decode() for name, text in cluster.request("GET", SECRET)[1]["data"].items()}


def put_keys(cluster, some: dict[str, str]) -> None:
    data = {name: base64.b64encode(text.encode()).decode() for name, text in some.items()}
    status, said = cluster.request("PATCH", SECRET, {"data": data}, MERGE)
    assert status == 200, said


def presented(operator) -> str:
    return ssl.get_server_certificate(("127.0.0.1", operator.port))


def believed(cluster) -> set[str]:
    """The authorities whom the API server is told to believe."""
    at = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/muster-validating-webhook-configuration"
    bundle = cluster.request("GET", at)[1]["webhooks"][0]["clientConfig"]["caBundle"]
    return set(base64.b64decode(bundle).decode().split("-----BEGIN CERTIFICATE-----\n")[1:])


def test_the_certificate_is_renewed_while_jobs_are_made_and_none_is_refused(operator, cluster):
    team = Team(cluster, cpu="100")
    before = keys(cluster)
    stop, made, refused = threading.Event(), [], []

    def make_jobs() -> None:
        while not stop.is_set():
            status, said = cluster.request("POST", JOBS.format(ns=team.name) + "?dryRun=All", kinds.job("train", team.name))
            (made if status == 201 and said["spec"]["suspend"] else refused).append(said)

    maker = threading.Thread(target=make_jobs)
    maker.start()
    try:
        authority = Authority.of(before["ca.crt"], before["ca.key"])
        names = ["127.0.0.1", *(f"muster-webhook-service.muster-system.svc{more}" for more in ("", ".cluster.local"))]
        certificate, key = authority.issue("ending", also=names, life=datetime.timedelta(days=20))
        put_keys(cluster, {"tls.crt": certificate, "tls.key": key})
        until("it is replaced", lambda: keys(cluster)["tls.crt"] not in (certificate, before["tls.crt"]))
        until("it is shown", lambda: presented(operator) == keys(cluster)["tls.crt"])
        # An authority near its end: the new one is believed beside it before it signs.
        old = Authority("muster-webhooks")
        certificate, key = old.issue("serving", also=names)
        put_keys(cluster, {"ca.crt": old.pem + before["ca.crt"], "ca.key": key_text(old.key)})
        until("both are believed", lambda: len(believed(cluster)) == 3)
        seen = len(made)
        until("a hundred more are made", lambda: len(made) > seen + 100 or refused)
    finally:
        stop.set()
        maker.join()
    assert made and not refused, refused[:3]


def test_without_its_operator_the_cluster_makes_no_jobs_but_goes_on(operator, cluster):
    team = Team(cluster, cpu="3")
    team.submit("before")
    until("it runs", lambda: team.runs("before"))
    operator.stop()
    status, said = cluster.request("POST", JOBS.format(ns=team.name), kinds.job("now", team.name))
    assert status == 500 and "failed calling webhook" in said["message"], said
    # What is not queued, and what is of the system, needs nobody.
    pod = {"metadata": {"name": "free"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert cluster.request("POST", f"/api/v1/namespaces/{team.name}/pods?dryRun=All", pod)[0] == 201
    assert cluster.request("POST", JOBS.format(ns="kube-system") + "?dryRun=All", job("system"))[0] == 201
    assert cluster.request("GET", f"{AT}/clusterqueues")[0] == 200
    operator.start().wait_ready()
    team.submit("after")
    until("it runs", lambda: team.runs("after"))


def test_what_somebody_breaks_is_put_right(operator, cluster):
    at = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/muster-mutating-webhook-configuration"
    whole = cluster.request("GET", at)[1]["webhooks"]
    assert cluster.request("PATCH", at, {"metadata": {"labels": {"mine": "yes"}}, "webhooks": []}, MERGE)[0] == 200
    until("the webhooks are back", lambda: cluster.request("GET", at)[1].get("webhooks") == whole)
    assert cluster.request("GET", at)[1]["metadata"]["labels"] == {"mine": "yes"}
    assert cluster.request("DELETE", at)[0] == 200
    until("the configuration is back", lambda: cluster.request("GET", at)[1].get("webhooks") == whole)
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cohorts.kueue.x-k8s.io"
    conversion = cluster.request("GET", crd)[1]["spec"]["conversion"]
    broken = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}}
    assert cluster.request("PATCH", crd, broken, MERGE)[0] == 200
    until("the authority is back", lambda: cluster.request("GET", crd)[1]["spec"]["conversion"] == conversion)
