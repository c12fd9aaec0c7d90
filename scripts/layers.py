#!/usr/bin/env python3
# scripts/layers.py - every #include must be allowed by the folder table in CMakeLists.txt.
"""Prints one line for each include that the architecture does not allow; exits 1 if there is one."""
import pathlib
import re
import sys


def allowed_folders(cmake_text: str) -> dict[str, set[str]]:
    """Each folder with all that it may use: its own DEPS and theirs."""
    direct = {}
    for name, rest in re.findall(r"^muster_library\((\w+)([^)]*)\)", cmake_text, re.M):
        words = rest.split()
        deps = words[words.index("DEPS") + 1:] if "DEPS" in words else []
        direct[name] = deps[: deps.index("SYSTEM")] if "SYSTEM" in deps else deps
    closed: dict[str, set[str]] = {}

    def close(name: str) -> set[str]:
        if name not in closed:
            closed[name] = {name}.union(*(close(d) for d in direct[name]))
        return closed[name]

    for name in direct:
        close(name)
    return closed


def wrong_includes(folder: str, text: str, allowed: dict[str, set[str]]) -> list[tuple[int, str]]:
    """(line, folder) of each include of a project folder that `folder` may not use."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#include "(\w+)/', line)
        if match and match.group(1) in allowed and match.group(1) not in allowed[folder]:
            found.append((number, match.group(1)))
    return found


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    allowed = allowed_folders((root / "CMakeLists.txt").read_text())
    failed = 0
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        folder = path.relative_to(root / "src").parts[0]
        if folder not in allowed:
            print(f"{path.relative_to(root)}: the folder is not in CMakeLists.txt")
            failed += 1
            continue
        for number, used in wrong_includes(folder, path.read_text(), allowed):
            print(f"{path.relative_to(root)}:{number}: {folder}/ may not use {used}/")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
