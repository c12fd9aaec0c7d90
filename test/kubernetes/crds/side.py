# test/kubernetes/crds/side.py - one version of one kind on a real server, in a group of its own, and what it says of objects.
import copy
import http.client
import json
import threading


class Side:
    """The group of its own lets two definitions of a kind stand side by side; `side` empty: the kind as it is."""

    def __init__(self, server, crd: dict, version: dict, side: str):
        self.server, self.kind = server, crd["spec"]["names"]["kind"]
        self.mark = f"{version['name']}.{side}." if side else ""
        self.group = self.mark + crd["spec"]["group"]
        names = {key: crd["spec"]["names"][key] for key in ("kind", "listKind", "plural", "singular")}
        alone = {k: v for k, v in version.items() if not k.startswith("deprecat")} | {"served": True, "storage": True}
        self.crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": {"name": f"{names['plural']}.{self.group}"},
                    "spec": {"group": self.group, "names": names, "scope": crd["spec"]["scope"], "versions": [alone]}}
        self.api_version = f"{self.group}/{version['name']}"
        namespace = "namespaces/default/" if crd["spec"]["scope"] == "Namespaced" else ""
        self.path = f"/apis/{self.api_version}/{namespace}{names['plural']}"
        self.thread = threading.local()

    def install(self) -> None:
        status, answer = self.server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", self.crd)
        assert status == 201, answer

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        if not hasattr(self.thread, "connection"):
            self.thread.connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60,
                                                                 context=self.server._context)
        self.thread.connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = self.thread.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def verdict(self, status: int, answer: dict) -> dict:
        text = json.dumps([answer.get("reason"), answer.get("details", {}).get("causes") or answer.get("message")] if status >= 300
                          else {k: v for k, v in answer.items() if k != "metadata"})
        seen = json.loads(text.replace(self.mark, ""))
        if isinstance(seen, list) and isinstance(seen[1], list):
            seen[1].sort(key=json.dumps)
        return {"status": status, "answer": seen}

    def full(self, body: dict, name: str) -> dict:
        return {**copy.deepcopy(body), "apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name}}

    def created(self, body: dict, name: str) -> dict:
        """Makes it for good, its status too."""
        status, made = self.ask("POST", self.path, self.full(body, name))
        assert status == 201, (body, made)
        if body.get("status"):
            status, made = self.ask("PUT", f"{self.path}/{name}/status", {**made, "status": body["status"]})
            assert status == 200, (body, made)
        return made

    def judge_new(self, body: dict) -> dict:
        return self.verdict(*self.ask("POST", self.path + "?dryRun=All", self.full(body, "new")))

    def judge_change(self, there: dict, before: dict, after: dict) -> dict:
        """What comes of `after`, sent to the status subresource when it is the status that differs."""
        sub = "/status" if after.get("status") != before.get("status") else ""
        changed = {**there, **copy.deepcopy(after)}
        return self.verdict(*self.ask("PUT", f"{self.path}/{there['metadata']['name']}{sub}?dryRun=All", changed))

    def judge(self, name: str, before: dict | None, after: dict) -> dict:
        """One row of changes.py; `name` is that of the object that is there before."""
        return self.judge_new(after) if before is None else self.judge_change(self.created(before, name), before, after)
