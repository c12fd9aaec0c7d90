# test/kube/differences/cases_server.py - what is asked of a server beside objects: health, reviews, tokens, parts of pods and namespaces.
import base64
import json

from play import Play, until
from session import JSON, MERGE, PROTOBUF, STRATEGIC, YAML, Session
from subjects import EVERY, OF_NAME

REVIEW = "/apis/authorization.k8s.io/v1"


def health(s: Session) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/readyz/ping", "/healthz/nothing", "/livez?verbose",
                 "/readyz?verbose", "/healthz?verbose", "/readyz?exclude=ping", "/readyz?verbose&exclude=ping", "/livez?verbose&exclude=nothing"):
        s.ask("GET", path)
    for method in ("POST", "HEAD", "DELETE"):
        s.ask(method, "/healthz")
    for path in ("/version", "/version/", "/", "/nothing", "/api/nothing", "/api/v2", "/apis/nothing.io", "/apis/nothing.io/v1", "/apis/apps/v9",
                 "/api/v1/nothing", "/api/v1/namespaces/default/nothing", "/apis/apps/v1/nothing", "/apis/apps/v1/namespaces/default/nothing/a", "//api/v1",
                 "/api//v1", "/api/v1/", "/apis/", "/.well-known/openid-configuration", "/openid/v1/jwks", "/logs", "/ui", "/swagger.json"):
        s.ask("GET", path)
    s.ask("POST", "/version")
    s.ask("POST", "/api")
    s.ask("GET", "/version", accept=YAML)
    s.ask("GET", "/version", accept="text/html")


def discovery(s: Session) -> None:
    """What is served, with which verbs and names."""
    for root in sorted({each.root for each in EVERY}):
        s.ask("GET", root)
        if root.startswith("/apis/"):
            s.ask("GET", root.rpartition("/")[0])
    for root in ("/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1", "/api", "/apis"):
        s.ask("GET", root)


def access(s: Session) -> None:
    of = {"namespace": s.ns, "verb": "get", "resource": "pods"}
    for kind, path in (("SelfSubjectAccessReview", "selfsubjectaccessreviews"), ("SubjectAccessReview", "subjectaccessreviews")):
        who = {} if kind.startswith("Self") else {"user": "somebody", "groups": ["a"]}
        for spec in ({"resourceAttributes": of}, {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}, {},
                     {"resourceAttributes": of, "nonResourceAttributes": {"path": "/a", "verb": "get"}}, {"resourceAttributes": {**of, "verb": ""}},
                     {"resourceAttributes": {**of, "verb": "delete", "subresource": "status", "name": "a"}}):
            body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": {**who, **spec}}
            s.ask("POST", f"{REVIEW}/{path}", body)
        s.ask("POST", f"{REVIEW}/{path}", {"spec": {**who, "resourceAttributes": of}}, dryRun="All")
        s.ask("GET", f"{REVIEW}/{path}")
        s.ask("POST", f"{REVIEW}/{path}", b"{")
        s.ask("POST", f"{REVIEW}/{path}", {"kind": "Pod", "apiVersion": "v1"})
        s.ask("POST", f"{REVIEW}/{path}", {"spec": "a"})
        s.ask("POST", f"{REVIEW}/{path}", {"spec": {**who, "resourceAttributes": of, "nothing": 1}}, fieldValidation="Strict")
    s.ask("POST", f"{REVIEW}/subjectaccessreviews", {"spec": {"resourceAttributes": of}})
    s.ask("POST", f"{REVIEW}/subjectaccessreviews", {"spec": {"resourceAttributes": of, "groups": ["system:masters"]}})
    local = f"{REVIEW}/namespaces/{s.ns}/localsubjectaccessreviews"
    s.ask("POST", local, {"metadata": {"namespace": s.ns}, "spec": {"user": "a", "resourceAttributes": of}})
    s.ask("POST", local, {"spec": {"user": "a", "resourceAttributes": {**of, "namespace": "default"}}})
    s.ask("POST", f"{REVIEW}/selfsubjectrulesreviews", {"spec": {"namespace": s.ns}})
    s.ask("POST", f"{REVIEW}/selfsubjectrulesreviews", {"spec": {}})
    s.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    s.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    s.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nonsense"}})
    s.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}})
    for ns, about in (("default", "default"), ("default", s.ns), (s.ns, "default")):
        s.ask("POST", local, {"metadata": {"namespace": ns}, "spec": {"user": "a", "resourceAttributes": {**of, "namespace": about}}})


def tokens(s: Session) -> None:
    account = f"/api/v1/namespaces/{s.ns}/serviceaccounts/default"
    made = s.ask("POST", f"{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}})
    for spec in ({}, {"expirationSeconds": 5}, {"expirationSeconds": 10**10}, {"expirationSeconds": "a"}, {"audiences": ["a", "b"]}, {"audiences": "a"},
                 {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nothing"}}, {"boundObjectRef": {"kind": "Nothing", "apiVersion": "v1", "name": "a"}}):
        s.ask("POST", f"{account}/token", {"spec": spec})
    s.ask("POST", f"{account}/token", {})
    s.ask("POST", f"{account}/token", {"spec": {}}, dryRun="All")
    s.ask("GET", f"{account}/token")
    s.ask("POST", account.replace("default", "nobody") + "/token", {})
    if made.status == 201:
        token = made.json["status"]["token"]
        s.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
        s.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token, "audiences": ["nothing"]}})
    of_two = s.ask("POST", f"{account}/token", {"spec": {"audiences": ["a", "b"]}})
    for asked in (["b"], ["nothing", "b"], ["b", "a"], []):
        s.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": of_two.json["status"]["token"], "audiences": asked}})


def parts_of_pods(s: Session) -> None:
    p = Play(s, OF_NAME["Pod"])
    p.create("a")
    p.create("free", {"spec": {"schedulingGates": None, "schedulerName": "nobody"}})
    target = {"target": {"kind": "Node", "name": "nowhere"}}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, **target}
    for name, body in (("a", binding), ("nothing", binding), ("free", {**binding, "target": {}}), ("free", {"target": {"kind": "Pod", "name": "a"}}),
                       ("free", {**binding, "metadata": {"name": "other"}}), ("free", {"metadata": {"name": "free", "annotations": {"a": "b"}}, **target}),
                       ("free", {"metadata": {"name": "free"}, **target})):
        p.ask("POST", p.path(name, "binding"), body)
    p.ask("POST", f"/api/v1/namespaces/{s.ns}/bindings", {"metadata": {"name": "a"}, **target})
    p.get("free")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    for name, body in (("nothing", eviction), ("a", {**eviction, "metadata": {"name": "b"}}), ("a", {}), ("a", {**eviction, "deleteOptions": {"dryRun": ["All"]}}),
                       ("a", {**eviction, "deleteOptions": {"preconditions": {"uid": "0"}}}), ("a", {**eviction, "apiVersion": "policy/v1beta1"}), ("a", eviction)):
        p.ask("POST", p.path(name, "eviction"), body)
    p.get("a")
    p.delete("free")
    p.get("free")
    p.delete("free", gracePeriodSeconds="5")
    p.delete("free", gracePeriodSeconds="50")
    p.delete("free", gracePeriodSeconds="0")
    p.get("free")
    p.create("c")
    for sub in ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers", "resize"):
        p.get("c", sub)
    p.get("c", "log", container="nothing")
    p.get("c", "log", tailLines="x")
    p.get("nothing", "log")
    p.patch("c", {"spec": {"containers": [{"name": "main", "image": "other"}]}}, STRATEGIC)
    p.patch("c", {"spec": {"activeDeadlineSeconds": 5}})
    p.patch("c", {"spec": {"tolerations": [{"operator": "Exists"}]}})
    p.patch("c", {"spec": {"schedulingGates": []}})
    p.patch("c", {"spec": {"schedulingGates": [{"name": "a.b/c"}]}})
    p.patch("c", {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]}}, STRATEGIC)
    p.patch("c", {"spec": {"terminationGracePeriodSeconds": 1}})
    p.get("c")


def namespaces(s: Session) -> None:
    p = Play(s, OF_NAME["Namespace"])
    p.create("a")
    p.put("a", {**p.fresh("a"), "spec": {"finalizers": []}}, "finalize")
    p.get("a")
    p.patch("a", {"spec": {"finalizers": ["example.com/a"]}})
    p.patch("a", {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}})
    p.delete("a")
    p.get("a")
    p.create("b")
    p.delete("b")
    p.delete("b")
    p.create("b")
    inside = Play(Session(s.server, p.name("b")), OF_NAME["ConfigMap"])
    s.ask("POST", inside.path(), inside.body("late"))
    p.put("b", {**p.fresh("b"), "spec": {"finalizers": []}}, "finalize")
    p.get("b")
    for name in ("default", "kube-system", "kube-public"):
        s.ask("DELETE", f"/api/v1/namespaces/{name}", dryRun="All")
    s.ask("DELETE", "/api/v1/namespaces")
    s.ask("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")
    s.ask("PATCH", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", {"value": 1}, kind=MERGE)


def secrets_and_maps(s: Session) -> None:
    c, e = Play(s, OF_NAME["ConfigMap"]), Play(s, OF_NAME["Secret"])
    c.create("fixed", {"immutable": True})
    for change in ({"data": {"a": "2"}}, {"immutable": False}, {"immutable": None}, {"metadata": {"labels": {"a": "b"}}}):
        c.patch("fixed", change)
    e.create("fixed", {"immutable": True, "stringData": {"a": "over", "b": "new"}})
    for change in ({"data": {"a": "Yg=="}}, {"stringData": {"a": "c"}}, {"immutable": False}):
        e.patch("fixed", change)
    c.create("big", {"data": {"a": "x" * 1048577}})
    c.create("large", {"data": {"a": "x" * 1000}})
    e.create("big", {"data": {"a": base64.b64encode(b"x" * 1048577).decode()}})
    for kind in ("kubernetes.io/service-account-token", "kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg", "kubernetes.io/ssh-auth", "kubernetes.io/tls", ""):
        e.create("typed", {"type": kind, "data": {"a": "YQ=="}}, dryRun="All")
    too_big = b'{"metadata":{"name":"a"},"data":{"a":"' + b"x" * 3_300_000 + b'"}}'
    c.send(too_big)


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + length(len(value)) + value


def length(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def packed(api: str, kind: str, raw: bytes) -> bytes:
    """As the Go clients send built-in kinds."""
    return b"k8s\x00" + field(1, field(1, api.encode()) + field(2, kind.encode())) + field(2, raw) + field(3, b"") + field(4, b"")


def protobuf(s: Session) -> None:
    path = f"/api/v1/namespaces/{s.ns}/configmaps"
    entry = lambda key, value: field(1, key) + field(2, value)  # noqa: E731
    meta = field(1, b"a") + field(2, b"") + field(3, s.ns.encode()) + field(11, entry(b"l", b"v"))
    good = field(1, meta) + field(2, entry(b"k", b"v")) + field(3, entry(b"b", b"\x00\xff"))
    s.ask("POST", path, packed("v1", "ConfigMap", good), kind=PROTOBUF)
    s.ask("POST", path, packed("v1", "ConfigMap", good), kind=PROTOBUF, accept=f"{PROTOBUF},{JSON}")
    s.ask("POST", path, packed("v1", "Secret", good), kind=PROTOBUF)
    s.ask("DELETE", f"{path}/a", packed("v1", "DeleteOptions", bytes([1 << 3, 0])), kind=PROTOBUF)


def nobody(s: Session) -> None:
    """Who has no rights, and who is nobody."""
    pods = f"/api/v1/namespaces/{s.ns}/pods"
    for method, path in (("GET", pods), ("GET", f"{pods}/a"), ("POST", pods), ("DELETE", f"{pods}/a"), ("DELETE", pods), ("PATCH", f"{pods}/a/status"),
                         ("GET", "/api/v1/nodes"), ("GET", "/apis/apps/v1/deployments"), ("GET", "/healthz"), ("GET", "/metrics"), ("GET", "/api"),
                         ("GET", "/nothing"), ("GET", "/apis/nothing.io/v1/things"), ("GET", f"{pods}?watch=1"), ("POST", f"{pods}/a/eviction")):
        s.ask(method, path, {} if method in ("POST", "PATCH") else None, kind=MERGE if method == "PATCH" else JSON, user="somebody")
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": s.ns}}
    s.ask("POST", f"{REVIEW}/selfsubjectaccessreviews", {"spec": spec}, user="somebody")


def scales_of_anything(s: Session) -> None:
    """Objects from before their kind could be scaled have anything where its scale looks."""
    group, crds = f"{s.ns}.example.com", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    things = f"/apis/{group}/v1/namespaces/{s.ns}/things"
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free, "status": free}}}}
    made = {"metadata": {"name": f"things.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [version]}}
    heard = {"Accept": JSON, "User-Agent": "tester/1"}

    def send(method: str, path: str, body: dict, kind: str = JSON) -> None:
        answer = s.server.ask(method, path, json.dumps(body).encode(), {**heard, "Content-Type": kind})
        assert answer.status < 300, answer

    send("POST", crds, made)
    until("the kind is served", lambda: s.server.ask("GET", things, headers=heard).status == 200)
    spec = {"text": {"a": "text"}, "list": {"a": [1]}, "count": {"a": {"b": "3"}}, "half": {"a": {"b": 1.5}}, "nothing": {"a": {}}}
    for name, each in spec.items():
        send("POST", things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": each})
    scale = {"specReplicasPath": ".spec.a.b", "statusReplicasPath": ".status.b"}
    send("PATCH", f"{crds}/things.{group}", {"spec": {"versions": [{**version, "subresources": {"scale": scale}}]}}, MERGE)
    until("it is scaled", lambda: s.server.ask("GET", f"{things}/text/scale", headers=heard).status != 404)
    for name in spec:
        s.ask("GET", f"{things}/{name}/scale")
        s.ask("PATCH", f"{things}/{name}/scale", {"spec": {"replicas": 2}}, kind=MERGE)
        s.ask("PUT", f"{things}/{name}/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": {"replicas": 1}})
        s.ask("GET", f"{things}/{name}/scale")


OF_SERVER = [health, discovery, access, tokens, parts_of_pods, namespaces, secrets_and_maps, protobuf, nobody, scales_of_anything]
