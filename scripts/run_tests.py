#!/usr/bin/env python3
# scripts/run_tests.py - runs the test suites by name, two parts at a time; the last lines are the runners' own totals.
"""Most of a test's time is waiting, so two runners go side by side, the longest first; each has servers, ports and folders of its
own. What a runner prints goes to a log, which is shown whole when it has ended."""
import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ["unit", "sim", "docs", "kubectl", "attacks", "kube", "e2e"]
LONGEST = 3600  # Seconds that one command of a suite may take.
LANES = 2
LOGS = ROOT / "build/log"
# Files of test/kube that are run apart from the others of their folder (which share one control plane), and about how long they take.
KUBE_PARTS = {
    "differences": (450, ["test_differences.py", "test_differences_kubectl.py", "test_crds.py", "test_definitions.py", "test_partner.py",
                          "test_people_roles.py"]),
    "guide": (750, ["test_guide.py", "test_helm.py", "test_install.py", "test_oracle.py", "test_upgrade.py", "test_guest_kinds.py",
                    "test_others_webhooks.py"]),
    "trouble": (900, ["test_trouble.py", "test_trouble_webhooks.py", "test_outside.py", "test_story.py", "test_same_story.py",
                      "test_scenarios.py", "test_ray.py", "test_rights.py"]),
}
# A runner's own total, of pytest or ctest.
TOTAL = re.compile(r"^=* ?(\d+ (?:passed|failed|skipped|error|deselected|warning).* in [\d.]+s.*?|no tests ran .*|\d+% tests passed.*?) ?=*$", re.M)


@dataclasses.dataclass
class Part:
    """What one runner does of a suite."""
    suite: str
    name: str  # Of the suite, or its own beside that.
    commands: list[list[str]]
    seconds: int  # About how long it takes: those that take longest begin first.
    passed: bool = False
    totals: list[str] = dataclasses.field(default_factory=list)
    took: float = 0

    @property
    def log(self) -> pathlib.Path:
        return LOGS / f"test-{self.name}.txt"


def parts(suite: str, options: argparse.Namespace) -> list[Part]:
    """What to run for a suite."""
    pytest = [str(options.python_home / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=600"]
    if suite == "unit":
        ctest = ["ctest", "--test-dir", str(options.build), "--no-tests=error", "--output-on-failure", "-j2", "--timeout", "900"]
        return [Part(suite, suite, [ctest, pytest + ["scripts"]], 200)]
    if suite == "sim":
        return [Part(suite, suite, [[str(options.build / "muster_sim"), "--seeds", "40"]], 70)]
    if suite == "kube":
        apart = {name: [f"test/kube/{file}" for file in files] for name, (_, files) in KUBE_PARTS.items()}
        rest = ["test/kube", *(f"--ignore={path}" for paths in apart.values() for path in paths)]
        return [Part(suite, suite, [pytest + rest], 750),
                *(Part(suite, f"kube-{name}", [pytest + paths], KUBE_PARTS[name][0]) for name, paths in apart.items())]
    return [Part(suite, suite, [pytest + [f"test/{suite}"]], {"e2e": 650, "attacks": 260, "kubectl": 180}.get(suite, 0))]


def total_of(text: str) -> str:
    """What a runner says at its end."""
    found = TOTAL.findall(text)
    return found[-1] if found else next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


class Lanes:
    """Runs parts side by side."""

    def __init__(self, env: dict[str, str]):
        self.env, self.lock, self.over = env, threading.Lock(), threading.Event()
        self.waiting: queue.SimpleQueue[Part] = queue.SimpleQueue()

    def run(self, those: list[Part]) -> None:
        for part in sorted(those, key=lambda part: -part.seconds):
            self.waiting.put(part)
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            lanes = [pool.submit(self.lane) for _ in range(LANES)]
            try:
                concurrent.futures.wait(lanes)
            finally:
                self.over.set()  # After an interrupt everything that runs is ended before anything else.
                concurrent.futures.wait(lanes)
        for lane in lanes:
            lane.result()

    def lane(self) -> None:
        while not self.over.is_set():
            try:
                part = self.waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            part.passed = all([self.passes(part, command) for command in part.commands])  # All of them are run.
            part.took = time.monotonic() - began
            self.tell(part)

    def tell(self, part: Part) -> None:
        with self.lock:
            print(f"--- {part.name}: {'passed' if part.passed else 'FAILED'} after {part.took:.0f} s; all that it printed:", flush=True)
            sys.stdout.buffer.write(part.log.read_bytes())
            sys.stdout.buffer.flush()

    def passes(self, part: Part, command: list[str]) -> bool:
        """Runs a command. One that does not come to its end is ended, with all that it started: a hang is a failure."""
        part.log.parent.mkdir(parents=True, exist_ok=True)
        with part.log.open("ab" if part.totals else "wb") as log:
            with self.lock:
                print(f"--- {part.name}: {' '.join(command)} >{part.log}", flush=True)
            start = log.tell()
            with subprocess.Popen(command, cwd=ROOT, env=self.env, start_new_session=True, stdout=log, stderr=log) as process:
                done = self.ended(process)
            if not done:
                log.write(f"\nended: not done after {LONGEST} s, or interrupted: {' '.join(command)}\n".encode())
        text = part.log.read_bytes()[start:].decode(errors="replace")
        part.totals.append(total_of(text))
        return done and process.returncode == 0

    def ended(self, process: subprocess.Popen) -> bool:
        """Whether it has come to its end by itself."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline and not self.over.is_set():
            try:
                process.wait(timeout=0.5)
                return True
            except subprocess.TimeoutExpired:
                pass
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # Also what does not care about an interrupt.
        return False


def added_up(totals: list[str]) -> str:
    """The totals of a suite's runners as one, when they count alike."""
    counts: collections.Counter[str] = collections.Counter()
    for total in totals:
        found = re.findall(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?)\b", total)
        if not found or "%" in total:
            return "; ".join(totals)
        counts.update({word.rstrip("s") if word.startswith(("error", "warning")) else word: int(number) for number, word in found})
    return totals[0] if len(totals) == 1 else ", ".join(f"{number} {word}" for word, number in counts.items()) + f" ({'; '.join(totals)})"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="*", default=SUITES, choices=SUITES, metavar="SUITE")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--python-home", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    options = parser.parse_args()
    # Who runs in the background of a script ignores interrupts, and so would every runner: none could end in peace.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    env = dict(os.environ, MUSTER=str((ROOT / options.build / "muster").resolve()),
               MUSTER_PYTHON_HOME=str(options.python_home), MUSTER_CACHE=str(options.cache))
    suites = list(dict.fromkeys(options.suites))
    those = [part for suite in suites for part in parts(suite, options)]
    Lanes(env).run(those)
    failed = [suite for suite in suites if not all(part.passed for part in those if part.suite == suite)]
    for suite in suites:
        its = [part for part in those if part.suite == suite]
        print(f"{suite}: {added_up([total for part in its for total in part.totals])}, {sum(part.took for part in its):.0f} s", flush=True)
    for suite in failed:
        print(f"FAILED: {suite}; run it alone with ./dev test {suite}", flush=True)
    print(f"{len(suites) - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
