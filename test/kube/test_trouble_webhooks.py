# test/kube/test_trouble_webhooks.py - trouble as on an installed cluster, whose API server asks the operator about all that is made
# and makes nothing when nobody answers: what cannot be judged is refused, and nothing else is; nobody is made unsuspended.
import random
import signal
import time

import pytest

import kinds
from cluster import free_ports
from conftest import until
from crowd import AskingCrowd
from place import opened
from stage import QUICK, Pod, Stage
from test_trouble import ready, stage  # noqa: F401  (fixtures)

CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/{0}webhookconfigurations/muster-{0}-webhook-configuration"


class AskedStage(Stage):
    """Its operators answer the API server's webhooks, on one address."""

    def __init__(self, folder):
        self.port = free_ports(1)[0]
        super().__init__(folder)

    def start(self, *flags: str, **more) -> Pod:
        return super().start("--webhook-url", f"https://127.0.0.1:{self.port}", "--webhook-listen", f"127.0.0.1:{self.port}", *flags,
                             **more)

    def is_asked(self) -> bool:
        job = kinds.job("asked", "nobody")
        status, made = self.client.ask("POST", "/apis/batch/v1/namespaces/default/jobs?dryRun=All", job)
        return status == 201 and made["spec"].get("suspend") is True

    def asking_crowd(self, ns: str, count: int, jobs: int, seconds: float) -> AskingCrowd:
        until("the webhooks are asked", self.is_asked)
        for kind in ("mutating", "validating"):
            policies = {each["failurePolicy"] for each in self.client.insist("GET", CONFIGURATION.format(kind))["webhooks"]}
            assert policies == {"Fail"}
        return AskingCrowd(self.cluster, self.outside, ns, count, jobs, seconds)


@pytest.fixture(scope="module")
def bare():
    with opened(AskedStage) as made:
        yield made


def test_while_the_operator_is_killed_again_and_again_jobs_are_refused_and_come_again(stage):  # noqa: F811
    chance = random.Random(7)
    with stage.other_operator(lease=QUICK):
        crowd = stage.asking_crowd("killed", 200, jobs=80, seconds=14)
        kills = 0
        while crowd.over() < crowd.count and kills < 12:
            time.sleep(chance.uniform(0, 0.3))
            if chance.random() < 0.7:  # Others are killed while they wait for the Lease of the one before.
                stage.operator.wait_ready()
                time.sleep(chance.uniform(0, 0.5))
            stage.operator.kill()
            time.sleep(chance.uniform(0.1, 0.4))  # Somebody comes meanwhile.
            stage.operator.start()
            kills += 1
        stage.operator.wait_ready()
        crowd.wait_over()
    print("kills:", kills, "refused:", dict(crowd.refused))
    assert crowd.refused["jobs"] > 0 and crowd.refused["workloads"] > 0


def test_a_server_that_takes_seconds_for_every_answer_still_has_every_job_judged(stage):  # noqa: F811
    crowd = stage.asking_crowd("slow", 120, jobs=50, seconds=4)
    stage.is_slow_and_stands_still()
    late = stage.asking_crowd("late", 30, jobs=30, seconds=4)
    time.sleep(1)
    stage.operator.process.send_signal(signal.SIGSTOP)  # Now it is the operator that stands still, for less than it is waited for.
    time.sleep(3)
    stage.operator.process.send_signal(signal.SIGCONT)
    crowd.wait_over()
    late.wait_over()
    print("refused:", dict(crowd.refused), dict(late.refused))
    assert not crowd.refused and not late.refused, "somebody was there all the time"
