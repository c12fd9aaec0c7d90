# test/kubectl/test_same_output.py - the same words typed to kubectl and to muster print the same, ages aside.
import json
import re

import pytest

from e2e_servers import MUSTER, job

OBJECTS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: shown}, annotations: {note: "a note"}}
data: {key: value, text: "two\\nlines\\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {password: secret}
---
apiVersion: v1
kind: Service
metadata: {name: front, labels: {app: shown}}
spec: {selector: {app: shown}, ports: [{name: http, port: 80, targetPort: 8080}, {name: more, port: 81, protocol: TCP}]}
---
apiVersion: v1
kind: Pod
metadata: {name: shown, labels: {app: shown, tier: one}, annotations: {why: because}}
spec:
  terminationGracePeriodSeconds: 1
  tolerations: [{key: special, operator: Exists, effect: NoSchedule}]
  volumes:
  - {name: config, configMap: {name: settings}}
  - {name: scratch, emptyDir: {}}
  initContainers:
  - {name: first, image: busybox, command: ["true"]}
  containers:
  - name: main
    image: busybox
    command: [sh, -c, "echo one; echo two; sleep 600"]
    ports: [{containerPort: 8080, name: http}]
    env: [{name: A, value: b}, {name: FROM, valueFrom: {configMapKeyRef: {name: settings, key: key}}}]
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 5}
    volumeMounts: [{name: config, mountPath: /etc/settings}, {name: scratch, mountPath: /scratch}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: same-output}
value: 7
description: for the comparison
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: default, namespace: NAMESPACE}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: batch/v1
kind: Job
metadata: {name: full, labels: {a: b}}
spec:
  parallelism: 2
  completions: 3
  completionMode: Indexed
  backoffLimit: 4
  activeDeadlineSeconds: 1000
  ttlSecondsAfterFinished: 1000
  template:
    metadata: {labels: {x: w}}
    spec:
      restartPolicy: Never
      serviceAccountName: robot
      nodeSelector: {nowhere: there}
      tolerations: [{key: k, operator: Exists}]
      volumes: [{name: v, emptyDir: {}}]
      initContainers: [{name: i, image: busybox, command: ["true"]}]
      containers:
      - {name: main, image: busybox, command: ["sleep", "5"], env: [{name: A, value: b}], ports: [{containerPort: 80}],
         resources: {requests: {cpu: 1}}, volumeMounts: [{name: v, mountPath: /v}]}
"""

pytestmark = pytest.mark.muster_up("it compares two clients, and both ask the same server; the servers are compared in test/kube")

AGE = re.compile(r"(?<![\w.:/-])(\d+[smhdy])+(?![\w.:/-])")
WHEN = re.compile(r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")


def plain(text: str) -> list[str]:
    """Lines without ages and the widths that follow from them. Times of leases change by themselves."""
    lines = []
    for line in text.splitlines():
        line = WHEN.sub("WHEN", AGE.sub("AGE", line))
        # What kubectl has printed since 1.34 only, and its own name.
        line = re.sub(r' deleted from [\w-]+ namespace$', " deleted", line)
        line = re.sub(r" \(e\.g\. .*", "", line)
        line = re.sub(r"\s*\(x\d+ over AGE\)", "", line)
        lines.append(re.sub(r"-{2,}", "--", re.sub(r"\s+", " ", line)).rstrip())
    return lines


@pytest.fixture(scope="module")
def both(newest):
    """Runs the same words through the newest kubectl and through muster, in the same namespace."""
    kubectl = newest
    text = OBJECTS.replace("NAMESPACE", kubectl.ns)
    kubectl("apply", "-f", "-", input=text)
    kubectl("apply", "-f", "-", input=job("counted", '["sh", "-c", "echo one; echo two"]', ns=kubectl.ns))
    kubectl("wait", "--for=condition=Ready", "pod/shown", "--timeout=60s")
    kubectl("wait", "--for=condition=Complete", "job/counted", "--timeout=60s")
    kubectl("wait", "--for=jsonpath={.status.active}=2", "job/full", "--timeout=60s")

    def run(*words: str, input: str | None = None):
        theirs = kubectl.run(*words, input=input)
        binary, kubectl.binary = kubectl.binary, str(MUSTER)
        try:
            ours = kubectl.run(*words, input=input)
        finally:
            kubectl.binary = binary
        return theirs, ours

    run.kubectl = kubectl
    yield run
    kubectl("delete", "-f", "-", "--wait=false", input=text)


@pytest.mark.parametrize("words", [
    "get pods", "get pods -o wide", "get pod shown", "get pod/shown", "get pods --show-labels", "get pods -L app,tier",
    "get pods -l app=shown", "get pods -l app=nobody", "get pods --no-headers", "get pods -o name", "get po,cm",
    "get pods --field-selector=status.phase=Running", "get pods --sort-by=.metadata.name", "get pods -A --no-headers",
    "get nodes", "get nodes -o wide", "get namespaces", "get services", "get services -o wide", "get configmaps", "get secrets",
    "get jobs", "get serviceaccounts", "get events --field-selector=reason=Scheduled", "get roles", "get rolebindings -o wide",
    "get priorityclasses", "get endpointslices", "get leases -n kube-node-lease", "get clusterroles view",
    "get clusterqueues", "get localqueues -n sandbox", "get queues -n sandbox", "get resourceflavors", "get workloads -n sandbox",
    "get appwrappers", "get rayclusters", "get rayjobs", "get pod nothing", "get things", "get pods nothing --ignore-not-found",
    "get configmap settings -o jsonpath={.data.key}", "get pods -o jsonpath={.items[*].metadata.name}",
    "get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,NONE:.nothing", "get configmap settings secret/hidden", "describe clusterrole view", "describe clusterrolebinding cluster-admin",
    "describe service kubernetes -n default", "describe job full", "describe priorityclass system-node-critical",
    "describe pod shown", "describe configmap settings", "describe secret hidden", "describe service front", "describe job counted",
    "describe namespace sandbox", "describe serviceaccount robot", "describe priorityclass same-output", "describe role reader",
    "describe rolebinding reader", "describe node laptop", "describe clusterqueue cluster-queue", "describe pod nothing",
    "logs shown", "logs shown --tail=1", "logs job/counted", "logs nothing", "logs shown -c nothing", "logs -l job-name=counted",
    "wait --for=condition=Ready pod/shown --timeout=60s", "wait --for=condition=Nothing pod/shown --timeout=1s",
    "wait --for=jsonpath={.status.phase}=Running pod/shown --timeout=60s", "wait --for=condition=Ready pod/nothing --timeout=1s",
    "wait --for=delete pod/nothing --timeout=1s",
    "delete pod nothing", "delete pod nothing --ignore-not-found", "delete configmaps -l app=nobody", "delete things x",
    "label configmap settings app=shown", "label configmap settings app=other", "label configmap nothing a=b",
    "annotate configmap settings note=other", "scale job/nothing --replicas=1",
    "patch configmap settings -p {}", "patch configmap nothing -p {}", "exec shown -- echo inside", "exec nothing -- true",
    "exec shown -c nothing -- true",
])
def test_the_same_words_print_the_same(both, words):
    theirs, ours = both(*words.split(" "))
    assert plain(ours.stdout) == plain(theirs.stdout)
    assert plain(ours.stderr) == plain(theirs.stderr)
    assert ours.returncode == theirs.returncode


@pytest.mark.parametrize("words", ["get pod shown -o", "get configmap settings -o", "get pods -l app=shown -o",
                                   "get secret hidden -o", "get clusterqueue cluster-queue -o", "get role reader -o"])
def test_objects_print_the_same(both, words):
    theirs, ours = both(*words.split(" "), "yaml")
    assert ours.stdout.splitlines() == theirs.stdout.splitlines()
    theirs, ours = both(*words.split(" "), "json")
    assert json.loads(ours.stdout) == json.loads(theirs.stdout)
    assert ours.stdout.splitlines() == theirs.stdout.splitlines()


def test_deletion_says_the_same(both):
    said = []
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: going}\n"
    for binary in (both.kubectl.binary, str(MUSTER)):
        for words in (["configmap", "going"], ["configmap/going", "--wait=false"], ["configmap", "going", "-o", "name"],
                      ["-f", "-"], ["configmap", "going", "--grace-period=0", "--force"]):
            both.kubectl("create", "-f", "-", input=text)
            used, both.kubectl.binary = both.kubectl.binary, binary
            try:
                done = both.kubectl.run("delete", *words, input=text)
            finally:
                both.kubectl.binary = used
            said.append((done.returncode, plain(done.stdout), plain(done.stderr)))
    assert said[:5] == said[5:]
