# test/kube/oracle_player.py - plays recorded cases on a live server, many at once: a case is a generator that stops where it must
# wait for rest, and goes on when canaries have told that the server has nothing left to do for it.
import collections
import contextlib
import itertools
import queue
import signal
import subprocess
import threading
import time

import oracle_cases as words
from conditions import condition, is_true
from oracle_cases import KUEUE, holds, path_of
from outside import PATCH, Client
from scenario_player import machine_time
from watching import Watch

WORKERS = 4
SHORT = 0.25       # Seconds without a change, inside a step. The canaries tell more.
LONG = 0.5         # At the end of a step.
GIVE_UP = 180      # Seconds without rest that end a case.
EVICTIONS_MAX = 40
SLOTS = 16         # Canaries at once.
CONNECTED_MAX = 3  # What ends together goes out over so many connections.
MOST_PLAYS = 4     # Of a case that differs.
AT_ONCE = ("Preempted", "NodeFailures")  # Evicted for these a job is queued again at once.

numbers = itertools.count()  # Of plays and canaries: none has the name of one that was on the same server before.


class Unsettled(Exception):
    """A case was given up."""


class Canaries:
    """Rounds of one small Workload that starts, once its queue's quota has come, and one that cannot. When both have been told,
    all that the server had heard before is decided and told too. When the status of their queue has counted them, and then that
    they are gone, it has counted all of before: statuses are written in order of names, of many in rounds, and nothing comes
    after a LocalQueue of this name; what was still on its way in the first of the two rounds is in the second."""

    NAME = "zcanary"

    def __init__(self, stage, pause: float):
        self.stage, self.pause, self.asked = stage, pause, threading.Event()
        self.told, self.counted = 0.0, 0.0  # When the newest round began that came so far.
        self.seen: dict[str, dict] = {}     # By path: queues and Workloads, as last seen.
        self.free: queue.Queue = queue.Queue()
        self.rounds = 0
        self._ending = False

    def start(self) -> None:
        client = Client(self.stage.server)
        client.insist("POST", "/api/v1/namespaces", {"metadata": {"name": self.NAME}})
        objects = [{"kind": "ResourceFlavor", "name": self.NAME}]
        for name in (f"{self.NAME}-{number}" for number in range(SLOTS)):
            objects.append({"kind": "ClusterQueue", "name": name, "spec": {
                "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO", **self._quota("0")}})
            objects.append({"kind": "LocalQueue", "name": name, "spec": {"clusterQueue": name}})
            self.free.put(name)
        for each in objects:
            client.insist("POST", path_of(each["kind"], self.NAME), words.object_of(each))
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        self._ending = True
        self.asked.set()

    def take(self, kind: str, thing: dict, gone: bool) -> None:
        self.seen[path_of(kind, self.NAME, thing["metadata"]["name"])] = {} if gone else thing

    def _quota(self, cpus: str) -> dict:
        flavors = [{"name": self.NAME, "resources": [{"name": "cpu", "nominalQuota": cpus}]}]
        return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}

    def _run(self) -> None:
        while not self._ending:
            self.asked.wait()
            self.asked.clear()
            name = self.free.get()
            self.rounds += 1
            threading.Thread(target=self._round, args=(name, next(numbers), time.monotonic()), daemon=True).start()
            time.sleep(self.pause)

    def _round(self, name: str, number: int, began: float) -> None:
        client = Client(self.stage.server)
        starts, waits = (f"{name}-{what}-{number}" for what in ("starts", "waits"))
        client.insist("PATCH", path_of("ClusterQueue", "", name), {"spec": self._quota("1")}, PATCH)
        for each, cpu in ((starts, "1"), (waits, "2")):
            pods = [{"count": 1, "requests": {"cpu": cpu}}]
            made = words.workload_of({"name": each, "queue": name, "prio": 0, "podSets": pods})
            client.insist("POST", path_of("Workload", self.NAME), made)
        self._await(lambda: is_true(self._seen("Workload", starts), "Admitted") and condition(self._seen("Workload", waits), "QuotaReserved"))
        self.told = max(self.told, began)
        self.stage.look()
        self._await(lambda: self._counts(name) == (1, 1))
        for each in (starts, waits):
            client.insist("DELETE", path_of("Workload", self.NAME, each))
        client.insist("PATCH", path_of("ClusterQueue", "", name), {"spec": self._quota("0")}, PATCH)
        self._await(lambda: self._counts(name) == (0, 0))
        self.counted = max(self.counted, began)
        self.stage.look()
        self.free.put(name)

    def _await(self, true) -> None:
        while not true() and not self._ending:
            time.sleep(0.02)

    def _seen(self, kind: str, name: str) -> dict:
        return self.seen.get(path_of(kind, self.NAME, name), {})

    def _counts(self, name: str) -> tuple[int, int]:
        status = self._seen("LocalQueue", name).get("status", {})
        return status.get("pendingWorkloads", 0), status.get("admittedWorkloads", 0)


class Stage:
    """A live server, and the process that decides: an operator, or the whole server."""

    def __init__(self, server, decides: subprocess.Popen, pause: float):
        self.server, self.decides = server, decides
        self.serves = getattr(server, "process", None) is decides
        self.plays: dict[str, CasePlay] = {}  # By prefix.
        self.ready: queue.Queue = queue.Queue()
        self.hold, self.looks = threading.Lock(), threading.Event()
        self.canaries = Canaries(self, pause)
        self.watches = [self._watch(kind, path_of(kind, Canaries.NAME) if kind == "LocalQueue" else f"{KUEUE}/{words.PLURALS[kind]}")
                        for kind in ("Workload", "ClusterQueue", "Cohort", "LocalQueue")]
        self.canaries.start()

    def _watch(self, kind: str, path: str) -> Watch:
        def listed(things: list[dict]) -> None:
            for each in things:
                self._take(kind, each, False)

        return Watch(self.server, path, listed, lambda what, thing: self._take(kind, thing, what == "DELETED"))

    def stop(self) -> None:
        self.canaries.stop()
        for each in self.watches:
            each.stop()

    def look(self) -> None:
        """Somebody may go on."""
        self.looks.set()

    def _take(self, kind: str, thing: dict, gone: bool) -> None:
        meta = thing["metadata"]
        prefix = (meta.get("namespace") or meta["name"]).split("-")[0] + "-"
        if Canaries.NAME in (prefix[:-1], meta.get("namespace")):
            self.canaries.take(kind, thing, gone)
        elif prefix in self.plays:
            self.plays[prefix].take(kind, thing, gone)

    def play(self, cases: list[dict], parallel: int, room: dict[str, int]) -> dict[str, list[tuple[str, str]]]:
        """By id in what each case differs from what was recorded. Who differs is played again, and the best play counts; not
        those of a family of which no more than `room` differ, and these in no decision. On a busy machine what is done in one breath
        may be heard in two, and what hangs on that comes out otherwise more than once."""
        waiting, playing = collections.deque(cases), set()
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(WORKERS)]
        for each in threads:
            each.start()
        found: dict[str, list[tuple[str, str]]] = {}
        plays = collections.Counter(case["id"] for case in cases)
        while waiting or playing:
            while waiting and len(playing) < parallel:
                play = CasePlay(self, waiting.popleft(), f"p{next(numbers)}-")
                self.plays[play.prefix] = play
                playing.add(play)
                self.ready.put(play)
            assert self.decides.poll() is None, "who decides has ended"
            self.looks.wait(0.05)
            self.looks.clear()
            for play in [each for each in playing if each.is_over]:
                playing.remove(play)
                name, wrong = play.case["id"], play.differences()
                found[name] = min(wrong, found.get(name, wrong), key=weight)
                family = [case for case in cases if case["family"] == play.case["family"] and found.get(case["id"])]
                if len(family) <= room.get(play.case["family"], 0):
                    family = [case for case in family if weight(found[case["id"]])[0]]
                under_way = {each["id"] for each in waiting} | {each.case["id"] for each in playing}
                for case in family:
                    if plays[case["id"]] >= MOST_PLAYS or case["id"] in under_way:
                        continue
                    print(f"{case['id']} is played again: {found[case['id']][0][1]}")
                    waiting.append(case)
                    plays[case["id"]] += 1
            for play in playing:
                if play.rests():
                    self.ready.put(play)
            if any(play.is_waiting for play in playing):
                self.canaries.asked.set()
        for _ in threads:
            self.ready.put(None)
        for each in threads:
            each.join()
        return found

    def _work(self) -> None:
        clients = [Client(self.server, 60) for _ in range(CONNECTED_MAX)]
        while play := self.ready.get():
            play.go_on(clients)
            self.look()

    @contextlib.contextmanager
    def held(self):
        """Meanwhile nobody decides; Kueue collects for a while what ends together."""
        with self.hold:
            self.decides.send_signal(signal.SIGSTOP)
            try:
                yield
            finally:
                self.decides.send_signal(signal.SIGCONT)


class CasePlay:
    """One case under names of its own. Its user writes what the case says, its job controller gives back what is evicted."""

    def __init__(self, stage: Stage, case: dict, prefix: str):
        self.stage, self.case, self.prefix, self.ns = stage, case, prefix, f"{prefix}ns"
        self.told = words.named({key: case.get(key) for key in ("namespaces", "objects", "steps")}, prefix)
        self.steps: list[dict] = []
        self.trouble = ""
        self.objects: dict[str, dict[str, dict]] = {"Workload": {}, "ClusterQueue": {}, "Cohort": {}}
        self.evictions: dict[str, dict] = collections.defaultdict(dict)
        self.picks: list[list[str]] = []
        self.errors: list[str] = []
        self.changed = self.told_last = self.since = time.monotonic()
        self.wants: tuple[float, bool] = (0, False)  # Seconds of quiet, and whether all must be counted.
        self.is_waiting = self.is_over = False
        self.clients: list[Client] = []
        self._run = self._play()

    def take(self, kind: str, thing: dict, gone: bool) -> None:
        if gone:
            self.objects[kind].pop(thing["metadata"]["name"], None)
        else:
            self.objects[kind][thing["metadata"]["name"]] = thing
        self.changed = time.monotonic()
        if kind == "Workload":
            self.told_last = self.changed

    def rests(self) -> bool:
        """Whether it waits, and need not any more."""
        if not self.is_waiting:
            return False
        quiet, counted = self.wants
        last = self.changed if counted else self.told_last
        canary = self.stage.canaries.counted if counted else self.stage.canaries.told
        at = time.monotonic()
        if (at < last + quiet or canary <= last) and at < self.since + GIVE_UP:
            return False
        self.is_waiting = False
        return True

    def differences(self) -> list[tuple[str, str]]:
        found = words.differences(self.case, self.steps)
        return [("state", self.trouble), *found] if self.trouble else found

    def go_on(self, clients: list[Client]) -> None:
        """Until it must wait again, or is over."""
        self.clients = clients
        try:
            self.wants = next(self._run)
            self.is_waiting = True
        except StopIteration:
            self.is_over = True
        except Exception as trouble:  # pylint: disable=broad-exception-caught
            self.trouble, self.is_over = repr(trouble), True  # Of one case, not of those who play.

    def _play(self):
        for name, labels in (self.told["namespaces"] or {self.ns: {}}).items():
            self._insist("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for short in self.told["objects"]:
            self._apply(short)
        yield from self._rest(LONG, True)
        for step in self.told["steps"]:
            self.picks, self.errors = [], []
            for action in step["actions"]:
                self._act(action)
                if step["mode"] == "seq":
                    yield from self._rest(max(SHORT, step.get("spacing") or 0), False)
            yield from self._rest(LONG, True)
            self.steps.append(words.bare(self._snapshot(), self.prefix))

    def _rest(self, quiet: float, counted: bool):
        """Until nothing moves; what is evicted gives its quota back one at a time, in order of names."""
        while True:
            self.since = time.monotonic()
            self.changed = max(self.changed, self.told_last)
            yield quiet, counted
            if time.monotonic() >= self.since + GIVE_UP:
                raise Unsettled("it does not come to rest")
            evicted = [name for name, each in sorted(self._there("Workload"))
                       if is_true(each, "Evicted") and not is_true(each, "Finished") and holds(each)]
            if not evicted:
                return
            self._give_back(self.objects["Workload"][evicted[0]])

    def _wrote(self) -> None:
        self.told_last = self.changed = time.monotonic()

    def _insist(self, *asked) -> None:
        self.clients[0].insist(*asked)
        self._wrote()

    def _apply(self, short: dict) -> None:
        thing = words.object_of(short)
        self._insist("POST", path_of(short["kind"], self.ns), thing)
        if short["kind"] == "Node":
            # A server may think that a new node is not ready, and say so.
            self._insist("PATCH", path_of("Node", "", short["name"]), {"spec": {"taints": thing["spec"].get("taints")}}, PATCH)
            amounts = short["allocatable"]
            self._node_status(short["name"], {"capacity": amounts, "allocatable": amounts, "conditions": [ready("True")]})

    def _node_status(self, name: str, status: dict) -> None:
        self._insist("PATCH", path_of("Node", "", name, "status"), {"status": status}, PATCH)

    def _act(self, action: dict) -> None:
        what, kind = action["do"], action.get("kind", "")
        if what == "apply":
            self._apply(action["obj"])
        elif what == "create":
            self._insist("POST", path_of("Workload", self.ns), words.workload_of(action["wl"]))
        elif what == "patch":
            self._insist("PATCH", path_of(kind, self.ns, action["name"]), action["patch"], PATCH)
        elif what == "deleteObj":
            self._insist("DELETE", path_of(kind, self.ns, action["name"]))
        elif what == "nodeReady":
            self._node_status(action["name"], {"conditions": [ready(action["value"])]})
        else:
            picked = [action["wl"]] if "wl" in action else self._pick(action)
            if "of" in action:
                self.picks.append(picked)
            self._together(what, picked, action)

    def _pick(self, action: dict) -> list[str]:
        there = self.objects["Workload"]
        admitted = [name for name in action["of"] if is_true(there.get(name, {}), "Admitted")
                    and not is_true(there[name], "Finished") and not is_true(there[name], "Evicted")]
        return admitted[:action.get("n", 1)]

    def _together(self, what: str, names: list[str], action: dict) -> None:
        """Those of one action are heard at once: who decides is stopped until all is under way."""
        asks = [self._ask_of(what, name, action) for name in names]
        pairs = list(zip(self.clients, [ask for ask in asks if ask]))
        assert len(names) <= len(self.clients)
        if len(pairs) < 2:
            answers = [client.ask(*ask) for client, ask in pairs]
        else:
            for client, _ in pairs:
                client.insist("GET", "/version")  # So that it is connected.
            with self.stage.held():
                sent = [client.send(*ask) for client, ask in pairs]
                answers = [] if self.stage.serves else self._hear(pairs, sent)
            answers = answers or self._hear(pairs, sent)
        self._wrote()
        for (client, ask), (status, answer) in zip(pairs, answers):
            if status == 0:  # Whether it was done is not known; a second time it changes nothing.
                client.insist(*ask)
            elif status >= 300:
                self.errors.append(f"{what} {status} {answer.get('message')}")

    @staticmethod
    def _hear(pairs: list, sent: list[bool]) -> list[tuple[int, dict]]:
        return [client.hear() if was else (0, {}) for (client, _), was in zip(pairs, sent)]

    def _ask_of(self, what: str, name: str, action: dict) -> tuple | None:
        path = path_of("Workload", self.ns, name)
        if what == "delete":
            return "DELETE", path
        if what in ("active", "priority"):
            return "PATCH", path, {"spec": {what: action["value"]}}, PATCH
        if what == "reclaim":
            pods = {"name": action["podSet"], "count": action["count"]}
            return "PATCH", f"{path}/status", {"status": {"reclaimablePods": [pods]}}, PATCH
        assert what == "finish", what
        workload = self.objects["Workload"].get(name)
        if workload is None or is_true(workload, "Finished"):
            return None
        return "PATCH", f"{path}/status", {"status": {"conditions": with_conditions(workload, [("Finished", "True", "Succeeded", "done")])}}, PATCH

    def _give_back(self, workload: dict) -> None:
        """What a job controller does once an evicted job has no pods left."""
        name, evicted = workload["metadata"]["name"], condition(workload, "Evicted")
        own = self.evictions[name]
        own["completed"] = own.get("completed", 0) + 1
        if is_true(workload, "Preempted"):
            own["last"] = condition(workload, "Preempted")["reason"]
        if sum(each.get("completed", 0) for each in self.evictions.values()) > EVICTIONS_MAX:
            raise Unsettled("too many evictions")
        reason, message = evicted["reason"], evicted.get("message", "")
        made = [("Requeued", "True" if reason in AT_ONCE else "False", reason, message), ("QuotaReserved", "False", "PendingEvaluation", message)]
        if condition(workload, "Admitted"):
            made.append(("Admitted", "False", "NoReservation", "The workload has no reservation"))
        status = {"admission": None, "conditions": with_conditions(workload, made)}
        self._insist("PATCH", path_of("Workload", self.ns, name, "status"), {"status": status}, PATCH)

    def _there(self, kind: str) -> list[tuple[str, dict]]:
        return list(self.objects[kind].items())

    def _snapshot(self) -> dict:
        shares = {name: (each.get("status", {}).get("fairSharing") or {}).get("weightedShare") for name, each in self._there("Cohort")}
        return {"wl": {name: words.workload_row(each, self.evictions[name]) for name, each in self._there("Workload")},
                "cq": {name: words.queue_row(each) for name, each in self._there("ClusterQueue")},
                "co": {name: share for name, share in shares.items() if share is not None},
                "picks": self.picks, "errors": self.errors}


def weight(wrong: list[tuple[str, str]]) -> tuple[int, int]:
    return len([field for field, _ in wrong if field in words.CORE]), len(wrong)


def ready(value: str) -> dict:
    now = machine_time()
    return {"type": "Ready", "status": value, "reason": "Oracle", "lastHeartbeatTime": now, "lastTransitionTime": now}


def with_conditions(workload: dict, made: list[tuple]) -> list[dict]:
    """All conditions of a Workload with some anew; a time is kept where the status stays."""
    found = {each["type"]: each for each in workload.get("status", {}).get("conditions", [])}
    for kind, status, reason, message in made:
        before = found.get(kind, {})
        then = before["lastTransitionTime"] if before.get("status") == status else machine_time()
        found[kind] = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": then,
                       "observedGeneration": workload["metadata"].get("generation", 0)}
    return list(found.values())
