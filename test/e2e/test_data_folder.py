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


def make_big(client, names) -> tuple[list[str], str]:
    """Makes objects until one is refused; the names of those that were answered as made, and the refusal."""
    kept = []
    for name in names:
        body = base64.b64encode(os.urandom(250_000)).decode()  # The database compresses what it can.
        status, answer = client.ask("POST", "/api/v1/namespaces/default/configmaps",
                                    f'{{"metadata":{{"name":"{name}"}},"data":{{"a":"{body}"}}}}'.encode())
        if status != 201:
            assert (status, answer["reason"]) == (503, "ServiceUnavailable"), answer
            return kept, answer["message"]
        kept.append(name)
    return kept, ""


def test_a_full_disk_refuses_writes_in_words_and_goes_on_by_itself(make_muster, mounts):
    muster = make_muster(flags=["--api-only"])
    state = muster.folder / "state"
    state.mkdir()
    there = mounts(f"mount -t tmpfs -o size=128m tmpfs {state}")
    muster.prefix = there
    muster.start()
    client = Client(muster)
    maps = "/api/v1/namespaces/default/configmaps"
    kept, refused = make_big(client, (f"big-{i}" for i in range(600)))
    assert len(kept) > 20 and "disk" in refused and "only deletes are taken" in refused, refused
    assert client.ask("GET", f"{maps}/{kept[0]}")[0] == 200
    # Deleting works, and nobody is answered what is not so: not by the server, and not after a kill.
    assert client.ask("DELETE", f"{maps}/{kept[0]}")[0] == 200
    gone = kept.pop(0)
    filler = state / "filler"
    subprocess.run([*there, "sh", "-c", f"head -c 200000000 /dev/zero >{filler}"], capture_output=True, check=False)
    muster.until("not even deletes are taken",
                 lambda: "no writes are taken" in client.ask("DELETE", f"{maps}/{kept[0]}")[1].get("message", ""))
    assert client.ask("GET", f"{maps}/{kept[0]}")[0] == 200
    assert client.ask("GET", f"{maps}/{gone}")[0] == 404
    muster.kill()
    # Where not even a few bytes fit it says so instead of starting, and loses nothing by trying.
    said = start_fails(there, state)
    assert str(state) in said and "No space left" in said, said
    subprocess.run([*there, "truncate", "-s", "-2M", str(filler)], check=True)
    muster.start()
    client = Client(muster)
    status, answer = client.ask("POST", maps, b'{"metadata":{"name":"after"}}')
    assert status == 503 and "no writes are taken" in answer["message"], answer
    assert client.ask("GET", f"{maps}/{kept[-1]}")[0] == 200
    subprocess.run([*there, "mount", "-o", "remount,size=600m", str(state)], check=True)
    subprocess.run([*there, "rm", str(filler)], check=True)
    muster.until("writes are taken", lambda: client.ask("POST", maps, b'{"metadata":{"name":"after"}}')[0] == 201)
    muster.kill()
    muster.start()
    present = {m["metadata"]["name"] for m in muster.get("configmaps")["items"]}
    assert present == {*kept, "after", "kube-root-ca.crt"} or present == {*kept, "after"}, present ^ {*kept, "after"}
    said = pathlib.Path(muster.log.name).read_text()
    assert f"the disk of {state}/store" in said and "has room again" in said, said


def test_a_write_that_the_disk_refuses_all_the_same_ends_it_in_words_and_loses_nothing(make_muster):
    muster = make_muster(flags=["--api-only"])
    # No file may be larger than 2 MiB: its log cannot grow, and nothing shows that before.
    muster.prefix = ["sh", "-c", 'trap "" XFSZ; ulimit -f 4096; exec "$@"', "sh"]
    muster.start()
    kept = []
    try:
        while len(kept) < 100:
            kept += make_big(Client(muster), [f"big-{len(kept)}"])[0]
    except OSError:
        pass
    assert 0 < len(kept) < 100
    assert muster.process.wait(timeout=60) == 74
    said = pathlib.Path(muster.log.name).read_text()
    assert "a write failed, so Muster stops" in said and str(muster.folder / "state") in said, said
    muster.prefix = []
    muster.start()
    assert set(kept) <= {m["metadata"]["name"] for m in muster.get("configmaps")["items"]}
