# test/kube/test_guide.py - docs/operator.md, command by command, with the real helm and kubectl; the operator's pods are
# processes that have their service account's rights.
import re
import subprocess
import threading
import time

import pytest
import yaml

import kinds
import moved
from conftest import MUSTER, ROOT, until
from operator_pods import PROFILED
from outside import Client, is_true
from place import JOBS, WORKLOADS, opened

GUIDE = ROOT / "docs/operator.md"
NS = "muster-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/muster-operator"
CONFIGURATIONS = [f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/muster-{kind}-webhook-configuration"
                  for kind in ("mutating", "validating")]


def commands(section: str) -> list[str]:
    """The `$` lines of a section of the guide."""
    text = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", GUIDE.read_text(), re.M | re.S).group(1)
    return [line[2:] for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
            for line in block.splitlines() if line.startswith("$ ")]


def spoken() -> list[str]:
    """What is to be typed, in tables and sentences."""
    text = re.sub(r"^```.*?^```$", "", GUIDE.read_text(), flags=re.M | re.S)
    return [words for words in re.findall(r"`([^`]+)`", text) if re.match(r"(kubectl|helm|go|muster|\./dev) |--set ", words)]


def follow(place, section: str) -> None:
    found = commands(section)
    assert found, section
    for line in found:
        place.type(line)


def plain_install(place) -> list[str]:
    """Installs or upgrades without Helm; what is said beside."""
    found = re.findall(r"^(?:muster crds|kubectl apply) .*--server-side .*$", GUIDE.read_text(), re.M)
    assert len(found) == 2, found
    return [place.type(f"{{ {line}; }} 2>&1") for line in found]


def plain_removal() -> str:
    return re.search(r"^kubectl delete crd .*$", GUIDE.read_text(), re.M).group(0)


@pytest.fixture(scope="module")
def place():
    with opened() as made:
        yield made


def nothing_is_left(place) -> None:
    """Of what would be in the way of others."""
    until("nobody is asked any more", lambda: all(place.client.ask("GET", path)[0] == 404 for path in CONFIGURATIONS))
    roles = place.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert [role["metadata"]["name"] for role in roles if "muster" in role["metadata"]["name"]] == []
    until("its pods have ended", lambda: all(one.process.poll() is not None for one in place.kubelet.operators.values()))


def test_install_and_see_that_it_works(place):
    follow(place, "Install")
    deployment = place.get(f"/apis/apps/v1/namespaces/{NS}/deployments/muster-operator")
    assert deployment["status"]["readyReplicas"] == 2
    follow(place, "See that it works")
    assert place.make_job("asked")["spec"]["suspend"] is True, "no webhook was asked"
    until("it is finished", lambda: is_true(place.workload_of("asked"), "Finished"))
    # The other version of an object is converted by the operator.
    older = place.get(f"/apis/{kinds.KUEUE}/v1beta1/namespaces/default/localqueues/first-queue")
    assert older["spec"]["clusterQueue"] == "first-queue"
    assert place.kubelet.restarts == 0


def test_upgrade_while_work_runs_and_jobs_are_made(place):
    place.make_job("through")
    pods = place.keep_running("through")
    before = {one.pod["metadata"]["name"] for one in place.kubelet.operators.values()}
    refused, made, over = [], [], threading.Event()

    def submit() -> None:
        client = Client(place.cluster)
        while not over.is_set():
            body = kinds.job(f"during-{len(made) + len(refused)}", "first-queue", cpu="100m")
            status, answer = client.ask("POST", JOBS, body)
            made.append(body["metadata"]["name"]) if status == 201 else refused.append(answer)
            time.sleep(0.2)
    thread = threading.Thread(target=submit)
    thread.start()
    try:
        follow(place, "Upgrade")
        until("the old pods are gone", lambda: not before & {
            pod["metadata"]["name"] for pod in place.get(f"/api/v1/namespaces/{NS}/pods")["items"]})
    finally:
        over.set()
        thread.join(timeout=30)
    assert refused == [] and len(made) > 10, refused
    now = [one for one in place.kubelet.operators.values() if one.process.poll() is None]
    assert len(now) == 2 and all("--log-level=debug" in one.command for one in now)
    assert place.pods_of("through") == pods
    assert not any(c["type"] == "Evicted" for c in place.workload_of("through")["status"]["conditions"])
    suspended = [name for name in made if not is_true(place.workload_of(name), "Admitted")]
    for name in suspended:
        until(f"{name} is admitted", lambda name=name: is_true(place.workload_of(name), "Admitted"))


def test_a_profile_is_had_as_the_table_says(place):
    row = re.search(r"^\| where CPU time goes \| (.*) \|$", GUIDE.read_text(), re.M).group(1)
    option, forward, look = re.findall(r"`([^`]+)`", row)
    upgrade, = commands("Upgrade")
    place.type(f"{upgrade} {option}")
    # Pods are processes here, whose port is another; that they listen on the one that is forwarded is said in the file.
    assert forward.endswith(" 6060") and PROFILED.endswith(":6060")
    one = until("one is profiled", lambda: next((
        each for each in place.kubelet.operators.values() if each.profile and each.process.poll() is None and each.is_ready), None))
    (place.home / "muster").symlink_to(MUSTER)
    look = look.replace(PROFILED, f"127.0.0.1:{one.profile}").replace(" pprof ", " pprof -top -seconds=1 ")
    assert str(one.profile) in look
    # On a fresh machine it is built first: that takes a minute or two, which no reader of a profile has to wait for.
    subprocess.run([str(ROOT / "test/kubernetes/build_pprof.sh")], check=True, timeout=900)
    said = place.type(f". {ROOT}/test/kubernetes/go.sh; use_go; PPROF_TMPDIR=$PWD {look} 2>&1")
    assert "Type: cpu" in said and "File: muster" in said, said


def test_who_has_the_role_for_users_submits_and_sees_jobs_and_no_more(place):
    """With the binding of the section "See that it works"."""
    place.cluster.write_kubeconfig("ann", place.cluster.authority.issue("ann"))
    ann = f"kubectl --kubeconfig {place.cluster.folder}/ann"
    until("the role is gathered", lambda: place.type(f"{ann} auth can-i create jobs || true").strip() == "yes")
    submit, = [line for line in commands("See that it works") if line.startswith("kubectl create -f")]
    made = place.type(submit.replace("kubectl", ann)).split()[0]
    place.type(f"{ann} wait {made} --for=jsonpath={{.spec.suspend}}=false --timeout=60s")
    assert made.removeprefix("job.batch/") in place.type(f"{ann} get workloads --output yaml")
    place.type(f"{ann} get localqueues && {ann} delete {made}")
    for refused in ("get clusterqueues", "get jobs --namespace kube-system", "delete workloads --all", "get secrets",
                    "patch localqueue first-queue --type=merge --patch={}"):
        assert "Forbidden" in place.type(f"! {ann} {refused} 2>&1"), refused


def test_remove_leaves_what_runs_and_nothing_in_the_way(place):
    pods = place.pods_of("through")
    follow(place, "Remove")
    nothing_is_left(place)
    assert place.pods_of("through") == pods and is_true(place.workload_of("through"), "Admitted")
    place.make_job("afterwards", queue="nobody-looks")
    place.client.insist("DELETE", f"{JOBS}/afterwards")


def test_plain_manifests_do_the_same(place):
    """They find what the chart has left."""
    pods = place.pods_of("through")
    plain_install(place)
    place.type(f"kubectl rollout status deployment/muster-operator --namespace {NS} --timeout=60s")
    # The Lease of before could not be given back, for the rights to it went first.
    until("webhooks are asked", lambda: place.client.ask("POST", f"{JOBS}?dryRun=All", kinds.job("tried", "first-queue"))[1].get(
        "spec", {}).get("suspend"))
    assert place.make_job("plain")["spec"]["suspend"] is True
    until("it is finished", lambda: is_true(place.workload_of("plain"), "Finished"))
    assert place.pods_of("through") == pods
    # Who is stopped first gives its Lease back.
    for line in re.findall(r"^kubectl (?:scale|wait pod) .*$", GUIDE.read_text(), re.M):
        place.type(line)
    assert not place.get(LEASE)["spec"].get("holderIdentity")
    place.type(f"kubectl scale deployment muster-operator --namespace {NS} --replicas=1")
    until("it works again", lambda: place.get(LEASE)["spec"].get("holderIdentity"))
    # All objects, then all that looks after them.
    place.client.insist("DELETE", f"{JOBS}?propagationPolicy=Background")
    until("nothing is queued", lambda: not place.get(WORKLOADS)["items"])
    place.type(plain_removal())
    until("the kind is gone", lambda: place.client.ask("GET", WORKLOADS)[0] == 404)
    place.type(re.search(r"`(kubectl delete -f deploy/manifests)`", GUIDE.read_text()).group(1))
    nothing_is_left(place)


def test_the_plain_way_leaves_definitions_of_others_as_they_are(place):
    """Installed, upgraded and removed beside those of Kueue, KubeRay and MCAD."""
    moved.wipe(place.client)
    theirs = {crd["metadata"]["name"] for crd in moved.install_all(place.client)}
    before = moved.definitions(place.client, theirs)
    with_label = f"{moved.CRDS}?labelSelector=app.kubernetes.io/part-of%3Dmuster"
    assert len(before) > 12 and place.get(with_label)["items"] == []
    for again in range(2):
        said = plain_install(place)[0]
        assert "stay as they are: admissionchecks.kueue.x-k8s.io, clusterqueues.kueue.x-k8s.io," in said
        assert [line.split()[0] for line in said.splitlines() if "serverside-applied" in line] == [
            "customresourcedefinition.apiextensions.k8s.io/appwrappers.mcad.ibm.com"], again
    place.type(f"kubectl rollout status deployment/muster-operator --namespace {NS} --timeout=60s")
    until("it works", lambda: all(place.client.ask("GET", path)[0] == 200 for path in CONFIGURATIONS))
    assert {crd["metadata"]["name"] for crd in place.get(with_label)["items"]} == {"appwrappers.mcad.ibm.com"}
    place.type(plain_removal())
    assert place.get(with_label)["items"] == []
    place.type("kubectl delete -f deploy/manifests")
    nothing_is_left(place)
    assert moved.definitions(place.client, theirs) == before


def test_move_from_kueue_and_back(place):
    moved.wipe(place.client)
    kueue = moved.Kueue(place.cluster, place.client, place.home)
    kueue.install()
    kueue.admit("runs", cpu=2)
    kueue.wait_for("waits", cpu=7)
    pods = place.keep_running("runs")
    before = kueue.state("runs")
    kueue.ask_webhooks()
    place.client.insist("POST", f"/apis/{kinds.KUEUE}/v1beta2/admissionchecks", kinds.thing(
        "AdmissionCheck", "elsewhere", spec={"controllerName": "kueue.x-k8s.io/multikueue"}))
    lines = commands("Move from Kueue")
    back = next(i for i, line in enumerate(lines) if "uninstall" in line)
    said = [place.type(line) for line in lines[:back]]
    assert re.search(r"^elsewhere +kueue.x-k8s.io/multikueue$", said[0], re.M), said[0]
    until("what waited is still told why", lambda: "insufficient" in kueue.message("waits"))
    assert place.pods_of("runs") == pods and kueue.state("runs") == before, "what runs was touched"
    until("Muster converts", lambda: kueue.converters() == {f"{NS}/muster-webhook-service"})
    older = place.get(f"/apis/{kinds.KUEUE}/v1beta1/namespaces/default/workloads")["items"]
    assert {each["spec"].get("queueName") for each in older} == {"team"}
    far, older = f"/apis/{kinds.KUEUE}/v1beta1/multikueueclusters/far", {"location": "far-away", "locationType": "Secret"}
    # The server goes by the definition a moment after it has been written.
    until("the other cluster is read in its older form", lambda: place.get(far)["spec"] == {"kubeConfig": older})
    place.kubelet.forever.clear()
    until("one is finished, the other runs", lambda: is_true(kueue.workload("runs"), "Finished") and kueue.is_unsuspended("waits"))
    pods = place.keep_running("waits")
    for line in lines[back:]:
        place.type(line)
    nothing_is_left(place)
    assert place.pods_of("waits") == pods and is_true(kueue.workload("waits"), "Admitted")
    assert kueue.converters() == {"kueue-system/kueue-webhook-service"}
    assert kueue.crds_are_its_own()
    until("Kueue runs again", lambda: kueue.ready() == 1)
    kueue.remove()


def test_move_from_kuberay_and_mcad(place):
    moved.wipe(place.client)
    ray = moved.Ray(place.cluster, place.client)
    ray.install()
    ray.run("alive")
    # What nobody will look after.
    ray.run("scales", enableInTreeAutoscaling=True)
    ray.serve("serves")
    wrappers = moved.Mcad(place.cluster, place.client)
    wrappers.install()
    wrappers.run("wrapped")
    pods, left_alone = ray.pods("alive") + wrappers.pods("wrapped"), ray.pods("scales")
    assert len(pods) == 4 and len(left_alone) == 3
    lines = commands("Move from KubeRay and MCAD")
    back = next(i for i, line in enumerate(lines) if "uninstall" in line)
    said = [place.type(line) for line in lines[:back]]
    services, schedules, fields = said[:3]
    assert "serves" in services and "scales" not in services and not schedules
    assert fields.splitlines() == ["RayCluster default/scales asks for enableInTreeAutoscaling"]
    assert ray.ready() == wrappers.ready() == 0
    until("the Ray cluster is looked after", lambda: ray.is_looked_after("alive"))
    time.sleep(2)
    assert ray.pods("alive") + wrappers.pods("wrapped") == pods
    assert wrappers.get("wrapped")["status"]["state"] == "Running"
    ray.grow("alive")
    until("it grows", lambda: len(ray.pods("alive")) == 4)
    until("the other one is given up", lambda: ray.get("scales")["status"].get("state") == "failed")
    assert "enableInTreeAutoscaling: the in-tree autoscaler is not supported" in ray.get("scales")["status"]["reason"]
    assert "status" not in place.get(f"{moved.SERVICES}/serves") and ray.pods("scales") == left_alone
    for line in lines[back:]:
        place.type(line)
    nothing_is_left(place)
    assert ray.ready() == wrappers.ready() == 1
    assert set(pods) <= set(ray.pods("alive") + wrappers.pods("wrapped"))


# What is said in tables and sentences, and where it is typed.
SPOKEN = {
    "--set image.repository=...": "a value of the chart (test_install.py: the image)",
    "--set log.level=debug": "in the section Upgrade",
    "--set profiling.enabled=true": "test_a_profile_is_had_as_the_table_says",
    "kubectl port-forward POD 6060": "kubectl's own, to the address that test_a_profile_is_had_as_the_table_says asks",
    "go tool pprof muster http://127.0.0.1:6060/debug/pprof/profile": "test_a_profile_is_had_as_the_table_says",
    "kubectl logs": "kubectl's own",
    "kubectl delete -f deploy/manifests": "test_plain_manifests_do_the_same",
    "./dev bench admission --on kubernetes": "a measurement",
    "muster operator": "a name", "muster up": "a name", "muster rbac": "test_rights.py",
    "muster queue": "test/e2e/test_queues.py", "muster why": "test/e2e/test_queues.py"}
# Blocks of lines that are typed one by one: each begins so.
BLOCKS = {"muster crds": "plain_install", "helm install": "test_upgrade.py", "kubectl scale": "test_plain_manifests_do_the_same",
          "kubectl delete crd": "plain_removal"}


def test_the_guide_names_no_step_that_is_not_tried():
    text = GUIDE.read_text()
    tried = {"Install", "See that it works", "Upgrade", "Move from Kueue", "Move from KubeRay and MCAD", "Remove"}
    assert {section for section in re.findall(r"^## (.*)$", text, re.M) if "```console" in text and commands(section)} == tried
    assert set(spoken()) == SPOKEN.keys()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    plain = [block for kind, block in blocks if kind != "console"]
    assert len(plain) == len(BLOCKS) and all(any(block.startswith(words) for block in plain) for words in BLOCKS)
    assert yaml.safe_load((ROOT / "deploy/helm/muster/Chart.yaml").read_text())["name"] == "muster"
