#!/usr/bin/env python3
# demo/play.py - plays the main job: every command as a user would type it, with its real output.
"""Starts `muster up` in a folder of its own, plays the story, stops it. Exits 0 only if all of it came true."""
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
SAMPLES = pathlib.Path("deploy/samples/story")
NODE = "laptop:cpu=8,memory=8118372Ki,pods=110"


class Failed(Exception):
    """The story did not come true; the text says where."""


class Stage:
    """The running Muster and the shell that its user types into."""

    trains = True  # Whether pods are run, and Ray in them.

    def __init__(self, muster: pathlib.Path, python_home: pathlib.Path, data: pathlib.Path):
        self.data = data
        self.log = data / "muster.log"
        self.env = dict(os.environ, KUBECONFIG=str(data / "kubeconfig"),
                        PATH=f"{muster.resolve().parent}:{os.environ['PATH']}", MUSTER_PYTHON_HOME=str(python_home))
        self.process = None
        self.begun = time.time()

    def say(self, text: str) -> None:
        print(f"\n\033[1m# {text}\033[0m   \033[2m[{time.time() - self.begun:.0f} s]\033[0m", flush=True)

    def run(self, command: str, expect: str | list[str] = (), timeout: float = 360) -> str:
        """Types a command, shows its output, checks that it succeeded and that all of `expect` is in the output."""
        print(f"$ {command}", flush=True)
        try:
            done = subprocess.run(command, shell=True, cwd=ROOT, env=self.env, timeout=timeout, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, executable="/bin/bash")
        except subprocess.TimeoutExpired:
            raise Failed(f"`{command}` took longer than {timeout} s") from None
        print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            raise Failed(f"`{command}` ended with {done.returncode}")
        for text in [expect] if isinstance(expect, str) else expect:
            if text not in done.stdout:
                raise Failed(f"`{command}` did not show {text!r}")
        return done.stdout

    def why(self, what: str, expect: list[str]) -> None:
        """Asks why something waits."""
        self.run(f"muster why {what}", expect)

    def stream(self, command: str, expect: str, timeout: float = 600) -> None:
        """Types a command whose output comes over time; shows it as it comes."""
        print(f"$ {command}", flush=True)
        process = subprocess.Popen(command, shell=True, cwd=ROOT, env=self.env, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, executable="/bin/bash")
        seen, deadline = [], time.time() + timeout
        for line in process.stdout:
            print(line, end="", flush=True)
            seen.append(line)
            if time.time() > deadline:
                process.kill()
                raise Failed(f"`{command}` took longer than {timeout} s")
        if process.wait() != 0 or expect not in "".join(seen):
            raise Failed(f"`{command}` ended with {process.returncode} and did not show {expect!r}")

    def get(self, what: str) -> dict:
        """An object or list as JSON, without showing the command."""
        done = subprocess.run(f"muster get {what} -o json", shell=True, cwd=ROOT, env=self.env, text=True,
                              capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else {}

    def until(self, what: str, true, timeout: float = 180) -> dict:
        """Waits until an object looks as it should; shows nothing."""
        deadline = time.time() + timeout
        while True:
            seen = self.get(what)
            if true(seen):
                return seen
            if time.time() > deadline:
                raise Failed(f"{what} did not come to what it should be within {timeout} s: "
                             f"{json.dumps(seen.get('status', seen))[:2000]}")
            time.sleep(0.1)

    def start(self) -> None:
        command = f"muster up --data {self.data}/state --kubeconfig {self.data}/kubeconfig --listen 127.0.0.1:0 --node {NODE}"
        print(f"$ {command} &", flush=True)
        self.process = subprocess.Popen(shlex.split(command), cwd=ROOT, env=self.env, text=True,
                                        stdout=subprocess.PIPE, stderr=self.log.open("w"), start_new_session=True)
        for line in self.process.stdout:
            print(line, end="", flush=True)
            if line.strip() == "ready":
                return
        raise Failed(f"muster up ended with {self.process.wait()}: {self.log.read_text()[-2000:]}")

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise Failed("muster up did not stop within 60 s of SIGTERM") from None


class Phases:
    """When each job came to each of its phases, for the closing table."""

    COLUMNS = ["queued", "admitted", "placed", "started", "ready", "finished"]

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, float]] = {}

    def note(self, job: str, phase: str, when: str | float | None) -> None:
        if when:
            self.jobs.setdefault(job, {}).setdefault(phase, parse_time(when) if isinstance(when, str) else when)

    def note_pods(self, job: str, pods: list[dict]) -> None:
        """Placed, started and ready are those of the job's last pod: a gang is as late as its last member."""
        def last(of) -> float | None:
            times = [t for t in map(of, pods) if t]
            return max(map(parse_time, times)) if times else None
        self.note(job, "placed", last(lambda p: condition_time(p, "PodScheduled")))
        self.note(job, "started", last(lambda p: p.get("status", {}).get("startTime")))
        self.note(job, "ready", last(lambda p: condition_time(p, "Ready")))

    def table(self) -> str:
        rows = [["JOB", "QUEUED AT"] + [c.upper() for c in self.COLUMNS[1:]]]
        for job, times in self.jobs.items():
            zero = times.get("queued", 0)
            row = [job, time.strftime("%H:%M:%S", time.localtime(zero))]
            for phase in self.COLUMNS[1:]:
                row.append(f"+{max(0.0, times[phase] - zero):.1f} s" if phase in times else "-")
            rows.append(row)
        widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
        return "\n".join("   ".join(cell.ljust(w) for cell, w in zip(r, widths)).rstrip() for r in rows)


def parse_time(text: str) -> float:
    from datetime import datetime
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def condition(thing: dict, kind: str) -> dict:
    return next((c for c in thing.get("status", {}).get("conditions", []) if c.get("type") == kind), {})


def condition_time(thing: dict, kind: str) -> str | None:
    c = condition(thing, kind)
    return (c.get("lastTransitionTime") or c.get("lastTransitionMicroTime")) if c.get("status") == "True" else None


def play_queues(stage: Stage) -> None:
    stage.say("An administrator sets up quotas and queues")
    stage.run(f"muster apply -f {SAMPLES}/1-queues.yaml", "localqueue.kueue.x-k8s.io/local-queue-test created")
    stage.until("-n sandbox localqueue local-queue-test", lambda q: condition(q, "Active").get("status") == "True")
    stage.run("muster get -n sandbox queues", ["NAME", "CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS"])


def wrapped_pods(stage: Stage, name: str) -> list[dict]:
    return stage.get(f"pods -n default -l ray.io/cluster={name}").get("items", [])


def note_wrapper(stage: Stage, phases: Phases, name: str) -> None:
    wrapper = stage.get(f"-n default appwrapper {name}")
    phases.note(f"appwrapper/{name}", "queued", wrapper["metadata"]["creationTimestamp"])
    phases.note(f"appwrapper/{name}", "admitted", condition_time(wrapper, "Dispatched"))
    phases.note_pods(f"appwrapper/{name}", wrapped_pods(stage, name))


def play_first_wrapper(stage: Stage, phases: Phases) -> None:
    stage.say("Something else runs on the node; then a Ray cluster comes, wrapped as one job, and fits")
    stage.run(f"muster apply -f {SAMPLES}/2-other-work.yaml")
    stage.run("muster wait --for=condition=Ready pod/other-work --timeout=120s")
    stage.run(f"muster apply -f {SAMPLES}/3-appwrapper.yaml")
    stage.until("-n default raycluster raycluster-complete", lambda c: bool(c.get("metadata")))
    stage.run("muster wait --for=jsonpath='{.status.state}'=ready raycluster/raycluster-complete --timeout=300s")
    stage.run("muster get pods -n default")
    stage.run("muster describe appwrapper raycluster-complete -n default",
              ["Canrun:", "AwaitingHeadOfLine", "FrontOfQueue.", "AppWrapperRunnable", "Controllerfirsttimestamp:",
               "before manageQueueJob - afterEtcdDispatching", "Queuejobstate:", "Running"])
    stage.run("muster describe node laptop | sed -n '/Allocated resources/,$p'", ["6050m (75%)", "6824650Ki (84%)"])
    note_wrapper(stage, phases, "raycluster-complete")


def play_second_wrapper(stage: Stage) -> None:
    stage.say("A second one of the same size waits: no cluster, no pods, and it says why")
    stage.run(f"muster apply -f {SAMPLES}/4-appwrapper-1.yaml")
    stage.until("-n default appwrapper raycluster-complete-1",
                lambda w: w.get("status", {}).get("queuejobstate") == "Backoff", 60)
    stage.run("muster describe appwrapper raycluster-complete-1 -n default",
              ["Insufficient resources to dispatch AppWrapper.", "AppWrapperNotRunnable.", "Pending", "Backoff"])
    stage.run("muster get rayclusters,pods -n default")
    if stage.get("-n default raycluster raycluster-complete-1") or wrapped_pods(stage, "raycluster-complete-1"):
        raise Failed("the waiting AppWrapper has made objects")
    stage.why("appwrapper/raycluster-complete-1", ["cpu", "raycluster-complete"])


def play_hand_over(stage: Stage, phases: Phases) -> None:
    stage.say("The first is deleted: its processes end, then the second starts")
    stage.run("muster delete appwrapper raycluster-complete -n default")
    stage.until("-n default appwrapper raycluster-complete-1",
                lambda w: w.get("status", {}).get("state") == "Running", 60)
    phases.note("appwrapper/raycluster-complete", "finished", time.time())
    for kind, name in (("raycluster", ""), ("configmap", "-settings"), ("secret", "-token")):
        if stage.get(f"-n default {kind} raycluster-complete{name}"):
            raise Failed(f"{kind} raycluster-complete{name} outlived its AppWrapper")
    stage.run("muster wait --for=jsonpath='{.status.state}'=ready raycluster/raycluster-complete-1 --timeout=300s")
    stage.run("muster get appwrappers,rayclusters,pods -n default")
    note_wrapper(stage, phases, "raycluster-complete-1")
    stage.run("muster delete appwrapper raycluster-complete-1 -n default")
    stage.until("-n default pods -l ray.io/cluster=raycluster-complete-1", lambda l: not l.get("items"))
    phases.note("appwrapper/raycluster-complete-1", "finished", time.time())


def play_training(stage: Stage, phases: Phases) -> None:
    stage.say("A training job without a queue label: the default queue takes it, real Ray runs it")
    stage.run(f"muster apply -f {SAMPLES}/5-rayjob.yaml")
    stage.until("-n sandbox workloads", lambda l: any(condition(w, "Admitted").get("status") == "True"
                                                      for w in l.get("items", [])), 60)
    stage.run("muster get -n sandbox queues,workloads")
    stage.until("-n sandbox rayjob digits", lambda j: j.get("status", {}).get("jobDeploymentStatus") == "Running", 300)
    job = stage.get("-n sandbox rayjob digits")
    cluster = job["status"]["rayClusterName"]
    phases.note_pods("rayjob/digits", stage.get(f"pods -n sandbox -l ray.io/cluster={cluster}").get("items", []))
    stage.run("muster get -n sandbox rayjobs,rayclusters,pods")
    stage.until("-n sandbox pods -l job-name=digits",
                lambda l: any(p["status"].get("phase") in ("Running", "Succeeded") for p in l.get("items", [])), 60)
    if stage.trains:
        play_end_of_training(stage, phases)
    else:
        stage.run("muster delete -n sandbox rayjob digits")
    stage.until("-n sandbox rayclusters", lambda l: not l.get("items"))
    stage.until("-n sandbox localqueue local-queue-test",
                lambda q: q.get("status", {}).get("admittedWorkloads", 0) == 0 and
                q.get("status", {}).get("reservingWorkloads", 0) == 0, 30)
    stage.run("muster get -n sandbox queues")


def play_end_of_training(stage: Stage, phases: Phases) -> None:
    stage.stream("muster logs -n sandbox -f job/digits", "final accuracy: 0.9")
    job = stage.until("-n sandbox rayjob digits", lambda j: j.get("status", {}).get("jobDeploymentStatus") == "Complete")
    stage.run("muster get -n sandbox rayjob digits", "SUCCEEDED")
    phases.note("rayjob/digits", "queued", job["metadata"]["creationTimestamp"])
    phases.note("rayjob/digits", "finished", job["status"].get("endTime"))
    for workload in stage.get("-n sandbox workloads").get("items", []):
        phases.note("rayjob/digits", "admitted", condition_time(workload, "Admitted"))


def play_too_big(stage: Stage, phases: Phases) -> None:
    stage.say("A job that asks for more than the queue can ever give waits, with the reason; a later one passes it")
    stage.run(f"muster apply -f {SAMPLES}/6-too-big.yaml")
    stage.run("muster wait -n sandbox --for=condition=Complete job/small --timeout=120s")
    stage.run("muster get -n sandbox jobs,workloads")
    stage.why("-n sandbox job/too-big", ["nvidia.com/gpu", "6", "5"])
    for name in ("small", "too-big"):
        job = stage.get(f"-n sandbox job {name}")
        phases.note(f"job/{name}", "queued", job["metadata"]["creationTimestamp"])
        phases.note(f"job/{name}", "finished", job["status"].get("completionTime"))
        phases.note_pods(f"job/{name}", stage.get(f"pods -n sandbox -l job-name={name}").get("items", []))
    for workload in stage.get("-n sandbox workloads").get("items", []):
        owner = workload["metadata"].get("ownerReferences", [{}])[0].get("name")
        if owner in ("small", "too-big"):
            phases.note(f"job/{owner}", "admitted", condition_time(workload, "Admitted"))


def play_all(stage: Stage) -> None:
    """The whole story, on whatever serves it."""
    phases = Phases()
    stage.run("muster get nodes")
    play_queues(stage)
    play_first_wrapper(stage, phases)
    play_second_wrapper(stage)
    play_hand_over(stage, phases)
    play_training(stage, phases)
    play_too_big(stage, phases)
    stage.say("Each job's way, in seconds after it was queued")
    print(phases.table())


def main() -> int:
    parser = argparse.ArgumentParser(description="Plays the main job of Muster.")
    parser.add_argument("--muster", type=pathlib.Path, required=True, help="the built program")
    parser.add_argument("--python-home", type=pathlib.Path, required=True, help="a Python environment with Ray")
    parser.add_argument("--keep", action="store_true", help="leave Muster's data and log where they are")
    options = parser.parse_args()
    data = pathlib.Path(tempfile.mkdtemp(prefix="muster-demo-"))
    stage = Stage(options.muster, options.python_home, data)
    code = 0
    try:
        stage.say("One machine, everything embedded")
        stage.start()
        play_all(stage)
        stage.say("The main job is done")
    except (Failed, subprocess.TimeoutExpired) as problem:
        print(f"\ndemo: {problem}\ndemo: Muster's log is {stage.log}", file=sys.stderr)
        options.keep = True
        code = 1
    except KeyboardInterrupt:
        code = 130
    finally:
        stage.stop()
    if not options.keep and code == 0:
        shutil.rmtree(data, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
