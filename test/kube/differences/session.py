# test/kube/differences/session.py - what one case says to one server, and what is heard.
import dataclasses
import json
import re
import urllib.parse

from masks import Masks, parts
from servers import Answer, Server

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

# A part of an object that is repeated: Go writes its own fields there, in their order.
VALUE = re.compile(r"^((?:Invalid|Unsupported|Duplicate) value: )[{\[].*: (?=[^:]*$)", re.DOTALL)


@dataclasses.dataclass
class Said:
    """One request and its masked answer."""
    request: str
    heard: dict


class Session:
    """Talks to one server, in a namespace of its own, and keeps what was said."""

    def __init__(self, server: Server, ns: str):
        self.server, self.ns, self.masks = server, ns, Masks()
        self.said: list[Said] = []

    def ask(self, method: str, path: str, body=None, kind: str | None = JSON, accept: str = JSON, manager: str = "tester",
            user: str = "", **query) -> Answer:
        """`body` is sent as it is when it is bytes, else as JSON; `kind` None: without Content-Type."""
        if query:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(query)
        headers = {"User-Agent": f"{manager}/1", "Accept": accept, **({"Impersonate-User": user} if user else {})}
        if kind is not None and body is not None:
            headers["Content-Type"] = kind
        self.masks.will_generate(body)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        answer = self.server.ask(method, path, body, headers)
        self.said.append(Said(self.asked(f"{method} {path}"), self.masks.answer(answer)))
        return answer

    def asked(self, line: str) -> str:
        """What the server itself gave, such as versions, is not the same on both."""
        line = re.sub(r"(continue=)[\w%-]{20,}", r"\1<token>", line)
        return self.masks.text(re.sub(r"(resourceVersion=)(?!999)\d{2,}", r"\1<version>", line))

    def events(self, path: str, accept: str = JSON, **query) -> list:
        """All events of a watch that ends by itself."""
        path += "?" + urllib.parse.urlencode({"watch": "true", "timeoutSeconds": "1", **query})
        lines = [Answer(200, {}, line) for line in self.server.lines(path, {"Accept": accept})]
        heard = [self.masks.answer(line)["body"] for line in lines]
        # Whether a bookmark comes in a second depends on the moment, but for the one that ends the initial events.
        heard = [each for each in heard if each["type"] != "BOOKMARK" or "k8s.io/initial-events-end" in json.dumps(each)]
        self.said.append(Said(self.asked(f"WATCH {path}"), {"events": heard}))
        return [line.json for line in lines]


@dataclasses.dataclass(frozen=True)
class Difference:
    case: str
    request: str
    place: str
    theirs: str
    ours: str
    code: int = 0  # With which the original answers; 0: a watch, whose lines are compared.

    def __str__(self) -> str:
        return f"{self.case} | {self.request} = {self.code} | {self.place}: {self.theirs} | {self.ours}"

    @property
    def where(self) -> str:
        """Without the kind and the values: what is one gap of the server, whatever the object."""
        step = " ".join(self.request.split(" ")[:2])
        place = re.sub(r"\[\d+\]", "[]", self.place)
        return f"{self.case.split(' ')[0]} {step if self.case != 'random' else ''} {place}"


def shown(value) -> str:
    return json.dumps(value) if isinstance(value, (dict, list, str, int, float, bool, type(None))) else repr(value)


# What lists of a server's own documents are about, whose order and length say nothing.
NAMED = {"APIResourceList": ("resources", "name"), "APIGroupList": ("groups", "name")}


def by_name(heard: dict) -> dict:
    """The answer, in which the parts of a document of discovery stand under their names."""
    body = heard.get("body")
    field, key = NAMED.get(body.get("kind", "") if isinstance(body, dict) else "", ("", ""))
    if not isinstance(body, dict) or not isinstance(body.get(field), list):
        return faults(heard)
    return {**heard, "body": {**body, field: {each[key]: {**each, **{name: sorted(each[name]) for name in ("verbs", "shortNames") if name in each}}
                                              for each in body[field]}}}


def plain(message: str) -> str:
    """What is wrong, without the part that is repeated; which values may be is a set."""
    message = VALUE.sub(r"\1<value>: ", message)
    before, said, values = message.partition("supported values: ")
    return before + said + ", ".join(sorted(values.split(", ")))


def faults(heard: dict) -> dict:
    """The answer, in which what an invalid object is refused for is told once: where, for which reason, and in which words. The message
    says the same in one line; of it the object's name is left."""
    body = heard.get("body")
    details = body.get("details") if isinstance(body, dict) and body.get("kind") == "Status" else None
    causes = details.get("causes") if isinstance(details, dict) else None
    if not isinstance(causes, list):
        return heard
    named: dict[str, set[str]] = {}  # Said twice is said once.
    for each in causes:
        named.setdefault(f"{each.get('reason', '')} at {each.get('field', '')}", set()).add(plain(each.get("message", "")))
    message = body.get("message", "")
    if body.get("reason") == "Invalid":
        message = message.partition(" is invalid: ")[0]
    return {**heard, "body": {**body, "message": message, "details": {**details, "causes": {name: sorted(named[name]) for name in named}}}}


def differences(case: str, theirs: Session, ours: Session) -> list[Difference]:
    """`theirs` is the original."""
    found = []
    for number, (one, other) in enumerate(zip(theirs.said, ours.said), 1):
        request = f"{number} {one.request}".replace(theirs.ns, "NS")
        if one.request != other.request:
            found.append(Difference(case, request, "the request", one.request, other.request))
            continue
        different = parts(by_name(one.heard), by_name(other.heard))
        # One was taken and the other refused: all of the body follows from that.
        code = [part for part in different if part[0] == ".status"]
        found += [Difference(case, request, place, shown(there).replace(theirs.ns, "NS"), shown(here).replace(ours.ns, "NS"),
                             one.heard.get("status", 0))
                  for place, there, here in code or different]
    if len(theirs.said) != len(ours.said):
        found.append(Difference(case, "", "the number of requests", str(len(theirs.said)), str(len(ours.said))))
    return found
