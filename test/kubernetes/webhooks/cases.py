# test/kubernetes/webhooks/cases.py - requests at the rules of Kueue's webhooks: (before, after, objects that are there).
# Every object is one that the CRDs and kube-apiserver themselves let through, with its defaults. TrainJobs are not among them:
# their webhook asks Trainer's own plugins.
import copy

import own_cases

NS = "team"
QUEUE = {"kueue.x-k8s.io/queue-name": "a"}
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
TOPOLOGY = "kueue.x-k8s.io/podset-"
CONTAINERS = [{"name": "c", "image": "i"}]
POD = {"containers": CONTAINERS}


def marked(made, labels, annotations, status):
    """With those of them that are given."""
    if labels is not None:
        made["metadata"]["labels"] = labels
    if annotations is not None:
        made["metadata"]["annotations"] = annotations
    if status is not None:
        made["status"] = status
    return made


def thing(version, kind, spec, labels=None, annotations=None, status=None, **metadata):
    made = {"apiVersion": version, "kind": kind,
            "metadata": {"name": "x", "namespace": NS, "uid": "u", **metadata}, "spec": spec}
    return marked(made, labels, annotations, status)


def template(annotations=None, **spec):
    made = {"spec": {**POD, **spec}}
    if annotations:
        made["metadata"] = {"annotations": annotations}
    return made


def with_(thing_, labels=None, annotations=None, status=None, **spec):
    made = marked(copy.deepcopy(thing_), labels, annotations, status)
    made["spec"].update(spec)
    return made


def job(labels=QUEUE, annotations=None, pods=None, **spec):
    return thing("batch/v1", "Job", {"suspend": True, "parallelism": 1, "completions": 1, "template": pods or template(), **spec},
                 labels, annotations)


def job_set(labels=QUEUE, annotations=None, pods=None, **spec):
    inner = {"template": {"spec": {"parallelism": 2, "completions": 2, "template": pods or template()}}}
    return thing("jobset.x-k8s.io/v1alpha2", "JobSet",
                 {"suspend": True, "replicatedJobs": [{"name": "one", "replicas": 1, **inner},
                                                      {"name": "two", "replicas": 2, **inner}], **spec},
                 labels, annotations)


def ray_spec(head=None, pods=None, groups=("one",), **spec):
    return {"headGroupSpec": {"rayStartParams": {}, "template": head or template()},
            "workerGroupSpecs": [{"groupName": name, "replicas": 2, "minReplicas": 0, "maxReplicas": 9, "numOfHosts": 1,
                                  "rayStartParams": {}, "template": pods or template()} for name in groups], **spec}


def ray_cluster(labels=QUEUE, annotations=None, **spec):
    return thing("ray.io/v1", "RayCluster", {"suspend": True, **ray_spec(**spec)}, labels, annotations)


def ray_job(labels=QUEUE, annotations=None, cluster=None, **spec):
    made = {"suspend": True, "entrypoint": "e", "shutdownAfterJobFinishes": True,
            "rayClusterSpec": ray_spec() if cluster is None else cluster, **spec}
    return thing("ray.io/v1", "RayJob", {key: value for key, value in made.items() if value != "none"}, labels, annotations)


def kubeflow(kind, replicas, roles, labels=QUEUE, annotations=None, version="kubeflow.org/v1", pods=None, suspend=True):
    return thing(version, kind,
                 {"runPolicy": {"suspend": suspend},
                  replicas: {role: {"replicas": 1 if number == 0 else 2, "template": pods or template()}
                             for number, role in enumerate(roles)}}, labels, annotations)


TRAINING = [("PyTorchJob", "pytorchReplicaSpecs", ("Master", "Worker")), ("TFJob", "tfReplicaSpecs", ("Chief", "Worker")),
            ("XGBoostJob", "xgbReplicaSpecs", ("Master", "Worker")),
            ("PaddleJob", "paddleReplicaSpecs", ("Master", "Worker")), ("JAXJob", "jaxReplicaSpecs", ("Worker",))]


def mpi_job(*arguments, **named):
    return kubeflow("MPIJob", "mpiReplicaSpecs", ("Launcher", "Worker"), *arguments, version="kubeflow.org/v2beta1", **named)


def spark(labels=QUEUE, annotations=None, driver=None, **spec):
    return thing("sparkoperator.k8s.io/v1beta2", "SparkApplication",
                 {"suspend": True, "type": "Scala", "mode": "cluster", "sparkVersion": "3", "driver": driver or {},
                  "executor": {"instances": 2}, **spec}, labels, annotations)


def wrapper(labels=QUEUE, annotations=None):
    component = {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": POD}}
    return thing("workload.codeflare.dev/v1beta2", "AppWrapper", {"suspend": True, "components": [component]}, labels,
                 annotations)


def pod(labels=QUEUE, annotations=None, status=None, gated=True, **spec):
    gates = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]} if gated else {}
    return thing("v1", "Pod", {**POD, **gates, **spec}, labels, annotations, status)


GROUP = {**QUEUE, "kueue.x-k8s.io/pod-group-name": "g"}
COUNT = {"kueue.x-k8s.io/pod-group-total-count": "2"}


def serving(kind, labels=QUEUE, annotations=None, status=None, pods=None, **spec):
    return thing("apps/v1", kind, {"selector": {"matchLabels": {"a": "b"}}, "replicas": 3,
                                   "template": pods or template(), **spec}, labels, annotations, status)


def groups(labels=QUEUE, annotations=None, status=None, leader=None, workers=None, size=3, **spec):
    made = {"size": size, "workerTemplate": workers or template(), "restartPolicy": "RecreateGroupOnPodRestart"}
    if leader:
        made["leaderTemplate"] = leader
    return thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
                 {"replicas": 2, "leaderWorkerTemplate": made, **spec}, labels, annotations, status)


WEBHOOKED = [job, job_set, ray_cluster, ray_job, spark, wrapper, mpi_job, pod,
             *(lambda labels=QUEUE, annotations=None, each=each: kubeflow(*each, labels, annotations) for each in TRAINING)]
SERVING = [lambda labels=QUEUE, annotations=None, status=None: serving("Deployment", labels, annotations, status),
           lambda labels=QUEUE, annotations=None, status=None: serving("StatefulSet", labels, annotations, status), groups]


def running(made):
    started = copy.deepcopy(made)
    for holder in (started["spec"], started["spec"].get("runPolicy", {})):
        if "suspend" in holder:
            holder["suspend"] = False
    started["spec"].pop("schedulingGates", None)
    return started


def of_every_kind():
    for make in WEBHOOKED + SERVING:
        yield None, make(), []
        yield None, make({}), []
        yield None, make({"kueue.x-k8s.io/queue-name": "A"}), []
        yield None, make(annotations=ELASTIC), []
        yield None, make(annotations=gated("acme.io/x, acme.io/y")), []
        yield None, make(annotations=gated("x")), []
        yield make(annotations=gated("acme.io/x,acme.io/y")), make(annotations=gated("acme.io/x")), []
        yield make(), make(annotations=gated("acme.io/x")), []
        yield make(annotations=gated("acme.io/x")), make(annotations=gated("acme.io/z")), []
        yield make(), make({"kueue.x-k8s.io/queue-name": "b"}), []
        yield make(), make({}), []
        yield make({}), make({**QUEUE, "kueue.x-k8s.io/priority-class": "p"}), []
        yield make({**QUEUE, "kueue.x-k8s.io/priority-class": "p"}), make(), []
    for make in WEBHOOKED:
        for time in ("10", "0", "x", "-1", "+7", "99999999999999999999"):
            yield None, make({**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": time}), []
        yield make(), make({**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": "5"}), []
        yield running(make()), running(make({**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": "5"})), []
        yield None, make({**QUEUE, "kueue.x-k8s.io/prebuilt-workload-name": "w"}), []
        yield None, make({**QUEUE, "kueue.x-k8s.io/prebuilt-workload-name": ""}), []
        yield None, make({**QUEUE, "kueue.x-k8s.io/prebuilt-workload-name": "W"}), []
        yield make(), make({**QUEUE, "kueue.x-k8s.io/prebuilt-workload-name": "w"}), []
        yield running(make()), running(make({**QUEUE, "kueue.x-k8s.io/prebuilt-workload-name": "w"})), []
        yield running(make()), running(make({"kueue.x-k8s.io/queue-name": "b"})), []
        yield running(make()), running(make({})), []
        yield running(make({})), running(make()), []
        yield running(make()), make({"kueue.x-k8s.io/queue-name": "b"}), []
        yield make(), make({}), [local_queue("default")]
        yield running(make()), running(make({**QUEUE, "kueue.x-k8s.io/priority-class": "p"})), []
        yield make(), make(annotations=ELASTIC), []
        yield make({}, gated("acme.io/x")), make({}, gated("acme.io/z")), []
    for make in SERVING:
        ready = {"replicas": 3, "readyReplicas": 1}
        yield make(status=ready), make({"kueue.x-k8s.io/queue-name": "b"}, status=ready), []
        yield make({}, status=ready), make(status=ready), []
        yield make(status=ready), make({**QUEUE, "kueue.x-k8s.io/priority-class": "p"}, status=ready), []


def gated(text):
    return {"kueue.x-k8s.io/admission-gated-by": text}


def local_queue(name):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": name, "namespace": NS},
            "spec": {"clusterQueue": "c"}}


def gates():
    for text in ("", " ", ",", "acme.io/x,", "acme.io/x, acme.io/x", "acme.io", "/x", "acme.io/", "ACME/x", "acme.io/x y",
                 "acme.io/" + "x" * 55, "acme.io/" + "x" * 56, "acme.io/a/b"):
        yield None, job(annotations=gated(text)), []
    yield job(annotations=gated("acme.io/x")), job(annotations=gated(" ")), []
    yield job(annotations=gated("acme.io/x")), job(annotations=gated("")), []
    yield job(annotations=gated("acme.io/x")), job(), []
    yield job(annotations=gated("")), job(annotations=gated("acme.io/x")), []


TOPOLOGIES = [
    {"required-topology": "rack"}, {"preferred-topology": "rack"}, {"unconstrained-topology": "true"},
    {"unconstrained-topology": "maybe"}, {"required-topology": "rack", "preferred-topology": "rack"},
    {"required-topology": "a b"}, {"preferred-topology": ""},
    {"slice-required-topology": "rack"}, {"slice-size": "1"}, {"slice-required-topology": "rack", "slice-size": "1"},
    {"slice-required-topology": "rack", "slice-size": "x"}, {"slice-required-topology": "rack", "slice-size": "0"},
    {"slice-required-topology": "rack", "slice-size": "9"}, {"slice-required-topology": "a b", "slice-size": "1"},
    {"group-name": "g"}, {"group-name": "7", "required-topology": "rack"}, {"group-name": "g", "required-topology": "rack"},
    {"group-name": "g", "preferred-topology": "rack"},
    {"group-name": "g", "required-topology": "rack", "slice-required-topology": "rack", "slice-size": "1"},
]
LAYERS = ['[]', '{', '[{"topology":"a","size":4},{"topology":"b","size":2}]', '[{"topology":"a","size":4},{"topology":"b","size":3}]',
          '[{"topology":"a","size":2},{"topology":"a","size":1}]', '[{"topology":"a b","size":1}]', '[{"topology":"a","size":0}]',
          '[{"topology":"a","size":1},{"topology":"b","size":1},{"topology":"c","size":1},{"topology":"d","size":1}]']
OTHER_ANNOTATIONS = [{"kueue.x-k8s.io/pod-index-offset": "x"}, {"kueue.x-k8s.io/pod-index-offset": "-1"}]


def topologies():
    each = [{TOPOLOGY + name: value for name, value in row.items()} for row in TOPOLOGIES] + OTHER_ANNOTATIONS
    for asked in each:
        pods = template(asked)
        yield None, job(pods=pods), []
        yield job(), job(pods=pods), []
        yield None, job(parallelism=2, completions=2, pods=pods), []
        yield None, job_set(pods=pods), []
        yield None, ray_cluster(pods=pods), []
        yield None, ray_cluster(head=pods), []
        yield None, ray_cluster(head=pods, pods=pods), []
        yield None, ray_job(cluster=ray_spec(pods=pods)), []
        yield None, ray_job(cluster=ray_spec(head=pods, pods=pods)), []
        for kind in TRAINING:
            yield None, kubeflow(*kind, pods=pods), []
        yield None, mpi_job(pods=pods), []
        yield None, groups(workers=pods), []
        yield None, groups(workers=pods, leader=pods), []
        yield None, groups(leader=pods), []
        yield None, spark(driver={"annotations": asked}), []
        yield None, pod(annotations=asked), []
        yield None, job(annotations=ELASTIC, pods=pods), []
    for layers in LAYERS:
        for more in ({}, {TOPOLOGY + "slice-size": "1"}, {TOPOLOGY + "slice-required-topology": "r"},
                     {TOPOLOGY + "group-name": "g", TOPOLOGY + "required-topology": "r"}):
            asked = {TOPOLOGY + "slice-required-topology-constraints": layers, **more}
            yield None, job(parallelism=4, completions=4, pods=template(asked)), []
            yield None, kubeflow(*TRAINING[0], pods=template(asked)), []
            yield None, pod(annotations=asked), []
    other = template({TOPOLOGY + "group-name": "g", TOPOLOGY + "required-topology": "row"})
    same = template({TOPOLOGY + "group-name": "g", TOPOLOGY + "required-topology": "rack"})
    yield None, ray_cluster(head=same, pods=other), []
    yield None, groups(leader=same, workers=other), []
    yield None, ray_cluster(head=same, pods=same, groups=("one", "two")), []


def jobs():
    least = "kueue.x-k8s.io/job-min-parallelism"
    follow = "kueue.x-k8s.io/job-completions-equal-parallelism"
    for text in ("1", "3", "4", "0", "-2", "x", "+2"):
        yield None, job(annotations={least: text}, parallelism=4), []
        yield job(parallelism=4), job(annotations={least: text}, parallelism=4), []
    yield None, job(annotations={least: "2", **ELASTIC}, parallelism=4), []
    yield None, job(annotations={least: "x", **ELASTIC}, parallelism=4), []
    yield job(annotations={least: "2", **ELASTIC}, parallelism=4), job(annotations={least: "2", **ELASTIC}, parallelism=3), []
    yield job(annotations={least: "2"}, parallelism=4), job(annotations={least: "2"}, parallelism=2), []
    yield running(job(annotations={least: "2"}, parallelism=4)), running(job(annotations={least: "2"}, parallelism=3)), []
    yield running(job(annotations={least: "2"}, parallelism=4)), job(annotations={least: "2"}, parallelism=3), []
    for text in ("true", "false", "T", "x", ""):
        for mode in ("Indexed", "NonIndexed"):
            for completions in (3, 4):
                yield None, job(annotations={follow: text}, completionMode=mode, parallelism=4, completions=completions), []
    yield None, job(annotations={follow: "true"}, completionMode="Indexed", parallelism=4, completions=None), []
    indexed = {"completionMode": "Indexed", "parallelism": 4, "completions": 4}
    yield running(job(**indexed)), running(job(annotations={follow: "true"}, **indexed)), []
    yield job(**indexed), job(annotations={follow: "true"}, **indexed), []
    yield running(job(**indexed)), job(annotations={follow: "true"}, **indexed), []
    yield running(job(annotations=ELASTIC)), running(job()), []
    yield running(job(annotations=ELASTIC)), running(job(annotations=ELASTIC, labels={
        **QUEUE, "kueue.x-k8s.io/prebuilt-workload-name": "w"})), []
    yield None, job({**QUEUE, "kueue.x-k8s.io/queue-name": "a" * 260}), []


def ray():
    selector = {"clusterSelector": {"ray.io/cluster": "c"}}
    grows = {"enableInTreeAutoscaling": True}
    for labels in (QUEUE, {}):
        yield None, ray_job(labels, cluster="none", **selector), []
        yield None, ray_job(labels, **selector), []
        yield None, ray_job(labels, cluster="none"), []
        yield None, ray_job(labels, shutdownAfterJobFinishes=False), []
        yield ray_job(labels), ray_job(labels, shutdownAfterJobFinishes=False), []
        yield ray_job(labels, cluster="none", **selector), ray_job(labels, cluster="none", entrypoint="f", **selector), []
        for make in (ray_cluster, lambda labels, annotations=None, **spec: ray_job(labels, annotations, ray_spec(**spec))):
            yield None, make(labels, **grows), []
            yield None, make(labels, ELASTIC, **grows), []
            yield None, make(labels, groups=[f"g{number}" for number in range(17)]), []
            yield None, make(labels, groups=[f"g{number}" for number in range(18)]), []
            yield None, make(labels, groups=["one", "head"]), []
            yield make(labels), make(labels, **grows), []
    yield ray_job(), ray_job({}, shutdownAfterJobFinishes=False), []
    yield running(ray_cluster()), running(ray_cluster({}, enableInTreeAutoscaling=True)), []
    yield ray_cluster({}), ray_cluster(enableInTreeAutoscaling=True), []
    gate = {"schedulingGates": [{"name": "kueue.x-k8s.io/elastic-job"}]}
    held = template(**gate)
    whole = ray_cluster(annotations=ELASTIC, head=held, pods=held)
    yield whole, whole, []
    yield whole, ray_cluster(annotations=ELASTIC, head=held), []
    yield whole, ray_cluster(annotations=ELASTIC, pods=held), []
    for mode in ("cluster", "client"):
        yield None, spark(mode=mode), []
        yield None, spark({}, mode=mode), []
    yield None, spark(dynamicAllocation={"enabled": True}), []
    yield None, spark(annotations=ELASTIC, dynamicAllocation={"enabled": True}), []
    yield None, spark(dynamicAllocation={"enabled": False}), []
    yield spark({}), spark({}, mode="client"), []
    yield spark(), spark(mode="client"), []


def pods():
    final = {**COUNT, "kueue.x-k8s.io/retriable-in-group": "false"}
    yield None, pod({**QUEUE, "kueue.x-k8s.io/managed": "true"}), []
    yield None, pod({**QUEUE, "kueue.x-k8s.io/managed": "yes"}), []
    yield None, pod(GROUP), []
    yield None, pod(GROUP, COUNT), []
    yield None, pod(annotations=COUNT), []
    yield None, pod({**GROUP, "kueue.x-k8s.io/pod-group-name": "G"}, COUNT), []
    for count in ("0", "-1", "x", "", "2.0"):
        yield None, pod(GROUP, {"kueue.x-k8s.io/pod-group-total-count": count}), []
    yield pod(GROUP, COUNT), pod({**GROUP, "kueue.x-k8s.io/pod-group-name": "h"}, COUNT), []
    yield pod(GROUP, COUNT), pod(QUEUE, COUNT), []
    yield pod(GROUP, COUNT), pod(QUEUE), []
    yield pod(QUEUE), pod(GROUP, COUNT), []
    yield pod(GROUP, final), pod(GROUP, COUNT), []
    yield pod(GROUP, COUNT), pod(GROUP, final), []
    yield pod(GROUP, final), pod(GROUP, {**COUNT, "kueue.x-k8s.io/retriable-in-group": "true"}), []
    yield None, pod({**GROUP, "kueue.x-k8s.io/prebuilt-workload-name": "g"}, COUNT), []
    yield None, pod({**GROUP, "kueue.x-k8s.io/prebuilt-workload-name": "w"}, COUNT), []
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
    owned = pod({"kueue.x-k8s.io/managed": "true"}, gated=False)
    owned["metadata"]["ownerReferences"] = [owner]
    above = job({})
    above["metadata"].update(name="j", uid="1")
    yield None, owned, [above]
    yield owned, owned, [above]
    over = {"phase": "Succeeded"}
    yield pod(status=over, gated=False), pod({"kueue.x-k8s.io/queue-name": "b"}, status=over, gated=False), []


def of_workload(status):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": "statefulset-x-e10f5", "namespace": NS}, "spec": {"podSets": []}, "status": status}


def serving_kinds():
    for kind in ("Deployment", "StatefulSet"):
        image = template()
        image["spec"]["containers"] = [{"name": "c", "image": "other"}]
        more = template(nodeSelector={"a": "b"})
        asks = template()
        asks["spec"]["containers"] = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]
        for labels in (QUEUE, {}):
            for pods_ in (image, more, asks):
                yield serving(kind, labels), serving(kind, labels, pods=pods_), []
            for was, is_ in ((3, 4), (3, 0), (0, 3)):
                yield serving(kind, labels, replicas=was), serving(kind, labels, replicas=is_), []
            busy = {"replicas": 2}
            yield serving(kind, labels, status=busy, replicas=0), serving(kind, labels, status=busy, replicas=3), []
        leaving = serving(kind, replicas=4)
        leaving["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a/b"])
        yield serving(kind), leaving, []
        others = template({"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset"})
        yield None, serving(kind, {"kueue.x-k8s.io/queue-name": "A"}, pods=others), []
        yield serving(kind, pods=others), serving(kind, pods=others, replicas=5), []
    more = template(nodeSelector={"a": "b"})
    for count in (0, 1, -1, 1000000, 1000001):
        yield None, groups(replicas=count), []
    for labels in (QUEUE, {}):
        yield groups(labels), groups(labels, size=4), []
        yield groups(labels), groups(labels, workers=more), []
        yield groups(labels, leader=template()), groups(labels, leader=more), []
        yield groups(labels, leader=template()), groups(labels), []
        yield groups(labels), groups(labels, replicas=5), []
        yield groups(labels), groups(labels, replicas=-5), []


def owned():
    """What something queued has made is not judged as if it were queued itself."""
    above = job()
    above["metadata"].update(name="j", uid="1")
    free = copy.deepcopy(above)
    free["metadata"]["labels"] = {}
    more = template(nodeSelector={"a": "b"})
    changes = [(serving("StatefulSet"), serving("StatefulSet", replicas=5)),
               (serving("StatefulSet"), serving("StatefulSet", pods=more)), (groups(), groups(size=9)),
               (groups(), groups(workers=more)), (serving("Deployment"), serving("Deployment", pods=more)),
               (ray_cluster(), ray_cluster(enableInTreeAutoscaling=True)), (job(), job({"kueue.x-k8s.io/queue-name": "b"})),
               (None, ray_job(cluster="none")), (None, job(annotations=ELASTIC))]
    # The pods of a job without a queue are here the job's business (docs/deviations.md).
    for owner, more_changes in ((above, [(None, pod(gated=False))]), (free, [])):
        for pair in changes + more_changes:
            before, after = copy.deepcopy(pair)
            for made in (before, after):
                if made:
                    made["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1",
                                                            "controller": True}]
            yield before, after, [owner]


ROWS = [row for part in (of_every_kind, gates, topologies, jobs, ray, pods, serving_kinds, owned) for row in part()] + own_cases.ROWS
