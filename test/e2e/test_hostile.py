# test/e2e/test_hostile.py - requests that no proper client sends, byte by byte: an answer in words, and the server lives.
import gzip
import json
import os
import socket
import threading

import pytest

from test_bad_input import serving

pytestmark = pytest.mark.muster_up("on a cluster these bytes come to kube-apiserver; the operator listens with the same code")

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server():
    with serving() as client:
        yield client


def connect(server) -> socket.socket:
    host, port = server.server.removeprefix("https://").split(":")
    raw = socket.create_connection((host, int(port)), timeout=60)
    return server.context.wrap_socket(raw, server_hostname="localhost")


def say(server, text: bytes) -> bytes:
    """What comes back for these bytes, until the answer's end or the connection's."""
    with connect(server) as wire:
        try:
            wire.sendall(text)
        except OSError:
            pass  # The server may have heard enough; its answer is there all the same.
        got = b""
        try:
            while piece := wire.recv(65536):
                got += piece
                head, _, body = got.partition(b"\r\n\r\n")
                size = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                if size and len(body) >= int(size[0].split(b":")[1]):
                    break
        except OSError:
            pass
        return got


def lives(server) -> bool:
    return server.ask("GET", MAPS)[0] == 200


def post(head: bytes, body: bytes = b"") -> bytes:
    return b"POST " + MAPS.encode() + b" HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n" + body


@pytest.mark.parametrize("text,code", [
    (b"nonsense\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n", None),
    (b"GET / HTTP/9.9\r\n\r\n", 400),
    (post(b"Content-Length: -1\r\n"), 400),
    (post(b"Content-Length: 1\r\nContent-Length: 2\r\n", b"xx"), 400),
    (post(b"Content-Length: 99999999999999999999\r\n"), 400),
    (post(b"Content-Length: 5000000000\r\n", b"x"), 413),
    (post(b"Transfer-Encoding: chunked\r\n", b"zz\r\n"), 400),
    (post(b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff1\r\n"), 400),
    (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(20_000)) + b"\r\n", 431),
    (b"GET " + MAPS.encode() + b"?labelSelector=%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET " + MAPS.encode() + b"?limit=many HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET " + MAPS.encode() + b"?continue=garbage HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET " + MAPS.encode() + b"?fieldSelector=nothing%3Da HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET /api/v1/namespaces/..%2F..%2Fetc/configmaps/%00 HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    (b"GET /api/v1/namespaces/\xff\xfe/configmaps/x HTTP/1.1\r\nHost: x\r\n\r\n", None),
    (b"PRI * HTTP/2.0\r\n\r\nnonsense", None),
])
def test_wrong_bytes_get_an_answer_or_the_end(server, text, code):
    got = say(server, text)
    got.partition(b"\r\n\r\n")[2].decode() if b"application/json" in got else None
    if code is not None:
        assert got.startswith(b"HTTP/1.1 %d " % code), got[:300]
        assert json.loads(got.partition(b"\r\n\r\n")[2])["kind"] == "Status"
    assert lives(server)


def test_a_header_cannot_smuggle_a_second_request(server):
    got = say(server, post(b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\nGET /version HTTP/1.1\r\n\r\n"))
    assert got.startswith(b"HTTP/1.1 400 ") and b"gitVersion" not in got


def test_bodies_that_are_no_objects(server):
    huge_number = b'{"metadata":{"name":"n"},"data":{"a":' + b"9" * 5000 + b"}}"
    for body, kind, code in [
        (os.urandom(2000), "application/json", 400),
        (b"k8s\x00" + os.urandom(500), "application/vnd.kubernetes.protobuf", 400),
        (b"k8s\x00\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "application/vnd.kubernetes.protobuf", 400),
        (b'{"metadata":{"name":"a\xff"}}', "application/json", 400),
        (b'{"metadata":{"name":"\\ud800"}}', "application/json", 400),
        (b"a: &x [*x, *x]\n", "application/yaml", 400),
        (b"a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
         b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n"
         b"g: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g]\n", "application/yaml", 400),
        (b"\t- : : [", "application/yaml", 400),
        (huge_number, "application/json", 400),
        (b'{"metadata":{"name":"x"}}', "text/html", 415),
        (b"[]", "application/json", 400),
        (b'"text"', "application/json", 400),
        (b"", "application/json", 400),
    ]:
        status, answer = server.ask("POST", MAPS, body, kind=kind)
        assert (status, answer.get("kind")) == (code, "Status"), (body[:60], status, answer)
    assert lives(server)


def test_a_compressed_body_is_refused_in_words(server):
    body = gzip.compress(b'{"metadata":{"name":"zipped"}}')
    status, answer = server.ask("POST", MAPS, body, headers={"Content-Encoding": "gzip"})
    assert status in (400, 415) and answer["kind"] == "Status" and "Content-Encoding" in answer["message"], answer
    assert server.ask("GET", MAPS + "/zipped")[0] == 404


def test_a_body_that_stops_halfway_creates_nothing(server):
    body = b'{"metadata":{"name":"half"},"data":{"a":"b"}}'
    with connect(server) as wire:
        wire.sendall(post(b"Content-Type: application/json\r\nContent-Length: %d\r\n" % (len(body) + 10), body))
    assert lives(server)
    assert server.ask("GET", MAPS + "/half")[0] == 404


def test_ten_megabytes_are_refused_before_they_have_come(server):
    got = say(server, post(b"Content-Type: application/json\r\nContent-Length: 10000000\r\n", b"x" * 1000))
    assert got.startswith(b"HTTP/1.1 413 ") and b"RequestEntityTooLarge" in got
    chunked = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(160)) + b"0\r\n\r\n"
    got = say(server, post(b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", chunked))
    assert got.startswith(b"HTTP/1.1 413 ")
    assert lives(server)


@pytest.mark.parametrize("where,quantity", [("requests", "-1"), ("limits", "-5Gi"), ("requests", "abc"),
                                            ("requests", "1.5.5")])
def test_amounts_that_are_none_are_refused_by_field(server, where, quantity):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "odd"}, "spec": {"containers": [
        {"name": "c", "image": "busybox", "resources": {where: {"cpu": quantity}}}]}}
    status, answer = server.ask("POST", "/api/v1/namespaces/default/pods", json.dumps(pod).encode())
    assert status == 422, answer
    assert any(c["field"] == f"spec.containers[0].resources.{where}[cpu]" or "resources." + where in c["field"]
               for c in answer["details"]["causes"]), answer


def test_versions_and_kinds_that_are_not_served(server):
    for path in ("/apis/batch/v9/namespaces/default/jobs", "/api/v2/pods", "/apis/batch/v1/namespaces/default/things"):
        status, answer = server.ask("GET", path)
        assert (status, answer["reason"]) == (404, "NotFound"), (path, answer)
    # What others define: nobody knows what it could have been.
    assert server.ask("GET", "/apis/ray.io/v2/rayclusters") == (404, "404 page not found\n")
    wrong = {"apiVersion": "batch/v1", "kind": "CronJobb", "metadata": {"name": "x"}}
    status, answer = server.ask("POST", "/apis/batch/v1/namespaces/default/jobs", json.dumps(wrong).encode())
    assert status == 400 and "CronJobb" in answer["message"], answer


def test_clients_that_dawdle_harm_nobody(server):
    wires = [connect(server) for _ in range(100)]
    try:
        for i, wire in enumerate(wires):
            wire.sendall(b"POST " + MAPS.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Le" if i % 2 else b"G")
        for i in range(20):
            for wire in wires[i::20]:
                wire.sendall(b"E" if wire is wires[0] else b"n" if wires.index(wire) % 2 else b"E")
            assert lives(server)
    finally:
        for wire in wires:
            wire.close()


def test_mangled_requests_from_many_sides_at_once(server):
    whole = post(b"Content-Type: application/json\r\nContent-Length: 27\r\n", b'{"metadata":{"name":"m-0"}}')

    def mangle(seed: int) -> None:
        for turn in range(10):
            text = bytearray(whole)
            for k in range(1 + turn % 4):
                text[(seed * 7919 + turn * 104729 + k * 31) % len(text)] = (seed * 31 + turn * 17 + k) % 256
            with connect(server) as wire:
                wire.settimeout(5)
                try:
                    wire.sendall(bytes(text))
                    wire.shutdown(socket.SHUT_WR)
                    wire.recv(65536)
                except OSError:
                    pass

    threads = [threading.Thread(target=mangle, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lives(server)
