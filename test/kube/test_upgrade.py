# test/kube/test_upgrade.py - a release comes whose definitions know more than those that are there: however these were installed, they
# are replaced, or it is said that they are not.
import re
import shutil

import pytest
import yaml

import kinds
import moved
from conftest import ROOT, until
from place import opened
from test_guide import GUIDE, commands, follow

CHART = ROOT / "deploy/helm/muster"
FILE = f"crds-as-printed/{kinds.KUEUE}_clusterqueues.yaml"
DEFINITION = f"{moved.CRDS}/clusterqueues.{kinds.KUEUE}"
QUEUES = f"/apis/{kinds.KUEUE}/v1beta2/clusterqueues"
NEW = "fairSharing"  # What the older release does not know of a ClusterQueue.


@pytest.fixture(scope="module")
def place():
    with opened() as made:
        older = made.home / "older"
        shutil.copytree(CHART, older)
        crd = yaml.load((older / FILE).read_text(), Loader=kinds.Loader)
        for version in crd["spec"]["versions"]:
            del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][NEW]
        # As helm's template expects it: what is not indented is a part of its own.
        (older / FILE).write_text(yaml.safe_dump(crd, sort_keys=True, indent=2))
        yield made


def knows(place) -> list[bool]:
    """Whether the definition has the new field, by version."""
    return [NEW in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            for version in place.get(DEFINITION)["spec"]["versions"]]


def keeps(place, name: str) -> bool:
    """Whether a new queue may say it: what a definition does not know is dropped."""
    body = kinds.thing("ClusterQueue", name, spec={"namespaceSelector": {}, NEW: {"weight": "2"}})
    kept = place.client.insist("POST", f"{QUEUES}?dryRun=All", body)["spec"]
    return NEW in kept


def works(place) -> None:
    """All that is there is read in the other version as well: the operator converts, and is believed."""
    until("the other version is read", lambda: place.client.ask("GET", f"/apis/{kinds.KUEUE}/v1beta1/clusterqueues")[0] == 200)


def test_an_upgrade_with_helm_brings_the_new_definitions(place):
    place.type("helm install muster older --namespace muster-system --create-namespace --wait")
    place.type("kubectl apply -f deploy/samples/first-queue.yaml")
    assert not any(knows(place))
    until("the webhooks answer", lambda: place.client.ask("POST", f"{QUEUES}?dryRun=All", kinds.thing("ClusterQueue", "a", spec={}))[0] == 201)
    assert not keeps(place, "new")
    follow(place, "Upgrade")
    assert all(knows(place))
    until("it is kept", lambda: keeps(place, "new"))
    works(place)
    place.type("helm uninstall muster --namespace muster-system --wait")


def test_what_came_the_plain_way_is_taken_by_helm_when_it_is_told_to(place):
    moved.wipe(place.client)
    place.type("kubectl apply --server-side -f older/crds-as-printed")
    place.type("kubectl apply --server-side -f deploy/manifests")
    place.type("kubectl rollout status deployment/muster-operator --namespace muster-system --timeout=60s")
    place.type("kubectl apply -f deploy/samples/first-queue.yaml")
    assert not any(knows(place))
    whole = re.search(r"^helm install .* --take-ownership --force-conflicts$", GUIDE.read_text(), re.M).group(0)
    said = place.type(f"! {whole.replace(' --take-ownership --force-conflicts', '')} 2>&1")
    assert "cannot be imported into the current release" in said, said
    assert not any(knows(place))
    place.type(whole)
    assert all(knows(place))
    until("it is kept", lambda: keeps(place, "new"))
    works(place)
    assert place.get(f"{QUEUES}/first-queue")
    upgrade, = commands("Upgrade")
    place.type(f"{upgrade} --force-conflicts")


def test_a_release_of_another_name_does_not_pass_over_them_in_silence(place):
    """What another release has left is ours too, and not its."""
    place.type("helm uninstall muster --namespace muster-system --wait")
    said = place.type("! helm install ours deploy/helm/muster --namespace muster-system --wait 2>&1")
    assert "cannot be imported into the current release" in said and 'must equal "ours"' in said, said
