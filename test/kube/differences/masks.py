# test/kube/differences/masks.py - takes out of an answer what no two servers have in common: uids, times, versions, random names.
import copy
import json
import re

import yaml

from servers import Answer

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
OF_TESTS = re.compile(r"(\d)\1{7}-")  # Those that the cases themselves make up.
NOW = re.compile(r"\b20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
AGE = re.compile(r"(\d+[smhdy])+$")
ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
ACCESS = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
RECORD = re.compile(r"(in record \(|in the precondition \(|resource version: |current: )\d+")
HEADERS = ["content-type", "warning", "retry-after", "location", "allow", "www-authenticate", "content-encoding"]


class Masks:
    """Of one session with one server: the same thing gets the same name each time."""

    def __init__(self):
        self.versions: dict[str, dict[str, str]] = {}
        self.generated: dict[str, str] = {}
        self.bases: list[str] = []

    def will_generate(self, body) -> None:
        """Names made from what is asked for here may be in words only, when they are refused."""
        base = body.get("metadata") if isinstance(body, dict) else None
        base = base.get("generateName") if isinstance(base, dict) else None
        if isinstance(base, str) and base and base[:58] not in self.bases:
            self.bases.append(base[:58])

    def answer(self, answer: Answer) -> dict:
        body = answer.json
        if "application/yaml" in answer.headers.get("content-type", []):
            body = yaml.load(answer.body, yaml.CSafeLoader)
        if isinstance(body, (dict, list)):
            self.learn(body)
            body = self.value(body)
        else:
            body = self.text(body)
        headers = {name: [self.text(value) for value in answer.headers[name]] for name in HEADERS if name in answer.headers}
        return {"status": answer.status, "headers": headers, "body": body}

    def learn(self, value) -> None:
        """Names that the server made up, before they are met elsewhere in the answer."""
        if isinstance(value, dict):
            base, name = value.get("generateName"), value.get("name")
            if isinstance(base, str) and isinstance(name, str) and base and name.startswith(base[:58]) and len(name) > len(base[:58]):
                self.generated.setdefault(name, f"{base[:58]}<{len(name) - len(base[:58])}>")
            for each in value.values():
                self.learn(each)
        elif isinstance(value, list):
            for each in value:
                self.learn(each)

    def text(self, text: str) -> str:
        text = UID.sub(lambda found: found[0] if OF_TESTS.match(found[0]) else "<uid>", text)
        text = NOW.sub(lambda found: "<microtime>" if found[2] else "<time>", text)
        text = ACCESS.sub("kube-api-access-<5>", ADDRESS.sub("<address>", text))
        for name, shown in self.generated.items():
            text = text.replace(name, shown)
        for base in self.bases:
            text = re.sub(re.escape(base) + r"[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])", f"{base}<5>", text)
        return RECORD.sub(r"\1<version>", text)

    def version(self, metadata: dict) -> str:
        """Which of the versions seen of this object; of a list there is only one."""
        of_object = self.versions.setdefault(metadata.get("uid", ""), {})
        if "uid" not in metadata:
            return "<version>"
        return of_object.setdefault(metadata["resourceVersion"], f"<version{len(of_object) + 1}>")

    def metadata(self, metadata: dict) -> dict:
        made = dict(metadata)
        if isinstance(made.get("resourceVersion"), str) and made["resourceVersion"].isdigit():
            made["resourceVersion"] = self.version(metadata)
        if isinstance(made.get("continue"), str) and made["continue"]:
            self.generated[made["continue"]] = "<token>"  # Also where it is sent back.
            made["continue"] = "<token>"
        if isinstance(made.get("managedFields"), list):
            # Their times decide the order, and a second may pass between two writes here and not there.
            made["managedFields"] = sorted(made["managedFields"], key=lambda each: json.dumps(
                [each.get(key, "") for key in ("operation", "manager", "apiVersion", "subresource")]))
        return made

    def value(self, value, key: str = ""):
        if isinstance(value, str):
            if key == "cells" and AGE.fullmatch(value):
                return "<age>"
            if key == "token" and value.startswith("ey"):
                return "<token>"
            return self.text(value)
        if isinstance(value, list):
            return [self.value(each, key) for each in value]
        if not isinstance(value, dict):
            return "<port>" if key == "nodePort" and value else value
        if isinstance(value.get("metadata"), dict):
            value = {**value, "metadata": self.metadata(value["metadata"])}
        return {self.text(name): self.value(value[name], name) for name in sorted(value)}


def parts(one, other, path: str = "") -> list[tuple[str, object, object]]:
    """The places where two masked values differ, with what is there in each."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = sorted(one.keys() | other.keys())
        return [part for name in names for part in parts(one.get(name, ABSENT), other.get(name, ABSENT), f"{path}.{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [part for i, pair in enumerate(zip(one, other)) for part in parts(*pair, f"{path}[{i}]")]
    same = type(one) is type(other) and one == other
    return [] if same else [(path, copy.deepcopy(one), copy.deepcopy(other))]


class Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = Absent()
