# test/kube/differences/gadgets.py - a kind that a user brings: its definition, which says most of what a definition may say.
"""Two versions, defaults, pruning, rules in CEL, lists of all three types, maps, both subresources, columns over lists, selectable fields."""
import copy

GROUP = "gadgets.example.com"
PART = {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "minLength": 1}, "weight": {"type": "integer", "default": 5, "maximum": 100}, "color": {"type": "string"}}}
SPEC = {
    "type": "object", "required": ["size"],
    "x-kubernetes-validations": [{"rule": "self.size <= 5 || self.mode == 'fast'", "message": "large ones are fast"}],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10}, "mode": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
        "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
        "parts": {"type": "array", "maxItems": 5, "items": PART, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "tags": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}, "x-kubernetes-list-type": "set"},
        "order": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        "settings": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True}, "maybe": {"type": "string", "nullable": True}, "at": {"type": "string", "format": "date-time"},
        "fixed": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "never changes"}]}}}
CONDITION = {"type": "object", "required": ["type", "status"], "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}
STATUS = {"type": "object", "properties": {
    "replicas": {"type": "integer"}, "selector": {"type": "string"},
    "conditions": {"type": "array", "items": CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}}}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}, {"name": "Parts", "type": "string", "jsonPath": ".spec.parts[*].name"},
    {"name": "First", "type": "string", "jsonPath": ".spec.parts[0].name"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Weights", "type": "integer", "jsonPath": ".spec.parts[*].weight", "priority": 1},
    {"name": "Order", "type": "string", "jsonPath": ".spec.order", "priority": 1, "description": "All of it."},
    {"name": "Settings", "type": "string", "jsonPath": ".spec.settings", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]


def version(name: str, storage: bool, spec: dict, columns: list) -> dict:
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": STATUS}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}, "scale": scale},
            "additionalPrinterColumns": columns, "selectableFields": [{"jsonPath": ".spec.mode"}, *([{"jsonPath": ".spec.size"}] if storage else [])]}


def older(spec: dict) -> dict:
    """The other version has another default."""
    made = copy.deepcopy(spec)
    made["properties"]["mode"]["default"] = "fast"
    return made


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gd"]},
             "versions": [version("v1", True, SPEC, COLUMNS), {**version("v1alpha1", False, older(SPEC), []), "deprecated": True}]}}

BODY = {"spec": {"size": 3, "parts": [{"name": "a"}, {"name": "b", "weight": 7, "color": "red"}], "tags": ["x", "y"], "order": ["2", "1"],
                 "settings": {"k": "v"}, "whole": {"k": "v"}, "free": {"any": [1, {"thing": None}]}, "port": "http", "fixed": "once"}}
CHANGE = {"spec": {"parts": [{"name": "b", "weight": 8}, {"name": "c"}], "tags": ["y", "z"], "settings": {"l": "w"}, "whole": {"l": "w"}}}
WRONG = (
    ("too small", {"spec": {"size": 0}}), ("large and slow", {"spec": {"size": 9, "mode": "slow"}}), ("large and fast", {"spec": {"size": 9, "mode": "fast"}}),
    ("no size", {"spec": {"size": None}}), ("half a size", {"spec": {"size": 1.5}}), ("a mode", {"spec": {"mode": "none"}}),
    ("two of a name", {"spec": {"parts": [{"name": "a"}, {"name": "a"}]}}), ("no name", {"spec": {"parts": [{"weight": 1}]}}),
    ("too heavy", {"spec": {"parts": [{"name": "a", "weight": 101}]}}), ("a tag twice", {"spec": {"tags": ["x", "x"]}}),
    ("a long tag", {"spec": {"tags": ["x" * 11]}}), ("six tags", {"spec": {"tags": list("abcdef")}}), ("a number as text", {"spec": {"settings": {"k": 1}}}),
    ("neither number nor text", {"spec": {"port": True}}), ("a time", {"spec": {"at": "yesterday"}}), ("negative replicas", {"spec": {"replicas": -1}}),
    ("what nobody knows", {"spec": {"nothing": {"a": 1}, "parts": [{"name": "a", "nothing": 1}], "free": {"known": {"to": "none"}}}}),
    ("nothing that may be", {"spec": {"maybe": None, "mode": None}}), ("a status", {"status": {"replicas": "x"}}))
