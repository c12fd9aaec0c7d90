# test/kube/test_people_roles.py - view, edit and admin of `muster up` beside those of the real Kubernetes, right by right: they cannot
# drift apart unseen. What differs stands here, with its reason.
import itertools

import pytest

LABELS = "rbac.authorization.k8s.io/aggregate-to-"
# Roles that gather nobody: their rules are compared as they stand.
OWN = ["system:aggregate-to-view", "system:aggregate-to-edit", "system:aggregate-to-admin"]

# What Kueue 0.19 gives to batch-user, and to view by its viewer roles: groups of its kinds, and those that queue.
QUEUED = {"batch", "ray.io", "jobset.x-k8s.io", "kubeflow.org", "trainer.kubeflow.org", "sparkoperator.k8s.io", "leaderworkerset.x-k8s.io",
          "workload.codeflare.dev", "mcad.ibm.com"}
SEEN = QUEUED | {"kueue.x-k8s.io", "visibility.kueue.x-k8s.io"}
READING = {"get", "list", "watch"}


def rights(role: dict) -> set[tuple[str, str, str]]:
    """(verb, group, resource) of all rules; none of them names objects or paths."""
    found = set()
    for rule in role.get("rules") or []:
        assert not rule.get("resourceNames") and not rule.get("nonResourceURLs"), rule
        found |= set(itertools.product(rule["verbs"], rule["apiGroups"], rule["resources"]))
    return found


def role(server, name: str) -> dict:
    answer = server.ask("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}")
    assert answer.status == 200, (server.name, name, answer.body)
    return answer.json


@pytest.mark.parametrize("name", OWN)
def test_the_policy_of_each_role_is_kubernetes_own(world, name):
    theirs, ours = role(world.theirs, name), role(world.ours, name)
    assert rights(ours) - rights(theirs) == set(), "more than Kubernetes gives"
    assert rights(theirs) - rights(ours) == set(), "less than Kubernetes gives"
    for part in ("labels", "annotations"):
        assert ours["metadata"][part] == theirs["metadata"][part]


@pytest.mark.parametrize("name", ["view", "edit", "admin"])
def test_gathering_roles_select_as_kubernetes_own(world, name):
    theirs, ours = role(world.theirs, name), role(world.ours, name)
    assert ours["aggregationRule"] == theirs["aggregationRule"]
    assert ours["metadata"].get("labels") == theirs["metadata"].get("labels")


def test_what_edit_has_beside_is_what_users_of_queues_need(world):
    kubernetes = set().union(*(rights(role(world.theirs, name)) for name in OWN[:2]))
    more = rights(role(world.ours, "edit")) - kubernetes
    assert more, "the roles of Kueue are gathered"
    for verb, group, resource in sorted(more):
        kind, _, part = resource.partition("/")
        # Kueue's viewer roles: to see, of an object its status as well.
        seen = verb in READING and group in SEEN and part in ("", "status", "pendingworkloads")
        # Kueue's editor roles of batch-user: to make jobs and clusters of all kinds; and AppWrappers.
        made = verb in {"create", "delete", "patch", "update"} and group in QUEUED and part == ""
        assert seen or made, (verb, group, resource)
    assert rights(role(world.ours, "edit")) >= kubernetes


def test_view_and_admin_have_beside_what_may_be_seen_of_queues(world):
    kubernetes = rights(role(world.theirs, OWN[0]))
    for verb, group, resource in rights(role(world.ours, "view")) - kubernetes:
        assert verb in READING and group in SEEN, (verb, group, resource)
    kubernetes = set().union(*(rights(role(world.theirs, name)) for name in OWN))
    more = rights(role(world.ours, "admin")) - kubernetes - rights(role(world.ours, "edit"))
    for verb, group, resource in more:
        assert verb in READING and group in SEEN, (verb, group, resource)
