# scripts/test_dev.py - what `./dev test` makes ready for which tests.
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# All of it but the last lines, which call a verb; and in place of what it makes ready, words.
PLAYED = """
set -- ; source <(sed '/^verb=/,$d' dev)
setup_packages() { :; }
setup_python() { python=/bin/true; }
build() { :; }
setup_kube() { echo kubectl; }
setup_cluster() { echo cluster; }
verb_test %s
"""


@pytest.mark.parametrize(("names", "made"), [
    ("", {"kubectl", "cluster"}), ("e2e", {"kubectl", "cluster"}), ("kubectl", {"kubectl", "cluster"}),
    ("kube", {"kubectl", "cluster"}), ("unit sim docs", set()), ("unit e2e", {"kubectl", "cluster"})])
def test_what_is_built_of_go_is_there_before_the_tests_that_use_it(names, made):
    done = subprocess.run(["bash", "-c", PLAYED % names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == made
