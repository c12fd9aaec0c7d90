# test/kube/test_partner.py - the partner itself: what `./dev kube` builds is there, starts, works and stops.
import itertools
import os
import pathlib
import socket
import subprocess

import pytest

import cluster as partner
from conftest import Cluster, until

VERSIONS = {"kube-apiserver": "v1.36.3", "kube-controller-manager": "v1.36.3", "kube-scheduler": "v1.36.3",
            "etcd": "3.6.16", "helm": "v4.2.4"}


@pytest.mark.parametrize("name", VERSIONS)
def test_each_program_is_of_the_pinned_version(name):
    words = ["version"] if name == "helm" else ["--version"]
    done = subprocess.run([str(partner.programs() / name), *words], capture_output=True, text=True, check=True, timeout=60)
    assert VERSIONS[name] in done.stdout


def test_the_server_says_its_version(cluster):
    status, version = cluster.request("GET", "/version")
    assert (status, version["gitVersion"]) == (200, "v1.36.3")


def test_kubectl_works_on_it_and_controllers_and_scheduler_run(cluster):
    env = dict(os.environ, KUBECONFIG=str(cluster.kubeconfig), KUBECACHEDIR=str(cluster.folder / "cache"))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "hello"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}}}
    kubectl = partner.kubectl()
    subprocess.run([kubectl, "create", "namespace", "partner"], env=env, check=True, capture_output=True, timeout=60)
    status, _ = cluster.request("POST", "/apis/batch/v1/namespaces/partner/jobs", job)
    assert status == 201

    def condition():
        pods = cluster.request("GET", "/api/v1/namespaces/partner/pods")[1]["items"]
        return pods and pods[0].get("status", {}).get("conditions")

    found = until("the Job's pod is looked at by the scheduler, which has no nodes", condition)
    assert (found[0]["type"], found[0]["reason"]) == ("PodScheduled", "Unschedulable")
    subprocess.run([kubectl, "delete", "job", "-n", "partner", "hello"], env=env, check=True, capture_output=True, timeout=60)


def test_a_token_is_as_good_as_the_certificate(cluster):
    kubeconfig = cluster.write_kubeconfig("by-token", user={"token": "test-token"})
    done = subprocess.run([partner.kubectl(), "--kubeconfig", str(kubeconfig), "auth", "whoami", "-o", "name"], capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_what_was_written_outlives_a_kill_of_each_program(make_folder):
    made = Cluster(make_folder())
    try:
        made.start()
        body = {"metadata": {"name": "kept"}, "data": {"a": "b"}}
        assert made.request("POST", "/api/v1/namespaces/default/configmaps", body)[0] == 201
        for name in list(made.running):
            made.kill(name)
        made.start()
        assert made.request("GET", "/api/v1/namespaces/default/configmaps/kept")[1]["data"] == {"a": "b"}
    finally:
        made.stop()


def test_a_port_is_given_to_nobody_else_while_its_server_is_down(monkeypatch):
    """Seen in CI: an operator was killed, and a connection of another program had its port when it was started again."""
    chosen_by_system = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    used = partner.free_ports(1)[0]
    monkeypatch.setattr(partner, "UNUSED_PORTS", itertools.chain([used], partner.UNUSED_PORTS))
    with socket.create_server(("127.0.0.1", used)):
        given = [partner.free_ports(1)[0] for _ in range(200)]
    assert used not in given, "somebody listens on it"
    assert len(set(given)) == 200, "none twice"
    assert max(given) < chosen_by_system, "nor to who asks the system for any port"
