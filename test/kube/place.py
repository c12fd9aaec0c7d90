# test/kube/place.py - a whole cluster for installing the operator: control plane, node, helm and kubectl.
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import access
import cluster as partner
import kinds
from conftest import MUSTER, ROOT, Cluster, until
from operator_pods import WAYS, Kubelet, ServiceNetwork
from outside import Client

JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = f"/apis/{kinds.KUEUE}/v1beta2/namespaces/default/workloads"


class Place:
    """A cluster with a node, and a shell with helm and kubectl. What the operator asks its API server is written down."""

    server_flags: list[str] = []

    def __init__(self, folder: pathlib.Path):
        self.network = ServiceNetwork(folder / "services")
        (folder / "ways.yaml").write_text(WAYS.format(path=folder / "services"))
        self.cluster = Cluster(folder, with_controllers=True, with_scheduler=True, server_flags=[
            f"--egress-selector-config-file={folder}/ways.yaml", *access.audited(folder), *self.server_flags])
        self.cluster.start()
        self.kubelet = Kubelet(self.cluster, self.network, seconds=3.0)
        self.client = Client(self.cluster)
        (folder / "bin").mkdir()
        for name, path in [("helm", partner.programs() / "helm"), ("kubectl", partner.kubectl()), ("muster", MUSTER)]:
            (folder / "bin" / name).symlink_to(path)
        self.home = folder / "home"
        self.home.mkdir()
        (self.home / "deploy").symlink_to(ROOT / "deploy")
        self.env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "KUBECONFIG": str(self.cluster.kubeconfig),
                    "HELM_CACHE_HOME": f"{folder}/helm", "HELM_CONFIG_HOME": f"{folder}/helm", "HELM_DATA_HOME": f"{folder}/helm"}

    def type(self, line: str) -> str:
        began = time.time()
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=300, env=self.env, cwd=self.home, check=False)
        print(f"$ {line}\n  {time.time() - began:.1f} s")
        assert done.returncode == 0, f"{line}: {done.stdout[-2000:]}{done.stderr[-3000:]}{self.said()}"
        return done.stdout

    def said(self) -> str:
        log = self.cluster.folder / "pods.log"
        return log.read_text()[-3000:] if log.exists() else ""

    def get(self, path: str) -> dict:
        return self.client.insist("GET", path)

    def workload_of(self, job: str) -> dict:
        return next((each for each in self.get(WORKLOADS)["items"]
                     if any(owner["name"] == job for owner in each["metadata"].get("ownerReferences", []))), {})

    def pods_of(self, job: str) -> list[str]:
        return sorted(pod["metadata"]["uid"] for pod in self.get(f"/api/v1/namespaces/default/pods?labelSelector=job-name={job}")["items"]
                      if "deletionTimestamp" not in pod["metadata"])

    def make_job(self, name: str, queue: str = "first-queue", **more) -> dict:
        """Not suspended: the webhook does that, as the answer shows. Its pods do not end by themselves."""
        body = kinds.job(name, queue, **more)
        body["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "10Mi"
        status, answer = self.client.ask("POST", JOBS, body)
        assert status == 201, answer
        return answer

    def keep_running(self, job: str) -> list[str]:
        """Waits for its pod, which then stays."""
        def found():
            pods = self.get(f"/api/v1/namespaces/default/pods?labelSelector=job-name={job}")["items"]
            self.kubelet.forever |= {pod["metadata"]["name"] for pod in pods}
            return [pod["metadata"]["uid"] for pod in pods if pod["status"]["phase"] == "Running"]
        return until(f"{job} runs", found)

    def stop(self) -> None:
        self.kubelet.stop()
        self.cluster.stop()
        self.network.stop()

    def asked(self) -> list[dict]:
        """What the operator has asked until now."""
        return access.asked(self.cluster.folder)


@contextlib.contextmanager
def opened(kind=Place):
    """A place in a folder of its own; both are gone afterwards. What the operator said last is printed. `kind` makes it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-kube-"))
    made = None
    try:
        made = kind(folder)
        yield made
    finally:
        if made:
            made.stop()
            print(made.said()[-6000:])
        shutil.rmtree(folder, ignore_errors=True)
