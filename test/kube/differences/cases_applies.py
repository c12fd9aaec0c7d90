# test/kube/differences/cases_applies.py - server-side apply and who owns which field.
import json

from play import Play
from session import APPLY, JSON_PATCH, STRATEGIC, TABLE
from subjects import EVERY, OF_NAME, merged


def owners(p: Play) -> None:
    """Every kind: made by one, changed by another, taken over, given up."""
    p.apply("a")
    p.apply("a")
    p.apply("a", p.subject.change, by="two")
    p.apply("a", p.subject.change, by="two", force="true")
    p.apply("a", by="one")
    p.apply("a", by="one", force="true")
    p.patch("a", p.subject.change, manager="writer")
    p.apply("a", {"metadata": {"labels": {"a": "b"}}}, by="three", force="true")
    p.apply("a", {"metadata": {"labels": {"a": "c"}}}, by="four")
    p.patch("a", {"apiVersion": p.subject.api, "kind": p.subject.kind}, APPLY, fieldManager="three", force="true")
    p.put("a", merged(p.fresh("a"), {"metadata": {"labels": {"d": "e"}}}), manager="putter")
    p.put("a", merged(p.fresh("a"), {"metadata": {"managedFields": [{}]}}))
    p.apply("a", by="five")
    p.get("a")
    p.put("a", merged(p.fresh("a"), {"metadata": {"managedFields": []}}))
    p.apply("a", by="six")
    p.patch("a", {"metadata": {"managedFields": []}})
    p.get("a")


def words(p: Play) -> None:
    good = p.body("a")
    p.patch("a", good, APPLY)
    p.patch("a", good, APPLY, fieldManager="")
    p.patch("a", good, APPLY, fieldManager="a" * 129)
    p.patch("a", good, APPLY, fieldManager="a\tb")
    p.patch("a", {k: v for k, v in good.items() if k != "kind"}, APPLY, fieldManager="one")
    p.patch("a", {k: v for k, v in good.items() if k != "apiVersion"}, APPLY, fieldManager="one")
    p.patch("a", {**good, "kind": "Nothing"}, APPLY, fieldManager="one")
    p.patch("a", {**good, "apiVersion": "nothing/v1"}, APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"name": p.name("b")}}), APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"namespace": "elsewhere"}}), APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"managedFields": [{"manager": "a"}]}}), APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"managedFields": []}}), APPLY, fieldManager="one", dryRun="All")
    p.patch("a", merged(good, {"metadata": {"uid": "5"}}), APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"resourceVersion": "5"}}), APPLY, fieldManager="one")
    p.patch("a", good, APPLY, fieldManager="one", force="perhaps", dryRun="All")
    p.patch("a", good, APPLY, sub="status", fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"generateName": "a-"}}), APPLY, fieldManager="one", dryRun="All")
    p.patch("a", {**good, "metadata": None}, APPLY, fieldManager="one", dryRun="All")
    p.create("a", manager="x" * 200 + "/1")
    p.patch("a", merged(good, {"metadata": {"resourceVersion": "1"}}), APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}), APPLY, fieldManager="one")
    p.patch("a", merged(good, {"metadata": {"labels": {"a": None}}}), APPLY, fieldManager="one")
    p.patch("a", {"metadata": {"labels": {"a": "b"}}}, fieldManager="named")
    p.patch("a", {"metadata": {"labels": {"a": "b"}}}, fieldManager="b" * 129)
    p.get("a")


def lists_in_pods(p: Play) -> None:
    """Lists with keys, sets and atoms, several managers in one pod template."""
    d = Play(p.session, OF_NAME["Deployment"])

    def template(containers: list, **more) -> dict:
        return {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
            "containers": containers, **more}}}}

    one = {"name": "one", "image": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x", "y"],
           "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {"limits": {"cpu": "1"}}}
    two = {"name": "two", "image": "b", "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}]}
    bare = d.body("a")
    bare.pop("spec")
    say = lambda over, by, **how: d.patch("a", merged(bare, over), APPLY, fieldManager=by, **how)  # noqa: E731
    say(template([one]), "first")
    say(template([two]), "second")
    say(template([{"name": "one", "image": "c"}]), "second")
    say(template([{"name": "one", "image": "c"}]), "second", force="true")
    say(template([{**one, "env": [{"name": "B", "value": "3"}], "args": ["x"]}, two]), "first")
    say(template([{**one, "image": "c", "env": [{"name": "B", "value": "3"}], "args": ["x"]}]), "first")
    say(template([two], tolerations=[{"key": "a", "operator": "Exists"}], nodeSelector={"a": "b"}), "third")
    say(template([two], tolerations=[{"key": "b", "operator": "Exists"}]), "third")
    say(template([two], volumes=[{"name": "v", "emptyDir": {}}], imagePullSecrets=[{"name": "s"}],
                 topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]), "fourth")
    d.patch("a", {"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "z", "env": [{"name": "C", "value": "1"}]}],
                                                 "$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]}}}}, STRATEGIC, manager="patcher")
    d.patch("a", {"spec": {"template": {"spec": {"containers": [{"name": "one", "$patch": "delete"}]}}}}, STRATEGIC, manager="patcher")
    d.patch("a", {"spec": {"template": {"spec": {"volumes": [{"$patch": "replace"}, {"name": "w", "emptyDir": {}}]}}}}, STRATEGIC, manager="patcher")
    d.patch("a", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, STRATEGIC, manager="patcher")
    d.patch("a", {"spec": {"template": {"spec": {"containers": [{"image": "nameless"}]}}}}, STRATEGIC, manager="patcher")
    d.patch("a", [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}], JSON_PATCH, manager="jsoner")
    say(template([two, two]), "first")
    say(template([{**two, "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}]), "first")
    say({"spec": None}, "second")
    say(template([]), "third", force="true")
    d.get("a")


def of_services(p: Play) -> None:
    """Keys with a default among them (port and protocol)."""
    s = Play(p.session, OF_NAME["Service"])
    ports = lambda *given: {"spec": {"ports": [{"name": f"p{n}", **each} for n, each in enumerate(given)]}}  # noqa: E731
    bare = merged(s.body("a"), {"spec": None})
    s.patch("a", merged(bare, ports({"port": 80}, {"port": 80, "protocol": "UDP"})), APPLY, fieldManager="one")
    s.patch("a", merged(bare, ports({"port": 80, "protocol": "TCP"})), APPLY, fieldManager="two")
    s.patch("a", merged(bare, ports({"port": 80, "targetPort": 8080})), APPLY, fieldManager="two")
    s.patch("a", merged(bare, ports({"port": 80})), APPLY, fieldManager="one")
    s.patch("a", merged(bare, {"spec": {"selector": {"a": "b"}}}), APPLY, fieldManager="three")
    s.patch("a", merged(bare, {"spec": {"selector": {"a": "c"}}}), APPLY, fieldManager="four")
    s.patch("a", merged(bare, {"spec": {"selector": {"d": "c"}}}), APPLY, fieldManager="four")
    s.patch("a", {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}, STRATEGIC)
    s.get("a")


def finalizers_and_owners(p: Play) -> None:
    c = Play(p.session, OF_NAME["ConfigMap"])
    say = lambda by, metadata, **how: c.apply("a", {"metadata": metadata}, by=by, **how)  # noqa: E731
    owner = {"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": "11111111-1111-1111-1111-111111111111"}
    say("one", {"finalizers": ["a.b/one"], "ownerReferences": [owner]})
    say("two", {"finalizers": ["a.b/two"], "ownerReferences": [{**owner, "uid": "22222222-2222-2222-2222-222222222222"}]})
    say("two", {"finalizers": ["a.b/two", "a.b/one"]})
    say("two", {"finalizers": ["a.b/one", "a.b/one"]})
    say("one", {})
    say("one", {"ownerReferences": [{**owner, "controller": True}]})
    say("two", {"ownerReferences": [{**owner, "controller": False}]})
    c.apply("a", {"data": None}, by="one")
    c.apply("a", {"data": {}}, by="one")
    c.apply("a", {"data": {"b": "1"}, "binaryData": {"c": "YQ=="}}, by="two")
    c.apply("a", {"data": {"b": None}}, by="two")
    c.get("a")


def client_side_moves_over(p: Play) -> None:
    """kubectl apply, then kubectl apply --server-side."""
    c = Play(p.session, OF_NAME["ConfigMap"])
    body = c.body("a", {"data": {"a": "1", "b": "2"}})
    said = json.dumps(body) + "\n"
    note = "kubectl.kubernetes.io/last-applied-configuration"
    c.send(merged(body, {"metadata": {"annotations": {note: said}}}), manager="kubectl-client-side-apply", fieldManager="kubectl-client-side-apply")
    c.patch("a", merged(body, {"data": {"a": "2"}}), APPLY, fieldManager="kubectl")
    c.patch("a", merged(body, {"data": {"b": None}}), APPLY, fieldManager="kubectl")
    c.patch("a", merged(body, {"data": {"a": "3"}}), APPLY, fieldManager="other")
    c.get("a")


def two_versions(p: Play) -> None:
    """One object, written and read in two versions of its kind that differ in name, or in a default, only."""
    for kind in ("Gadget", "ResourceFlavor", "Topology", "RayCluster"):
        older, newer = sorted([each for each in EVERY if each.kind == kind], key=lambda each: each is OF_NAME[kind])
        new, old = Play(p.session, newer), Play(p.session, older)
        new.create("a")
        old.get("a")
        old.list(accept=TABLE)
        old.patch("a", {"metadata": {"labels": {"by": "old"}}}, manager="writer")
        new.patch("a", {"metadata": {"annotations": {"by": "new"}}}, manager="writer")
        new.get("a")
        old.apply("a", by="one", force="true")
        new.apply("a", by="one", force="true")
        new.apply("a", {"metadata": {"labels": {"by": "new"}}}, by="two")
        new.apply("a", {"metadata": {"labels": {"by": "new"}}}, by="two", force="true")
        old.get("a")
        old.put("a", old.fresh("a"), manager="putter")
        new.put("a", new.fresh("a"), manager="putter")
        old.put("a", new.fresh("a"))
        if newer.scale:
            old.patch("a", {"spec": {"replicas": 3}}, sub="scale")
            new.get("a", "scale")
        old.create("b")
        new.get("b")
        new.list()
        old.delete("a", {"propagationPolicy": "Background"})
        new.get("a")


OF_EVERY_KIND = [owners, words]
CASES = [lists_in_pods, of_services, finalizers_and_owners, client_side_moves_over, two_versions]
