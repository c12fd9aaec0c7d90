# test/kube/scenario_player.py - plays on a live API server what `muster_sim --record` wrote of the scenarios: all that is said
# between two cycles is written while no operator runs; a cycle is an operator that starts, decides and is stopped. Where a scenario
# needs what an operator remembers, one operator plays all cycles, and sleeps in between (SIGSTOP). When time passes in a scenario,
# operators are given a clock that is ahead.
import calendar
import copy
import json
import os
import re
import signal
import subprocess
import time

from conftest import MUSTER
from cluster import end_with_parent
from outside import PATCH, Client
from shifted_clock import ShiftedClock
from waiting import until

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
WRAPPERS = "/apis/workload.codeflare.dev/v1beta1/appwrappers"
# What a scenario may leave behind; what owns comes before what it owns.
LEFT = [WRAPPERS, "/apis/batch/v1/jobs", f"{KUEUE}/workloads", "/api/v1/pods", f"{KUEUE}/localqueues", f"{KUEUE}/clusterqueues",
        f"{KUEUE}/cohorts", f"{KUEUE}/resourceflavors", f"{KUEUE}/topologies", f"{KUEUE}/admissionchecks", "/api/v1/nodes"]
# What makes it matter who came, or was evicted, a second before another.
TOLD_IN_SECONDS = ["LowerOrNewerEqualPriority", "blockAdmission", "HoldAndDrain"]
PATIENCE = 25  # Seconds until what an operator decides has come out.
OLD_TIME = re.compile(r"^20\d\d-\d\d-\d\dT[0-9:.]+Z$")  # Of the simulator's clock.
BEGINNING = calendar.timegm((2020, 1, 1, 0, 0, 0))  # Of every scenario.


def machine_time() -> str:
    return Clock().now()


class Clock:
    """Of a scenario here: the machine's, and ahead of it by what the scenario has let pass."""

    def __init__(self) -> None:
        self.ahead, self.told = 0, 0

    def go_on(self, told: int) -> None:
        """The scenario's clock shows so many seconds now. One a submit is none that is let pass."""
        self.ahead += told - self.told if told - self.told > 1 else 0
        self.told = told

    def now(self, later: int = 0) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.ahead + later))

    def at_this_time(self, value):
        """The same with the times of this clock. What is not in the future was the present."""
        if isinstance(value, dict):
            return {key: self.at_this_time(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.at_this_time(each) for each in value]
        if not isinstance(value, str) or not OLD_TIME.match(value):
            return value
        later = calendar.timegm(time.strptime(value[:19], "%Y-%m-%dT%H:%M:%S")) - BEGINNING - self.told
        return self.now(later if later > 2 else 0)

    def changed(self, live, before, after):
        """What `after` makes of `before`, made of `live`. Conditions are told apart by their type."""
        if before == after:
            return live
        if isinstance(after, dict) and isinstance(before, dict):
            made = dict(live) if isinstance(live, dict) else {}
            for key in before.keys() - after.keys():
                made.pop(key, None)
            for key in after:
                if key not in before or before[key] != after[key]:
                    made[key] = self.changed(made.get(key), before.get(key), after[key])
            return made
        if isinstance(after, list) and after and all(isinstance(each, dict) and "type" in each for each in after):
            by_type = {each["type"]: each for each in live or []}
            had = {each["type"]: each for each in before or []}
            for each in after:
                if had.get(each["type"]) != each:
                    by_type[each["type"]] = self.at_this_time(each)
            return list(by_type.values())
        return self.at_this_time(after)


def condition(status: dict, kind: str, *fields: str) -> list:
    found = next((each for each in (status or {}).get("conditions", []) if each["type"] == kind), {})
    return [found.get(field) for field in fields]


def facts(path: str, said: dict) -> dict:
    """What a status tells that hangs on no clock and no chance."""
    status = said.get("status") or {}
    if "/clusterqueues/" in path:
        return {key: status.get(key) or 0 for key in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")} | {
            "reserved": status.get("flavorsReservation"), "active": condition(status, "Active", "status", "reason")}
    if "/appwrappers/" in path:
        mine = {key: status.get(key) for key in ("state", "canrun")}
        return mine | (of_workload(said["workload"]) if "workload" in said else {})
    return of_workload(status)


def of_workload(status: dict | None) -> dict:
    status = status or {}
    return {"admission": status.get("admission"), "reserved": condition(status, "QuotaReserved", "status", "reason", "message"),
            "evicted": condition(status, "Evicted", "status", "reason"),
            "preempted": condition(status, "Preempted", "status", "reason"), "finished": condition(status, "Finished", "status")}


class Player:
    """Of one server, which has Muster's kinds and nobody who acts on them. Its operators are whom `kubeconfig` names."""

    def __init__(self, name: str, server, kubeconfig):
        self.name, self.server, self.kubeconfig, self.client = name, server, kubeconfig, Client(server)
        self.log = server.folder / f"{name.replace(' ', '-')}-operator.log"
        self.last_name, self.last_second, self.always_wait = "", "", False
        self.labelled: set[str] = set()
        self.cycles = self.probes = 0
        self.clock, self.flags, self.operator = Clock(), [], None
        self.shifted = ShiftedClock(server.folder)

    def play(self, verbs: list[str], lines: list[dict], remembering: bool = False) -> list[str]:
        """What came out otherwise, a sentence each."""
        self._clear()
        self.clock, self.flags = Clock(), []
        try:
            return self._play(verbs, lines, remembering)
        finally:
            self._end_operator()

    def _play(self, verbs: list[str], lines: list[dict], remembering: bool) -> list[str]:
        # Who is newer, and who waits since when, is told in seconds.
        said = json.dumps(lines)
        self.always_wait = bool({"evicted", "deactivate"} & set(verbs)) or any(word in said for word in TOLD_IN_SECONDS)
        self.last_name = ""
        wrong = []
        for number, line in enumerate(lines):
            if "cycle" in line:
                wrong += [f"cycle at {number}: {each}" for each in self._cycle(line["cycle"], remembering)]
            elif "at" in line:
                self.clock.go_on(line["at"])
            elif "options" in line:
                self._configure(line["options"])
            elif "node" in line:
                self._put_node(line)
            else:
                self._write(line)
            if wrong:
                return wrong
        return wrong

    def _ask(self, method: str, path: str, body=None, content_type: str = "application/json", may: tuple = ()) -> dict:
        status, answer = self.client.ask(method, path, body, content_type)
        deadline = time.time() + 60
        while status in (0, 429) and time.time() < deadline:  # A kind that was just defined is not there at once.
            time.sleep(0.1)
            status, answer = self.client.ask(method, path, body, content_type)
        assert 200 <= status < 300 or status in may, (self.name, method, path, status, answer)
        return answer if status < 300 else {}

    def _next_second(self) -> None:
        until("the clock goes on", lambda: machine_time() != self.last_second)

    def _write(self, line: dict) -> None:
        method, path, body = line["method"], line["path"], line.get("body")
        if method == "POST":
            if path.endswith(("/workloads", "/appwrappers")):
                name = body["metadata"]["name"]
                # Creation times are of seconds; of Workloads of one second the name tells who was first.
                if self.always_wait or name <= self.last_name or path.endswith("/appwrappers"):
                    self._next_second()
                self.last_name = name
            for owner in body["metadata"].get("ownerReferences", []):
                at = f"/apis/{owner['apiVersion']}/namespaces/{body['metadata']['namespace']}/{owner['kind'].lower()}s/{owner['name']}"
                owner["uid"] = self._ask("GET", at)["metadata"]["uid"]
            self._ask("POST", path, body, may=(409,))
        elif method == "PUT":
            self._replace(path, line["before"], body)
        elif method == "PATCH":
            if re.match(r"^/api/v1/namespaces/[^/]+$", path):
                self.labelled.add(path)
            self._ask("PATCH", path, body, PATCH, may=(404,))
        else:
            body = {"gracePeriodSeconds": 0} if "/pods/" in path else None
            self._ask("DELETE", path, body, may=(404,))
        self.last_second = machine_time()

    def _configure(self, documents: list[dict]) -> None:
        file = self.server.folder / "configuration.yaml"
        file.write_text("\n---\n".join(map(json.dumps, documents)))
        self.flags = ["--config", str(file)]

    def _replace(self, path: str, before: dict, after: dict) -> None:
        whole = path.removesuffix("/status")

        def is_done() -> bool:
            live = self._ask("GET", whole)
            made = self.clock.changed(live, copy.deepcopy(before), after)
            made["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
            status, answer = self.client.ask("PUT", path, made)
            assert status in (0, 200, 409, 429), (path, status, answer)
            return status == 200

        until(f"{path} is written", is_done)

    def _put_node(self, line: dict) -> None:
        name = line["node"]
        self._ask("POST", "/api/v1/nodes", {"metadata": {"name": name}}, may=(409,))
        labels = {"kubernetes.io/hostname": name, **(line["labels"] or {})}
        spec = {**(line["spec"] or {}), "unschedulable": (line["spec"] or {}).get("unschedulable") or None}
        self._ask("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}, "spec": spec}, PATCH)
        amounts = {"pods": "110", **(line["amounts"] or {})}
        now = self.clock.now()
        ready = {"type": "Ready", "status": str(line["ready"]), "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now}
        self._ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
            "capacity": amounts, "allocatable": amounts, "conditions": [ready]}}, PATCH)

    def _cycle(self, expected: dict, remembering: bool) -> list[str]:
        if self.always_wait:
            self._next_second()
        self.cycles += 1
        self._let_jobs_go()
        self._wake_operator()
        deadline = time.time() + PATIENCE
        while self._otherwise(expected) and time.time() < deadline:
            assert self.operator.poll() is None, self.log.read_text()[-3000:]
            time.sleep(0.05)
        # Where nothing is to change, all may have been as expected before it had looked. One that has just started may answer the
        # first before it decides.
        self._make_it_look()
        self._make_it_look()
        if remembering:
            self.operator.send_signal(signal.SIGSTOP)
        else:
            self._end_operator()
        self.last_second = machine_time()
        return self._otherwise(expected)

    def _let_jobs_go(self) -> None:
        """Where nobody collects garbage."""
        for job in self._ask("GET", "/apis/batch/v1/jobs")["items"]:
            if "deletionTimestamp" in job["metadata"]:
                at = f"/apis/batch/v1/namespaces/{job['metadata']['namespace']}/jobs/{job['metadata']['name']}"
                self._ask("PATCH", at, {"metadata": {"finalizers": None}}, PATCH, may=(404,))

    def _wake_operator(self) -> None:
        self.shifted.set(self.clock.ahead)
        if self.operator:
            self.operator.send_signal(signal.SIGCONT)
            self._make_it_look()
            return
        with self.log.open("a") as log:
            self.operator = subprocess.Popen(
                [str(MUSTER), "operator", "--kubeconfig", str(self.kubeconfig), *self.flags], stdout=subprocess.DEVNULL,
                stderr=log, preexec_fn=end_with_parent, env={**os.environ, **self.shifted.environment})

    def _make_it_look(self) -> None:
        """What it has put off goes by a clock that nobody sets; it looks at the wall's when it hears of something. And when it has
        answered what was written last, it has decided with what was written before."""
        self.probes += 1
        at, name = f"{KUEUE}/namespaces/default/localqueues", f"probe-{self.probes}"
        self._ask("POST", at, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": name},
                               "spec": {"clusterQueue": "nobody"}})
        until(f"{name} is answered", lambda: self._ask("GET", f"{at}/{name}").get("status", {}).get("conditions"))

    def _end_operator(self) -> None:
        """What it is about to write it still writes."""
        if self.operator:
            self.operator.terminate()
            self.operator.send_signal(signal.SIGCONT)
            self.operator.wait(timeout=60)
        self.operator = None

    def _otherwise(self, expected: dict) -> list[str]:
        wrong = []
        for path, said in expected.items():
            live = self._said(path, "workload" in said)
            theirs, ours = facts(path, said), facts(path, live)
            wrong += [f"{path}: {key} is {ours[key]}, not {theirs[key]}" for key in theirs if theirs[key] != ours.get(key)]
        return wrong

    def _said(self, path: str, queued: bool) -> dict:
        status, thing = self.client.ask("GET", path)
        if status != 200:
            return {"status": {}, "workload": {}}
        said = {"status": thing.get("status", {})}
        if queued:
            listed = self._ask("GET", f"{KUEUE}/namespaces/{thing['metadata']['namespace']}/workloads")["items"]
            said["workload"] = next((each.get("status", {}) for each in listed if any(
                owner["uid"] == thing["metadata"]["uid"] for owner in each["metadata"].get("ownerReferences", []))), {})
        return said

    def _clear(self) -> None:
        for path in self.labelled:
            labels = self._ask("GET", path)["metadata"].get("labels", {})
            mine = {key: None for key in labels if key != "kubernetes.io/metadata.name"}
            self._ask("PATCH", path, {"metadata": {"labels": mine}}, PATCH)
        self.labelled.clear()
        until("nothing is left", lambda: not [each for each in LEFT if self._delete_all(each)])

    def _delete_all(self, path: str) -> bool:
        """Whether something was there. Nobody is there who would let go of it."""
        there = self._ask("GET", path).get("items", [])
        for one in there:
            root, _, plural = path.rpartition("/")
            ns = f"/namespaces/{one['metadata']['namespace']}" if "namespace" in one["metadata"] else ""
            at = f"{root}{ns}/{plural}/{one['metadata']['name']}"
            if one["metadata"].get("finalizers"):
                self._ask("PATCH", at, {"metadata": {"finalizers": None}}, PATCH, may=(404,))
            self._ask("DELETE", at, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, may=(404, 409))
        return bool(there)
