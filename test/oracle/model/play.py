"""Plays scenarios of the oracle on a model of Kueue's queues and scheduler in virtual time.

Written from what Kueue's source says, apart from Muster's own code: two independent readings of the
same rules. Topologies, admission checks and fair sharing of admissions are not in it.

    python3 play.py CASES.json                   against recorded outcomes
    python3 play.py SCENARIOS.json RESULTS.json  against results of `oracle_test --out`

Each scenario is played with Kueue's wake-up delay at 100 ms and at 1 ms. Where the two differ the
outcome is chance, and nothing is compared, as in the recordings.
"""

import heapq
import itertools
import json
import random
import sys

from events import Events
from queues import Queues
from scheduler import Scheduler


class Stop(Exception):
    """A scenario that does not come to rest."""


class Kueue(Queues, Scheduler, Events):
    def __init__(self, sc, batch, seed):
        self.sc, self.batch = sc, batch
        self.rng = random.Random(seed)
        self.fair = sc["variant"] == "fair"
        self.now, self.q, self.seq = 0.0, [], itertools.count()
        self.flavors, self.cohorts, self.cqs, self.lqs, self.pending = {}, {}, {}, {}, {}
        self.cache, self.wl, self.pushed = {}, {}, 0
        self.cycle, self.timers = 0, {}
        self.busy, self.blocked = False, True
        self.last_change = 0.0
        self.stop_lq = set()
        self.uid = itertools.count()
        self.delay = 1.0
        self.nstags = (sc.get("namespaces") or {"@ns": {}}).get("@ns", {})
        self.evictions = 0
        self.wantmsg = None

    def at(self, dt, fn, *a):
        heapq.heappush(self.q, (self.now + dt, next(self.seq), fn, a))

    def net(self):
        return self.rng.uniform(0.5, 3.0)

    def run_to_rest(self, quiet):
        self.last_change = self.now
        while self.q:
            if self.q[0][0] > self.last_change + quiet:
                break
            self.now, _, fn, a = heapq.heappop(self.q)
            fn(*a)
        self.now = max(self.now, self.last_change + quiet)

    def changed(self):
        self.last_change = self.now

    def settle(self, quiet):
        while True:
            self.run_to_rest(quiet)
            ev = sorted(
                w.name
                for w in self.wl.values()
                if w.evicted and w.admission is not None and not w.finished
            )
            if not ev:
                return
            self.clear(self.wl[ev[0]])
            if self.evictions > 40:
                raise Stop("too many evictions")
            self.run_to_rest(300)

    def act(self, a, picks):
        do = a["do"]
        if do == "apply":
            return self.apply(a["obj"])
        if do == "create":
            return self.create(a["wl"])
        if do == "patch":
            return self.patch(a)
        if "wl" in a:
            names = [a["wl"]]
        else:
            names = [
                x
                for x in a["of"]
                if x in self.wl
                and self.wl[x].admission is not None
                and not self.wl[x].finished
                and not self.wl[x].evicted
            ][: a.get("n", 1)]
            picks.append(names)
        for x in names:
            w = self.wl.get(x)
            if w is None:
                continue
            if do == "finish":
                self.finish(w)
            elif do == "delete":
                self.delete(w)
            elif do == "active":
                self.active(w, a["value"])
            elif do == "priority":
                self.priority(w, a["value"])
            elif do == "reclaim":
                self.reclaimed(w, a["podSet"], a["count"])

    def row(self, w):
        if w.finished:
            s = "finished"
        elif not w.active:
            s = "inactive" if w.admission is None else "inactive-holding"
        elif w.evicted:
            s = "evicting" if w.admission is not None else "evicted-pending"
        elif w.admission is not None:
            s = "admitted"
        else:
            s = "pending"
        r = {"s": s}
        if w.admission is not None and not w.finished:
            r["q"] = w.cq
            r["ps"] = {
                w.pods[i].name: {"n": k - w.live(i) if False else k, "f": dict(sorted(fl.items()))}
                for i, (k, fl) in enumerate(w.admission)
            }
        if w.ev:
            r["ev"] = w.ev
        if w.lp:
            r["lp"] = w.lp
        return r

    def play(self):
        quiet = 700 if self.batch > 50 else 250
        for o in self.sc["objects"]:
            self.apply(o)
        self.run_to_rest(quiet)
        out = {"id": self.sc["id"], "steps": []}
        try:
            for st in self.sc["steps"]:
                picks = []
                for i, a in enumerate(st["actions"]):
                    self.act(a, picks)
                    if st["mode"] == "seq":
                        self.settle(max(quiet, 1000 * st.get("spacing", 0)))
                    else:
                        self.run_to_rest(self.rng.uniform(0, 8))
                self.settle(quiet)
                step = {"wl": {n: self.row(w) for n, w in self.wl.items()}}
                if picks:
                    step["picks"] = picks
                out["steps"].append(step)
        except Stop as x:
            out["unsettled"] = str(x)
        return out


def core(step):
    d = {}
    for n, w in step["wl"].items():
        d[n] = (
            w["s"],
            w.get("q"),
            json.dumps(
                {k: (v["n"], v["f"]) for k, v in sorted((w.get("ps") or {}).items())},
                sort_keys=True,
            ),
        )
    return d


def unpacked(packed):
    """The outcome after each step, whole: rows that did not change are left out in the files."""
    rows, steps = {}, []
    for entry in packed:
        rows = dict(rows, **entry.get("wl", {}))
        for name in (entry.get("gone") or {}).get("wl", []):
            rows.pop(name, None)
        steps.append({"wl": rows})
    return steps


def expected_of(scenario, results):
    if results is not None:
        return results[scenario["id"]]
    return {"steps": unpacked(scenario["outcome"])}


def compare(scenario, expected):
    """ "equal", "chance", "unsettled", or the first difference."""
    runs = [
        Kueue(scenario, delay, seed).play() for delay, seed in ((100, 1), (1, 2), (100, 3), (1, 4))
    ]
    if any("unsettled" in run for run in runs) or "unsettled" in expected:
        return "unsettled"
    outcomes = [[core(step) for step in run["steps"]] for run in runs]
    if any(outcome != outcomes[0] for outcome in outcomes):
        return "chance"
    for number, (want, have) in enumerate(zip(expected["steps"], outcomes[0])):
        given = core(want)
        for name in sorted(set(given) | set(have)):
            if given.get(name) != have.get(name):
                return "step %d %s: model %s, other %s" % (
                    number,
                    name,
                    have.get(name),
                    given.get(name),
                )
    return "equal"


def main():
    with open(sys.argv[1]) as file:
        scenarios = json.load(file)["scenarios"]
    results = None
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as file:
            results = {r["id"]: r for r in json.load(file)["results"]}
    counts = {}
    for scenario in scenarios:
        if scenario["variant"] == "tas":
            continue
        said = compare(scenario, expected_of(scenario, results))
        kind = said if said in ("equal", "chance", "unsettled") else "different"
        family = counts.setdefault(scenario["family"], {})
        family[kind] = family.get(kind, 0) + 1
        if kind == "different":
            print(scenario["id"], said, flush=True)
    for family, by_kind in counts.items():
        print("%-16s %s" % (family, by_kind))
    return any("different" in by_kind for by_kind in counts.values())


if __name__ == "__main__":
    sys.exit(main())
