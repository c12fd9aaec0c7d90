# test/e2e/test_proxy.py - what runs in a pod, reached through the API server: pages, uploads, streams, WebSockets.
import base64
import http.client
import json
import socket

import pytest

from test_bad_input import serving

pytestmark = pytest.mark.muster_up("on a cluster kube-apiserver carries what is said to pods")

# One small server of everything: it says what it was asked, and echoes after an upgrade.
PROGRAM = r"""
import http.server, json, socketserver

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, code, body, headers=()):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def any(self):
        if self.headers.get("Upgrade"):
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            while piece := self.connection.recv(65536):
                self.connection.sendall(piece)
            self.close_connection = True
        elif self.path.startswith("/redirect"):
            self.answer(302, b"", [("Location", "/target?x=1")])
        elif self.path.startswith("/page"):
            self.answer(200, b'<a href="/jobs">jobs</a>', [("Content-Type", "text/html")])
        elif self.path.startswith("/stream"):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(3):
                self.wfile.write(b"2\r\n%d\n\r\n" % i)
            self.wfile.write(b"0\r\n\r\n")
        else:
            size, left = 0, int(self.headers.get("Content-Length") or 0)
            while size < left:
                size += len(self.rfile.read(min(65536, left - size)))
            told = {"method": self.command, "path": self.path, "size": size, "token": self.headers.get("Authorization")}
            self.answer(200, json.dumps(told).encode(), [("Content-Type", "application/json")])
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = any
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
Server(("0.0.0.0", 8000), Handler).serve_forever()
"""

POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"terminationGracePeriodSeconds": 1, "containers": [{
        "name": "main", "image": "python", "command": ["python3", "-c", PROGRAM],
        "ports": [{"name": "http", "containerPort": 8000}],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1}}]}}
SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}}
SPACE = "/api/v1/namespaces/default"


@pytest.fixture(scope="module")
def web():
    with serving() as client:
        client.muster.apply(json.dumps(POD))
        client.muster.apply(json.dumps(SERVICE))
        client.muster.until("the proxy reaches the pod", lambda: client.ask("GET", SPACE + "/services/web/proxy/x")[0] == 200)
        yield client


def connect(client) -> http.client.HTTPSConnection:
    host, port = client.server.removeprefix("https://").split(":")
    return http.client.HTTPSConnection(host, int(port), context=client.context, timeout=60)


@pytest.mark.parametrize("target", ["services/web", "services/web:80", "services/web:http", "services/http:web:http",
                                    "pods/web", "pods/web:8000", "pods/http:web:8000"])
def test_every_form_of_target_reaches_the_pod(web, target):
    status, told = web.ask("GET", f"{SPACE}/{target}/proxy/a%2Fb?x=1%20&y")
    assert (status, told["path"]) == (200, "/a%2Fb?x=1%20&y")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_reaches_the_pod(web, method):
    status, told = web.ask(method, SPACE + "/services/web/proxy/m", b"body" if method != "GET" else None)
    assert (status, told["method"], told["token"]) == (200, method, None)


def test_an_upload_larger_than_any_object_may_be_goes_through(web):
    status, told = web.ask("PUT", SPACE + "/services/web/proxy/package", b"x" * 20_000_000, kind="application/zip")
    assert (status, told["size"]) == (200, 20_000_000)


def test_redirects_and_pages_stay_below_the_proxy(web):
    connection = connect(web)
    prefix = SPACE + "/services/web/proxy"
    connection.request("GET", prefix + "/redirect")
    answer = connection.getresponse()
    answer.read()
    assert (answer.status, answer.headers["Location"]) == (302, prefix + "/target?x=1")
    connection.request("GET", prefix + "/page")
    assert connection.getresponse().read().decode() == f'<a href="{prefix}/jobs">jobs</a>'
    connection.request("GET", prefix)
    answer = connection.getresponse()
    answer.read()
    assert (answer.status, answer.headers["Location"]) == (301, prefix + "/")
    connection.request("GET", prefix + "/stream")
    assert connection.getresponse().read() == b"0\n1\n2\n"


def test_a_websocket_goes_through_untouched(web):
    host, port = web.server.removeprefix("https://").split(":")
    with web.context.wrap_socket(socket.create_connection((host, int(port)), timeout=60), server_hostname="localhost") as ws:
        key = base64.b64encode(b"0123456789abcdef").decode()
        ws.sendall((f"GET {SPACE}/services/web/proxy/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                    f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += ws.recv(1)
        assert head.startswith(b"HTTP/1.1 101 ")
        text_frame = b"\x81\x85\x01\x02\x03\x04" + bytes(a ^ b for a, b in zip(b"hello", b"\x01\x02\x03\x04\x01"))
        ws.sendall(text_frame)
        back = b""
        while len(back) < len(text_frame):
            back += ws.recv(100)
        assert back == text_frame


def test_where_nothing_answers_the_status_says_so(web):
    status, answer = web.ask("GET", SPACE + "/pods/web:9999/proxy/")
    assert (status, answer["reason"]) == (503, "ServiceUnavailable")
    assert "error trying to reach service" in answer["message"] and "refused" in answer["message"]
    assert web.ask("GET", SPACE + "/services/web:81/proxy/")[1]["message"] == 'no service port 81 found for service "web"'
    assert web.ask("GET", SPACE + "/services/none/proxy/")[0] == 404
