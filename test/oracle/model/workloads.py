"""Workloads as the scheduler sees them, and which flavors their pods may have."""

import json

from quota import qty


class Pod:
    """A pod set; `per` is what one of its pods asks for."""

    def __init__(self, ps):
        self.name, self.count = ps.get("name", "main"), ps["count"]
        self.min = ps.get("minCount", ps["count"])
        self.spec = ps
        per = {}

        def add(d, r):
            for k, v in r.items():
                d[k] = d.get(k, 0) + qty(v, k)

        add(per, ps.get("requests") or {})
        add(per, ps.get("sidecar") or {})
        for i in ps.get("init") or []:
            for k, v in i.items():
                per[k] = max(per.get(k, 0), qty(v, k))
        add(per, ps.get("overhead") or {})
        self.per = per


class Workload:
    """A Workload object and what the scheduler remembers of it."""

    def __init__(self, w, t, n):
        self.name, self.queue, self.prio, self.t, self.uid = (
            w["name"],
            w["queue"].lstrip("@"),
            w["prio"],
            t,
            n,
        )
        self.pods = [Pod(p) for p in w["podSets"]]
        self.active = w.get("active", True)
        self.admission = None  # list of (count, {res: flavor})
        self.cq = None
        self.evicted = None  # reason while Evicted=True
        self.preempted = None
        self.requeued = None  # True/False/None
        self.finished = False
        self.reserved_at = None
        self.reclaim = {}
        self.ev, self.lp = 0, None
        self.last = None  # flavor scan state
        self.gen = 0
        self.deleted = False
        self.pending_eviction = False
        self.msg = None

    def hash(self):
        return (self.prio, json.dumps([p.spec for p in self.pods], sort_keys=True))

    def live(self, i):
        return self.reclaim.get(self.pods[i].name, 0)

    def requests(self, counts=None, covers_pods=False):
        out = []
        for i, p in enumerate(self.pods):
            n = (p.count if counts is None else counts[i]) - self.live(i)
            d = {k: v * n for k, v in p.per.items()}
            if covers_pods:
                d["pods"] = n
            out.append(d)
        return out

    def usage(self):
        u = {}
        if self.admission is None:
            return u
        for i, (n, fl) in enumerate(self.admission):
            k = n - self.live(i)
            for r, f in fl.items():
                v = (self.pods[i].per.get(r, 0) if r != "pods" else 1) * k
                u[(f, r)] = u.get((f, r), 0) + v
        return u


def tolerates(tols, taint):
    for t in tols or []:
        if t.get("effect") and t["effect"] != taint["effect"]:
            continue
        if t.get("key") and t["key"] != taint["key"]:
            continue
        if t.get("operator") == "Exists":
            return True
        if t.get("value", "") == taint.get("value", "") and t.get("operator", "Equal") == "Equal":
            return True
    return False


def match_expr(e, labels):
    k, op, vs = e["key"], e["operator"], e.get("values") or []
    if op == "In":
        return labels.get(k) in vs if k in labels else False
    if op == "NotIn":
        return not (k in labels and labels[k] in vs)
    if op == "Exists":
        return k in labels
    if op == "DoesNotExist":
        return k not in labels
    raise ValueError(op)


def flavor_ok(spec, pod):
    labels = spec.get("nodeLabels") or {}
    for t in spec.get("nodeTaints") or []:
        if t["effect"] == "PreferNoSchedule":
            continue
        if not tolerates((pod.spec.get("tolerations") or []) + (spec.get("tolerations") or []), t):
            return False
    for k, v in (pod.spec.get("nodeSelector") or {}).items():
        if k in labels and labels[k] != v:
            return False
    aff = pod.spec.get("affinity")
    if aff:
        terms = aff["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        keep = []
        for t in terms:
            ex = [e for e in t["matchExpressions"] if e["key"] in labels]
            if not ex:
                return True
            keep.append(ex)
        return any(all(match_expr(e, labels) for e in ex) for ex in keep)
    return True
