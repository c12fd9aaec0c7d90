# test/kube/outside.py - what a cluster looks like from outside: an administrator who keeps asking, and one who watches whether
# what must hold of queues holds after every change.
import collections

from client import PATCH, Client  # noqa: F401  (tests take them from here)
from conditions import is_true  # noqa: F401
from watching import Watch

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"


def holds(workload: dict) -> dict:
    """What a Workload holds of its queue: its admission, until it is finished."""
    return {} if is_true(workload, "Finished") else workload.get("status", {}).get("admission") or {}


def cpus(text: str) -> int:
    """In thousandths."""
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def used(admission: dict) -> int:
    return sum(cpus(each["resourceUsage"]["cpu"]) for each in admission.get("podSetAssignments", []))


def asked(workload: dict) -> int:
    return sum(pods.get("count", 1) * sum(cpus(c["resources"]["requests"]["cpu"]) for c in pods["template"]["spec"]["containers"])
               for pods in workload["spec"]["podSets"])


class Outside:
    """Watches all Workloads of a cluster. After every change: no queue and no cohort holds more than its quota, nobody is
    admitted anew who was not evicted, nobody holds anything after the end, nobody vanishes whom nobody has deleted."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.queue_limits: dict[str, int] = {}   # By ClusterQueue, what it may hold at most with what it may borrow.
        self.cohort_of: dict[str, str] = {}
        self.cohort_limits: dict[str, int] = {}
        self.seen: dict[str, dict] = {}          # "namespace/name" to the Workload.
        self.held = collections.Counter()        # By ClusterQueue.
        self.faults: list[str] = []
        self.changes = self.admissions = self.evictions = self.finishes = self.lists = 0
        self.may_vanish: set[str] = set()        # Namespaces whose Workloads somebody deletes.
        self.told: list = []                     # Called with each change, on the watching thread.
        self._watch = Watch(cluster, WORKLOADS, self._listed, self._changed)

    def know_queue(self, name: str, cpu: int, cohort: str = "", borrowing: int | None = None) -> None:
        """Its limits, before anything is in it."""
        if cohort:
            self.cohort_of[name] = cohort
            self.cohort_limits[cohort] = self.cohort_limits.get(cohort, 0) + cpu * 1000
        if not cohort or borrowing is not None:
            self.queue_limits[name] = (cpu + (borrowing or 0)) * 1000

    def stop(self) -> None:
        self._watch.stop()

    def check(self) -> None:
        assert self._watch.is_alive(), "nobody watches any more"
        assert not self.faults, "\n".join(self.faults[:20])

    def _listed(self, workloads: list[dict]) -> None:
        """Not all that came between was seen: only the new state is judged."""
        self.lists += 1
        now = {self._name(each): each for each in workloads}
        for name in self.seen.keys() - now.keys():
            self._take(name, None)
        # All at once, for states between are not those of one moment: first who holds less, then who holds more.
        for name, workload in sorted(now.items(), key=lambda item: used(holds(item[1]))):
            if self.seen.get(name, {}).get("metadata", {}).get("resourceVersion") != workload["metadata"]["resourceVersion"]:
                self._take(name, workload, is_next=False)

    def _changed(self, what: str, workload: dict) -> None:
        self._take(self._name(workload), None if what == "DELETED" else workload)

    @staticmethod
    def _name(workload: dict) -> str:
        return f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"

    def _take(self, name: str, workload: dict | None, is_next: bool = True) -> None:
        before = self.seen.get(name, {})
        old, new = holds(before), holds(workload or {})
        if workload is None:
            self.seen.pop(name, None)
            if name.split("/")[0] not in self.may_vanish:
                self.faults.append(f"{name} has vanished")
        else:
            self.seen[name] = workload
        self.changes += 1
        if old:
            self.held[old["clusterQueue"]] -= used(old)
        if new:
            self.held[new["clusterQueue"]] += used(new)
            self._judge(name, before, workload, old if is_next else new)
            if not old:
                self.admissions += 1
        if old and not new and workload and not is_true(workload, "Finished"):
            self.evictions += 1
            if is_next and not is_true(before, "Evicted") and not is_true(workload, "Evicted"):
                self.faults.append(f"{name} lost its admission and was not evicted")
        if workload and is_true(workload, "Finished") and not is_true(before, "Finished"):
            self.finishes += 1
        elif workload and is_true(before, "Finished") and not is_true(workload, "Finished"):
            self.faults.append(f"{name} was finished and is not any more")
        for tell in list(self.told):
            tell(name, workload)

    def _judge(self, name: str, before: dict, workload: dict, old: dict) -> None:
        new = holds(workload)
        if used(new) != asked(workload):
            self.faults.append(f"{name} asks for {asked(workload)} and holds {used(new)}")
        if old and old != new:
            self.faults.append(f"{name} was admitted twice: {old} {new}")
        queue = new["clusterQueue"]
        cohort = self.cohort_of.get(queue, "")
        inside = [each for each, its in self.cohort_of.items() if cohort and its == cohort]
        for what, held, limit in [(queue, self.held[queue], self.queue_limits.get(queue)),
                                  (cohort, sum(self.held[each] for each in inside), self.cohort_limits.get(cohort))]:
            if limit is not None and held > limit and not old:
                self.faults.append(f"{what} holds {held} of {limit} with {name} at {workload['metadata']['resourceVersion']}")
