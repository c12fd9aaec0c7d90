# test/e2e/test_store_faults.py - the data folder damaged, saved and restored: nothing that was answered is missing without a word.
import os
import shutil
import subprocess

import pytest

from conftest import MUSTER

pytestmark = pytest.mark.muster_up("an operator keeps nothing on a disk")


def names(muster) -> set[str]:
    return {m["metadata"]["name"] for m in muster.get("configmaps")["items"]} - {"kube-root-ca.crt"}


def make(muster, *wanted: str) -> None:
    for name in wanted:
        muster.apply(f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{a: {'b' * 3000}}}}}")


def store(muster, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(MUSTER), "store", *words, "--data", str(muster.folder / "state")], text=True, capture_output=True,
                          timeout=60, check=False)


def newest_log(muster):
    return max(log for log in (muster.folder / "state/store").glob("*.log") if log.stat().st_size)


@pytest.mark.parametrize("fault", ["flipped", "cut"])
def test_a_damaged_log_is_refused_until_the_loss_is_accepted(make_muster, fault):
    muster = make_muster(flags=["--api-only"]).start()
    make(muster, "a", "b", "c")
    muster.kill()
    log = newest_log(muster)
    content = bytearray(log.read_bytes())
    at = content.rindex(b"b" * 100)  # In the last object.
    if fault == "cut":
        del content[at:]
    else:
        content[at] ^= 1
    log.write_bytes(content)
    said = refused_start(muster)
    assert "writes that were answered are lost" in said and "muster store repair --accept-loss" in said, said
    assert store(muster, "check").returncode == 1
    asked = store(muster, "repair")
    assert asked.returncode == 1 and "nothing was changed" in asked.stderr
    done = store(muster, "repair", "--accept-loss")
    assert done.returncode == 0 and "damaged-1" in done.stdout, done.stdout + done.stderr
    muster.start()
    assert names(muster) >= {"a", "b"} and "c" not in names(muster)


def refused_start(muster) -> str:
    """What `muster up` says when it does not start."""
    refused = subprocess.run([str(MUSTER), "up", "--data", str(muster.folder / "state"), "--listen", "127.0.0.1:0"],
                             text=True, capture_output=True, timeout=60, check=False)
    said = [line for line in refused.stderr.splitlines() if line]
    assert refused.returncode != 0 and len(said) == 1, refused.stderr
    return said[0]


def test_a_store_that_was_removed_is_a_loss_and_not_a_new_folder(make_muster):
    muster = make_muster(flags=["--api-only"]).start()
    make(muster, "a")
    muster.stop()
    shutil.rmtree(muster.folder / "state/store")
    said = refused_start(muster)
    assert "its objects are lost" in said and "muster store repair --accept-loss" in said, said
    assert store(muster, "check").returncode == 1
    done = store(muster, "repair", "--accept-loss")
    assert done.returncode == 0, done.stdout + done.stderr
    muster.start()
    assert names(muster) == set()


def test_half_an_authority_and_a_pipe_in_place_of_a_file_are_refused(make_muster):
    muster = make_muster(flags=["--api-only"]).start()
    muster.stop()
    for file, words in (("pki/ca.key", "ca.key is missing"), ("store/CURRENT", "the database is damaged (the file CURRENT is missing)")):
        path = muster.folder / "state" / file
        path.rename(muster.folder / "away")
        assert words in refused_start(muster)
        os.mkfifo(path)
        assert "it is a named pipe, not a file" in refused_start(muster)
        path.unlink()
        (muster.folder / "away").rename(path)
    muster.start()


def test_a_running_muster_is_checked_backed_up_and_exported(make_muster):
    muster = make_muster(flags=["--api-only"]).start()
    make(muster, "a", "b")
    folder = muster.folder
    for words in (["check"], ["backup", str(folder / "backup")], ["export", str(folder / "export")]):
        done = store(muster, *words)
        assert done.returncode == 0, done.stderr
    assert (folder / "export").stat().st_mode & 0o077 == 0
    again = store(muster, "repair", "--accept-loss")
    assert again.returncode != 0 and "in use" in again.stderr
    muster.stop()
    (folder / "state").rename(folder / "before")
    assert store(muster, "import", str(folder / "export")).returncode == 0
    muster.start()
    assert names(muster) == {"a", "b"}
    muster.stop()
    (folder / "state").rename(folder / "imported")
    (folder / "backup").rename(folder / "state")
    muster.start()
    assert names(muster) == {"a", "b"}


@pytest.mark.parametrize("folder_is_there", [False, True])
def test_an_import_that_fails_leaves_nothing_on_which_a_muster_starts_empty(make_muster, folder_is_there):
    muster = make_muster(flags=["--api-only"]).start()
    make(muster, "a", "b")
    export, state = muster.folder / "export", muster.folder / "state"
    assert store(muster, "export", str(export)).returncode == 0
    muster.stop()
    state.rename(muster.folder / "before")
    if folder_is_there:
        state.mkdir(mode=0o700)
    cut = muster.folder / "cut"
    cut.write_bytes(export.read_bytes()[:-40])
    for _ in range(2):
        refused = store(muster, "import", str(cut))
        assert refused.returncode != 0 and str(cut) in refused.stderr, refused.stderr
        assert state.exists() == folder_is_there and not (folder_is_there and any(state.iterdir()))
    assert store(muster, "import", str(export)).returncode == 0
    again = store(muster, "import", str(export))
    assert again.returncode != 0 and "is not empty" in again.stderr, again.stderr
    muster.start()
    assert names(muster) == {"a", "b"}
