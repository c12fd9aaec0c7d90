#!/usr/bin/env python3
# scripts/check.py - all that must hold before a commit: each check one line, ok or FAIL, seconds.
"""First what only looks (format, layers, tidy), then header self-sufficiency, clang-tidy of changed files, build, tests."""
import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "log"


def sources(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if (ROOT / path).exists()]


def changed_sources() -> list[str]:
    """The .cpp files that differ from the newest commit; all of that commit's when nothing differs."""
    for what in (["HEAD"], ["HEAD~1", "HEAD"]):
        done = subprocess.run(["git", "diff", "--name-only", *what, "--", "src/*.cpp", "apps/*.cpp"], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        files = [f for f in done.stdout.split() if (ROOT / f).exists() and not f.endswith("_test.cpp")]
        if files:
            return files
    return []


def checks(every_file: bool) -> list[tuple[str, list[str]]]:
    python = sys.executable
    tidy_files = sources("src/*.cpp", "apps/*.cpp") if every_file else changed_sources()
    listed = [
        ("format", ["clang-format-14", "--dry-run", "--Werror", *sources("*.h", "*.cpp")]),
        ("layers", [python, "scripts/layers.py"]),
        ("tidy", [python, "scripts/tidy.py"]),
        ("tests of the checks", [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "scripts"]),
        ("configure", ["cmake", "--preset", "dev"]),
        ("build", ["cmake", "--build", "build/dev", "-j", str(os.cpu_count())]),
        ("deploy/helm/muster/crds-as-printed as printed", [python, "scripts/write_crds.py", "--check", "--muster", "build/dev/muster"]),
        ("roles in deploy/ as printed", [python, "scripts/write_deploy.py", "--check", "--roles-only", "--muster", "build/dev/muster"]),
        ("headers stand alone", ["cmake", "--build", "build/dev", "-j", str(os.cpu_count()), "--target",
                                 "all_verify_interface_header_sets"]),
        ("unit tests and scenarios", ["ctest", "--test-dir", "build/dev", "--output-on-failure", "-j2"]),
        ("ten seconds of simulation", ["build/dev/muster_sim", "--seconds", "10"]),
    ]
    if tidy_files:
        listed.append((f"clang-tidy ({len(tidy_files)} files)", ["clang-tidy-14", "-p", "build/dev", "--quiet", *tidy_files]))
    return listed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="clang-tidy on every file, not on the changed ones")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    for name, command in checks(options.all):
        log = LOGS / f"check-{name.split(' (')[0].replace(' ', '-')}.txt"
        start = time.time()
        print(f"{name:<32}", end="", flush=True)
        with log.open("w") as out:
            ok = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, check=False).returncode == 0
        print(f"{'ok  ' if ok else 'FAIL'} {time.time() - start:6.1f} s", flush=True)
        if ok:
            passed += 1
        else:
            failed += 1
            print("\n".join("    " + line for line in log.read_text().splitlines()[-15:]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
