# test/kube/differences/cases_kubectl.py - what people type, command by command.
from recorder import Recorder
from subjects import OF_NAME, merged

SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "labels": {"app": "a"}}, "data": {"a": "1", "b": "edit-this"}}
WEB = {**OF_NAME["Deployment"].made("web"), "spec": {**OF_NAME["Deployment"].body["spec"], "replicas": 2}}
POD = OF_NAME["Pod"].made("pod")
GADGET = OF_NAME["Gadget"].made("gadget")
QUEUE = OF_NAME["LocalQueue"].made("queue")


def changed(body: dict, over: dict) -> dict:
    return merged(body, over)


def applies(k: Recorder) -> None:
    for body in ([SETTINGS, WEB, POD, GADGET, QUEUE], [SETTINGS, WEB, POD, GADGET, QUEUE], [changed(SETTINGS, {"data": {"a": "2", "c": "3", "b": None}})],
                 [changed(WEB, {"spec": {"replicas": 3}}), changed(GADGET, {"spec": {"size": 4, "tags": ["x"]}})]):
        k("apply -f -", body)
    k("apply -f - --dry-run=server", changed(SETTINGS, {"data": {"a": "4"}}))
    k("apply -f - --dry-run=client -o yaml", changed(SETTINGS, {"data": {"a": "4"}}))
    k("apply -f -", changed(SETTINGS, {"nothing": 1}))
    k("apply -f - --validate=warn", changed(SETTINGS, {"nothing": 1}))
    k("apply -f -", changed(GADGET, {"spec": {"size": 99}}))
    k("apply view-last-applied configmap settings")
    k("diff -f -", changed(SETTINGS, {"data": {"a": "5"}}))
    k("diff -f -", [SETTINGS, GADGET])


def applies_on_the_server(k: Recorder) -> None:
    k("apply --server-side -f -", [SETTINGS, WEB, GADGET])
    k("apply --server-side --field-manager=other -f -", changed(SETTINGS, {"data": {"a": "2"}}))
    k("apply --server-side --field-manager=other --force-conflicts -f -", changed(SETTINGS, {"data": {"a": "2"}}))
    k("apply --server-side -f -", changed(GADGET, {"spec": {"parts": [{"name": "c"}]}}))
    k("diff --server-side -f -", changed(SETTINGS, {"data": {"a": "3"}}))
    k("get configmap settings -o yaml --show-managed-fields")
    k("apply -f -", changed(SETTINGS, {"data": {"d": "5"}}))
    k("apply --server-side -f -", changed(SETTINGS, {"data": {"d": "6"}}))


def changes(k: Recorder) -> None:
    k("create -f -", [SETTINGS, WEB, GADGET])
    k("create -f -", SETTINGS)
    k("create configmap literal --from-literal=a=b")
    k("create secret generic hidden --from-literal=a=b")
    k("create deployment made --image=x --replicas=2")
    k("create job work --image=x -- true")
    k("create serviceaccount me")
    k("create role reader --verb=get --resource=pods")
    k("expose deployment web --port=80")
    k("edit configmap settings")
    k("edit configmap settings --output-patch")
    k("label configmap settings a=b")
    k("label configmap settings a=c")
    k("label configmap settings a=c --overwrite")
    k("label configmap settings a-")
    k("annotate gadget gadget note=one")
    k("annotate configmap -l app=a note=one")
    k("scale deployment web --replicas=4")
    k("scale deployment web --replicas=1 --current-replicas=9")
    k("scale gadget gadget --replicas=4")
    k("set image deployment/web main=other")
    k("set env deployment/web A=b")
    k("replace -f -", changed(SETTINGS, {"data": {"z": "1"}}))
    k("replace --force -f -", changed(SETTINGS, {"data": {"z": "2"}}))
    k("replace -f -", changed(SETTINGS, {"metadata": {"name": "nobody"}}))
    k('patch configmap settings --type=merge -p {"data":{"a":null,"m":"1"}}')
    k('patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"main","image":"patched"}]}}}}')
    k('patch configmap settings --type=json -p [{"op":"add","path":"/data/j","value":"1"}]')
    k('patch configmap settings --type=json -p [{"op":"remove","path":"/data/none"}]')
    k('patch gadget gadget --type=merge -p {"spec":{"size":0}}')
    k('patch gadget gadget --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}}')


def deletions(k: Recorder) -> None:
    k("create -f -", [SETTINGS, WEB, POD, GADGET])
    k("delete gadget gadget --dry-run=server")
    k("delete deployment web --cascade=background")
    k("create -f -", WEB)
    k("delete deployment web --cascade=orphan --wait=false")
    k("delete configmap settings nobody")
    k("delete configmap nobody --ignore-not-found")
    k("delete pod pod --grace-period=0 --force")
    k("delete gadget gadget --cascade=foreground --wait=false")
    k("delete configmap -l app=none")
    k("delete -f - --ignore-not-found", SETTINGS)


def looks(k: Recorder) -> None:
    k("create -f -", [SETTINGS, WEB, POD, GADGET, QUEUE])
    for output in ("", " -o wide", " -o json", " -o yaml", " -o name", " --show-labels", " -o jsonpath={.items[*].metadata.name}", " --sort-by=.metadata.name",
                   " -o custom-columns=N:.metadata.name,L:.metadata.labels.app", " -l app=a", " --field-selector=metadata.name=settings"):
        k(f"get configmaps{output}")
    for kinds in ("deployments,pods", "gadgets", "gd gadget", "localqueues", "gadgets.v1alpha1.gadgets.example.com", "nothings", "pod nobody"):
        k(f"get {kinds}")
        k(f"get {kinds} -o wide")
    k("get --raw /healthz")
    k("get configmaps -w --request-timeout=5s")
    k("get configmap settings -w --output-watch-events -o name --request-timeout=5s")
    for what in ("configmap settings", "deployment web", "pod pod", "gadget gadget", "localqueue queue", "configmap nobody"):
        k(f"describe {what}")


def questions(k: Recorder) -> None:
    k("create -f -", [SETTINGS, WEB, POD, GADGET])
    for words in ("auth can-i get pods", "auth can-i delete nodes --as=somebody", "auth can-i get pods --as=somebody -q", "auth whoami -o name", "logs pod",
                  "logs pod -c nothing", "logs nobody", "logs deployment/web", "exec pod -- true", "rollout status deployment/web --timeout=2s",
                  "rollout status deployment/nobody", "rollout history deployment/web", "rollout pause deployment/web", "rollout pause deployment/web",
                  "rollout resume deployment/web", "wait --for=jsonpath={.data.a}=1 configmap/settings", "wait --for=condition=Ready gadget/gadget --timeout=5s",
                  "wait --for=delete configmap/nobody", "wait --for=create configmap/settings", "top pod", "explain gadgets.spec", "explain gadgets.spec.parts --api-version=gadgets.example.com/v1alpha1",
                  "explain gadgets.nothing", "explain nothings"):
        k(words)


CASES = [applies, applies_on_the_server, changes, deletions, looks, questions]
