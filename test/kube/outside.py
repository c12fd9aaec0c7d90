# test/kube/outside.py - what a cluster looks like from outside: an administrator who keeps asking, and one who watches whether
# what must hold of queues holds after every change.
import collections

from client import PATCH, Client  # noqa: F401  (tests take them from here)
from conditions import condition, is_true  # noqa: F401
from watching import Watch

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"


def admission(workload: dict) -> dict:
    """Also of one that is finished: it is kept."""
    return workload.get("status", {}).get("admission") or {}


def holds(workload: dict) -> dict:
    """What a Workload holds of its queue: its admission, until it is finished."""
    return {} if is_true(workload, "Finished") else admission(workload)


def cpus(text: str) -> int:
    """In thousandths."""
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def used(admission: dict) -> int:
    return sum(cpus(each["resourceUsage"]["cpu"]) for each in admission.get("podSetAssignments", []))


def asked(workload: dict) -> int:
    return sum(pods.get("count", 1) * sum(cpus(c["resources"]["requests"]["cpu"]) for c in pods["template"]["spec"]["containers"])
               for pods in workload["spec"]["podSets"])


def times_evicted(workload: dict) -> int:
    return sum(each["count"] for each in workload.get("status", {}).get("schedulingStats", {}).get("evictions", []))


def since(workload: dict, kind: str) -> str:
    return condition(workload, kind).get("lastTransitionTime", "")


class Ledger:
    """Is told of all Workloads of a cluster. After every change: no queue and no cohort holds more than its quota, nobody is
    admitted anew who was not evicted, nobody is admitted after the end or ends twice, nobody vanishes whom nobody has deleted.

    After a gap it is told how things are, and not how they came about. The quotas hold at that moment too. Who was evicted is
    told by the count of evictions, which only grows; who was admitted anew by the admission and by since when it is so, in whole
    seconds; who ended again by since when that is so. What cannot be told: too much that was held and given back within the gap,
    and an admission that was taken back and given again, the same, within one second."""

    def __init__(self):
        self.queue_limits: dict[str, int] = {}   # By ClusterQueue, what it may hold at most with what it may borrow.
        self.cohort_of: dict[str, str] = {}
        self.cohort_limits: dict[str, int] = {}
        self.seen: dict[str, dict] = {}          # "namespace/name" to the Workload.
        self.held = collections.Counter()        # By ClusterQueue.
        self.faults: list[str] = []
        self.changes = self.admissions = self.evictions = self.finishes = self.lists = 0
        self.may_vanish: set[str] = set()        # Namespaces whose Workloads somebody deletes.
        self.told: list = []                     # Called with each change, on the watching thread.

    def know_queue(self, name: str, cpu: int, cohort: str = "", borrowing: int | None = None) -> None:
        """Its limits, before anything is in it."""
        if cohort:
            self.cohort_of[name] = cohort
            self.cohort_limits[cohort] = self.cohort_limits.get(cohort, 0) + cpu * 1000
        if not cohort or borrowing is not None:
            self.queue_limits[name] = (cpu + (borrowing or 0)) * 1000

    def listed(self, workloads: list[dict]) -> None:
        """All there are, at the beginning and after a gap."""
        self.lists += 1
        now = {self._name(each): each for each in workloads}
        for name in self.seen.keys() - now.keys():
            self._take(name, None, in_gap=True)
        for name, workload in now.items():
            if self.seen.get(name, {}).get("metadata", {}).get("resourceVersion") != workload["metadata"]["resourceVersion"]:
                self._take(name, workload, in_gap=True)
        # Not before all is known: states between are not those of one moment.
        for queue in self.queue_limits:
            self._weigh(queue, self.held[queue], self.queue_limits[queue], f"list {self.lists}")
        for cohort, limit in self.cohort_limits.items():
            self._weigh(cohort, self._held_in(cohort), limit, f"list {self.lists}")

    def changed(self, what: str, workload: dict) -> None:
        """One change, right after the one before."""
        self._take(self._name(workload), None if what == "DELETED" else workload, in_gap=False)

    @staticmethod
    def _name(workload: dict) -> str:
        return f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"

    def _take(self, name: str, workload: dict | None, in_gap: bool) -> None:
        before = self.seen.get(name, {})
        if before and workload and before["metadata"]["uid"] != workload["metadata"]["uid"]:
            self._take(name, None, in_gap)  # Another one has its name.
            before = {}
        old, new = holds(before), holds(workload or {})
        self.changes += 1
        if old:
            self.held[old["clusterQueue"]] -= used(old)
        if new:
            self.held[new["clusterQueue"]] += used(new)
        if workload is None:
            self.seen.pop(name, None)
            if name.split("/")[0] not in self.may_vanish:
                self.faults.append(f"{name} has vanished")
        else:
            self.seen[name] = workload
            self._compare(name, before, workload, in_gap)
            if new and not in_gap and used(new) > (used(old) if old.get("clusterQueue") == new["clusterQueue"] else 0):
                self._weigh_around(new["clusterQueue"], f"with {name} at {workload['metadata']['resourceVersion']}")
        for tell in list(self.told):
            tell(name, workload)

    def _compare(self, name: str, before: dict, now: dict, in_gap: bool) -> None:
        """What has become of one of them."""
        old, new = holds(before), holds(now)
        evicted = times_evicted(now) - times_evicted(before)
        was_let_go = is_true(before, "Evicted") or evicted > 0
        is_anew = bool(old and new) and (old != new or since(before, "QuotaReserved") != since(now, "QuotaReserved"))
        if new and used(new) != asked(now):
            self.faults.append(f"{name} asks for {asked(now)} and holds {used(new)}")
        if is_anew and not (in_gap and was_let_go):
            self.faults.append(f"{name} was admitted twice: {old} {new}")
        if old and not new and not is_true(now, "Finished") and not was_let_go:
            self.faults.append(f"{name} lost its admission and was not evicted")
        if is_true(before, "Finished"):
            self._compare_ends(name, before, now)
        self.admissions += bool(new) and (not old or is_anew)
        self.evictions += max(0, evicted)
        self.finishes += is_true(now, "Finished") and not is_true(before, "Finished")

    def _compare_ends(self, name: str, before: dict, now: dict) -> None:
        if not is_true(now, "Finished"):
            self.faults.append(f"{name} was finished and is not any more")
        elif condition(now, "Finished") != condition(before, "Finished"):
            self.faults.append(f"{name} ended twice: {condition(before, 'Finished')} {condition(now, 'Finished')}")
        if admission(now) and admission(now) != admission(before):
            self.faults.append(f"{name} was admitted after its end: {admission(now)}")

    def _held_in(self, cohort: str) -> int:
        return sum(self.held[queue] for queue, its in self.cohort_of.items() if its == cohort)

    def _weigh_around(self, queue: str, when: str) -> None:
        """A queue that has come to hold more, and its cohort."""
        cohort = self.cohort_of.get(queue, "")
        self._weigh(queue, self.held[queue], self.queue_limits.get(queue), when)
        self._weigh(cohort, self._held_in(cohort), self.cohort_limits.get(cohort), when)

    def _weigh(self, what: str, held: int, limit: int | None, when: str) -> None:
        if limit is not None and held > limit:
            self.faults.append(f"{what} holds {held} of {limit}, {when}")


class Outside(Ledger):
    """Keeps watching a cluster."""

    def __init__(self, cluster):
        super().__init__()
        self.cluster = cluster
        self._watch = Watch(cluster, WORKLOADS, self.listed, self.changed)

    def stop(self) -> None:
        self._watch.stop()

    def check(self) -> None:
        assert self._watch.is_alive(), "nobody watches any more"
        faults, self.faults = self.faults, []  # Told once: what comes after is judged anew.
        assert not faults, "\n".join(faults[:20])
