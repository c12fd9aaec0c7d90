#!/usr/bin/env python3
# bench/ray_ready.py - a RayCluster from applied to ready, against the same `ray start` lines typed by hand.
"""Both sides get the same cpu limits (cgroups), the same Ray and private networks; they take turns. Needs root.

By hand means: the head's command line; when its GCS takes connections, the worker's; ready when the URLs that the pods'
readiness probes ask answer 200 on both. The command lines, variables and probes are read from the pods that Muster made.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))
import play  # noqa: E402

CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: bench}
spec:
  rayVersion: 2.58.0
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.58.0",
      resources: {requests: {cpu: 1, memory: 2G}, limits: {cpu: 1, memory: 2G}}}]}}
  workerGroupSpecs:
  - groupName: small
    replicas: 1
    minReplicas: 1
    maxReplicas: 1
    rayStartParams: {}
    template: {spec: {containers: [{name: ray-worker, image: "rayproject/ray:2.58.0",
      resources: {requests: {cpu: 2, memory: 2G}, limits: {cpu: 2, memory: 2G}}}]}}
"""
HEAD, WORKER = "10.203.7.1", "10.203.7.2"


def by_muster(stage: play.Stage) -> tuple[float, list[dict]]:
    """Seconds from `muster apply` (its start) to state ready, and the pods. The cluster is gone afterwards."""
    begun = time.time()
    subprocess.run(["muster", "apply", "-f", "-"], input=CLUSTER, text=True, env=stage.env, check=True,
                   stdout=subprocess.DEVNULL)
    watch = subprocess.Popen(["muster", "get", "raycluster", "bench", "--watch", "-o", "jsonpath={.status.state}{\"\\n\"}"],
                             env=stage.env, text=True, stdout=subprocess.PIPE)
    for line in watch.stdout:
        if line.strip() == "ready":
            break
    took = time.time() - begun
    watch.kill()
    watch.wait()
    pods = stage.get("pods")["items"]
    subprocess.run(["muster", "delete", "raycluster", "bench"], env=stage.env, check=True, stdout=subprocess.DEVNULL)
    stage.until("pods", lambda seen: not seen["items"])
    return took, pods


class Room:
    """A network namespace and a cpu group for one Ray node, as a pod has them."""

    def __init__(self, name: str, address: str, cpu: float):
        self.name, self.address = f"mbench-{name}", address
        version2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
        self.group = pathlib.Path("/sys/fs/cgroup" if version2 else "/sys/fs/cgroup/cpu") / self.name
        self.group.mkdir(exist_ok=True)
        if version2:
            (self.group / "cpu.max").write_text(f"{int(cpu * 100000)} 100000")
        else:
            (self.group / "cpu.cfs_period_us").write_text("100000")
            (self.group / "cpu.cfs_quota_us").write_text(str(int(cpu * 100000)))
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        subprocess.run(["ip", "-n", self.name, "link", "set", "lo", "up"], check=True)

    def start(self, container: dict, python_home: pathlib.Path) -> subprocess.Popen:
        """Runs the container's command line in here: own processes, own /tmp and /dev/shm, the limit from the first moment."""
        env = {"PATH": f"{python_home}/bin:{os.environ['PATH']}", "HOME": "/tmp", "LANG": "C.UTF-8"}
        env |= {e["name"]: e["value"] for e in container["env"] if "value" in e}
        env |= {"RAY_IP": HEAD, "FQ_RAY_IP": HEAD}
        if "RAY_ADDRESS" in env:
            env["RAY_ADDRESS"] = f"{HEAD}:6379" if self.address != HEAD else "127.0.0.1:6379"
        # There is no DNS in here: the head's service is the head.
        line = [re.sub(r"[\w.-]+\.svc\.[\w.]+", HEAD, word) for word in [*container["command"], *container.get("args", [])]]
        limited = f"echo $$ > {self.group}/cgroup.procs; exec \"$@\""
        private = "mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /dev/shm; exec \"$@\""
        return subprocess.Popen(["bash", "-c", limited, "-", "ip", "netns", "exec", self.name, "unshare", "--mount", "--pid",
                                 "--fork", "--kill-child", "--mount-proc", "bash", "-c", private, "-", *line],
                                env=env, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], check=False)
        deadline = time.time() + 20
        while (self.group / "cgroup.procs").read_text() and time.time() < deadline:
            time.sleep(0.1)
        self.group.rmdir()


def probes(pod: dict, address: str) -> list[str]:
    """The URLs of the readiness probe that Muster put into the pod."""
    asked = pod["spec"]["containers"][0]["readinessProbe"]["httpGet"]
    return [f"http://{address}:{asked['port']}{asked['path']}"]


def wait_until_open(address: str, port: int) -> None:
    while True:
        with socket.socket() as attempt:
            attempt.settimeout(1)
            if attempt.connect_ex((address, port)) == 0:
                return
        time.sleep(0.02)


def wait_until_ready(urls: list[str]) -> None:
    for url in urls:
        while True:
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.05)


def by_hand(pods: list[dict], python_home: pathlib.Path) -> float:
    """Seconds from typing the head's line to both nodes ready."""
    kinds = {pod["metadata"]["labels"]["ray.io/node-type"]: pod for pod in pods}

    def cpu(pod: dict) -> float:
        return float(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"])
    head, worker = Room("head", HEAD, cpu(kinds["head"])), Room("worker", WORKER, cpu(kinds["worker"]))
    processes = []
    try:
        subprocess.run(["ip", "link", "add", "mb0", "netns", head.name, "type", "veth", "peer", "name", "mb0", "netns",
                        worker.name], check=True)
        for room in (head, worker):
            subprocess.run(["ip", "-n", room.name, "address", "add", f"{room.address}/24", "dev", "mb0"], check=True)
            subprocess.run(["ip", "-n", room.name, "link", "set", "mb0", "up"], check=True)
            # Ray takes the address that its default route leaves from.
            subprocess.run(["ip", "-n", room.name, "route", "add", "default", "dev", "mb0"], check=True)
        begun = time.time()
        processes.append(head.start(kinds["head"]["spec"]["containers"][0], python_home))
        ask = [sys.executable, __file__, "--ask"]
        subprocess.run(["ip", "netns", "exec", head.name, *ask, "open"], check=True, timeout=120)
        processes.append(worker.start(kinds["worker"]["spec"]["containers"][0], python_home))
        subprocess.run(["ip", "netns", "exec", head.name, *ask, *probes(kinds["head"], HEAD), *probes(kinds["worker"], WORKER)],
                       check=True, timeout=120)
        return time.time() - begun
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        head.close()
        worker.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", type=pathlib.Path)
    parser.add_argument("--python-home", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ask", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask == ["open"]:
        wait_until_open(HEAD, 6379)
        return 0
    if options.ask:
        wait_until_ready(options.ask)
        return 0
    if os.geteuid() != 0:
        sys.exit("ray_ready: the side by hand needs root for its networks and limits: run it with sudo")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-bench-"))
    stage = play.Stage(options.muster, options.python_home, folder)
    muster, hand = [], []
    try:
        stage.start()
        for number in range(options.rounds):
            took, pods = by_muster(stage)
            muster.append(took)
            hand.append(by_hand(pods, options.python_home))
            print(f"round {number + 1}: muster {muster[-1]:.2f} s, by hand {hand[-1]:.2f} s", file=sys.stderr, flush=True)
    finally:
        stage.stop()
        shutil.rmtree(folder, ignore_errors=True)
    figures = [("RayCluster applied to ready", statistics.median(muster), "s"),
               ("the same ray start lines by hand", statistics.median(hand), "s"),
               ("difference", statistics.median(m - h for m, h in zip(muster, hand)), "s")]
    for name, value, unit in figures:
        print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}) if options.json
              else f"  {name:<44} {value:12.2f} {unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
