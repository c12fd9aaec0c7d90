# test/kube/test_outside.py - who watches from outside sees what is wrong, also when it came about while nobody looked: made-up
# histories, without a server.
import copy
import itertools

import pytest

from conditions import condition
from outside import Ledger

QUEUES = {"alone": (4, ""), "left": (3, "pair"), "right": (3, "pair")}  # Each of a pair may borrow two.


class History:
    """What happens to Workloads. A ledger is told of so many steps one by one, and of the others only what is there at the end."""

    def __init__(self, seen: int | None = None):
        self.ledger, self.things = Ledger(), {}
        self.seconds = itertools.count(10)
        self.steps, self.seen = 0, seen
        self.in_gap = False
        for name, (cpu, cohort) in QUEUES.items():
            self.ledger.know_queue(name, cpu, cohort, 2 if cohort else None)
        self.ledger.listed([])

    def happens(self, name: str, what: str) -> None:
        thing = self.things[name]
        if self.steps == self.seen:
            self.in_gap = True
        self.steps += 1
        thing["metadata"]["resourceVersion"] = str(self.steps)
        if not self.in_gap:
            self.ledger.changed(what, copy.deepcopy(thing))

    def gap_ends(self) -> None:
        self.in_gap = False
        self.ledger.listed(copy.deepcopy(list(self.things.values())))

    def say(self, name: str, kind: str, is_so: bool) -> None:
        said = self.things[name]["status"]["conditions"]
        if condition(self.things[name], kind).get("status") != str(is_so):
            said[:] = [each for each in said if each["type"] != kind]
            said.append({"type": kind, "status": str(is_so), "lastTransitionTime": f"12:00:{next(self.seconds)}"})

    def comes(self, name: str, cpu: int = 1) -> None:
        container = {"resources": {"requests": {"cpu": str(cpu)}}}
        self.things[name] = {
            "metadata": {"namespace": "ns", "name": name, "uid": f"uid-{self.steps}"},
            "spec": {"podSets": [{"count": 1, "template": {"spec": {"containers": [container]}}}]}, "status": {"conditions": []}}
        self.happens(name, "ADDED")

    def goes(self, name: str) -> None:
        self.happens(name, "DELETED")
        del self.things[name]

    def is_admitted(self, name: str, queue: str = "alone", cpu: str = "") -> None:
        thing = self.things[name]
        requests = thing["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]
        thing["status"]["admission"] = {"clusterQueue": queue, "podSetAssignments": [{"resourceUsage": {"cpu": cpu or requests["cpu"]}}]}
        self.say(name, "Evicted", False)
        self.say(name, "QuotaReserved", True)
        self.happens(name, "MODIFIED")

    def is_evicted(self, name: str) -> None:
        self.say(name, "Evicted", True)
        evictions = self.things[name]["status"].setdefault("schedulingStats", {}).setdefault("evictions", [])
        evictions.append({"reason": f"Reason{len(evictions)}", "count": 1})
        self.happens(name, "MODIFIED")

    def gives_back(self, name: str) -> None:
        del self.things[name]["status"]["admission"]
        self.say(name, "QuotaReserved", False)
        self.happens(name, "MODIFIED")

    def ends(self, name: str, is_so: bool = True) -> None:
        self.say(name, "Finished", is_so)
        self.happens(name, "MODIFIED")

    def told(self, words: str) -> list[str]:
        """Of whom it was said."""
        return [fault.partition(words)[0].strip() for fault in self.ledger.faults if words in fault]


LIFE = ["comes", "is_admitted", "is_evicted", "gives_back", "is_admitted", "is_evicted", "gives_back", "is_admitted", "ends"]


def life(history: History, name: str) -> None:
    for step in LIFE:
        getattr(history, step)(name)


@pytest.fixture
def history():
    return History()


def test_nothing_is_said_of_what_goes_right(history):
    for number in range(6):
        life(history, f"one-{number}")
    for number in range(4):
        history.comes(f"full-{number}")
        history.is_admitted(f"full-{number}")
    for number in range(2):
        history.comes(f"pair-{number}", 3)
        history.is_admitted(f"pair-{number}", ("left", "right")[number])
    assert not history.ledger.faults
    assert history.ledger.held == {"alone": 4000, "left": 3000, "right": 3000}
    assert (history.ledger.admissions, history.ledger.evictions, history.ledger.finishes) == (24, 12, 6)


def test_nothing_is_said_of_what_may_have_gone_right_in_a_gap(history):
    """From each moment of a life to each later one, in one gap."""
    for number, (first, last) in enumerate(itertools.combinations(range(len(LIFE) + 1), 2)):
        name = f"one-{number}"
        for at, step in enumerate(LIFE):
            history.in_gap = history.in_gap or at == first
            if at == last:
                history.gap_ends()
            getattr(history, step)(name)
        if last == len(LIFE):
            history.gap_ends()
    assert not history.ledger.faults
    assert history.ledger.held["alone"] == 0 and history.ledger.evictions == 2 * history.ledger.finishes > 0
    history.in_gap = True
    history.ledger.may_vanish.add("ns")
    for name in list(history.things):
        history.goes(name)
    history.gap_ends()
    assert not history.ledger.faults and not history.ledger.seen


def over_quota(history):
    for name in ("first", "second"):
        history.comes(name, 3)
        history.is_admitted(name)


def over_the_quota_of_a_cohort(history):
    for name, cpu, queue in [("first", 5, "left"), ("second", 2, "right")]:
        history.comes(name, cpu)
        history.is_admitted(name, queue)


def over_what_may_be_borrowed(history):
    history.comes("one", 6)
    history.is_admitted("one", "left")


def more_than_was_asked_for(history):
    history.comes("one")
    history.is_admitted("one", cpu="2")


def lost(history):
    history.comes("one")
    history.goes("one")


def lost_and_made_anew(history):
    history.comes("one")
    history.goes("one")
    history.comes("one")


def stripped(history):
    history.comes("one")
    history.is_admitted("one")
    history.gives_back("one")


def stripped_and_given_the_same(history):
    stripped(history)
    history.is_admitted("one")


def given_two(history):
    history.comes("one")
    history.is_admitted("one")
    history.is_admitted("one", "left")


def admitted_after_the_end(history):
    life(history, "one")
    history.is_admitted("one", "left")


def ended_and_back(history):
    life(history, "one")
    history.ends("one", False)


def ended_twice(history):
    ended_and_back(history)
    history.ends("one")


# What is said of it in which gaps: by how many steps must have been seen before, and how many must come in the gap or not at all.
WRONG = [
    (over_quota, "alone holds 6000 of 4000", 0, 0), (over_the_quota_of_a_cohort, "pair holds 7000 of 6000", 0, 0),
    (over_what_may_be_borrowed, "left holds 6000 of 5000", 0, 0), (more_than_was_asked_for, "asks for 1000 and holds 2000", 0, 0),
    (lost, "has vanished", 1, 0), (lost_and_made_anew, "has vanished", 1, 0),
    (stripped, "lost its admission and was not evicted", 2, 0), (stripped_and_given_the_same, "was admitted twice", 2, 2),
    (given_two, "was admitted twice", 2, 0), (admitted_after_the_end, "was admitted after its end", len(LIFE), 0),
    (ended_and_back, "was finished and is not any more", len(LIFE), 0), (ended_twice, "ended twice", len(LIFE), 2)]


@pytest.mark.parametrize("wrong, words, before, within", WRONG, ids=[each[0].__name__ for each in WRONG])
def test_what_is_wrong_is_told_whether_it_was_seen_or_not(history, wrong, words, before, within):
    """As long as a trace of it is left: of what is seen step by step, each step is judged."""
    wrong(history)
    assert history.ledger.faults
    assert within or history.told(words)
    for seen in range(history.steps):
        one = History(seen)
        wrong(one)
        one.gap_ends()
        assert bool(one.told(words)) == (before <= seen <= history.steps - within), (seen, one.ledger.faults)


def test_too_much_is_told_again_at_each_list(history):
    over_quota(history)
    history.gap_ends()
    history.gap_ends()
    assert [fault.partition(",")[0] for fault in history.ledger.faults] == ["alone holds 6000 of 4000"] * 3
