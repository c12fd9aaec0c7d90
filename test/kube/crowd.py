# test/kube/crowd.py - many Workloads and Jobs that want more than there is, and the life of what is admitted.
import collections
import heapq
import itertools
import queue
import random
import threading
import time

import kinds
from client import await_account
from outside import PATCH, Client, holds, is_true
from watching import Watch

COHORTS, QUEUES, CPUS = 2, 3, 10  # Queues a cohort; CPUs a queue.
# CPUs, priority, seconds at work, part of all.
CLASSES = [(1, 0, 0.3, 0.7), (4, 50, 0.5, 0.2), (10, 100, 0.5, 0.1)]
SECONDS = {priority: seconds for _, priority, seconds, _ in CLASSES}
QUEUE_NAMES = [f"crowd-{cohort}-{number}" for cohort in range(COHORTS) for number in range(QUEUES)]
WORKLOADS = f"/apis/{kinds.KUEUE}/v1beta2/namespaces/{{ns}}/workloads"


def make_queues(cluster, outside) -> None:
    """Queues that lend to each other and take back."""
    at = f"/apis/{kinds.KUEUE}/v1beta2"
    cluster.request("POST", f"{at}/resourceflavors", kinds.thing("ResourceFlavor", "crowd"))
    for name in QUEUE_NAMES:
        cohort = name.rsplit("-", 1)[0]
        outside.know_queue(name, CPUS, cohort, CPUS)
        resources = [{"name": "cpu", "nominalQuota": str(CPUS), "borrowingLimit": str(CPUS)}]
        status, answer = cluster.request("POST", f"{at}/clusterqueues", kinds.thing("ClusterQueue", name, spec={
            "cohortName": cohort, "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "crowd", "resources": resources}]}]}))
        assert status == 201, answer


def workload(name: str, in_queue: str, cpu: int, priority: int = 0) -> dict:
    """One of nobody: whoever plays its life says when it is over."""
    template = kinds.job(name, in_queue, cpu=str(cpu))["spec"]["template"]
    return kinds.thing("Workload", name, spec={"queueName": in_queue, "priority": priority, "active": True,
                                               "podSets": [{"name": "main", "count": 1, "template": template}]})


class Lives:
    """Plays what job controllers and kubelets do to all that is admitted: it ends after a while, what is evicted gives back."""

    def __init__(self, cluster, outside):
        self.client, self.outside = Client(cluster), outside
        self.news: queue.Queue = queue.Queue()
        self.due: list[tuple[float, int, str, str]] = []  # When, a number, whose life, of which admission.
        self.numbers = itertools.count()
        self.admitted: dict[str, str] = {}                # The admission that is being played.
        self.paused = threading.Event()
        self.ending = False
        outside.told.append(lambda name, thing: self.news.put((name, thing)))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.ending = True
        self.thread.join(timeout=30)

    def _run(self) -> None:
        while not self.ending:
            try:
                self._take(*self.news.get(timeout=0.02))
            except queue.Empty:
                pass
            while self.due and self.due[0][0] <= time.time() and not self.paused.is_set():
                _, _, name, since = heapq.heappop(self.due)
                if self.admitted.get(name) == since:
                    self._end(name, since)

    def _take(self, name: str, thing: dict | None) -> None:
        if thing is None or not holds(thing):
            self.admitted.pop(name, None)
        elif is_true(thing, "Evicted"):
            self.admitted.pop(name, None)
            if not owner_of(thing):
                self._give_back(name, thing)
        elif is_true(thing, "Admitted") and name not in self.admitted:
            since = self.admitted[name] = thing["metadata"]["resourceVersion"]
            self._later(SECONDS.get(thing["spec"].get("priority", 0), 0.3), name, since)

    def _later(self, seconds: float, name: str, since: str) -> None:
        heapq.heappush(self.due, (time.time() + seconds, next(self.numbers), name, since))

    def _end(self, name: str, since: str) -> None:
        thing = self.outside.seen.get(name)
        if not thing or not holds(thing) or is_true(thing, "Evicted"):
            return
        if owner_of(thing):
            self._end_pods(thing["metadata"]["namespace"], owner_of(thing))
        else:
            self._write(thing, {}, {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "played"})
        self._later(0.5, name, since)  # Until it is seen that it is over.

    def _give_back(self, name: str, thing: dict) -> None:
        gone = {"status": "False", "reason": "Pending", "message": "given back"}
        status = self._write(thing, {"admission": None}, {"type": "QuotaReserved", **gone}, {"type": "Admitted", **gone},
                             {"type": "Requeued", "status": "True", "reason": "Preempted", "message": "played"})
        if status == 409:
            return  # What is newer comes.
        if status != 200:
            time.sleep(0.05)
            self.news.put((name, self.outside.seen.get(name)))

    def _write(self, thing: dict, more: dict, *conditions: dict) -> int:
        meta, told = thing["metadata"], {c["type"] for c in conditions}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        kept = [c for c in thing["status"]["conditions"] if c["type"] not in told]
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]},
                "status": {**more, "conditions": kept + [{**c, "lastTransitionTime": now} for c in conditions]}}
        return self.client.ask("PATCH", f"{WORKLOADS.format(ns=meta['namespace'])}/{meta['name']}/status", body, PATCH)[0]

    def _end_pods(self, ns: str, job: str) -> None:
        status, listed = self.client.ask("GET", f"/api/v1/namespaces/{ns}/pods?labelSelector=job-name={job}")
        for pod in listed["items"] if status == 200 else []:
            if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] == "Pending":
                self.client.ask("PATCH", f"/api/v1/namespaces/{ns}/pods/{pod['metadata']['name']}/status",
                                {"status": {"phase": "Succeeded"}}, PATCH)


def owner_of(thing: dict) -> str:
    return next((owner["name"] for owner in thing["metadata"].get("ownerReferences", [])), "")


class Crowd:
    """Comes to all queues, in a namespace of its own, within so many seconds."""

    def __init__(self, cluster, outside, ns: str, count: int, jobs: int = 0, seconds: float = 4, seed: int = 1):
        self.cluster, self.outside, self.ns, self.count = cluster, outside, ns, count
        self.seconds, self.random, self.client = seconds, random.Random(seed), Client(cluster)
        self.jobs = set(self.random.sample(range(count), jobs))
        self.problem = ""
        self.client.insist("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
        for name in QUEUE_NAMES:
            self.client.insist("POST", f"/apis/{kinds.KUEUE}/v1beta2/namespaces/{ns}/localqueues",
                               kinds.thing("LocalQueue", name, spec={"clusterQueue": name}))
        if jobs:
            await_account(self.client.ask, ns)
        self.thread = threading.Thread(target=self._come, daemon=True)
        self.thread.start()

    def _come(self) -> None:
        began = time.time()
        try:
            for number in range(self.count):
                time.sleep(max(0.0, began + self.seconds * number / self.count - time.time()))
                self._send(number)
        except AssertionError as problem:
            self.problem = str(problem)

    def _send(self, number: int) -> None:
        cpu, priority, _, _ = self.random.choices(CLASSES, [part for *_, part in CLASSES])[0]
        in_queue = self.random.choice(QUEUE_NAMES)
        if number not in self.jobs:
            self._make(WORKLOADS.format(ns=self.ns), workload(f"one-{number}", in_queue, cpu, priority))
            return
        job = kinds.job(f"job-{number}", in_queue, cpu=str(cpu))
        job["spec"]["suspend"] = True
        self._make(f"/apis/batch/v1/namespaces/{self.ns}/jobs", job)

    def _make(self, path: str, body: dict) -> None:
        self.client.insist("POST", path, body)

    def over(self) -> int:
        return sum(is_true(each, "Finished") for name, each in list(self.outside.seen.items()) if name.startswith(self.ns + "/"))

    def wait_over(self, timeout: float = 120) -> None:
        """All have come, and all have come to their end."""
        self.thread.join(timeout=timeout)
        assert not self.thread.is_alive() and not self.problem, self.problem
        deadline = time.time() + timeout
        while self.over() < self.count:
            self.outside.check()
            assert time.time() < deadline, f"{self.ns}: {self.over()} of {self.count} are over after {timeout} s: {self.waiting()}"
            time.sleep(0.1)
        for job in self.cluster.request("GET", f"/apis/batch/v1/namespaces/{self.ns}/jobs")[1]["items"]:
            assert is_true(job, "Complete") and job["status"]["succeeded"] == 1, job

    def waiting(self) -> list[str]:
        return [f"{name} {[(c['type'], c['status'], c['message'][:80]) for c in each.get('status', {}).get('conditions', [])]}"
                for name, each in list(self.outside.seen.items())
                if name.startswith(self.ns + "/") and not is_true(each, "Finished")][:5]


class AskingCrowd(Crowd):
    """Nobody of it is suspended when it comes: a webhook does that. Who is refused because nobody answers for the webhook comes
    again until it is taken, and counts how often that was."""

    def __init__(self, cluster, outside, ns: str, *rest, **more):
        self.refused = collections.Counter()  # By the plural of what was to be made.
        self.strange: list[str] = []          # Answers that say something else.
        self.born_unsuspended: list[str] = []
        self.births = Watch(cluster, f"/apis/batch/v1/namespaces/{ns}/jobs", lambda _: None, self._see)
        super().__init__(cluster, outside, ns, *rest, **more)

    def _see(self, what: str, job: dict) -> None:
        if what == "ADDED" and not job["spec"].get("suspend"):
            self.born_unsuspended.append(job["metadata"]["name"])

    def _make(self, path: str, body: dict) -> None:
        plural, known = path.rpartition("/")[2], True
        body["spec"].pop("suspend", None)
        deadline = time.time() + 90
        while True:
            status, answer = self.client.ask("POST", path, body)
            # After a silence it may have been made all the same.
            if status == 201 or (status == 409 and not known):
                return
            known = known and status != 0
            if status == 500 and "failed calling webhook" in answer.get("message", ""):
                self.refused[plural] += 1
            elif status not in (0, 429, 503, 504):
                self.strange.append(f"{status} {answer.get('message')}")
            assert time.time() < deadline, (path, status, answer)
            time.sleep(0.05)

    def wait_over(self, timeout: float = 120) -> None:
        try:
            super().wait_over(timeout)
        finally:
            self.births.stop()
        assert not self.strange and not self.born_unsuspended, (self.strange[:5], self.born_unsuspended[:5])
