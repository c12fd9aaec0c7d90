# test/e2e/test_data_folder.py - a data folder that cannot be written: read-only, without rights, full.
import base64
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import MUSTER
from test_bad_input import Client

pytestmark = pytest.mark.muster_up("an operator keeps nothing on a disk")

ROOT = os.geteuid() == 0


def start_fails(words: list[str], state: pathlib.Path) -> str:
    """What `muster up` says when it cannot start."""
    done = subprocess.run([*words, str(MUSTER), "up", "--data", str(state), "--listen", "127.0.0.1:0"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode > 0, done.stdout + done.stderr
    assert "ready" not in done.stdout.splitlines()
    said = [line for line in done.stderr.splitlines() if line]
    assert len(said) == 1, done.stderr
    return said[0]


@pytest.mark.parametrize("before", ["new", "used"])
def test_a_read_only_folder_is_refused_in_one_sentence(make_muster, mounts, before):
    muster = make_muster()
    state = muster.folder / "state"
    if before == "used":
        muster.start().stop()
    else:
        state.mkdir()
    there = mounts(f"mount --bind {state} {state}; mount -o remount,ro,bind {state}")
    said = start_fails(there, state)
    assert str(state) in said and "read-only" in said.lower(), said
    if before == "used":
        muster.start()


def test_a_root_that_is_no_mount_point_is_refused_with_what_to_do(make_muster, mounts):
    muster = make_muster()
    root = muster.folder / "root"
    root.mkdir()
    there = mounts(f"""mount --make-rprivate /
        for each in /*; do
            if [ -L $each ]; then cp -P $each {root}; elif [ -d $each ]; then mkdir {root}$each; mount --rbind $each {root}$each; fi
        done""")
    said = start_fails([*there, "chroot", str(root)], muster.folder / "state")
    assert "/ is no mount point here" in said and "mount --bind DIR DIR" in said, said


def test_a_folder_without_rights_is_refused_in_one_sentence(make_muster):
    muster = make_muster()
    state = muster.folder / "state"
    state.mkdir(mode=0o500)
    muster.folder.chmod(0o755)
    program = pathlib.Path("/tmp") / f"muster-e2e-program-{os.getpid()}"
    shutil.copy(MUSTER, program)  # Where anybody may run it.
    try:
        # The superuser is not bound by rights: it must be somebody else's process.
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if ROOT else []
        done = subprocess.run([*words, str(program), "up", "--data", str(state), "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=60, check=False)
    finally:
        program.unlink()
        state.chmod(0o700)
    assert done.returncode > 0 and str(state) in done.stderr and "ermission denied" in done.stderr, done.stderr
    assert len([line for line in done.stderr.splitlines() if line]) == 1, done.stderr


def test_a_disk_that_fills_up_loses_no_answered_write(make_muster, mounts):
    muster = make_muster()
    state = muster.folder / "state"
    state.mkdir()
    there = mounts(f"mount -t tmpfs -o size=16m tmpfs {state}")
    muster.prefix = there
    muster.start()
    client = Client(muster)
    kept, problem = [], ""
    for i in range(200):
        name = f"big-{i}"
        body = base64.b64encode(os.urandom(250_000)).decode()  # The database compresses what it can.
        try:
            status, answer = client.ask("POST", "/api/v1/namespaces/default/configmaps",
                                        f'{{"metadata":{{"name":"{name}"}},"data":{{"a":"{body}"}}}}'.encode())
        except OSError as error:
            problem = str(error)
            break
        assert status in (201, 500, 503, 507), answer
        if status != 201:
            problem = answer["message"]
            break
        kept.append(name)
    assert kept and problem, "the disk never filled up"
    # What is on the disk after a failed write nobody knows but a restart: the server has ended, in words.
    assert muster.process.wait(timeout=60) != 0
    said = pathlib.Path(muster.log.name).read_text()
    assert "the disk is full" in said and str(state) in said, said
    # Where not even a few bytes fit it says the same instead of starting, and loses nothing by trying.
    filler = state / "filler"
    subprocess.run([*there, "sh", "-c", f"head -c 100000000 /dev/zero >{filler}"], capture_output=True, check=False)
    said = start_fails(there, state)
    assert str(state) in said and "No space left" in said, said
    subprocess.run([*there, "mount", "-o", "remount,size=400m", str(state)], check=True)
    subprocess.run([*there, "rm", str(filler)], check=True)
    muster.start()
    present = {m["metadata"]["name"] for m in muster.get("configmaps")["items"]}
    assert set(kept) <= present
    muster.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: after}, data: {a: b}}")
    assert muster.get("configmap", "after")["data"] == {"a": "b"}

