"""The quota tree and the dominant resource shares of its nodes."""

from fractions import Fraction


def qty(s, res):
    s = str(s)
    if res == "cpu":
        return int(s[:-1]) if s.endswith("m") else int(s) * 1000
    if s.endswith("Gi"):
        return int(s[:-2])
    return int(s)


# ---------------------------------------------------------------- quota tree
class Node:
    """A ClusterQueue or cohort. Quotas: (flavor, resource) -> (nominal, borrowing, lending)."""

    def __init__(self, name, is_cq):
        self.name, self.is_cq = name, is_cq
        self.parent, self.kids = None, []
        self.quotas, self.subtree, self.usage, self.weight = {}, {}, {}, Fraction(1)

    def local(self, fr):
        q = self.quotas.get(fr)
        if q and q[2] is not None:
            return max(0, self.subtree.get(fr, 0) - q[2])
        return 0

    def used(self, fr):
        return self.usage.get(fr, 0)

    def subtree_of(self, fr):
        return self.subtree.get(fr, 0)

    def nominal(self, fr):
        q = self.quotas.get(fr)
        return q[0] if q else 0

    def borrowing_limit(self, fr):
        q = self.quotas.get(fr)
        return q[1] if q else None

    def add(self, fr, v):
        la = self.local_available(fr)
        self.usage[fr] = self.used(fr) + v
        if self.parent is not None and v > la:
            self.parent.add(fr, v - la)

    def remove(self, fr, v):
        stored = self.used(fr) - self.local(fr)
        self.usage[fr] = self.used(fr) - v
        if stored <= 0 or self.parent is None:
            return
        self.parent.remove(fr, min(v, stored))

    def local_available(self, fr):
        return max(0, self.local(fr) - self.used(fr))

    def available(self, fr):
        if self.parent is None:
            return self.subtree_of(fr) - self.used(fr)
        p = self.parent.available(fr)
        b = self.borrowing_limit(fr)
        if b is not None:
            lo = self.local(fr)
            p = min(self.subtree_of(fr) - lo - max(0, self.used(fr) - lo) + b, p)
        return self.local_available(fr) + p

    def potential(self, fr):
        if self.parent is None:
            return self.subtree_of(fr)
        a = self.local(fr) + self.parent.potential(fr)
        b = self.borrowing_limit(fr)
        return a if b is None else min(self.subtree_of(fr) + b, a)

    def root(self):
        n = self
        while n.parent is not None:
            n = n.parent
        return n

    def path(self):
        n = self.parent
        while n is not None:
            yield n
            n = n.parent

    def height(self):
        h = min(len(self.kids), 1)
        for k in self.kids:
            if not k.is_cq:
                h = max(h, k.height() + 1)
        return h

    def borrowing_with(self, fr, v):
        return self.used(fr) + v > self.subtree_of(fr)

    def within(self, frs):
        return all(self.subtree_of(fr) >= self.used(fr) for fr in frs)

    def cqs(self):
        for k in self.kids:
            if k.is_cq:
                yield k
            else:
                yield from k.cqs()

    def cohorts(self):
        return [k for k in self.kids if not k.is_cq]


def fits_in_quota(node, reqs):
    fits, rest = True, {}
    for fr, v in reqs.items():
        if node.subtree_of(fr) < node.used(fr) + v:
            fits = False
        rest[fr] = max(0, v - node.local_available(fr))
    return fits, rest


def lowest_height(cq, fr, val):
    if not (cq.borrowing_with(fr, val) and cq.parent is not None):
        return 0, cq.parent is not None
    rem = val - cq.local_available(fr)
    n = None
    for n in cq.path():
        if not n.borrowing_with(fr, rem):
            return n.height(), n.parent is not None
        rem -= n.local_available(fr)
    return n.height(), n.parent is not None


class Share:
    """The dominant share of what a node borrows, and of what it borrows at all."""

    def __init__(self, node):
        self.w, self.ratio, self.borrowed = node.weight, Fraction(0), []
        if node.parent is None:
            return
        by = {}
        for fr, q in node.subtree.items():
            b = node.used(fr) - q
            if b > 0:
                by[fr[1]] = by.get(fr[1], 0) + b
                self.borrowed.append(fr)
        if not by:
            return
        lend = {}
        for fr in node.root().subtree:
            lend[fr[1]] = lend.get(fr[1], 0) + node.parent.potential(fr)
        for r, b in by.items():
            if lend.get(r, 0) > 0:
                self.ratio = max(self.ratio, Fraction(b * 1000, lend[r]))

    def inf(self):
        return self.w == 0 and bool(self.borrowed)

    def val(self):
        return self.ratio / self.w if self.w else Fraction(0)

    def zero(self):
        return self.ratio == 0

    def cmp(self, o):
        if self.inf() and o.inf():
            return (self.ratio > o.ratio) - (self.ratio < o.ratio)
        if self.inf():
            return 1
        if o.inf():
            return -1
        return (self.val() > o.val()) - (self.val() < o.val())


# ---------------------------------------------------------------- workloads
