#!/usr/bin/env python3
# scripts/sanitize.py - runs what there is under a sanitizer: unit tests, the simulator, a short end to end; prints totals.
"""Each step is one line: ok or FAIL, seconds. A report of the sanitizer fails a step whatever its exit code says."""
import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "log"
# What has threads, and the two that never may have any; base, api and kube are in all of them.
THREADED = ["net", "store", "apiserver", "agent", "apps", "decide", "control"]
# Under ASan and UBSan all recorded cases on decide take two minutes, through the API ten: of these every fourth.
SAMPLED = ["oracle_server", "oracle_remedies"]
END_TO_END = ["test/e2e/test_queues.py", "test/e2e/test_durability.py", "test/e2e/test_bad_input.py"]


def steps(preset: str, seeds: int) -> list[tuple[str, list[str]]]:
    """What to run: a name and a command for each."""
    build = ROOT / "build" / preset
    ctest = ["ctest", "--test-dir", str(build), "--output-on-failure", "-j1"]
    if preset == "tsan":
        ctest += ["-R", "^(" + "|".join(THREADED) + ")$"]
    else:
        ctest += ["-E", "^(" + "|".join(SAMPLED) + ")$"]
    listed = [("unit tests", ctest)]
    if preset == "san":
        oracle = [str(build / "oracle_test"), "--every", "4"]
        listed.append(("recorded cases through the API", [*oracle, "--server"]))
        listed.append(("suggested remedies", [*oracle, "--remedies"]))
        listed.append((f"simulator, {seeds} seeds", [str(build / "muster_sim"), "--seeds", str(seeds)]))
    listed.append(("end to end", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *END_TO_END]))
    return listed


def reports_in(folder: pathlib.Path) -> list[pathlib.Path]:
    """The sanitizers' own files: they are written only when something is wrong."""
    return sorted(path for path in folder.glob("report.*") if path.stat().st_size > 0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("preset", choices=["san", "tsan"])
    parser.add_argument("--seeds", type=int, default=60, help="of the simulator; each takes five to ten seconds")
    parser.add_argument("--python-home", type=pathlib.Path, required=True)
    options = parser.parse_args()
    folder = LOGS / options.preset
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*"):
        old.unlink()
    report = f"log_path={folder / 'report'}"
    env = dict(os.environ, MUSTER=str(ROOT / "build" / options.preset / "muster"),
               MUSTER_PYTHON_HOME=str(options.python_home),
               ASAN_OPTIONS=f"{report}:detect_leaks=1:exitcode=86", UBSAN_OPTIONS=f"{report}:print_stacktrace=1",
               TSAN_OPTIONS=f"{report}:exitcode=86:suppressions={ROOT / 'scripts' / 'tsan.supp'}")
    failed = 0
    listed = steps(options.preset, options.seeds)
    for name, command in listed:
        log = folder / f"{name.split(',')[0].replace(' ', '-')}.txt"
        start = time.time()
        print(f"{name:<32}", end="", flush=True)
        before = len(reports_in(folder))
        with log.open("w") as out:
            done = subprocess.run(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT, check=False)
        new = reports_in(folder)[before:]
        ok = done.returncode == 0 and not new
        print(f"{'ok  ' if ok else 'FAIL'} {time.time() - start:6.1f} s", flush=True)
        if not ok:
            failed += 1
            print("\n".join("    " + line for line in log.read_text(errors="replace").splitlines()[-15:]))
            for path in new:
                print(f"    {path.relative_to(ROOT)}:")
                print("\n".join("    " + line for line in path.read_text(errors="replace").splitlines()[:25]))
    print(f"{len(listed) - failed} passed, {failed} failed, {len(reports_in(folder))} reports")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
