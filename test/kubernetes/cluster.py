#!/usr/bin/env python3
# test/kubernetes/cluster.py - a real Kubernetes control plane on loopback: started, killed and stopped by process id.
"""As a program: runs one until it is interrupted, and prints its kubeconfig. As a module: `Cluster`, for tests."""
import argparse
import base64
import ctypes
import errno
import http.client
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import certificates  # noqa: E402  (beside this file)

HERE = pathlib.Path(__file__).resolve().parent
END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
SERVICES = "10.96.0.0/16"
# Go's collector of garbage runs less often while there is memory: a quarter of the API server's CPU time, most of what these tests cost.
MEMORY = {"GOGC": "400", "GOMEMLIMIT": "900MiB"}
PORTS = range(20000, 30000)  # Above those of Ray's workers (to 19999), below those that the system gives by itself (from 32768).
UNUSED_PORTS = itertools.islice(itertools.cycle(PORTS), random.randrange(len(PORTS)), None)  # Runs side by side begin elsewhere.


def programs() -> pathlib.Path:
    """The folder of etcd, kube-apiserver and the others, built when they are not there yet."""
    done = subprocess.run([str(HERE / "build_cluster.sh")], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


def kubectl() -> str:
    done = subprocess.run([str(HERE / "build.sh")], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on. The system gives none of them to a connection or to who asks it for any port, and nobody is
    given one twice: a server that was stopped or killed finds its own free when it is started again."""
    found = []
    while len(found) < count:
        port = next(UNUSED_PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError as problem:
            if problem.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            continue
        found.append(port)
    return found


def end_with_parent() -> None:
    """In the child: a test run that is killed leaves no servers behind."""
    ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)


def inline(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class Cluster:
    """etcd and kube-apiserver, and what else is asked for, in a folder of their own."""

    def __init__(self, folder: pathlib.Path, with_controllers: bool = False, with_scheduler: bool = False,
                 durable: bool = False, with_accounts: bool = False, server_flags: list[str] = ()):
        self.folder, self.durable, self.server_flags = folder, durable, server_flags
        self.with_accounts = with_accounts or with_controllers  # Pods need a ServiceAccount that somebody makes.
        self.with_controllers, self.with_scheduler = with_controllers, with_scheduler
        self.programs = programs()
        self.etcd_port, self.peer_port, self.port = free_ports(3)
        self.running: dict[str, subprocess.Popen] = {}
        self.authority = certificates.Authority()
        self.authority_pem = self.authority.pem
        self.server = f"https://127.0.0.1:{self.port}"
        names = ["localhost", "127.0.0.1", "kubernetes.default.svc", "10.96.0.1"]
        self._write_pair("server", *self.authority.issue("kube-apiserver", also=names))
        self._write("authority.pem", self.authority.pem)
        self._write("tokens.key", certificates.signing_key())
        self._write("tokens.csv", 'test-token,token-user,token-user,"system:masters"\n')
        self.admin_pair = self.authority.issue("admin", ["system:masters"])
        self.kubeconfig = self.write_kubeconfig("kubeconfig")
        for user in ["system:kube-controller-manager", "system:kube-scheduler"]:
            self.write_kubeconfig(user.split(":")[1] + ".kubeconfig", self.authority.issue(user))
        self._context, self._anonymous = (ssl.create_default_context(cadata=self.authority.pem) for _ in range(2))
        self._context.load_cert_chain(*self._write_pair("admin", *self.admin_pair))

    def _write(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def _write_pair(self, name: str, certificate: str, key: str) -> tuple[pathlib.Path, pathlib.Path]:
        return self._write(f"{name}.crt", certificate), self._write(f"{name}.key", key)

    def write_kubeconfig(self, name: str, pair: tuple[str, str] | None = None, user: dict | None = None,
                         cluster: dict | None = None) -> pathlib.Path:
        """For the administrator, or somebody with a certificate and key, or whatever `user` and `cluster` say."""
        certificate, key = pair or self.admin_pair
        user = user or {"client-certificate-data": inline(certificate), "client-key-data": inline(key)}
        cluster = {"server": self.server, "certificate-authority-data": inline(self.authority_pem), **(cluster or {})}
        return self._write(name, yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {k: v for k, v in cluster.items() if v is not None}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))

    def _commands(self) -> dict[str, list[str]]:
        at = self.folder
        etcd = f"http://127.0.0.1:{self.etcd_port}"
        peer = f"http://127.0.0.1:{self.peer_port}"
        commands = {
            "etcd": [f"--data-dir={at}/etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
                     f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
                     "--log-level=warn", *([] if self.durable else ["--unsafe-no-fsync"])],
            "kube-apiserver": [
                f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={self.port}", f"--cert-dir={at}/certificates",
                f"--tls-cert-file={at}/server.crt", f"--tls-private-key-file={at}/server.key",
                f"--client-ca-file={at}/authority.pem", f"--token-auth-file={at}/tokens.csv",
                "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={at}/tokens.key",
                f"--service-account-signing-key-file={at}/tokens.key", "--authorization-mode=Node,RBAC",
                f"--service-cluster-ip-range={SERVICES}", "--profiling=false", "--endpoint-reconciler-type=none",
                *self.server_flags, *([] if self.with_accounts else ["--disable-admission-plugins=ServiceAccount"])]}
        if self.with_controllers:
            commands["kube-controller-manager"] = [
                f"--kubeconfig={at}/kube-controller-manager.kubeconfig", f"--service-account-private-key-file={at}/tokens.key",
                f"--root-ca-file={at}/authority.pem", "--use-service-account-credentials", "--leader-elect=false", "--secure-port=0",
                "--concurrent-job-syncs=10"]
        if self.with_scheduler:
            commands["kube-scheduler"] = [f"--kubeconfig={at}/kube-scheduler.kubeconfig", "--leader-elect=false", "--secure-port=0"]
        return commands

    def start(self, timeout: float = 60) -> "Cluster":
        """All programs, those that are down already again; returns when the API server is ready. The controllers come after that:
        they give up when it takes them too long to reach it."""
        for name in self._commands():
            if not self.is_running(name):
                self.start_program(name)
            if name == "kube-apiserver":
                self.wait_ready(timeout)
        return self

    def start_program(self, name: str) -> None:
        with (self.folder / f"{name}.log").open("a") as log:
            self.running[name] = subprocess.Popen([str(self.programs / name), *self._commands()[name]], stdout=log, stderr=log,
                                                  cwd=self.folder, env={**os.environ, **MEMORY}, preexec_fn=end_with_parent)

    def is_running(self, name: str) -> bool:
        return name in self.running and self.running[name].poll() is None

    def wait_ready(self, timeout: float = 60) -> None:
        deadline = time.time() + timeout
        while not self._is_ready():
            for name, process in self.running.items():
                assert process.poll() is None, f"{name} ended: {(self.folder / f'{name}.log').read_text()[-4000:]}"
            assert time.time() < deadline, "the API server is not ready in time"
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            # The administrator's rights come from a hook of the start; the first namespaces and priority classes too.
            status, _ = self.request("GET", "/readyz", timeout=2)
            return status == 200 and self.request("GET", "/api/v1/namespaces/default")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def connection(self, timeout: float = 30, anonymous: bool = False) -> http.client.HTTPSConnection:
        """One of the administrator, or of who says who it is by itself."""
        context = self._anonymous if anonymous else self._context
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    def request(self, method: str, path: str, body=None, content_type: str = "application/json", timeout: float = 30):
        """Asks as the administrator: the status, and the body as a value when it is JSON."""
        connection = self.connection(timeout)
        try:
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": content_type})
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if "json" in (answer.getheader("Content-Type") or "") else text
        finally:
            connection.close()

    def kill(self, name: str) -> None:
        self.running[name].kill()
        self.running.pop(name).wait()

    def stop(self) -> None:
        """Everything, last started first."""
        for name in reversed(list(self.running)):
            process = self.running.pop(name)
            process.send_signal(signal.SIGTERM if self.durable else signal.SIGKILL)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a real Kubernetes control plane until it is interrupted.")
    parser.add_argument("--no-controllers", action="store_true", help="without kube-controller-manager and kube-scheduler")
    parser.add_argument("--data", type=pathlib.Path, help="keep everything in this folder, written to disk (default: in a folder "
                                                          "that goes with it)")
    options = parser.parse_args()
    folder = options.data or pathlib.Path(tempfile.mkdtemp(prefix="muster-kube-"))
    folder.mkdir(parents=True, exist_ok=True)
    more = not options.no_controllers
    cluster = Cluster(folder, with_controllers=more, with_scheduler=more, durable=options.data is not None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        cluster.start()
        print(cluster.kubeconfig, flush=True)
        print(f"export KUBECONFIG={cluster.kubeconfig}; stop with Ctrl-C", file=sys.stderr, flush=True)
        while all(process.poll() is None for process in cluster.running.values()):
            time.sleep(0.5)
        print(f"one of the programs ended; see {folder}/*.log", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        cluster.stop()
        if options.data is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
