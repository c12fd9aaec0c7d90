# test/kube/differences/cases_objects.py - what is done to one object of any kind, well and badly.
from play import Play
from session import (APPLY, JSON, JSON_PATCH, MERGE, METADATA, METADATA_LIST, PROTOBUF, STRATEGIC, TABLE, YAML)
from subjects import merged

NEVER = "00000000-0000-0000-0000-000000000000"


def life(p: Play) -> None:
    labels = {"metadata": {"labels": {"case": p.session.ns}}}
    p.create("a", labels)
    p.create("a", labels)
    p.get("a")
    p.list()
    p.put("a", p.fresh("a"))
    p.put("a", merged(p.fresh("a"), p.subject.change))
    p.patch("a", {"metadata": {"labels": {"more": "yes"}, "annotations": {"note": "b"}}})
    p.get("a", accept=TABLE)
    p.get("a", accept=METADATA)
    p.list(accept=TABLE)
    p.list(accept=METADATA_LIST)
    p.list(accept=TABLE, includeObject="None")
    p.list(accept=TABLE, includeObject="Object")
    p.delete("a")
    p.get("a")
    p.delete("a")


def bodies_that_are_none(p: Play) -> None:
    for body in (b"", b"{", b"null", b"[]", b"5", b'"a"', b"{}", b'{"metadata":{}}', b'{"kind":5}', b'{"apiVersion":{}}', b"\xff",
                 b'{"metadata":{"name":"a","name":"b"}} x'):
        p.send(body)
    p.send(b"a: [", kind=YAML)
    p.send(b"5", kind=YAML)
    p.send(b"a=b", kind="application/x-www-form-urlencoded")
    p.send(p.body("a"), kind="text/plain")
    p.send(p.body("a"), kind="application/json; charset=utf-8", dryRun="All")
    p.send(p.body("a"), kind=None, dryRun="All")
    p.send({**p.body("a"), "kind": "Nothing"})
    p.send({**p.body("a"), "apiVersion": "example.com/v1"})
    p.send({**p.body("a"), "kind": "Pod", "apiVersion": "v1"}, dryRun="All")
    p.send({k: v for k, v in p.body("a").items() if k != "kind"}, dryRun="All")
    p.send({k: v for k, v in p.body("a").items() if k != "apiVersion"}, dryRun="All")


def names(p: Play) -> None:
    for name in ("A", "a_b", "a.b", "-a", "a-", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "a/b", "a%b", ".", "..", "1a", "a:b"):
        body = p.body("a")
        body["metadata"]["name"] = name
        p.send(body, dryRun="All")
    without = p.body("a")
    del without["metadata"]["name"]
    p.send(without)
    for base in ("made-", "a_b-", "b" * 70):
        answer = p.send({**without, "metadata": {"generateName": base}}, dryRun="All")
        assert answer.status != 500
    p.send({**without, "metadata": {"generateName": "kept-", "name": p.name("kept")}}, dryRun="All")
    for bad in ({"namespace": "elsewhere"}, {"name": ""}, {"name": 5}, {"generateName": 5}, {"uid": NEVER}, {"resourceVersion": "1"},
                {"creationTimestamp": "2001-01-01T00:00:00Z"}, {"generation": 7}, {"selfLink": "/a"},
                {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}):
        p.send(p.body("a", {"metadata": bad}), dryRun="All")


def metadata(p: Play) -> None:
    for bad in ({"labels": {"a b": "c"}}, {"labels": {"a": "b c"}}, {"labels": {"a": 5}}, {"labels": []}, {"labels": {"a": "b" * 64}},
                {"labels": {"A/b/c": "d"}}, {"labels": {"/a": "b"}}, {"labels": {"": "b"}}, {"labels": None}, {"labels": {"a": None}},
                {"annotations": {"a b": "c"}}, {"annotations": {"A": "c"}}, {"annotations": {"a": 5}}, {"annotations": {"a": "b" * 262144}},
                {"annotations": "a"}, {"finalizers": ["a"]}, {"finalizers": ["a.b/c"]}, {"finalizers": ["a b/c"]}, {"finalizers": "a"},
                {"finalizers": ["orphan", "foregroundDeletion"]}, {"finalizers": []},
                {"ownerReferences": [{}]}, {"ownerReferences": "a"}, {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a"}]},
                {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": NEVER}]},
                {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": NEVER}]},
                {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "A", "name": "a", "uid": NEVER}]},
                {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": n, "uid": n, "controller": True} for n in "ab"]},
                {"managedFields": [{}]}, {"managedFields": "a"}, {"managedFields": [{"operation": "Nothing"}]},
                {"managedFields": [{"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                                    "fieldsV1": {"f:data": {}}}]}):
        p.send(p.body("a", {"metadata": bad}), dryRun="All")
    p.send({**p.body("a"), "metadata": []})
    p.send({**p.body("a"), "metadata": None})


def strictness(p: Play) -> None:
    deep = {"nothing": 1, "metadata": {"nothing": {"a": 1}}}
    body = p.body("a", deep)
    inner = next((name for name in ("spec", "template") if isinstance(body.get(name), dict)), None)
    if inner:
        body[inner]["nothing"] = [1]
    twice = b'{"nothing":1,' + b'"metadata":{"name":"a"},' + __import__("json").dumps(p.body("a")).encode()[1:]
    for how in ({}, {"fieldValidation": "Ignore"}, {"fieldValidation": "Warn"}, {"fieldValidation": "Strict"}, {"fieldValidation": "Nothing"}):
        p.send(body, dryRun="All", **how)
        p.send(twice, dryRun="All", **how)
    p.create("a")
    for how in ({}, {"fieldValidation": "Ignore"}, {"fieldValidation": "Strict"}):
        p.put("a", merged(p.fresh("a"), deep), dryRun="All", **how)
        p.patch("a", deep, dryRun="All", **how)
        p.patch("a", [{"op": "add", "path": "/nothing", "value": 1}], JSON_PATCH, dryRun="All", **how)
        p.apply("a", deep, dryRun="All", **how)
        if not p.subject.custom:
            p.patch("a", deep, STRATEGIC, dryRun="All", **how)
    p.get("a")


def contents(p: Play) -> None:
    for _, over in p.subject.wrong:
        p.create("a", over, dryRun="All")
    for key in p.subject.body:
        for bad in ("text", 5, [], {}, None, True, [5]):
            p.send({**p.body("a"), key: bad}, dryRun="All")
    p.create("a")
    for _, over in p.subject.wrong:
        p.patch("a", over, dryRun="All")
    if p.subject.fixed:
        p.patch("a", p.subject.fixed)
        p.patch("a", p.subject.change)
    p.get("a")


def dry_runs(p: Play) -> None:
    p.create("a", dryRun="All")
    p.get("a")
    p.create("a", dryRun="Nothing")
    p.create("a")
    p.create("a", dryRun="All")
    p.put("a", merged(p.fresh("a"), p.subject.change), dryRun="All")
    p.patch("a", p.subject.change, dryRun="All")
    p.patch("a", p.subject.change, dryRun="Nothing")
    p.apply("b", dryRun="All")
    p.delete("a", dryRun="All")
    p.delete("a", {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]})
    p.delete("a", {"dryRun": ["Nothing"]})
    p.get("a")
    p.delete("a", dryRun="All", propagationPolicy="Foreground")
    p.get("a")


def conflicts(p: Play) -> None:
    p.create("a")
    old = p.fresh("a")
    p.patch("a", {"metadata": {"labels": {"b": "c"}}})
    p.put("a", merged(old, p.subject.change))
    for version in ("", "0", "1", "999999999", "nonsense"):
        p.put("a", merged(p.fresh("a"), {"metadata": {"resourceVersion": version}}), dryRun="All")
        p.patch("a", {"metadata": {"resourceVersion": version, "labels": {"c": "d"}}}, dryRun="All")
    p.put("a", merged(p.fresh("a"), {"metadata": {"uid": NEVER}}))
    p.patch("a", {"metadata": {"uid": NEVER}})
    p.put("a", merged(p.fresh("a"), {"metadata": {"name": p.name("b")}}))
    p.put("a", merged(p.fresh("a"), {"metadata": {"name": ""}}), dryRun="All")
    p.put("a", merged(p.fresh("a"), {"metadata": {"namespace": "elsewhere"}}))
    p.patch("a", {"metadata": {"name": p.name("b")}})
    p.patch("a", {"metadata": {"namespace": "elsewhere"}})
    p.patch("a", {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}})
    p.patch("a", {"metadata": {"creationTimestamp": None, "generation": 99, "selfLink": "/a"}})
    p.patch("a", {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}})
    p.patch("a", {"kind": "Nothing"})
    p.patch("a", {"apiVersion": "nothing/v1"})
    p.put("b", p.body("b"))
    p.patch("b", {})
    for wrong in ({"preconditions": {"uid": NEVER}}, {"preconditions": {"resourceVersion": "1"}},
                  {"preconditions": {"uid": old["metadata"]["uid"], "resourceVersion": old["metadata"]["resourceVersion"]}}):
        p.delete("a", wrong)
    p.get("a")
    p.delete("a", {"preconditions": {"uid": old["metadata"]["uid"], "resourceVersion": p.version("a")}})
    p.get("a")


def deletions(p: Play) -> None:
    for number, (body, query) in enumerate([
            ({"propagationPolicy": "Foreground"}, {}), ({"propagationPolicy": "Orphan"}, {}), ({"propagationPolicy": "Background"}, {}),
            ({"orphanDependents": True}, {}), ({"orphanDependents": False}, {}), ({"gracePeriodSeconds": 0}, {}), ({"gracePeriodSeconds": 5}, {}),
            (None, {"propagationPolicy": "Foreground"}), (None, {"gracePeriodSeconds": "0"}), (None, {"orphanDependents": "true"}),
            ({"kind": "DeleteOptions", "apiVersion": "v1"}, {"propagationPolicy": "Orphan"})]):
        p.create(f"a{number}")
        p.delete(f"a{number}", body, **query)
        p.get(f"a{number}")
    p.create("b")
    for body, query in [({"propagationPolicy": "Nothing"}, {}), ({"orphanDependents": True, "propagationPolicy": "Orphan"}, {}),
                        ({"gracePeriodSeconds": -1}, {"dryRun": "All"}), ({"gracePeriodSeconds": "5"}, {}), ({"kind": "Pod"}, {}),
                        ({"nothing": 1}, {"fieldValidation": "Strict", "dryRun": "All"}), (b"{", {}), (b"[]", {}),
                        (None, {"gracePeriodSeconds": "five"}), (None, {"propagationPolicy": "Nothing"}), (None, {"orphanDependents": "perhaps"})]:
        p.delete("b", body, **query)
    p.get("b")


def finalizers(p: Play) -> None:
    p.create("a", {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}})
    p.delete("a")
    p.delete("a")
    p.get("a")
    p.patch("a", {"metadata": {"finalizers": ["example.com/one", "example.com/three"]}})
    p.patch("a", {"metadata": {"finalizers": ["example.com/one"]}})
    p.patch("a", p.subject.change)
    p.delete("a", {"propagationPolicy": "Foreground"})
    p.delete("a", {"propagationPolicy": "Orphan"})
    p.patch("a", {"metadata": {"deletionTimestamp": None}})
    p.create("a")
    p.patch("a", {"metadata": {"finalizers": None}})
    p.get("a")
    p.create("b", {"metadata": {"finalizers": ["example.com/one"]}})
    p.delete("b", {"propagationPolicy": "Background"})
    p.patch("b", [{"op": "remove", "path": "/metadata/finalizers"}], JSON_PATCH, dryRun="All")
    p.patch("b", [{"op": "remove", "path": "/metadata/finalizers"}], JSON_PATCH)
    p.get("b")


def patches(p: Play) -> None:
    p.create("a", {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}})
    kinds = [MERGE, JSON_PATCH, STRATEGIC, APPLY]
    for kind in kinds:
        for body in (b"", b"{", b"null", b"[]", b"{}", b"5", b'"a"', b'[{"op":"nothing","path":"/a"}]', b'[{"op":"remove","path":"/a/b/c"}]',
                     b'[{"op":"test","path":"/metadata/labels/a","value":"c"}]', b'[{"op":"add","path":"a","value":1}]', b'[5]',
                     b'[{"op":"replace","path":"/metadata/labels/x","value":"c"}]', b'[{"op":"add"}]', b'[{"op":"copy","path":"/metadata/labels/e","from":"/metadata/labels/a"}]',
                     b'[{"op":"move","path":"/metadata/labels/e","from":"/metadata/labels/zz"}]',
                     b'{"metadata":{"labels":{"a":5}}}', b'{"metadata":{"labels":"a"}}', b'{"metadata":null}', b'{"metadata":{"labels":{"a":null,"z":"y"}}}',
                     b'{"metadata":{"labels":{"a":"c"},"labels":{"a":"d"}}}'):
            p.patch("a", body, kind, dryRun="All", **({"fieldManager": "one"} if kind == APPLY else {}))
    for kind in (JSON, YAML, PROTOBUF, "text/plain", "application/nothing+json", "application/merge-patch+json; charset=utf-8",
                 "application/apply-patch+cbor"):
        p.patch("a", {"metadata": {"labels": {"k": "v"}}}, kind)
    p.patch("a", {"metadata": {"labels": {"k": "v"}}}, kind=None)
    p.patch("a", {"metadata": {"labels": {"k": "v"}}}, force="true")
    p.patch("a", {"metadata": {"labels": {"$patch": "replace", "x": "y"}}}, STRATEGIC)
    p.patch("a", {"metadata": {"annotations": {"$patch": "delete"}}}, STRATEGIC)
    p.patch("a", {"metadata": {"finalizers": ["a.b/c"]}}, STRATEGIC)
    p.patch("a", {"metadata": {"finalizers": ["a.b/d"], "$deleteFromPrimitiveList/finalizers": ["a.b/c"]}}, STRATEGIC)
    p.patch("a", {"metadata": {"$patch": "nothing"}}, STRATEGIC)
    p.patch("a", {"$setElementOrder/metadata": 5}, STRATEGIC)
    p.patch("a", {"$retainKeys": ["metadata"], "metadata": {"labels": {"q": "r"}}}, STRATEGIC, dryRun="All")  # Nothing else is left.
    p.patch("a", p.subject.change, STRATEGIC)
    p.patch("a", [{"op": "test", "path": "/metadata/name", "value": p.name("a")}, {"op": "add", "path": "/metadata/labels", "value": {"j": "k"}}], JSON_PATCH)
    p.patch("a", {})
    p.patch("a", [], JSON_PATCH)
    p.get("a")


def subresources(p: Play) -> None:
    p.create("a", p.subject.status)
    p.get("a", "status")
    p.patch("a", {"status": None})
    if p.subject.status:
        p.patch("a", p.subject.status)
        p.patch("a", {**p.subject.status, "metadata": {"labels": {"by": "status"}}, "spec": {}}, sub="status")
        p.put("a", merged(p.fresh("a"), {**p.subject.change, "metadata": {"labels": {"more": "status"}, "annotations": {"a": "b"}}}), "status")
        p.apply("a", p.subject.status, "status", by="status-writer")
        p.patch("a", {"status": "text"}, sub="status")
        p.patch("a", {"status": {"nothing": 1}}, sub="status", fieldValidation="Strict")
        p.patch("a", {"status": None}, sub="status")
        p.put("a", p.body("a", p.subject.status), "status")
    p.get("a")
    for sub in ("status", "scale", "nothing"):
        p.ask("DELETE", p.path("a", sub))
        p.ask("POST", p.path("a", sub), p.body("a"))
        p.get("nothing", sub)
    for sub in ("scale", "nothing"):
        p.get("a", sub)
        p.patch("a", {"spec": {"replicas": 4}}, sub=sub)
    if p.subject.scale:
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": p.name("a"), "namespace": p.session.ns}}
        p.put("a", {**scale, "spec": {"replicas": 2}}, "scale")
        p.put("a", {**scale, "spec": {"replicas": -2}}, "scale")
        p.put("a", {**scale, "spec": {"replicas": "x"}}, "scale")
        p.put("a", {**scale, "metadata": {"name": "other"}, "spec": {"replicas": 2}}, "scale")
        p.put("a", {**scale, "spec": {}}, "scale")
        p.patch("a", {"spec": {"replicas": 5}}, STRATEGIC, "scale")
        p.patch("a", [{"op": "replace", "path": "/spec/replicas", "value": 6}], JSON_PATCH, "scale")
        p.patch("a", {**scale, "spec": {"replicas": 7}}, APPLY, "scale", fieldManager="scaler")
        p.patch("a", {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 8}}, sub="scale")
        p.get("a", "scale", accept=TABLE)
        p.get("a")


def scaled_by_several(p: Play) -> None:
    """Whose replicas are when people write them there and at /scale."""
    if not p.subject.scale or p.subject.custom:
        return  # Of a custom kind kube-apiserver fails (500) as soon as one applies at /scale what another owns.
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": p.name("a"), "namespace": p.session.ns}}

    def applied(replicas: int | None, by: str, **how) -> None:
        p.patch("a", {**scale, "spec": {} if replicas is None else {"replicas": replicas}}, APPLY, "scale", fieldManager=by, **how)
        p.get("a")

    p.create("a", {"spec": {"replicas": 3}})
    applied(5, "scaler")
    applied(5, "scaler", force="true")
    applied(5, "scaler")
    p.apply("a", {"spec": {"replicas": 5}}, by="one")
    p.patch("a", {"spec": {"replicas": 6}}, sub="scale", manager="two", dryRun="All")
    p.patch("a", {"spec": {"replicas": 6}}, sub="scale", manager="two")
    p.get("a")
    applied(7, "scaler")
    p.put("a", {**scale, "spec": {"replicas": 0}}, "scale")
    p.get("a")
    applied(None, "scaler")
    applied(0, "scaler")
    p.apply("a", {"spec": {"replicas": 2}}, by="one", force="true")
    applied(None, "scaler")
    for wrong in ({"kind": "Nothing"}, {"apiVersion": p.subject.api}, {"spec": {"nothing": 1}}, {"spec": {"replicas": "x"}}, {"metadata": {"name": "b"}},
                  {"metadata": {"name": p.name("a"), "managedFields": []}}, {"metadata": {"name": p.name("a"), "uid": "1"}}):
        p.patch("a", {**scale, "spec": {"replicas": 4}, **wrong}, APPLY, "scale", fieldManager="scaler")
    p.patch("a", {**scale, "spec": {"replicas": 4}}, APPLY, "scale")
    p.patch("nothing", {**scale, "metadata": {"name": p.name("nothing")}, "spec": {"replicas": 4}}, APPLY, "scale", fieldManager="scaler")
    for wrong in ("x", {"replicas": "x"}, {"replicas": None}, {"replicas": 1.5}):
        p.patch("a", {"spec": wrong}, sub="scale")
    p.get("a")
    p.create("b", {"spec": {"replicas": 3}})
    p.patch("b", {**scale, "metadata": {"name": p.name("b")}, "spec": {"replicas": 3}}, APPLY, "scale", fieldManager="scaler")
    p.get("b")
    for wrong in (1.5, -1, True):
        p.patch("a", {**scale, "spec": {"replicas": wrong}}, APPLY, "scale", fieldManager="scaler", force="true")
        p.get("a")
    for wrong in (1.5, 3_000_000_000, 1e30, -1, True):
        p.patch("a", {"spec": {"replicas": wrong}}, sub="scale")
        p.get("a")


def methods(p: Play) -> None:
    p.create("a")
    p.ask("POST", p.path("a"), p.body("a"))
    p.ask("PUT", p.path(), p.body("a"))
    p.ask("PATCH", p.path(), {}, kind=MERGE)
    for method in ("HEAD", "OPTIONS", "TRACE", "NOTHING"):
        p.ask(method, p.path("a"))
    for accept in ("text/html", "application/yaml", PROTOBUF, f"{PROTOBUF},{JSON}", "*/*", "", "application/cbor", "application/json;as=Nothing;v=v1;g=meta.k8s.io",
                   "application/json;as=Table;v=v9;g=meta.k8s.io,application/json", f"{METADATA},{JSON}", "application/json;as=Table;v=v1beta1;g=meta.k8s.io"):
        p.get("a", accept=accept)
    p.get("a", pretty="true")
    p.get("a", resourceVersion="0")
    p.get("a", resourceVersion="nonsense")
    p.get("a/")
    p.get("A_b")
    p.ask("GET", p.path("a").replace(p.subject.api, "example.com/v1"))
    p.ask("GET", p.path("a").replace(f"/{p.subject.plural}/", "/nothings/"))
    p.ask("GET", p.subject.root + f"/{p.subject.plural}/a/b/c/d")
    if p.subject.namespaced:
        p.ask("GET", f"{p.subject.root}/{p.subject.plural}/a")
        p.ask("POST", f"{p.subject.root}/{p.subject.plural}", p.body("b"))
        p.ask("POST", p.path().replace(p.session.ns, "nowhere-at-all"), p.body("b"))
        p.ask("GET", p.path().replace(p.session.ns, "nowhere-at-all"))
    else:
        p.ask("GET", f"{p.subject.root}/namespaces/default/{p.subject.plural}/a")


CASES = [life, bodies_that_are_none, names, metadata, strictness, contents, dry_runs, conflicts, deletions, finalizers, patches, subresources, scaled_by_several, methods]
