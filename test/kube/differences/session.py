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
        self.said.append(Said(self.asked(f"WATCH {path}"), {"events": heard}))
        return [line.json for line in lines]


@dataclasses.dataclass(frozen=True)
class Difference:
    case: str
    request: str
    place: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        return f"{self.case} | {self.request} | {self.place}: {self.theirs} | {self.ours}"

    @property
    def where(self) -> str:
        """Without the kind and the values: what is one gap of the server, whatever the object."""
        step = " ".join(self.request.split(" ")[:2])
        place = re.sub(r"\[\d+\]", "[]", self.place)
        return f"{self.case.split(' ')[0]} {step if self.case != 'random' else ''} {place}"


def shown(value) -> str:
    return json.dumps(value) if isinstance(value, (dict, list, str, int, float, bool, type(None))) else repr(value)


def faults(heard: dict) -> dict:
    """The answer, in which a refusal's causes are the set of what is wrong and where: their words are not compared."""
    body = heard.get("body")
    details = body.get("details") if isinstance(body, dict) and body.get("kind") == "Status" else None
    causes = details.get("causes") if isinstance(details, dict) else None
    if not isinstance(causes, list):
        return heard
    named = {f"{each.get('reason', '')} at {each.get('field', '')}": True for each in causes}
    return {**heard, "body": {**body, "details": {**details, "causes": named}}}


def differences(case: str, theirs: Session, ours: Session) -> list[Difference]:
    """`theirs` is the original."""
    found = []
    for number, (one, other) in enumerate(zip(theirs.said, ours.said), 1):
        request = f"{number} {one.request}".replace(theirs.ns, "NS")
        if one.request != other.request:
            found.append(Difference(case, request, "the request", one.request, other.request))
            continue
        different = parts(faults(one.heard), faults(other.heard))
        # One was taken and the other refused: all of the body follows from that.
        code = [part for part in different if part[0] == ".status"]
        found += [Difference(case, request, place, shown(there).replace(theirs.ns, "NS"), shown(here).replace(ours.ns, "NS"))
                  for place, there, here in code or different]
    if len(theirs.said) != len(ours.said):
        found.append(Difference(case, "", "the number of requests", str(len(theirs.said)), str(len(ours.said))))
    return found
