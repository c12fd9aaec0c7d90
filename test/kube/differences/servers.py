# test/kube/differences/servers.py - the two servers that are compared, asked over HTTP/1.1.
import base64
import dataclasses
import http.client
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator

import yaml


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict[str, list[str]]  # Names in lower case.
    body: bytes

    @property
    def json(self):
        """The body as a value; its text when it is not JSON."""
        text = self.body.decode(errors="replace")
        try:
            return json.loads(text)
        except ValueError:
            return text


class Server:
    """One API server, asked as its administrator; each thread has a connection of its own."""

    def __init__(self, name: str, kubeconfig: pathlib.Path):
        self.name = name
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.place = urllib.parse.urlsplit(cluster["server"])
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        pair = kubeconfig.parent / f"{name}-client.pem"
        pair.write_bytes(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        self.context.load_cert_chain(pair)
        self.local = threading.local()

    def connect(self, timeout: float = 60) -> http.client.HTTPSConnection:
        made = http.client.HTTPSConnection(self.place.hostname, self.place.port, timeout=timeout, context=self.context)
        made.connect()
        # Head and body are two writes: without this the second waits for the other side's word.
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        for again in (True, False):
            fresh = not hasattr(self.local, "connection")
            if fresh:
                self.local.connection = self.connect()
            try:
                return self._ask(self.local.connection, method, path, body, headers or {})
            except (http.client.HTTPException, OSError):
                # A connection that was kept may have been ended by the server meanwhile.
                self.local.connection.close()
                del self.local.connection
                if fresh or not again:
                    raise
        raise AssertionError("not reached")

    @staticmethod
    def _ask(connection, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        return taken(connection.getresponse())

    def lines(self, path: str, headers: dict[str, str] | None = None, timeout: float = 60) -> Iterator[bytes]:
        """The lines of an answer as they come, on a connection of its own."""
        connection = self.connect(timeout)
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            while line := answer.readline():
                yield line
        finally:
            connection.close()


def taken(answer: http.client.HTTPResponse) -> Answer:
    headers: dict[str, list[str]] = {}
    for name, value in answer.getheaders():
        headers.setdefault(name.lower(), []).append(value)
    return Answer(answer.status, headers, answer.read())


# As an API server of Kubernetes is configured when nobody says anything.
CONFIG = """
apiVersion: muster.dev/v1alpha1
kind: Configuration
podSecurity: {defaults: {enforce: privileged}}
"""


class Muster:
    """`muster up`, the API server alone: nothing acts on what is written."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path):
        self.folder, self.kubeconfig = folder, folder / "muster.kubeconfig"
        self.log = folder / "muster.log"
        (folder / "muster.yaml").write_text(CONFIG)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [str(program), "up", "--api-only", "--data", str(folder / "state"), "--kubeconfig", str(self.kubeconfig),
                 "--listen", "127.0.0.1:0", "--config", str(folder / "muster.yaml")], stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout.readline().strip() == "ready", self.log.read_text()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
