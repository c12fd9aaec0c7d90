# test/kube/test_controller_runtime.py - a controller written with controller-runtime, and a look with client-go, on the real
# Kubernetes and on `muster up`: the same program, the same assertions.
import pathlib

import pytest

from conftest import until
from greeter import Field, Greeter, program
from outside import is_true
from up import UpServer

SERVERS = ["kubernetes", "muster up"]


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    made = UpServer(tmp_path_factory.mktemp("greeter-up"))
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture(scope="module", params=SERVERS)
def server(request):
    return request.getfixturevalue("cluster" if request.param == "kubernetes" else "up")


@pytest.fixture
def run():
    """Runs controllers that go with the test."""
    made = []

    def start(field: Field, name: str) -> Greeter:
        made.append(Greeter(field, name))
        return made[-1].says("started")

    yield start
    for one in made:
        one.end()


def greet(field: Field, name: str, **spec) -> dict:
    return field.put(field.greetings, {"apiVersion": "test.muster.dev/v1", "kind": "Greeting", "metadata": {"name": name},
                                       "spec": {"name": "Ada", **spec}})


def ready(field: Field, name: str) -> dict:
    return next((c for c in field.greeting(name).get("status", {}).get("conditions", []) if c["type"] == "Ready"), {})


def said(field: Field, name: str) -> set[tuple[str, str]]:
    """The events of a Greeting: type and note."""
    listed = field.get(f"/apis/events.k8s.io/v1/namespaces/{field.ns}/events")["items"]
    return {(one["type"], one["note"]) for one in listed if one["regarding"] == {**one["regarding"], "kind": "Greeting", "name": name}}


def writers(thing: dict) -> list[tuple]:
    return sorted((one["manager"], one["operation"], one.get("subresource", "")) for one in thing["metadata"]["managedFields"])


def test_it_greets_and_says_so_and_keeps_it_so(server, run):
    field = Field(server)
    run(field, "one").says("leading")
    greet(field, "ada")
    until("it says what is missing", lambda: ready(field, "ada").get("reason") == "NoSettings")
    assert ready(field, "ada") == {**ready(field, "ada"), "status": "False", "message": "there is no ConfigMap settings", "observedGeneration": 1}
    field.put(field.maps, {"metadata": {"name": "settings"}, "data": {"plain": "hello", "formal": "good morning"}})
    until("it greets", lambda: is_true(field.greeting("ada"), "Ready"))
    greeting, made = field.greeting("ada"), field.get(f"{field.maps}/greeting-ada")
    assert greeting["status"] == {**greeting["status"], "text": "hello Ada", "copies": 1}
    assert greeting["metadata"]["finalizers"] == ["test.muster.dev/farewell"] and greeting["metadata"]["generation"] == 1
    assert made["data"] == {"text": "hello Ada"}
    assert made["metadata"]["ownerReferences"] == [{
        "apiVersion": "test.muster.dev/v1", "kind": "Greeting", "name": "ada", "uid": greeting["metadata"]["uid"], "controller": True,
        "blockOwnerDeletion": True}]
    assert writers(made) == [("greeter", "Apply", "")]
    name = pathlib.Path(program()).name
    assert writers(greeting) == [(name, "Update", ""), (name, "Update", "status"), ("unknown", "Update", "")]
    until("both events are there", lambda: said(field, "ada") == {
        ("Warning", "there is no ConfigMap settings"), ("Normal", 'said "hello Ada"')})
    # What others write into what it applied does not stay; what is theirs does.
    field.patch(f"{field.maps}/greeting-ada", {"data": {"text": "nonsense", "mine": "stays"}})
    until("it is as it was", lambda: field.text("ada") == "hello Ada")
    assert field.get(f"{field.maps}/greeting-ada")["data"]["mine"] == "stays"
    field.delete(f"{field.maps}/greeting-ada")
    until("it is made again", lambda: field.text("ada") == "hello Ada")
    # New words reach those that use them, by the index.
    field.patch(f"{field.maps}/settings", {"data": {"plain": "hi"}})
    until("the words are new", lambda: field.greeting("ada")["status"]["text"] == "hi Ada")
    field.patch(f"{field.greetings}/ada", {"spec": {"tone": "formal"}})
    until("the tone is new", lambda: field.greeting("ada")["status"]["text"] == "good morning Ada")
    until("it knows the generation", lambda: ready(field, "ada")["observedGeneration"] == 2)
    assert field.patch(f"{field.greetings}/ada/scale", {"spec": {"replicas": 3}})["status"]["replicas"] == 1
    until("it has as many copies", lambda: field.get(f"{field.greetings}/ada/scale")["status"]["replicas"] == 3)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_greeting_that_goes_says_farewell_and_takes_along_what_it_owns(server, run, policy):
    field = Field(server)
    run(field, "one").says("leading")
    field.put(field.maps, {"metadata": {"name": "settings"}, "data": {"plain": "hello"}})
    greet(field, "ada")
    until("it greets", lambda: field.text("ada") == "hello Ada")
    field.delete(f"{field.greetings}/ada", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
    # Foreground needs a garbage collector that knows the kind: it looks for new ones every 30 s.
    until("it is gone", lambda: not field.greeting("ada"), timeout=120)
    assert field.get(f"{field.maps}/farewell-ada")["data"] == {"text": "good bye Ada"}
    until("what it owned is gone", lambda: not field.get(f"{field.maps}/greeting-ada"))
    assert field.get(f"{field.maps}/settings")["data"] == {"plain": "hello"}


def test_of_several_one_works_and_another_goes_on(server, run):
    field = Field(server)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{field.ns}/leases/greeter"
    field.put(field.maps, {"metadata": {"name": "settings"}, "data": {"plain": "hello"}})
    first = run(field, "first").says("leading")
    second = run(field, "second")
    held = field.get(lease)["spec"]
    assert (held["holderIdentity"], held["leaseDurationSeconds"]) == ("first", 6)
    greet(field, "ada")
    until("the first works", lambda: field.text("ada") == "hello Ada")
    before = held.get("leaseTransitions", 0)
    first.kill()
    second.says("leading")
    taken = field.get(lease)["spec"]
    assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("second", before + 1)
    greet(field, "grace")
    until("the second works", lambda: field.text("grace") == "hello Ada")
    third = run(field, "third")
    assert second.stop() == 0
    third.says("leading")
    assert field.get(lease)["spec"]["holderIdentity"] == "third"
    # What is gone meanwhile is not missed: deletion waits for whoever works.
    field.delete(f"{field.greetings}/grace")
    until("the third works", lambda: not field.greeting("grace"))


LIFE = ["added generation 1 step ", "updated generation 1 step 1", "updated generation 2 step 2", "updated generation 3 step 3",
        "updated generation 4 step 4", "deleted generation 4 step 4"]


@pytest.mark.parametrize("streams", ["true", "false"])
def test_clients_see_the_same(cluster, up, streams):
    """With lists that come as a watch's first events, as client-go asks today, and with lists in pages as before."""
    env = {"KUBE_FEATURE_WatchListClient": streams}
    ns = f"look-{streams}"
    real, ours = (Field(server, ns).look("look", env) for server in (cluster, up))
    assert real == ours
    assert real["pages"] == {"sizes": "5 5 5 5 3", "names": 23, "last": "look-22", "one version": True}
    assert (real["paged"], real["paged as metadata"], real["formal"]) == (22, True, ["second", "third"])
    assert real["heard of whole"] == real["heard of heads"] == LIFE
    assert real["heard of chosen"] == ["added generation 2 step 2", "updated generation 3 step 3", "deleted generation 3 step 3"]
    assert real["after a conflict"] == [2, 2, "yes"] and real["scale"] == [4, 0, "autoscaling/v1"]
    assert real["against a rule"]["causes"] == ["FieldValueInvalid spec: Invalid value: a formal greeting needs a whole name"]
    assert real["no right"]["reason"] == "Forbidden" and real["rights"] == {"list": True, "escalate": False}
