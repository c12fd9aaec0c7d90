# test/kube/test_differences.py - the same requests to the real kube-apiserver and to `muster up`: the same answers.
import concurrent.futures
import functools
import re

import pytest

from conftest import ROOT, World

import accepted  # in test/kube/differences, as are those below
import cases_applies
import cases_kubectl
import cases_lists
import cases_objects
import cases_server
import sequences
import subjects
from play import Play

SEEDS = range(60)
SHOWN = 60
# Lists and watches are one code for all kinds: one that is built in, one of many fields, one of ours, a user's.
SOME = ["ConfigMap", "Job", "LocalQueue", "Gadget"]


def differences(world: World, name: str, case, servers_at_once: int) -> list:
    """A watch of a second hears less from a server that has no time for it: what differs there is asked again."""
    found = world.compare(name, case, servers_at_once)
    if not any(" WATCH " in each.request for each in found):
        return found
    print("asked again:", *found, sep="\n")
    return world.compare(name, case)


def check(world: World, cases: list[tuple[str, object]], servers_at_once: int = 1) -> None:
    """Runs (name, function of a session), several at once."""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = [each for one in pool.map(lambda case: differences(world, *case, servers_at_once), cases) for each in one]
    assert not found, f"{len(found)} differences\n" + "\n".join(str(each)[:600] for each in found[:SHOWN])


def of_kind(subject: subjects.Subject, case):
    return f"{case.__name__} {subject}", functools.partial(lambda session: case(Play(session, subject)))


@pytest.mark.parametrize("subject", subjects.ALL, ids=str)
def test_objects(world, subject):
    world.ran.add(f"objects {subject}")
    cases = [*cases_objects.CASES, *cases_applies.OF_EVERY_KIND, *cases_lists.OF_EVERY_KIND]
    check(world, [of_kind(subject, case) for case in cases if case is not cases_objects.contents or subject.kind not in subjects.KEPT])


@pytest.mark.parametrize("kind", SOME)
def test_lists_and_watches(world, kind):
    world.ran.add(f"lists {kind}")
    # A case of watches only waits, a second for each.
    check(world, [of_kind(subjects.OF_NAME[kind], case) for case in cases_lists.OF_SOME_KINDS], servers_at_once=2)


@pytest.mark.parametrize("case", cases_applies.CASES, ids=lambda case: case.__name__)
def test_applies(world, case):
    world.ran.add(f"applies {case.__name__}")
    check(world, [of_kind(subjects.OF_NAME["ConfigMap"], case)])


@pytest.mark.parametrize("case", cases_server.OF_SERVER, ids=lambda case: case.__name__)
def test_the_server_itself(world, case):
    world.ran.add(f"server {case.__name__}")
    check(world, [(case.__name__, case)])


def test_random_lives(world):
    world.ran.add("random")

    def differ(steps: list[sequences.Step]) -> list:
        return world.compare("random", functools.partial(sequences.run, steps=steps))

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda seed: differ(sequences.sequence(seed)), SEEDS))
    told = []
    for seed in [seed for seed, differences in zip(SEEDS, found) if differences][:5]:
        steps = sequences.shortest(sequences.sequence(seed), differ)
        told += [f"seed {seed}:", *(f"  {step}" for step in steps), *(f"    {each}"[:600] for each in differ(steps)[:8])]
    assert not told, "\n".join(told)


def served(world: World) -> set[str]:
    """What `muster up` lets people make, as VERSION RESOURCE."""
    roots = ["/api/v1"] + [f"/apis/{version['groupVersion']}" for group in world.ours.ask("GET", "/apis").json["groups"] for version in group["versions"]
                           if not group["name"].startswith(("compared.", "case-"))]  # The definitions of the cases themselves.
    lists = [world.ours.ask("GET", root).json for root in roots]
    return {f"{each['groupVersion']} {resource['name']}" for each in lists for resource in each["resources"]
            if "/" not in resource["name"] and "create" in resource["verbs"]}


def test_every_served_kind_is_compared(world):
    compared = {f"{each.api} {each.plural}" for each in subjects.EVERY}
    assert sorted(served(world) - compared) == sorted(subjects.NOT_COMPARED)
    assert sorted(compared - served(world)) == []
    assert {each.kind for each in subjects.EVERY} >= subjects.LEFT_OUT | subjects.KEPT


def test_each_accepted_difference_has_its_row():
    rows = (ROOT / "docs/deviations.md").read_text()
    assert [row for _, row in [*accepted.DIFFERENCES, *accepted.KUBECTL] if f"| {row} |" not in rows] == []


# Differences that nobody means, as they might be met in any case.
MADE_UP = ["200 | .status: 200 | 500", "500 | .status: 500 | 404", "201 | .status: 201 | 200", "404 | .body.message: \"one\" | \"other\"",
           "409 | .body.message: \"one\" | \"other\"", "422 | .body.message: \"one\" | \"other\"", "400 | .body.message: \"one\" | \"other\"",
           "422 | .body.details.causes.FieldValueInvalid at spec.made[0]: \"one\" | \"other\"", "200 | .body.spec.made: 1 | 2",
           "201 | .body.status.allowed: true | false", "200 | .body.metadata.labels.made: (absent) | \"up\"", "200 | .body.made: {} | (absent)",
           "200 | .headers.content-type[0]: \"one\" | \"other\"", "0 | .events[0].object.spec.made: 1 | 2",
           "200 | .body.columnDefinitions[0].name: \"one\" | \"other\""]


def test_every_case_can_fail():
    """No pattern takes all that may be different in a case."""
    of_kinds = [*cases_objects.CASES, *cases_applies.OF_EVERY_KIND, *cases_lists.OF_EVERY_KIND, *cases_lists.OF_SOME_KINDS, *cases_applies.CASES]
    cases = [f"{case.__name__} {subject}" for case in of_kinds for subject in subjects.ALL] + [case.__name__ for case in cases_server.OF_SERVER] + [
        f"kubectl_{case.__name__}" for case in cases_kubectl.CASES] + ["random"]
    lines = "\n".join(f"{case} | 999 GET /made/up = {difference}" for case in cases for difference in MADE_UP)
    accepting = [(pattern, found[0]) for pattern, _ in [*accepted.DIFFERENCES, *accepted.KUBECTL] if (found := re.search(pattern, lines, re.MULTILINE))]
    assert accepting == []


def test_no_accepted_difference_is_left_that_nobody_needs(world):
    everything = len(subjects.ALL) + len(SOME) + len(cases_applies.CASES) + len(cases_server.OF_SERVER) + 1
    if len(world.ran) < everything:
        pytest.skip("not all of the other tests ran")
    assert [pattern for pattern, _ in accepted.DIFFERENCES if pattern not in world.needed] == []
    assert sorted(world.known - world.needed) == []
