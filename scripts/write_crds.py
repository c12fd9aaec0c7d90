#!/usr/bin/env python3
# scripts/write_crds.py - writes deploy/helm/muster/crds-as-printed/*.yaml: what `muster crds` prints, a file each.
"""With --check it changes nothing and fails when a file is not what would be written."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "deploy/helm/muster/crds-as-printed"


def printed(muster: pathlib.Path) -> dict[str, str]:
    """File names and what belongs in them."""
    text = subprocess.run([str(muster), "crds"], stdout=subprocess.PIPE, text=True, check=True).stdout
    documents = [document for document in re.split(r"^---\n", text, flags=re.M) if document]
    return {"{1}_{0}.yaml".format(*re.search(r"^  name: ([a-z]+)\.(\S+)$", document, re.M).groups()): document
            for document in documents}


def stale(files: dict[str, str]) -> list[str]:
    """What is missing, differs, or is there and should not be."""
    there = {path.name: path.read_text() for path in FOLDER.glob("*")}
    return sorted(name for name in files.keys() | there.keys() if files.get(name) != there.get(name))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", type=pathlib.Path, default=ROOT / "build/release/muster")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    files = printed(options.muster)
    if options.check:
        for name in stale(files):
            print(f"deploy/helm/muster/crds-as-printed/{name} is not what `muster crds` prints: run scripts/write_crds.py --muster {options.muster}")
        return 1 if stale(files) else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale(files):
        if name in files:
            (FOLDER / name).write_text(files[name])
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
