# test/kube/test_credentials.py - an operator whose token or certificate is replaced while it works: by a slow plugin, by a file.
import datetime
import http.client
import json
import os
import pathlib
import ssl
import stat
import time

import pytest

import kinds
from conftest import until
from test_operator import Operator, Team
from test_operator_leader import LEASE

NAMESPACE = "credentials"
SLOW = 12  # Seconds that the plugin takes: longer than a Lease may go without being renewed, and longer than a webhook has.
PLUGIN = f"""#!/bin/sh
# What the test has put beside it; slowly, but for the first time.
cd "$(dirname "$0")"
if [ -e slow ]; then sleep {SLOW}; fi
cat answer
echo run >>runs
"""


@pytest.fixture(scope="module")
def ground(cluster):
    """Muster's kinds, and an account that may do everything."""
    kinds.install(cluster, kinds.crds(kinds.KUEUE))
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "muster-system"}})
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    cluster.request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "robot"}})
    cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "robot"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                                   "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": NAMESPACE}]})
    return cluster


@pytest.fixture
def start(ground):
    running = []

    def start(*flags: str, kubeconfig) -> Operator:
        running.append(Operator(ground, *flags, kubeconfig=kubeconfig).start())
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.stop()


class Token:
    """One of the robot's that is good as long as a Secret is there."""

    def __init__(self, cluster, name: str):
        self.cluster, self.path = cluster, f"/api/v1/namespaces/{NAMESPACE}/secrets"
        status, secret = cluster.request("POST", self.path, {"metadata": {"name": name}})
        assert status == 201, secret
        self.path += f"/{name}"
        bound = {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": secret["metadata"]["uid"]}
        status, answer = cluster.request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/robot/token",
                                         {"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}})
        assert status == 201, answer
        self.text = answer["status"]["token"]

    def is_good(self) -> bool:
        context = ssl.create_default_context(cadata=self.cluster.authority_pem)
        connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, timeout=30, context=context)
        try:
            connection.request("GET", "/api/v1/namespaces/default", headers={"Authorization": f"Bearer {self.text}"})
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def end(self) -> None:
        """The server remembers for some seconds that it was good."""
        self.cluster.request("DELETE", self.path)
        until("the token is refused", lambda: not self.is_good())


class Plugin:
    def __init__(self, folder: pathlib.Path):
        self.folder, self.path = folder, folder / "plugin"
        self.path.write_text(PLUGIN)
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def answer(self, **status: str) -> None:
        said = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
        fresh = self.folder / "answer.new"
        fresh.write_text(json.dumps(said))
        fresh.rename(self.folder / "answer")

    def runs(self) -> int:
        noted = self.folder / "runs"
        return len(noted.read_text().split()) if noted.exists() else 0

    def user(self) -> dict:
        return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(self.path), "interactiveMode": "Never"}}


def soon(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(time.time() + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def admits(ground, name: str) -> None:
    """It decides, and writes what it has decided."""
    team = Team(ground, cpu="1")
    team.submit(name)
    until("it works", lambda: team.is_true(name, "Admitted"))


def test_a_slow_plugin_does_not_cost_the_leadership(ground, start, make_folder):
    plugin = Plugin(make_folder())
    first = Token(ground, "first")
    plugin.answer(token=first.text, expirationTimestamp=soon(30))
    leader = start("--leader-elect", kubeconfig=ground.write_kubeconfig("slow-plugin", user=plugin.user()))
    assert leader.line() == "leading" and leader.line() == "ready", leader.log.read_text()[-3000:]
    lease = ground.request("GET", LEASE)[1]["spec"]
    (plugin.folder / "slow").touch()
    tokens = [first]
    for name in ["second", "third"]:
        tokens.append(Token(ground, name))
        ran = plugin.runs()
        plugin.answer(token=tokens[-1].text, expirationTimestamp=soon(60))
        until("the plugin has run", lambda: plugin.runs() > ran, timeout=120)
        tokens[-2].end()
        admits(ground, f"with-{name}")
    now = ground.request("GET", LEASE)[1]["spec"]
    assert (now["holderIdentity"], now["leaseTransitions"]) == (lease["holderIdentity"], lease["leaseTransitions"])
    assert "the Lease is lost" not in leader.log.read_text()
    assert leader.stop() == 0


def test_a_plugin_that_still_runs_does_not_hold_up_the_end(ground, start, make_folder):
    plugin = Plugin(make_folder())
    token = Token(ground, "last")
    plugin.answer(token=token.text, expirationTimestamp=soon(1))  # It is wanted anew from the first moment on.
    running = start(kubeconfig=ground.write_kubeconfig("ending-plugin", user=plugin.user()))
    running.wait_ready()
    (plugin.folder / "slow").touch()
    ran = plugin.runs()
    until("it runs again", lambda: plugin.runs() > ran, timeout=60)
    began = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - began < SLOW


def test_a_certificate_of_a_plugin_is_replaced_when_it_ends(ground, start, make_folder):
    """It does not say when it ends: the server does."""
    plugin = Plugin(make_folder())

    def give(life: int) -> None:
        certificate, key = ground.authority.issue("robot", ["system:masters"], life=datetime.timedelta(seconds=life))
        plugin.answer(clientCertificateData=certificate, clientKeyData=key)

    give(20)
    running = start(kubeconfig=ground.write_kubeconfig("certificate-plugin", user=plugin.user()))
    running.wait_ready()
    give(25)
    until("the plugin is asked again", lambda: plugin.runs() > 1, timeout=90)
    give(3600)
    until("and again", lambda: plugin.runs() > 2, timeout=90)
    admits(ground, "renewed")
    assert running.stop() == 0


def test_a_token_file_that_is_written_anew(ground, start, make_folder):
    path = make_folder() / "token"
    token = Token(ground, "of-the-file")
    path.write_text(token.text + "\n")
    running = start(kubeconfig=ground.write_kubeconfig("rotated", user={"tokenFile": str(path)}))
    running.wait_ready()
    admits(ground, "before")
    for name in ["rotated-once", "rotated-twice"]:
        fresh, beside = Token(ground, name), path.with_name("fresh")
        beside.write_text(fresh.text + "\n")
        os.replace(beside, path)
        token.end()
        token = fresh
        admits(ground, name)
    assert running.process.poll() is None
    assert running.stop() == 0
