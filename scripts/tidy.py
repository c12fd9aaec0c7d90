#!/usr/bin/env python3
# scripts/tidy.py - the house rules as code: limits, banned words by folder, the g++ 12 coroutine traps, dead headers.
"""Prints "path:line: what is wrong" for each break of a rule, then the count. Its tests are test_tidy.py."""
import pathlib
import re
import subprocess
import sys

LINES_MAX = 500
COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
PURE = ["decide", "base", "api", "kube", "control", "apiserver"]
NOT_NET = ["base", "api", "store", "kube", "decide", "control", "apiserver", "agent", "sim"]

# (folders, pattern, what to do instead, paths left alone)
BANNED = [
    (["decide"], r"#include <(thread|mutex|iostream|fstream|random|chrono|unordered_\w+)>",
     "decide/ is pure: no threads, I/O, chance, clocks or unordered containers", r"_test\.cpp$"),
    (["decide"], r"\b(throw|try)\b", "decide/ answers by return type", r"_test\.cpp$"),
    (["decide"], r"\b(double|float)\b", "decide/ counts in integers", r"_test\.cpp$"),
    (PURE, r"system_clock|steady_clock", "time comes from base/loop.h", r"base/log\.cpp$"),
    (NOT_NET, r"#include <(boost|openssl)/", "sockets and TLS live in net/", None),
    (["*"], r"#include <rocksdb/", "the database lives in store/", r"src/store/"),
    (["*"], r"#include <simdjson", "JSON is read by api/json.h", r"src/api/"),
    (["*"], r"#include <regex>", "use RE2 in api/, or plain code", None),
    (["*"], r"using namespace ", "name what you use", None),
    (["*"], r"\bPath \w+ = (?!Path\(\)\.\w+\([^()]*\);).*\)\.(child|item|key)\(",
     "a Path points at its parent: name each step", None),
    (["*"], r"std::(random_device|mt19937|rand\b)", "chance comes from base/random.h", r"apps|_test\.cpp$"),
    (["*"], r"catch \(\.\.\.\)", "three catches only: runner, request handler, main", None),
]

COROUTINE_TRAPS = [
    (r"co_await [^;]*\{", "braces inside co_await free twice on g++ 12: name the value first"),
    (r"co_await [^;]*\[[^\]]+\]\s*\(", "a capturing lambda inside co_await frees twice on g++ 12"),
    (r"\?[^;:]*co_await|co_await[^;]*\?[^;]*:", "no co_await inside ?:"),
]

BAD_NAMES = re.compile(r"(^|_)(utils?|helpers?|common|manager|impl|misc)(_|\.|$)")
NOT_A_FUNCTION = re.compile(
    r"(namespace|struct|class|enum|union|using|TEST_CASE|extern|constexpr|const|static constexpr)\b")


def function_lengths(text: str) -> list[tuple[int, int]]:
    """(first line, length) of each function that is defined outside of a class: by clang-format's layout its signature
    begins at column 0 and its body ends at the next brace at column 0."""
    lines = text.splitlines()
    found = []
    begin = 0
    for i, line in enumerate(lines):
        if line and line[0] not in " }#/" and not re.match(r"(public|private|protected):", line):
            begin = i
        if not line.endswith("{") or NOT_A_FUNCTION.match(lines[begin]) or "(" not in "".join(lines[begin:i + 1]):
            continue
        if line.startswith(" " * 8) or (begin != i and not all(b.startswith(" ") for b in lines[begin + 1:i + 1])):
            continue
        end = next((j for j in range(i + 1, len(lines)) if lines[j].startswith("}")), len(lines) - 1)
        if not found or found[-1][0] != begin + 1:
            found.append((begin + 1, end - begin + 1))
    return found


def without_text(line: str) -> str:
    """The line without string literals and comments, so that words in them do not count."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def check_text(path: str, text: str) -> list[tuple[int, str]]:
    """All breaks of the house rules in one C++ file; `path` is relative to the repository."""
    found = []
    lines = text.splitlines()
    folder = path.split("/")[1] if path.startswith("src/") else ""
    name = path.rsplit("/", 1)[-1]
    inner = path.removeprefix("src/")
    if not re.match(r"// " + re.escape(inner) + r" (-|\u2014) \S", lines[0] if lines else ""):
        found.append((1, f'line 1 must be "// {inner} - what the file is for."'))
    if len(lines) > LINES_MAX:
        found.append((len(lines), f"{len(lines)} lines; at most {LINES_MAX} a file"))
    if BAD_NAMES.search(name):
        found.append((1, "name the file after its main noun or verb"))
    if name.endswith(".h") and "#pragma once" not in text:
        found.append((1, "#pragma once is missing"))
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX and 'R"' not in line and '"' not in line:
            found.append((number, f"{len(line)} columns; at most {COLUMNS_MAX}"))
        for folders, pattern, instead, except_for in BANNED:
            if folders != ["*"] and folder not in folders:
                continue
            if except_for and re.search(except_for, path):
                continue
            if re.search(pattern, line if pattern.startswith("#include") else without_text(line)):
                found.append((number, instead))
        if "co_await" in line:
            for pattern, instead in COROUTINE_TRAPS:
                if re.search(pattern, without_text(line)):
                    found.append((number, instead))
        if re.search(r"\b(TODO|FIXME|XXX)\b", line) and not re.search(r"TODO\(#\d+\)", line):
            found.append((number, "a TODO names an issue: TODO(#12)"))
    if not name.endswith("_test.cpp"):
        for first, length in function_lengths(text):
            if length > FUNCTION_LINES_MAX:
                found.append((first, f"a function of {length} lines; at most {FUNCTION_LINES_MAX}"))
    return found


def unused_headers(files: dict[str, str]) -> list[str]:
    """Headers under src/ that nothing includes."""
    included = set()
    for text in files.values():
        included.update(re.findall(r'#include "([^"]+)"', text))
    return [p for p in files if p.startswith("src/") and p.endswith(".h") and p.removeprefix("src/") not in included]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cpp"],
                            cwd=root, capture_output=True, text=True, check=True).stdout.split()
    files = {path: (root / path).read_text() for path in listed if (root / path).exists()}
    failed = 0
    for path, text in sorted(files.items()):
        for number, what in check_text(path, text):
            print(f"{path}:{number}: {what}")
            failed += 1
    for path in unused_headers(files):
        print(f"{path}:1: nothing includes this header")
        failed += 1
    print(f"{len(files)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
