# test/kubernetes/crds/objects.py - objects made from a CRD's schema: a small valid one, and one beside each of its limits.
"""For every enum, bound, length, pattern, required field, type and key below spec and status there are objects that keep it
and objects that break it. What is inside of pod templates and services is left to the structural comparison."""
import copy
import re
from collections.abc import Iterator

LEFT_OUT = {"template", "headService", "submitterPodTemplate", "service", "env", "envFrom", "securityContext", "generictemplate",
            "pendingpodconditions", "selector", "namespaceSelector", "valueFrom", "volumeMounts"}
TIME = "2026-01-02T03:04:05Z"
POD = {"spec": {"containers": [{"name": "main", "image": "a"}]}}
# What a rule asks for beyond the schema, by the end of the path.
VALUES = [
    (r"\.(template|submitterPodTemplate)$", POD),
    (r"\.generictemplate$", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
    (r"\.podCounts$", {"universal": 1}),
    (r"\.valuesPerLevel\[\]$", {"universal": "a"}),
    (r"\.deletionStrategy$", {"deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}]}),
    (r"\.deletionRules\[\]\.condition$", {"jobStatus": "FAILED"}),
    (r"\.priorityClassRef$", {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "a"}),
    (r"\.clusterSource$", {"kubeConfig": {"location": "a"}}),
    (r"\.managedBy$", "ray.io/kuberay-operator"),
    (r"\.numProcPerNode$", 1),
    (r"olerations\[\]$", {"operator": "Exists"}),
    (r"nodeTaints\[\]$", {"key": "a", "effect": "NoSchedule"}),
]
BASE = {"Workload": {"spec": {"podSets": [{"name": "main", "count": 1, "template": POD}], "priority": 1}},
        "ResourceFlavor": {"spec": {"nodeLabels": {"a": "b"}}},
        "Cohort": {"spec": {}}, "LocalQueue": {"spec": {}}, "ClusterQueue": {"spec": {}},
        "RayJob": {"spec": {"entrypoint": "true"}}}


def text(schema: dict, number: int = 0) -> str:
    if schema.get("format") == "date-time":
        return TIME
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    for candidate in (f"a{number}", f"A{number}", "a/b"):
        if re.search(go_pattern(schema), candidate):
            return candidate.ljust(schema.get("minLength", 0), "a")
    raise ValueError(f"no text for {schema}")


def go_pattern(schema: dict) -> str:
    """Go takes (?i) after ^, Python does not."""
    pattern = schema.get("pattern", "")
    return "(?i)" + pattern.replace("(?i)", "") if "(?i)" in pattern else pattern


def least(schema: dict, path: str, number: int = 0):
    """The smallest value that the schema takes; `number` makes it differ from its neighbours."""
    for end, value in VALUES:
        if re.search(end, path):
            return copy.deepcopy(value)
    if schema.get("x-kubernetes-int-or-string"):
        return "1"
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: least(schema["properties"][name], f"{path}.{name}", number) for name in schema.get("required", [])}
    if kind == "array":
        return [least(schema["items"], path + "[]", i) for i in range(schema.get("minItems", 0))]
    return {"string": lambda: text(schema, number), "boolean": lambda: True, "number": lambda: 1,
            "integer": lambda: max(schema.get("minimum", 1), 1)}[kind]()


def of_length(schema: dict, length: int):
    if schema["type"] == "array":
        return [least(schema["items"], "", i) for i in range(length)]
    if schema["type"] == "string":
        return "a" * length
    return {f"a{i}": least(schema["additionalProperties"], "", i) for i in range(length)}


def values_beside(schema: dict, path: str) -> Iterator[tuple[str, object]]:
    """Values at, inside and outside each limit."""
    yield "of another type", [1] if schema.get("type") != "array" else {"a": 1}
    yield "null", None
    for value in [*schema.get("enum", []), *(["Nonsense", ""] if "enum" in schema else [])]:
        yield f"enum {value!r}", value
    for keyword, step in (("minimum", -1), ("maximum", 1)):
        if keyword in schema:
            yield keyword, schema[keyword]
            yield f"beyond {keyword}", schema[keyword] + step
    if schema.get("format") == "int32":
        yield "beyond int32", 2**31
    if schema.get("format") == "date-time":
        yield "no time", "yesterday"
    if "pattern" in schema:
        for value in ("-a", "A_b", "a.b", "1x", ""):
            yield f"pattern {value!r}", value
    for keyword, step in (("minLength", -1), ("maxLength", 1), ("minItems", -1), ("maxItems", 1), ("maxProperties", 1)):
        if 0 < schema.get(keyword, 0) < 40000:
            yield keyword, of_length(schema, schema[keyword])
            yield f"beyond {keyword}", of_length(schema, schema[keyword] + step)
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        item = least(schema["items"], path + "[]")
        yield "the same item twice", [item, copy.deepcopy(item)]
    if schema.get("type") == "array":
        yield "an item", [least(schema["items"], path + "[]")]
        yield "two items", [least(schema["items"], path + "[]", i) for i in range(2)]
    if schema.get("x-kubernetes-int-or-string"):
        for value in (5, "5", "1e3", "5 Gi", 1.5, "-1"):
            yield f"quantity {value!r}", value
    for name in schema.get("required", []):
        whole = least(schema, path)
        if isinstance(whole, dict):
            whole.pop(name, None)
            yield f"without {name}", whole
    if "properties" in schema:
        yield "with an unknown field", {**least(schema, path), "nonsense": 1}


def nodes(schema: dict, path: str = "") -> Iterator[tuple[str, dict]]:
    for name, child in schema.get("properties", {}).items():
        if name in LEFT_OUT or (path == "" and name in ("apiVersion", "kind", "metadata")):
            continue
        yield f"{path}.{name}", child
        yield from nodes(child, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield path + "[]", schema["items"]
        yield from nodes(schema["items"], path + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield path + "{}", schema["additionalProperties"]


def with_value(schema: dict, base: dict, path: str, value) -> dict:
    """`base` with `value` at the path; what is missing on the way is made."""
    made = copy.deepcopy(base)
    at, below, so_far = made, schema, ""
    steps = re.findall(r"\.[^.\[{]+|\[\]|\{\}", path)
    for i, step in enumerate(steps):
        so_far += step
        child = below["items"] if step == "[]" else below["additionalProperties"] if step == "{}" else below["properties"][step[1:]]
        key = 0 if step == "[]" else "a" if step == "{}" else step[1:]
        if step == "[]" and not at:
            at.append(None)
        if i == len(steps) - 1:
            at[key] = value
        else:
            known = at[key] if step == "[]" or key in at else None
            at[key] = known if isinstance(known, (dict, list)) else least(child, so_far)
            at, below = at[key], child
    return made


def smallest(kind: str, schema: dict) -> dict:
    made = least({**schema, "properties": {k: v for k, v in schema["properties"].items()}}, "")
    return {**made, **copy.deepcopy(BASE.get(kind, {}))}


def beside_limits(kind: str, schema: dict) -> Iterator[tuple[str, dict]]:
    base = smallest(kind, schema)
    for path, node in nodes(schema):
        for what, value in values_beside(node, path):
            yield f"{path}: {what}", with_value(schema, base, path, value)
