#!/usr/bin/env python3
# scripts/run_tests.py - runs the test suites by name; the last lines are the runners' own totals.
import argparse
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ["unit", "sim", "docs", "kubectl", "attacks", "kube", "e2e"]
LONGEST = 3600  # Seconds that one command of a suite may take.


def commands(suite: str, options: argparse.Namespace) -> list[list[str]]:
    """What to run for a suite."""
    pytest = [str(options.python_home / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=600"]
    if suite == "unit":
        return [["ctest", "--test-dir", str(options.build), "--output-on-failure", "-j2", "--timeout", "900"],
                pytest + ["scripts"]]
    if suite == "sim":
        return [[str(options.build / "muster_sim"), "--seeds", "40"]]
    return [pytest + [f"test/{suite}"]]


def passes(command: list[str], env: dict[str, str]) -> bool:
    """Runs a command. One that does not come to its end is ended, with all that it started: a hang is a failure."""
    with subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True) as process:
        try:
            return process.wait(timeout=LONGEST) == 0
        except BaseException as problem:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(problem, subprocess.TimeoutExpired):
                raise
            print(f"not done after {LONGEST} s: {' '.join(command)}", flush=True)
            return False


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="*", default=SUITES, choices=SUITES, metavar="SUITE")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--python-home", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    options = parser.parse_args()
    env = dict(os.environ, MUSTER=str((ROOT / options.build / "muster").resolve()),
               MUSTER_PYTHON_HOME=str(options.python_home), MUSTER_CACHE=str(options.cache))
    failed = []
    for suite in options.suites:
        for command in commands(suite, options):
            print(f"--- {suite}: {' '.join(command)}", flush=True)
            if not passes(command, env):
                failed.append(suite)
    for suite in failed:
        print(f"FAILED: {suite}; run it alone with ./dev test {suite}", flush=True)
    print(f"{len(options.suites) - len(set(failed))} passed, {len(set(failed))} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
