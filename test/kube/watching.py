# test/kube/watching.py - one who keeps watching all objects of a kind, over any trouble of the server's.
import http.client
import json
import threading
import time


class Watch:
    """On a thread of its own: `listed` is called with all objects, then `changed` with what happened ("ADDED", "MODIFIED",
    "DELETED") and the object, for each change; after a gap `listed` again. Not all that came between was seen then."""

    def __init__(self, cluster, path: str, listed, changed):
        self.cluster, self.path, self.listed, self.changed = cluster, path, listed, changed
        self._version, self._ending = "", False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ending = True
        self._thread.join(timeout=30)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._ending:
            try:
                if not self._version:
                    self._list()
                self._watch()
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)

    def _list(self) -> None:
        status, answer = self.cluster.request("GET", self.path, timeout=20)
        if status != 200:
            raise OSError(status)
        self.listed(answer["items"])
        self._version = answer["metadata"]["resourceVersion"]

    def _watch(self) -> None:
        connection = self.cluster.connection(5)
        try:
            connection.request("GET", f"{self.path}?watch=true&allowWatchBookmarks=true&resourceVersion={self._version}")
            answer = connection.getresponse()
            if answer.status != 200:
                self._version = "" if answer.status == 410 else self._version
                raise OSError(answer.status)
            while line := self._line(answer):
                self._event(json.loads(line))
        finally:
            connection.close()

    def _line(self, answer) -> bytes:
        """Empty at the end."""
        return b"" if self._ending else answer.readline()

    def _event(self, event: dict) -> None:
        what, thing = event["type"], event["object"]
        if what == "ERROR":
            self._version = "" if thing.get("code") == 410 else self._version
            raise OSError(thing.get("message", ""))
        self._version = thing["metadata"]["resourceVersion"]
        if what != "BOOKMARK":
            self.changed(what, thing)
