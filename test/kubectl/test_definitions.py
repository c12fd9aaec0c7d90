# test/kubectl/test_definitions.py - the real kubectl and kinds that users bring: a definition as JobSet's, and its objects.
import pytest

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jobsets.GROUP}
spec:
  group: GROUP
  names: {kind: JobSet, listKind: JobSetList, plural: jobsets, singular: jobset}
  scope: Namespaced
  versions:
  - name: v1alpha2
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Restarts, type: string, jsonPath: .status.restarts, description: Times that it was restarted.}
    - {name: Suspended, type: string, jsonPath: .spec.suspend}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: JobSet is a group of jobs.
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            description: What the jobs are.
            properties:
              suspend:
                type: boolean
                description: Whether its jobs wait.
              successPolicy:
                type: object
                required: [operator]
                properties:
                  operator: {type: string, enum: [All, Any]}
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: Value is immutable}
              replicatedJobs:
                type: array
                maxItems: 50
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name, template]
                  properties:
                    name: {type: string, maxLength: 63}
                    replicas: {type: integer, format: int32, default: 1}
                    template:
                      type: object
                      x-kubernetes-preserve-unknown-fields: true
            x-kubernetes-validations:
            - rule: "!has(self.replicatedJobs) || self.replicatedJobs.all(j, j.name.size() < 20)"
              messageExpression: "self.replicatedJobs.size() == 1 ? 'a name of 1 jobs is too long' : 'a name of several is too long'"
          status:
            type: object
            properties:
              restarts: {type: integer, format: int32}
"""
OBJECT = """
apiVersion: GROUP/v1alpha2
kind: JobSet
metadata: {name: workers}
spec:
  suspend: false
  successPolicy: {operator: All}
  replicatedJobs:
  - name: leader
    template: {spec: {parallelism: 1}}
"""


@pytest.fixture(scope="module")
def group(kubectl) -> str:
    """A group of its own for each kubectl: definitions belong to the whole server."""
    name = f"jobset-{kubectl.minor}.example.com"
    assert "created" in kubectl("apply", "-f", "-", input=CRD.replace("GROUP", name))
    kubectl("wait", "--for=condition=Established", f"crd/jobsets.{name}", "--timeout=30s")
    return name


def test_a_definition_is_applied_again_and_changed(kubectl, group):
    text = CRD.replace("GROUP", group)
    assert "unchanged" in kubectl("apply", "-f", "-", input=text)
    assert "configured" in kubectl("apply", "-f", "-", input=text.replace("maxItems: 50", "maxItems: 40"))
    assert "configured" in kubectl("apply", "-f", "-", input=text)
    assert f"jobsets.{group}" in kubectl("get", "crd")
    assert f"jobsets.{group}/v1alpha2" not in kubectl("api-resources", "-o", "name")
    assert f"jobsets.{group}" in kubectl("api-resources", "-o", "name")


def test_objects_come_are_shown_explained_and_go(kubectl, group):
    kind = f"jobsets.{group}"
    text = OBJECT.replace("GROUP", group)
    assert "created" in kubectl("apply", "-f", "-", input=text)
    made = kubectl.json(kind, "workers")
    # As on kube-apiserver: the list with its default differs from what is applied, so kubectl sends it, and nothing changes.
    assert "configured" in kubectl("apply", "-f", "-", input=text)
    assert kubectl.json(kind, "workers") == made
    whole = text.replace("- name: leader", "- name: leader\n    replicas: 1")
    assert "configured" in kubectl("apply", "-f", "-", input=whole)
    assert "unchanged" in kubectl("apply", "-f", "-", input=whole)
    lines = kubectl("get", kind).splitlines()
    assert lines[0].split() == ["NAME", "RESTARTS", "SUSPENDED", "AGE"]
    assert lines[1].split()[0] == "workers" and "false" in lines[1]
    assert kubectl.json(kind, "workers")["spec"]["replicatedJobs"][0]["replicas"] == 1
    kubectl("patch", kind, "workers", "--subresource=status", "--type=merge", "-p", '{"status": {"restarts": 2}}')
    assert kubectl("get", kind, "workers", "-o", "jsonpath={.status.restarts}") == "2"
    told = kubectl("explain", f"{kind}.spec")
    assert "suspend" in told and "Whether its jobs wait." in told
    assert "leader" in kubectl("describe", kind, "workers")
    assert "deleted" in kubectl("delete", kind, "workers")
    assert "No resources found" in kubectl("get", kind)


@pytest.mark.parametrize("change, words", [
    (("operator: All", "operator: None"), 'Unsupported value: "None"'),
    (("suspend: false", "suspend: maybe"), "must be of type boolean"),
    (("name: leader", "name: a-name-that-is-really-too-long"), "a name of 1 jobs is too long"),
    (("suspend: false", "pause: false"), 'unknown field "spec.pause"'),
])
def test_what_the_definition_does_not_allow_is_refused(kubectl, group, change, words):
    said = kubectl("create", "-f", "-", input=OBJECT.replace("GROUP", group).replace(*change), check=False)
    assert words in said, said


def test_a_rule_about_changes(kubectl, group):
    text = OBJECT.replace("GROUP", group).replace("workers", "fixed")
    kubectl("create", "-f", "-", input=text)
    said = kubectl("apply", "-f", "-", input=text.replace("operator: All", "operator: Any"), check=False)
    assert "Value is immutable" in said, said


def test_server_side_apply_merges_by_the_key(kubectl, group):
    text = OBJECT.replace("GROUP", group).replace("workers", "shared")
    other = text.replace("name: leader", "name: follower").replace("  suspend: false\n  successPolicy: {operator: All}\n", "")
    for manager, body in (("one", text), ("two", other)):
        kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", input=body)
    names = [each["name"] for each in kubectl.json(f"jobsets.{group}", "shared")["spec"]["replicatedJobs"]]
    assert sorted(names) == ["follower", "leader"]


def test_the_kinds_that_are_served_anyway_are_listed(kubectl):
    names = kubectl("get", "crd", "-o", "name")
    assert "clusterqueues.kueue.x-k8s.io" in names and "rayclusters.ray.io" in names


def test_a_namespace_takes_its_objects_with_it(kubectl, group):
    kubectl("create", "namespace", f"gone-{kubectl.minor}")
    kubectl("create", "-n", f"gone-{kubectl.minor}", "-f", "-", input=OBJECT.replace("GROUP", group))
    kubectl("delete", "namespace", f"gone-{kubectl.minor}", "--timeout=60s")
    assert f"gone-{kubectl.minor}" not in kubectl("get", f"jobsets.{group}", "-A")


def test_owners_take_their_objects_with_them(kubectl, group):
    kind = f"jobsets.{group}"
    kubectl("create", "-f", "-", input=OBJECT.replace("GROUP", group).replace("workers", "owner"))
    uid = kubectl.json(kind, "owner")["metadata"]["uid"]
    reference = f"[{{apiVersion: {group}/v1alpha2, kind: JobSet, name: owner, uid: {uid}}}]"
    kubectl("create", "-f", "-", input="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, ownerReferences: " + reference + "}\n")
    kubectl("delete", kind, "owner")
    kubectl("wait", "--for=delete", "configmap/owned", "--timeout=30s")


def test_a_definition_goes_with_its_objects_and_comes_back_empty(kubectl, group):
    kubectl("apply", "-f", "-", input=OBJECT.replace("GROUP", group))
    kubectl("delete", "crd", f"jobsets.{group}", "--timeout=30s")
    assert "the server doesn't have a resource type" in kubectl("get", f"jobsets.{group}", check=False)
    kubectl("apply", "-f", "-", input=CRD.replace("GROUP", group))
    kubectl("wait", "--for=condition=Established", f"crd/jobsets.{group}", "--timeout=30s")
    assert "No resources found" in kubectl("get", f"jobsets.{group}")
