# test/kubectl/test_kubectl.py - the real kubectl, unmodified, on `muster up`.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
import conftest  # noqa: E402  (the fixture's Muster class)

KUBECTL = os.environ.get("KUBECTL") or subprocess.run([str(ROOT / "test/kubernetes/build.sh")], capture_output=True,
                                                      text=True, check=True).stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def muster():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-kubectl-"))
    made = conftest.Muster(folder, ["laptop:cpu=8,memory=8Gi"]).start()
    made.env["KUBECACHEDIR"] = str(folder / "cache")
    made.apply(conftest.QUEUES)
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


def kubectl(muster, *words: str, input: str | None = None, check: bool = True) -> str:
    done = subprocess.run([KUBECTL, *words], env=muster.env, input=input, capture_output=True, text=True, timeout=90,
                          check=False)
    assert not check or done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


JOB = conftest.job("counted", '["sh", "-c", "echo one; echo two"]', ns="default")
POD = """
apiVersion: v1
kind: Pod
metadata: {name: sleeper, labels: {app: sleeper}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: busybox, command: [sh, -c, "echo awake; sleep 600"]}
"""


def test_versions_and_discovery(muster):
    assert "Server Version: v1." in kubectl(muster, "version")
    names = kubectl(muster, "api-resources")
    for word in ("clusterqueues", "appwrappers", "rayclusters", "jobs"):
        assert word in names
    assert "the server" in kubectl(muster, "cluster-info").lower() or "control plane" in kubectl(muster, "cluster-info")


def test_apply_get_describe_delete(muster):
    assert "created" in kubectl(muster, "apply", "-f", "-", input=POD)
    assert "unchanged" in kubectl(muster, "apply", "-f", "-", input=POD)
    assert "condition met" in kubectl(muster, "wait", "--for=condition=Ready", "pod/sleeper", "--timeout=30s")
    shown = kubectl(muster, "get", "pods")
    assert "READY" in shown and "1/1" in shown and "Running" in shown
    described = kubectl(muster, "describe", "pod", "sleeper")
    assert "Started" in described and "busybox" in described
    assert "awake" in kubectl(muster, "logs", "sleeper")
    assert kubectl(muster, "exec", "sleeper", "--", "sh", "-c", "echo inside; hostname").split()[:2] == ["inside", "sleeper"]
    assert "deleted" in kubectl(muster, "delete", "pod", "sleeper")
    assert "NotFound" in kubectl(muster, "get", "pod", "sleeper", check=False)


def test_create_sends_protobuf(muster):
    kubectl(muster, "create", "namespace", "made")
    kubectl(muster, "create", "configmap", "settings", "-n", "made", "--from-literal=a=b")
    kubectl(muster, "create", "secret", "generic", "token", "-n", "made", "--from-literal=t=x")
    kubectl(muster, "create", "job", "quick", "-n", "made", "--image=busybox", "--", "true")
    kubectl(muster, "wait", "-n", "made", "--for=condition=Complete", "job/quick", "--timeout=30s")
    assert '"a":"b"' in kubectl(muster, "get", "cm", "settings", "-n", "made", "-o", "jsonpath={.data}")
    kubectl(muster, "delete", "namespace", "made", "--timeout=60s")


def test_patch_label_annotate_scale_replace(muster):
    kubectl(muster, "create", "configmap", "patched")
    kubectl(muster, "label", "configmap", "patched", "team=a")
    kubectl(muster, "annotate", "configmap", "patched", "note=b")
    kubectl(muster, "patch", "configmap", "patched", "-p", '{"data":{"k":"v"}}')
    kubectl(muster, "patch", "configmap", "patched", "--type=json", "-p", '[{"op":"add","path":"/data/k2","value":"v2"}]')
    assert kubectl(muster, "get", "cm", "-l", "team=a", "-o", "jsonpath={.items[0].data.k2}") == "v2"
    applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: patched}\ndata: {k: other}\n"
    assert "conflict" in kubectl(muster, "apply", "--server-side", "--field-manager=me", "-f", "-", input=applied, check=False)
    kubectl(muster, "apply", "--server-side", "--field-manager=me", "--force-conflicts", "-f", "-", input=applied)
    assert kubectl(muster, "get", "cm", "patched", "-o", "jsonpath={.data.k}{.data.k2}") == "otherv2"


def test_logs_follow_and_wait(muster):
    kubectl(muster, "apply", "-f", "-", input=JOB)
    assert kubectl(muster, "logs", "-f", "job/counted", "--pod-running-timeout=30s").split() == ["one", "two"]
    kubectl(muster, "wait", "--for=condition=Complete", "job/counted", "--timeout=30s")


def test_rights(muster):
    assert "yes" in kubectl(muster, "auth", "can-i", "create", "jobs")
    assert "no" in kubectl(muster, "auth", "can-i", "create", "jobs", "--as=nobody", check=False)
    assert "kubernetes-admin" in kubectl(muster, "auth", "whoami")
    assert "forbidden" in kubectl(muster, "get", "secrets", "--as=nobody", check=False).lower()
    kubectl(muster, "create", "serviceaccount", "robot")
    assert kubectl(muster, "create", "token", "robot").count(".") == 2


def test_queues_of_the_documents(muster):
    lines = kubectl(muster, "get", "-n", "sandbox", "queues").splitlines()
    assert lines[0].split("   ")[0].strip() == "NAME" and "ADMITTED WORKLOADS" in lines[0]
    assert lines[1].split() == ["local-queue-test", "cluster-queue", "0", "0"]
    assert "kueue.x-k8s.io/v1beta1" in kubectl(muster, "get", "clusterqueues.v1beta1.kueue.x-k8s.io", "-o", "yaml")
    assert "spec.cohort" in kubectl(muster, "patch", "clusterqueue", "cluster-queue", "--type=merge", "-p",
                                    '{"spec":{"cohortName":"all"}}', check=False)


def test_mistakes_get_clear_answers(muster):
    wrong = POD.replace("containers", "containerz")
    assert "containerz" in kubectl(muster, "apply", "-f", "-", input=wrong, check=False)
    assert "not found" in kubectl(muster, "get", "pod", "nothing", check=False)
    assert "resource type" in kubectl(muster, "get", "things", check=False)


def test_explain_and_dry_run(muster):
    assert "nominalQuota" in kubectl(muster, "explain", "clusterqueue.spec.resourceGroups.flavors.resources")
    kubectl(muster, "create", "configmap", "dry", "--dry-run=server")
    assert "not found" in kubectl(muster, "get", "cm", "dry", check=False)
