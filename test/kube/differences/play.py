# test/kube/differences/play.py - the words of a case: verbs on one kind of object, in one session.
import json

from session import APPLY, JSON, MERGE, Session
from servers import Answer
from subjects import Subject
from waiting import until


class Play:
    """Objects of cluster-wide kinds carry the session's namespace in their names, so that cases leave each other alone."""

    def __init__(self, session: Session, subject: Subject):
        self.session, self.subject = session, subject

    def name(self, name: str) -> str:
        return name if self.subject.namespaced else f"{self.session.ns}-{name}{self.subject.suffix}"

    def path(self, name: str = "", sub: str = "") -> str:
        return self.subject.at(self.session.ns, self.name(name) if name else "", sub)

    def body(self, name: str, over: dict | None = None, **metadata) -> dict:
        made = self.subject.made(self.name(name), over, **metadata)
        made = json.dumps(made).replace('"NS"', f'"{self.session.ns}"')
        return json.loads(made.replace('"NAME"', f'"{self.name(name).removesuffix(self.subject.suffix)}"'))

    def ask(self, method: str, path: str, body=None, **how) -> Answer:
        answer = self.session.ask(method, path, body, **how)
        if self.subject.kind == "CustomResourceDefinition" and method in ("POST", "PUT", "PATCH", "DELETE") and answer.status < 300:
            until(f"what was written to {path} is in force", self.definitions_are_steady)
        return answer

    def definitions_are_steady(self) -> bool:
        """A definition is established, or cleaned up, by controllers that write to it."""
        listed = self.session.server.ask("GET", self.path(), headers={"Accept": JSON}).json["items"]
        return all(self.is_steady(each) for each in listed if each["metadata"]["name"].startswith(f"{self.session.ns}-"))

    @staticmethod
    def is_steady(definition: dict) -> bool:
        if "deletionTimestamp" in definition["metadata"]:
            return "customresourcecleanup.apiextensions.k8s.io" not in definition["metadata"].get("finalizers", [])
        return {"type": "Established", "status": "True"} in [
            {key: each[key] for key in ("type", "status")} for each in definition.get("status", {}).get("conditions") or []]

    def create(self, name: str, over: dict | None = None, **how) -> Answer:
        return self.ask("POST", self.path(), self.body(name, over), **how)

    def send(self, body, **how) -> Answer:
        return self.ask("POST", self.path(), body, **how)

    def get(self, name: str, sub: str = "", **how) -> Answer:
        return self.ask("GET", self.path(name, sub), **how)

    def list(self, **how) -> Answer:
        """Of this session's objects only."""
        if self.subject.namespaced:
            return self.ask("GET", self.path(), **how)
        return self.ask("GET", self.path(), **{"labelSelector": f"case={self.session.ns}", **how})

    def put(self, name: str, body: dict, sub: str = "", **how) -> Answer:
        return self.ask("PUT", self.path(name, sub), body, **how)

    def patch(self, name: str, patch, kind: str = MERGE, sub: str = "", **how) -> Answer:
        return self.ask("PATCH", self.path(name, sub), patch, kind=kind, **how)

    def apply(self, name: str, over: dict | None = None, sub: str = "", by: str = "one", **how) -> Answer:
        return self.patch(name, self.body(name, over), APPLY, sub, fieldManager=by, **how)

    def delete(self, name: str, body=None, **how) -> Answer:
        return self.ask("DELETE", self.path(name), body, **how)

    def fresh(self, name: str) -> dict:
        """The object as it is, read aside: this is not compared."""
        return self.session.server.ask("GET", self.path(name), headers={"Accept": JSON}).json

    def settle(self) -> None:
        """A list of what is now, not compared: kube-apiserver's cache is as new afterwards, also on a busy machine."""
        self.session.server.ask("GET", self.path(), headers={"Accept": JSON})

    def version(self, name: str) -> str:
        return self.fresh(name)["metadata"]["resourceVersion"]
