# test/kubernetes/client.py - an administrator of a cluster who keeps asking over one connection.
import http.client
import json
import time

from waiting import until

PATCH = "application/merge-patch+json"


def await_account(ask, ns: str) -> None:
    """Pods need the account that its controller makes a moment after the namespace. `ask` gives status and answer."""
    path = f"/api/v1/namespaces/{ns}/serviceaccounts/default"
    until(f"{ns} has its account", lambda: ask("GET", path)[0] == 200)


class Client:
    """The administrator over one connection, which is made again when it breaks. Of one thread."""

    def __init__(self, cluster, timeout: float = 20):
        self.cluster, self.timeout, self.connection = cluster, timeout, None

    def ask(self, method: str, path: str, body=None, content_type: str = "application/json") -> tuple[int, dict]:
        """Status 0: nobody answered; whether it was done is not known."""
        return self.hear() if self.send(method, path, body, content_type) else (0, {})

    def send(self, method: str, path: str, body=None, content_type: str = "application/json") -> bool:
        """Asks, and leaves the answer for `hear`."""
        try:
            self.connection = self.connection or self.cluster.connection(self.timeout)
            self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": content_type})
            return True
        except (OSError, http.client.HTTPException):
            self._forget()
            return False

    def hear(self) -> tuple[int, dict]:
        try:
            answer = self.connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if "json" in answer.getheader("Content-Type", "") else {}
        except (OSError, http.client.HTTPException, ValueError):
            self._forget()
            return 0, {}

    def _forget(self) -> None:
        if self.connection:
            self.connection.close()
        self.connection = None

    def insist(self, method: str, path: str, body=None, content_type: str = "application/json", patience: float = 90) -> dict:
        """Asks until it is done. What was done by a request that nobody answered is there already."""
        deadline = time.time() + patience
        while True:
            status, answer = self.ask(method, path, body, content_type)
            if status in (200, 201, 202) or (status == 409 and method == "POST") or (status == 404 and method == "DELETE"):
                return answer
            assert status == 0 or status == 409 or status == 429 or status >= 500, (method, path, status, answer)
            assert time.time() < deadline, (method, path, status, answer)
            time.sleep(0.2)
