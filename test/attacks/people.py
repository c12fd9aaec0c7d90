# test/attacks/people.py - a `muster up` on which people with a role in one namespace ask for what is not theirs, over plain HTTPS.
import base64
import contextlib
import http.client
import json
import pathlib
import ssl
import sys
import tempfile

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import e2e_servers as e2e  # noqa: E402  (in the folder just named)

PATCHES = {"merge": "application/merge-patch+json", "json": "application/json-patch+json", "apply": "application/apply-patch+yaml"}


class Answer:
    def __init__(self, status: int, body: bytes, warnings: list[str]):
        self.status, self.text, self.warnings = status, body.decode(errors="replace"), warnings
        try:
            self.json = json.loads(self.text)
        except ValueError:
            self.json = {}

    @property
    def message(self) -> str:
        return self.json.get("message", self.text)

    def __repr__(self) -> str:
        return f"{self.status} {self.message}"


class Person:
    """Somebody with a bearer token; without one the administrator."""

    def __init__(self, town: "Town", token: str | None, ns: str = ""):
        self.town, self.token, self.ns = town, token, ns

    def ask(self, method: str, path: str, body=None, kind: str = "application/json", headers: dict | None = None) -> Answer:
        given = {"Content-Type": kind, **({"Authorization": f"Bearer {self.token}"} if self.token else {}), **(headers or {})}
        connection = http.client.HTTPSConnection(self.town.host, self.town.port, timeout=30, context=self.town.tls(self.token is None))
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else body if isinstance(body, str) else json.dumps(body), given)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), answer.headers.get_all("Warning") or [])

    def get(self, path: str, **headers) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body) -> Answer:
        return self.ask("POST", path, body)

    def put(self, path: str, body) -> Answer:
        return self.ask("PUT", path, body)

    def patch(self, how: str, path: str, body) -> Answer:
        return self.ask("PATCH", path, body, PATCHES[how])

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path)

    def may(self, verb: str, group: str, resource: str) -> bool:
        about = {"namespace": self.ns, "verb": verb, "group": group, "resource": resource}
        return self.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": about}}).json["status"]["allowed"]


class Town:
    """The server, its administrator, and whom that lets in."""

    def __init__(self, flags: list[str] = (), prefix: list[str] = ()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-attacks-"))
        self.muster = e2e.Muster(self.folder, [e2e.NODE], list(flags))
        self.muster.prefix = list(prefix)  # Words before the command.
        self.muster.start()
        config = yaml.safe_load(self.muster.kubeconfig.read_text())
        self.host, _, port = config["clusters"][0]["cluster"]["server"].removeprefix("https://").rpartition(":")
        self.port = int(port)
        for name, text in [("ca", config["clusters"][0]["cluster"]["certificate-authority-data"]),
                           ("cert", config["users"][0]["user"]["client-certificate-data"]), ("key", config["users"][0]["user"]["client-key-data"])]:
            (self.folder / name).write_bytes(base64.b64decode(text))
        self.admin = Person(self, None)
        self.people = 0

    def tls(self, with_certificate: bool) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(self.folder / "ca"))
        if with_certificate:
            made.load_cert_chain(self.folder / "cert", self.folder / "key")
        return made

    def namespace(self, labels: dict | None = None) -> str:
        self.people += 1
        ns = f"ns-{self.people}"
        made = self.admin.post("/api/v1/namespaces", {"metadata": {"name": ns, "labels": labels or {}}})
        assert made.status == 201, made
        return ns

    def person(self, ns: str, role: str = "", rules: list[dict] | None = None) -> Person:
        """A service account in the namespace that has the ClusterRole there, or a Role of these rules."""
        self.people += 1
        name = f"person-{self.people}"
        assert self.admin.post(f"/api/v1/namespaces/{ns}/serviceaccounts", {"metadata": {"name": name}}).status == 201
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
        kind = "ClusterRole" if rules is None else "Role"
        if rules is not None:
            assert self.admin.post(f"{rbac}/roles", {"metadata": {"name": name}, "rules": rules}).status == 201
        if role or rules is not None:
            made = self.admin.post(f"{rbac}/rolebindings", {
                "metadata": {"name": name}, "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": ns}],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role or name}})
            assert made.status == 201, made
        token = self.admin.post(f"/api/v1/namespaces/{ns}/serviceaccounts/{name}/token", {"spec": {"expirationSeconds": 3600}})
        return Person(self, token.json["status"]["token"], ns)

    def leave(self) -> None:
        self.muster.leave()
