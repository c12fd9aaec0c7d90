# test/e2e/test_bad_input.py - wrong, huge and hostile input: a clear error, and the server lives.
import base64
import contextlib
import json
import pathlib
import ssl
import tempfile
import urllib.error
import urllib.request

import pytest
import yaml

from conftest import QUEUES, Muster


class Client:
    """Raw requests with the kubeconfig's credentials."""

    def __init__(self, muster):
        config = yaml.safe_load(muster.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        self.authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=self.authority)
        for name in ("client-certificate-data", "client-key-data"):
            (muster.folder / name).write_bytes(base64.b64decode(user[name]))
        self.anonymous = ssl.create_default_context(cadata=self.authority)
        self.context.load_cert_chain(muster.folder / "client-certificate-data", muster.folder / "client-key-data")

    def ask(self, method, path, body=None, kind="application/json", headers=None, context=None, text=False):
        """Status code and answer: JSON, or `text`, or a page for people."""
        def read(answer):
            data = answer.read()
            return data.decode() if text or answer.headers.get_content_type() == "text/plain" else json.loads(data or b"{}")
        request = urllib.request.Request(self.server + path, data=body, method=method,
                                         headers={"Content-Type": kind, **(headers or {})})
        try:
            with urllib.request.urlopen(request, context=context or self.context, timeout=60) as answer:
                return answer.status, read(answer)
        except urllib.error.HTTPError as error:
            return error.code, read(error)


@contextlib.contextmanager
def serving(client=Client, prefix: list[str] = ()):
    """A `muster up` for all tests of a file, which it has to outlive; asked by a `client`, who has it as `muster`."""
    muster = Muster(pathlib.Path(tempfile.mkdtemp(prefix="muster-e2e-")), ["laptop:cpu=8,memory=8Gi"])
    muster.prefix = list(prefix)
    try:
        made = client(muster.start())
        made.muster = muster
        yield made
        assert muster.process.poll() is None, "the server has ended"
    finally:
        muster.leave()


@pytest.fixture(scope="module")
def server(either):
    either.apply(QUEUES)
    client = Client(either)
    client.muster = either
    return client


MAPS = "/api/v1/namespaces/default/configmaps"
DEEP = b'{"metadata":{"name":"deep"},"data":' + b"[" * 20000 + b"]" * 20000 + b"}"


@pytest.mark.parametrize("body,code,word", [
    (b"{", 400, "BadRequest"),
    (b'{"metadata":{"name":"x"}', 400, "BadRequest"),
    (DEEP, 400, "BadRequest"),
    (b'{"kind":"Nothing","apiVersion":"v1","metadata":{"name":"x"}}', 400, "BadRequest"),
    (b'{"kind":"ConfigMap","apiVersion":"v9","metadata":{"name":"x"}}', 400, "BadRequest"),
    (b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"UPPER_case"}}', 422, "Invalid"),
    (b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{"a":5}}', 400, "BadRequest"),
    (b"\xff\xfe\x00garbage", 400, "BadRequest"),
])
def test_malformed_bodies_get_a_status(server, body, code, word):
    status, answer = server.ask("POST", MAPS, body)
    assert (status, answer["kind"], answer["reason"]) == (code, "Status", word), answer
    assert server.ask("GET", MAPS)[0] == 200


def test_unknown_and_duplicate_fields_are_told_in_strict_mode(server):
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"spec":{"a":1},"data":{"k":"1","k":"2"}}'
    status, answer = server.ask("POST", MAPS + "?fieldValidation=Strict", body)
    assert status == 400
    assert 'unknown field "spec"' in answer["message"] and 'duplicate field "data.k"' in answer["message"]


# What the schema says is 422; what only a webhook of Kueue says, 403.
@pytest.mark.parametrize("spec,field,code", [
    ({"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default-flavor", "resources": [
        {"name": "cpu", "nominalQuota": "-1"}]}]}]}, "nominalQuota", 403),
    ({"cohort": "Every One"}, "spec.cohort", 422),
    ({"queueingStrategy": "Whatever"}, "spec.queueingStrategy", 422),
    ({"preemption": {"withinClusterQueue": "Sometimes"}}, "spec.preemption", 422),
    ({"admissionScope": {"admissionMode": "Sometimes"}}, "spec.admissionScope", 403),
])
def test_a_queue_that_cannot_be_obeyed_is_refused_by_field(server, spec, field, code):
    body = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "bad"}, "spec": spec}
    status, answer = server.ask("POST", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", json.dumps(body).encode())
    assert status == code, answer
    assert field in json.dumps(answer["details"]["causes"]), answer


def test_a_quota_on_a_missing_flavor_shows_in_the_queue(server):
    body = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "lost"},
            "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                {"name": "nowhere", "resources": [{"name": "cpu", "nominalQuota": 1}]}]}]}}
    path = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"
    assert server.ask("POST", path, json.dumps(body).encode())[0] == 201
    active = server.muster.until("the queue says whether it is active", lambda: [
        c for c in server.ask("GET", path + "/lost")[1].get("status", {}).get("conditions", []) if c["type"] == "Active"])
    assert active[0]["reason"] == "FlavorNotFound" and "nowhere" in active[0]["message"]


@pytest.mark.parametrize("template,word", [
    ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "kube-system"}}, "namespace"),
    ({"apiVersion": "nowhere/v1", "kind": "Thing", "metadata": {"name": "x"}}, "Thing"),
    ("not an object", "generictemplate"),
])
def test_an_appwrapper_with_a_bad_template_is_refused(server, template, word):
    body = {"apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper", "metadata": {"name": "bad"},
            "spec": {"resources": {"GenericItems": [{"generictemplate": template}]}}}
    status, answer = server.ask("POST", "/apis/workload.codeflare.dev/v1beta1/namespaces/default/appwrappers",
                                json.dumps(body).encode())
    assert status in (400, 403, 422), answer
    assert word in json.dumps(answer), answer


def test_unknown_paths_and_kinds_are_404(server):
    assert server.ask("GET", "/apis/nowhere.io/v1/things") == (404, "404 page not found\n")
    for path in ("/api/v1/things", "/nothing"):
        assert server.ask("GET", path)[0] == 404
