# test/attacks/test_rights.py - who has a role in one namespace gets nothing beyond it: rights, other tenants' addresses, words in
# others' names.
import base64
import json
import os
import pathlib
import subprocess
import tempfile

import pytest

from people import e2e

RBAC = "rbac.authorization.k8s.io"


def wrapper(name: str, *templates: dict, group: str = "workload.codeflare.dev") -> dict:
    return {"apiVersion": f"{group}/v1beta1", "kind": "AppWrapper", "metadata": {"name": name},
            "spec": {"resources": {"GenericItems": [{"generictemplate": each} for each in templates]}}}


def wrapped_rights(town, ns: str) -> list[dict]:
    return [{"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "take"},
             "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
             "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": ns}]},
            {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "take"},
             "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}]


MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "harmless"}}


@pytest.mark.parametrize("group", ["workload.codeflare.dev", "mcad.ibm.com"])
def test_f03_rights_are_not_to_be_had_by_wrapping_them(town, group):
    ns = town.namespace()
    admin = town.person(ns, "admin")
    path = f"/apis/{group}/v1beta1/namespaces/{ns}/appwrappers"
    for number, rights in enumerate(wrapped_rights(town, ns)):
        refused = admin.post(path, wrapper("direct", rights, group=group))
        assert refused.status in (403, 422) and "must not wrap roles or bindings" in refused.message, refused
        name = f"later-{number}"
        # It asks for more than there is, so that it waits and may be changed.
        waiting = wrapper(name, MAP, group=group)
        waiting["spec"]["resources"]["GenericItems"][0]["custompodresources"] = [{"replicas": 1, "requests": {"cpu": 1000}}]
        assert admin.post(path, waiting).status == 201
        items = [{"generictemplate": rights}]
        for how, body in [("merge", {"spec": {"resources": {"GenericItems": items}}}),
                          ("json", [{"op": "replace", "path": "/spec/resources/GenericItems", "value": items}]),
                          ("apply", wrapper(name, rights, group=group))]:
            changed = admin.patch(how, f"{path}/{name}?fieldManager=x" + ("&force=true" if how == "apply" else ""), body)
            assert changed.status in (403, 422) and "must not wrap roles or bindings" in changed.message, (how, changed)
        whole = admin.get(f"{path}/{name}").json
        whole["spec"]["resources"]["GenericItems"] = items
        assert admin.put(f"{path}/{name}", whole).status in (403, 422)
    assert not admin.may("*", "*", "*")


def test_f03_what_is_wrapped_is_the_authors_to_create_at_every_change(town):
    ns = town.namespace()
    path = f"/apis/workload.codeflare.dev/v1beta1/namespaces/{ns}/appwrappers"
    rules = [{"verbs": ["*"], "apiGroups": ["workload.codeflare.dev"], "resources": ["appwrappers"]},
             {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}]
    user = town.person(ns, rules=rules)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert user.post(path, wrapper("a", secret)).status == 403
    waiting = wrapper("a", MAP)
    waiting["spec"]["resources"]["GenericItems"][0]["custompodresources"] = [{"replicas": 1, "requests": {"cpu": 1000}}]
    assert user.post(path, waiting).status == 201
    refused = user.patch("merge", f"{path}/a", {"spec": {"resources": {"GenericItems": [{"generictemplate": secret}]}}})
    assert refused.status == 403 and 'cannot create resource "secrets"' in refused.message, refused


def test_f04_a_role_that_is_not_there_is_bound_by_those_only_who_may_bind_it(town):
    ns = town.namespace()
    admin = town.person(ns, "admin")
    path = f"/apis/{RBAC}/v1/namespaces/{ns}/rolebindings"
    body = {"metadata": {"name": "early"}, "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": ns}],
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "not-there-yet"}}
    refused = admin.post(path, body)
    assert refused.status == 404 and refused.message == f'clusterroles.{RBAC} "not-there-yet" not found', refused
    assert admin.patch("apply", f"{path}/early?fieldManager=x", {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", **body}).status == 404
    assert town.admin.post(path, body).status == 201


ADDRESSES = ["10.96.0.099", "010.96.0.99", "10.096.0.99", "10.96.00.99", "10.96.0.0x63", "10.96.99", "174063715", "::ffff:10.96.0.99"]


def test_f07_the_address_of_anothers_service_is_not_to_be_had_by_writing_it_otherwise(town):
    theirs, ours = town.namespace(), town.namespace()
    assert town.admin.post(f"/api/v1/namespaces/{theirs}/services", service("victim", "10.96.0.99")).status == 201
    evil = town.person(ours, "edit")
    path = f"/api/v1/namespaces/{ours}/services"
    for address in [*ADDRESSES, "10.96.0.99"]:
        refused = evil.post(path, service("evil", address))
        assert refused.status == 422, (address, refused)
    made = evil.post(path, service("good"))
    assert made.status == 201
    for address in ADDRESSES:
        assert evil.patch("merge", f"{path}/good", {"spec": {"clusterIP": address, "clusterIPs": [address]}}).status == 422, address
    # By way of a service without an address, which gets one later.
    assert evil.post(path, {"metadata": {"name": "named"}, "spec": {"type": "ExternalName", "externalName": "a.b"}}).status == 201
    for address in ADDRESSES:
        later = evil.patch("merge", f"{path}/named", {"spec": {"type": "ClusterIP", "externalName": None, "clusterIP": address,
                                                               "ports": [{"port": 80}]}})
        assert later.status == 422, (address, later)


def service(name: str, address: str = "", port: int = 80) -> dict:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": port}], **({"clusterIP": address} if address else {})}}


def test_f08_the_addresses_of_the_cluster_itself_are_nobodys(town):
    ns = town.namespace()
    evil = town.person(ns, "edit")
    for address in ["10.96.0.10", "10.96.0.1", "10.96.0.0", "10.111.255.255", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1"]:
        refused = evil.post(f"/api/v1/namespaces/{ns}/services", service("dns", address, 53))
        assert refused.status == 422 and "failed to allocate IP" in refused.message, (address, refused)


def test_f09_no_service_leads_into_the_machines_own_networks(town):
    ns = town.namespace()
    # Even for one who may write endpoints: with the role edit nobody may.
    quotas = town.person(ns, "kueue-batch-admin-role")
    for address in ["127.0.0.1", "127.255.0.1", "169.254.169.254", "224.0.0.1", "0.0.0.0", "0177.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1"]:
        kind = "IPv6" if ":" in address else "IPv4"
        slice_ = {"metadata": {"generateName": "s-"}, "addressType": kind, "endpoints": [{"addresses": [address]}],
                  "ports": [{"name": "", "port": 80, "protocol": "TCP"}]}
        assert quotas.post(f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", slice_).status == 422, address
        assert quotas.post(f"/api/v1/namespaces/{ns}/endpoints", {
            "metadata": {"name": "e"}, "subsets": [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}]}).status == 422, address
    user = town.person(ns, "edit")
    for group, resource in [("discovery.k8s.io", "endpointslices"), ("", "endpoints"), ("", "resourcequotas"), ("", "limitranges"),
                            ("kueue.x-k8s.io", "localqueues"), ("kueue.x-k8s.io", "workloads")]:
        assert not user.may("create", group, resource) and not user.may("patch", group, resource), resource
        assert quotas.may("create", group, resource), resource


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_f20_root_takes_no_data_folder_of_somebody_else():
    with tempfile.TemporaryDirectory(prefix="muster-attacks-") as folder:
        theirs = pathlib.Path(folder) / "theirs"
        theirs.mkdir(mode=0o700)
        os.chown(theirs, 65534, 65534)
        for data in (theirs, theirs / "below"):
            done = subprocess.run([str(e2e.MUSTER), "up", "--data", str(data), "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=60,
                                  check=False)
            assert done.returncode != 0 and f"{theirs} belongs to user 65534" in done.stderr, done.stderr
            assert list(theirs.iterdir()) == []


def test_f22_an_apply_that_creates_needs_the_right_to_create(town):
    ns = town.namespace()
    user = town.person(ns, rules=[{"verbs": ["patch", "get"], "apiGroups": [""], "resources": ["configmaps"]}])
    path = f"/api/v1/namespaces/{ns}/configmaps/made?fieldManager=x"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "b"}}
    refused = user.patch("apply", path, body)
    assert refused.status == 403 and 'cannot create resource "configmaps"' in refused.message, refused
    assert town.admin.get(f"/api/v1/namespaces/{ns}/configmaps/made").status == 404
    assert town.admin.patch("apply", path, body).status == 201
    assert user.patch("apply", path, body).status == 200


UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(), "Sec-WebSocket-Protocol": "v5.channel.k8s.io"}


@pytest.mark.parametrize("part", ["exec?command=id&stdout=true", "attach?stdout=true", "portforward?ports=80"])
def test_f23_who_may_only_look_at_pods_runs_nothing_in_them(town, part):
    ns = town.namespace()
    user = town.person(ns, rules=[{"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["*"]}])
    town.admin.post(f"/api/v1/namespaces/{ns}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "main", "image": "busybox", "command": ["sleep", "1000"]}]}})
    refused = user.get(f"/api/v1/namespaces/{ns}/pods/p/{part}", **UPGRADE)
    assert refused.status == 403 and "cannot create resource" in refused.message, refused


def test_f24_nobody_says_anything_of_another_namespaces_objects(town):
    theirs, ours = town.namespace(), town.namespace()
    evil = town.person(ours, "edit")
    timed = {"eventTime": "2026-01-01T00:00:00.000000Z", "reportingInstance": "i", "action": "a", "type": "Normal", "reason": "Evil"}
    about = {"kind": "Pod", "name": "x", "namespace": theirs}
    core, newer = f"/api/v1/namespaces/{ours}/events", f"/apis/events.k8s.io/v1/namespaces/{ours}/events"
    for path, body in [(core, {"involvedObject": about, "reason": "Evil", "message": "m", "type": "Warning"}),
                       (core, {"involvedObject": about, "reportingComponent": "c", **timed}),
                       (newer, {"regarding": about, "reportingController": "c", **timed})]:
        refused = evil.post(path, {"metadata": {"generateName": "e-"}, **body})
        assert refused.status == 422 and "does not match event.namespace" in refused.message, refused
    own = {**about, "namespace": ours}
    assert evil.post(core, {"metadata": {"name": "mine"}, "involvedObject": own, "reason": "R", "type": "Normal"}).status == 201
    assert evil.patch("merge", f"{core}/mine", {"involvedObject": {"namespace": theirs}}).status == 422


def test_labels_of_a_role_do_not_lift_it_into_others_roles(town):
    ns = town.namespace()
    assert town.admin.post(f"/apis/{RBAC}/v1/clusterroles", {"metadata": {"name": "strong"}, "rules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}).status == 201
    user = town.person(ns)
    town.admin.post(f"/apis/{RBAC}/v1/clusterroles", {"metadata": {"name": "keeper"}, "rules": [
        {"verbs": ["get", "patch", "update"], "apiGroups": [RBAC], "resources": ["clusterroles"]}]})
    who = json.loads(base64.urlsafe_b64decode(user.token.split(".")[1] + "=="))["sub"].split(":")[-1]
    town.admin.post(f"/apis/{RBAC}/v1/clusterrolebindings", {
        "metadata": {"name": "keeper"}, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "keeper"},
        "subjects": [{"kind": "ServiceAccount", "name": who, "namespace": ns}]})
    refused = user.patch("merge", f"/apis/{RBAC}/v1/clusterroles/strong", {"metadata": {"labels": {f"{RBAC}/aggregate-to-view": "true"}}})
    assert refused.status == 403 and "not currently held" in refused.message, refused


def test_the_token_of_a_secret_ends_with_it(town):
    ns = town.namespace()
    secrets = f"/api/v1/namespaces/{ns}/secrets"
    editor = town.person(ns, "edit")
    assert town.admin.post(f"/api/v1/namespaces/{ns}/serviceaccounts", {"metadata": {"name": "robot"}}).status == 201
    made = editor.post(secrets, {"metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "robot"}},
                                 "type": "kubernetes.io/service-account-token"})
    assert made.status == 201, made
    token = base64.b64decode(made.json["data"]["token"]).decode()
    robot = type(editor)(town, token, ns)
    who = robot.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert who.json["status"]["userInfo"]["username"] == f"system:serviceaccount:{ns}:robot", who
    # Made again under that name it has another token; the old one means nothing.
    editor.delete(f"{secrets}/t")
    assert robot.get("/version").status == 401
