# test/docs/test_docs.py - the commands of README and guides are typed into a shell and must succeed.
import os
import pathlib
import re
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MUSTER = pathlib.Path(os.environ.get("MUSTER", ROOT / "build/release/muster"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Each `$` line of the console blocks, with the output that the page shows below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found and line.strip():
                found[-1][1].append(line.strip())
    return found


def same_words(shown: str, said: str) -> bool:
    """Whether a line of the page stands in the output; what changes from run to run (ages, times, ids) may differ."""
    stable = [w for w in shown.split() if not re.search(r"\d+(\.\d+)?(s|ms|m|h|d)\b|\d\d:\d\d|[0-9a-f]{5}$", w)]
    return any(all(w in line for w in stable) for line in said.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_of_a_page_do_what_it_says(page, tmp_path):
    steps = commands(page.read_text())
    server = None
    env = dict(os.environ, PATH=f"{MUSTER.parent}:{os.environ['PATH']}", KUBECONFIG=str(tmp_path / "kubeconfig"))
    try:
        for command, shown in steps:
            if command.endswith("&"):
                words = [str(MUSTER), *command.rstrip("& ").split()[1:], "--data", str(tmp_path / "state"), "--kubeconfig",
                         str(tmp_path / "kubeconfig"), "--listen", "127.0.0.1:0"]
                server = subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True,
                                          stderr=(tmp_path / "log").open("w"))
                said = ""
                for line in server.stdout:
                    said += line
                    if line.strip() == "ready":
                        break
            elif command.startswith("export "):
                continue
            else:
                done = subprocess.run(command, shell=True, cwd=ROOT, env=env, text=True, capture_output=True, timeout=120,
                                      check=False)
                said = done.stdout + done.stderr
                assert done.returncode == 0, f"{page.name}: `{command}` ended with {done.returncode}: {said}"
            for line in shown:
                assert same_words(line, said), f"{page.name}: `{command}` did not show {line!r} but:\n{said}"
    finally:
        if server is not None:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)


def test_files_that_pages_name_exist():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_architecture_names_folders_and_files_that_exist():
    for name in re.findall(r"`((?:src|scripts|apps|apps_sim|scenarios)/[\w/.*]*)`", (ROOT / "ARCHITECTURE.md").read_text()):
        assert list(ROOT.glob(name.rstrip("/"))), f"ARCHITECTURE.md names {name}"
