"""What the controllers do when an object changes."""

from queues import Pending
from workloads import Workload


class Events:
    """A part of Kueue."""

    def set_evicted(self, w, reason, why=None):
        w.pending_eviction = False
        if w.admission is None and reason == "Preempted":
            return
        if w.finished or w.deleted:
            return
        w.evicted, w.preempted = reason, why
        self.changed()

    def clear(self, w):
        if w.preempted:
            w.lp = w.preempted
        w.ev += 1
        self.evictions += 1
        reason = w.evicted
        w.requeued = reason in ("Preempted", "NodeFailures")
        self.uncache(w)
        w.admission = None
        self.changed()
        self.push(w)

    def uncache(self, w):
        n = w.cq
        self.cache.get(n, {}).pop(w.name, None)
        self.pending[n].generation += 1
        if w.queue in self.stop_lq:
            return
        self.notify(n)

    def create(self, w):
        x = Workload(w, self.now // 1000, next(self.uid))
        self.wl[x.name] = x
        self.changed()
        self.at(self.net(), self.push, x)

    def finish(self, w):
        if w.finished:
            return
        w.finished = True
        self.changed()
        if w.admission is not None:
            self.at(self.net(), self.uncache, w)
        else:
            self.at(self.net(), self.drop, w)

    def delete(self, w):
        w.deleted = True
        self.wl.pop(w.name, None)
        self.changed()

        def gone():
            self.drop(w)
            if w.admission is not None:
                self.uncache(w)

        self.at(self.net(), gone)

    def apply(self, o):
        k, n, s = o["kind"], o["name"].lstrip("@"), o.get("spec") or {}
        if k == "ResourceFlavor":
            self.flavors[n] = s

            def f():
                for c in self.cqs:
                    self.notify(c)
                self.wake()

            self.at(self.net(), f)
        elif k == "Cohort":
            self.cohorts[n] = s
        elif k == "ClusterQueue":
            self.cqs[n] = s
            self.pending[n] = Pending()
            self.cache.setdefault(n, {})
        elif k == "LocalQueue":
            self.lqs[n] = s["clusterQueue"].lstrip("@")

    def patch(self, a):
        k, n, p = a["kind"], a["name"].lstrip("@"), a["patch"]["spec"]
        self.changed()
        if k == "Cohort":
            self.cohorts[n] = dict(self.cohorts[n], **p)

            def f():
                nodes, cqn = self.build()
                if n in nodes:
                    for c in nodes[n].root().cqs():
                        self.pending[c.name].generation += 1
                        self.notify(c.name)

            self.at(self.net(), f)
        elif k == "ClusterQueue":
            old = self.cqs[n]
            was = self.cq_active(n)
            s = dict(old)
            for key, v in p.items():
                if isinstance(v, dict) and isinstance(s.get(key), dict):
                    s[key] = dict(s[key], **v)
                else:
                    s[key] = v
            self.cqs[n] = s

            def f():
                for c in self.tree_of(n):
                    self.pending[c].generation += 1
                self.notify(n)
                self.wake()

            self.at(self.net(), f)
            if p.get("stopPolicy") == "HoldAndDrain":
                for w in list(self.cache[n].values()):
                    self.set_evicted(w, "ClusterQueueStopped")
            if p.get("stopPolicy") == "None" and not was:
                for w in self.wl.values():
                    if (
                        w.evicted == "ClusterQueueStopped"
                        and w.admission is None
                        and self.lqs[w.queue] == n
                    ):
                        w.requeued = True
                        self.at(self.net(), self.push, w)
        elif k == "LocalQueue":
            pol = p["stopPolicy"]
            if pol == "None":
                if n in self.stop_lq:
                    self.stop_lq.discard(n)

                    def f():
                        for w in list(self.wl.values()):
                            if w.queue == n and w.admission is None and not w.finished and w.active:
                                if w.evicted == "LocalQueueStopped":
                                    w.requeued = True
                                self.push(w)

                    self.at(self.net(), f)
            else:
                self.stop_lq.add(n)
                for w in self.wl.values():
                    if w.queue == n:
                        if w.admission is None:
                            self.drop(w)
                        elif pol == "HoldAndDrain" and not w.finished:
                            self.set_evicted(w, "LocalQueueStopped")

    def active(self, w, v):
        if w.active == v:
            return
        w.active = v
        self.changed()
        if not v:
            if w.admission is not None:
                self.set_evicted(w, "Deactivated")
            else:
                self.drop(w)
                w.evicted = "Deactivated"
                w.requeued = False
        else:
            w.requeued = True
            if w.admission is None:
                self.at(self.net(), self.push, w)

    def priority(self, w, v):
        w.prio = v
        self.changed()
        if w.admission is None and not w.finished:
            self.at(self.net(), self.push, w)

    def reclaimed(self, w, ps, count):
        w.reclaim[ps] = count
        self.changed()
        if w.admission is not None:
            n = w.cq

            def f():
                self.pending[n].generation += 1
                self.notify(n)

            self.at(self.net(), f)
