# test/kube/differences/recorder.py - kubectl behind a proxy on loopback that keeps what it asks one server, and what it is answered.
import http.server
import json
import pathlib
import re
import subprocess
import threading
import urllib.parse

from servers import Answer
from session import Said, Session

SENT = ("Accept", "Content-Type", "User-Agent")
RETURNED = ("content-type", "warning", "retry-after", "location", "allow")
# What is compared elsewhere, and is large.
DOCUMENTS = re.compile(r"^/(openapi/|(version|api(/v1)?|apis(/[^/?]+){0,2})(\?|$))")
# What is of the moment, or of a server's own, in what kubectl prints.
PRINTED = ((re.compile(r"\b(\d+[smh])+( ago)?(?=\s|$|\))|<invalid>|<unknown>"), "<age>"), (re.compile(r'("?resourceVersion"?: )"\d+"'), r'\1"<version>"'),
           (re.compile(r"(Resource Version: +)\d+"), r"\1<version>"), (re.compile(r"/tmp/(LIVE|MERGED)-\d+"), r"/tmp/\1"), (re.compile(r"\t20\d\d-\d\d-\d\d .*"), "\t<time>"),
           (re.compile(r"^([WE])\d{4} [\d:.]+ +\d+ ", re.MULTILINE), r"\1 "), (re.compile(r"\b\w{3}, \d\d \w{3} 20\d\d [\d:]+ [+-]\d{4}"), "<time>"))


def plain(path: str) -> str:
    """As it is read: the terms of a selector in one order, and documents without the hash of what they say."""
    place, _, query = path.partition("?")
    terms = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    if "fieldSelector" in terms:
        terms["fieldSelector"] = ",".join(sorted(terms["fieldSelector"].split(",")))
    if "watch" in terms and "timeoutSeconds" in terms:
        terms["timeoutSeconds"] = "<some>"  # Chosen by chance, so that not all watches end at once.
    if "hash" in terms:
        terms["hash"] = "<hash>"
    return place + "".join(f" {name}={value}" for name, value in terms.items())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args) -> None:
        pass

    def pass_on(self) -> None:
        """One request of kubectl; a watch is carried line by line until either side ends it."""
        recorder: "Recorder" = self.server.recorder
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: self.headers[name] for name in SENT if name in self.headers}
        if "watch" in urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query):
            return self.carry(recorder, headers)
        answer = recorder.session.server.ask(self.command, self.path, body or None, headers)
        recorder.keep(self.command, self.path, headers, answer)
        self.send_response(answer.status)
        for name in RETURNED:
            for value in answer.headers.get(name, []):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        return None

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def carry(self, recorder: "Recorder", headers: dict[str, str]) -> None:
        recorder.keep(self.command, self.path, headers, None)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for line in recorder.session.server.lines(self.path, headers):
                self.wfile.write(line)
        except OSError:
            pass  # kubectl has seen enough.


class Recorder:
    """Runs kubectl against the server of a session; requests, answers and what is printed become part of what the session heard."""

    def __init__(self, session: Session, kubectl: str, folder: pathlib.Path):
        self.session, self.kubectl, self.folder = session, kubectl, folder
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.recorder, self.http.daemon_threads = self, True
        self.lock = threading.Lock()
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "KUBECONFIG": "/dev/null", "KUBECACHEDIR": str(folder / f"cache-{session.server.name}-{session.ns}"),
                    "KUBE_EDITOR": "sed -i s/edit-this/edited/"}

    def __enter__(self) -> "Recorder":
        # What is served is asked for once, and then known.
        self.run("api-resources")
        self.session.said.clear()
        return self

    def __exit__(self, *_args) -> None:
        self.http.shutdown()
        self.http.server_close()

    def keep(self, method: str, path: str, headers: dict[str, str], answer: Answer | None) -> None:
        line = f"{method} {plain(path)} [{headers.get('Content-Type', '')}] [{headers.get('Accept', '')}]"
        with self.lock:
            if answer is None:
                heard = {}
            elif DOCUMENTS.match(path):
                heard = {"status": answer.status}
            else:
                heard = self.session.masks.answer(answer)
            self.session.said.append(Said(self.session.asked(line).replace(self.session.ns, "NS"), heard))

    def run(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess:
        command = [self.kubectl, "--server", f"http://127.0.0.1:{self.http.server_port}", "--namespace", self.session.ns, *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False, env=self.env, cwd=self.folder)

    def __call__(self, words: str, body: dict | list[dict] | None = None) -> None:
        """One command, as it is typed; `body` is what `-f -` reads."""
        objects = body if isinstance(body, list) else [body]
        stdin = "\n---\n".join(json.dumps(each) for each in objects).replace('"NS"', f'"{self.session.ns}"') if body is not None else None
        done = self.run(*words.split(), stdin=stdin)
        printed = self.session.masks.text(done.stdout + done.stderr).replace(self.session.ns, "NS").replace(str(self.http.server_port), "<port>")
        for what, shown in PRINTED:
            printed = what.sub(shown, printed)
        with self.lock:
            self.session.said.append(Said(f"kubectl {words}", {"status": done.returncode, "printed": printed.split("\n")}))
