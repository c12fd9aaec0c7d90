#!/usr/bin/env python3
# scripts/run_tests.py - runs the test suites by name; the last lines are the runners' own totals.
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ["unit", "sim", "docs", "kubectl", "kube", "e2e"]


def commands(suite: str, options: argparse.Namespace) -> list[list[str]]:
    """What to run for a suite."""
    pytest = [str(options.python_home / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if suite == "unit":
        return [["ctest", "--test-dir", str(options.build), "--output-on-failure", "-j2"],
                pytest + ["scripts"]]
    if suite == "sim":
        return [[str(options.build / "muster_sim"), "--seeds", "40"]]
    return [pytest + [f"test/{suite}"]]


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
            if subprocess.run(command, cwd=ROOT, env=env, check=False).returncode != 0:
                failed.append(suite)
    for suite in failed:
        print(f"FAILED: {suite}; run it alone with ./dev test {suite}", flush=True)
    print(f"{len(options.suites) - len(set(failed))} passed, {len(set(failed))} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
