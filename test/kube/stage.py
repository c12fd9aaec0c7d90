# test/kube/stage.py - where trouble is played: a control plane, an operator behind a bad way to it, many Workloads, and who watches.
import contextlib
import pathlib
import signal
import threading
import time

import yaml

import access
import crowd
from conftest import Cluster, until
from crowd import Crowd, Lives
from outside import Client, Outside
from proxy import Proxy
from test_operator import Operator
from test_operator_leader import LEASE

# Of the file that it has as installed, which says no times: 15 s, 10 s, 2 s.
ELECTION = {"leaderElect": True, "resourceNamespace": access.NAMESPACE, "resourceName": access.ACCOUNT}
# For those who are killed often, and for those who shall lose it.
QUICK = {"leaseDuration": "2s", "renewDeadline": "1500ms", "retryPeriod": "250ms"}


class Pod(Operator):
    """One that is started again when it ends because it has lost its Lease, as a kubelet does that."""

    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        self.losses, self.wanted, self.lock = 0, False, threading.Lock()

    def start(self) -> "Pod":
        self.wanted = True
        said = len(self._said())
        super().start()
        threading.Thread(target=self._tend, args=(self.process, said), daemon=True).start()
        return self

    def _said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def _tend(self, process, said: int) -> None:
        code = process.wait()
        with self.lock:
            if self.wanted and process is self.process and code == 1 and "the Lease is lost" in self._said()[said:]:
                self.losses += 1
                self.start()

    def lives(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        with self.lock:
            self.wanted = False
        return super().stop()

    def kill(self) -> None:
        with self.lock:
            self.wanted = False
        super().kill()

    def wait_ready(self) -> "Pod":
        while not self.is_ready:
            lines, said = self.lines, self.line()
            if not said:
                until("it is started again", lambda lines=lines: self.lines is not lines, timeout=10)
            assert said in ("", "leading", "ready"), said
            self.is_ready = said == "ready"
        return self


class Stage:
    """The operator has the rights of its account and no others, and is elected as where it is installed."""

    def __init__(self, folder: pathlib.Path):
        self.cluster = Cluster(folder, with_controllers=True).start()
        self.proxy = Proxy(self.cluster.port, 1)
        access.install(self.cluster)
        self.kubeconfig = self.cluster.write_kubeconfig(
            "proxied", user={"token": access.token(self.cluster)}, cluster={"server": f"https://127.0.0.1:{self.proxy.port}"})
        self.operators: list[Pod] = []
        self.operator = self.start()
        self.client, self.outside, self.lives = Client(self.cluster), None, None

    def start(self, *flags: str, lease: dict | None = None, **more) -> Pod:
        """With other times of its Lease, when they are given."""
        lease = lease or {}
        config = self.cluster.folder / f"election-{lease.get('leaseDuration', 'usual')}.yaml"
        config.write_text(yaml.safe_dump({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
                                          "leaderElection": {**ELECTION, **lease}}))
        self.operators.append(Pod(self.cluster, "--config", str(config), *flags, kubeconfig=self.kubeconfig, **more).start())
        return self.operators[-1]

    @contextlib.contextmanager
    def other_operator(self, **more):
        """Another one is in the place of the usual one, which comes back."""
        assert self.operator.stop() == 0
        self.operator = self.start(**more).wait_ready()
        try:
            yield
        finally:
            self.operator.stop()
            self.operator = self.start().wait_ready()

    def watch(self) -> None:
        """As soon as there are Workloads."""
        self.outside = Outside(self.cluster)
        self.lives = Lives(self.cluster, self.outside)
        crowd.make_queues(self.cluster, self.outside)

    def crowd(self, ns: str, count: int = 250, jobs: int = 0, seconds: float = 4) -> Crowd:
        return Crowd(self.cluster, self.outside, ns, count, jobs, seconds)

    def is_slow_and_stands_still(self) -> None:
        """Answers to the operator take seconds; then it gets none for a while. Between them its Lease is renewed."""
        self.proxy.latency = 1.0  # Each way.
        try:
            time.sleep(8)
        finally:
            self.proxy.latency = 0.0
        server = self.cluster.running["kube-apiserver"]
        for _ in range(3):
            renewed = self.client.insist("GET", LEASE)["spec"]["renewTime"]
            until("the Lease is renewed", lambda renewed=renewed: self.client.insist("GET", LEASE)["spec"]["renewTime"] != renewed)
            server.send_signal(signal.SIGSTOP)
            time.sleep(1.5)
            server.send_signal(signal.SIGCONT)

    def restart(self, name: str) -> None:
        """Killed, and started again."""
        self.cluster.kill(name)
        self.cluster.start()

    def said(self) -> str:
        return (self.cluster.folder / "operator.log").read_text()

    def stop(self) -> None:
        for one in self.operators:
            if one.lives():
                one.kill()
        for one in (self.lives, self.outside):
            if one:
                one.stop()
        self.proxy.stop()
        self.cluster.stop()
