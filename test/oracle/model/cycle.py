"""The snapshot of one scheduling cycle: flavors, victims, partial admission."""

from preemption import Preempting
from quota import lowest_height
from workloads import flavor_ok

INF = 1 << 62

NOFIT, NOCAND, PREEMPT, RECLAIM, FIT = range(5)


def fnv(s):
    h = 0xCBF29CE484222325
    for c in s.encode():
        h = ((h ^ c) * 0x100000001B3) & (2**64 - 1)
    return h


class Assignment:
    """Flavors for a workload: per pod set (count, {resource: (flavor, mode, borrowing level)})."""

    def __init__(self):
        self.pods, self.usage, self.borrow, self.state, self.mode, self.modes = (
            [],
            {},
            0,
            [],
            FIT,
            [],
        )

    def contested(self):
        return {(f, r) for n, fl in self.pods for r, (f, m, b) in fl.items() if m != FIT}


class Cycle(Preempting):
    """The snapshot of one scheduling cycle and what is computed on it."""

    def __init__(self, k):
        self.k = k
        self.nodes, self.cq = k.build(copy=True)
        self.spec = {n: k.cqs[n] for n in k.cqs}
        holders = {n: {w.name: w for w in k.cache.get(n, {}).values()} for n in k.cqs}
        # A queue that is not active counts with what it uses, but its workloads are not there.
        self.wls = {n: d if k.cq_active(n) else {} for n, d in holders.items()}
        self.evicted = {
            w.name for d in holders.values() for w in d.values() if w.evicted or w.pending_eviction
        }
        self.use = {w.name: w.usage() for d in holders.values() for w in d.values()}

    def take_out(self, w):
        del self.wls[w.cq][w.name]
        for fr, v in self.use[w.name].items():
            self.cq[w.cq].remove(fr, v)

    def put_back(self, w):
        self.wls[w.cq][w.name] = w
        for fr, v in self.use[w.name].items():
            self.cq[w.cq].add(fr, v)

    def assign(self, w, cqn, counts=None, pin=None):
        spec = self.spec[cqn]
        groups = spec["resourceGroups"]
        rg_of = {r: i for i, g in enumerate(groups) for r in g["coveredResources"]}
        a = Assignment()
        reqs = w.requests(counts, "pods" in rg_of)
        fung = spec.get("flavorFungibility") or {}
        for i, p in enumerate(w.pods):
            n = (p.count if counts is None else counts[i]) - w.live(i)
            flavors, fail, reasons = {}, False, False
            for r in sorted(reqs[i], key=fnv):
                if r not in rg_of:
                    if reqs[i][r] == 0:
                        continue
                    fail = True
                    break
                if r in flavors:
                    continue
                best = self.find(
                    w,
                    cqn,
                    i,
                    p,
                    groups[rg_of[r]],
                    {x: v for x, v in reqs[i].items() if rg_of.get(x) == rg_of[r]},
                    r,
                    a,
                    fung,
                    pin,
                )
                if not best:
                    fail = True
                    break
                flavors.update(best[0])
                reasons = reasons or best[1] != FIT
            if fail:
                flavors = {}
            a.pods.append((n, {r: (f, m, b) for r, (f, m, b, t) in flavors.items()}))
            for r, (f, m, b, t) in flavors.items():
                a.borrow = max(a.borrow, b)
                a.usage[(f, r)] = a.usage.get((f, r), 0) + reqs[i][r]
            a.state.append({r: t for r, (f, m, b, t) in flavors.items()})
            if not reasons and not fail:
                a.modes.append(FIT)
            else:
                a.modes.append(
                    min([FIT] + [PREEMPT if m != FIT else FIT for f, m, b, t in flavors.values()])
                )
            if fail or (reqs[i] and not flavors and any(x in rg_of for x in reqs[i])):
                a.mode = NOFIT
                return a
        a.mode = min([FIT] + a.modes)
        return a

    def find(self, w, cqn, i, p, group, reqs, first, a, fung, pin):
        fl = group["flavors"]
        idx = 0
        if w.last is not None and i < len(w.last[0]) and first in w.last[0][i]:
            idx = w.last[0][i][first] + 1
        best, bm, tried = None, (NOFIT, INF), -1
        pref = fung.get("preference")

        def better(x, y):
            if x[0] == NOFIT:
                return False
            if y[0] == NOFIT:
                return True
            if (x[0] == NOCAND) != (y[0] == NOCAND):
                return x[0] != NOCAND
            if pref == "PreemptionOverBorrowing":
                return x[1] < y[1] if x[1] != y[1] else x[0] > y[0]
            return x[0] > y[0] if x[0] != y[0] else x[1] < y[1]

        while idx < len(fl):
            tried = idx
            f = fl[idx]["name"].lstrip("@")
            idx += 1
            if pin is not None and pin[i].get(first) != f:
                continue
            fs = self.k.flavors.get(f)
            if fs is None or not flavor_ok(fs, p):
                continue
            rep, got = (FIT, 0), {}
            for r in sorted(reqs, key=fnv):
                m, b = self.fits(w, cqn, (f, r), a.usage.get((f, r), 0), reqs[r])
                if better(rep, (m, b)):
                    rep = (m, b)
                if rep[0] == NOFIT:
                    continue
                got[r] = [f, m, b, 0]
            nxt = (
                rep[0] in (NOFIT, NOCAND)
                or (
                    rep[0] in (PREEMPT, RECLAIM)
                    and fung.get("whenCanPreempt", "TryNextFlavor") == "TryNextFlavor"
                )
                or (rep[1] != 0 and fung.get("whenCanBorrow", "MayStopSearch") == "TryNextFlavor")
            )
            if not nxt:
                best, bm = got, rep
                break
            if better(rep, bm):
                best, bm = got, rep
        if best is None:
            return None
        for v in best.values():
            v[3] = -1 if tried == len(fl) - 1 else tried
        return {r: tuple(v) for r, v in best.items()}, bm[0]

    def fits(self, w, cqn, fr, assumed, req):
        cq = self.cq[cqn]
        val = assumed + req
        if val > cq.potential(fr):
            return NOFIT, 0
        b, may = lowest_height(cq, fr, val)
        if val <= max(0, cq.available(fr)):
            return FIT, b
        policy = self.policy(cqn)
        bwc = policy["borrow"] or (self.k.fair and policy["reclaim"] != "Never")
        if cq.nominal(fr) >= val or may or bwc:
            t = self.targets(w, cqn, {fr: val}, {fr})
            if not t:
                return NOCAND, lowest_height(cq, fr, val)[0]
            for x, _ in t:
                self.take_out(x)
            h = lowest_height(cq, fr, val)[0]
            for x, _ in t:
                self.put_back(x)
            return (PREEMPT if any(x.cq == cqn for x, _ in t) else RECLAIM), h
        return NOFIT, b

    def policy(self, cqn):
        p = self.spec[cqn].get("preemption") or {}
        b = p.get("borrowWithinCohort") or {}
        return {
            "within": p.get("withinClusterQueue", "Never"),
            "reclaim": p.get("reclaimWithinCohort", "Never"),
            "borrow": b.get("policy", "Never") != "Never",
            "thr": b.get("maxPriorityThreshold"),
        }

    def evaluate(self, w, cqn, pin=None):
        a = self.assign(w, cqn, None, pin)
        if a.mode == FIT:
            return a, []
        if a.mode == PREEMPT:
            t = self.targets(w, cqn, a.usage, a.contested())
            if t:
                return a, t
        if any(p.min < p.count for p in w.pods):
            slack = sum(p.count - p.min for p in w.pods)

            def probe(x):
                counts = [p.count - (p.count - p.min) * x // slack for p in w.pods]
                b = self.assign(w, cqn, counts, pin)
                if b.mode == FIT:
                    return b, []
                if b.mode == PREEMPT:
                    t = self.targets(w, cqn, b.usage, b.contested())
                    if t:
                        return b, t
                return None

            lo, hi, best = 0, slack + 1, None
            while lo < hi:
                m = (lo + hi) // 2
                r = probe(m) if m <= slack else None
                if m > slack:
                    break
                if r:
                    best, hi = r, m
                else:
                    lo = m + 1
            if best:
                return best
        return a, []
