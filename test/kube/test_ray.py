# test/kube/test_ray.py - Ray itself on the real Kubernetes: the commands of the pods that `muster operator` makes are run.
import base64
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from cluster import free_ports
from conftest import MUSTER, until
from kubelet import Kubelet, RunPod
from on_cluster import OnCluster
from outside import Client

PYTHON = pathlib.Path(os.environ.get("MUSTER_PYTHON_HOME", sys.prefix))
RAYS = "/apis/ray.io/v1/namespaces/default"
# The pods' addresses. They are this machine's as long as the test lasts; nobody else reaches them.
HEAD, WORKER = (f"198.18.{os.getpid() % 200 + 20}.{number}" for number in (1, 2))
HOSTS = f"127.0.0.1 localhost\n{HEAD} live-head-svc.default.svc.cluster.local\n"
# Processes and /tmp of their own, and the names of Services. The network is the machine's: each pod says its own address and
# ports.
WALLS = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c"]
INSIDE = 'mount --bind "$0" /etc/hosts && mount -t tmpfs none /tmp && cd / && PATH="$1:$PATH" && shift && exec "$@"'
SQUARES = """import ray
ray.init(log_to_driver=False)
square = ray.remote(num_cpus=1)(lambda x: (x * x, ray.get_runtime_context().get_node_id()))
came = ray.get([square.remote(x) for x in range(10)])
print("squares", sum(each[0] for each in came), {each[1] for each in came} == {ray.get_runtime_context().get_node_id()})
"""


class WalledPod(RunPod):
    """Whose containers find `ray` and the Services."""

    def _start(self, spec: dict):
        command = [*spec.get("command", []), *spec.get("args", [])]
        return super()._start({**spec, "args": [], "command": [
            *WALLS, INSIDE, str(self.kubelet.cluster.folder / "hosts"), str(PYTHON / "bin"), *command]})


class RayKubelet(Kubelet):
    def play(self, pod: dict):
        self.addresses[pod["metadata"]["uid"]] = HEAD if pod["metadata"]["labels"]["ray.io/node-type"] == "head" else WORKER
        return WalledPod(self, pod)


class RayPlace(OnCluster):
    make_kubelet = RayKubelet


def group(address: str, **params: str) -> dict:
    agent, metrics, client = free_ports(3)
    container = {"name": "ray", "image": "rayproject/ray:2.58.0", "env": [{"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}],
                 "resources": {"requests": {"cpu": "100m", "memory": "1G"}, "limits": {"cpu": "1", "memory": "2G"}}}
    return {"template": {"spec": {"containers": [container]}}, "rayStartParams": {
        "node-ip-address": address, "dashboard-agent-listen-port": str(agent), "metrics-export-port": str(metrics),
        "ray-client-server-port": str(client), "object-store-memory": "100000000", **params}}


def ray_cluster() -> dict:
    head = group(HEAD, port=str(free_ports(1)[0]), **{"num-cpus": "0", "dashboard-host": HEAD})
    worker = group(WORKER, **{"num-cpus": "1"})
    del worker["rayStartParams"]["ray-client-server-port"]
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "live"}, "spec": {
        "rayVersion": "2.58.0", "authOptions": {"mode": "token"}, "headGroupSpec": head,
        "workerGroupSpecs": [{"groupName": "small", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, **worker}]}}


def set_addresses(verb: str, check: bool = True) -> None:
    for address in (HEAD, WORKER):
        subprocess.run(["ip", "address", verb, f"{address}/32", "dev", "lo"], check=check, capture_output=not check, timeout=10)


@pytest.fixture
def place(make_folder):
    folder = make_folder()
    (folder / "hosts").write_text(HOSTS)
    log = folder / "operator.log"
    set_addresses("del", check=False)  # Of a run that was killed.
    try:
        set_addresses("add")
        made = RayPlace(MUSTER, folder, "node:cpu=8,memory=8Gi,pods=110")
        try:
            yield made.start()
            assert made.refused() == set(), "what the operator has no right to"
        finally:
            made.close()
    finally:
        set_addresses("del", check=False)
        if log.exists():
            print(log.read_text()[-3000:])


def told_of(place) -> str:
    """What the containers have printed."""
    return "\n".join(f"--- {log.name}: {log.read_text()[-2500:]}" for log in sorted((place.folder / "pods").glob("*/*.log")))


@pytest.mark.skipif(os.geteuid() != 0, reason="gives addresses to the machine")
def test_a_job_runs_on_real_ray_and_its_status_is_on_the_api_server(place):
    client = Client(place.cluster)
    client.insist("POST", f"{RAYS}/rayclusters", ray_cluster())
    client.insist("POST", f"{RAYS}/rayjobs", {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "squares"}, "spec": {
        "submissionMode": "HTTPMode", "clusterSelector": {"ray.io/cluster": "live"},
        "entrypoint": f"python -c '{SQUARES}'"}})

    def over() -> dict:
        status = client.insist("GET", f"{RAYS}/rayjobs/squares").get("status", {})
        return status if status.get("jobDeploymentStatus") in ("Complete", "Failed") else {}

    try:
        status = until("the job is over", over, 180)
    except AssertionError:
        print(told_of(place), json.dumps([client.insist("GET", f"{RAYS}/{kind}")["items"] for kind in ("rayclusters", "rayjobs")], indent=1))
        raise
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED"), (status, told_of(place))
    assert status["dashboardURL"] == "live-head-svc.default.svc.cluster.local:8265"
    cluster = client.insist("GET", f"{RAYS}/rayclusters/live")["status"]
    assert (cluster["state"], cluster["readyWorkerReplicas"]) == ("ready", 1)
    # What Ray itself says: the tasks were run on the worker, for the head has no CPU.
    secret = client.insist("GET", "/api/v1/namespaces/default/secrets/live")["data"]["auth_token"]
    url = f"http://{HEAD}:8265/api/jobs/{status['jobId']}"
    asked = urllib.request.Request(f"{url}/logs", headers={"Authorization": f"Bearer {base64.b64decode(secret).decode()}"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert "squares 285 False" in json.load(answer)["logs"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(url, timeout=10).close()
    # What is deleted takes its processes along.
    client.insist("DELETE", f"{RAYS}/rayclusters/live")
    until("its pods are gone", lambda: not place.kubelet.played, 60)
