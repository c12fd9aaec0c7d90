"""Whom a workload would preempt: classical and fair sharing, on the snapshot of a cycle."""

from quota import Share, fits_in_quota


class Preempting:
    """A part of Cycle."""

    def order(self, w, cqn):
        return (w.name not in self.evicted, w.cq == cqn, w.prio, -w.reserved_at, w.uid)

    def workload_fits(self, cq, usage, borrow):
        for fr, v in usage.items():
            if not borrow and cq.borrowing_with(fr, v):
                return False
            if v > max(0, cq.available(fr)):
                return False
        return True

    def targets(self, w, cqn, usage, frs):
        usage = {k: v for k, v in usage.items() if v}
        return (self.fair if self.k.fair else self.classical)(w, cqn, usage, frs)

    def uses(self, c, frs):
        return any((f, r) in frs for n, fl in c.admission for r, f in fl.items())

    def too_high(self, w, c, policy):
        if policy == "LowerPriority":
            return not w.prio > c.prio
        if policy == "LowerOrNewerEqualPriority":
            return not (w.prio > c.prio or (w.prio == c.prio and w.t < c.t))
        return policy != "Any"

    def classical(self, w, cqn, usage, frs):
        cq, policy = self.cq[cqn], self.policy(cqn)

        def variant(c, adv):
            if not self.uses(c, frs):
                return None
            if self.too_high(w, c, policy["within"] if c.cq == cqn else policy["reclaim"]):
                return None
            if c.cq == cqn:
                return "InClusterQueue"
            if adv:
                return "H"
            if (
                not policy["borrow"]
                or c.prio >= w.prio
                or (policy["thr"] is not None and c.prio > policy["thr"])
            ):
                return "NB"
            return "WB"

        same = []
        if policy["within"] != "Never":
            same = [(c, None, v) for c in self.wls[cqn].values() for v in [variant(c, False)] if v]
        hier, prio = [], []
        if cq.parent is not None and policy["reclaim"] != "Never":
            adv, rest = fits_in_quota(cq, usage)
            prev = None

            def collect(node, top, out):
                for k in node.kids:
                    if not k.is_cq:
                        if k is prev or k.within(frs):
                            continue
                        collect(k, top, out)
                for k in node.kids:
                    if k.is_cq and k is not cq and not k.within(frs):
                        out.extend(
                            (c, top, v)
                            for c in self.wls[k.name].values()
                            for v in [variant(c, adv)]
                            if v
                        )

            for n in cq.path():
                collect(n, n, hier if adv else prio)
                f, rest = fits_in_quota(n, rest)
                adv = adv or f
                prev = n
        key = lambda e: self.order(e[0], cqn)
        for l in (same, hier, prio):
            l.sort(key=key)
        ev = lambda e: e[0].name in self.evicted
        cands = [e for l in (hier, prio, same) for e in l if ev(e)] + [
            e for l in (hier, prio, same) for e in l if not ev(e)
        ]
        if not cands:
            return []
        under = all(cq.used(fr) < cq.nominal(fr) for fr in frs)
        forbidden = not policy["borrow"]
        if (not hier and not prio) or (forbidden and not under):
            tries = [True]
        elif forbidden and not hier:
            tries = [False, True]
        else:
            tries = [True, False]
        for borrow in tries:
            got = []
            done = False
            for c, top, v in cands:
                if c.cq != cqn:
                    if borrow and v == "NB":
                        continue
                    if self.cq[c.cq].within(frs):
                        continue
                    bad = False
                    for n in self.cq[c.cq].path():
                        if n is top:
                            break
                        if n.within(frs):
                            bad = True
                            break
                    if bad:
                        continue
                self.take_out(c)
                got.append(
                    (
                        c,
                        {
                            "H": "InCohortReclamation",
                            "NB": "InCohortReclamation",
                            "WB": "InCohortReclaimWhileBorrowing",
                        }.get(v, v),
                    )
                )
                if self.workload_fits(cq, usage, borrow):
                    done = True
                    break
            if done:
                got = self.fill_back(got, cq, usage, borrow)
                for c, _ in got:
                    self.put_back(c)
                return got
            for c, _ in got:
                self.put_back(c)
        return []

    def fill_back(self, got, cq, usage, borrow):
        i = len(got) - 2
        while i >= 0:
            self.put_back(got[i][0])
            if self.workload_fits(cq, usage, borrow):
                got[i] = got[-1]
                got.pop()
            else:
                self.take_out(got[i][0])
            i -= 1
        return got

    def fair(self, w, cqn, usage, frs):
        cq, policy = self.cq[cqn], self.policy(cqn)
        cands = []
        if policy["within"] != "Never":
            cands += [
                c
                for c in self.wls[cqn].values()
                if not self.too_high(w, c, policy["within"]) and self.uses(c, frs)
            ]
        if cq.parent is not None and policy["reclaim"] != "Never":
            for k in cq.root().cqs():
                if k is cq or k.within(frs):
                    continue
                cands += [
                    c
                    for c in self.wls[k.name].values()
                    if not self.too_high(w, c, policy["reclaim"]) and self.uses(c, frs)
                ]
        if not cands:
            return []
        cands.sort(key=lambda c: self.order(c, cqn))
        got = []
        for fr, v in usage.items():
            cq.add(fr, v)

        def take(c, reason):
            self.take_out(c)
            got.append((c, reason))
            for fr, v in usage.items():
                cq.remove(fr, v)
            ok = self.workload_fits(cq, usage, True)
            for fr, v in usage.items():
                cq.add(fr, v)
            return ok

        done = self.fair_rounds(cq, cqn, cands, frs, take)
        for fr, v in usage.items():
            cq.remove(fr, v)
        if not done:
            for c, _ in got:
                self.put_back(c)
            return []
        got = self.fill_back(got, cq, usage, True)
        for c, _ in got:
            self.put_back(c)
        return got

    def ordering(self, cq, cands):
        lists = {}
        for c in cands:
            lists.setdefault(c.cq, []).append(c)
        pruned_q, pruned_c = set(), set()
        anc = set(id(n) for n in cq.path())

        def nxt(co):
            hq, hd = None, None
            for k in sorted([k for k in co.kids if k.is_cq], key=lambda k: k.name):
                if k.name in pruned_q:
                    continue
                d = Share(k)
                if (not d.borrowed and k is not cq) or not lists.get(k.name):
                    pruned_q.add(k.name)
                else:
                    c = 1 if hd is None else d.cmp(hd)
                    if c > 0 or (
                        c == 0
                        and self.order(lists[k.name][0], cq.name)
                        < self.order(lists[hq.name][0], cq.name)
                    ):
                        hq, hd = k, d
            hc, hcd = None, None
            for k in sorted(co.cohorts(), key=lambda k: k.name):
                if k.name in pruned_c:
                    continue
                d = Share(k)
                if not d.borrowed and id(k) not in anc:
                    pruned_c.add(k.name)
                elif hcd is None or d.cmp(hcd) >= 0:
                    hc, hcd = k, d
            if hq is None and hc is None:
                pruned_c.add(co.name)
                return None
            if hq is None or (hc is not None and hcd.cmp(hd) >= 0):
                return nxt(hc)
            return hq

        def it():
            if cq.parent is None:
                while lists.get(cq.name):
                    yield cq
                return
            root = cq.root()
            while root.name not in pruned_c:
                t = nxt(root)
                if t is not None:
                    yield t

        return it, lists, pruned_q

    def almost(self, cq, t):
        pa = [cq] + list(cq.path())
        pb = [t] + list(t.path())
        sb = {id(x) for x in pb}
        for i, n in enumerate(pa):
            if id(n) in sb:
                j = next(j for j, m in enumerate(pb) if m is n)
                return pa[i - 1], pb[j - 1]

    def fair_rounds(self, cq, cqn, cands, frs, take):
        it, lists, pruned = self.ordering(cq, cands)
        within = cq.within(frs)
        retry = []
        for t in it():
            l = lists[t.name]
            if t is cq:
                if take(l.pop(0), "InClusterQueue"):
                    return True
                continue
            if within:
                if take(l.pop(0), "InCohortReclamation"):
                    return True
                continue
            pa, _ = self.almost(cq, t)
            ours = Share(pa)
            while l:
                c = l.pop(0)
                for fr, v in self.use[c.name].items():
                    t.remove(fr, v)
                new = Share(self.almost(cq, t)[1])
                for fr, v in self.use[c.name].items():
                    t.add(fr, v)
                if ours.cmp(new) <= 0:
                    if take(c, "InCohortFairSharing"):
                        return True
                    break
                retry.append(c)
        it, lists, pruned = self.ordering(cq, retry)
        for t in it():
            pa, ta = self.almost(cq, t)
            ok = Share(pa).cmp(Share(ta)) < 0
            c = lists[t.name].pop(0)
            if ok and take(c, "InCohortFairSharing"):
                return True
            pruned.add(t.name)
        return False
