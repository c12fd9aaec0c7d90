# test/e2e/test_python_client.py - the published Python client, unmodified.
import pytest

from conftest import QUEUES

kubernetes = pytest.importorskip("kubernetes")


@pytest.fixture
def api(muster):
    muster.apply(QUEUES)
    kubernetes.config.load_kube_config(str(muster.kubeconfig))
    return muster


def test_built_in_kinds(api):
    core = kubernetes.client.CoreV1Api()
    core.create_namespaced_config_map("sandbox", {"metadata": {"name": "c", "labels": {"a": "b"}}, "data": {"k": "v"}})
    assert core.read_namespaced_config_map("c", "sandbox").data == {"k": "v"}
    core.patch_namespaced_config_map("c", "sandbox", {"data": {"k2": "v2"}})
    assert core.list_namespaced_config_map("sandbox", label_selector="a=b").items[0].data == {"k": "v", "k2": "v2"}
    with pytest.raises(kubernetes.client.ApiException) as missing:
        core.read_namespaced_config_map("nothing", "sandbox")
    assert missing.value.status == 404
    core.delete_namespaced_config_map("c", "sandbox")


def test_custom_kinds_and_watch(api):
    custom = kubernetes.client.CustomObjectsApi()
    queues = custom.list_namespaced_custom_object("kueue.x-k8s.io", "v1beta1", "sandbox", "localqueues")
    assert [q["metadata"]["name"] for q in queues["items"]] == ["local-queue-test"]
    watch = kubernetes.watch.Watch()
    core = kubernetes.client.CoreV1Api()
    seen = []
    for event in watch.stream(core.list_namespace, timeout_seconds=2):
        seen.append(event["object"].metadata.name)
    assert "sandbox" in seen
