# test/attacks/wire.py - connections that do what no proper client does: HTTP/1.1 by hand, HTTP/2 frames with windows that stay shut.
import base64
import json
import pathlib
import socket
import ssl
import struct

import yaml

DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


class Door:
    """How a server is reached: its address, its authority, and the tokens that tests have asked it for."""

    def __init__(self, kubeconfig: pathlib.Path):
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, self.user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host, port = cluster["server"].removeprefix("https://").split(":")
        self.port = int(port)
        self.authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.folder = kubeconfig.parent

    def context(self, *protocols: str, admin: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.authority)
        if admin:
            for name in ("client-certificate-data", "client-key-data"):
                (self.folder / name).write_bytes(base64.b64decode(self.user[name]))
            context.load_cert_chain(self.folder / "client-certificate-data", self.folder / "client-key-data")
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def connect(self, *protocols: str, timeout: float = 60, admin: bool = False) -> ssl.SSLSocket:
        raw = socket.create_connection((self.host, self.port), timeout=timeout)
        return self.context(*protocols, admin=admin).wrap_socket(raw, server_hostname="localhost")

    def ask(self, method: str, path: str, token: str | None = None, body: bytes = b"", kind: str = "application/json",
            timeout: float = 60, admin: bool = False) -> tuple[int, bytes]:
        """One request over a connection of its own; status and body."""
        with self.connect("http/1.1", timeout=timeout, admin=admin) as wire:
            wire.sendall(request(method, path, token, len(body), kind) + body)
            return read_answer(wire)


def request(method: str, path: str, token: str | None, length: int = 0, kind: str = "application/json", more: str = "") -> bytes:
    """The head of a request of HTTP/1.1."""
    text = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}"
    if token is not None:
        text += f"Authorization: Bearer {token}\r\n"
    if length:
        text += f"Content-Type: {kind}\r\nContent-Length: {length}\r\n"
    return (text + "\r\n").encode()


def read_answer(wire) -> tuple[int, bytes]:
    """Until the server closes. Status 0: it closed without an answer."""
    got = b""
    try:
        while piece := wire.recv(65536):
            got += piece
    except (ConnectionError, ssl.SSLError):
        pass
    head, _, body = got.partition(b"\r\n\r\n")
    if not head:
        return 0, b""
    if b"chunked" in head.lower():
        whole, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            whole, rest = whole + rest[:int(size, 16)], rest[int(size, 16) + 2:]
        body = whole
    return int(head.split()[1]), body


def literal(name: str, value: str) -> bytes:
    """A field of HPACK, neither indexed nor packed."""
    def text(of: bytes) -> bytes:
        if len(of) < 127:
            return bytes([len(of)]) + of
        rest, out = len(of) - 127, b"\x7f"
        while rest > 127:
            out, rest = out + bytes([rest % 128 + 128]), rest // 128
        return out + bytes([rest]) + of
    return b"\x00" + text(name.encode()) + text(value.encode())


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Http2:
    """One HTTP/2 connection. `window`: what each stream may receive before it says more, and it never does."""

    def __init__(self, door: Door, window: int = 0):
        self.wire = door.connect("h2")
        self.next = 1
        self.got = b""  # Of a frame that has not come whole.
        self.wire.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window)))

    def ask(self, method: str, path: str, token: str | None, more: list[tuple[str, str]] = (), ends: bool = True) -> int:
        """The head of a request; its stream."""
        fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path), *more]
        if token is not None:
            fields.append(("authorization", f"Bearer {token}"))
        stream, self.next = self.next, self.next + 2
        block = b"".join(literal(*field) for field in fields)
        self.wire.sendall(frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), stream, block))
        return stream

    def send(self, stream: int, body: bytes, ends: bool = False) -> None:
        for at in range(0, len(body), 16384):
            last = ends and at + 16384 >= len(body)
            self.wire.sendall(frame(DATA, END_STREAM if last else 0, stream, body[at:at + 16384]))

    def frames(self, seconds: float):
        """What the server says until it is silent for so long: kind, flags, stream, payload."""
        self.wire.settimeout(seconds)
        while True:
            try:
                piece = self.wire.recv(65536)
            except (TimeoutError, OSError):
                return
            if not piece:
                return
            self.got += piece
            while len(self.got) >= 9 and len(self.got) >= 9 + (size := int.from_bytes(self.got[:3], "big")):
                whole, self.got = self.got[:9 + size], self.got[9 + size:]
                yield whole[3], whole[4], int.from_bytes(whole[5:9], "big"), whole[9:]

    def close(self) -> None:
        self.wire.close()


def user_of(muster, ns: str, role: str) -> str:
    """A namespace with a service account that has a role in it; its token."""
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": role, "namespace": ns}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role, "namespace": ns},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
             "subjects": [{"kind": "ServiceAccount", "name": role, "namespace": ns}]}]
    muster.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}'
    status, answer = Door(muster.kubeconfig).ask("POST", f"/api/v1/namespaces/{ns}/serviceaccounts/{role}/token", body=body, admin=True)
    assert status == 201, answer
    return json.loads(answer)["status"]["token"]
