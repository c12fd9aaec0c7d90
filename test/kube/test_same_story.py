# test/kube/test_same_story.py - the same short stories on `muster up` and on the real Kubernetes with `muster operator`: what is
# there in the end, what its conditions say and which events were written are the same, whatever names, times and nodes are.
import collections
import concurrent.futures
import re

import pytest

from conditions import condition, is_true
from e2e_servers import NODE, Muster, Operator
from conftest import MUSTER, until

# Uids' hashes and random characters at the end of made names; of a Job's pods its index stays.
SUFFIX = re.compile(r"-[a-z0-9]{5}$")
KUEUE = "kueue.x-k8s.io"
# Whose conditions and whose names are compared.
KINDS = ["workloads", "jobs.batch", "pods", "localqueues", "rayclusters", "appwrappers.workload.codeflare.dev", "services"]
# Who tells of pods and nodes: the node agent there, a fake one here.
OF_NODES = {"kubelet", "node-controller"}

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: STORY}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: STORY}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: STORY}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: STORY, resources: [{name: cpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: queue, namespace: STORY}
spec: {clusterQueue: STORY}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: STORY-high}
value: 100
"""

CONTAINER = """
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: busybox
        command: COMMAND
        resources: {requests: {cpu: CPU}}
"""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kueue.x-k8s.io/queue-name: queue, MORE}}
spec:
  template:
    spec:""" + CONTAINER

WRAPPER = """
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: wrapped, labels: {kueue.x-k8s.io/queue-name: queue}}
spec:
  resources:
    GenericItems:
    - replicas: 1
      completionstatus: Complete
      generictemplate:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: inner}
        spec:
          template:
            spec:""" + CONTAINER.replace("\n", "\n        ")

# Only a head, which needs no Ray to be told to be ready: its probes are its own.
RAY_CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: small, labels: {kueue.x-k8s.io/queue-name: queue}, annotations: {ray.io/overwrite-container-cmd: "true"}}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: head
          image: busybox
          command: [sleep, "600"]
          readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
          livenessProbe: {exec: {command: ["true"]}, periodSeconds: 5}
          resources: {requests: {cpu: "1"}}
"""


def made(text: str, name: str = "", command: str = '["true"]', cpu: str = "1", more: str = "") -> str:
    return text.replace("NAME", name).replace("COMMAND", command).replace("CPU", cpu).replace("MORE", more)


SLEEP = '["sleep", "600"]'


class Teller:
    """Tells a story to one server, in a namespace and a queue of two CPUs of its own."""

    def __init__(self, server, story: str):
        self.server, self.story = server, story
        server.apply(QUEUES.replace("STORY", story))
        self.until("the queue takes work", lambda: is_true(server.get("clusterqueue", story), "Active"))

    def apply(self, text: str) -> None:
        self.server.run("apply", "-n", self.story, "-f", "-", input=text)

    def get(self, *words: str) -> dict:
        return self.server.get("-n", self.story, *words)

    def delete(self, *words: str) -> None:
        self.server.run("delete", "-n", self.story, *words)

    def until(self, what: str, true):
        return until(what, true, 90)

    def says(self, kind: str, name: str, condition_type: str) -> None:
        self.until(f"{kind} {name} is {condition_type}", lambda: is_true(self.get(kind, name), condition_type))

    def workload(self, owner: str) -> dict:
        return next((each for each in self.get("workloads").get("items", [])
                     if any(owner == one["name"] for one in each["metadata"].get("ownerReferences", []))), {})

    def workload_says(self, owner: str, condition_type: str, status: str = "True") -> None:
        self.until(f"the workload of {owner} is {condition_type}: {status}",
                   lambda: condition(self.workload(owner), condition_type).get("status") == status)


def a_job_from_its_suspension_to_its_end(t: Teller) -> None:
    t.apply(made(JOB, "plain"))
    t.says("job", "plain", "Complete")
    t.workload_says("plain", "Finished")


def a_job_that_fails(t: Teller) -> None:
    t.apply(made(JOB, "failing", '["false"]').replace("spec:\n  template", "spec:\n  backoffLimit: 0\n  template"))
    t.says("job", "failing", "Failed")
    t.workload_says("failing", "Finished")


def who_waits_starts_when_the_other_is_deleted(t: Teller) -> None:
    t.apply(made(JOB, "holder", SLEEP, "2"))
    t.until("it runs", lambda: t.get("job", "holder").get("status", {}).get("ready") == 1)
    t.apply(made(JOB, "waiter"))
    t.workload_says("waiter", "QuotaReserved", "False")
    t.delete("job", "holder")
    t.says("job", "waiter", "Complete")
    t.workload_says("waiter", "Finished")


def what_can_never_fit_waits(t: Teller) -> None:
    t.apply(made(JOB, "huge", cpu="3"))
    t.workload_says("huge", "QuotaReserved", "False")


def a_preemption(t: Teller) -> None:
    t.apply(made(JOB, "low", SLEEP, "2"))
    t.until("it runs", lambda: t.get("job", "low").get("status", {}).get("ready") == 1)
    t.apply(made(JOB, "high", SLEEP, "2", f"kueue.x-k8s.io/priority-class: {t.story}-high"))
    t.until("the other runs", lambda: t.get("job", "high").get("status", {}).get("ready") == 1)
    t.workload_says("low", "Preempted")
    t.workload_says("low", "QuotaReserved", "False")
    t.until("its pod is gone", lambda: len(t.get("pods")["items"]) == 1)


def a_queue_is_drained_and_goes_on(t: Teller) -> None:
    t.apply(made(JOB, "drained", SLEEP))
    t.until("it runs", lambda: t.get("job", "drained").get("status", {}).get("ready") == 1)
    for policy in ("HoldAndDrain", "None"):
        t.server.run("patch", "clusterqueue", t.story, "--type=merge", "-p", f'{{"spec":{{"stopPolicy":"{policy}"}}}}')
        t.workload_says("drained", "Admitted", "False" if policy == "HoldAndDrain" else "True")
    t.until("it runs again", lambda: t.get("job", "drained").get("status", {}).get("ready") == 1)


def a_wrapped_job(t: Teller) -> None:
    t.apply(made(WRAPPER))
    t.until("it is done", lambda: t.get("appwrappers.workload.codeflare.dev", "wrapped").get("status", {}).get("state") == "Completed")
    t.workload_says("wrapped", "Finished")


def a_ray_cluster_is_ready_and_goes(t: Teller) -> None:
    t.apply(RAY_CLUSTER)
    t.until("it is ready", lambda: t.get("raycluster", "small").get("status", {}).get("state") == "ready")
    t.workload_says("small", "PodsReady")


STORIES = [a_job_from_its_suspension_to_its_end, a_job_that_fails, who_waits_starts_when_the_other_is_deleted, what_can_never_fit_waits,
           a_preemption, a_queue_is_drained_and_goes_on, a_wrapped_job, a_ray_cluster_is_ready_and_goes]


def plain(name: str) -> str:
    return SUFFIX.sub("-<made>", name)


def shown(thing: dict) -> list[str]:
    """One line that says what it is, and one for each of its conditions. Those of pods are the kubelet's to say, and whether pods
    that have ended were ready before depends on who looked when."""
    status, name = thing.get("status", {}), f"{thing['kind']} {plain(thing['metadata']['name'])}"
    words = [f"{key} {status[key]}" for key in ("phase", "state", "active", "succeeded", "failed") if key in status]
    told = [] if thing["kind"] == "Pod" else status.get("conditions", [])
    passing = {"PodsReady"} if is_true(thing, "Finished") else set()
    return [" ".join([name, *words])] + [f"{name}: {each['type']}={each['status']} {each.get('reason', '')}" for each in told
                                         if each["type"] not in passing]


def ending(t: Teller) -> list[str]:
    """What is there when nothing moves any more."""
    queue = t.server.get("clusterqueue", t.story)
    counts = [f"ClusterQueue: {key} {queue['status'].get(key, 0)}" for key in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")]
    things = [each for kind in KINDS for each in t.get(kind).get("items", [])]
    return sorted(counts + shown(queue) + [line for each in things for line in shown(each)])


def events(t: Teller) -> collections.Counter:
    """By who wrote them, about what, and how often."""
    told: collections.Counter = collections.Counter()
    for each in t.get("events").get("items", []):
        about, by = each["involvedObject"], each.get("source", {}).get("component") or each.get("reportingComponent", "")
        if by not in OF_NODES:
            told[f"{by}: {each['type']} {each['reason']} of {about['kind']} {plain(about['name'])}"] += each.get("count", 1) or 1
    return told


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """`muster up`, and `muster operator` on a cluster."""
    ours = Muster(tmp_path_factory.mktemp("story-up"), [NODE])
    theirs = Operator(MUSTER, tmp_path_factory.mktemp("story-cluster"), NODE)
    try:
        yield ours.start(), theirs.start()
        assert theirs.refused() == set(), "what the operator has no right to"
    finally:
        theirs.close()
        ours.leave()


@pytest.fixture(scope="module")
def tellers(servers):
    """All stories, told on both servers at the same time."""
    def tell(server, story):
        teller = Teller(server, story.__name__.replace("_", "-"))
        story(teller)
        return teller

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        return {story: [pool.submit(tell, server, story) for server in servers] for story in STORIES}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_same_story_ends_alike(tellers, story):
    ours, theirs = [each.result() for each in tellers[story]]
    seen = []

    def alike(what) -> bool:
        """Counts, and events of a burst, come a moment later: both servers are asked until they agree."""
        seen[:] = [what(ours), what(theirs)]
        return seen[0] == seen[1]

    for what in (ending, events):
        try:
            until("both tell the same", lambda what=what: alike(what), 60)
        except AssertionError:
            up, cluster = ([f"{line} x{n}" for line, n in sorted(each.items())] if what is events else each for each in seen)
            only = [f"- only on muster up: {line}" for line in up if line not in cluster] + \
                   [f"- only on the cluster: {line}" for line in cluster if line not in up]
            pytest.fail(f"{story.__name__}, {what.__name__}:\n" + "\n".join(only))
