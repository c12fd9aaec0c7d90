# test/e2e/test_trouble.py - what goes wrong around Muster: the answer is clear, nothing is lost, the server lives.
import json
import socket
import ssl
import subprocess
import threading

import pytest

from conftest import MUSTER, both, job
from test_bad_input import Client

CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: broken}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - {name: head, image: IMAGE, command: ["sh", "-c", "echo no head today; exit 3; ray start"]}
"""


def why_waiting(pod: dict) -> dict:
    statuses = pod["status"].get("containerStatuses", [{}])
    return statuses[0].get("state", {}).get("waiting", {}) if statuses else {}


@both
def test_a_cluster_whose_head_dies_at_once_says_so_and_is_never_ready(muster):
    muster.apply(CLUSTER.replace("IMAGE", "busybox"))
    cluster = muster.until("the status tells of the head", lambda: (lambda c: c if any(
        x["type"] == "HeadPodReady" and x["reason"] in ("CrashLoopBackOff", "Error")
        for x in c.get("status", {}).get("conditions", [])) else None)(muster.get("raycluster", "broken")))
    assert cluster["status"].get("state", "") != "ready"
    muster.run("delete", "raycluster", "broken")
    muster.until("its pods are gone", lambda: not muster.get("pods", "-l", "ray.io/cluster=broken").get("items"))


@pytest.mark.muster_up("the node of the tests runs commands whatever the image is")
def test_an_unmapped_image_says_what_to_add(muster):
    muster.apply(job("unmapped", ns="default").replace("busybox", "example.com/secret/thing:1"))
    pod = muster.until("the pod says why", lambda: next((p for p in muster.get("pods", "-l", "job-name=unmapped").get(
        "items", []) if why_waiting(p).get("reason") in ("ErrImagePull", "ImagePullBackOff")), None))
    said = why_waiting(pod)["message"]
    assert "example.com/secret/thing" in said and "images" in said, said


@pytest.mark.muster_up("an operator keeps nothing in a folder")
def test_a_folder_that_is_not_ours_is_refused(make_muster):
    muster = make_muster()
    state = muster.folder / "state"
    state.mkdir()
    (state / "precious.txt").write_text("somebody's")
    done = subprocess.run([str(MUSTER), "up", "--data", str(state), "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0 and str(state) in done.stderr
    assert (state / "precious.txt").read_text() == "somebody's"


@pytest.mark.muster_up("on a cluster kube-apiserver streams to the clients")
def test_a_client_that_stops_reading_its_watch_harms_nobody(muster):
    client = Client(muster)
    host, port = client.server.removeprefix("https://").split(":")
    raw = socket.create_connection((host, int(port)))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck = client.context.wrap_socket(raw, server_hostname="localhost")
    stuck.sendall(b"GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
    body = "x" * 200_000
    for i in range(120):
        muster_map = f'{{"metadata":{{"name":"big-{i}"}},"data":{{"a":"{body}"}}}}'.encode()
        assert client.ask("POST", "/api/v1/namespaces/default/configmaps", muster_map)[0] == 201
    assert muster.memory_mb() < 400
    status, maps = client.ask("GET", "/api/v1/namespaces/default/configmaps?limit=1")
    assert status == 200 and len(maps["items"]) == 1
    # The watch is ended, so that what waited for its client is free again.
    muster.until("the server says so", lambda: "does not read; its watch is ended" in (muster.folder / "muster.log").read_text())
    stuck.close()


@both
def test_many_clients_at_once(muster):
    """Each makes a Job of a queue, which is suspended: on a cluster the operator is asked about each."""
    client = Client(muster)
    answers = []

    def create(number: int) -> None:
        container = {"name": "main", "image": "busybox", "command": ["true"]}
        body = {"metadata": {"name": f"at-once-{number}", "labels": {"kueue.x-k8s.io/queue-name": "nobody"}},
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}
        status, made = client.ask("POST", "/apis/batch/v1/namespaces/default/jobs", json.dumps(body).encode())
        answers.append((status, made.get("spec", {}).get("suspend")))

    threads = [threading.Thread(target=create, args=(i,)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(201, True)] * 64


@both
def test_a_thousand_jobs_applied_at_once(make_muster, server):
    """On Kubernetes, whose controllers need minutes for a thousand, two hundred. No queue has them: the webhooks let them by."""
    nodes, count = ([], 200) if server == "kubernetes" else (["laptop:cpu=64,memory=64Gi,pods=110"], 1000)
    muster = make_muster(*nodes).start()
    muster.apply("---".join(job(f"j{i}", ns="default", cpu="10m") for i in range(count)))
    muster.until("all are complete", lambda: sum(
        j["status"].get("succeeded", 0) for j in muster.get("jobs")["items"]) == count, 300)
    assert muster.run("get", "nodes").returncode == 0


@pytest.mark.muster_up("on a cluster kube-apiserver listens")
def test_a_connection_without_tls_is_not_served(muster):
    host, port = Client(muster).server.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            assert b"gitVersion" not in raw.recv(1000)
        except ConnectionResetError:
            pass  # That is no answer either.
    wrong = ssl.create_default_context()
    try:
        wrong.wrap_socket(socket.create_connection((host, int(port))), server_hostname="localhost")
        raise AssertionError("a client that does not know the authority must refuse it")
    except ssl.SSLError:
        pass
