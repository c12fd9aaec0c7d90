# test/others_webhooks.py - somebody's webhooks: an HTTPS server that answers reviews as the path says, well or badly.
"""An object says itself what is answered about it: its annotation `say` holds members of the response, in JSON."""
import base64
import http.server
import json
import pathlib
import ssl
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "kubernetes"))
from certificates import Authority  # noqa: E402  (in the folder just named)

ADMISSION = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
CONVERSION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
HUGE = 64 << 20


def patch(*operations: dict) -> dict:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(list(operations)).encode()).decode()}


def said_by(request: dict) -> dict:
    """What the object wants to hear."""
    about = request.get("object") or request.get("oldObject") or {}
    return json.loads((about.get("metadata", {}).get("annotations") or {}).get("say", "{}"))


def admitted(request: dict) -> dict:
    return {**ADMISSION, "response": {"uid": request["uid"], "allowed": True, **said_by(request)}}


def comparable(value):
    """Without what no two servers have in common."""
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items() if name not in ("uid", "resourceVersion", "managedFields", "extra", "username")}
    return [comparable(each) for each in value] if isinstance(value, list) else value


def echoed(request: dict) -> dict:
    """A refusal that tells what was asked."""
    shown = json.dumps(comparable(request), sort_keys=True)
    return {**ADMISSION, "response": {"uid": request["uid"], "allowed": False, "status": {"message": shown}}}


def converted(thing: dict, wanted: str) -> dict:
    """A CronTab: v1 has spec.host ("a,b"), v2 spec.hosts."""
    made = json.loads(json.dumps(thing))
    made["apiVersion"] = wanted
    spec = made.get("spec", {})
    if wanted.endswith("v2") and "host" in spec:
        spec["hosts"] = spec.pop("host").split(",")
    if wanted.endswith("v1") and "hosts" in spec:
        spec["host"] = ",".join(spec.pop("hosts"))
    for field, value in json.loads((thing["metadata"].get("annotations") or {}).get("convert", "{}")).items():
        place = made["metadata"] if field != "whole" else made
        place.update(value if field == "whole" else {field: value})
    return made


def conversion(request: dict) -> dict:
    things = request["objects"]
    said = json.loads((things[0]["metadata"].get("annotations") or {}).get("say", "{}"))
    made = [converted(thing, request["desiredAPIVersion"]) for thing in things]
    return {**CONVERSION, "response": {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": made, **said}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # pylint: disable=invalid-name
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.split("?")[0].strip("/")
        self.server.heard.append((path, review))
        request = review["request"]
        if path == "convert":
            return self.answer(json.dumps(conversion(request)))
        if path.startswith("count/"):
            return self.count(request)
        return getattr(self, path.replace("-", "_"))(request)

    def answer(self, text: str, code: int = 200, kind: str = "application/json") -> None:
        body = text.encode()
        self.send_response(code)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say(self, request: dict) -> None:
        self.answer(json.dumps(admitted(request)))

    def echo(self, request: dict) -> None:
        self.answer(json.dumps(echoed(request)))

    def held(self, request: dict) -> None:
        """Answers once it is let go."""
        self.server.go.wait(60)
        self.say(request)

    def count(self, request: dict) -> None:
        """Writes down how often, and after whom, it was asked."""
        labels = request["object"]["metadata"].get("labels") or {}
        name = self.path.split("?")[0].rsplit("/", 1)[-1]
        seen = {**labels, "asked": labels.get("asked", "") + name}
        self.answer(json.dumps({**ADMISSION, "response": {"uid": request["uid"], "allowed": True, **patch(
            {"op": "add", "path": "/metadata/labels", "value": seen})}}))

    def garbage(self, _) -> None:
        self.answer("nonsense")

    def nothing(self, _) -> None:
        self.answer("")

    def array(self, _) -> None:
        self.answer("[]")

    def no_response(self, _) -> None:
        self.answer(json.dumps(ADMISSION))

    def no_kind(self, request: dict) -> None:
        self.answer(json.dumps({"response": {"uid": request["uid"], "allowed": True}}))

    def wrong_uid(self, _) -> None:
        self.answer(json.dumps({**ADMISSION, "response": {"uid": "other", "allowed": True}}))

    def text_500(self, _) -> None:
        self.answer("out of order\n", 500, "text/plain")

    def json_500(self, _) -> None:
        self.answer("{}", 500)

    def text_404(self, _) -> None:
        self.answer("no such page", 404, "text/html")

    def text_403(self, _) -> None:
        self.answer("keep out", 403, "text/plain")

    def status_400(self, _) -> None:
        self.answer(json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "wrong in words", "code": 400}), 400)

    def slow(self, request: dict) -> None:
        time.sleep(3)
        self.say(request)

    def closed(self, _) -> None:
        self.close_connection = True
        self.connection.close()

    def huge(self, _) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(HUGE))
        self.end_headers()
        try:
            for _ in range(HUGE >> 20):
                self.wfile.write(b" " * (1 << 20))
        except OSError:
            pass  # Nobody has to read all of it.

    def log_message(self, *_) -> None:  # pylint: disable=arguments-differ
        pass


class Webhooks:
    """Listens with a certificate for 127.0.0.1 and a service; beside it one that is somebody else's, and one of another name."""

    def __init__(self, service: str = "hooks.default.svc"):
        self.authority = Authority()
        self.heard: list[tuple[str, dict]] = []
        self.go = threading.Event()  # For whom `held` holds up.
        self.servers = {}
        for name, authority, also in (("good", self.authority, ["127.0.0.1", "localhost", service]),
                                      ("stranger", Authority(), ["127.0.0.1"]), ("other", self.authority, ["elsewhere.example.com"])):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.daemon_threads, server.heard, server.go = True, self.heard, self.go
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            with tempfile.TemporaryDirectory() as folder:
                pair = pathlib.Path(folder) / "pair.pem"
                pair.write_text("".join(authority.issue(name, also=also)))
                context.load_cert_chain(pair)
            # The handshake is the thread's: whoever breaks it off ends only his own connection.
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers[name] = server

    def client(self, path: str, server: str = "good") -> dict:
        """A clientConfig."""
        port = self.servers[server].server_address[1]
        return {"url": f"https://127.0.0.1:{port}/{path}", "caBundle": base64.b64encode(self.authority.pem.encode()).decode()}

    def stop(self) -> None:
        for server in self.servers.values():
            server.shutdown()
            server.server_close()


def webhook(name: str, client: dict, rules: list[dict] | None = None, **more) -> dict:
    """About config maps unless said otherwise."""
    usual = [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
    return {"name": f"{name}.example.com", "clientConfig": client, "rules": rules or usual, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 10, **more}


def configuration(kind: str, name: str, *hooks: dict) -> dict:
    """`kind` is Mutating or Validating."""
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration", "metadata": {"name": name},
            "webhooks": list(hooks)}


def crontabs(group: str, client: dict, stored: str = "v1", **conversion_more) -> dict:
    """The definition of CronTabs, whose versions a webhook makes of each other."""
    def version(name: str, field: dict) -> dict:
        spec = {"type": "object", "properties": field}
        return {"name": name, "served": True, "storage": name == stored, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {
                    "seen": {"type": "boolean"}}}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"crontabs.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
                     "versions": [version("v1", {"host": {"type": "string"}}),
                                  version("v2", {"hosts": {"type": "array", "items": {"type": "string"}}})],
                     "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client,
                                                                       **conversion_more}}}}
