# test/kube/test_scenarios.py - the scenarios on live servers: what is said is written as objects, an operator decides, and what
# the objects then say is what the simulated world's say.
import collections
import concurrent.futures
import json
import subprocess

import pytest

import kinds
from conftest import MUSTER, Cluster, until
from scenario_player import KUEUE, WRAPPERS, Player
from up import UpServer

ALONE = "the file says that it does not run on objects"
TIME = "it lets virtual time pass (advance, backoff)"
OPTIONS = "its queues have options that are no object"
MEMORY = "it needs what a planner remembers from one cycle to the next, and each cycle here is another operator's"
CALM = "the file says that it comes out so only where nobody writes in between"
REMEMBERED = {"order/a_strict_head_goes_on_with_its_flavors", "queue/what_nobody_heard_of_is_news_to_newcomers"}
SECONDS = "who has waited longer hangs on the second in which somebody was evicted"
BY_SECONDS = {"life/release_or_finish"}
# How many of the files are not played, and why.
NOT_PLAYED = {ALONE: 23, CALM: 4, TIME: 4, OPTIONS: 3, MEMORY: 2, SECONDS: 1}


def recorded() -> dict[str, tuple[dict, list[dict]]]:
    """By name: what the file says of itself, and what is told and said."""
    program = MUSTER.parent / "muster_sim"
    done = subprocess.run([str(program), "--record"], capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, tuple[dict, list[dict]]] = {}
    name = ""
    for line in map(json.loads, done.stdout.splitlines()):
        if "name" in line:
            name = line["name"]
            found[name] = (line, [])
        else:
            found[name][1].append(line)
    return found


def why_not(head: dict, lines: list[dict]) -> str:
    """Why a scenario is not played; empty when it is."""
    if not lines:
        return ALONE
    if "calm" in head["on"]:
        return CALM
    if {"advance", "backoff"} & set(head["verbs"]):
        return TIME
    if "options" in head["verbs"]:
        return OPTIONS
    if head["name"] in BY_SECONDS:
        return SECONDS
    return MEMORY if head["name"] in REMEMBERED else ""


@pytest.fixture(scope="module")
def players(tmp_path_factory):
    real = Cluster(tmp_path_factory.mktemp("scenarios"))
    ours = UpServer(tmp_path_factory.mktemp("scenarios-up"), "--api-only")
    try:
        real.start()
        for group in (kinds.KUEUE, "workload.codeflare.dev"):
            kinds.install(real, kinds.crds(group))
        for path in (f"{KUEUE}/workloads", f"{KUEUE}/clusterqueues", f"{KUEUE}/topologies", WRAPPERS):
            until(f"{path} is served", lambda path=path: real.request("GET", path)[0] == 200)
        yield [Player("kubernetes", real), Player("muster up", ours.start())]
    finally:
        real.stop()
        ours.stop()


def test_scenarios_come_out_on_live_servers_as_in_the_simulated_world(players):
    every = recorded()
    reasons = {name: why_not(*each) for name, each in every.items()}
    counts = collections.Counter(reason for reason in reasons.values() if reason)
    for name, reason in reasons.items():
        if reason:
            print(f"{name} is not played: {reason}")
    mine = [name for name, reason in reasons.items() if not reason]

    def play(player: Player) -> list[str]:
        wrong = []
        for name in mine:
            came = once(player, name)
            if came:
                # A second may have ended where the simulator's had not: who is newer is told in seconds. Not twice.
                print(f"{name} on {player.name} is played again: {came[0]}")
                came = once(player, name)
            wrong += [f"{name} on {player.name}: {each}" for each in came]
        return wrong

    def once(player: Player, name: str) -> list[str]:
        head, lines = json.loads(json.dumps(every[name]))
        return player.play(head["verbs"], lines)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [each for found in pool.map(play, players) for each in found]
    assert not wrong, "\n".join(wrong)
    assert dict(counts) == NOT_PLAYED and len(mine) + sum(counts.values()) == len(every)
    print(f"{len(mine)} scenarios, {[player.cycles for player in players]} cycles")
