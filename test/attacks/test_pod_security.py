# test/attacks/test_pod_security.py - pods that reach for the machine are refused where their namespace does not let them in, by
# whichever way they come; and who has a role in a namespace cannot change that.
import pytest


LABEL = "pod-security.kubernetes.io/"
HOST = {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}


def pod(name: str, container: dict | None = None, **spec) -> dict:
    return {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [
        {"name": "main", "image": "busybox", "command": ["true"], **(container or {})}], **spec}}


REACHING = {
    "host-path": (pod("p", **HOST), 'hostPath volumes (volume "v")'),
    "network": (pod("p", hostNetwork=True), "host namespaces (hostNetwork=true)"),
    "processes": (pod("p", hostPID=True, hostIPC=True), "host namespaces (hostPID=true, hostIPC=true)"),
    "privileged": (pod("p", {"securityContext": {"privileged": True}}), 'container "main" must not set securityContext.privileged=true'),
    "capability": (pod("p", {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}), 'must not include "SYS_ADMIN"'),
    "port": (pod("p", {"ports": [{"containerPort": 80, "hostPort": 80}]}), "hostPort 80"),
    "sysctl": (pod("p", securityContext={"sysctls": [{"name": "kernel.pid_max", "value": "9"}]}), "forbidden sysctls (kernel.pid_max)"),
    "proc": (pod("p", {"securityContext": {"procMount": "Unmasked"}}), 'must not set securityContext.procMount to "Unmasked"'),
    "seccomp": (pod("p", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}), 'seccompProfile.type to "Unconfined"'),
    "probe": (pod("p", {"livenessProbe": {"httpGet": {"host": "169.254.169.254", "port": 80}}}), "probe or lifecycle host"),
    "init": (pod("p", initContainers=[{"name": "first", "image": "busybox", "securityContext": {"privileged": True}}]), 'container "first"'),
}


@pytest.mark.parametrize("what", REACHING)
def test_f06_a_pod_that_reaches_for_the_machine_is_refused_at_once(town, what):
    ns = town.namespace()
    user = town.person(ns, "edit")
    body, words = REACHING[what]
    refused = user.post(f"/api/v1/namespaces/{ns}/pods", body)
    assert refused.status == 403 and refused.message.startswith('pods "p" is forbidden: violates PodSecurity "baseline:latest": '), refused
    assert words in refused.message, refused


def test_f06_labels_of_a_namespace_are_obeyed(town):
    strict = town.namespace({LABEL + "enforce": "restricted"})
    user = town.person(strict, "edit")
    refused = user.post(f"/api/v1/namespaces/{strict}/pods", pod("p"))
    assert refused.status == 403 and 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false' in refused.message, refused
    free = town.namespace({LABEL + "enforce": "privileged", LABEL + "warn": "baseline"})
    made = town.person(free, "edit").post(f"/api/v1/namespaces/{free}/pods", pod("p", **HOST))
    assert made.status == 201 and "would violate PodSecurity" in made.warnings[0], (made, made.warnings)
    wrong = town.admin.post("/api/v1/namespaces", {"metadata": {"name": "wrong", "labels": {LABEL + "enforce": "none"}}})
    assert wrong.status == 422 and "must be one of privileged, baseline, restricted" in wrong.message, wrong


@pytest.mark.parametrize("role", ["edit", "admin"])
def test_f06_who_works_in_a_namespace_does_not_say_what_it_takes(town, role):
    ns = town.namespace()
    user = town.person(ns, role)
    path = f"/api/v1/namespaces/{ns}"
    body = {"metadata": {"name": ns, "labels": {LABEL + "enforce": "privileged"}}}
    assert user.patch("merge", path, body).status == 403
    assert user.patch("apply", f"{path}?fieldManager=x", {"apiVersion": "v1", "kind": "Namespace", **body}).status == 403
    assert user.put(path, body).status == 403
    assert user.put(f"{path}/finalize", body).status == 403
    assert user.post("/api/v1/namespaces", {"metadata": {"name": f"{ns}-own", "labels": {LABEL + "enforce": "privileged"}}}).status == 403


def event_of(town, ns: str, kind: str, words: str) -> bool:
    events = town.admin.get(f"/api/v1/namespaces/{ns}/events").json["items"]
    return any(each["involvedObject"]["kind"] == kind and words in each.get("message", "") for each in events)


def test_f06_controllers_make_no_pod_either_that_its_author_may_not_make(town):
    ns = town.namespace()
    user = town.person(ns, "edit")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x", **HOST)["spec"]}
    job = user.post(f"/apis/batch/v1/namespaces/{ns}/jobs", {"metadata": {"name": "job"}, "spec": {"template": template}})
    assert job.status == 201 and any('would violate PodSecurity \\"baseline:latest\\"' in each for each in job.warnings), job.warnings
    running = {**template, "spec": {**template["spec"], "restartPolicy": "Always"}}
    deployment = user.post(f"/apis/apps/v1/namespaces/{ns}/deployments", {
        "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": running}})
    assert deployment.status == 201 and deployment.warnings, deployment
    wrapped = {"apiVersion": "v1", "kind": "Pod", **pod("wrapped", **HOST)}
    user.post(f"/apis/workload.codeflare.dev/v1beta1/namespaces/{ns}/appwrappers", {
        "metadata": {"name": "aw"}, "spec": {"resources": {"GenericItems": [{"generictemplate": wrapped}]}}})
    town.muster.until("the job says why", lambda: event_of(town, ns, "Job", "violates PodSecurity"))
    assert town.admin.get(f"/api/v1/namespaces/{ns}/pods").json["items"] == []


def test_f06_an_image_cannot_be_changed_in_a_namespace_that_became_stricter(town):
    ns = town.namespace({LABEL + "enforce": "privileged", LABEL + "warn": "privileged"})
    user = town.person(ns, "edit")
    path = f"/api/v1/namespaces/{ns}/pods/p"
    assert user.post(f"/api/v1/namespaces/{ns}/pods", pod("p", **HOST)).status == 201
    stricter = town.admin.patch("merge", f"/api/v1/namespaces/{ns}", {"metadata": {"labels": {LABEL + "enforce": "baseline"}}})
    assert stricter.status == 200 and any("p: hostPath volumes" in each for each in stricter.warnings), stricter.warnings
    assert user.patch("merge", path, {"metadata": {"labels": {"a": "b"}}}).status == 200
    assert user.patch("json", path, [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]).status == 403
