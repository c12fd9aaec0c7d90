# test/e2e/test_watch_over_kills.py - a client that lists and watches, over kill -9 after kill -9 under writes: it misses nothing.
import http.client
import json
import random
import re
import threading
import time
import urllib.error
import urllib.request

import pytest

from test_bad_input import Client

pytestmark = pytest.mark.muster_up("it is about what a killed server kept")

TURNS = 5
MAPS = "/api/v1/namespaces/default/configmaps"
SELECTED = "labelSelector=of%3Dloop"
BROKEN = (OSError, http.client.HTTPException, ValueError)  # A connection that ended: not, in the middle of, or after an answer.


class Writer(threading.Thread):
    """Creates, changes and deletes objects; what was answered is in `history`: (revision, or None of a delete; name)."""

    def __init__(self, client: Client, chance: random.Random):
        super().__init__()
        self.client, self.chance = client, chance
        self.history: list[tuple[int | None, str]] = []
        self.there: dict[str, int] = {}
        self.ends = threading.Event()
        self.problem = ""

    def run(self) -> None:
        number = 0
        while not self.ends.is_set() and not self.problem:
            number += 1
            name = f"m{self.chance.randrange(30)}"
            try:
                self.write(name, number)
            except BROKEN:
                self.find_out(name)

    def write(self, name: str, number: int) -> None:
        body = json.dumps({"metadata": {"name": name, "labels": {"of": "loop"}}, "data": {"number": str(number)}}).encode()
        if name not in self.there:
            code, answer = self.client.ask("POST", MAPS, body)
        elif self.chance.random() < 0.3:
            code, answer = self.client.ask("DELETE", f"{MAPS}/{name}")
            if code == 200:
                self.gone(name)
                return
        else:
            code, answer = self.client.ask("PUT", f"{MAPS}/{name}", body)
        if code not in (200, 201):
            self.problem = f"{name}: {code} {answer}"
            return
        self.put(name, answer)

    def find_out(self, name: str) -> None:
        """Nobody answered: it may have been written or not."""
        while not self.ends.is_set():
            try:
                code, answer = self.client.ask("GET", f"{MAPS}/{name}")
            except BROKEN:
                time.sleep(0.02)
                continue
            if code == 200:
                self.put(name, answer)
            elif name in self.there:
                self.gone(name)
            return

    def put(self, name: str, answer: dict) -> None:
        self.there[name] = int(answer["metadata"]["resourceVersion"])
        self.history.append((self.there[name], name))

    def gone(self, name: str) -> None:
        del self.there[name]
        self.history.append((None, name))


class Watcher(threading.Thread):
    """Lists, watches from there on, goes on from the last version it saw, and lists anew when it is told to (410)."""

    def __init__(self, client: Client):
        super().__init__()
        self.client = client
        self.cache: dict[str, int] = {}
        self.version = 0
        # What was seen without a list in between: (the revision it began at, {name: [(revision, type)]}).
        self.stretches: list[tuple[int, dict[str, list[tuple[int, str]]]]] = []
        self.lists: list[tuple[int, dict[str, int]]] = []
        self.resumed = 0
        self.away = threading.Event()  # While it is set nothing is read: what comes then is missed.
        self.ends = threading.Event()
        self.problem = ""

    def run(self) -> None:
        while not self.ends.is_set() and not self.problem:
            if self.away.is_set():
                time.sleep(0.02)
                continue
            try:
                if self.version == 0 or not self.watch():
                    self.list()
            except BROKEN:
                time.sleep(0.02)

    def list(self) -> None:
        code, answer = self.client.ask("GET", f"{MAPS}?{SELECTED}")
        version = int(answer["metadata"]["resourceVersion"])
        if code != 200 or version < self.version:
            self.problem = f"list at {version} after {self.version}: {code}"
        self.cache = {m["metadata"]["name"]: int(m["metadata"]["resourceVersion"]) for m in answer["items"]}
        self.version = version
        self.lists.append((version, dict(self.cache)))
        self.stretches.append((version, {}))

    def watch(self) -> bool:
        """Until the connection ends; false: it has to list anew."""
        url = f"{self.client.server}{MAPS}?watch=1&{SELECTED}&allowWatchBookmarks=true&resourceVersion={self.version}"
        try:
            with urllib.request.urlopen(url, context=self.client.context, timeout=30) as answer:
                self.resumed += 1
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        assert event["object"]["code"] == 410, event
                        return False
                    self.take(event["type"], event["object"]["metadata"])
                    if self.away.is_set():
                        break
        except urllib.error.HTTPError as error:
            with error:
                return error.code != 410
        return True

    def take(self, kind: str, metadata: dict) -> None:
        version = int(metadata["resourceVersion"])
        if version < self.version or (kind != "BOOKMARK" and version == self.version):
            self.problem = f"{kind} {metadata} after {self.version}"
        self.version = version
        if kind == "BOOKMARK":
            return
        name = metadata["name"]
        self.stretches[-1][1].setdefault(name, []).append((version, kind))
        if kind == "DELETED":
            self.cache.pop(name, None)
        else:
            self.cache[name] = version


def missed(watcher: Watcher, history: list[tuple[int | None, str]]) -> list[str]:
    """What was answered and not seen by a watch that was there for it, or by a list."""
    found = []
    for begin, seen in watcher.stretches:
        last = max((version for events in seen.values() for version, _ in events), default=begin)
        for name in {n for _, n in history}:
            events = seen.get(name, [])
            puts = {version for version, kind in events if kind != "DELETED"}
            before, is_gone = None, False
            for version, _ in (h for h in history if h[1] == name):
                if version is None:
                    is_gone = True
                    continue
                if begin < version <= last and version not in puts:
                    found.append(f"{name} at {version}, watched from {begin} to {last}")
                after = max(begin, before or 0)
                if is_gone and before and begin <= before and version <= last and not any(
                        kind == "DELETED" and after < at < version for at, kind in events):
                    found.append(f"that {name} went between {before} and {version}")
                before, is_gone = version, False
    for at, listed in watcher.lists:
        for name in {n for _, n in history}:
            own = [h for h in history if h[1] == name]
            puts = [i for i, (version, _) in enumerate(own) if version is not None and version <= at]
            if puts and own[puts[-1]][0] != listed.get(name) and puts[-1] + 1 == len(own):
                found.append(f"{name} at {own[puts[-1]][0]}, listed at {at} as {listed.get(name)}")
            if puts and listed.get(name, own[puts[-1]][0]) < own[puts[-1]][0]:
                found.append(f"{name} at {own[puts[-1]][0]}, listed at {at} as of {listed[name]}")
    return found


def test_a_client_that_lists_and_watches_has_no_gap_over_kills(make_muster):
    seed = 7
    chance = random.Random(seed)
    muster = make_muster(flags=["--api-only"]).start()
    muster.port = int(re.search(r"server: https://[0-9.]+:(\d+)", muster.kubeconfig.read_text()).group(1))
    writer, watchers = Writer(Client(muster), chance), [Watcher(Client(muster)) for _ in range(2)]
    threads = [writer, *watchers]
    for thread in threads:
        thread.start()
    try:
        for _ in range(TURNS):
            time.sleep(chance.uniform(0.3, 0.8))  # The moment is the test's subject.
            written = len(writer.history)
            watchers[1].away.set()
            muster.until("something is written that one of them has not seen", lambda: len(writer.history) > written + 20)
            muster.kill()
            watchers[1].away.clear()
            muster.start()
        written = len(writer.history)
        muster.until("it is written after the last restart", lambda: len(writer.history) > written + 50)
        writer.ends.set()
        writer.join()
        for watcher in watchers:
            muster.until("the watcher has the end state",
                         lambda watcher=watcher: watcher.problem or watcher.cache == writer.there)
    finally:
        for thread in threads:
            thread.ends.set()
        muster.stop()  # It ends the watches.
        for thread in threads:
            thread.join()
    assert [thread.problem for thread in threads] == ["", "", ""]
    said = f"seed {seed}: {len(writer.history)} writes, {[(w.resumed, len(w.lists)) for w in watchers]} watches and lists"
    print(said)
    assert len(writer.history) > 200, said
    assert watchers[0].resumed > TURNS and len(watchers[1].lists) > TURNS, said
    for watcher in watchers:
        assert not missed(watcher, writer.history), said
        assert sum(len(events) for _, seen in watcher.stretches for events in seen.values()) > 100, said
