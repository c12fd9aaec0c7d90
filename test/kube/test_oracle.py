# test/kube/test_oracle.py - what Kueue was recorded to do with small scenarios (test/oracle), on live servers: the whole
# `muster up`, and a real kube-apiserver with `muster operator`.
"""`muster up` plays all cases; Kubernetes, which works ten times as long for one, plays every twelfth of a family, or all of them
with MUSTER_ORACLE=all (a quarter of an hour: before a release)."""
import concurrent.futures
import os
import subprocess
import time

import yaml

import access
import kinds
import oracle_cases
from conftest import ROOT, Cluster, until
from oracle_player import Stage
from test_operator import Operator
from up import UpServer

EVERY = 1 if os.environ.get("MUSTER_ORACLE") == "all" else 12
FAIR = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
        "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}
# Cases at once, and seconds between two canaries.
QUICK = {"parallel": 500, "pause": 0.4}
SLOW = {"parallel": 90, "pause": 0.7}


def sample(cases: list[dict]) -> list[dict]:
    """Every so manieth of each family; not of all families the same."""
    families: dict[str, list[dict]] = {}
    for case in cases:
        families.setdefault(case["family"], []).append(case)
    return [case for number, family in enumerate(families.values()) for case in family[number % EVERY::EVERY]]


def fair_config(folder) -> list[str]:
    path = folder / "fair.yaml"
    path.write_text(yaml.safe_dump(FAIR))
    return ["--config", str(path)]


def play(server, decides: subprocess.Popen, cases: list[dict], room: dict[str, int], parallel: int, pause: float) -> dict[str, list]:
    stage, began = Stage(server, decides, pause), time.monotonic()
    try:
        return stage.play(cases, parallel, room)
    finally:
        stage.stop()
        print(f"{len(cases)} cases, {len(stage.plays)} plays, {stage.canaries.rounds} canaries in {time.monotonic() - began:.0f} s")


def play_up(folder, flags: list[str], cases: list[dict], room: dict[str, int]) -> dict[str, list]:
    server = UpServer(folder, *flags)
    try:
        server.start()
        return play(server, server.process, cases, room, **QUICK)
    finally:
        server.stop()


def play_kubernetes(folder, parts: list[tuple[list[str], list[dict]]], room: dict[str, int]) -> dict[str, list]:
    """One part after the other, each with an operator of its own flags."""
    server, found = Cluster(folder, server_flags=access.audited(folder)), {}
    try:
        server.start()
        kinds.install(server, kinds.crds(kinds.KUEUE))
        for plural in set(oracle_cases.PLURALS.values()) - {"nodes"}:
            path = f"{oracle_cases.KUEUE}/{plural}"
            until(f"{path} is served", lambda path=path: server.request("GET", path)[0] == 200)
        for flags, cases in parts:
            operator = Operator(server, *flags).start().wait_ready()
            try:
                found |= play(server, operator.process, cases, room, **SLOW)
            finally:
                operator.stop()
        assert access.refused(folder) == set()
        return found
    finally:
        server.stop()


def agreement(cases: list[dict], found: dict[str, list]) -> dict[str, list[int]]:
    """By family: cases, core equal, all equal."""
    families: dict[str, list[int]] = {}
    for case in cases:
        counts, wrong = families.setdefault(case["family"], [0, 0, 0]), found[case["id"]]
        counts[0] += 1
        counts[1] += not any(field in oracle_cases.CORE for field, _ in wrong)
        counts[2] += not wrong
    return families


def tell(name: str, cases: list[dict], found: dict[str, list]) -> None:
    print(f"{name}: family, cases, core equal, all equal")
    for family, counts in agreement(cases, found).items():
        print(f"  {family:16}", *counts)
    for case in cases:
        for field, sentence in found[case["id"]][:1]:
            print(f"  {case['id']} differs {len(found[case['id']])} times, first: {sentence}")


def below(name: str, cases: list[dict], found: dict[str, list], floors: dict[str, list[int]]) -> list[str]:
    return [f"{name}: {family} has {counts[1:]} of {counts[0]} equal (core, all), not {floors[family]}"
            for family, counts in agreement(cases, found).items()
            if counts[1] < floors[family][0] or counts[2] < floors[family][1]]


def read_floors() -> dict[str, list[int]]:
    """By family: how many are core equal and all equal at least."""
    lines = (ROOT / "test/oracle/floor_server.txt").read_text().splitlines()
    return {line.split()[0]: [int(each) for each in line.split()[1:]] for line in lines if not line.startswith("#")}


def test_recorded_cases_come_out_on_live_servers_as_on_kueues(tmp_path_factory):
    every, floors = oracle_cases.load(), read_floors()
    some = sample(every)
    fair = fair_config(tmp_path_factory.mktemp("oracle-config"))
    room = {family: counts[0] - floors[family][1] for family, counts in agreement(every, {case["id"]: [] for case in every}).items()}

    def of(cases: list[dict], *variants: str) -> list[dict]:
        return [case for case in cases if case["variant"] in variants]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        on_kubernetes = pool.submit(play_kubernetes, tmp_path_factory.mktemp("oracle-kubernetes"),
                                    [(fair, of(some, "fair")), ([], of(some, "base", "tas"))], room if some == every else {})
        on_up = [pool.submit(play_up, tmp_path_factory.mktemp(f"oracle-{variant}"), fair if variant == "fair" else [], of(every, variant), room)
                 for variant in ("fair", "base", "tas")]
        kubernetes = on_kubernetes.result()
        up = {name: wrong for each in on_up for name, wrong in each.result().items()}
    tell("muster up", every, up)
    tell("kubernetes", some, kubernetes)
    # A part of the cases must come out on Kubernetes as often as the same part does on `muster up`.
    of_some = floors if some == every else {family: counts[1:] for family, counts in agreement(some, up).items()}
    wrong = below("muster up", every, up, floors) + below("kubernetes", some, kubernetes, of_some)
    assert not wrong, "\n".join(wrong)
