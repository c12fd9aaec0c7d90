# test/kubernetes/on_cluster.py - `muster operator` on a real control plane whose one node runs pods: used as `muster up` is.
import json
import os
import pathlib
import subprocess
import threading

import yaml

import access
from client import await_account
from cluster import Cluster, end_with_parent, free_ports
from kubelet import Kubelet
from program import Program
from waiting import until

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations/muster-{}-webhook-configuration"
DEFAULT_QUEUE = "kueue.x-k8s.io/default-queue"


class OnCluster(Program):
    """In a folder of its own. The operator has the rights that `muster rbac` prints and no others. Started again after a kill or
    stop, only the operator is: the cluster has gone on. One test after the other may have it: `leave` makes it as it was."""

    make_kubelet = Kubelet

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, node: str, flags: list[str] = (), runs: bool = True):
        self.program, self.folder, self.flags, self.runs = program, folder, list(flags), runs
        self.node, _, amounts = node.partition(":")
        self.amounts = dict(each.split("=") for each in amounts.split(","))
        self.cluster = Cluster(folder, with_controllers=True, with_scheduler=True, server_flags=access.audited(folder))
        self.kubeconfig = self.cluster.kubeconfig
        self.env = dict(os.environ, KUBECONFIG=str(self.kubeconfig))
        self.log = (folder / "operator.log").open("a")
        self.process = self.kubelet = None
        self.port = free_ports(1)[0]

    def start(self, timeout: float = 60) -> "OnCluster":
        if self.kubelet is None:
            self.cluster.start(timeout)
            self.kubelet = self.make_kubelet(self.cluster, self.node, self.amounts, runs=self.runs)
            self._install_crds()
            await_account(self.cluster.request, "default")
        command = [str(self.program), "operator", "--kubeconfig", str(access.operator_kubeconfig(self.cluster)), "--webhook-url",
                   f"https://127.0.0.1:{self.port}", "--webhook-listen", f"127.0.0.1:{self.port}", *self.flags]
        self.process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        preexec_fn=end_with_parent)
        said = next((line for line in self.process.stdout if line.strip() == "ready"), "")
        assert said, f"muster operator ended with {self.process.wait()}: {pathlib.Path(self.log.name).read_text()[-2000:]}"
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        until("the webhooks are asked", self._is_asked)
        return self

    def _install_crds(self) -> None:
        printed = subprocess.run([str(self.program), "crds", "-o", "json"], capture_output=True, text=True, check=True, timeout=60)
        # Of the two groups that have AppWrappers, discovery of a real server names the older first: who types `appwrapper` gets that.
        crds = [crd for crd in json.loads(printed.stdout)["items"] if crd["spec"]["group"] != "mcad.ibm.com"]
        for crd in crds:
            crd["spec"].pop("conversion", None)  # The operator says where it converts.
            status, answer = self.cluster.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
            assert status == 201, answer
        for crd in crds:
            spec = crd["spec"]
            version = next(each["name"] for each in spec["versions"] if each["storage"])
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
            until(f"{path} is served", lambda path=path: self.cluster.request("GET", path)[0] == 200)

    def _is_asked(self) -> bool:
        """A Job of a queue is suspended when it is made, and the other version of a queue is converted."""
        body = {"metadata": {"name": "asked", "labels": {"kueue.x-k8s.io/queue-name": "nobody"}}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}}}
        status, made = self.cluster.request("POST", "/apis/batch/v1/namespaces/default/jobs?dryRun=All", body)
        if status != 201 or not made["spec"].get("suspend"):
            return False
        name = "localqueues.kueue.x-k8s.io"
        crd = self.cluster.request("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")[1]
        if crd["spec"].get("conversion", {}).get("strategy") != "Webhook":
            return False
        older = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "asked"}, "spec": {"clusterQueue": "nobody"}}
        return self.cluster.request("POST", "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues?dryRun=All", older)[0] == 201

    def leave(self) -> None:
        """Takes away all that was made, while the operator can still let go of it, and stops that."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        left: list[str] = []
        try:
            until("nothing is left", lambda: not self._delete_everything(left), 120)
        except AssertionError as missed:
            raise AssertionError(f"{missed}; left: {self._described(left)}") from None
        finally:
            self.stop()

    def _delete_everything(self, left: list[str]) -> list[str]:
        """What is there of the kinds that tests make is deleted. Where that was is put into `left` and given back."""
        left[:] = [name for name in self._made() if self._delete_all(name)]
        return left

    def _described(self, paths: list[str]) -> str:
        """What is there: names, since when each is deleted, who keeps it."""
        answers = [(path, *self.cluster.request("GET", path)) for path in paths]
        found = [(path, each["metadata"]) for path, status, listed in answers if status == 200 for each in listed["items"]]
        return "; ".join(f"{path}/{meta['name']} deleted {meta.get('deletionTimestamp')} kept by {meta.get('finalizers')}"
                         for path, meta in found)

    def _made(self) -> list[str]:
        """Where objects may be that tests have made; owners come first."""
        paths = ["/apis/batch/v1/namespaces/{ns}/jobs", "/apis/apps/v1/namespaces/{ns}/deployments", "/apis/apps/v1/namespaces/{ns}/statefulsets",
                 "/api/v1/namespaces/{ns}/pods"]
        cluster_wide = []
        for each in self._groups():
            version = each["preferredVersion"]["groupVersion"]
            status, served = self.cluster.request("GET", f"/apis/{version}")  # 404 while its last definition goes.
            for kind in served["resources"] if status == 200 else []:
                if "deletecollection" in kind["verbs"]:
                    space = "/namespaces/{ns}" if kind["namespaced"] else ""
                    (paths if kind["namespaced"] else cluster_wide).append(f"/apis/{version}{space}/{kind['name']}")
        spaces = [ns["metadata"]["name"] for ns in self.cluster.request("GET", "/api/v1/namespaces")[1]["items"]]
        mine = [ns for ns in spaces if not ns.startswith("kube-") and ns != "muster-system"]
        return [path.format(ns=ns) for path in paths for ns in mine] + cluster_wide

    def _groups(self) -> list[dict]:
        """Those that came with CustomResourceDefinitions."""
        listed = self.cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[1]["items"]
        names = {crd["spec"]["group"] for crd in listed}
        return [each for each in self.cluster.request("GET", "/apis")[1]["groups"] if each["name"] in names]

    def _delete_all(self, path: str) -> bool:
        """Whether something was there."""
        status, listed = self.cluster.request("GET", f"{path}?limit=1")
        if status != 200 or not listed["items"]:
            return False
        self.cluster.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
        return True

    def refused(self) -> set[str]:
        """What the operator has asked without a right to it."""
        return access.refused(self.folder)

    def close(self) -> None:
        """All of it."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        try:
            if self.kubelet is not None:
                self.kubelet.stop()
        finally:
            self.cluster.stop()
            self.log.close()

    def settle(self, text: str) -> None:
        """After YAML was applied: namespaces that it made are whole, and the webhooks have seen their default queues."""
        things = [each for each in yaml.load_all(text, Loader) if each]
        for each in things:
            if each.get("kind") == "Namespace":
                await_account(self.cluster.request, each["metadata"]["name"])
        for each in things if self.process is not None and self.process.poll() is None else []:
            if each.get("kind") == "LocalQueue" and (each["metadata"].get("annotations") or {}).get(DEFAULT_QUEUE) == "true":
                until("the webhooks have seen the default queue", lambda ns=each["metadata"]["namespace"]: self._is_default(ns))

    def _is_default(self, ns: str) -> bool:
        body = {"metadata": {"name": "asked"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}}}
        status, made = self.cluster.request("POST", f"/apis/batch/v1/namespaces/{ns}/jobs?dryRun=All", body)
        return status == 201 and "kueue.x-k8s.io/queue-name" in made["metadata"].get("labels", {})
