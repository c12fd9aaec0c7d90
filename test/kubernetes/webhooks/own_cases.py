# test/kubernetes/webhooks/own_cases.py - requests at the rules of the webhooks of Kueue's own kinds.
import copy

AT = "2026-01-02T03:04:05Z"
KUEUE = "kueue.x-k8s.io/v1beta2"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


def own(kind, spec, status=None, annotations=None, **metadata):
    made = {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": "x", **metadata}, "spec": spec}
    if annotations is not None:
        made["metadata"]["annotations"] = annotations
    if status is not None:
        made["status"] = status
    return made


def pod_set(name="main", count=2, pods=None, metadata=None, resources=None, **more):
    container = {"name": "c", "image": "i", "resources": resources or {}}
    made = {"name": name, "count": count,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container], **(pods or {})}}, **more}
    if metadata:
        made["template"]["metadata"] = metadata
    return made


def workload(*sets, status=None, annotations=None, **spec):
    return own("Workload", {"queueName": "a", "podSets": list(sets) or [pod_set()], **spec}, status, annotations, namespace="team")


def condition(kind, status="True"):
    return {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": AT}


def assigned(name="main", count=2, **usage):
    made = {"name": name, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2", **usage}}
    if count is not None:
        made["count"] = count
    return made


def reserved(*assignments, **more):
    return {"conditions": [condition("QuotaReserved")],
            "admission": {"clusterQueue": "c", "podSetAssignments": list(assignments) or [assigned()]}, **more}


def check(state="Ready", name="k", **update):
    made = {"name": name, "state": state, "message": "", "lastTransitionTime": AT}
    if update:
        made["podSetUpdates"] = [{"name": "main", **update}]
    return made


def of_pod_sets():
    yield None, workload(), []
    for resources in ({"requests": {"pods": "1"}}, {"limits": {"pods": "1"}}, {"requests": {"cpu": "-1"}},
                      {"limits": {"memory": "-1Gi"}}, {"requests": {"cpu": "1"}}):
        yield None, workload(pod_set(resources=resources)), []
        yield None, workload(pod_set(pods={"resources": resources})), []
        container = {"name": "d", "image": "i", "resources": resources}
        yield None, workload(pod_set(pods={"initContainers": [container]})), []
        yield workload(), workload(pod_set(resources=resources)), []
    for metadata in ({"labels": {"a b": "c"}}, {"labels": {"a": "b c"}}, {"annotations": {"a b": "c"}}, {"labels": {"": "c"}},
                     {"annotations": {"A": "b c"}}, {"labels": {"a/b/c": "d"}}):
        yield None, workload(pod_set(metadata=metadata)), []
    for request in ({"podSetSliceRequiredTopology": "rack"}, {"podSetSliceSize": 1},
                    {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 0},
                    {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": -1},
                    {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 1}, {"required": "rack"},
                    {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 0}]},
                    {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}, {"topology": "h", "size": -1}]},
                    {"subGroupCount": -1}):
        yield None, workload(pod_set(topologyRequest=request)), []
    few = pod_set(minCount=1)
    other = pod_set("other", minCount=1)
    yield None, workload(few), []
    yield None, workload(few, other), []
    yield None, workload(few, annotations=ELASTIC), []
    yield None, workload(few, other, annotations=ELASTIC), []


def of_gates():
    def gated(text):
        return {"kueue.x-k8s.io/admission-gated-by": text}
    for text in ("acme.io/x", "x", "acme.io/x,acme.io/x", "acme.io/" + "x" * 60):
        yield None, workload(annotations=gated(text)), []
    yield workload(), workload(annotations=gated("acme.io/x")), []
    yield workload(annotations=gated("acme.io/x")), workload(annotations=gated("acme.io/y")), []
    yield workload(annotations=gated("acme.io/x,acme.io/y")), workload(annotations=gated("acme.io/y")), []
    yield workload(annotations=gated("acme.io/x")), workload(), []


def of_admission():
    quota = {"conditions": [condition("QuotaReserved")]}
    yield workload(), workload(status=reserved()), []
    yield workload(), workload(status=quota), []
    yield workload(status=quota), workload(status=quota), []
    yield workload(status=quota), workload(status=reserved()), []
    yield workload(), workload(status=reserved(assigned("other"))), []
    yield workload(), workload(status=reserved(assigned(cpu="3"))), []
    yield workload(), workload(status=reserved(assigned(memory="3"))), []
    yield workload(), workload(status=reserved(assigned(cpu="1500m"))), []
    yield workload(), workload(status=reserved(assigned(count=None, cpu="3"))), []
    yield workload(), workload(status=reserved(assigned(count=0, cpu="3"))), []
    one = workload(status=reserved())
    yield one, workload(status=reserved(assigned(count=1))), []
    yield one, workload(status=reserved(assigned(cpu="4"))), []
    yield one, workload(status={"conditions": [condition("QuotaReserved", "False")]}), []
    yield one, workload(status={"conditions": [condition("QuotaReserved", "False")], "admission": {
        "clusterQueue": "d", "podSetAssignments": [assigned()]}}), []
    moved = copy.deepcopy(one)
    moved["status"]["admission"]["clusterQueue"] = "d"
    yield one, moved, []
    placed = {"topologyAssignment": {"levels": ["h"], "slices": [{"domainCount": 1, "podCounts": {"universal": 2},
                                                                  "valuesPerLevel": [{"universal": "n"}]}]}}
    yield one, workload(status=reserved({**assigned(), **placed})), []
    yield one, workload(status=reserved({**assigned(), "delayedTopologyRequest": "Pending"})), []
    for elastic in (None, ELASTIC):
        for sets in ([pod_set(count=1)], [pod_set(count=3)], [pod_set(pods={"nodeSelector": {"a": "b"}})],
                     [pod_set(count=1, pods={"nodeSelector": {"a": "b"}})], [pod_set(), pod_set("two")], [pod_set("other")]):
            yield (workload(status=reserved(), annotations=elastic), workload(*sets, status=reserved(), annotations=elastic), [])
            yield (workload(annotations=elastic), workload(*sets, annotations=elastic), [])
    yield one, workload(pod_set(count=1), status={"conditions": [condition("QuotaReserved", "False")]}), []


def of_reclaimable():
    def done(count, name="main"):
        return {"reclaimablePods": [{"name": name, "count": count}]}
    for elastic in (None, ELASTIC):
        def held(count=None, sets=(), name="main", elastic=elastic):
            return workload(*sets, status=reserved(**(done(count, name) if count is not None else {})), annotations=elastic)
        yield held(), held(1), []
        yield held(), held(3), []
        yield held(), held(1, name="other"), []
        yield held(2), held(1), []
        yield held(1), held(), []
        yield held(1), held(2), []
        small = [pod_set(count=1)]
        yield held(2), held(2, small), []
        yield held(2), held(1, small), []
        yield held(2), held(None, small), []
        yield workload(status=done(2), annotations=elastic), workload(status=done(1), annotations=elastic), []
        yield workload(status=done(2), annotations=elastic), workload(annotations=elastic), []
        yield held(2), workload(status=done(1), annotations=elastic), []


def of_checks():
    updates = [{"labels": {"a b": "c"}}, {"labels": {"a": "b"}}, {"annotations": {"a b": "c"}}, {"nodeSelector": {"a": "b c"}},
               {"tolerations": [{"key": "a b", "operator": "Exists"}]}, {"tolerations": [{"operator": "Exists"}]},
               {"tolerations": [{"key": "a", "operator": "Equal", "value": "b c"}]}, {"name": "other"}]
    for update in updates:
        yield workload(), workload(status={"admissionChecks": [check(**update)]}), []
    def judged(state, name="k", **update):
        return workload(status={"admissionChecks": [check("Ready", "first"), check(state, name, **update)]})
    one, other = {"labels": {"a": "b"}}, {"labels": {"a": "c"}}
    for before in ("Pending", "Ready"):
        for after in ("Pending", "Ready", "Retry"):
            yield judged(before, **one), judged(after, **other), []
            yield judged(before), judged(after, **other), []
            yield judged(before, **one), judged(after), []
    yield judged("Ready", **one), judged("Ready", "l", **other), []
    swapped = workload(status={"admissionChecks": [check("Ready", "k", **other), check("Ready", "first")]})
    yield judged("Ready", **one), swapped, []
    for name, nominated in (("a", ["a", "b"]), ("c", ["a", "b"]), ("c", None)):
        status = {"nominatedClusterNames": nominated} if nominated else {}
        yield workload(status=status), workload(status={"clusterName": name}), []
        replaces = {"kueue.x-k8s.io/workload-slice-replacement-for": "team/y"}
        yield workload(status=status, annotations=replaces), workload(status={"clusterName": name}, annotations=replaces), []


def quota(name="cpu", nominal="4", **limits):
    return {"name": name, "nominalQuota": nominal, **limits}


def group(flavors=("f",), covered=("cpu",), quotas=None, **limits):
    return {"coveredResources": list(covered),
            "flavors": [{"name": name, "resources": quotas or [quota(each, **limits) for each in covered]} for name in flavors]}


def queue(*groups, **spec):
    return own("ClusterQueue", {"resourceGroups": list(groups) or [group()], "namespaceSelector": {},
                                "queueingStrategy": "BestEffortFIFO", **spec})


def cohort(*groups, **spec):
    return own("Cohort", {"resourceGroups": list(groups) or [group()], **spec})


def of_quotas():
    many = [f"f{number}" for number in range(64)]
    for make, parent in ((queue, "cohortName"), (cohort, "parentName")):
        yield None, make(), []
        for limits in ({"borrowingLimit": "1"}, {"lendingLimit": "1"}, {"lendingLimit": "5"}, {"borrowingLimit": "-1"},
                       {"lendingLimit": "-1"}, {"nominal": "-1"}, {"nominal": "0", "lendingLimit": "1"}):
            yield None, make(group(**limits)), []
            yield None, make(group(**limits), **{parent: "p"}), []
            yield make(**{parent: "p"}), make(group(**limits), **{parent: "p"}), []
        for weight in ("1", "0", "-1", "1n", "2n", "500m"):
            yield None, make(fairSharing={"weight": weight}), []
        for name in ("cpu", "a b", "example.com/gpu", "/x"):
            yield None, make(group(covered=(name,))), []
        yield None, make(group(quotas=[quota("memory")])), []
        yield None, make(group(covered=("cpu", "memory"), quotas=[quota("memory"), quota()])), []
        yield None, make(group(), group(("g",))), []
        yield None, make(group(), group(covered=("memory",))), []
        yield None, make(group(("f", "f"))), []
    yield None, queue(group(many, [f"r{number}" for number in range(9)])), []
    yield None, queue(*(group([f"{name}-{number}" for name in many], [f"r{number}"]) for number in range(5))), []


def of_queues():
    for reclaim in ("Never", "Any"):
        for borrow in (None, {"policy": "Never"}, {"policy": "LowerPriority"}):
            preemption = {"reclaimWithinCohort": reclaim, "withinClusterQueue": "Never"}
            if borrow:
                preemption["borrowWithinCohort"] = borrow
            yield None, queue(preemption=preemption), []
    for preference in ("BorrowingOverPreemption", "PreemptionOverBorrowing"):
        for whens in (("TryNextFlavor", "TryNextFlavor"), ("MayStopSearch", "TryNextFlavor"), ("TryNextFlavor", "MayStopSearch")):
            asked = {"whenCanBorrow": whens[0], "whenCanPreempt": whens[1], "preference": preference}
            yield None, queue(flavorFungibility=asked), []
    yield None, queue(flavorFungibility={"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}), []
    for selector in ({"matchLabels": {"a b": "c"}}, {"matchLabels": {"a": "b c"}},
                     {"matchExpressions": [{"key": "a", "operator": "In"}]},
                     {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
                     {"matchExpressions": [{"key": "a", "operator": "Near"}]},
                     {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}):
        yield None, queue(namespaceSelector=selector), []
    def checked(*flavors, groups=(), **spec):
        return queue(*groups, admissionChecksStrategy={"admissionChecks": [{"name": "k", "onFlavors": list(flavors)}]}, **spec)
    yield None, checked("f"), []
    yield None, checked("g"), []
    yield None, checked("f", "g"), []
    yield checked("g"), checked("g", stopPolicy="Hold"), []
    yield checked("g"), checked("h"), []
    yield checked("g"), checked("g", groups=[group(("h",))]), []
    migrates = {"migration": {"mode": "TryPreferredFlavors"}}
    yield queue(), queue(concurrentAdmissionPolicy=migrates), []
    yield queue(concurrentAdmissionPolicy=migrates), queue(), []
    yield None, queue(concurrentAdmissionPolicy=migrates), []


def of_flavors():
    def flavor(**spec):
        return own("ResourceFlavor", spec)
    yield None, flavor(), []
    for labels in ({"a": "b"}, {"a b": "c"}, {"a": "b c"}, {"": "b"}):
        yield None, flavor(nodeLabels=labels), []
        yield flavor(), flavor(nodeLabels=labels), []
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    for taints in ([taint], [taint, taint], [taint, {**taint, "value": "c"}], [taint, {**taint, "effect": "NoExecute"}],
                   [{**taint, "key": "a b"}], [{**taint, "value": "b c"}], [{**taint, "key": "", "value": ""}]):
        yield None, flavor(nodeTaints=taints), []
    for toleration in ({"key": "a b", "operator": "Exists"}, {"operator": "Exists"},
                       {"key": "a", "operator": "Equal", "value": "b c"}):
        yield None, flavor(tolerations=[toleration]), []


PARTS = (of_pod_sets, of_gates, of_admission, of_reclaimable, of_checks, of_quotas, of_queues, of_flavors)
ROWS = [row for part in PARTS for row in part()]
