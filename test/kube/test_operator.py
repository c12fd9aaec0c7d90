# test/kube/test_operator.py - `muster operator` on the real Kubernetes: Jobs wait, start and end by quota.
import itertools
import os
import queue
import subprocess
import threading

import pytest

import access
import kinds
import moved
from client import await_account
from conftest import MUSTER, until
from outside import Client
from program import Program

PATCH = "application/merge-patch+json"
names = (f"team-{number}" for number in itertools.count())


class Operator(Program):
    """One `muster operator`, with the rights of its account when nothing else is said; its log is kept in the cluster's folder."""

    stop_within = 30

    def __init__(self, cluster, *flags: str, kubeconfig=None, env: dict | None = None):
        self.env = {**os.environ, **(env or {})}
        self.log = cluster.folder / "operator.log"
        self.command = [str(MUSTER), "operator", "--kubeconfig", str(kubeconfig or access.operator_kubeconfig(cluster)), *flags]
        self.process = None
        self.is_ready = False
        self.lines = queue.Queue()

    def start(self) -> "Operator":
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log, text=True, env=self.env)
        self.lines, self.is_ready = queue.Queue(), False
        threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True).start()
        return self

    @staticmethod
    def _read(stdout, lines) -> None:
        for line in stdout:
            lines.put(line.strip())
        lines.put("")

    def line(self, timeout: float = 60) -> str:
        """The next line that it prints; empty at its end, or when none comes in time."""
        try:
            return self.lines.get(timeout=timeout)
        except queue.Empty:
            return ""

    def wait_ready(self) -> "Operator":
        assert self.is_ready or self.line() == "ready", self.log.read_text()[-3000:]
        self.is_ready = True
        return self


class Team:
    """A namespace with queues of its own."""

    def __init__(self, cluster, cpu: str):
        self.cluster, self.name = cluster, next(names)
        self.post("/api/v1/namespaces", {"metadata": {"name": self.name}})
        for path, body in kinds.queues(self.name, self.name, cpu):
            self.post(path, body)
        await_account(cluster.request, self.name)

    def post(self, path: str, body: dict) -> dict:
        status, answer = self.cluster.request("POST", path, body)
        assert status == 201, answer
        return answer

    def submit(self, name: str, **more) -> None:
        self.post(f"/apis/batch/v1/namespaces/{self.name}/jobs", kinds.job(name, self.name, **more))

    def items(self, path: str) -> list[dict]:
        """All there are. Of a kind whose definition has just changed the server reads all anew, and says 429 until then."""
        def found():
            status, answer = self.cluster.request("GET", path)
            assert status in (200, 429), answer
            return answer if status == 200 else None
        return until(f"{path} can be listed", found)["items"]

    def job(self, name: str) -> dict:
        return self.cluster.request("GET", f"/apis/batch/v1/namespaces/{self.name}/jobs/{name}")[1]

    def workloads(self) -> dict[str, dict]:
        """All of one moment, by the name of what they are for."""
        listed = self.items(f"/apis/{kinds.KUEUE}/v1beta2/namespaces/{self.name}/workloads")
        found = {owner["name"]: workload for workload in listed for owner in workload["metadata"].get("ownerReferences", [])}
        assert len(found) == len(listed), listed
        return found

    def workload(self, job: str) -> dict:
        """The Workload of a Job; an empty dict when there is none."""
        return self.workloads().get(job, {})

    def condition(self, job: str, kind: str) -> dict:
        return next((c for c in self.workload(job).get("status", {}).get("conditions", []) if c["type"] == kind), {})

    def is_true(self, job: str, kind: str) -> bool:
        return self.condition(job, kind).get("status") == "True"

    def pods(self, job: str) -> list[dict]:
        return self.items(f"/api/v1/namespaces/{self.name}/pods?labelSelector=job-name={job}")

    def runs(self, job: str) -> bool:
        """It is admitted and has pods. Pods alone say nothing: without webhooks a Job has some before it is suspended."""
        return self.is_true(job, "Admitted") and self.pods(job) != []

    def finish_pods(self, job: str) -> None:
        """What a kubelet would say at their end. Pods of before a Job was suspended may still be going."""
        for pod in self.pods(job):
            if "deletionTimestamp" in pod["metadata"]:
                continue
            status, answer = self.cluster.request("PATCH", f"/api/v1/namespaces/{self.name}/pods/{pod['metadata']['name']}/status",
                                                  {"status": {"phase": "Succeeded"}}, PATCH)
            assert status in (200, 404), answer

    def finishes(self, job: str) -> bool:
        """Ends its pods; to be asked until its Workload is over."""
        self.finish_pods(job)
        return self.is_true(job, "Finished")


@pytest.fixture(scope="module")
def operator(cluster):
    """Started before its kinds are there. Tests before these have left theirs."""
    moved.wipe(Client(cluster))
    running = Operator(cluster)
    before = len(running.log.read_text()) if running.log.exists() else 0  # Of operators before it.
    running.start()
    try:
        until("it says which kinds it waits for", lambda: "clusterqueues.kueue.x-k8s.io/v1beta2" in running.log.read_text()[before:])
        assert "does not have jobs.batch" not in running.log.read_text()[before:]
        kinds.install(cluster, kinds.crds(kinds.KUEUE))
        yield running.wait_ready()
    finally:
        if running.process.poll() is None:
            running.stop()
        print(running.log.read_text()[-6000:])


def test_a_job_is_suspended_admitted_and_finished(operator, cluster):
    team = Team(cluster, cpu="3")
    team.submit("train", cpu="1", pods=2)
    until("the workload is admitted", lambda: team.is_true("train", "Admitted"))
    admission = team.workload("train")["status"]["admission"]
    assert admission["clusterQueue"] == team.name
    assert admission["podSetAssignments"][0]["resourceUsage"] == {"cpu": "2"}
    until("the Job is let go and has its pods", lambda: team.job("train")["spec"]["suspend"] is False and len(team.pods("train")) == 2)
    until("the workload is finished", lambda: team.finishes("train"))
    finished = team.condition("train", "Finished")
    assert finished["reason"] == "Succeeded"


def test_what_does_not_fit_waits_with_its_reason_until_there_is_room(operator, cluster):
    team = Team(cluster, cpu="3")
    team.submit("first", cpu="2")
    until("the first runs", lambda: team.runs("first"))
    team.submit("second", cpu="2")
    until("the second waits", lambda: team.condition("second", "QuotaReserved").get("status") == "False")
    assert "insufficient" in team.condition("second", "QuotaReserved")["message"]
    until("the second is suspended", lambda: team.job("second")["spec"]["suspend"] is True)
    until("no pod of before it was suspended is left", lambda: team.pods("second") == [])
    path = f"/apis/{kinds.KUEUE}/v1beta2/clusterqueues/{team.name}"
    until("the queue counts both", lambda: [cluster.request("GET", path)[1].get("status", {}).get(count) for count in (
        "pendingWorkloads", "reservingWorkloads", "admittedWorkloads")] == [1, 1, 1])
    until("the first is over", lambda: team.finishes("first"))
    until("the second runs", lambda: team.runs("second"))


def test_a_deleted_job_takes_its_workload_along_and_gives_back_its_quota(operator, cluster):
    team = Team(cluster, cpu="1")
    team.submit("gone")
    until("it runs", lambda: team.runs("gone"))
    team.submit("next")
    until("the next waits", lambda: team.condition("next", "QuotaReserved").get("status") == "False")
    cluster.request("DELETE", f"/apis/batch/v1/namespaces/{team.name}/jobs/gone", {"propagationPolicy": "Background"})
    until("the next runs", lambda: team.is_true("next", "Admitted"))
    until("the workload is gone", lambda: team.workload("gone") == {})


def test_killed_operators_leave_everything_right(operator, cluster):
    team = Team(cluster, cpu="4")
    for number in range(12):
        team.submit(f"job-{number}")
    for _ in range(3):
        operator.kill()
        operator.start().wait_ready()
    until("four run", lambda: sum(team.is_true(f"job-{n}", "Admitted") for n in range(12)) == 4)
    done = set()

    def play() -> bool:
        """Ends what runs, and never sees more than the quota."""
        true = {job: {c["type"] for c in workload.get("status", {}).get("conditions", []) if c["status"] == "True"}
                for job, workload in team.workloads().items()}
        assert sum("QuotaReserved" in has and "Finished" not in has for has in true.values()) <= 4
        for job, has in true.items():
            if "Finished" in has:
                done.add(job)
            elif "Admitted" in has:
                team.finish_pods(job)
        return len(done) == 12

    until("all are done", play)


def test_sigterm_ends_it_at_once(operator):
    assert operator.stop() == 0
    operator.start().wait_ready()


def test_kinds_that_come_later_are_found(operator, cluster):
    kinds.install(cluster, kinds.crds("workload.codeflare.dev"))
    team = Team(cluster, cpu="2")
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wrapped"}, "data": {"a": "b"}}
    job = kinds.job("wrapped", "", cpu="1")
    del job["metadata"]["labels"]
    wrapper = {"apiVersion": "workload.codeflare.dev/v1beta1", "kind": "AppWrapper",
               "metadata": {"name": "both", "labels": {f"{kinds.KUEUE}/queue-name": team.name}},
               "spec": {"resources": {"GenericItems": [
                   {"generictemplate": config}, {"generictemplate": job, "completionstatus": "Complete"}]}}}
    at = f"/apis/workload.codeflare.dev/v1beta1/namespaces/{team.name}/appwrappers"
    until("the kind is served", lambda: cluster.request("GET", at)[0] == 200)
    kinds.add_node(cluster, "room", "64")  # A wrapper starts only where its pods have room.
    team.post(at, wrapper)
    until("the wrapper is admitted and its Job has a pod", lambda: team.is_true("both", "Admitted") and team.pods("wrapped"))
    assert cluster.request("GET", f"/api/v1/namespaces/{team.name}/configmaps/wrapped")[1]["data"] == {"a": "b"}
    until("the Job is over", lambda: team.finish_pods("wrapped") or team.job("wrapped").get("status", {}).get("succeeded"))
    until("the wrapper is completed", lambda: cluster.request("GET", f"{at}/both")[1].get("status", {}).get("state") == "Completed")
    until("its workload is finished", lambda: team.is_true("both", "Finished"))
    cluster.request("DELETE", "/api/v1/nodes/room")
