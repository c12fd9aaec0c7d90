# test/kubernetes/kubelet.py - plays the one node of a cluster: says of its pods what a kubelet would say, or runs them.
"""Pods that are only told of run for a while and end well; pods that are run are processes of this machine without any walls
around them, which serves for the commands that tests write."""
import base64
import collections
import datetime
import http.client
import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

from client import PATCH, Client


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class ToldPod:
    """A pod of which is only said that it runs, and after a while, when it is one that ends, that it has ended."""

    def __init__(self, kubelet: "Kubelet", pod: dict):
        self.kubelet, self.began = kubelet, time.time()

    def look(self, pod: dict) -> tuple[str, bool, dict]:
        """Phase, readiness, and the states of its containers (those not named are as the phase says)."""
        ends = pod["spec"]["restartPolicy"] == "Never" and pod["metadata"]["name"] not in self.kubelet.forever
        return "Succeeded" if ends and time.time() - self.began > self.kubelet.seconds else "Running", True, {}

    def end(self) -> bool:
        """Asked again and again once it is to go. True when it is over."""
        return True

    def forget(self) -> None:
        """The pod is gone, or the node goes."""


class Container:
    """One process, started again when its pod's policy says so."""

    def __init__(self, spec: dict, folder: pathlib.Path, env: dict, address: str):
        self.spec, self.log, self.env, self.folder = spec, folder / f"{spec['name']}.log", env, folder
        self.address = address
        self.restarts, self.process, self.again = -1, None, 0.0
        self.is_ready, self.asked = "readinessProbe" not in spec, 0.0
        self.start()

    def start(self) -> None:
        self.restarts += 1
        command = [*self.spec.get("command", []), *self.spec.get("args", [])]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env, cwd=self.folder,
                                            start_new_session=True)
        self.began, self.again = now(), time.time() + min(10 * self.restarts, 60) + 1

    def code(self) -> int | None:
        """Of its end, as a shell tells it."""
        ended = self.process.poll()
        return ended if ended is None or ended >= 0 else 128 - ended

    def look(self, policy: str) -> None:
        ended = self.code()
        if ended is not None and (policy == "Always" or policy == "OnFailure" and ended) and time.time() > self.again:
            self.start()
        probe = self.spec.get("readinessProbe", {})
        if "exec" in probe and time.time() - self.asked > probe.get("periodSeconds", 10):
            self.asked = time.time()
            self.is_ready = subprocess.run(probe["exec"]["command"], env=self.env, capture_output=True, check=False).returncode == 0
        if "httpGet" in probe and time.time() - self.asked > probe.get("periodSeconds", 10):
            self.asked = time.time()
            self.is_ready = self.answers(probe["httpGet"])

    def answers(self, get: dict) -> bool:
        named = {each["name"]: each["containerPort"] for each in self.spec.get("ports", []) if "name" in each}
        connection = http.client.HTTPConnection(self.address, named.get(get["port"], get["port"]), timeout=3)
        try:
            connection.request("GET", get["path"])
            return 200 <= connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def state(self) -> dict:
        ended = self.code()
        if ended is None:
            return {"running": {"startedAt": self.began}}
        return {"terminated": {"exitCode": ended, "reason": "Error" if ended else "Completed", "startedAt": self.began, "finishedAt": now()}}

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


class RunPod:
    """A pod whose containers are processes."""

    def __init__(self, kubelet: "Kubelet", pod: dict):
        self.kubelet, self.spec, self.told = kubelet, pod["spec"], 0.0
        # Most say an address that nobody has, and listen on 127.0.0.1. Who is given one before it is played has it.
        self.address = kubelet.addresses.get(pod["metadata"]["uid"], "127.0.0.1")
        self.folder = kubelet.folder / pod["metadata"]["uid"]
        self.folder.mkdir(parents=True)
        self.first = collections.deque(self.spec.get("initContainers", []))
        self.containers: dict[str, Container] = {}
        self.failed = False
        self.pod = pod

    def _start(self, spec: dict) -> Container:
        env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env.update({each["name"]: self._value(each) for each in spec.get("env", [])})
        self.containers[spec["name"]] = Container(spec, self.folder, env, self.address)
        return self.containers[spec["name"]]

    def _value(self, each: dict) -> str:
        """Of an environment variable; of what stands elsewhere, only the pod's own fields, ConfigMaps and Secrets are known."""
        source = each.get("valueFrom", {})
        if "fieldRef" in source:
            found, (path, _, key) = self.pod, source["fieldRef"]["fieldPath"].partition("['")  # metadata.labels['a.b']
            for name in path.split("."):
                found = found.get(name, {})
            return str((found.get(key[:-2]) if key else found) or "")
        if "configMapKeyRef" in source:
            wanted = source["configMapKeyRef"]
            path = f"/api/v1/namespaces/{self.pod['metadata']['namespace']}/configmaps/{wanted['name']}"
            return self.kubelet.client.insist("GET", path)["data"][wanted["key"]]
        if "secretKeyRef" in source:
            wanted = source["secretKeyRef"]
            path = f"/api/v1/namespaces/{self.pod['metadata']['namespace']}/secrets/{wanted['name']}"
            return base64.b64decode(self.kubelet.client.insist("GET", path)["data"][wanted["key"]]).decode()
        return each.get("value", "")

    def look(self, pod: dict) -> tuple[str, bool, dict]:
        states = {}
        while self.first and not self.failed:
            spec = self.first[0]
            one = self.containers.get(spec["name"]) or self._start(spec)
            one.look("OnFailure" if self.spec["restartPolicy"] != "Never" else "Never")
            if one.code() is None:
                return "Pending", False, {}
            self.failed = one.code() != 0 and self.spec["restartPolicy"] == "Never"
            if one.code() != 0:
                return "Failed" if self.failed else "Pending", False, {}
            self.first.popleft()
        if self.failed:
            return "Failed", False, {}
        for spec in self.spec["containers"]:
            one = self.containers.get(spec["name"]) or self._start(spec)
            one.look(self.spec["restartPolicy"])
            states[spec["name"]] = one
        codes = [one.code() for one in states.values()]
        over = all(code is not None for code in codes)
        policy = self.spec["restartPolicy"]
        if over and (policy == "Never" or policy == "OnFailure" and not any(codes)):
            phase = "Failed" if any(codes) else "Succeeded"
        else:
            phase = "Running"
        return phase, all(one.is_ready and one.code() is None for one in states.values()), states

    def end(self) -> bool:
        if not self.told:
            self.told = time.time() + self.spec.get("terminationGracePeriodSeconds", 30)
            for one in self.containers.values():
                one.signal(signal.SIGTERM)
        if time.time() >= self.told:
            for one in self.containers.values():
                one.signal(signal.SIGKILL)
        return all(one.process.poll() is not None for one in self.containers.values())

    def forget(self) -> None:
        for one in self.containers.values():
            one.signal(signal.SIGKILL)
            one.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Logs(http.server.BaseHTTPRequestHandler):
    """What the API server asks the node for: /containerLogs/NAMESPACE/POD/CONTAINER."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        path, _, query = self.path.partition("?")
        text = self.server.kubelet.log_of(*path.split("/")[2:5])
        if "follow=true" in query:
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            return self._follow(path.split("/")[2:5])
        lines = urllib.parse.parse_qs(query).get("tailLines")
        if lines:
            text = b"".join(text.splitlines(True)[-int(lines[0]):])
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _follow(self, words: list[str]) -> None:
        self.close_connection, said = True, 0
        while True:
            is_over = self.server.kubelet.is_over(*words)
            text = self.server.kubelet.log_of(*words)
            self.wfile.write(text[said:])
            said = len(text)
            if is_over:
                return
            time.sleep(0.1)

    def log_message(self, *_) -> None:
        pass


class Kubelet:
    """Follows the pods of one node. `runs`: they are processes."""

    def __init__(self, cluster, name: str = "node", amounts: dict | None = None, seconds: float = 1.0, runs: bool = False):
        self.cluster, self.name, self.seconds, self.runs = cluster, name, seconds, runs
        self.client = Client(cluster)
        self.folder = cluster.folder / "pods"
        self.forever: set[str] = set()            # Names of pods that are only told of and do not end by themselves.
        self.pods: dict[str, dict] = {}           # By uid, as they were last seen.
        self.played: dict[str, ToldPod | RunPod] = {}
        self.said: dict[str, str] = {}            # What was last said of a pod.
        self.addresses: dict[str, str] = {}
        self.faults: list[str] = []
        self.ending, self.stream = False, None
        self.events: queue.Queue = queue.Queue()
        self.server = self._serve_logs()
        self._add_node(amounts or {"cpu": "64", "memory": "8Gi", "pods": "110"})
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self._run, self._watch, self.server.serve_forever)]
        for each in self.threads:
            each.start()

    def stop(self) -> None:
        self.ending = True
        if self.stream is not None and (sock := self.stream.sock) is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)  # It waits for the next event otherwise.
            except OSError:
                pass
        self.server.shutdown()
        self.server.server_close()
        for each in self.threads:
            each.join(timeout=30)
        for one in self.played.values():
            one.forget()
        assert not self.faults, "\n".join(self.faults[:10])

    def play(self, pod: dict):
        """How a pod is played."""
        has_commands = all("command" in c for c in pod["spec"]["containers"])
        return RunPod(self, pod) if self.runs and has_commands else ToldPod(self, pod)

    def _serve_logs(self) -> http.server.ThreadingHTTPServer:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Logs)
        server.daemon_threads, server.kubelet = True, self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cluster.folder / "server.crt", self.cluster.folder / "server.key")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        return server

    def _add_node(self, amounts: dict) -> None:
        self.client.insist("POST", "/api/v1/nodes", {"metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name}}})
        self.client.insist("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": {
            "capacity": amounts, "allocatable": amounts, "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.server.server_address[1]}}}}, PATCH)
        self._say_ready()

    def _say_ready(self) -> None:
        self.client.ask("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now(), "lastTransitionTime": now()}]}}, PATCH)

    def _watch(self) -> None:
        """Tells the other thread of all pods of this node, and begins anew when the stream breaks."""
        mine = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}"
        while not self.ending:
            try:
                status, listed = self.cluster.request("GET", mine)
                if status != 200:
                    raise OSError(status)
                self.events.put(("ALL", listed["items"]))
                self._follow(f"{mine}&watch=true&timeoutSeconds=20&resourceVersion={listed['metadata']['resourceVersion']}")
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.2)

    def _follow(self, path: str) -> None:
        connection = self.stream = self.cluster.connection(25)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            while not self.ending and (line := answer.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                self.events.put((event["type"], event["object"]))
        finally:
            connection.close()

    def _run(self) -> None:
        beat = time.time()
        while not self.ending:
            if time.time() - beat > 8:
                beat = time.time()
                self._say_ready()
            try:
                self._take(*self.events.get(timeout=0.1))
                while True:
                    self._take(*self.events.get_nowait())
            except queue.Empty:
                pass
            for uid, pod in list(self.pods.items()):
                try:
                    self._look(uid, pod)
                except Exception as problem:  # pylint: disable=broad-except  # Shown at the end; the other pods go on.
                    self.faults.append(f"{pod['metadata']['name']}: {problem!r}")
                    self.pods.pop(uid)

    def _take(self, what: str, seen) -> None:
        if what == "ALL":
            there = {pod["metadata"]["uid"]: pod for pod in seen}
            for uid in self.pods.keys() - there.keys():
                self._forget(uid)
            self.pods = there
        elif what == "DELETED":
            self._forget(seen["metadata"]["uid"])
        else:
            self.pods[seen["metadata"]["uid"]] = seen

    def _forget(self, uid: str) -> None:
        self.pods.pop(uid, None)
        one = self.played.pop(uid, None)
        if one:
            one.forget()

    def _look(self, uid: str, pod: dict) -> None:
        is_over = pod["status"].get("phase") in ("Succeeded", "Failed")
        if "deletionTimestamp" in pod["metadata"]:
            one = self.played.get(uid)
            if one is None or one.end():
                if one and not is_over:
                    self._say(pod, "Failed", False, one.look(pod)[2])
                self._remove(pod)
            return
        if is_over:
            return
        if uid not in self.played:
            self.played[uid] = self.play(pod)
        phase, ready, states = self.played[uid].look(pod)
        self._say(pod, phase, ready, states)

    def _say(self, pod: dict, phase: str, ready: bool, running: dict) -> None:
        meta, uid = pod["metadata"], pod["metadata"]["uid"]
        word = f"{phase} {ready} {[(one.restarts, one.code()) for one in running.values()]}"
        if self.said.get(uid) == word:
            return
        address = self.addresses.setdefault(uid, f"10.0.{len(self.addresses) // 250 % 250}.{len(self.addresses) % 250 + 1}")
        truth = {True: "True", False: "False"}[ready and phase == "Running"]
        as_phase = {"Running": {"running": {"startedAt": now()}}, "Pending": {"waiting": {"reason": "PodInitializing"}}}.get(
            phase, {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": now()}})
        statuses = []
        for c in pod["spec"]["containers"]:
            one = running.get(c["name"])
            state = one.state() if one else as_phase
            statuses.append({"name": c["name"], "image": c["image"], "imageID": "", "ready": ready and "running" in state,
                             "started": "running" in state, "restartCount": max(one.restarts, 0) if one else 0, "state": state})
        status, _ = self.client.ask("PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status", {
            "metadata": {"uid": uid}, "status": {
                "phase": phase, "startTime": pod["status"].get("startTime", now()), "podIP": address, "podIPs": [{"ip": address}],
                "hostIP": "127.0.0.1", "hostIPs": [{"ip": "127.0.0.1"}],
                "conditions": [{"type": kind, "status": truth, "lastTransitionTime": now()} for kind in ("Ready", "ContainersReady")] +
                              [{"type": kind, "status": "True", "lastTransitionTime": now()} for kind in ("PodScheduled", "Initialized")],
                "containerStatuses": statuses}}, PATCH)
        if status in (200, 404, 409):
            self.said[uid] = word

    def _remove(self, pod: dict) -> None:
        meta = pod["metadata"]
        status, _ = self.client.ask("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", {
            "gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
        # Who has a finalizer stays there a while; its processes are over, and nothing more is to be done.
        if status in (200, 404, 409):
            self.pods.pop(meta["uid"], None)

    def _played(self, ns: str, name: str) -> RunPod | None:
        for uid, pod in list(self.pods.items()):
            if (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (ns, name):
                return self.played.get(uid)
        return None

    def log_of(self, ns: str, name: str, container: str) -> bytes:
        """Asked by the threads of the log server."""
        one = self._played(ns, name)
        kept = one.containers.get(container) if isinstance(one, RunPod) else None
        return kept.log.read_bytes() if kept and kept.log.exists() else b""

    def is_over(self, ns: str, name: str, container: str) -> bool:
        one = self._played(ns, name)
        kept = one.containers.get(container) if isinstance(one, RunPod) else None
        return kept is None or kept.process.poll() is not None
