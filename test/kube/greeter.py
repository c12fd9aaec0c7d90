# test/kube/greeter.py - runs the controller of test/kubernetes/controller on a server, with the rights that it needs and no others.
import itertools
import json
import os
import queue
import subprocess
import threading

import yaml

import access
import cluster as partner
from conftest import ROOT, until
from outside import PATCH
from program import Program

HERE = ROOT / "test/kubernetes"
GREETINGS = "/apis/test.muster.dev/v1/namespaces/{ns}/greetings"
RULES = [
    {"apiGroups": ["test.muster.dev"], "resources": ["greetings"],
     "verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]},
    {"apiGroups": ["test.muster.dev"], "resources": ["greetings/status", "greetings/scale", "greetings/finalizers"],
     "verbs": ["get", "update", "patch"]},
    {"apiGroups": [""], "resources": ["configmaps"],
     "verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}]
names = (f"greet-{number}" for number in itertools.count())


def program() -> str:
    done = subprocess.run([str(HERE / "build_controller.sh")], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


class Field:
    """A namespace of a server, with the account of the controller."""

    def __init__(self, server, ns: str = ""):
        self.server, self.ns = server, ns or next(names)
        self.greetings = GREETINGS.format(ns=self.ns)
        self.maps = f"/api/v1/namespaces/{self.ns}/configmaps"
        self.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                 yaml.safe_load((HERE / "controller/greeting.yaml").read_text()), there=True)
        self.put("/api/v1/namespaces", {"metadata": {"name": self.ns}})
        self.put(f"/api/v1/namespaces/{self.ns}/serviceaccounts", {"metadata": {"name": "greeter"}})
        roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.ns}"
        self.put(f"{roles}/roles", {"metadata": {"name": "greeter"}, "rules": RULES})
        self.put(f"{roles}/rolebindings", {
            "metadata": {"name": "greeter"}, "subjects": [{"kind": "ServiceAccount", "name": "greeter", "namespace": self.ns}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "greeter"}})
        self.kubeconfig = server.write_kubeconfig(f"{self.ns}.kubeconfig", user={"token": access.token(server, "greeter", self.ns)})
        until("the kind is served", lambda: server.request("GET", self.greetings)[0] == 200)

    def put(self, path: str, body: dict, there: bool = False) -> dict:
        status, answer = self.server.request("POST", path, body)
        assert status == 201 or there and status == 409, answer
        return answer

    def get(self, path: str) -> dict:
        """An object; an empty dict when it is not there."""
        status, answer = self.server.request("GET", path)
        assert status in (200, 404), answer
        return answer if status == 200 else {}

    def patch(self, path: str, body: dict) -> dict:
        status, answer = self.server.request("PATCH", path, body, PATCH)
        assert status == 200, answer
        return answer

    def delete(self, path: str, body: dict | None = None) -> None:
        status, answer = self.server.request("DELETE", path, body)
        assert status in (200, 202), answer

    def greeting(self, name: str) -> dict:
        return self.get(f"{self.greetings}/{name}")

    def text(self, name: str) -> str | None:
        """What the ConfigMap of a Greeting says."""
        return self.get(f"{self.maps}/greeting-{name}").get("data", {}).get("text")

    def look(self, word: str, env: dict) -> dict:
        done = subprocess.run([program(), "look", "--kubeconfig", str(self.kubeconfig), "--namespace", self.ns, "--word", word],
                              env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)


class Greeter(Program):
    """The controller; its log is kept in the server's folder."""

    def __init__(self, field: Field, name: str):
        self.log = field.server.folder / f"{field.ns}-{name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [program(), "run", "--kubeconfig", str(field.kubeconfig), "--namespace", field.ns, "--id", name],
                stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=partner.end_with_parent)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put("")

    def says(self, wanted: str) -> "Greeter":
        """Its next line."""
        try:
            line = self.lines.get(timeout=90)
        except queue.Empty:
            line = "nothing in time"
        assert line == wanted, f"{line}: {self.log.read_text()[-4000:]}"
        return self

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.process.stdout.close()
