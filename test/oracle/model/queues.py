"""Kueue's queues: heaps, parked workloads, and what wakes them up."""

from fractions import Fraction

from quota import Node, qty


class Pending:
    """What waits in one ClusterQueue: `heap` to be tried, `parked` until something wakes it."""

    def __init__(self):
        self.heap, self.parked, self.inflight = {}, {}, None
        self.pop_cycle, self.move_cycle = 0, -1
        self.bulk, self.sticky, self.generation = {}, None, 0


class Queues:
    """A part of Kueue."""

    def build(self, copy=False):
        nodes, cqn = {}, {}

        def cohort(n):
            if n not in nodes:
                nodes[n] = Node(n, False)
            return nodes[n]

        def quotas(groups):
            d = {}
            for g in groups or []:
                for f in g["flavors"]:
                    for r in f["resources"]:
                        v = lambda k: None if r.get(k) is None else qty(r[k], r["name"])
                        d[(f["name"].lstrip("@"), r["name"])] = (
                            v("nominalQuota"),
                            v("borrowingLimit"),
                            v("lendingLimit"),
                        )
            return d

        wt = lambda s: Fraction(str((s.get("fairSharing") or {}).get("weight", 1)))
        for n, s in self.cohorts.items():
            c = cohort(n)
            c.quotas, c.weight = quotas(s.get("resourceGroups")), wt(s)
            if s.get("parentName"):
                c.parent = cohort(s["parentName"].lstrip("@"))
        for n, s in self.cqs.items():
            c = cqn[n] = Node(n, True)
            c.quotas, c.weight = quotas(s["resourceGroups"]), wt(s)
            if s.get("cohortName"):
                c.parent = cohort(s["cohortName"].lstrip("@"))
        for c in list(nodes.values()) + list(cqn.values()):
            if c.parent is not None:
                c.parent.kids.append(c)

        def settle(c):
            for fr, (n, b, l) in c.quotas.items():
                c.subtree[fr] = c.subtree.get(fr, 0) + n
            for k in c.kids:
                settle(k)
                for fr in k.subtree:
                    c.subtree[fr] = c.subtree.get(fr, 0) + k.subtree[fr] - k.local(fr)

        for c in list(nodes.values()) + list(cqn.values()):
            if c.parent is None:
                settle(c)
        for n, ws in self.cache.items():
            for w in ws.values():
                for fr, v in w.usage().items():
                    cqn[n].add(fr, v)
        return nodes, cqn

    def tree_of(self, n):
        nodes, cqn = self.build()
        c = cqn[n]
        return [n] if c.parent is None else [k.name for k in c.root().cqs()]

    def cq_active(self, n):
        s = self.cqs[n]
        if s.get("stopPolicy", "None") != "None":
            return False
        return all(
            f["name"].lstrip("@") in self.flavors for g in s["resourceGroups"] for f in g["flavors"]
        )

    def notify(self, cqn):
        names = self.tree_of(cqn)
        key = tuple(sorted(names))
        if key in self.timers:
            return
        self.timers[key] = True

        def fire():
            self.timers.pop(key, None)
            for n in names:
                self.move(n)
            self.wake()

        self.at(self.batch + self.rng.uniform(0, 0.3), fire)

    def move(self, n):
        Q = self.pending.get(n)
        if Q is None:
            return
        Q.move_cycle = Q.pop_cycle
        Q.bulk = {}
        keep = {}
        for k, w in Q.parked.items():
            if not self.ns_ok(n) or w.requeued is False:
                keep[k] = w
            else:
                Q.heap.setdefault(k, w)
        Q.parked = keep

    def ns_ok(self, n):
        sel = self.cqs[n].get("namespaceSelector") or {}
        return all(self.nstags.get(k) == v for k, v in (sel.get("matchLabels") or {}).items())

    def push(self, w):
        lq = w.queue
        if lq in self.stop_lq or not w.active:
            return
        n = self.lqs[lq]
        Q = self.pending[n]
        if Q.inflight is w:
            return
        if w.name in Q.parked:
            del Q.parked[w.name]
        if w.name not in Q.heap and w.requeued is False:
            Q.parked[w.name] = w
            return
        if self.best_effort(n) and w.name not in Q.heap and w.hash() in Q.bulk:
            Q.parked[w.name] = w
            return
        Q.heap[w.name] = w
        self.wake()

    def best_effort(self, n):
        return self.cqs[n].get("queueingStrategy", "BestEffortFIFO") == "BestEffortFIFO"

    def drop(self, w):
        Q = self.pending[self.lqs[w.queue]]
        Q.heap.pop(w.name, None)
        Q.parked.pop(w.name, None)
        if Q.inflight is w:
            Q.inflight = None
        if Q.sticky is w:
            Q.sticky = None

    def requeue(self, n, w, reason):
        if (
            w.deleted
            or w.admission is not None
            or not w.active
            or w.finished
            or w.queue in self.stop_lq
        ):
            return
        Q = self.pending[n]
        Q.inflight = None
        if reason == "PendingPreemption":
            Q.sticky = w
        elif Q.sticky is w:
            Q.sticky = None
        be = self.best_effort(n)
        now = (
            (reason != "NamespaceMismatch")
            if not be
            else reason in ("FailedAfterNomination", "PendingPreemption")
        )
        pend = w.last is not None and any(x != -1 for d in w.last[0] for x in d.values())
        if w.requeued is not False and (now or Q.move_cycle >= Q.pop_cycle or pend):
            Q.parked.pop(w.name, None)
            Q.heap.setdefault(w.name, w)
            return
        if w.name in Q.parked or w.name in Q.heap:
            return
        Q.parked[w.name] = w
        if reason in ("NoFit", "NoCandidates") and be:
            h = w.hash()
            Q.bulk[h] = True
            for k, x in list(Q.heap.items()):
                if x.hash() == h:
                    Q.parked[k] = Q.heap.pop(k)
