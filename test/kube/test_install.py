# test/kube/test_install.py - the chart, the manifests and the image's recipe, checked against a real API server.
import os
import re
import shlex
import subprocess
import sys

import pytest
import yaml

import cluster as partner
import kinds
import moved
from conftest import MUSTER, ROOT, Cluster
from moved import originals
from outside import Client

CHART = ROOT / "deploy/helm/muster"
MANIFESTS = ROOT / "deploy/manifests"
# Where the real definition of ServiceMonitors is: module, version, sum, file.
MONITORS = ("github.com/prometheus-operator/prometheus-operator", "v0.84.0", "h1:XXm7lKizTnnxeSwI01wjNAapKzw/4XAPdpcZqjRKgRU=",
            "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml")
WITHOUT_CRDS = "--set crds.install=false"  # They are the same in all variants, and two megabytes.
VARIANTS = ["", "--set prefix=kueue", "--set replicas=1,networkPolicy.enabled=false,podDisruptionBudget.enabled=false",
            "--set profiling.enabled=true,metrics.serviceMonitor.enabled=true", "--set metrics.enabled=false",
            "--set webhooks.enabled=false,crds.install=false", "--set config.manageJobsWithoutQueueName=true,crds.keep=false"]


class Tools:
    """helm and kubectl on one cluster."""

    def __init__(self, cluster):
        self.programs = {"helm": str(partner.programs() / "helm"), "kubectl": partner.kubectl()}
        self.env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "HELM_CACHE_HOME": str(cluster.folder / "helm"),
                    "HELM_CONFIG_HOME": str(cluster.folder / "helm"), "HELM_DATA_HOME": str(cluster.folder / "helm")}

    def __call__(self, line: str, stdin: str | None = None, fails: bool = False) -> str:
        words = shlex.split(line)
        done = subprocess.run([self.programs[words[0]], *words[1:]], input=stdin, capture_output=True, text=True, timeout=300,
                              env=self.env, cwd=ROOT, check=False)
        assert (done.returncode != 0) == fails, f"{line}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
        return done.stdout + done.stderr if fails else done.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A cluster that has never heard of Muster."""
    made = Cluster(tmp_path_factory.mktemp("fresh"), with_controllers=True, with_scheduler=True)
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture(scope="module")
def tools(fresh) -> Tools:
    return Tools(fresh)


def documents(text: str) -> list[dict]:
    return [each for each in yaml.load_all(text, Loader=kinds.Loader) if each]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_chart_is_good_in_all_its_variants(tools, variant):
    assert "0 chart(s) failed" in tools(f"helm lint --strict {CHART} {WITHOUT_CRDS} {variant}")
    made = documents(tools(f"helm template muster {CHART} --namespace muster-system {WITHOUT_CRDS} {variant}"))
    deployment = next(each for each in made if each["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    service = f"--webhook-service=muster-system/{deployment['metadata']['name'].removesuffix('-operator')}-webhook-service"
    assert (service in container["args"]) == ("--webhooks=true" in container["args"]) == ("webhooks.enabled=false" not in variant)
    # One of two may go at a time, when nodes are drained too, and none before a new one is ready.
    alone = "replicas=1" in variant
    assert deployment["spec"]["replicas"] == (1 if alone else 2)
    assert deployment["spec"]["strategy"] == {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    budgets = [each for each in made if each["kind"] == "PodDisruptionBudget"]
    assert [(each["metadata"]["name"], each["spec"]) for each in budgets] == ([] if "podDisruptionBudget.enabled=false" in variant else [
        (deployment["metadata"]["name"], {"maxUnavailable": 1, "selector": deployment["spec"]["selector"]})])
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz?exclude=watches&exclude=server", "port": "probes"}
    accounts = [each["metadata"]["name"] for each in made if each["kind"] == "ServiceAccount"]
    assert accounts == [pod["serviceAccountName"]]
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    for each in made:
        if each["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
            chosen = each["spec"].get("selector") or each["spec"]["podSelector"]
            assert chosen.get("matchLabels", chosen).items() <= labels, each["metadata"]["name"]


def rendered(tools, more: str = "") -> dict[str, dict]:
    """The chart's documents by kind and name."""
    made = documents(tools(f"helm template muster {CHART} --namespace muster-system {WITHOUT_CRDS} {more}"))
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in made}


def grace(tools, more: str) -> int:
    pod = rendered(tools, more)["Deployment/muster-operator"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["lifecycle"] == {"preStop": {"sleep": {"seconds": 3}}}
    return pod["terminationGracePeriodSeconds"]


def test_a_pod_has_the_time_that_its_end_takes(tools, tmp_path):
    """Its sleep of 3 s, then the Lease's time beyond its renewal and 3 s to give it back, and 3 s to spare: else it is killed before
    it has given its Lease back, and nobody decides until that has ended."""
    assert grace(tools, "") == 20
    assert grace(tools, "--set terminationGracePeriodSeconds=45") == 45
    election = "config.leaderElection.leaseDuration={},config.leaderElection.renewDeadline={}"
    assert grace(tools, "--set " + election.format("60s", "40s")) == 29
    assert grace(tools, "--set " + election.format("1m30s", "40500ms")) == 59
    assert grace(tools, "--set terminationGracePeriodSeconds=200," + election.format("60s", "40s")) == 200
    assert grace(tools, "--set " + election.format("1.5m", "15s")) == 84
    assert grace(tools, "--set config.leaderElection.leaseDuration=137s") == 136
    file = tmp_path / "configuration.yaml"
    file.write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nleaderElection: {leaseDuration: 60s, renewDeadline: 40s}\n")
    assert grace(tools, f"--set-file configFile={file}") == 29


def ports_of_pod(made: dict[str, dict]) -> dict[str, int]:
    container = made["Deployment/muster-operator"]["spec"]["template"]["spec"]["containers"][0]
    return {port["name"]: port["containerPort"] for port in container["ports"]}


def test_what_prometheus_is_told_is_what_is_served(tools, fresh):
    """With the real definition of ServiceMonitors, which refuses fields that it does not know."""
    made = rendered(tools, "--set metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.team=ours")
    monitor, service = made["ServiceMonitor/muster-operator"], made["Service/muster-metrics-service"]
    moved.install_crds(Client(fresh), originals.read_module(*MONITORS))
    tools("kubectl create namespace monitored")
    monitor["metadata"]["namespace"] = "monitored"
    tools("kubectl create --validate=strict --filename -", yaml.safe_dump(monitor))
    kept = yaml.safe_load(tools("kubectl get servicemonitor muster-operator --namespace monitored --output yaml"))
    assert kept["spec"] == monitor["spec"] and kept["metadata"]["labels"]["team"] == "ours"
    # Metrics ask for a token and are served over TLS with a certificate of their own: see test_operator_health.py.
    assert monitor["spec"]["endpoints"] == [{
        "port": "metrics", "scheme": "https", "path": "/metrics", "interval": "30s", "tlsConfig": {"insecureSkipVerify": True},
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}]
    # It finds that Service, by a port that the Service has, which is one of the pod's.
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    found = [each["metadata"]["name"] for each in made.values() if each["kind"] == "Service" and "metrics" in [
        port["name"] for port in each["spec"]["ports"]] and monitor["spec"]["selector"]["matchLabels"].items() <= each["metadata"]["labels"].items()]
    assert found == ["muster-metrics-service"], "each other one would be scraped as well"
    assert service["spec"]["ports"] == [{"name": "metrics", "port": 8443, "targetPort": "metrics"}]
    assert ports_of_pod(made)["metrics"] == 8443
    reader = made["ClusterRole/muster-metrics-reader"]
    assert reader["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_the_network_policy_lets_through_what_the_operator_needs_and_no_more(tools):
    made = rendered(tools)
    policy, ports = made["NetworkPolicy/muster-operator"], ports_of_pod(made)
    spec, pod = policy["spec"], made["Deployment/muster-operator"]["spec"]["template"]
    assert spec["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    # In: from anywhere, for the API server and nodes are no pods, to the ports that the pod has, and to no other.
    assert [sorted(rule) for rule in spec["ingress"]] == [["ports"]]
    assert {port["port"] for port in spec["ingress"][0]["ports"]} == ports.keys() == {"webhooks", "metrics", "probes"}
    # Out: to the API server by the port of its Service and its usual own, to DNS by both protocols, to dashboards of Ray alone.
    anywhere = [rule for rule in spec["egress"] if "to" not in rule]
    assert {(port["port"], port.get("protocol", "TCP")) for rule in anywhere for port in rule["ports"]} == {
        (443, "TCP"), (6443, "TCP"), (53, "UDP"), (53, "TCP")}
    assert all(rule["ports"] for rule in anywhere), "a rule without ports lets everything through"
    assert [rule["to"] for rule in spec["egress"] if "to" in rule] == [[{
        "namespaceSelector": {}, "podSelector": {"matchLabels": {"ray.io/node-type": "head"}}}]]
    # What is not served needs no way in, and who has another port of the API server says so.
    made = rendered(tools, "--set 'networkPolicy.apiServerPorts={8443}' --set metrics.enabled=false")
    spec = made["NetworkPolicy/muster-operator"]["spec"]
    assert {port["port"] for port in spec["ingress"][0]["ports"]} == ports_of_pod(made).keys() == {"webhooks", "probes"}
    assert [port["port"] for port in spec["egress"][0]["ports"]] == [8443]


def test_without_webhooks_the_crds_must_not_name_one(tools):
    said = tools(f"helm template muster {CHART} --set webhooks.enabled=false", fails=True)
    assert "muster crds --no-conversion" in said


def test_the_crds_are_those_that_are_printed(tools):
    made = {each["metadata"]["name"]: each for each in documents(
        tools(f"helm template muster {CHART} --namespace ours --set prefix=our")) if each["kind"] == "CustomResourceDefinition"}
    assert made.keys() == {each["metadata"]["name"] for each in kinds.crds("*")}
    for printed in kinds.crds("*"):
        each = made[printed["metadata"]["name"]]
        assert each["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        for one in (each, printed):
            service = one["spec"].get("conversion", {}).get("webhook", {}).get("clientConfig", {}).get("service")
            if service:
                assert one is printed or (service.pop("namespace"), service.pop("name")) == ("ours", "our-webhook-service")
                one["spec"]["conversion"]["webhook"]["clientConfig"] = {}
        assert each == printed


def test_what_is_written_is_fresh(tools):
    done = subprocess.run([sys.executable, str(ROOT / "scripts/write_deploy.py"), "--check", "--muster", str(MUSTER), "--helm",
                           tools.programs["helm"]],
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_server_would_take_chart_and_manifests(tools):
    tools("kubectl create namespace would-be")
    tools("kubectl apply --server-side --dry-run=server -f -", tools(f"helm template muster {CHART} --namespace would-be"))
    # A namespace that is only made as a try holds nothing.
    text = (MANIFESTS / "muster.yaml").read_text().replace("muster-system", "would-be")
    tools("kubectl apply --server-side --dry-run=server -f deploy/helm/muster/crds-as-printed -f -", text)


def test_the_image_is_made_of_what_is_there():
    """Files that are copied exist; its libraries are those that the program needs; it is pinned and nobody's root."""
    lines = re.sub(r"\\\n\s*", " ", (ROOT / "deploy/Dockerfile").read_text()).splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert images and all(re.fullmatch(r"debian:\d+\.\d+-slim(@sha256:[0-9a-f]{64})?", image) for image in images)
    for line in lines:
        words = line.split()
        if words and words[0] == "COPY" and not words[1].startswith("--from"):
            assert all((ROOT / word).exists() for word in words[1:-1]), line
    folders = {line.split()[1] for line in lines if line.startswith("COPY ") and not line.startswith("COPY --from")}
    programs = re.findall(r"^muster_\w+\(\w+\s+FROM (\w+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    assert set(programs) <= folders, "what CMakeLists.txt names must be there"
    last = lines[[i for i, line in enumerate(lines) if line.startswith("FROM ")][-1]:]
    assert "USER 65532:65532" in last and 'CMD ["operator"]' in last
    installed = set(re.search(r"--no-install-recommends (.*?) *&&", "\n".join(last)).group(1).split())
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", str(MUSTER)], capture_output=True, text=True,
                                                            check=True).stdout)
    missing = {name for name in needed if not installed & owners(name)}
    assert missing == set()


def owners(library: str) -> set[str]:
    """The packages that bring a shared library; those that every image has count as installed."""
    if library.startswith(("libc.so", "libm.so", "libgcc_s.so", "ld-linux")):
        return {"ca-certificates"}
    said = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True, check=False).stdout
    return {line.split(":")[0] for line in said.splitlines()}
