# test/kube/differences/sequences.py - seeded random lives of a few objects, and the shortest one that still differs.
import copy
import dataclasses
import random

from play import Play
from session import APPLY, JSON_PATCH, MERGE, STRATEGIC, Session
from subjects import OF_NAME, merged


@dataclasses.dataclass(frozen=True)
class Step:
    """One request: what to do to the object of that kind and name, by whom, with what."""
    verb: str
    kind: str
    name: str
    manager: str
    body: object = None
    how: tuple[tuple[str, str], ...] = ()


def some(chance: random.Random, of: dict, least: int = 0) -> dict:
    """A part of it; a list of values stands for one of them."""
    names = [name for name in of if chance.random() < 0.4]
    while len(names) < least:
        names = list({*names, chance.choice(list(of))})
    return {name: copy.deepcopy(chance.choice(of[name])) for name in sorted(names)}


def config_map(chance: random.Random) -> dict:
    return {"data": some(chance, {"a": ["1", "2"], "b": ["1", "2"], "c": ["", "1"]})}


def container(chance: random.Random, name: str) -> dict:
    return {"name": name, **some(chance, {
        "image": ["x", "y"], "args": [["1"], ["1", "2"], []], "env": [[{"name": "A", "value": "1"}], [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]],
        "ports": [[{"containerPort": 80}], [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 81}]],
        "resources": [{"limits": {"cpu": "1"}}, {"requests": {"cpu": "500m", "memory": "1Gi"}}, {}]})}


def deployment(chance: random.Random) -> dict:
    names = chance.choice([["one"], ["two"], ["one", "two"], ["two", "one"]])
    inner = {"containers": [container(chance, name) for name in names], **some(chance, {
        "tolerations": [[{"key": "a", "operator": "Exists"}], [{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]],
        "nodeSelector": [{"a": "b"}, {"a": "c", "d": "e"}], "volumes": [[{"name": "v", "emptyDir": {}}], [{"name": "v", "emptyDir": {"medium": "Memory"}}]],
        "imagePullSecrets": [[{"name": "s"}], [{"name": "s"}, {"name": "t"}]]})}
    return {"spec": {**some(chance, {"replicas": [1, 2, 3], "paused": [True, False], "strategy": [{"type": "Recreate"}, {"type": "RollingUpdate"}]}),
                     "selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a", **some(chance, {"b": ["c", "d"]})}}, "spec": inner}}}


def service(chance: random.Random) -> dict:
    ports = [{"name": name, "port": port, **some(chance, {"protocol": ["TCP", "UDP"], "targetPort": [8080, "web"]})} for name, port in (("p", 80), ("q", 81))]
    return {"spec": {"ports": chance.choice([ports, ports[:1], ports[1:]]), **some(chance, {"selector": [{"a": "b"}, {"a": "c", "d": "e"}],
                                                                                      "sessionAffinity": ["None", "ClientIP"]})}}


def workload(chance: random.Random) -> dict:
    template = {"spec": {"restartPolicy": "Never", "containers": [container(chance, "one") | {"image": "x"}]}}
    return {"spec": {"podSets": [{"name": "main", "count": chance.choice([1, 2]), "template": template}], **some(chance, {
        "active": [True, False], "queueName": ["a", "b"], "priority": [1, 2]})}}


def flavor(chance: random.Random) -> dict:
    return {"spec": some(chance, {"nodeLabels": [{"a": "b"}, {"a": "c", "d": "e"}], "nodeTaints": [[{"key": "a", "effect": "NoSchedule"}],
                                                                                                 [{"key": "b", "effect": "NoExecute"}]]})}


BODIES = {"ConfigMap": config_map, "Deployment": deployment, "Service": service, "Workload": workload, "ResourceFlavor": flavor}
VERBS = ["create", "put", "put", "merge", "strategic", "json", "apply", "apply", "apply", "force", "give up", "delete", "get", "status", "finalize"]


def step(chance: random.Random, kind: str) -> Step:
    verb = chance.choice(VERBS)
    metadata = some(chance, {"labels": [{"x": "1"}, {"x": "2", "y": "3"}], "annotations": [{"n": "1"}, {"n": "2"}]})
    body = {**BODIES[kind](chance), "metadata": metadata}
    if verb == "json":
        body = [chance.choice([{"op": "add", "path": "/metadata/labels", "value": {"x": "4"}}, {"op": "remove", "path": "/metadata/labels/x"},
                               {"op": "replace", "path": "/metadata/annotations/n", "value": "5"}, {"op": "test", "path": "/kind", "value": kind}])
                for _ in range(chance.choice([1, 2]))]
    if verb in ("merge", "strategic") and chance.random() < 0.3:
        body = {"metadata": {"labels": None, "annotations": {"n": None}}}
    if verb == "finalize":
        body = {"metadata": {"finalizers": chance.choice([["a.b/c"], [], None])}}
    if verb == "status":
        body = {"status": {"conditions": [{"type": chance.choice(["A", "B"]), "status": "True", "reason": "R", "message": "",
                                           "lastTransitionTime": "2001-01-01T00:00:00Z"}]}}
    how = (("dryRun", "All"),) if chance.random() < 0.05 else ()
    return Step(verb, kind, chance.choice("aab"), chance.choice(["red", "green", "blue"]), body, how)


def sequence(seed: int) -> list[Step]:
    chance = random.Random(seed)
    kind = chance.choice(list(BODIES))
    return [Step("create", kind, "a", "red", {**BODIES[kind](chance), "metadata": {}}), *(step(chance, kind) for _ in range(chance.randint(6, 14)))]


def run(session: Session, steps: list[Step]) -> None:
    for each in steps:
        p = Play(session, OF_NAME[each.kind])
        do(p, each)
    for kind in {each.kind for each in steps}:
        for name in "ab":
            Play(session, OF_NAME[kind]).get(name)


def do(p: Play, each: Step) -> None:
    how = dict(each.how)
    patches = {"merge": MERGE, "strategic": STRATEGIC, "json": JSON_PATCH}
    identity = {"apiVersion": p.subject.api, "kind": p.subject.kind, "metadata": {"name": p.name(each.name)}}
    if each.verb == "create":
        p.send(merged(each.body, identity), manager=each.manager, **how)
    elif each.verb == "put":
        now = p.fresh(each.name)
        version = {"metadata": {"resourceVersion": now.get("metadata", {}).get("resourceVersion", "")}} if p.subject.custom or hash_of(each) % 2 else {}
        p.put(each.name, merged(merged(each.body, identity), version), manager=each.manager, **how)
    elif each.verb in patches:
        p.patch(each.name, each.body, patches[each.verb], manager=each.manager, **how)
    elif each.verb in ("apply", "force"):
        force = {"force": "true"} if each.verb == "force" else {}
        p.patch(each.name, merged(each.body, identity), APPLY, fieldManager=each.manager, **force, **how)
    elif each.verb == "give up" and each.kind == "Workload" and p.fresh(each.name).get("code") == 404:
        return  # It would make an empty one, which Muster's own webhooks refuse.
    elif each.verb == "give up":
        p.patch(each.name, identity, APPLY, fieldManager=each.manager, **how)
    elif each.verb == "delete":
        p.delete(each.name, {"propagationPolicy": "Background"}, **how)
    elif each.verb == "status":
        p.patch(each.name, each.body, MERGE, "status", manager=each.manager, **how)
    elif each.verb == "finalize":
        p.patch(each.name, each.body, MERGE, manager=each.manager, **how)
    else:
        p.get(each.name)


def hash_of(each: Step) -> int:
    """The same in every process."""
    return sum(map(ord, repr(each)))


def shortest(steps: list[Step], differs) -> list[Step]:
    """Takes steps away for as long as what is left still differs."""
    at = len(steps) - 1
    while at >= 0:
        fewer = steps[:at] + steps[at + 1:]
        if fewer and differs(fewer):
            steps = fewer
        at = min(at, len(steps)) - 1
    return steps
