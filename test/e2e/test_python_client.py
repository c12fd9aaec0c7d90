# test/e2e/test_python_client.py - the published Python client, unmodified: typed, custom and dynamic, watches and streams.
import threading

import kubernetes
import pytest
from kubernetes import client, dynamic, watch
from kubernetes.stream import portforward, stream

from conftest import QUEUES, job


@pytest.fixture(scope="module")
def api(either):
    either.apply(QUEUES)
    kubernetes.config.load_kube_config(str(either.kubeconfig))
    return either


def pod(name: str, command: list[str]) -> dict:
    return {"metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "containers": [
        {"name": "main", "image": "python", "command": command}]}}


@pytest.fixture(scope="module")
def sleeper(api):
    core = client.CoreV1Api()
    core.create_namespaced_pod("sandbox", pod("sleeper", ["sh", "-c", "echo awake; exec python3 -m http.server 8000 -d /usr/share/common-licenses"]))
    api.until("the pod runs", lambda: core.read_namespaced_pod("sleeper", "sandbox").status.phase == "Running")
    return "sleeper"


def test_built_in_kinds(api):
    core = client.CoreV1Api()
    core.create_namespaced_config_map("sandbox", {"metadata": {"name": "c", "labels": {"a": "b"}}, "data": {"k": "v"}})
    assert core.read_namespaced_config_map("c", "sandbox").data == {"k": "v"}
    core.patch_namespaced_config_map("c", "sandbox", {"data": {"k2": "v2"}})
    assert core.list_namespaced_config_map("sandbox", label_selector="a=b").items[0].data == {"k": "v", "k2": "v2"}
    read = core.read_namespaced_config_map("c", "sandbox")
    read.data = {"k3": "v3"}
    assert core.replace_namespaced_config_map("c", "sandbox", read).data == {"k3": "v3"}
    with pytest.raises(client.ApiException) as stale:
        core.replace_namespaced_config_map("c", "sandbox", read)
    assert stale.value.status == 409
    with pytest.raises(client.ApiException) as missing:
        core.read_namespaced_config_map("nothing", "sandbox")
    assert missing.value.status == 404
    core.delete_namespaced_config_map("c", "sandbox")
    core.create_namespaced_secret("sandbox", client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"p": "x"}))
    assert core.read_namespaced_secret("s", "sandbox").data == {"p": "eA=="}


def test_lists_in_pages(api):
    core = client.CoreV1Api()
    for i in range(7):
        core.create_namespaced_config_map("sandbox", {"metadata": {"name": f"page-{i}", "labels": {"paged": "yes"}}})
    seen, token = [], None
    while True:
        page = core.list_namespaced_config_map("sandbox", label_selector="paged=yes", limit=3, _continue=token)
        assert len(page.items) <= 3
        seen += [m.metadata.name for m in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert seen == [f"page-{i}" for i in range(7)]
    core.delete_collection_namespaced_config_map("sandbox", label_selector="paged=yes")
    assert core.list_namespaced_config_map("sandbox", label_selector="paged=yes").items == []


def test_a_job_through_the_default_queue(api):
    batch, core = client.BatchV1Api(), client.CoreV1Api()
    batch.create_namespaced_job("sandbox", client.V1Job(
        metadata=client.V1ObjectMeta(name="typed"),
        spec=client.V1JobSpec(template=client.V1PodTemplateSpec(spec=client.V1PodSpec(restart_policy="Never", containers=[
            client.V1Container(name="main", image="busybox", command=["echo", "typed"],
                               resources=client.V1ResourceRequirements(requests={"cpu": "100m"}))])))))
    api.until("the job succeeds", lambda: batch.read_namespaced_job_status("typed", "sandbox").status.succeeded)
    name = core.list_namespaced_pod("sandbox", label_selector="job-name=typed").items[0].metadata.name
    assert core.read_namespaced_pod_log(name, "sandbox") == "typed\n"
    batch.delete_namespaced_job("typed", "sandbox", propagation_policy="Foreground")
    api.until("job and pods are gone", lambda: not core.list_namespaced_pod("sandbox", label_selector="job-name=typed").items
              and "typed" not in [j.metadata.name for j in batch.list_namespaced_job("sandbox").items])


def test_logs(api, sleeper):
    core = client.CoreV1Api()
    api.until("its line is there", lambda: "awake" in core.read_namespaced_pod_log(sleeper, "sandbox"))


@pytest.mark.muster_up("the node that plays a cluster's has no streams")
@pytest.mark.parametrize("either", ["muster up"], indirect=True)
def test_exec_and_port_forward(api, sleeper):
    core = client.CoreV1Api()
    said = stream(core.connect_get_namespaced_pod_exec, sleeper, "sandbox", command=["sh", "-c", "echo inside; echo wrong >&2"],
                  stderr=True, stdin=False, stdout=True, tty=False)
    assert "inside" in said and "wrong" in said
    api.until("the server in the pod listens", lambda: "yes" in stream(
        core.connect_get_namespaced_pod_exec, sleeper, "sandbox", stderr=True, stdin=False, stdout=True, tty=False,
        command=["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8000)); print('yes')"]))
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, sleeper, "sandbox", ports="8000")
    wire = forwarded.socket(8000)
    wire.setblocking(True)
    wire.sendall(b"GET / HTTP/1.0\r\n\r\n")
    got = b""
    while piece := wire.recv(65536):
        got += piece
    wire.close()
    assert b"200 OK" in got and b"GPL" in got


def test_custom_kinds(api):
    custom = client.CustomObjectsApi()
    queues = custom.list_namespaced_custom_object("kueue.x-k8s.io", "v1beta1", "sandbox", "localqueues")
    assert [q["metadata"]["name"] for q in queues["items"]] == ["local-queue-test"]
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "custom"}}
    custom.create_cluster_custom_object("kueue.x-k8s.io", "v1beta1", "resourceflavors", flavor)
    custom.patch_cluster_custom_object("kueue.x-k8s.io", "v1beta1", "resourceflavors", "custom", {"spec": {"nodeLabels": {"a": "b"}}})
    read = custom.get_cluster_custom_object("kueue.x-k8s.io", "v1beta2", "resourceflavors", "custom")
    assert read["spec"]["nodeLabels"] == {"a": "b"}
    custom.delete_cluster_custom_object("kueue.x-k8s.io", "v1beta1", "resourceflavors", "custom")


def test_the_dynamic_client(api):
    found = dynamic.DynamicClient(client.ApiClient())
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(namespace="sandbox", body={"metadata": {"name": "dynamic"}, "data": {"a": "b"}})
    maps.server_side_apply(namespace="sandbox", field_manager="me", body={
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dynamic"}, "data": {"c": "d"}})
    assert maps.get(name="dynamic", namespace="sandbox").data.to_dict() == {"a": "b", "c": "d"}
    clusters = found.resources.get(api_version="ray.io/v1", kind="RayCluster")
    assert clusters.get(namespace="sandbox").items == []
    maps.delete(name="dynamic", namespace="sandbox")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        maps.get(name="dynamic", namespace="sandbox")


def test_a_watch_from_a_version_tells_every_change_in_order(api):
    core = client.CoreV1Api()
    start = core.list_namespaced_config_map("sandbox").metadata.resource_version
    ready = threading.Event()

    def change() -> None:
        ready.wait()
        for i in range(3):
            core.create_namespaced_config_map("sandbox", {"metadata": {"name": f"seen-{i}", "labels": {"seen": "yes"}}})
        core.patch_namespaced_config_map("seen-1", "sandbox", {"data": {"a": "b"}})
        core.delete_namespaced_config_map("seen-2", "sandbox")

    thread = threading.Thread(target=change)
    thread.start()
    ready.set()
    told = []
    for event in watch.Watch().stream(core.list_namespaced_config_map, "sandbox", label_selector="seen=yes",
                                      resource_version=start, timeout_seconds=60):
        told.append((event["type"], event["object"].metadata.name))
        if len(told) == 5:
            break
    thread.join()
    assert told == [("ADDED", "seen-0"), ("ADDED", "seen-1"), ("ADDED", "seen-2"), ("MODIFIED", "seen-1"), ("DELETED", "seen-2")]
    # A watch ends by itself when its time is over.
    assert [e["object"].metadata.name for e in watch.Watch().stream(core.list_namespace, field_selector="metadata.name=sandbox",
                                                                    timeout_seconds=5)] == ["sandbox"]


def test_rights_and_tokens(api):
    auth, core = client.AuthorizationV1Api(), client.CoreV1Api()
    review = auth.create_self_subject_access_review(client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(
        resource_attributes=client.V1ResourceAttributes(verb="create", resource="pods", namespace="sandbox"))))
    assert review.status.allowed
    token = core.create_namespaced_service_account_token("default", "sandbox", client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600))).status.token
    own = client.Configuration.get_default_copy()
    own.cert_file = own.key_file = None
    own.api_key = {"authorization": "Bearer " + token}
    with pytest.raises(client.ApiException) as refused:
        client.CoreV1Api(client.ApiClient(own)).list_namespaced_secret("sandbox")
    assert refused.value.status == 403 and "system:serviceaccount:sandbox:default" in refused.value.body


def test_versions_and_discovery(api):
    assert client.VersionApi().get_code().major == "1"
    assert "kueue.x-k8s.io" in [g.name for g in client.ApisApi().get_api_versions().groups]
    assert "jobs" in [r.name for r in client.BatchV1Api().get_api_resources().resources]
