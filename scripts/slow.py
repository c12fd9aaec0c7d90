#!/usr/bin/env python3
# scripts/slow.py - the slowest files of a build, from ninja's log.
import pathlib
import sys


def slowest(log_text: str, most: int = 25) -> list[tuple[float, str]]:
    """(seconds, output), slowest first; of several builds of one output the last counts."""
    last = {}
    for line in log_text.splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        last[output] = (int(end) - int(start)) / 1000
    return sorted(((s, o) for o, s in last.items()), reverse=True)[:most]


if __name__ == "__main__":
    for seconds, output in slowest(pathlib.Path(sys.argv[1]).read_text()):
        print(f"{seconds:7.1f} s  {output}")
