# test/kube/operator_pods.py - plays the one node of a cluster: pods of the operator are processes of this machine, with their
# container's arguments and their service account's token; all other pods say what a kubelet would say of them.
import asyncio
import http.client
import pathlib
import signal
import subprocess
import threading
import time

import kubelet
from cluster import free_ports
from conftest import MUSTER
from outside import Client

PROFILED = "127.0.0.1:6060"  # Of the pod.
WAYS = """apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {{uds: {{udsName: "{path}"}}}}
"""


class ServiceNetwork:
    """The way of the API server into the cluster: it asks for the address of a Service, and gets to a pod that is ready."""

    def __init__(self, path: pathlib.Path):
        self.place = lambda ip, port: None  # The port on this machine, or None.
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_unix_server(self._serve, str(path)))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=10)

    async def _serve(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            ip, _, port = head.split()[1].decode().rpartition(":")
            there = await self.loop.run_in_executor(None, self.place, ip, int(port))
            if there is None:
                writer.write(b"HTTP/1.1 502 Nobody\r\n\r\n")
                return
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", there)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(self._carry(reader, there_writer), self._carry(there_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    @staticmethod
    async def _carry(reader, writer):
        try:
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        writer.close()


class OperatorPod:
    """A pod of the operator as a process. Its ports are others than it says: several are on one machine."""

    def __init__(self, cluster, client: Client, pod: dict, folder: pathlib.Path):
        self.pod, self.folder, self.process, self.told, self.ending = pod, folder, None, "", 0.0
        self.restarts, self.asked, self.is_ready = 0, 0.0, False
        self.profile = 0  # The port where it is profiled, when it is.
        self.spec = pod["spec"]["containers"][0]
        self.ports = {each["name"]: port for each, port in zip(self.spec["ports"], free_ports(len(self.spec["ports"])))}
        folder.mkdir()
        self._write_config(client)
        meta = pod["metadata"]
        status, answer = client.ask("POST", f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/"
                                            f"{pod['spec']['serviceAccountName']}/token", {"spec": {"expirationSeconds": 3600}})
        assert status == 201, answer
        kubeconfig = cluster.write_kubeconfig(f"pod-{meta['uid']}", user={"token": answer["status"]["token"]})
        self.command = [str(MUSTER), *(self._here(each) for each in self.spec["args"]), "--kubeconfig", str(kubeconfig),
                        "--health-probe-bind-address", f"127.0.0.1:{self.ports['probes']}"]
        if "metrics" in self.ports:
            self.command += ["--metrics-bind-address", f"127.0.0.1:{self.ports['metrics']}"]
        self.log = (cluster.folder / "pods.log").open("a")
        self.log.write(f"--- {meta['name']}: {' '.join(self.command)}\n")
        self.log.flush()
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)

    def look(self, _) -> tuple[str, bool, dict]:
        if self.process.poll() is not None and not self.ending:
            self.restarts += 1
            self.start()
        if time.time() - self.asked > 0.2:
            self.asked, self.is_ready = time.time(), self.probe("readinessProbe")
        return "Running", self.is_ready, {}

    def forget(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _write_config(self, client: Client) -> None:
        """The files of its ConfigMaps, where the container has them."""
        maps = {volume["name"]: volume["configMap"]["name"] for volume in self.pod["spec"]["volumes"] if "configMap" in volume}
        self.mounts = {}
        for mount in self.spec["volumeMounts"]:
            if mount["name"] not in maps:
                continue
            place = self.mounts[mount["mountPath"]] = self.folder / mount["name"]
            place.mkdir()
            answer = client.insist("GET", f"/api/v1/namespaces/{self.pod['metadata']['namespace']}/configmaps/{maps[mount['name']]}")
            for name, text in answer["data"].items():
                if PROFILED in text:
                    self.profile = free_ports(1)[0]
                    text = text.replace(PROFILED, f"127.0.0.1:{self.profile}")
                (place / name).write_text(text)

    def _here(self, argument: str) -> str:
        for inside, outside in self.mounts.items():
            argument = argument.replace(inside, str(outside))
        if argument.startswith("--webhook-listen="):
            return f"--webhook-listen=127.0.0.1:{self.ports['webhooks']}"
        return argument

    def probe(self, which: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[self.spec[which]["httpGet"]["port"]], timeout=3)
        try:
            connection.request("GET", self.spec[which]["httpGet"]["path"])
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def end(self) -> bool:
        """First what it does before the end, then SIGTERM. True when it is over."""
        now = time.time()
        if not self.ending:
            self.ending = now + self.spec["lifecycle"]["preStop"]["sleep"]["seconds"]
        if now >= self.ending and self.process.poll() is None and not self.told:
            self.told = "ended"
            self.process.send_signal(signal.SIGTERM)
        return self.process.poll() is not None


class Kubelet(kubelet.Kubelet):
    """The operator's pods are run, all others only told of."""

    def __init__(self, cluster, network: ServiceNetwork, seconds: float = 1.0):
        self.operators: dict[str, OperatorPod] = {}  # By uid of the pod, also of those that are gone.
        network.place = self._place
        super().__init__(cluster, seconds=seconds)

    @property
    def restarts(self) -> int:
        return sum(one.restarts for one in self.operators.values())

    def play(self, pod: dict):
        uid = pod["metadata"]["uid"]
        if not pod["spec"]["containers"][0]["image"].rpartition(":")[0].endswith("muster"):
            return super().play(pod)
        self.operators[uid] = OperatorPod(self.cluster, self.client, pod, self.cluster.folder / f"pod-files-{uid}")
        return self.operators[uid]

    def _place(self, ip: str, port: int) -> int | None:
        """Asked by the network's threads."""
        if (ip, port) == self.server.server_address:
            return port
        client = Client(self.cluster)
        for service in client.insist("GET", "/api/v1/services")["items"]:
            target = next((each["targetPort"] for each in service["spec"]["ports"] if each["port"] == port), None)
            if service["spec"].get("clusterIP") != ip or target is None:
                continue
            wanted = service["spec"].get("selector", {}).items()
            for one in list(self.operators.values()):
                chosen = wanted <= one.pod["metadata"]["labels"].items() and one.process.poll() is None
                if chosen and target in one.ports and one.probe("readinessProbe"):
                    return one.ports[target]
        return None
