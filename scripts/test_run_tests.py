# scripts/test_run_tests.py - how ./dev test runs suites side by side, and what it says of them.
import argparse
import os
import pathlib
import signal
import sys
import threading
import time

import pytest

import run_tests

OPTIONS = argparse.Namespace(build=pathlib.Path("build/release"), python_home=pathlib.Path("/python"))


@pytest.fixture(autouse=True)
def logs_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)


@pytest.fixture(autouse=True)
def interrupts():
    """As in `main`, also where these tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def play(*scripts: str, seconds: int = 0) -> run_tests.Part:
    """Runs scripts of Python as a part with that many commands."""
    part = run_tests.Part("made-up", "made-up", [[sys.executable, "-c", script] for script in scripts], seconds)
    run_tests.Lanes(dict(os.environ)).run([part])
    return part


def test_every_file_of_test_kube_is_in_one_part():
    parts = run_tests.parts("kube", OPTIONS)
    named = [path for part in parts for command in part.commands for path in command if path.endswith(".py") and not path.startswith("--ignore=")]
    ignored = [word.removeprefix("--ignore=") for part in parts for command in part.commands for word in command if word.startswith("--ignore=")]
    assert sorted(named) == sorted(ignored) and len(set(named)) == len(named)
    assert all((run_tests.ROOT / path).exists() for path in named)
    assert [part.commands[0].count("test/kube") for part in parts] == [1] + [0] * (len(parts) - 1)


def test_two_parts_run_at_once_the_longest_first(tmp_path):
    """Each waits for the other's file, so that neither ends before both have begun."""
    script = ("import pathlib, sys, time\nmine, its = map(pathlib.Path, sys.argv[1:])\nmine.touch()\n"
              "while not its.exists(): time.sleep(0.01)\nprint('1 passed in 0.1s')")
    one, two = tmp_path / "one", tmp_path / "two"
    parts = [run_tests.Part("made-up", name, [[sys.executable, "-c", script, str(mine), str(its)]], 1)
             for name, mine, its in (("one", one, two), ("two", two, one))]
    run_tests.Lanes(dict(os.environ)).run(parts)
    assert all(part.passed for part in parts) and [part.totals for part in parts] == [["1 passed in 0.1s"]] * 2


def test_what_fails_is_shown_whole_and_the_rest_of_its_part_is_run(capfdbinary):
    part = play("print('why it failed'); print('1 failed, 2 passed in 0.5s'); raise SystemExit(1)", "print('4 passed in 0.2s')")
    assert not part.passed and part.totals == ["1 failed, 2 passed in 0.5s", "4 passed in 0.2s"]
    assert b"why it failed" in capfdbinary.readouterr().out


def test_a_part_that_hangs_is_ended_with_all_that_it_started_and_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "LONGEST", 1)
    pid = tmp_path / "pid"
    part = play("import subprocess, time\nchild = subprocess.Popen(['sh', '-c', 'trap \"\" INT; sleep 1000'])\n"
                f"open({str(pid)!r}, 'w').write(str(child.pid))\ntime.sleep(1000)")
    assert not part.passed and "not done after 1 s" in part.log.read_text()
    lasting = pathlib.Path(f"/proc/{pid.read_text()}/stat")
    deadline = time.monotonic() + 30
    while lasting.exists() and lasting.read_text().rpartition(") ")[2][0] != "Z":  # Nobody may have asked for its end yet.
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.05)


def test_an_interrupt_ends_what_runs():
    begun = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
    begun.start()
    with pytest.raises(KeyboardInterrupt):
        play("import time; time.sleep(1000)")


@pytest.mark.parametrize(("printed", "total"), [
    ("...\n213 passed in 174.20s (0:02:54)\n", "213 passed in 174.20s (0:02:54)"),
    ("== 3 failed, 2 passed in 1.2s ==\n", "3 failed, 2 passed in 1.2s"),
    ("no tests ran in 0.01s\n", "no tests ran in 0.01s"),
    ("100% tests passed, 0 tests failed out of 33\n\nTotal Test time (real) = 167.0 sec\n", "100% tests passed, 0 tests failed out of 33"),
    ("seed 1\n40 seeds, 0 failed\n", "40 seeds, 0 failed"), ("", "it said nothing")])
def test_the_total_is_the_runners_own(printed, total):
    assert run_tests.total_of(printed) == total


@pytest.mark.parametrize(("totals", "one"), [
    (["5 passed in 1.0s"], "5 passed in 1.0s"),
    (["5 passed, 1 skipped in 1.0s", "1 failed, 2 passed in 3.0s"],
     "7 passed, 1 skipped, 1 failed (5 passed, 1 skipped in 1.0s; 1 failed, 2 passed in 3.0s)"),
    (["100% tests passed, 0 tests failed out of 33", "5 passed in 1.0s"], "100% tests passed, 0 tests failed out of 33; 5 passed in 1.0s")])
def test_totals_that_count_alike_are_added_up(totals, one):
    assert run_tests.added_up(totals) == one
