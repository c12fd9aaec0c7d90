# test/kube/test_scenarios.py - the scenarios on live servers: what is said is written as objects, an operator decides, and what
# the objects then say is what the simulated world's say.
import concurrent.futures
import json
import subprocess

import pytest

import access
import kinds
from conftest import MUSTER, Cluster, until
from scenario_player import KUEUE, WRAPPERS, Player
from up import UpServer

AROUND = "around the queue a controller acts on it first: "
BOTH = "one cycle starts and evicts the same workload, and objects show only what is in the end"
# The files that are not played, and why. All but the last say themselves that they do not run on objects.
NOT_PLAYED = {
    "checks/failed_checks_keep_out": AROUND + "a check that says Retry is reset, one that says Rejected deactivates the workload",
    "checks/passed_checks_of_a_drained_queue": AROUND + "a workload without its checks loses its quota as soon as its queue stops",
    "life/a_failed_write_is_taken_back": "no object says which write of an operator is to fail",
    "preempt/a_circle_of_preemptions_ends": BOTH,
    "preempt/who_preempts_again_takes_what_it_preempted_for": BOTH,
    "nodes/queue_and_nodes_both_bind": "the Workloads of its AppWrappers are made by the operator that decides, one by one: chance says "
                                       "which of them are there when it does"}
# What an operator remembers from one cycle to the next: who is parked, since when a head is waited for, where a search goes on.
REMEMBERED = {
    "fair/the_larger_share_gives_back", "order/a_change_of_quotas_is_for_standing_heads_first",
    "order/a_queue_that_goes_on_is_first_with_what_is_free", "order/a_reason_is_told_again_after_somebody_stood_in_front",
    "order/a_search_without_end_is_passed_after_a_minute", "order/a_strict_head_goes_on_with_its_flavors",
    "preempt/a_preferred_flavor_is_waited_for_a_minute", "queue/what_a_stopped_local_queue_gives_back",
    "queue/what_nobody_heard_of_is_news_to_newcomers"}


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


@pytest.fixture(scope="module")
def players(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenarios")
    real = Cluster(folder, server_flags=access.audited(folder))
    ours = UpServer(tmp_path_factory.mktemp("scenarios-up"), "--api-only")
    try:
        real.start()
        for group in (kinds.KUEUE, "workload.codeflare.dev"):
            kinds.install(real, kinds.crds(group))
        for path in (f"{KUEUE}/workloads", f"{KUEUE}/clusterqueues", f"{KUEUE}/topologies", WRAPPERS):
            until(f"{path} is served", lambda path=path: real.request("GET", path)[0] == 200)
        ours.start()
        yield [Player("kubernetes", real, access.operator_kubeconfig(real)), Player("muster up", ours, ours.kubeconfig)]
    finally:
        real.stop()
        ours.stop()


def test_scenarios_come_out_on_live_servers_as_in_the_simulated_world(players):
    every = recorded()
    mine = [name for name in every if name not in NOT_PLAYED]
    for name, reason in NOT_PLAYED.items():
        print(f"{name} is not played: {reason}")

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
        return player.play(head["verbs"], lines, name in REMEMBERED)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [each for found in pool.map(play, players) for each in found]
    assert not wrong, "\n".join(wrong)
    assert access.refused(players[0].server.folder) == set()
    # Those that are not are there, and those that cannot be told as objects are among them.
    assert len(mine) + len(NOT_PLAYED) == len(every) and all(every[name][1] for name in mine)
    print(f"{len(mine)} scenarios, {[player.cycles for player in players]} cycles")
