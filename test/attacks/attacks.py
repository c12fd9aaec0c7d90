# test/attacks/attacks.py - the attacks on the server's memory, each as what it takes and what it does; tests and the bench play them.
import contextlib
import json
import os
import pathlib
import socket
import ssl
import threading
import time

from wire import Door, Http2, request, user_of

FULL = os.environ.get("MUSTER_ATTACKS") == "full"
MAPS = "/api/v1/namespaces/ta/configmaps"
MB = 1 << 20


def sized(full: int) -> int:
    """A tenth of it in the normal run."""
    return full if FULL else max(1, full // 10)


class Memory:
    """How much memory a process has had since this began."""

    def __init__(self, process):
        self.folder = pathlib.Path(f"/proc/{process.pid}")
        (self.folder / "clear_refs").write_text("5")

    def peak_mb(self) -> int:
        lines = (self.folder / "status").read_text().splitlines()
        assert any(line.startswith("VmHWM") for line in lines), "the process has ended"
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024


class Others:
    """A user who has nothing to do with the attack, and asks all the while: whether the server lives, and for an object of its own."""

    def __init__(self, muster):
        self.door = Door(muster.kubeconfig)
        self.token = user_of(muster, "tb", "view")
        self.took: list[float] = []
        self.wrong: list = []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.go_on, daemon=True)

    def ask_once(self) -> None:
        for path, token in (("/readyz", None), ("/api/v1/namespaces/tb/serviceaccounts/view", self.token)):
            begun = time.monotonic()
            try:
                status = self.door.ask("GET", path, token)[0]
            except OSError as error:
                status = repr(error)
            self.took.append(time.monotonic() - begun)
            if status != 200:
                self.wrong.append((path, status))

    def go_on(self) -> None:
        while not self.done.wait(0.05):
            self.ask_once()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def fill(door: Door, token: str) -> None:
    """Six megabytes of ConfigMaps, as `edit` may make them."""
    data = {f"k{i}": "x" for i in range(200_000)}
    for name in ("a", "b", "c"):
        body = json.dumps({"metadata": {"name": name}, "data": data}).encode()
        status, answer = door.ask("POST", MAPS, token, body)
        assert status == 201, answer[:300]


@contextlib.contextmanager
def unread(connections: list[Http2]):
    """Frames that the server sends nevertheless are taken, so that it is the windows that are shut and not the sockets."""
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def statuses_of(connections: list[Http2], seconds: float) -> int:
    """How many streams have been answered, with whatever, when all are silent for so long. The first answer of a busy server may be late."""
    deadline, found = time.monotonic() + 60, 0
    while found == 0 and time.monotonic() < deadline:
        found = sum(1 for connection in connections for kind, *_ in connection.frames(seconds) if kind == 1)
    return found


def lists(door: Door, token: str, connections: int, streams: int, more=(), path: str = MAPS) -> list[Http2]:
    """F12: lists over connections that take no byte of any."""
    made = [Http2(door) for _ in range(connections)]
    for connection in made:
        for _ in range(streams):
            connection.ask("GET", path, token, more)
    return made


def watches(door: Door, token: str, connections: int, streams: int) -> list[Http2]:
    """F12b: the same of watches, whose initial events are the whole list."""
    return lists(door, token, connections, streams, path=MAPS + "?watch=1")


def bodies(door: Door, token: str | None, connections: int, size: int) -> list[ssl.SSLSocket]:
    """F13: bodies that never end, over HTTP/1.1."""
    made = []
    for _ in range(connections):
        wire = door.connect("http/1.1")
        made.append(wire)
        with contextlib.suppress(OSError):
            wire.settimeout(5)
            wire.sendall(request("POST", MAPS, token, size) + b"x" * (size - 1))
    return made


def bodies_http2(door: Door, token: str | None, connections: int, streams: int, size: int) -> list[Http2]:
    """F13: the same over HTTP/2, as far as the windows let it."""
    made = [Http2(door, 1 << 20) for _ in range(connections)]
    for connection in made:
        with contextlib.suppress(OSError):
            connection.wire.settimeout(5)
            for _ in range(streams):
                stream = connection.ask("POST", MAPS, token, [("content-length", str(size))], ends=False)
                connection.send(stream, b"x" * min(size - 1, 60_000))
    return made


def idle(door: Door, connections: int, secure: bool) -> list[socket.socket]:
    """F14: connections that say nothing."""
    made = []
    for _ in range(connections):
        raw = socket.create_connection((door.host, door.port), timeout=30)
        made.append(raw)
        if secure:
            with contextlib.suppress(OSError):  # It may be closed already to make room.
                made[-1] = door.context().wrap_socket(raw, server_hostname="localhost")
    return made


def close_all(made) -> None:
    for each in made:
        with contextlib.suppress(OSError):
            each.close()
