#!/usr/bin/env python3
# bench/admission.py - plays a load of Workloads on `muster up`, or on a real Kubernetes with `muster operator`.
"""Starts the server, plays the load with `muster_load` (bench_load/), prints its figures, and stops what it started.

Beside Muster: `--on kubernetes --program 'kueue --kubeconfig {kubeconfig} --config FILE'` plays it for another program of the same
objects. FILE for Kueue: no leader election, and the client limits that are to be measured."""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def wait_ready(process: subprocess.Popen, log: pathlib.Path) -> None:
    """Both `muster up` and `muster operator` print this line when they serve."""
    if process.stdout.readline().strip() != "ready":
        sys.exit(f"muster did not start: {log.read_text()[-2000:]}")


def start_muster(build: pathlib.Path, folder: pathlib.Path, *arguments: str) -> subprocess.Popen:
    log = folder / "muster.log"
    with log.open("w") as errors:
        process = subprocess.Popen([str(build / "muster"), *arguments], stdout=subprocess.PIPE, stderr=errors, text=True)
    wait_ready(process, log)
    return process


PROBE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "probe"}, "spec": {}}


def start_program(command: str, folder: pathlib.Path, cluster) -> subprocess.Popen:
    """Runs when it has told a queue's state."""
    words = [word.replace("{kubeconfig}", str(cluster.kubeconfig)) for word in shlex.split(command)]
    queues = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
    with (folder / "program.log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        status, said = cluster.request("POST", queues, PROBE)
        if status != 201:
            sys.exit(f"no queue could be made: {json.dumps(said)}")
        while not cluster.request("GET", f"{queues}/probe")[1].get("status", {}).get("conditions"):
            if process.poll() is not None:
                sys.exit(f"it ended with {process.returncode}: {(folder / 'program.log').read_text()[-2000:]}")
            time.sleep(0.1)
        cluster.request("DELETE", f"{queues}/probe")
        while cluster.request("GET", f"{queues}/probe")[0] == 200:
            time.sleep(0.1)
    except BaseException:
        process.kill()
        raise
    return process


def stop(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)


def play(options, kubeconfig: pathlib.Path, processes: dict[str, int]) -> int:
    command = [str(options.build / "muster_load"), "--kubeconfig", str(kubeconfig), "--load", str(options.load),
               "--percent", str(options.percent), *(["--json"] if options.json else [])]
    for name, pid in processes.items():
        command += ["--process", f"{name}={pid}"]
    if not options.json:
        cores = os.cpu_count()
        print(f"load {options.load}, {options.percent} % of its workloads, on {options.on} ({cores} cores, "
              f"load average {os.getloadavg()[0]:.1f})", flush=True)
    return subprocess.run(command).returncode


def helpers_of(data: pathlib.Path) -> dict[str, int]:
    """The processes that hold the network of the pods of a `muster up`, by name; none without root."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            name = (entry / "comm").read_text().strip()
        except OSError:  # It has ended meanwhile.
            continue
        if words[1:3] == [b"namespace-holder", str(data / "agent").encode()]:
            found[name if name not in found else f"{name} {entry.name}"] = int(entry.name)
    return found


def on_up(options, folder: pathlib.Path) -> int:
    kubeconfig = folder / "kubeconfig"
    muster = start_muster(options.build, folder, "up", "--data", str(folder / "data"), "--listen", "127.0.0.1:0",
                          "--kubeconfig", str(kubeconfig), "--node", "bench:cpu=8,memory=8Gi")
    try:
        return play(options, kubeconfig, {"muster": muster.pid, **helpers_of(folder / "data")})
    finally:
        stop(muster)


def on_kubernetes(options, folder: pathlib.Path) -> int:
    sys.path.insert(0, str(ROOT / "test/kubernetes"))
    from cluster import Cluster, kubectl  # Only here: it needs what `./dev kube` builds.
    cluster = Cluster(folder, with_controllers=True)
    try:
        cluster.start()
        quiet = {"stdout": subprocess.DEVNULL, "check": True}
        tool = [kubectl(), "--kubeconfig", str(cluster.kubeconfig)]
        crds = folder / "crds.yaml"
        with crds.open("w") as file:  # The operator below serves no webhooks: nobody would convert.
            subprocess.run([str(options.build / "muster"), "crds", "--no-conversion"], stdout=file, check=True)
        subprocess.run([*tool, "apply", "--server-side", "-f", str(crds)], **quiet)
        subprocess.run([*tool, "wait", "--for=condition=Established", "--timeout=60s", "-f", str(crds)], **quiet)
        if options.program:
            name, process = pathlib.Path(shlex.split(options.program)[0]).name, start_program(options.program, folder, cluster)
        else:
            name, process = "muster", start_muster(options.build, folder, "operator", "--kubeconfig", str(cluster.kubeconfig))
        try:
            others = {each: its.pid for each, its in cluster.running.items()}
            return play(options, cluster.kubeconfig, {name: process.pid, **others})
        finally:
            stop(process)
    finally:
        cluster.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Plays a load of Workloads and says how it went.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--on", choices=["up", "kubernetes"], default="up")
    parser.add_argument("--load", type=int, choices=[1, 2], default=1, help="1: 15,000 in 30 queues; 2: 50,000 in 1,000")
    parser.add_argument("--percent", type=int, default=100, help="of the workloads of each class")
    parser.add_argument("--program", metavar="COMMAND", help="on kubernetes: in the place of `muster operator`; {kubeconfig} is put in")
    parser.add_argument("--json", action="store_true", help="each figure as a line of JSON")
    options = parser.parse_args()
    if options.program and options.on != "kubernetes":
        parser.error("--program takes the place of `muster operator`: it needs --on kubernetes")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-load-"))
    try:
        return on_up(options, folder) if options.on == "up" else on_kubernetes(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
