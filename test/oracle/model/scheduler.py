"""Cycles: heads, nominations, their order, and what becomes of each."""

from cycle import FIT, NOFIT, PREEMPT, Cycle
from quota import Share


class Scheduler:
    """A part of Kueue."""

    def wake(self):
        if self.blocked and not self.busy:
            self.blocked, self.busy = False, True
            self.at(0.05, self.schedule)

    def schedule(self):
        heads = []
        for n in sorted(self.cqs):
            if not self.cq_active(n):
                continue
            Q = self.pending[n]
            Q.pop_cycle += 1
            if not Q.heap:
                continue
            be = self.best_effort(n)
            w = min(
                Q.heap.values(), key=lambda w: (not (be and Q.sticky is w), -w.prio, w.t, w.uid)
            )
            del Q.heap[w.name]
            Q.inflight = w
            heads.append((n, w))
        if not heads:
            self.busy, self.blocked = False, True
            return
        self.cycle += 1
        c = Cycle(self)
        entries, cost, success = [], self.rng.uniform(0.5, 1.5), False
        out = []
        for n, w in heads:
            if w.admission is not None:
                self.pending[n].inflight = None
                continue
            if not self.ns_ok(n):
                out.append((n, w, "NamespaceMismatch", "ns"))
                continue
            self.outdated(w, n)
            a, t = c.evaluate(w, n)
            entries.append([n, w, a, t])
            w.last = (a.state, self.pending[n].generation, self.cycle)
        gone = {}
        res = {}
        for e in self.iterate(c, entries):
            res[e[1].name] = self.process(c, e, gone)
            if res[e[1].name] == "admitted":
                success = True
        for n, w, a, t in entries:
            r = res[w.name]
            if r == "admitted":
                continue
            self.at(cost, self.requeue_at, n, w, r)
            msg = (r, a.mode, repr(a.pods))
            if w.msg != msg:
                cost += self.rng.uniform(1.5, 5)
            w.msg = msg
            if r == "PendingPreemption":
                cost += self.rng.uniform(3, 8)
        for n, w, r, m in out:
            self.at(cost, self.requeue_at, n, w, r)
        self.delay = 1.0 if success else min(10.0, self.delay * 2)
        self.at(cost + (0.1 if success else self.delay), self.schedule)

    def requeue_at(self, n, w, r):
        self.requeue(n, w, r)

    def outdated(self, w, n):
        if w.last is None:
            return
        st, gen, cyc = w.last
        if self.pending[n].generation > gen and self.cycle - cyc > 1:
            w.last = None

    def iterate(self, c, entries):
        if not self.fair:
            for e in sorted(entries, key=lambda e: (e[2].borrow, -e[1].prio, e[1].t)):
                yield e
            return
        left = {e[0]: e for e in entries}
        while left:
            n = min(left)
            cq = c.cq[n]
            if cq.parent is None:
                yield left.pop(n)
                continue
            drs = {}
            root = cq.root()
            for k in root.cqs():
                if k.name not in left:
                    continue
                e = left[k.name]
                for fr, v in e[2].usage.items():
                    k.add(fr, v)
                d = Share(k)
                for anc in k.path():
                    drs[(anc.name, k.name)] = d
                    d = Share(anc)
                for fr, v in e[2].usage.items():
                    k.remove(fr, v)

            def less(a, b, co):
                da, db = drs[(co, a[0])], drs[(co, b[0])]
                on = lambda d, e: any(e[2].usage.get(fr, 0) > 0 for fr in d.borrowed)
                x, y = on(da, a), on(db, b)
                if x != y:
                    return y
                k = da.cmp(db)
                if k:
                    return k < 0
                if a[1].prio != b[1].prio:
                    return a[1].prio > b[1].prio
                return a[1].t < b[1].t

            def run(co):
                cs = [x for x in (run(k) for k in co.cohorts()) if x]
                cs += [left[k.name] for k in co.kids if k.is_cq and k.name in left]
                if not cs:
                    return None
                b = cs[0]
                for x in cs[1:]:
                    if less(x, b, co.name):
                        b = x
                return b

            e = run(root)
            del left[e[0]]
            yield e

    def fits(self, c, n, usage, gone, targets):
        ws = {w.name: w for w in list(gone.values()) + [t for t, _ in targets]}
        for w in ws.values():
            c.take_out(w)
        ok = all(v <= max(0, c.cq[n].available(fr)) for fr, v in usage.items())
        for w in ws.values():
            c.put_back(w)
        return ok

    def process(self, c, e, gone):
        n, w, a, t = e
        cq = c.cq[n]
        deferred = False
        if a.mode != NOFIT and any(x.name in gone for x, _ in t):
            pin = [{r: f for r, (f, m, b) in fl.items()} for k, fl in a.pods]
            w.last = None
            for x in gone.values():
                c.take_out(x)
            a, t = c.evaluate(w, n, pin)
            for x in gone.values():
                c.put_back(x)
            w.last = (a.state, self.pending[n].generation, self.cycle)
            e[2], e[3] = a, t
            deferred = a.mode == FIT
        if a.mode == NOFIT:
            return "NoFit"
        if a.mode == PREEMPT and not t:
            if c.policy(n)["reclaim"] != "Any":
                for fr, v in a.usage.items():
                    q = cq.quotas.get(fr, (0, None, None))
                    if a.borrow > 0:
                        if q[1] is not None:
                            v = min(v, q[0] + q[1] - cq.used(fr))
                    else:
                        v = max(0, min(v, q[0] - cq.used(fr)))
                    cq.add(fr, v)
            return "NoCandidates"
        if deferred:
            for fr, v in a.usage.items():
                cq.add(fr, v)
            w.last = None
            return "PendingPreemption"
        if not self.fits(c, n, a.usage, gone, t):
            return "FailedAfterNomination"
        for x, _ in t:
            gone[x.name] = x
        for fr, v in a.usage.items():
            cq.add(fr, v)
        if a.mode == PREEMPT:
            w.last = None
            for x, why in t:
                if x.name in c.evicted or x.pending_eviction:
                    continue
                x.pending_eviction = True
                self.at(self.net(), self.set_evicted, x, "Preempted", why)
            return "PendingPreemption"
        # admitted: assumed at once
        live = self.wl.get(w.name)
        if live is not w or w.deleted or not w.active:
            return "NoFit"
        w.admission = [(k, {r: f for r, (f, m, b) in fl.items()}) for k, fl in a.pods]
        # counts of the admission are whole pods, reclaimable ones included
        w.admission = [(k + w.live(i), fl) for i, (k, fl) in enumerate(w.admission)]
        w.cq = n
        w.reserved_at = self.now // 1000
        w.evicted = w.preempted = None
        w.last = None
        self.cache.setdefault(n, {})[w.name] = w
        self.pending[n].inflight = None
        if self.pending[n].sticky is w:
            self.pending[n].sticky = None
        self.changed()
        return "admitted"
