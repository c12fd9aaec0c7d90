# test/kube/differences/subjects.py - the kinds that are compared: a small valid object of each, and what can be done to it.
import copy
import dataclasses

import gadgets

CONTAINER = {"name": "main", "image": "busybox"}
# Nobody changes what stands behind a gate, and both servers give it the same conditions.
POD = {"containers": [CONTAINER], "schedulingGates": [{"name": "example.com/never"}]}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
WORK = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "a"}}
RAY = {"spec": {"containers": [{"name": "ray", "image": "rayproject/ray"}]}}
CLUSTER = {"headGroupSpec": {"rayStartParams": {}, "template": RAY}}


@dataclasses.dataclass(frozen=True)
class Subject:
    api: str
    kind: str
    plural: str
    body: dict
    change: dict  # A merge patch that is taken.
    namespaced: bool = True
    status: dict | None = None  # A merge patch for /status; None: there is none.
    fixed: dict | None = None  # A merge patch that is refused.
    wrong: tuple[tuple[str, dict], ...] = ()  # Merged over the body: refused, or taken with words.
    scale: bool = False
    suffix: str = ""  # What every name ends in. "NAME" in the body stands for the name without it.

    @property
    def group(self) -> str:
        return self.api.rpartition("/")[0]

    @property
    def custom(self) -> bool:
        return self.group.endswith((".x-k8s.io", "ray.io", "codeflare.dev", "mcad.ibm.com", "example.com"))

    @property
    def root(self) -> str:
        return ("/apis/" if "/" in self.api else "/api/") + self.api

    def at(self, ns: str, name: str = "", sub: str = "") -> str:
        """The path of a collection, an object, or a part of one."""
        path = f"{self.root}/namespaces/{ns}/{self.plural}" if self.namespaced else f"{self.root}/{self.plural}"
        return path + (f"/{name}" if name else "") + (f"/{sub}" if sub else "")

    def made(self, name: str, over: dict | None = None, **metadata) -> dict:
        body = {"apiVersion": self.api, "kind": self.kind, "metadata": {"name": name, **metadata}, **copy.deepcopy(self.body)}
        return merged(body, over or {})

    def __str__(self) -> str:
        return f"{self.plural}.{self.api}"


def merged(body, patch):
    """A JSON merge patch, applied."""
    if not isinstance(patch, dict):
        return patch
    made = dict(body) if isinstance(body, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), value)
    return made


def spec(**fields) -> dict:
    return {"spec": fields}


# Fields of a pod that a variable or a file, or neither, may show.
FIELDS = ["metadata", "metadata.labels", "metadata.labels['a b']", "metadata.annotations['A/b c']", "spec['a']", "metadata.labels[']", "spec.host",
          "spec.schedulerName", "status.phase"]

NAME = {"fieldRef": {"fieldPath": "metadata.name"}}
# Volumes that are refused, most for one thing.
VOLUMES = {
    "a file above": {"downwardAPI": {"items": [{"path": "a/../../b", **NAME}]}},
    "a file from the root": {"configMap": {"name": "a", "items": [{"key": "a", "path": "/b"}]}},
    "a file of the kubelet": {"secret": {"secretName": "a", "items": [{"key": "a", "path": "..b"}]}},
    "a file without anything": {"secret": {"secretName": "a", "items": [{}]}},
    "a mode of all": {"configMap": {"name": "a", "defaultMode": 512}},
    "a mode of one": {"secret": {"secretName": "a", "items": [{"key": "a", "path": "b", "mode": -1}]}},
    "modes of fields": {"downwardAPI": {"defaultMode": -1, "items": [{"path": "a", "mode": 512, **NAME}]}},
    "no secret": {"secret": {}}, "no map": {"configMap": {}}, "no claim": {"persistentVolumeClaim": {}}, "no driver": {"csi": {}},
    "no path": {"hostPath": {}}, "a path upwards": {"hostPath": {"path": "/a/../b"}},
    "a type": {"hostPath": {"path": "/a", "type": "Nothing"}},
    "no server": {"nfs": {}}, "a server": {"nfs": {"server": "a", "path": "b"}},
    "a file of two": {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}, **NAME}]}},
    "an amount of nobody": {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
    "an amount of nothing": {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"containerName": "main", "resource": "cpu"}}]}},
    "an amount in parts": {"downwardAPI": {"items": [
        {"path": "a", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory", "divisor": "7"}}]}},
    "two of a path": {"projected": {"sources": [{"secret": {"name": "a", "items": [{"key": "a", "path": "b"}]}},
                                                {"configMap": {"name": "c", "items": [{"key": "a", "path": "b"}]}},
                                                {"downwardAPI": {"items": [{"path": "b", **NAME}]}}]}},
    "a source of two": {"projected": {"defaultMode": 512, "sources": [{"secret": {}, "configMap": {"name": "a"}}]}},
    "a token": {"projected": {"sources": [{"serviceAccountToken": {"path": "../a", "expirationSeconds": 60}}]}},
    "a token of no path": {"projected": {"sources": [{"serviceAccountToken": {"path": "", "expirationSeconds": 5000000000}}]}},
    "three kinds": {"configMap": {}, "secret": {}, "emptyDir": {}},
}
# Where a variable's value cannot come from.
VARIABLES = {
    "no amount": {"resourceFieldRef": {"resource": ""}}, "an amount of nothing": {"resourceFieldRef": {"resource": "limits.gpu"}},
    "an amount in bytes": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1Ki"}},
    "an amount in halves": {"resourceFieldRef": {"resource": "limits.ephemeral-storage", "divisor": "500m"}},
    "huge pages in parts": {"resourceFieldRef": {"resource": "limits.hugepages-2Mi", "divisor": "3"}},
    "no key": {"configMapKeyRef": {"name": "a", "key": ""}}, "a key": {"secretKeyRef": {"name": "a", "key": "a b"}},
    "a name": {"configMapKeyRef": {"name": "A_b", "key": "a"}},
    "no name": {"secretKeyRef": {"key": "a"}}, "two places": {"secretKeyRef": {"name": "a"}, **NAME}, "no place": {},
}

CORE = [
    Subject("v1", "ConfigMap", "configmaps", {"data": {"a": "1"}}, {"data": {"a": "2"}}, fixed={"immutable": True},
            wrong=(("a key", {"data": {"a b": "1"}}), ("a number", {"data": {"a": 1}}), ("both", {"binaryData": {"a": "aaaa"}}),
                   ("no base64", {"binaryData": {"b": "!"}}))),
    Subject("v1", "Secret", "secrets", {"data": {"a": "YQ=="}}, {"stringData": {"b": "c"}}, fixed={"type": "other"},
            wrong=(("no base64", {"data": {"a": "!"}}), ("a key", {"data": {"a b": "YQ=="}}),
                   ("tls", {"type": "kubernetes.io/tls"}), ("basic", {"type": "kubernetes.io/basic-auth", "data": {"a": "YQ=="}}))),
    Subject("v1", "Pod", "pods", {"spec": POD}, {"metadata": {"labels": {"changed": "yes"}}},
            status={"status": {"conditions": [{"type": "example.com/seen", "status": "True"}]}},
            fixed=spec(hostname="other"),
            wrong=(("no containers", spec(containers=[])), ("no image", spec(containers=[{"name": "a"}])),
                   ("no name", spec(containers=[{"image": "a"}])), ("two of a name", spec(containers=[CONTAINER, CONTAINER])),
                   ("restart policy", spec(restartPolicy="Sometimes")), ("negative grace", spec(terminationGracePeriodSeconds=-1)),
                   ("a quantity", spec(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "-1"}}}])),
                   ("more than the limit", spec(containers=[{**CONTAINER, "resources": {
                       "requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}])),
                   ("a port", spec(containers=[{**CONTAINER, "ports": [{"containerPort": 70000}]}])),
                   ("a mount of nothing", spec(containers=[{**CONTAINER, "volumeMounts": [{"name": "a", "mountPath": "/a"}]}])),
                   ("a variable", spec(containers=[{**CONTAINER, "env": [{"name": ""}]}])),
                   ("a variable of two kinds", spec(containers=[{**CONTAINER, "env": [
                       {"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}])),
                   ("a field path", spec(containers=[{**CONTAINER, "env": [
                       {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nothing"}}}]}])),
                   ("a volume of no kind", spec(volumes=[{"name": "a"}])),
                   ("a volume of two kinds", spec(volumes=[{"name": "a", "emptyDir": {}, "configMap": {"name": "a"}}])),
                   ("two volumes of a name", spec(volumes=[{"name": "a"}, {"name": "a"}])),
                   ("a toleration", spec(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}])),
                   ("a probe of nothing", spec(containers=[{**CONTAINER, "livenessProbe": {}}])),
                   ("a pull policy", spec(containers=[{**CONTAINER, "imagePullPolicy": "Maybe"}])),
                   ("a class that is not there", spec(priorityClassName="nothing")),
                   ("a priority", spec(priority=5)), ("an account that is not there", spec(serviceAccountName="nothing")),
                   ("a node selector", spec(nodeSelector={"a b": "c"})), ("a host name", spec(hostname="A_b")),
                   ("a dns policy", spec(dnsPolicy="Nothing")), ("a deadline", spec(activeDeadlineSeconds=0)),
                   ("an init container of that name", spec(initContainers=[CONTAINER])),
                   *((f"a variable of {field}", spec(containers=[{**CONTAINER, "env": [
                       {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": field}}}]}])) for field in FIELDS),
                   *((f"a file of {field}", spec(volumes=[{"name": "a", "downwardAPI": {"items": [
                       {"path": "a", "fieldRef": {"fieldPath": field}}]}}])) for field in FIELDS),
                   ("another version of a field", spec(containers=[{**CONTAINER, "env": [
                       {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}}}]}])),
                   *((f"a volume with {what}", spec(volumes=[{"name": "a", **volume}])) for what, volume in VOLUMES.items()),
                   *((f"a variable with {what}", spec(containers=[{**CONTAINER, "env": [{"name": "A", "valueFrom": source}]}]))
                     for what, source in VARIABLES.items()),
                   ("a file of nothing", spec(volumes=[{"name": "a", "projected": {"sources": [
                       {"downwardAPI": {"items": [{"path": "a"}]}}]}}])))),
    Subject("v1", "Service", "services", spec(ports=[{"port": 80}], selector={"app": "a"}), spec(selector={"app": "b"}),
            status={"status": {"conditions": [{"type": "A", "status": "True", "reason": "B", "message": "", "lastTransitionTime":
                                               "2001-01-01T00:00:00Z"}]}},
            fixed=spec(clusterIP="10.96.200.200"),
            wrong=(("no ports", spec(ports=[])), ("a port", spec(ports=[{"port": 0}])), ("a type", spec(type="Nothing")),
                   ("two without names", spec(ports=[{"port": 80}, {"port": 81}])),
                   ("a protocol", spec(ports=[{"port": 80, "protocol": "ICMP"}])),
                   ("an address", spec(clusterIP="nothing")), ("affinity", spec(sessionAffinity="Maybe")),
                   ("no external name", spec(type="ExternalName", ports=None)))),
    Subject("v1", "ServiceAccount", "serviceaccounts", {}, {"automountServiceAccountToken": False},
            wrong=(("secrets", {"secrets": "a"}),)),
    Subject("v1", "Endpoints", "endpoints", {"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]},
            {"subsets": [{"addresses": [{"ip": "10.1.2.4"}], "ports": [{"port": 80}]}]},
            wrong=(("an address", {"subsets": [{"addresses": [{"ip": "a"}], "ports": [{"port": 80}]}]}),)),
    Subject("v1", "Event", "events", {"involvedObject": {"namespace": "NS", "name": "a"}, "reason": "Seen", "type": "Normal"},
            {"count": 2}, wrong=(("another namespace", {"involvedObject": {"namespace": "default"}}),)),
    Subject("v1", "LimitRange", "limitranges", spec(limits=[{"type": "Container", "max": {"cpu": "2"}}]),
            spec(limits=[{"type": "Container", "max": {"cpu": "3"}}]),
            wrong=(("min above max", spec(limits=[{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}])),
                   ("a default for pods", spec(limits=[{"type": "Pod", "default": {"cpu": "1"}}])))),
    Subject("v1", "ResourceQuota", "resourcequotas", spec(hard={"count/things.example.com": "1"}),
            spec(hard={"count/things.example.com": "2"}),
            status={"status": {"used": {"count/things.example.com": "1"}}},
            wrong=(("negative", spec(hard={"pods": "-1"})), ("half a pod", spec(hard={"pods": "500m"})))),
    Subject("v1", "PersistentVolumeClaim", "persistentvolumeclaims",
            spec(accessModes=["ReadWriteOnce"], resources={"requests": {"storage": "1Gi"}}), {"metadata": {"labels": {"a": "b"}}},
            status={"status": {"phase": "Bound"}}, fixed=spec(accessModes=["ReadOnlyMany"]),
            wrong=(("no mode", spec(accessModes=[])), ("no size", spec(resources=None)))),
    Subject("v1", "PersistentVolume", "persistentvolumes",
            spec(capacity={"storage": "1Gi"}, accessModes=["ReadWriteOnce"], hostPath={"path": "/a"}),
            {"metadata": {"labels": {"a": "b"}}}, namespaced=False, status={"status": {"phase": "Failed"}},
            wrong=(("no source", spec(hostPath=None)), ("no capacity", spec(capacity=None)))),
    Subject("v1", "ReplicationController", "replicationcontrollers", spec(replicas=1, selector={"app": "a"}, template=TEMPLATE),
            spec(replicas=2), status={"status": {"replicas": 1}}, scale=True,
            wrong=(("negative", spec(replicas=-1)), ("a selector of others", spec(selector={"app": "b"})))),
    Subject("v1", "PodTemplate", "podtemplates", {"template": TEMPLATE}, {"template": {"metadata": {"labels": {"b": "c"}}}}),
    Subject("v1", "Node", "nodes", {}, spec(unschedulable=True), namespaced=False,
            status={"status": {"conditions": [{"type": "Seen", "status": "True"}]}}, fixed=spec(podCIDR="nothing"),
            wrong=(("a taint", spec(taints=[{"key": "a", "effect": "Never"}])),)),
    Subject("v1", "Namespace", "namespaces", {}, {"metadata": {"labels": {"a": "b"}}}, namespaced=False,
            status={"status": {"conditions": [{"type": "Seen", "status": "True"}]}}),
]

APPS = [
    Subject("apps/v1", "Deployment", "deployments", spec(selector=SELECTOR, template=TEMPLATE), spec(replicas=3),
            status={"status": {"replicas": 1, "observedGeneration": 1}}, fixed=spec(selector={"matchLabels": {"app": "b"}}), scale=True,
            wrong=(("no selector", spec(selector=None)), ("a selector of others", spec(selector={"matchLabels": {"app": "b"}})),
                   ("negative", spec(replicas=-1)), ("a strategy", spec(strategy={"type": "Nothing"})),
                   ("a policy", spec(template={"spec": {"restartPolicy": "Never"}})),
                   ("nothing at all", spec(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})))),
    Subject("apps/v1", "ReplicaSet", "replicasets", spec(selector=SELECTOR, template=TEMPLATE), spec(replicas=3),
            status={"status": {"replicas": 1}}, fixed=spec(selector={"matchLabels": {"app": "b"}}), scale=True,
            wrong=(("no selector", spec(selector=None)), ("negative", spec(replicas=-1)))),
    Subject("apps/v1", "StatefulSet", "statefulsets", spec(selector=SELECTOR, template=TEMPLATE, serviceName="a"), spec(replicas=3),
            status={"status": {"replicas": 1}}, fixed=spec(serviceName="b"), scale=True,
            wrong=(("no selector", spec(selector=None)), ("a management", spec(podManagementPolicy="Nothing")),
                   ("negative", spec(replicas=-1)), ("a strategy", spec(updateStrategy={"type": "Nothing"})))),
    Subject("apps/v1", "DaemonSet", "daemonsets", spec(selector=SELECTOR, template=TEMPLATE), spec(minReadySeconds=3),
            status={"status": {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 0}},
            fixed=spec(selector={"matchLabels": {"app": "b"}}), wrong=(("no selector", spec(selector=None)),)),
    Subject("apps/v1", "ControllerRevision", "controllerrevisions", {"revision": 1, "data": {"a": 1}}, {"revision": 2},
            fixed={"data": {"a": 2}}, wrong=(("negative", {"revision": -1}),)),
    Subject("batch/v1", "Job", "jobs", spec(template=WORK), spec(parallelism=2), status={"status": {"active": 1}},
            fixed=spec(template={"spec": {"hostname": "other"}}),
            wrong=(("a policy", spec(template={"spec": {"restartPolicy": "Always"}})), ("negative", spec(parallelism=-1)),
                   ("no policy", spec(template={"spec": {"restartPolicy": None}})),
                   ("indexed without a count", spec(completionMode="Indexed")), ("a mode", spec(completionMode="Nothing")),
                   ("negative limit", spec(backoffLimit=-1)), ("negative deadline", spec(activeDeadlineSeconds=-1)),
                   ("a selector", spec(selector=SELECTOR)), ("no template", spec(template=None)),
                   ("indexes without mode", spec(backoffLimitPerIndex=1)), ("a manager", spec(managedBy="nobody")),
                   ("a failure policy", spec(podFailurePolicy={"rules": [{"action": "Nothing"}]})))),
    Subject("batch/v1", "CronJob", "cronjobs", spec(schedule="* * * * *", jobTemplate=spec(template=WORK)), spec(suspend=True),
            status={"status": {"lastScheduleTime": "2001-01-01T00:00:00Z"}},
            wrong=(("a schedule", spec(schedule="never")), ("no schedule", spec(schedule=None)),
                   ("a policy", spec(concurrencyPolicy="Nothing")))),
    Subject("coordination.k8s.io/v1", "Lease", "leases", spec(holderIdentity="a", leaseDurationSeconds=15), spec(holderIdentity="b"),
            wrong=(("negative", spec(leaseDurationSeconds=-1)), ("a time", spec(renewTime="yesterday")))),
    Subject("discovery.k8s.io/v1", "EndpointSlice", "endpointslices",
            {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"name": "a", "port": 80}]},
            {"endpoints": [{"addresses": ["10.1.2.4"]}]}, fixed={"addressType": "IPv6"},
            wrong=(("an address", {"endpoints": [{"addresses": ["a"]}]}), ("a type", {"addressType": "Nothing"}))),
    Subject("events.k8s.io/v1", "Event", "events", {
        "eventTime": "2001-01-01T00:00:00.000000Z", "reportingController": "a.b/c", "reportingInstance": "a", "action": "Seeing",
        "reason": "Seen", "type": "Normal", "regarding": {"namespace": "NS", "name": "a"}},
            {"series": {"count": 2, "lastObservedTime": "2001-01-01T00:00:00.000000Z"}},
            wrong=(("no controller", {"reportingController": None}), ("a type", {"type": "Nothing"}), ("no time", {"eventTime": None}))),
    Subject("networking.k8s.io/v1", "Ingress", "ingresses",
            spec(defaultBackend={"service": {"name": "a", "port": {"number": 80}}}),
            spec(defaultBackend={"service": {"name": "b", "port": {"number": 80}}}),
            status={"status": {"loadBalancer": {"ingress": [{"ip": "10.1.2.3"}]}}}, wrong=(("nothing", {"spec": {"defaultBackend": None}}),)),
    Subject("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", spec(podSelector={}, policyTypes=["Ingress"]),
            spec(podSelector={"matchLabels": {"a": "b"}}), wrong=(("a type", spec(policyTypes=["Nothing"])),)),
    Subject("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", spec(minAvailable=1, selector=SELECTOR), spec(minAvailable=2),
            status={"status": {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}},
            wrong=(("both", spec(maxUnavailable=1)), ("negative", spec(minAvailable=-1)))),
    Subject("rbac.authorization.k8s.io/v1", "Role", "roles", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
            {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]},
            wrong=(("no verbs", {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
                   ("paths", {"rules": [{"nonResourceURLs": ["/a"], "verbs": ["get"]}]}))),
    Subject("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings",
            {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
             "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]},
            {"subjects": [{"kind": "ServiceAccount", "name": "other", "namespace": "default"}]}, fixed={"roleRef": {"name": "edit"}},
            wrong=(("no name", {"roleRef": {"name": None}}), ("a kind", {"roleRef": {"kind": "Pod"}}),
                   ("a subject", {"subjects": [{"kind": "Nobody", "name": "a"}]}))),
]

OF_THE_CLUSTER = [
    Subject("networking.k8s.io/v1", "IngressClass", "ingressclasses", spec(controller="example.com/a"),
            {"metadata": {"labels": {"a": "b"}}}, namespaced=False, fixed=spec(controller="example.com/b"),
            wrong=(("a controller", spec(controller="no domain")),)),
    Subject("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", {"handler": "a"}, {"metadata": {"labels": {"a": "b"}}}, namespaced=False,
            fixed={"handler": "b"}, wrong=(("no handler", {"handler": None}), ("a handler", {"handler": "A_b"}))),
    Subject("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", {"rules": [{"nonResourceURLs": ["/a"], "verbs": ["get"]}]},
            {"rules": []}, namespaced=False, wrong=(("no verbs", {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),)),
    Subject("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings",
            {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
             "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "nobody"}]},
            {"subjects": []}, namespaced=False, fixed={"roleRef": {"name": "edit"}}),
    Subject("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", {"value": 5}, {"description": "changed"}, namespaced=False,
            fixed={"value": 6}, wrong=(("too high", {"value": 2000000000}), ("a policy", {"preemptionPolicy": "Nothing"}))),
    Subject("storage.k8s.io/v1", "StorageClass", "storageclasses", {"provisioner": "example.com/a"}, {"allowVolumeExpansion": True},
            namespaced=False, fixed={"provisioner": "example.com/b"}, wrong=(("no provisioner", {"provisioner": None}),)),
]

# It is asked about what is nowhere.
WEBHOOK = {"name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/a"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
           "rules": [{"apiGroups": ["nothing.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}]}
WRONG_WEBHOOKS = tuple((what, {"webhooks": [merged(WEBHOOK, over)]}) for what, over in (
    ("no name", {"name": None}), ("a name", {"name": "a"}), ("no effects", {"sideEffects": None}), ("some effects", {"sideEffects": "Some"}),
    ("no versions", {"admissionReviewVersions": []}), ("a policy", {"failurePolicy": "Maybe"}), ("a timeout", {"timeoutSeconds": 31}),
    ("no address", {"clientConfig": {"url": None}}), ("an address", {"clientConfig": {"url": "http://a"}}),
    ("two addresses", {"clientConfig": {"service": {"namespace": "a", "name": "b"}}}), ("a match", {"matchPolicy": "Nearly"}),
    ("an operation", {"rules": [{**WEBHOOK["rules"][0], "operations": ["READ"]}]}), ("no resources", {"rules": [{**WEBHOOK["rules"][0], "resources": []}]}),
    ("a scope", {"rules": [{**WEBHOOK["rules"][0], "scope": "All"}]}),
    ("a selector", {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
    ("a condition", {"matchConditions": [{"name": "a", "expression": "1 +"}]}), ("a number", {"matchConditions": [{"name": "a", "expression": "1"}]})))
TWO_WEBHOOKS = (("two of a name", {"webhooks": [WEBHOOK, WEBHOOK]}),)
ADMISSION = "admissionregistration.k8s.io/v1"

SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA}
WRONG_DEFINITIONS = (
    ("another name", {"spec": {"names": {"plural": "others"}}}), ("a scope", spec(scope="World")), ("no versions", spec(versions=[])),
    ("two that are stored", spec(versions=[VERSION, {**VERSION, "name": "v2"}])), ("none that is stored", spec(versions=[{**VERSION, "storage": False}])),
    ("no schema", spec(versions=[{**VERSION, "schema": None}])), ("no kind", {"spec": {"names": {"kind": ""}}}),
    ("no type", spec(versions=[{**VERSION, "schema": {"openAPIV3Schema": {"properties": {"a": {}}}}}])),
    ("a rule", spec(versions=[{**VERSION, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-validations": [{"rule": "1 +"}]}}}])),
    ("a column", spec(versions=[{**VERSION, "additionalPrinterColumns": [{"name": "A", "type": "nothing", "jsonPath": ".a"}]}])),
    ("a path", spec(versions=[{**VERSION, "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": "a["}]}])),
    ("a scale", spec(versions=[{**VERSION, "subresources": {"scale": {"specReplicasPath": "a", "statusReplicasPath": ".spec.b"}}}])),
    ("a conversion", spec(conversion={"strategy": "Webhook"})), ("unknown fields", spec(preserveUnknownFields=True)))

EXTENSIONS = [
    Subject(ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", {"webhooks": [WEBHOOK]},
            {"webhooks": [{**WEBHOOK, "timeoutSeconds": 5}]}, namespaced=False,
            wrong=(*WRONG_WEBHOOKS, *TWO_WEBHOOKS, ("again", {"webhooks": [{**WEBHOOK, "reinvocationPolicy": "Always"}]}))),
    Subject(ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", {"webhooks": [WEBHOOK]},
            {"webhooks": [{**WEBHOOK, "timeoutSeconds": 5}]}, namespaced=False, wrong=(*WRONG_WEBHOOKS, *TWO_WEBHOOKS)),
    Subject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions",
            spec(group="compared.example.com", scope="Namespaced", names={"plural": "NAME", "kind": "NAME"}, versions=[VERSION]),
            spec(versions=[{**VERSION, "deprecated": True}]), namespaced=False, fixed=spec(scope="Cluster"), suffix=".compared.example.com",
            wrong=WRONG_DEFINITIONS),
]

KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVORS = [{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}]
OURS = [
    Subject(KUEUE, "ResourceFlavor", "resourceflavors", {"spec": {}}, spec(nodeLabels={"a": "b"}), namespaced=False,
            wrong=(("labels", spec(nodeLabels="a")), ("nine taints", spec(nodeTaints=[{"key": f"a{i}", "effect": "NoSchedule"} for i in range(9)])))),
    Subject(KUEUE, "ClusterQueue", "clusterqueues", spec(resourceGroups=FLAVORS, namespaceSelector={}), spec(stopPolicy="Hold"),
            namespaced=False, status={"status": {"pendingWorkloads": 1}},
            wrong=(("a strategy", spec(queueingStrategy="Nothing")), ("a cohort", spec(cohortName="A_b")),
                   ("a quota", spec(resourceGroups=[{"coveredResources": ["cpu"], "flavors": [
                       {"name": "a", "resources": [{"name": "cpu", "nominalQuota": "much"}]}]}])))),
    Subject(KUEUE, "LocalQueue", "localqueues", spec(clusterQueue="a"), spec(stopPolicy="Hold"),
            status={"status": {"pendingWorkloads": 1}}, fixed=spec(clusterQueue="b"), wrong=(("a policy", spec(stopPolicy="Nothing")),)),
    Subject(KUEUE, "Workload", "workloads", spec(podSets=[{"name": "main", "count": 1, "template": WORK}]), spec(active=False),
            status={"status": {"conditions": [{"type": "Seen", "status": "True", "reason": "A", "message": "",
                                               "lastTransitionTime": "2001-01-01T00:00:00Z"}]}},
            wrong=(("no pod sets", spec(podSets=[])), ("a count", spec(podSets=[{"name": "main", "count": -1, "template": WORK}])))),
    Subject(KUEUE, "AdmissionCheck", "admissionchecks", spec(controllerName="a.b/c"), {"metadata": {"labels": {"a": "b"}}},
            namespaced=False, status={"status": {}}, fixed=spec(controllerName="other")),
    Subject(KUEUE, "Cohort", "cohorts", {"spec": {}}, spec(parentName="b"), namespaced=False, wrong=(("a parent", spec(parentName="A_b")),)),
    Subject(KUEUE, "Topology", "topologies", spec(levels=[{"nodeLabel": "a"}]), {"metadata": {"labels": {"a": "b"}}}, namespaced=False,
            fixed=spec(levels=[{"nodeLabel": "b"}]), wrong=(("no levels", spec(levels=[])),)),
    Subject(KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses", {"value": 5}, {"description": "a"}, namespaced=False,
            fixed={"value": 6}),
    Subject("ray.io/v1", "RayCluster", "rayclusters", {"spec": CLUSTER}, spec(suspend=True), status={"status": {"state": "ready"}},
            wrong=(("no head", spec(headGroupSpec=None)), ("replicas", spec(workerGroupSpecs=[{"replicas": "a"}])))),
    Subject("ray.io/v1", "RayJob", "rayjobs", spec(entrypoint="true", rayClusterSpec=CLUSTER), spec(suspend=True),
            status={"status": {"jobStatus": "RUNNING"}}, wrong=(("a mode", spec(submissionMode=5)),)),
    Subject(KUEUE, "MultiKueueCluster", "multikueueclusters", spec(clusterSource={"kubeConfig": {"location": "a"}}),
            spec(clusterSource={"kubeConfig": {"location": "b"}}), namespaced=False,
            status={"status": {"conditions": [{"type": "Active", "status": "True", "reason": "A", "message": "",
                                               "lastTransitionTime": "2001-01-01T00:00:00Z"}]}},
            wrong=(("no source", spec(clusterSource=None)), ("two", spec(clusterSource={"clusterProfileRef": {"name": "a"}})),
                   ("a type", {"spec": {"clusterSource": {"kubeConfig": {"locationType": "Wall"}}}}))),
    Subject(KUEUE, "MultiKueueConfig", "multikueueconfigs", spec(clusters=["a"]), spec(clusters=["b"]), namespaced=False,
            wrong=(("none", spec(clusters=[])), ("one twice", spec(clusters=["a", "a"])), ("many", spec(clusters=[f"a{i}" for i in range(21)])))),
    Subject(KUEUE, "ProvisioningRequestConfig", "provisioningrequestconfigs", spec(provisioningClassName="a"), spec(provisioningClassName="b"),
            namespaced=False, wrong=(("no class", spec(provisioningClassName=None)), ("a class", spec(provisioningClassName="A_b")),
                                     ("a policy", spec(podSetMergePolicy="Nothing")), ("retries", spec(retryStrategy={"backoffLimitCount": "x"})))),
    *(Subject(f"{group}/v1beta1", "AppWrapper", "appwrappers",
              spec(priority=1, resources={"GenericItems": [{"generictemplate": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}}]}),
              spec(priority=2), status={"status": {"state": "Running"}}, wrong=(("a priority", spec(priority="high")), ("resources", spec(resources=5))))
      for group in ("workload.codeflare.dev", "mcad.ibm.com")),
]
# The same kinds in another version that is served. Those that a webhook converts are not: see NOT_COMPARED.
OLDER = {"AdmissionCheck": "kueue.x-k8s.io/v1beta1", "MultiKueueConfig": "kueue.x-k8s.io/v1beta1", "ProvisioningRequestConfig": "kueue.x-k8s.io/v1beta1",
         "ResourceFlavor": "kueue.x-k8s.io/v1beta1", "Topology": "kueue.x-k8s.io/v1beta1", "WorkloadPriorityClass": "kueue.x-k8s.io/v1beta1",
         "RayCluster": "ray.io/v1alpha1", "RayJob": "ray.io/v1alpha1"}
OURS += [dataclasses.replace(each, api=OLDER[each.kind]) for each in OURS if each.kind in OLDER]
# A user's: made on both servers.
USERS = [Subject(f"{gadgets.GROUP}/{version}", "Gadget", "gadgets", gadgets.BODY, gadgets.CHANGE, fixed=spec(fixed="twice"), wrong=gadgets.WRONG,
                 status={"status": {"replicas": 1, "selector": "a=b", "conditions": [{"type": "Ready", "status": "True"}]}}, scale=True)
         for version in ("v1", "v1alpha1")]

EVERY = CORE + APPS + OF_THE_CLUSTER + EXTENSIONS + OURS + USERS
OF_NAME = {f"{each.kind}": each for each in reversed(EVERY) if each.api != "events.k8s.io/v1"}  # Of several versions the first.
# What is served and has no subject, and why.
NOT_COMPARED = {
    **dict.fromkeys([f"kueue.x-k8s.io/v1beta1 {plural}" for plural in ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")],
                    "a webhook of Muster's own converts it there: test_webhooks.py"),
    "workload.codeflare.dev/v1beta2 appwrappers": "there is no definition of it to give to the other server",
    "v1 bindings": "it makes nothing: cases_server.parts_of_pods",
    **dict.fromkeys([f"authorization.k8s.io/v1 {plural}" for plural in (
        "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews")], "a question: cases_server.access"),
    **dict.fromkeys([f"authentication.k8s.io/v1 {plural}" for plural in ("selfsubjectreviews", "tokenreviews")], "a question: cases_server.access"),
}
# Kinds that play no cases of objects, and why.
LEFT_OUT = {
    # Admission plugins put finalizers on them that only controllers of volumes take away, and there are none: from the first
    # deletion on, nothing is the same.
    "PersistentVolume", "PersistentVolumeClaim",
    # What it holds is typed there in a way in which its own server cannot read it back: no patch of one made by hand is taken.
    "ControllerRevision",
}
# Kinds that nothing here acts on: they are kept with their defaults, and what else may be wrong with them than types is not looked
# at (a row of docs/deviations.md). They play everything but the cases of wrong contents.
KEPT = {"ResourceQuota", "ReplicationController", "PodTemplate", "DaemonSet", "CronJob", "Ingress", "IngressClass", "NetworkPolicy",
        "PodDisruptionBudget", "StorageClass", "Endpoints", "EndpointSlice", "LimitRange", "Event"}
ALL = [each for each in EVERY if each.kind not in LEFT_OUT]
