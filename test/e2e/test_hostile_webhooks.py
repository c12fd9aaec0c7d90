# test/e2e/test_hostile_webhooks.py - webhooks of somebody else: they answer well, badly or not at all, and the server goes on.
import base64
import json
import pathlib
import socket
import threading

import pytest

from others_webhooks import Webhooks, configuration, crontabs, patch, webhook
from test_bad_input import Client, serving
from waiting import until

pytestmark = pytest.mark.muster_up("it is about who asks the webhooks of others; beside kube-apiserver: test/kube/test_others_webhooks.py")

MAPS = "/api/v1/namespaces/default/configmaps"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
LABELLED = [{"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}]

# A webhook in a pod: it allows everything and adds a label.
PROGRAM = r"""
import base64, http.server, json, os, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = base64.b64encode(os.environ["PATCH"].encode()).decode()
        body = json.dumps({**review, "request": None, "response": {
            "uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
open("/tmp/pair.pem", "w").write(os.environ["PAIR"])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tmp/pair.pem")
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8443), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


class Asked(Client):
    """JSON both ways."""

    def request(self, method: str, path: str, body=None, kind: str = "application/json") -> tuple[int, dict]:
        return self.ask(method, path, None if body is None else json.dumps(body).encode(), kind)


@pytest.fixture(scope="module")
def server():
    with serving(Asked) as client:
        yield client


@pytest.fixture
def hooks(server):
    made = Webhooks()
    yield made
    for kind in ("mutating", "validating"):
        for one in server.request("GET", CONFIGURATIONS.format(kind))[1]["items"]:
            server.request("DELETE", f"{CONFIGURATIONS.format(kind)}/{one['metadata']['name']}")
    made.stop()


def configure(server, kind: str, *made: dict) -> None:
    answer = server.request("POST", CONFIGURATIONS.format(kind.lower()), configuration(kind, "test", *made))
    assert answer[0] == 201, answer


def create(server, name: str, say: dict | None = None, **metadata) -> tuple[int, dict]:
    annotations = {"say": json.dumps(say)} if say else {}
    return server.request("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap",
                                         "metadata": {"name": name, "annotations": annotations, **metadata}})


def test_one_changes_and_one_refuses(server, hooks):
    configure(server, "Mutating", webhook("change", hooks.client("say")))
    configure(server, "Validating", webhook("check", hooks.client("echo"), objectSelector={"matchLabels": {"by": "webhook"}}))
    assert create(server, "plain")[0] == 201
    code, answer = create(server, "changed", patch(*LABELLED))
    assert code == 400
    told = json.loads(answer["message"].removeprefix('admission webhook "check.example.com" denied the request: '))
    assert told["object"]["metadata"]["labels"] == {"by": "webhook"}


@pytest.mark.parametrize("path, why", [
    ("garbage", "couldn't get version/kind"), ("nothing", "0-length response with status code: 200"), ("closed", "EOF"),
    ("slow", "context deadline exceeded"), ("huge", "larger than 33554432 bytes"), ("wrong-uid", "expected response.uid="),
    ("text-500", 'an error on the server ("out of order") has prevented the request from succeeding')])
def test_bad_answers_fail_the_write_or_are_passed_over(server, hooks, path, why):
    for policy, wanted in (("Fail", 500), ("Ignore", 201)):
        configure(server, "Validating", webhook("bad", hooks.client(path), failurePolicy=policy, timeoutSeconds=2 if path == "slow" else 20))
        code, answer = create(server, f"{path}-{policy}".lower())
        assert code == wanted, answer
        if policy == "Fail":
            assert answer["message"].startswith('Internal error occurred: failed calling webhook "bad.example.com": ')
            assert why in answer["message"]
        server.request("DELETE", CONFIGURATIONS.format("validating") + "/test")


@pytest.mark.parametrize("who, why", [("stranger", "x509: certificate signed by unknown authority"), ("other", "x509: certificate is not valid for 127.0.0.1")])
def test_a_wrong_certificate_is_not_believed(server, hooks, who, why):
    configure(server, "Validating", webhook("who", hooks.client("say", who)))
    code, answer = create(server, f"by-{who}")
    assert code == 500 and why in answer["message"], answer
    assert hooks.heard == []


def test_a_webhook_behind_a_name(server, hooks):
    client = hooks.client("say")
    configure(server, "Validating", webhook("named", {**client, "url": client["url"].replace("127.0.0.1", "localhost")}))
    assert create(server, "by-name")[0] == 201
    assert len(hooks.heard) == 1


class NameServer:
    """Where the superuser may put one. It is silent until it says that there is no such name."""

    def __init__(self, folder: pathlib.Path):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind(("127.0.0.97", 53))
        except OSError as problem:
            pytest.skip(f"no name server can be had here: {problem}")
        self.socket.settimeout(60)
        self.config = folder / "resolv.conf"
        self.config.write_text("nameserver 127.0.0.97\noptions timeout:30 attempts:1\n")

    def question(self) -> tuple[bytes, tuple]:
        return self.socket.recvfrom(512)

    def answer(self, question: bytes, asker: tuple) -> None:
        """And from now on at once."""
        while True:
            self.socket.sendto(question[:2] + b"\x81\x83" + question[4:], asker)
            try:
                question, asker = self.question()
            except OSError:
                return


def test_a_silent_name_server_holds_up_nobody_else(tmp_path, mounts, hooks):
    names = NameServer(tmp_path)
    client = {**hooks.client("say"), "url": "https://silent.example.com/say"}
    with names.socket, serving(Asked, mounts(f"mount --bind {names.config} /etc/resolv.conf")) as server:
        configure(server, "Validating", webhook("quick", hooks.client("say")),
                  webhook("silent", client, timeoutSeconds=30, objectSelector={"matchLabels": {"ask": "silent"}}))
        done = []
        waiting = threading.Thread(target=lambda: done.append(create(server, "waits", labels={"ask": "silent"})))
        waiting.start()
        question, asker = names.question()
        for i in range(20):
            assert create(server, f"quick-{i}")[0] == 201
        assert done == []
        threading.Thread(target=names.answer, args=[question, asker], daemon=True).start()
        waiting.join()
    code, answer = done[0]
    assert code == 500 and answer["message"].endswith(": dial tcp: lookup silent.example.com: no such host"), answer


def test_a_slow_webhook_holds_up_nobody_else(server, hooks):
    configure(server, "Validating", webhook("held", hooks.client("held"), timeoutSeconds=30, objectSelector={"matchLabels": {"wait": "yes"}}))
    done = []
    waiting = [threading.Thread(target=lambda i=i: done.append(create(server, f"slow-{i}", labels={"wait": "yes"})[0])) for i in range(20)]
    hooks.heard.clear()
    for each in waiting:
        each.start()
    try:
        until("they wait", lambda: hooks.heard)
        for i in range(50):
            assert create(server, f"quick-{i}")[0] == 201
        assert done == []
    finally:
        hooks.go.set()
        for each in waiting:
            each.join()
    assert done == [201] * 20


def test_of_two_writes_that_wait_none_is_lost(server, hooks):
    create(server, "both")
    configure(server, "Mutating", webhook("slow", hooks.client("slow"), timeoutSeconds=10))
    answers = []

    def add(key: str) -> None:
        answers.append(server.request("PATCH", f"{MAPS}/both", {"data": {key: "1"}}, "application/merge-patch+json")[0])
    both = [threading.Thread(target=add, args=[key]) for key in "ab"]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert answers == [200, 200]
    assert server.request("GET", f"{MAPS}/both")[1]["data"] == {"a": "1", "b": "1"}


def test_versions_by_a_webhook(server, hooks):
    group = "stable.example.com"
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert server.request("POST", crds, crontabs(group, hooks.client("convert")))[0] == 201
    one, two = (f"/apis/{group}/{version}/namespaces/default/crontabs" for version in ("v1", "v2"))
    for i in range(30):
        made = {"apiVersion": f"{group}/v1", "kind": "CronTab", "metadata": {"name": f"t{i}"}, "spec": {"host": "a,b"}}
        assert server.request("POST", one, made)[0] == 201
    hooks.heard.clear()
    listed = server.request("GET", two)[1]["items"]
    assert [each["spec"] for each in listed] == [{"hosts": ["a", "b"]}] * 30
    # Others that look (the garbage collector) see what is stored: nothing has to be converted for them.
    assert [len(review["request"]["objects"]) for _, review in hooks.heard] == [30]
    code, made = server.request("POST", two, {"apiVersion": f"{group}/v2", "kind": "CronTab", "metadata": {"name": "n"}, "spec": {"hosts": ["x", "y"]}})
    assert code == 201 and made["spec"] == {"hosts": ["x", "y"]}, made
    assert server.request("GET", f"{one}/n")[1]["spec"] == {"host": "x,y"}
    server.muster.run("get", "crontabs.v2.stable.example.com")
    hooks.stop()
    code, answer = server.request("GET", f"{two}/n")
    assert code == 500 and answer["message"].startswith("conversion webhook for stable.example.com/v1, Kind=CronTab failed: Post "), answer
    assert server.request("DELETE", f"{crds}/crontabs.{group}")[0] == 200
    until("the kind is gone", lambda: server.request("GET", one)[0] == 404)


def test_a_webhook_in_a_pod(server, hooks):
    pair = "".join(hooks.authority.issue("hook", also=["hook.default.svc"]))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hook", "labels": {"app": "hook"}}, "spec": {
        "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "main", "image": "python", "command": ["python3", "-c", PROGRAM],
            "env": [{"name": "PAIR", "value": pair}, {"name": "PATCH", "value": json.dumps(LABELLED)}],
            "readinessProbe": {"tcpSocket": {"port": 8443}, "periodSeconds": 1}}]}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
               "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 8443}]}}
    for plural, thing in (("pods", pod), ("services", service)):
        assert server.request("POST", f"/api/v1/namespaces/default/{plural}", thing)[0] == 201
    bundle = base64.b64encode(hooks.authority.pem.encode()).decode()
    configure(server, "Mutating", webhook("hook", {"service": {"namespace": "default", "name": "hook", "path": "/"}, "caBundle": bundle}, timeoutSeconds=10))
    made = until("the webhook in the pod answers", lambda: (lambda answer: answer[1] if answer[0] == 201 else None)(create(server, "by-pod")))
    assert made["metadata"]["labels"] == {"by": "webhook"}
