# test/kubectl/test_kubectl.py - the real kubectl, unmodified, on `muster up`: every command that a user types.
import os
import re
import subprocess
import urllib.request

import pytest

from e2e_servers import job

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: NAME}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: busybox, command: [sh, -c, "echo awake; sleep 600"]}
"""


def pod(name: str) -> str:
    return POD.replace("NAME", name)


def a_job(kubectl, name: str, command: str = '["true"]') -> str:
    return job(name, command, ns=kubectl.ns)


@pytest.fixture(scope="session")
def sleeper(kubectl):
    """A pod that runs for the whole time."""
    kubectl("apply", "-f", "-", input=pod("sleeper"))
    kubectl("wait", "--for=condition=Ready", "pod/sleeper", "--timeout=60s")
    return "sleeper"


def test_versions_and_discovery(kubectl):
    said = kubectl("version")
    assert "Server Version: v1." in said and f"Client Version: v1.{kubectl.minor}." in said
    names = kubectl("api-resources")
    for word in ("clusterqueues", "appwrappers", "rayclusters", "jobs", "deployments"):
        assert word in names
    assert "pods" in kubectl("api-resources", "--api-group=", "-o", "name")
    assert "kueue.x-k8s.io/v1beta1" in kubectl("api-versions")
    assert "control plane" in kubectl("cluster-info")
    assert "ok" in kubectl("get", "--raw", "/readyz")


def test_apply_and_every_output_of_get(kubectl):
    text = pod("shown")
    assert "created" in kubectl("apply", "-f", "-", input=text)
    assert "unchanged" in kubectl("apply", "-f", "-", input=text)
    changed = text.replace("app: shown", "app: changed")
    assert "configured" in kubectl("apply", "-f", "-", input=changed)
    kubectl("wait", "--for=condition=Ready", "pod/shown", "--timeout=60s")
    lines = kubectl("get", "pod", "shown").splitlines()
    assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert lines[1].split()[:4] == ["shown", "1/1", "Running", "0"]
    wide = kubectl("get", "pod", "shown", "-o", "wide").splitlines()
    assert "NODE" in wide[0] and "IP" in wide[0] and "laptop" in wide[1]
    assert kubectl("get", "pod", "shown", "-o", "name").strip() == "pod/shown"
    assert "kind: Pod" in kubectl("get", "pod", "shown", "-o", "yaml")
    assert kubectl.json("pod", "shown")["metadata"]["labels"] == {"app": "changed"}
    assert kubectl("get", "pods", "-l", "app=changed", "-o", "jsonpath={.items[*].metadata.name}") == "shown"
    columns = "-o=custom-columns=NAME:.metadata.name,NODE:.spec.nodeName"
    assert kubectl("get", "pod", "shown", columns).splitlines()[1].split() == ["shown", "laptop"]
    assert kubectl("get", "pod", "shown", "-o", "go-template={{.spec.nodeName}}") == "laptop"
    assert "shown" in kubectl("get", "pods", "--field-selector=status.phase=Running", "--sort-by=.metadata.name")
    assert "app=changed" in kubectl("get", "pods", "--show-labels")
    assert kubectl.ns in kubectl("get", "pods", "-A")
    kubectl("delete", "pod", "shown", "--wait=false")


@pytest.mark.parametrize("version, kind", [("ray.io/v1", "RayThing"), ("v1", "Pood"), ("nothing.io/v1", "Bar")])
def test_an_unknown_kind_is_named(kubectl, version, kind):
    file = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n"
    for verb in ("create", "apply"):
        said = kubectl(verb, "-f", "-", input=file, check=False)
        assert f'no matches for kind "{kind}" in version "{version}"' in said, said


def test_describe(kubectl, sleeper):
    said = kubectl("describe", "pod", sleeper)
    for word in ("busybox", "Started", "Ready             True", "Node:", "laptop", "Events:"):
        assert word in said, said
    node = kubectl("describe", "node", "laptop")
    assert "Allocated resources" in node
    for kind in ("namespace/" + kubectl.ns, "clusterqueue/cluster-queue", "serviceaccount/default"):
        assert kind.split("/")[1] in kubectl("describe", kind)
    kubectl("create", "configmap", "described", "--from-literal=a=b")
    assert "a:" in kubectl("describe", "configmap", "described")
    kubectl("create", "secret", "generic", "described", "--from-literal=a=b")
    assert "1 bytes" in kubectl("describe", "secret", "described")


@pytest.mark.muster_up("the node played on Kubernetes says nothing of huge pages")
def test_a_node_says_that_it_has_no_huge_pages(kubectl):
    node = kubectl("describe", "node", "laptop")
    for pages in ("hugepages-1Gi", "hugepages-2Mi"):
        assert re.search(rf"^  {pages} +0 \(0%\) +0 \(0%\)$", node, re.M), node


def test_create_sends_protobuf(kubectl):
    kubectl("create", "configmap", "settings", "--from-literal=a=b")
    kubectl("create", "job", "quick", "--image=busybox", "--", "true")
    kubectl("wait", "--for=condition=Complete", "job/quick", "--timeout=60s")
    assert '"a":"b"' in kubectl("get", "cm", "settings", "-o", "jsonpath={.data}")
    kubectl("create", "service", "clusterip", "made", "--tcp=80:8080")
    kubectl("create", "serviceaccount", "made")
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=" + kubectl.ns + ":made")
    kubectl("create", "priorityclass", "high-" + kubectl.ns, "--value=1000")
    kubectl("create", "-f", "-", input=a_job(kubectl, "from-file"))
    assert "already exists" in kubectl("create", "-f", "-", input=a_job(kubectl, "from-file"), check=False)
    assert "created" in kubectl("run", "ran", "--image=busybox", "--restart=Never", "--", "true")
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/ran", "--timeout=60s")
    kubectl("expose", "pod", "ran", "--port=80", "--name=exposed")
    assert "run=ran" in kubectl("get", "service", "exposed", "-o", "wide")


def test_patch_label_annotate_replace_edit(kubectl):
    kubectl("create", "configmap", "patched")
    kubectl("label", "configmap", "patched", "team=a")
    assert "already has a value" in kubectl("label", "configmap", "patched", "team=b", check=False)
    kubectl("label", "configmap", "patched", "team=b", "--overwrite")
    kubectl("annotate", "configmap", "patched", "note=b")
    kubectl("patch", "configmap", "patched", "-p", '{"data":{"k":"v"}}')
    kubectl("patch", "configmap", "patched", "--type=merge", "-p", '{"data":{"k3":"v3"}}')
    kubectl("patch", "configmap", "patched", "--type=json", "-p", '[{"op":"add","path":"/data/k2","value":"v2"}]')
    assert kubectl.json("configmap", "patched")["data"] == {"k": "v", "k2": "v2", "k3": "v3"}
    assert "NotFound" in kubectl("patch", "configmap", "nothing", "-p", "{}", check=False)
    kubectl("label", "configmap", "patched", "team-")
    assert "team" not in kubectl.json("configmap", "patched")["metadata"].get("labels", {})
    whole = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: patched}\ndata: {only: this}\n"
    assert "replaced" in kubectl("replace", "-f", "-", input=whole)
    assert kubectl.json("configmap", "patched")["data"] == {"only": "this"}
    kubectl("replace", "--force", "-f", "-", input=whole.replace("only", "again"))
    assert kubectl.json("configmap", "patched")["data"] == {"again": "this"}
    assert "edited" in kubectl("edit", "configmap", "patched", env={"KUBE_EDITOR": "sed -i s/again/edited/"})
    assert kubectl.json("configmap", "patched")["data"] == {"edited": "this"}
    assert "no changes" in kubectl("edit", "configmap", "patched", env={"KUBE_EDITOR": "true"})


def test_server_side_apply_and_its_conflicts(kubectl):
    kubectl("create", "configmap", "owned", "--from-literal=k=first")
    applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\ndata: {k: other}\n"
    words = ("apply", "--server-side", "--field-manager=me", "-f", "-")
    said = kubectl(*words, input=applied, check=False)
    assert "conflict" in said and "kubectl-create" in said, said
    assert "serverside-applied" in kubectl(*words, "--force-conflicts", input=applied)
    assert kubectl.json("configmap", "owned")["data"] == {"k": "other"}


def test_apply_forgets_what_its_file_no_longer_has(kubectl):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pruned}\ndata: {a: '1', b: '2'}\n"
    kubectl("apply", "-f", "-", input=text)
    kubectl("patch", "configmap", "pruned", "-p", '{"data":{"c":"3"}}')
    kubectl("apply", "-f", "-", input=text.replace(", b: '2'", ""))
    assert kubectl.json("configmap", "pruned")["data"] == {"a": "1", "c": "3"}


def test_diff(kubectl):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: compared}\ndata: {a: '1'}\n"
    kubectl("apply", "-f", "-", input=text)
    same = kubectl.run("diff", "-f", "-", input=text)
    assert (same.returncode, same.stdout) == (0, ""), same.stdout + same.stderr
    other = kubectl.run("diff", "-f", "-", input=text.replace("'1'", "'2'"))
    assert other.returncode == 1 and '+  a: "2"' in other.stdout and '-  a: "1"' in other.stdout, other.stdout + other.stderr
    assert kubectl.json("configmap", "compared")["data"] == {"a": "1"}


def test_dry_run_changes_nothing(kubectl):
    kubectl("create", "configmap", "dry", "--dry-run=server")
    assert "not found" in kubectl("get", "cm", "dry", check=False)
    assert "dry run" in kubectl("apply", "--dry-run=server", "-f", "-", input=pod("dry"))
    assert "kind: Job" in kubectl("create", "job", "dry", "--image=busybox", "--dry-run=client", "-o", "yaml")


def test_logs(kubectl, sleeper):
    kubectl("apply", "-f", "-", input=a_job(kubectl, "counted", '["sh", "-c", "echo one; sleep 5; echo two"]'))
    kubectl("wait", "--for=jsonpath={.status.active}=1", "job/counted", "--timeout=60s")
    # The pod may not have begun: kubectl waits for it when it is told to follow a job.
    followed = kubectl("logs", "-f", "job/counted", "--pod-running-timeout=60s")
    assert followed.split()[-2:] == ["one", "two"], followed
    kubectl("wait", "--for=condition=Complete", "job/counted", "--timeout=60s")
    assert kubectl("logs", "-l", "job-name=counted", "--tail=1").split() == ["two"]
    assert "awake" in kubectl("logs", sleeper, "--timestamps")
    assert "awake" in kubectl("logs", sleeper, "-c", "main", "--since=1h")
    assert "is not valid" in kubectl("logs", sleeper, "-c", "none", check=False)
    assert "NotFound" in kubectl("logs", "nothing", check=False)


@pytest.mark.muster_up("the node played on Kubernetes lets nobody in")
def test_exec_attach_and_cp(kubectl, sleeper, tmp_path):
    said = kubectl("exec", sleeper, "--", "sh", "-c", "echo inside; hostname")
    assert said.split()[:2] == ["inside", "sleeper"]
    failed = kubectl.run("exec", sleeper, "--", "sh", "-c", "echo bad >&2; exit 3")
    assert failed.returncode == 3 and "bad" in failed.stderr
    # A kubectl of 0.32 may complain of the empty message that opens a stream, when that comes before it looks at its streams.
    assert kubectl.run("exec", "-i", sleeper, "--", "cat", input="through\n").stdout == "through\n"
    (tmp_path / "sent").write_text("content\n" * 1000)
    kubectl("cp", str(tmp_path / "sent"), f"{sleeper}:/tmp/received")
    assert kubectl("exec", sleeper, "--", "wc", "-l", "/tmp/received").split()[0] == "1000"
    kubectl("cp", f"{sleeper}:/tmp/received", str(tmp_path / "back"))
    assert (tmp_path / "back").read_text() == (tmp_path / "sent").read_text()


@pytest.mark.muster_up("the node played on Kubernetes lets nobody in")
def test_port_forward(kubectl):
    kubectl("apply", "-f", "-", input=pod("web").replace(
        'sh, -c, "echo awake; sleep 600"', 'python3, "-m", "http.server", "8000", "-d", "/usr/share/common-licenses"')
        .replace("image: busybox", "image: python"))
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    kubectl.muster.until("the server in the pod answers", lambda: kubectl.run(
        "exec", "web", "--", "python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8000))").returncode == 0)
    forward = subprocess.Popen([kubectl.binary, "port-forward", "pod/web", ":8000"], env=kubectl.env, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        line = forward.stdout.readline()
        assert line.startswith("Forwarding from 127.0.0.1:"), line
        port = int(line.split(":")[1].split()[0])
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                assert b"GPL" in answer.read()
    finally:
        forward.kill()
        forward.wait()
    assert "GPL" in kubectl("get", "--raw", f"/api/v1/namespaces/{kubectl.ns}/pods/web:8000/proxy/")
    kubectl("delete", "pod", "web", "--now")


def test_delete_in_every_way(kubectl):
    kubectl("apply", "-f", "-", input=pod("going"))
    kubectl("wait", "--for=condition=Ready", "pod/going", "--timeout=60s")
    assert "deleted" in kubectl("delete", "pod", "going")
    assert "NotFound" in kubectl("get", "pod", "going", check=False)
    assert "NotFound" in kubectl("delete", "pod", "going", check=False)
    assert kubectl("delete", "pod", "going", "--ignore-not-found").strip() == ""
    for flags in (["--grace-period=0", "--force"], ["--grace-period=2"], ["--now"]):
        kubectl("apply", "-f", "-", input=pod("going"))
        kubectl("wait", "--for=condition=Ready", "pod/going", "--timeout=60s")
        kubectl("delete", "pod", "going", *flags)
        kubectl("wait", "--for=delete", "pod/going", "--timeout=60s")
    owned = ["-l", "job-name=parent", "-o", "name"]
    for cascade in ("background", "foreground", "orphan"):
        kubectl("apply", "-f", "-", input=a_job(kubectl, "parent", '["sleep", "600"]'))
        kubectl("wait", "--for=jsonpath={.status.active}=1", "job/parent", "--timeout=60s")
        kubectl("delete", "job", "parent", "--cascade=" + cascade)
        if cascade == "orphan":
            left = kubectl("get", "pods", *owned)
            assert left.startswith("pod/"), left
            assert "ownerReferences" not in kubectl("get", "pods", "-l", "job-name=parent", "-o", "yaml")
            kubectl("delete", "pods", "-l", "job-name=parent", "--now")
        kubectl.muster.until("its pods are gone", lambda: kubectl("get", "pods", *owned).strip() in ("", "No resources found"))
    for name in ("a", "b"):
        kubectl("create", "configmap", "many-" + name)
        kubectl("label", "configmap", "many-" + name, "many=yes")
    kubectl("delete", "configmaps", "-l", "many=yes")
    assert "No resources found" in kubectl("get", "configmaps", "-l", "many=yes")


def test_wait(kubectl, sleeper):
    assert "condition met" in kubectl("wait", "--for=condition=Ready", "pod/" + sleeper, "--timeout=60s")
    assert "timed out" in kubectl("wait", "--for=condition=Nothing", "pod/" + sleeper, "--timeout=1s", check=False)
    assert "condition met" in kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/" + sleeper, "--timeout=60s")
    assert "NotFound" in kubectl("wait", "--for=condition=Ready", "pod/nothing", "--timeout=1s", check=False)
    kubectl("wait", "--for=delete", "pod/nothing", "--timeout=1s")


def test_scale(kubectl):
    kubectl("create", "deployment", "scaled", "--image=busybox")
    assert "scaled" in kubectl("scale", "deployment/scaled", "--replicas=3")
    assert kubectl.json("deployment", "scaled")["spec"]["replicas"] == 3
    assert "expected replicas" in kubectl("scale", "deployment/scaled", "--current-replicas=9", "--replicas=1",
                                          check=False).lower()
    kubectl("delete", "deployment", "scaled")


@pytest.mark.muster_up("a cluster has what is not there")
def test_what_is_not_there_says_so(kubectl):
    assert "Metrics API not available" in kubectl("top", "nodes", check=False)
    assert "Metrics API not available" in kubectl("top", "pods", check=False)
    made = kubectl("create", "cronjob", "idle", "--image=busybox", "--schedule=* * * * *", "--", "true")
    assert "Warning:" in made and "no controller that acts on them" in made, made
    kubectl("delete", "cronjob", "idle")
    assert "the server doesn't have a resource type" in kubectl("get", "things", check=False)


def test_rollout(kubectl):
    kubectl("create", "deployment", "rolled", "--image=busybox", "--replicas=2", "--", "sleep", "600")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/rolled", "--timeout=60s")
    first = kubectl("get", "pods", "-l", "app=rolled", "-o", "name").split()
    kubectl("rollout", "restart", "deployment/rolled")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/rolled", "--timeout=90s")
    kubectl.muster.until("the old pods are gone", lambda: not set(first) & set(
        kubectl("get", "pods", "-l", "app=rolled", "-o", "name").split()))
    assert "deployment.apps/rolled" in kubectl("rollout", "history", "deployment/rolled")
    kubectl("delete", "deployment", "rolled")


@pytest.mark.muster_up("the node played on Kubernetes writes no events")
def test_events(kubectl, sleeper):
    said = kubectl("events", "--for", "pod/" + sleeper)
    assert "Scheduled" in said and "Started" in said, said
    assert "Started" in kubectl("get", "events", "--field-selector=involvedObject.name=" + sleeper)


def test_cordon_taint_drain(kubectl):
    try:
        assert "cordoned" in kubectl("cordon", "laptop")
        assert "SchedulingDisabled" in kubectl("get", "nodes")
        kubectl("apply", "-f", "-", input=pod("kept-out"))
        kubectl("wait", "--for=condition=PodScheduled=False", "pod/kept-out", "--timeout=60s")
        assert "uncordoned" in kubectl("uncordon", "laptop")
        kubectl("wait", "--for=condition=Ready", "pod/kept-out", "--timeout=60s")
        assert "tainted" in kubectl("taint", "nodes", "laptop", "only=special:NoSchedule")
        kubectl("apply", "-f", "-", input=pod("untolerating"))
        kubectl("wait", "--for=condition=PodScheduled=False", "pod/untolerating", "--timeout=60s")
        assert "taint" in kubectl("get", "pod", "untolerating", "-o", "jsonpath={.status.conditions[*].message}")
        assert "untainted" in kubectl("taint", "nodes", "laptop", "only-")
        kubectl("wait", "--for=condition=Ready", "pod/untolerating", "--timeout=60s")
        said = kubectl("drain", "laptop", "--force", "--pod-selector=app in (kept-out, untolerating)", "--timeout=60s")
        assert "drained" in said and "evict" in said, said
        assert "NotFound" in kubectl("get", "pod", "kept-out", check=False)
    finally:
        kubectl("uncordon", "laptop")
        kubectl("taint", "nodes", "laptop", "only-", check=False)


def test_rights(kubectl, sleeper):
    assert "yes" in kubectl("auth", "can-i", "create", "jobs")
    assert "no" in kubectl("auth", "can-i", "create", "jobs", "--as=nobody", check=False)
    assert "*.*" in kubectl("auth", "can-i", "--list")
    assert "system:masters" in kubectl("auth", "whoami")
    assert "forbidden" in kubectl("get", "secrets", "--as=nobody", check=False).lower()
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot").strip()
    assert token.count(".") == 2
    said = kubectl("auth", "can-i", "get", "pods", "--as=system:serviceaccount:" + kubectl.ns + ":robot", check=False)
    assert said.startswith("no")
    kubectl("create", "rolebinding", "robot", "--clusterrole=view", "--serviceaccount=" + kubectl.ns + ":robot")
    words = ("get", "pods", "--token=" + token, "--kubeconfig=" + bare(kubectl))
    kubectl.muster.until("its right is known", lambda: sleeper in kubectl(*words, check=False))


def bare(kubectl) -> str:
    """A kubeconfig without credentials."""
    import yaml
    config = yaml.safe_load(kubectl.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {}
    path = kubectl.muster.folder / ("bare-" + kubectl.version)
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_queues_of_the_documents(kubectl):
    lines = kubectl("get", "-n", "sandbox", "queues").splitlines()
    assert lines[0].split("   ")[0].strip() == "NAME" and "ADMITTED WORKLOADS" in lines[0]
    assert lines[1].split() == ["local-queue-test", "cluster-queue", "0", "0"]
    assert "kueue.x-k8s.io/v1beta1" in kubectl("get", "clusterqueues.v1beta1.kueue.x-k8s.io", "-o", "yaml")


def test_mistakes_get_clear_answers(kubectl):
    wrong = pod("mistaken").replace("containers", "containerz")
    assert 'unknown field "spec.containerz"' in kubectl("apply", "-f", "-", input=wrong, check=False)
    assert "not found" in kubectl("get", "pod", "nothing", check=False)
    assert "error parsing" in kubectl("apply", "-f", "-", input="a: [", check=False)
    assert "namespaces \"nowhere\" not found" in kubectl("create", "configmap", "x", "-n", "nowhere", check=False)
    bad = pod("Bad_Name")
    assert "metadata.name: Invalid value" in kubectl("apply", "-f", "-", input=bad, check=False)


def test_explain(kubectl):
    assert "nominalQuota" in kubectl("explain", "clusterqueue.spec.resourceGroups.flavors.resources")
    assert "restartPolicy" in kubectl("explain", "pod.spec")
    assert "rayStartParams" in kubectl("explain", "raycluster.spec.headGroupSpec")
    assert "restartPolicy" in kubectl("explain", "job", "--recursive")
    assert "does not exist" in kubectl("explain", "pod.nothing", check=False)


def test_watch(kubectl):
    watch = subprocess.Popen([kubectl.binary, "get", "configmaps", "-w", "-l", "watched=yes", "-o", "name"], env=kubectl.env,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        os.set_blocking(watch.stdout.fileno(), True)
        for i in range(3):
            kubectl("apply", "-f", "-", input=f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: w-{i}, labels: {{watched: 'yes'}}}}\n")
        assert [watch.stdout.readline().strip() for _ in range(3)] == [f"configmap/w-{i}" for i in range(3)]
    finally:
        watch.kill()
        watch.wait()


def test_a_namespace_goes_with_what_is_in_it(kubectl):
    ns = kubectl.ns + "-going"
    kubectl("create", "namespace", ns)
    kubectl.muster.until("it has its account", lambda: "default" in kubectl("get", "serviceaccounts", "-n", ns, check=False))
    kubectl("apply", "-n", ns, "-f", "-", input=pod("inside"))
    kubectl("create", "configmap", "inside", "-n", ns)
    kubectl("delete", "namespace", ns, "--timeout=60s")
    assert "NotFound" in kubectl("get", "namespace", ns, check=False)
    assert "No resources found" in kubectl("get", "pods,configmaps", "-n", ns, check=False)
