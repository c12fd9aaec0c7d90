# test/kube/oracle_cases.py - the recorded cases of test/oracle: what they tell to write, what came out, and in which words two
# outcomes are compared.
import decimal
import json
import tarfile

from conditions import condition, is_true
from conftest import ROOT

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PLURALS = {"ResourceFlavor": "resourceflavors", "ClusterQueue": "clusterqueues", "Cohort": "cohorts", "Topology": "topologies",
           "LocalQueue": "localqueues", "Workload": "workloads", "Node": "nodes"}
CORE = {"state", "queue", "flavors", "count", "topology"}  # What was decided, without how it is told.
SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "n": "1e-9", "u": "1e-6", "m": "1e-3", "k": 1000, "M": 10**6, "G": 10**9}


def load() -> list[dict]:
    """Each with `id`, `family`, `variant`, `objects`, `steps`, and `outcome` whole after each step."""
    found = []
    with tarfile.open(ROOT / "test/oracle/cases.tar.xz") as archive:
        for name in sorted(name for name in archive.getnames() if name.endswith(".json")):
            for case in json.load(archive.extractfile(name))["scenarios"]:
                found.append({**case, "outcome": whole_steps(case["outcome"])})
    return found


def whole_steps(packed: list[dict]) -> list[dict]:
    """Rows that equal those of the step before are left out in the files."""
    now: dict[str, dict] = {"wl": {}, "cq": {}, "co": {}}
    steps = []
    for entry in packed:
        for part, rows in now.items():
            left = {name: row for name, row in rows.items() if name not in entry.get("gone", {}).get(part, ())}
            now[part] = {**left, **entry.get(part, {})}
        steps.append({**now, "picks": entry.get("picks") or [], "errors": entry.get("errors") or []})
    return steps


def named(value, prefix: str):
    """A name that a case owns begins with "@"; here it begins with a prefix of this run's."""
    if isinstance(value, str):
        return prefix + value[1:] if value.startswith("@") else value
    if isinstance(value, list):
        return [named(each, prefix) for each in value]
    if isinstance(value, dict):
        return {named(key, prefix): named(each, prefix) for key, each in value.items()}
    return value


def bare(value, prefix: str):
    """The other way, also of names between slashes."""
    if isinstance(value, str):
        return "/".join(each.removeprefix(prefix) for each in value.split("/"))
    if isinstance(value, list):
        return [bare(each, prefix) for each in value]
    if isinstance(value, dict):
        return {bare(key, prefix): bare(each, prefix) for key, each in value.items()}
    return value


def path_of(kind: str, ns: str, name: str = "", part: str = "") -> str:
    root = "/api/v1" if kind == "Node" else KUEUE
    space = f"/namespaces/{ns}" if kind in ("LocalQueue", "Workload") else ""
    return "/".join([f"{root}{space}/{PLURALS[kind]}", *filter(None, [name, part])])


def object_of(short: dict) -> dict:
    kind, name = short["kind"], short["name"]
    labels = {**short.get("labels", {}), **({"kubernetes.io/hostname": name} if kind == "Node" else {})}
    return {"apiVersion": "v1" if kind == "Node" else "kueue.x-k8s.io/v1beta2", "kind": kind,
            "metadata": {"name": name, "labels": labels}, "spec": short.get("spec") or {}}


def workload_of(short: dict) -> dict:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": short["name"]},
            "spec": {"queueName": short["queue"], "priority": short["prio"], "active": short.get("active", True),
                     "podSets": [pod_set_of(each) for each in short["podSets"]]}}


def pod_set_of(short: dict) -> dict:
    pod = {"restartPolicy": "Never", "containers": [container("c", short.get("requests") or {})]}
    first = [container(f"i{number}", each) for number, each in enumerate(short.get("init") or [])]
    if short.get("sidecar"):
        first.append({**container("side", short["sidecar"]), "restartPolicy": "Always"})
    if first:
        pod["initContainers"] = first
    pod |= {key: short[key] for key in ("nodeSelector", "affinity", "tolerations", "overhead") if short.get(key)}
    made = {"name": short.get("name", "main"), "count": short["count"], "template": {"metadata": {}, "spec": pod}}
    if "minCount" in short:
        made["minCount"] = short["minCount"]
    if short.get("topology"):
        made["topologyRequest"] = short["topology"]
    return made


def container(name: str, requests: dict) -> dict:
    return {"name": name, "image": "none", "resources": {"requests": requests}}


def holds(workload: dict) -> bool:
    return bool(workload.get("status", {}).get("admission"))


def workload_row(workload: dict, evictions: dict) -> dict:
    """In the words of the recorded ones. An object shows its last eviction only: how many a case has seen of it is told here."""
    status, row = workload.get("status", {}), {"s": state_of(workload)}
    if row["s"] != "finished":
        if holds(workload):
            row["q"] = status["admission"]["clusterQueue"]
            row["ps"] = {each.get("name", "main"): assigned(each) for each in status["admission"].get("podSetAssignments", [])}
        reserved = condition(workload, "QuotaReserved")
        if reserved and reserved["status"] != "True":
            row["qr"] = reserved["reason"]
    told = {"ev": evictions.get("completed"), "lp": evictions.get("last"), "er": condition(workload, "Evicted").get("reason"),
            "pr": condition(workload, "Preempted").get("reason"),
            "rp": {each["name"]: each["count"] for each in status.get("reclaimablePods", [])}, "st": {}}
    for each in status.get("schedulingStats", {}).get("evictions", []):
        told["st"]["/".join(filter(None, [each["reason"], each.get("underlyingCause")]))] = each["count"]
    return row | {key: value for key, value in told.items() if value}


def state_of(workload: dict) -> str:
    if is_true(workload, "Finished"):
        return "finished"
    if not workload["spec"].get("active", True):
        return "inactive-holding" if holds(workload) else "inactive"
    if is_true(workload, "Evicted"):
        return "evicting" if holds(workload) else "evicted-pending"
    if is_true(workload, "Admitted"):
        return "admitted"
    return "reserved" if is_true(workload, "QuotaReserved") else "pending"


def assigned(pods: dict) -> dict:
    row = {"n": pods.get("count"), "f": pods.get("flavors", {})}
    if pods.get("topologyAssignment"):
        row["t"] = places(pods["topologyAssignment"])
    return row


def places(topology: dict) -> list:
    """[[values of the levels with "/" between, pods], ...], whatever the slices are."""
    found: dict[str, int] = {}
    for part in topology.get("slices", []):
        for number in range(part["domainCount"]):
            values = [level_value(level, number) for level in part["valuesPerLevel"]]
            counts = part["podCounts"]
            count = counts["universal"] if counts.get("universal") is not None else counts["individual"][number]
            found["/".join(values)] = found.get("/".join(values), 0) + count
    return sorted([place, count] for place, count in found.items())


def level_value(level: dict, number: int) -> str:
    if level.get("universal") is not None:
        return level["universal"]
    several = level["individual"]
    return several.get("prefix", "") + several["roots"][number] + several.get("suffix", "")


def queue_row(queue: dict) -> dict:
    status = queue.get("status", {})
    counts = [status.get(key, 0) for key in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")]
    row = {"use": usage(status.get("flavorsUsage")), "res": usage(status.get("flavorsReservation")), "n": counts,
           "act": condition(queue, "Active").get("reason")}
    share = (status.get("fairSharing") or {}).get("weightedShare")
    return row if share is None else {**row, "ws": share}


def usage(flavors: list | None) -> dict:
    used = {}
    for flavor in flavors or []:
        for each in flavor["resources"]:
            total, borrowed = (digits(each.get(key, "0")) for key in ("total", "borrowed"))
            if (total, borrowed) != ("0", "0"):
                used[f"{flavor['name']}/{each['name']}"] = [total] + [borrowed] * (borrowed != "0")
    return used


def digits(quantity) -> str:
    """The same in decimal digits."""
    text = str(quantity)
    suffix = next((each for each in SUFFIXES if text.endswith(each)), "")
    number = decimal.Decimal(text.removesuffix(suffix)) * decimal.Decimal(SUFFIXES.get(suffix, 1))
    shown = f"{number:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def fields(step: dict) -> dict[tuple[str, str], object]:
    """By field and object what a step says; what says nothing is left out."""
    found: dict[tuple[str, str], object] = {("picks", ""): step.get("picks"), ("errors", ""): step.get("errors")}
    for name, row in step["wl"].items():
        sets = row.get("ps", {})
        found |= {("state", name): row["s"], ("queue", name): row.get("q"), ("quotaReason", name): row.get("qr"),
                  ("flavors", name): {key: each["f"] for key, each in sets.items()},
                  ("count", name): {key: each["n"] for key, each in sets.items()},
                  ("topology", name): {key: each["t"] for key, each in sets.items() if "t" in each},
                  ("evictions", name): row.get("ev"), ("evictedReason", name): row.get("er"),
                  ("preemptedReason", name): row.get("pr"), ("lastPreemption", name): row.get("lp"),
                  ("stats", name): row.get("st"), ("reclaimable", name): row.get("rp")}
    for name, row in step["cq"].items():
        found |= {("cqUsage", name): row["use"], ("cqReservation", name): row.get("res", row["use"]),
                  ("cqPending", name): row["n"][0], ("cqAdmitted", name): row["n"][1:], ("cqActive", name): row.get("act"),
                  ("cqShare", name): row.get("ws")}
    found |= {("cohortShare", name): share for name, share in step["co"].items()}
    return {key: value for key, value in found.items() if value or value == 0}


def differences(case: dict, steps: list[dict]) -> list[tuple[str, str]]:
    """Of each difference the field, and a sentence. Noisy fields were not the same in all runs of Kueue's own."""
    found = []
    for number, (theirs, ours) in enumerate(zip(case["outcome"], steps)):
        theirs, ours = fields(theirs), fields(ours)
        for key in sorted(theirs.keys() | ours.keys()):
            if theirs.get(key) != ours.get(key) and key[0] not in case.get("noisy", ()):
                found.append((key[0], f"step {number}: {key[0]} {key[1]} is {ours.get(key)}, was {theirs.get(key)}"))
    if len(steps) != len(case["outcome"]):
        found.append(("state", f"it ended at step {len(steps)} of {len(case['outcome'])}"))
    return found
