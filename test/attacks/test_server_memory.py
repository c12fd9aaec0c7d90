# test/attacks/test_server_memory.py - what clients make the server hold in memory is bounded, and others are answered meanwhile: F12,
# F12b, F13, F14, F19, F21, F25 and their neighbours.
import base64
import json
import ssl
import threading

import pytest
import websocket
from attacks import FULL, MAPS, MB, Memory, Others, bodies, bodies_http2, close_all, fill, idle, lists, sized, statuses_of, watches
from wire import Door, Http2, request, user_of

LIMIT_MB = 512


@pytest.fixture
def door(muster):
    return Door(muster.kubeconfig)


@pytest.fixture
def reader(muster, door):
    """Of somebody with the role `view`, where there is much to read."""
    fill(door, user_of(muster, "ta", "edit"))
    return user_of(muster, "ta", "view")


def check(memory: Memory, others: Others) -> None:
    assert memory.peak_mb() < LIMIT_MB
    assert others.took and others.wrong == []


@pytest.mark.parametrize("more", [(), (("accept-encoding", "gzip"),),
                                  (("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),)], ids=["plain", "gzip", "table"])
def test_f12_lists_that_nobody_takes(muster, door, reader, more):
    memory = Memory(muster.process)
    with Others(muster) as others:
        made = lists(door, reader, 4, sized(200), more) + lists(door, reader, 1, sized(1000), more)
        answered = statuses_of(made, 2)
        others.ask_once()
        close_all(made)
    assert answered > 0
    check(memory, others)


def test_f12_lists_that_differ_each_time(muster, door, reader):
    editor = user_of(muster, "ta", "edit")
    memory = Memory(muster.process)
    made = []
    with Others(muster) as others:
        for turn in range(sized(200)):
            body = json.dumps({"data": {"k0": str(turn)}}).encode()
            status, answer = door.ask("PATCH", MAPS + "/a", editor, body, "application/merge-patch+json")
            assert status in (200, 429), answer
            made += lists(door, reader, 1, 4)
        others.ask_once()
        close_all(made)
    check(memory, others)


def test_f12b_watches_that_nobody_takes(muster, door, reader):
    memory = Memory(muster.process)
    with Others(muster) as others:
        made = watches(door, reader, 10, sized(500))
        answered = statuses_of(made, 1)
        others.ask_once()
        close_all(made)
    assert answered > 0
    check(memory, others)


def test_f12_one_who_reads_gets_a_whole_list_meanwhile(muster, door, reader):
    with_reader = user_of(muster, "ta", "admin")
    made = lists(door, reader, 4, sized(200))
    status, text = door.ask("GET", MAPS, with_reader)
    assert status == 200 and len(json.loads(text)["items"]) >= 3
    close_all(made)


def test_f12_a_watch_of_much_is_whole(muster, door, reader):
    with door.connect("http/1.1") as wire:
        wire.sendall(request("GET", MAPS + "?watch=1&timeoutSeconds=1", reader))
        got = b""
        while piece := wire.recv(1 << 16):
            got += piece
    body, rest = b"", got.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
    events = [json.loads(line) for line in body.splitlines()]
    names = [event["object"]["metadata"]["name"] for event in events]
    assert {"a", "b", "c"} <= set(names) and all(event["type"] == "ADDED" for event in events)


def test_f13_bodies_of_nobody(muster, door):
    memory = Memory(muster.process)
    with Others(muster) as others:
        made = bodies(door, None, sized(400), 2_900_000)
        made += bodies_http2(door, None, 10, sized(200), 2_900_000)
        others.ask_once()
        close_all(made)
    check(memory, others)


def test_f13_bodies_of_one_user(muster, door):
    token = user_of(muster, "ta", "edit")
    memory = Memory(muster.process)
    with Others(muster) as others:
        made = bodies(door, token, sized(400), 2_900_000)
        made += bodies_http2(door, token, 10, sized(200), 2_900_000)
        others.ask_once()
        close_all(made)
    check(memory, others)


@pytest.mark.parametrize("token,status", [(None, 403), ("none", 401)])
def test_f13_who_may_not_is_told_before_a_byte_of_the_body(muster, door, token, status):
    with door.connect("http/1.1", timeout=30) as wire:
        wire.sendall(request("POST", MAPS, token, 1000))
        got = wire.recv(65536)
        assert got.startswith(b"HTTP/1.1 %d " % status), got
    connection = Http2(door, 1 << 20)
    connection.ask("POST", MAPS, token, [("content-length", "1000")], ends=False)
    words = b"".join(payload for kind, _, stream, payload in connection.frames(2) if kind == 0 and stream == 1)
    assert json.loads(words)["code"] == status
    connection.close()


def test_f13_a_body_is_asked_for_only_when_it_is_wanted(muster, door):
    token = user_of(muster, "ta", "edit")
    body = json.dumps({"metadata": {"name": "waited"}}).encode()
    for who, said in ((token, b"HTTP/1.1 100 "), (None, b"HTTP/1.1 403 ")):
        with door.connect("http/1.1", timeout=30) as wire:
            wire.sendall(request("POST", MAPS, who, len(body), more="Expect: 100-continue\r\n"))
            assert wire.recv(65536).startswith(said)
            if who is not None:
                wire.sendall(body)
                assert wire.recv(65536).startswith(b"HTTP/1.1 201 ")


def test_f13_heads_that_never_end(muster, door):
    memory = Memory(muster.process)
    with Others(muster) as others:
        made = []
        for _ in range(sized(4000)):
            wire = door.connect("http/1.1")
            made.append(wire)
            try:
                wire.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 50_000)
            except OSError:
                pass
        others.ask_once()
        close_all(made)
    check(memory, others)


def test_f14_idle_connections_make_room_for_others(muster, door):
    memory = Memory(muster.process)
    with door.connect("http/1.1", admin=True) as kept, Others(muster) as others:
        ask = request("GET", MAPS, None).replace(b"Connection: close\r\n", b"")
        kept.sendall(ask)
        assert kept.recv(65536).startswith(b"HTTP/1.1 200 ")
        made = idle(door, 10_000 if FULL else 4500, secure=FULL)
        others.ask_once()
        kept.sendall(ask)  # Who has said who it is keeps its connection.
        assert kept.recv(65536).startswith(b"HTTP/1.1 200 ")
        close_all(made)
    check(memory, others)


def rule(text: str) -> dict:
    schema = {"type": "object", "properties": {"s": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}}},
              "x-kubernetes-validations": [{"rule": text}]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.attack.dev"},
            "spec": {"group": "attack.dev", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}}]}}


@pytest.mark.parametrize("text", ["self.s.split('').map(x, self.s.split('')).size() > 0",
                                  "self.l.map(x, self.l).map(y, self.l.map(z, y)).size() > 0",
                                  "self.s.split('').map(x, self.s).join().size() > 0",
                                  "'%s'.format([self.s.split('').map(x, self.s)]).size() > 0"])
def test_f21_rules_that_make_much(muster, door, text):
    muster.apply(json.dumps(rule(text)))
    muster.run("wait", "--for=condition=Established", "crd/things.attack.dev")
    memory = Memory(muster.process)
    thing = {"apiVersion": "attack.dev/v1", "kind": "Thing", "metadata": {"name": "t"},
             "spec": {"s": "a" * 30_000, "l": list(range(3000))}}
    with Others(muster) as others:
        status, answer = door.ask("POST", "/apis/attack.dev/v1/namespaces/default/things", None, json.dumps(thing).encode(), admin=True)
        others.ask_once()
    assert status == 422 and (b"call cost exceeds limit" in answer or b"running out of cost budget" in answer), answer
    check(memory, others)


def test_f21_a_patch_of_ten_thousand_operations_on_a_wide_object(muster, door):
    body = {"metadata": {"name": "wide"}, "data": {f"k{i}": "x" for i in range(100_000)}}
    path = "/api/v1/namespaces/default/configmaps"
    assert door.ask("POST", path, None, json.dumps(body).encode(), admin=True)[0] == 201
    memory = Memory(muster.process)
    for operation in ({"op": "replace", "path": "/data/k99999", "value": "y"}, {"op": "move", "from": "/data", "path": "/data"},
                      {"op": "test", "path": "/data/k99999", "value": "x"}):
        patch = json.dumps([operation] * 10_000).encode()
        status, answer = door.ask("PATCH", path + "/wide", None, patch, "application/json-patch+json", admin=True)
        assert status == 422 and b"too much work" in answer, answer
    assert memory.peak_mb() < LIMIT_MB


POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: busybox
    command: [python3, -c, {code}]
    {more}
"""


def run_pod(muster, name: str, code: str, more: str = "") -> None:
    muster.apply(POD.format(name=name, code=json.dumps(code), more=more))
    muster.run("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{name}")


ENDLESS = """
import http.server
class Endless(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        open('/tmp/asked', 'a').write('x')
        try:
            while True: self.wfile.write(b'x' * 65536)
        except OSError: pass
http.server.ThreadingHTTPServer(('', 8000), Endless).serve_forever()
"""


def test_f19_probes_whose_answers_do_not_end(muster, door):
    memory = Memory(muster.process)
    pods = [f"endless-{i}" for i in range(6 if FULL else 2)]
    with Others(muster) as others:
        for name in pods:
            run_pod(muster, name, ENDLESS, "readinessProbe: {httpGet: {path: /, port: 8000}, periodSeconds: 1, timeoutSeconds: 1}")
        for name in pods:  # As the kubelet: what it reads of the answer is enough.
            muster.run("wait", "--for=condition=Ready", f"pod/{name}")
        # Some periods, counted by the pods and not by a clock.
        muster.until("asked again and again", lambda: len(muster.run("exec", pods[0], "--", "cat", "/tmp/asked").stdout) >= 5)
        others.ask_once()
    assert memory.peak_mb() < 200
    check(memory, others)


def exec_socket(door: Door, pod: str, command: list[str]) -> websocket.WebSocket:
    """An exec with an input."""
    door.context(admin=True)  # Writes the key and the certificate.
    query = "&".join([f"command={word}" for word in command] + ["stdin=true", "stdout=true"])
    return websocket.create_connection(
        f"wss://{door.host}:{door.port}/api/v1/namespaces/default/pods/{pod}/exec?{query}", timeout=10,
        subprotocols=["v5.channel.k8s.io"],
        sslopt={"cert_reqs": ssl.CERT_NONE, "certfile": str(door.folder / "client-certificate-data"),
                "keyfile": str(door.folder / "client-key-data")})


def push(socket: websocket.WebSocket, size: int) -> int:
    """Sends as long as the server takes it; how much that was."""
    socket.settimeout(3)
    piece, sent = b"\x00" + b"x" * 65536, 0
    try:
        while sent < size:
            socket.send_binary(piece)
            sent += len(piece)
    except (TimeoutError, websocket.WebSocketTimeoutException, ssl.SSLError, BlockingIOError):
        pass
    return sent


def test_f25_input_that_a_pod_does_not_read(muster, door):
    run_pod(muster, "deaf", "import time; time.sleep(100000)")
    memory = Memory(muster.process)
    before = memory.peak_mb()
    with Others(muster) as others:
        sockets = [exec_socket(door, "deaf", ["sleep", "1000"]) for _ in range(4)]
        sent = [push(socket, sized(400 * MB)) for socket in sockets]
        others.ask_once()
        for socket in sockets:
            socket.close(timeout=1)
    assert max(sent) < 20 * MB
    assert memory.peak_mb() - before < 64
    check(memory, others)


def test_f25_input_of_a_command_that_has_closed_it(muster, door):
    """Each write to it fails, which once ended the server (SIGPIPE)."""
    run_pod(muster, "closed", "import time; time.sleep(100000)")
    with Others(muster) as others:
        socket = exec_socket(door, "closed", ["sh", "-c", "exec%20<%26-;echo%20closed;sleep%201000"])
        while b"closed" not in socket.recv():
            pass
        push(socket, 4 * MB)
        others.ask_once()
        socket.close(timeout=1)
    assert muster.process.poll() is None
    assert not others.wrong, others.wrong


def test_f25_input_that_is_read_late_comes_whole(muster, door):
    run_pod(muster, "late", "import time; time.sleep(100000)")
    size = 8 * MB
    socket = exec_socket(door, "late", ["sh", "-c", "sleep%202;wc%20-c"])
    socket.settimeout(60)
    for _ in range(size // 65536):
        socket.send_binary(b"\x00" + b"x" * 65536)
    socket.send_binary(b"\xff\x00")
    told = b""
    while b"Success" not in told:
        told += socket.recv()
    assert str(size).encode() in told


DEAF_PORT = """
import socket, time
listener = socket.create_server(('', 9000))
kept = [listener.accept() for _ in range(1)]
time.sleep(100000)
"""


def test_f25_a_port_that_is_not_read(muster, door):
    run_pod(muster, "port", DEAF_PORT, "readinessProbe: {exec: {command: ['true']}}")
    memory = Memory(muster.process)
    before = memory.peak_mb()
    door.context(admin=True)
    with Others(muster) as others:
        socket = websocket.create_connection(
            f"wss://{door.host}:{door.port}/api/v1/namespaces/default/pods/port/portforward?ports=9000", timeout=10,
            subprotocols=["v4.channel.k8s.io"],
            sslopt={"cert_reqs": ssl.CERT_NONE, "certfile": str(door.folder / "client-certificate-data"),
                    "keyfile": str(door.folder / "client-key-data")})
        sent = push(socket, sized(400 * MB))
        others.ask_once()
        socket.close(timeout=1)
    assert sent < 30 * MB
    assert memory.peak_mb() - before < 64
    check(memory, others)


def waiting(muster, pod: str) -> dict:
    statuses = muster.get("pod", pod)["status"].get("containerStatuses") or [{}]
    return statuses[0].get("state", {}).get("waiting", {})


def test_variables_that_double(muster):
    variables = [{"name": "V0", "value": "1234567890"}]
    variables += [{"name": f"V{i}", "value": f"$(V{i - 1})$(V{i - 1})"} for i in range(1, 29)]
    memory = Memory(muster.process)
    before = memory.peak_mb()
    with Others(muster) as others:
        muster.apply(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "doubles"}, "spec": {"containers": [
            {"name": "c", "image": "python:3.11", "command": ["true"], "env": variables}]}}))
        muster.until("the pod says why", lambda: "longer than 131071 bytes" in waiting(muster, "doubles").get("message", ""))
        others.ask_once()
    assert waiting(muster, "doubles")["reason"] == "CreateContainerConfigError"
    assert memory.peak_mb() - before < 64
    check(memory, others)


def test_a_key_that_is_a_thousand_files(muster, door):
    muster.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"k": "x" * 900_000}}))
    memory = Memory(muster.process)
    before = memory.peak_mb()
    with Others(muster) as others:
        muster.apply(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "files"}, "spec": {
            "volumes": [{"name": "v", "configMap": {"name": "large", "items": [{"key": "k", "path": f"f{i}"} for i in range(1000)]}}],
            "containers": [{"name": "c", "image": "python:3.11", "command": ["true"], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}}))
        muster.until("an event says why", lambda: "have more than 16 MiB together" in muster.run("get", "events", "-o", "json").stdout)
        others.ask_once()
    assert memory.peak_mb() - before < 64
    check(memory, others)


def test_a_pod_that_refers_to_very_much(muster):
    for i in range(40):
        muster.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"much-{i}"}, "data": {"k": "x" * 900_000}}))
    volumes = [{"name": f"v{i}", "configMap": {"name": f"much-{i}"}} for i in range(40)]
    memory = Memory(muster.process)
    before = memory.peak_mb()
    with Others(muster) as others:
        muster.apply(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "refers"}, "spec": {
            "volumes": volumes, "containers": [{"name": "c", "image": "python:3.11", "command": ["true"]}]}}))
        muster.until("an event says why", lambda: "more than 32 MiB together" in muster.run("get", "events", "-o", "json").stdout)
        others.ask_once()
    assert memory.peak_mb() - before < 200
    check(memory, others)
    for i in range(40):
        muster.run("delete", "configmap", f"much-{i}", "--wait=false")


PRINTS = """
import sys, time
for i in range(sized): sys.stdout.write(f'{i} ' + 'x' * 1000 + chr(10))
sys.stdout.flush()
time.sleep(100000)
"""


@pytest.mark.parametrize("more", ["", "?follow=1", "?tailLines=25000", "?follow=1&tailLines=25000"])
def test_logs_that_nobody_takes(muster, door, more):
    lines = 30_000
    if muster.run("get", "pod", "prints", check=False).returncode != 0:
        run_pod(muster, "prints", PRINTS.replace("sized", str(lines)))
    muster.until("all is printed", lambda: muster.run("logs", "prints", "--tail=1").stdout.startswith(f"{lines - 1} "))
    memory = Memory(muster.process)
    before = memory.peak_mb()
    token = user_of(muster, "default", "admin")
    with Others(muster) as others:
        connections = lists(door, token, connections=6, streams=10, path="/api/v1/namespaces/default/pods/prints/log" + more)
        assert statuses_of(connections, 2) == 60
        others.ask_once()
        for connection in connections:
            connection.close()
    assert memory.peak_mb() - before < 96
    check(memory, others)
    said = muster.run("logs", "prints").stdout.splitlines()
    assert [line.split()[0] for line in said] == [str(i) for i in range(lines)]


def test_a_host_that_is_missing_or_there_twice_and_a_folded_field_are_refused(muster, door):
    for text in (b"GET /readyz HTTP/1.1\r\n\r\n", b"GET /readyz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                 b"GET /readyz HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"):
        with door.connect("http/1.1") as wire:
            wire.sendall(text)
            assert wire.recv(65536).startswith(b"HTTP/1.1 400 ")
