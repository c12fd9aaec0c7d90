#!/usr/bin/env python3
# test/kubernetes/crds/compare.py - walks two CustomResourceDefinitions and lists what one would take that the other refuses.
"""Descriptions may differ, and what says the same in other words (a list without a type is atomic) is no difference."""
import json
import sys

import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
WORDS_THAT_MAY_DIFFER = {"description", "anyOf", "title"}
ABSENT = "-"


def read(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        documents = [d for d in yaml.load_all(file, Loader=Loader) if d]
    return [item for d in documents for item in (d["items"] if d.get("kind") == "List" else [d])]


def shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def plain(schema: dict) -> dict:
    """The keywords of one node in one form, without the nodes below it."""
    made = {k: v for k, v in schema.items() if k not in WORDS_THAT_MAY_DIFFER and k not in ("properties", "items")}
    if isinstance(made.get("additionalProperties"), dict):
        made["additionalProperties"] = "of a schema"
    for keyword, usual in (("x-kubernetes-list-type", "atomic"), ("x-kubernetes-map-type", "granular")):
        if made.get(keyword) == usual:
            del made[keyword]
    if "required" in made:
        made["required"] = sorted(made["required"])
    if "x-kubernetes-validations" in made:
        made["x-kubernetes-validations"] = sorted(
            ({k: " ".join(v.split()) if isinstance(v, str) else v for k, v in rule.items()}
             for rule in made["x-kubernetes-validations"]), key=shown)
    return made


def below(schema: dict) -> dict[str, dict]:
    children = {"." + name: child for name, child in schema.get("properties", {}).items()}
    if isinstance(schema.get("items"), dict):
        children["[]"] = schema["items"]
    if isinstance(schema.get("additionalProperties"), dict):
        children["{}"] = schema["additionalProperties"]
    return children


def compare_schemas(original: dict, ours: dict, path: str) -> list[tuple[str, str, str, str]]:
    """(path, keyword, original, ours) of each difference."""
    found = []
    one, other = plain(original), plain(ours)
    for keyword in sorted(one.keys() | other.keys()):
        if one.get(keyword, ABSENT) != other.get(keyword, ABSENT):
            found.append((path, keyword, shown(one.get(keyword, ABSENT)), shown(other.get(keyword, ABSENT))))
    children, others = below(original), below(ours)
    for name in children.keys() | others.keys():
        if name not in others:
            found.append((path + name, "field", "there", ABSENT))
        elif name not in children:
            found.append((path + name, "field", ABSENT, "there"))
        else:
            found += compare_schemas(children[name], others[name], path + name)
    return found


def compare_versions(original: dict, ours: dict) -> list[tuple[str, str, str, str]]:
    name = original["name"]
    found = compare_schemas(original["schema"]["openAPIV3Schema"], ours["schema"]["openAPIV3Schema"], name + ":")
    for keyword in sorted((original.keys() | ours.keys()) - {"schema"}):
        one, other = original.get(keyword) or ABSENT, ours.get(keyword) or ABSENT
        if one != other:
            found.append((name, keyword, shown(one), shown(other)))
    return found


def compare(original: dict, ours: dict) -> list[tuple[str, str, str, str]]:
    found = []
    for keyword in ("group", "scope"):
        if original["spec"][keyword] != ours["spec"][keyword]:
            found.append(("", keyword, original["spec"][keyword], ours["spec"][keyword]))
    for keyword in sorted(original["spec"]["names"].keys() | ours["spec"]["names"].keys()):
        one, other = original["spec"]["names"].get(keyword, ABSENT), ours["spec"]["names"].get(keyword, ABSENT)
        if one != other:
            found.append(("", "names." + keyword, shown(one), shown(other)))
    versions = {v["name"]: v for v in original["spec"]["versions"]}
    others = {v["name"]: v for v in ours["spec"]["versions"]}
    for name in sorted(versions.keys() | others.keys()):
        if name not in others:
            found.append((name, "version", "there", ABSENT))
        elif name not in versions:
            found.append((name, "version", ABSENT, "there"))
        else:
            found += compare_versions(versions[name], others[name])
    return sorted(found)


def main() -> int:
    """usage: compare.py ORIGINAL... -- OURS..."""
    cut = sys.argv.index("--")
    originals = {c["metadata"]["name"]: c for path in sys.argv[1:cut] for c in read(path)}
    ours = {c["metadata"]["name"]: c for path in sys.argv[cut + 1:] for c in read(path)}
    total = 0
    for name, crd in sorted(ours.items()):
        if name not in originals:
            print(f"{name}: there is no original")
            continue
        for path, keyword, one, other in compare(originals[name], crd):
            print(f"{name} {path} {keyword}: {one} | {other}")
            total += 1
    print(f"{total} differences")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
