# test/kube/test_rights.py - what `muster rbac` prints.
import access


def test_rights_are_named_after_what_is_installed():
    items = access.printed("--install-namespace", "kueue-system", "--prefix", "kueue")
    names = {(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace", "")) for item in items}
    assert {("ServiceAccount", "kueue-operator", "kueue-system"), ("Role", "kueue-operator", "kueue-system"),
            ("ClusterRole", "kueue-batch-admin-role", ""), ("ClusterRole", "kueue-batch-user-role", ""),
            ("ClusterRole", "kueue-localqueue-viewer-role", "")} <= names
    wildcards = [item["metadata"]["name"] for item in items for rule in item.get("rules", [])
                 if "*" in rule["verbs"] + rule.get("resources", []) + rule.get("apiGroups", [])]
    assert wildcards == []
