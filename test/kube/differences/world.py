# test/kube/differences/world.py - both servers, a namespace for each case on both, and what of the differences is accepted.
import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import threading
from collections.abc import Callable

import accepted
import gadgets
import subjects
from servers import Server
from session import Difference, Session, differences
from waiting import until

# Gaps that are to be closed: one line each, without kinds and values. It only ever gets shorter.
KNOWN = pathlib.Path(__file__).resolve().parent / "known.txt"


class World:
    def __init__(self, theirs: Server, ours: Server):
        self.theirs, self.ours = theirs, ours
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.needed: set[str] = set()  # Patterns of accepted differences, and lines of known ones, that were met.
        self.known = set(KNOWN.read_text().splitlines())
        self.ran: set[str] = set()     # Tests that compared.

    def install_crds(self, program: pathlib.Path) -> None:
        """Muster's own kinds, on the server that does not have them; a user's, on both."""
        printed = subprocess.run([str(program), "crds", "--no-conversion", "-o", "json"], capture_output=True, text=True, check=True, timeout=60)
        for crd in json.loads(printed.stdout)["items"]:
            answer = self.theirs.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(crd).encode(),
                                     {"Content-Type": "application/json"})
            assert answer.status == 201, answer.body
        for server in (self.theirs, self.ours):
            answer = server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(gadgets.DEFINITION).encode(),
                                {"Content-Type": "application/json"})
            assert answer.status == 201, answer.body
        for each in [*subjects.OURS, *subjects.USERS]:
            until(f"{each} is served", lambda: self.theirs.ask("GET", each.at("default")).status == 200)
            # kubectl looks there for what it does not know.
            until(f"{each} is described", lambda: f"apis/{each.api}" in self.theirs.ask("GET", "/openapi/v3").json["paths"])

    def session(self, server: Server, ns: str) -> Session:
        for path, kind, name in (("namespaces", "Namespace", ns), (f"namespaces/{ns}/serviceaccounts", "ServiceAccount", "default")):
            body = json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}).encode()
            answer = server.ask("POST", f"/api/v1/{path}", body, {"Content-Type": "application/json"})
            assert answer.status in (201, 409), answer.body
        return Session(server, ns)

    def compare(self, name: str, case: Callable[[Session], None], servers_at_once: int = 1) -> list[Difference]:
        """What is different and not accepted."""
        with self.lock:
            ns = f"case-{next(self.numbers)}"
        sessions = [self.session(server, ns) for server in (self.theirs, self.ours)]
        with concurrent.futures.ThreadPoolExecutor(servers_at_once) as pool:
            list(pool.map(case, sessions))
        return self.left(differences(name, *sessions))

    def left(self, found: list[Difference]) -> list[Difference]:
        return [each for each in found if not self.is_accepted(str(each)) and not self.is_known(each.where)]

    def is_known(self, where: str) -> bool:
        if where not in self.known:
            return False
        with self.lock:
            self.needed.add(where)
        return True

    def is_accepted(self, text: str) -> bool:
        # All that fit are needed: which of them comes first says nothing.
        fitting = [pattern for pattern, _ in [*accepted.DIFFERENCES, *accepted.KUBECTL] if re.search(pattern, text)]
        with self.lock:
            self.needed.update(fitting)
        return bool(fitting)
