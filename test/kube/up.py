# test/kube/up.py - `muster up`, asked as the real control plane of test/kubernetes/cluster.py is.
import base64
import pathlib
import signal
import ssl
import subprocess

import yaml

from cluster import free_ports
from conftest import MUSTER, Cluster


class UpServer(Cluster):
    """Whole unless the flags say otherwise; its node, when they name none, is of two CPUs."""

    def __init__(self, folder: pathlib.Path, *flags: str):  # pylint: disable=super-init-not-called
        self.folder, self.kubeconfig, self.port = folder, folder / "kubeconfig", free_ports(1)[0]
        self.flags = flags if {"--node", "--api-only"} & set(flags) else ("--node", "laptop:cpu=2", *flags)
        self.process = None

    def start(self, timeout: float = 60) -> "UpServer":
        """Also again, at the same place."""
        with (self.folder / "muster.log").open("a") as log:
            self.process = subprocess.Popen(
                [str(MUSTER), "up", "--data", str(self.folder / "state"), "--kubeconfig", str(self.kubeconfig),
                 "--listen", f"127.0.0.1:{self.port}", *self.flags], stdout=subprocess.PIPE, stderr=log, text=True)
        assert any(line.strip() == "ready" for line in self.process.stdout), (self.folder / "muster.log").read_text()[-3000:]
        config = yaml.safe_load(self.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        self.authority_pem = self._pem(cluster["certificate-authority-data"])
        self.admin_pair = (self._pem(user["client-certificate-data"]), self._pem(user["client-key-data"]))
        self._context = ssl.create_default_context(cadata=self.authority_pem)
        self._context.check_hostname = False
        self._context.load_cert_chain(self._write("admin.pem", "".join(self.admin_pair)))
        return self

    @staticmethod
    def _pem(data: str) -> str:
        return base64.b64decode(data).decode()

    def kill(self, name: str = "") -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)
