# test/kube/test_others_webhooks.py - the same webhooks of somebody's asked by the real kube-apiserver and by `muster up`: the same answers.
import concurrent.futures
import json
import re

import pytest

from others_webhooks import Webhooks, configuration, crontabs, patch, webhook
from session import APPLY, JSON_PATCH, MERGE, TABLE, Session, differences
from waiting import until

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# What Go's libraries say of certificates, and what is met elsewhere too; each is a row of docs/deviations.md, or a line of known.txt.
MEANT = [r"x509: ", r"columnDefinitions", r"\.metadata\.continue: "]


@pytest.fixture(scope="module")
def hooks():
    made = Webhooks()
    try:
        yield made
    finally:
        made.stop()


def compare(world, case, hooks) -> None:
    """Both servers at once; every difference that is not meant."""
    with world.lock:
        ns = f"case-{next(world.numbers)}"
    sessions = [world.session(server, ns) for server in (world.theirs, world.ours)]
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda session: case(session, hooks), sessions))
    finally:
        for session in sessions:
            ask_nobody(session)
    found = [each for each in differences(case.__name__, *sessions) if not any(re.search(meant, str(each)) for meant in MEANT)]
    assert not found, f"{len(found)} differences\n" + "\n".join(str(each)[:900] for each in found[:40])


def ask_nobody(s: Session) -> None:
    """What the case configured is gone."""
    for kind in ("mutating", "validating"):
        path = CONFIGURATIONS.format(kind)
        for one in s.server.ask("GET", path).json["items"]:
            if (name := one["metadata"]["name"]).endswith(f"-{s.ns}"):
                s.server.ask("DELETE", f"{path}/{name}")


def config_map(name: str, say: dict | None = None, **more) -> dict:
    annotations = {"say": json.dumps(say)} if say is not None else {}
    metadata = {"name": name, **({"annotations": annotations} if annotations else {}), **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def maps(s: Session, name: str = "") -> str:
    return f"/api/v1/namespaces/{s.ns}/configmaps" + (f"/{name}" if name else "")


def configure(s: Session, kind: str, name: str, *made: dict) -> None:
    """For this session's namespace, in force when it returns: other servers hear of it a little later. What shows that is one more
    webhook, where nobody listens."""
    probe = webhook("in-force", {"url": "https://127.0.0.1:1/x"}, objectSelector={"matchLabels": {"in-force": f"{kind}-{name}"}})
    made = (*made, probe)
    for one in made:
        one.setdefault("namespaceSelector", {"matchLabels": {"kubernetes.io/metadata.name": s.ns}})
    path = CONFIGURATIONS.format(kind.lower())
    answer = s.ask("POST", path, configuration(kind, f"{name}-{s.ns}", *made))
    assert answer.status == 201, answer.body
    until(f"{kind} {name} is in force", lambda: is_in_force(s, kind, name))


def is_in_force(s: Session, kind: str, name: str) -> bool:
    made = config_map("in-force", metadata={"labels": {"in-force": f"{kind}-{name}"}})
    answer = s.server.ask("POST", maps(s) + "?dryRun=All", json.dumps(made).encode(), {"Content-Type": "application/json"})
    assert answer.status in (201, 400, 500), answer.body  # 400: another one has refused it before.
    return answer.status != 201


def withdraw(s: Session, kind: str, name: str) -> None:
    """In force no longer when it returns."""
    s.ask("DELETE", CONFIGURATIONS.format(kind.lower()) + f"/{name}-{s.ns}")
    until(f"{kind} {name} is not in force", lambda: not is_in_force(s, kind, name))


def aside(s: Session, path: str, body: dict) -> None:
    """Made without being compared."""
    answer = s.server.ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    assert answer.status == 201, answer.body


def of_mode(path: str, hooks: Webhooks, server: str = "good", **more) -> dict:
    name = re.sub(r"[^a-z0-9]", "", path) + server
    more = {"timeoutSeconds": 2 if path == "slow" else 10, **more}
    return webhook(name, hooks.client(path, server), objectSelector={"matchLabels": {"mode": f"{path}.{server}"}}, **more)


MODES = [("garbage", "good"), ("nothing", "good"), ("array", "good"), ("no-response", "good"), ("no-kind", "good"), ("wrong-uid", "good"),
         ("text-500", "good"), ("json-500", "good"), ("text-404", "good"), ("text-403", "good"), ("status-400", "good"), ("slow", "good"),
         ("closed", "good"), ("say", "stranger"), ("say", "other"), ("say", "good")]


def bad_answers(s: Session, hooks: Webhooks) -> None:
    for kind in ("Validating", "Mutating"):
        configure(s, kind, "modes", *(of_mode(path, hooks, server) for path, server in MODES),
                  webhook("nobody", {"url": "https://127.0.0.1:1/x"}, objectSelector={"matchLabels": {"mode": "nobody"}}),
                  webhook("noservice", {"service": {"namespace": s.ns, "name": "nothing"}}, objectSelector={"matchLabels": {"mode": "noservice"}}))
        for mode in [*(f"{path}.{server}" for path, server in MODES), "nobody", "noservice"]:
            s.ask("POST", maps(s), config_map(f"a-{mode}-{kind.lower()}", metadata={"labels": {"mode": mode}}))
        withdraw(s, kind, "modes")


def ignored_failures(s: Session, hooks: Webhooks) -> None:
    configure(s, "Mutating", "ignore", *(of_mode(path, hooks, server, failurePolicy="Ignore") for path, server in MODES))
    for path, server in MODES:
        s.ask("POST", maps(s), config_map(f"a-{path}-{server}", metadata={"labels": {"mode": f"{path}.{server}"}}))
    s.ask("POST", maps(s), config_map("b", {**patch({"op": "remove", "path": "/none"})}, metadata={"labels": {"mode": "say.good"}}))
    s.ask("POST", maps(s), config_map("c", {"patch": "e30=", "patchType": "JSONPatch"}, metadata={"labels": {"mode": "say.good"}}))
    s.ask("POST", maps(s), config_map("d", {"patch": "W10=", "patchType": "Other"}, metadata={"labels": {"mode": "say.good"}}))
    s.ask("POST", maps(s), config_map("e", {"patch": "W3t9XQ==", "patchType": "Other"}, metadata={"labels": {"mode": "say.good"}}))
    s.ask("POST", maps(s), config_map("f", {"patch": "W10="}, metadata={"labels": {"mode": "say.good"}}))
    s.ask("POST", maps(s), config_map("g", {"patchType": "JSONPatch"}, metadata={"labels": {"mode": "say.good"}}))


STATUSES = [None, {}, {"message": "no"}, {"reason": "Because"}, {"code": 403, "message": "no", "reason": "Forbidden"}, {"code": 200, "message": "x"},
            {"code": 429, "message": "later", "details": {"retryAfterSeconds": 7}}, {"status": "Success", "message": "x"}, {"code": 422, "reason": "Invalid",
            "message": "x", "details": {"name": "n", "group": "g", "kind": "k", "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "f"}]}},
            {"metadata": {}, "code": 503, "reason": "ServiceUnavailable"}]


def refusals(s: Session, hooks: Webhooks) -> None:
    for kind in ("Validating", "Mutating"):
        configure(s, kind, "refuse", webhook("refuse", hooks.client("say")))
        for number, status in enumerate(STATUSES):
            say = {"allowed": False, "warnings": ["one", "two \"quoted\""]}
            s.ask("POST", maps(s), config_map(f"a{number}", say if status is None else {**say, "status": status}))
        s.ask("POST", maps(s), config_map("warned", {"warnings": ["careful", "careful"]}))
        withdraw(s, kind, "refuse")
        s.ask("DELETE", maps(s, "warned"))


def patches(s: Session, hooks: Webhooks) -> None:
    configure(s, "Mutating", "patch", webhook("patch", hooks.client("say")))
    add = {"op": "add", "path": "/data", "value": {"k": "v"}}
    cases = [[add], [{"op": "add", "path": "/metadata/labels", "value": {"l": "x"}}, add], [{"op": "test", "path": "/kind", "value": "ConfigMap"}],
             [{"op": "test", "path": "/kind", "value": "Other"}], [{"op": "replace", "path": "/metadata/name/x", "value": "b"}],
             [{"op": "add", "path": "/metadata/labels", "value": {"a b": "c"}}], [{"op": "nonsense", "path": "/a"}], [],
             [{"op": "add", "path": "/metadata/finalizers", "value": ["a.example.com/f"]}], [{"op": "add", "path": "/immutable", "value": True}]]
    for number, case in enumerate(cases):
        s.ask("POST", maps(s), config_map(f"a{number}", patch(*case)))
        s.ask("GET", maps(s, f"a{number}"))
    s.ask("POST", maps(s), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-", "annotations": {"say": json.dumps(patch(add))}}})
    s.ask("PATCH", maps(s, "a0"), {"data": {"k": "changed", "l": "m"}}, kind=MERGE)
    s.ask("PATCH", maps(s, "a0"), [{"op": "add", "path": "/data/z", "value": "1"}], kind=JSON_PATCH)
    s.ask("PATCH", maps(s, "applied"), config_map("applied", patch(add), data={"own": "1"}), kind=APPLY, fieldManager="one")
    s.ask("PATCH", maps(s, "applied"), config_map("applied", patch(add), data={"own": "2"}), kind=APPLY, fieldManager="one")
    s.ask("POST", maps(s), config_map("dry", patch(add)), dryRun="All")
    s.ask("GET", maps(s, "dry"))
    s.ask("DELETE", maps(s, "a0"))
    s.ask("DELETE", maps(s, "a7"))


def reviews(s: Session, hooks: Webhooks) -> None:
    """What a webhook is told, which it says in its refusal."""
    everything = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]
    s.ask("POST", maps(s), config_map("a", data={"k": "v"}))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    s.ask("POST", f"/api/v1/namespaces/{s.ns}/pods", pod)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployments = f"/apis/apps/v1/namespaces/{s.ns}/deployments"
    aside(s, deployments, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                                "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}})
    configure(s, "Validating", "echo", webhook("echo", hooks.client("echo"), everything))
    s.ask("POST", maps(s), config_map("b", data={"k": "v"}))
    s.ask("PATCH", maps(s, "a"), {"data": {"k": "w"}}, kind=MERGE, fieldValidation="Strict")
    s.ask("DELETE", maps(s, "a"), {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    s.ask("DELETE", maps(s, "a"))
    s.ask("DELETE", maps(s))
    s.ask("PATCH", deployments + "/d/scale", {"spec": {"replicas": 3}}, kind=MERGE)
    s.ask("PATCH", f"/api/v1/namespaces/{s.ns}/pods/p/status", {"status": {"message": "m"}}, kind=MERGE)
    s.ask("POST", f"/api/v1/namespaces/{s.ns}/pods/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": s.ns}})
    s.ask("POST", f"/api/v1/namespaces/{s.ns}/pods/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
                                                                "target": {"kind": "Node", "name": "n"}})
    s.ask("PATCH", f"/api/v1/namespaces/{s.ns}", {"metadata": {"labels": {"x": "y"}}}, kind=MERGE)
    s.ask("POST", maps(s), config_map("c"), dryRun="All")


def mutating_reviews(s: Session, hooks: Webhooks) -> None:
    configure(s, "Mutating", "echo", webhook("echo", hooks.client("echo")))
    s.ask("POST", maps(s), config_map("b", data={"k": "v"}))
    s.ask("POST", maps(s), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}})


def conditions(s: Session, hooks: Webhooks) -> None:
    def when(name: str, *expressions: str, **more) -> dict:
        return webhook(name, hooks.client("echo"), objectSelector={"matchLabels": {"of": name}},
                       matchConditions=[{"name": f"c{i}", "expression": text} for i, text in enumerate(expressions)], **more)
    configure(s, "Validating", "conditions", when("yes", "true"), when("no", "false"), when("user", "request.userInfo.username != 'nobody'"),
              when("object", "object.data.k == 'v'"), when("ignored", "object.data.k == 'v'", failurePolicy="Ignore"),
              when("both", "object.data.k == 'v'", "false"), when("two", "object.data.k == 'v'", "object.data.j == 'v'"),
              when("old", "oldObject == null"), when("has", "has(object.data) && request.operation in ['CREATE', 'UPDATE']"))
    for name in ("yes", "no", "user", "object", "ignored", "both", "two", "old", "has"):
        s.ask("POST", maps(s), config_map(f"a-{name}", metadata={"labels": {"of": name}}), dryRun="All")
        s.ask("POST", maps(s), config_map(f"b-{name}", metadata={"labels": {"of": name}}, data={"k": "v"}), dryRun="All")


def faults(s: Session, hooks: Webhooks) -> None:
    """Configurations that are refused, or completed."""
    client = hooks.client("say")
    good = webhook("a", client)
    rule = good["rules"][0]
    wrong = [{"name": "a"}, {"name": ""}, {"name": "A.example.com"}, {"sideEffects": "Some"}, {"sideEffects": None}, {"admissionReviewVersions": []},
             {"admissionReviewVersions": ["v2"]}, {"admissionReviewVersions": ["v1", "v1"]}, {"timeoutSeconds": 0}, {"timeoutSeconds": 31},
             {"failurePolicy": "Maybe"}, {"matchPolicy": "Maybe"}, {"clientConfig": {}}, {"clientConfig": {"url": "http://a.example.com"}},
             {"clientConfig": {"url": "https://u:p@a.example.com/x?y=z#f"}}, {"clientConfig": {"url": "https:///x"}}, {"clientConfig": {"url": "a"}},
             {"clientConfig": {**client, "service": {"namespace": "a", "name": "b"}}}, {"clientConfig": {"service": {"namespace": "", "name": ""}}},
             {"clientConfig": {"service": {"namespace": "a", "name": "b", "port": 70000}}}, {"clientConfig": {"service": {"namespace": "a", "name": "b", "path": "x"}}},
             {"clientConfig": {"service": {"namespace": "a", "name": "b", "path": "/a//b"}}}, {"clientConfig": {"service": {"namespace": "a", "name": "b", "path": "//"}}},
             {"rules": [{**rule, "operations": []}]}, {"rules": [{**rule, "operations": ["*", "CREATE"]}]}, {"rules": [{**rule, "operations": ["LOOK"]}]},
             {"rules": [{**rule, "apiGroups": []}]}, {"rules": [{**rule, "apiGroups": ["*", "a"]}]}, {"rules": [{**rule, "apiVersions": [""]}]},
             {"rules": [{**rule, "resources": []}]}, {"rules": [{**rule, "resources": ["*/*", "pods"]}]}, {"rules": [{**rule, "resources": ["*", "pods"]}]},
             {"rules": [{**rule, "resources": ["pods/*", "pods/status"]}]}, {"rules": [{**rule, "resources": ["*/status", "pods/status"]}]},
             {"rules": [{**rule, "scope": "World"}]}, {"namespaceSelector": {"matchLabels": {"a b": "c"}}},
             {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, {"matchConditions": [{"name": "", "expression": ""}]},
             {"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]},
             {"matchConditions": [{"name": "a", "expression": "object.x"}]}, {"matchConditions": [{"name": "a", "expression": "1"}]},
             {"matchConditions": [{"name": "a", "expression": "'x'"}]}]
    for number, each in enumerate(wrong):
        made = {name: value for name, value in {**good, **each}.items() if value is not None}
        for kind in ("Validating", "Mutating"):
            s.ask("POST", CONFIGURATIONS.format(kind.lower()), configuration(kind, f"wrong-{number}-{s.ns}", made))
    least = {"name": "b.example.com", "clientConfig": {"service": {"namespace": "a", "name": "b"}}, "sideEffects": "NoneOnDryRun", "admissionReviewVersions": ["v1beta1"],
             "rules": [{"operations": ["CREATE"], "apiGroups": ["no.example.com"], "apiVersions": ["v1"], "resources": ["nothing"]}]}
    for kind in ("Validating", "Mutating"):
        path = CONFIGURATIONS.format(kind.lower())
        s.ask("POST", path, configuration(kind, f"twice-{s.ns}", least, least))
        s.ask("POST", path, configuration(kind, f"least-{s.ns}", least))
        s.ask("GET", f"{path}/least-{s.ns}", accept=TABLE)
        s.ask("PUT", f"{path}/least-{s.ns}", configuration(kind, f"least-{s.ns}", least))
        s.ask("PATCH", f"{path}/least-{s.ns}", {"webhooks": [{"name": "b.example.com", "timeoutSeconds": 3}]}, kind="application/strategic-merge-patch+json")
        s.ask("PATCH", f"{path}/least-{s.ns}", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
        s.ask("POST", path, configuration(kind, f"none-{s.ns}"))
        s.ask("DELETE", f"{path}/least-{s.ns}")


def conversions(s: Session, hooks: Webhooks) -> None:
    group = f"{s.ns}.example.com"
    aside(s, CRDS, crontabs(group, hooks.client("convert")))
    one, two = (f"/apis/{group}/{version}/namespaces/{s.ns}/crontabs" for version in ("v1", "v2"))

    def tab(name: str, version: str, spec: dict, **annotations) -> dict:
        return {"apiVersion": f"{group}/{version}", "kind": "CronTab", "metadata": {"name": name, **({"annotations": annotations} if annotations else {})}, "spec": spec}
    for path, version in ((one, "v1"), (two, "v2")):
        until(f"{version} can be written", lambda path=path, version=version: s.server.ask(
            "POST", f"{path}?dryRun=All", json.dumps(tab("none", version, {})).encode(), {"Content-Type": "application/json"}).status == 201)
    s.ask("POST", two, tab("a", "v2", {"hosts": ["x", "y"]}))
    for path in (one, two):
        s.ask("GET", f"{path}/a")
        s.ask("GET", path)
        s.ask("GET", f"{path}/a", accept=TABLE)
    s.ask("PATCH", f"{two}/a", {"spec": {"hosts": ["z"]}}, kind=MERGE)
    s.ask("PATCH", f"{two}/a/status", {"status": {"seen": True}}, kind=MERGE)
    s.ask("GET", f"{one}/a")
    s.ask("PATCH", f"{two}/b", tab("b", "v2", {"hosts": ["m"]}), kind=APPLY, fieldManager="one")
    s.ask("POST", two, {**tab("", "v2", {"hosts": ["m"]}), "metadata": {"generateName": "g-"}})
    s.ask("DELETE", f"{two}/b")
    wrong = {"name": {"name": "other"}, "uid": {"uid": "other"}, "kind": {"whole": {"kind": "Other"}}, "version": {"whole": {"apiVersion": "v9"}},
             "labels": {"labels": {"a": 7}}, "label": {"labels": {"a b": "c"}}, "list": {"labels": []}, "gone": {"whole": {"metadata": None}},
             "namespace": {"namespace": "other"}, "generation": {"generation": 99}, "good": {"labels": {"new": "one"}}}
    for name, convert in wrong.items():
        s.ask("POST", one, tab(f"w-{name}", "v1", {"host": "x"}, convert=json.dumps(convert)))
        s.ask("GET", f"{two}/w-{name}")
        s.ask("DELETE", f"{one}/w-{name}")
    said = {"failed": {"result": {"status": "Failure", "message": "cannot"}}, "silent": {"result": {"status": "Failure"}}, "uid": {"uid": "other"},
            "none": {"convertedObjects": []}, "many": {"convertedObjects": [{}, {}]}, "empty": {"convertedObjects": [{}]}}
    for name, say in said.items():
        s.ask("POST", one, tab(f"s-{name}", "v1", {"host": "x"}, say=json.dumps(say)))
        s.ask("GET", f"{two}/s-{name}")
        s.ask("DELETE", f"{one}/s-{name}")
    s.server.ask("DELETE", f"{CRDS}/crontabs.{group}")


def orders(s: Session, hooks: Webhooks) -> None:
    """Who is asked after whom, and who again: each adds its letter to a label."""
    def one(letter: str, **more) -> dict:
        return webhook(letter, hooks.client(f"count/{letter}"), **more)
    never, needed = {"reinvocationPolicy": "Never"}, {"reinvocationPolicy": "IfNeeded"}
    configure(s, "Mutating", "b", one("b", **needed), one("c", **never), one("a", **needed))
    configure(s, "Mutating", "a", one("z", **needed), one("y", **never))
    configure(s, "Mutating", "c", one("d", objectSelector={"matchExpressions": [{"key": "asked", "operator": "Exists"}]}, **needed),
              one("e", objectSelector={"matchExpressions": [{"key": "asked", "operator": "DoesNotExist"}]}, **needed))
    s.ask("POST", maps(s), config_map("a", data={"k": "u"}))
    s.ask("PATCH", maps(s, "a"), {"data": {"k": "v"}}, kind=MERGE)
    s.ask("GET", maps(s, "a"))


def equivalents(s: Session, hooks: Webhooks) -> None:
    """A kind of two versions, and webhooks that know one of them."""
    group = f"{s.ns}.example.com"
    crd = crontabs(group, {})
    crd["spec"]["conversion"] = {"strategy": "None"}
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {"host": {"type": "string"}}
    aside(s, CRDS, crd)
    two = f"/apis/{group}/v2/namespaces/{s.ns}/crontabs"
    until("the kind is served", lambda: s.server.ask("GET", two).status == 200)
    rules = [{"operations": ["*"], "apiGroups": [group], "apiVersions": ["v1"], "resources": ["crontabs", "crontabs/status"]}]

    def tab(name: str) -> dict:
        return {"apiVersion": f"{group}/v2", "kind": "CronTab", "metadata": {"name": name}, "spec": {"host": "x"}}
    s.ask("POST", two, tab("a"))
    configure(s, "Validating", "exact", webhook("exact", hooks.client("echo"), rules, matchPolicy="Exact"))
    s.ask("POST", two, tab("b"))
    s.ask("POST", two.replace("v2", "v1"), {**tab("d"), "apiVersion": f"{group}/v1"})
    withdraw(s, "Validating", "exact")  # Of two that refuse, the real server tells whichever is quicker.
    configure(s, "Validating", "equivalent", webhook("equivalent", hooks.client("echo"), rules))
    s.ask("POST", two, tab("c"))
    s.ask("PATCH", f"{two}/a/status", {"status": {"seen": True}}, kind=MERGE)
    s.ask("DELETE", f"{two}/a")
    s.ask("POST", two.replace("v2", "v1"), {**tab("d"), "apiVersion": f"{group}/v1"})
    s.server.ask("DELETE", f"{CRDS}/crontabs.{group}")


@pytest.mark.parametrize("case", [bad_answers, ignored_failures, refusals, patches, reviews, mutating_reviews, conditions, faults, conversions, orders, equivalents],
                         ids=lambda case: case.__name__)
def test_the_same_answers(world, hooks, case):
    compare(world, case, hooks)
