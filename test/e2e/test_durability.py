# test/e2e/test_durability.py - kill -9 anywhere: nothing answered is lost, nothing runs twice, no process is orphaned.
import pathlib
import re
import subprocess

import pytest

from conftest import QUEUES, job, read
from test_queues import done

pytestmark = pytest.mark.muster_up("it is about the data folder and the pods; operators are killed in test/kube/test_trouble.py")


def test_a_restart_continues_and_runs_nothing_twice(make_muster, tmp_path):
    muster = make_muster().start()
    muster.apply(QUEUES)
    muster.apply(job("long", '["sh", "-c", "echo started once; sleep 8; echo ended"]'))
    muster.until("the pod runs", lambda: muster.get("-n", "sandbox", "job", "long")["status"].get("active") == 1)
    muster.until("its line is there", lambda: "started once" in muster.run("logs", "-n", "sandbox", "job/long", check=False).stdout)
    for _ in range(3):
        muster.kill()
        muster.start()
        assert muster.get("-n", "sandbox", "job", "long")["metadata"]["name"] == "long"
    muster.until("the job completes", lambda: done(muster, "long"))
    assert muster.run("logs", "-n", "sandbox", "job/long").stdout.count("started once") == 1
    assert len(muster.get("-n", "sandbox", "pods")["items"]) == 1


def test_every_answered_write_survives_kill(make_muster):
    muster = make_muster().start()
    for turn in range(5):
        names = []
        for i in range(10):
            name = f"kept-{turn}-{i}"
            muster.apply(f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{a: b}}}}")
            names.append(name)
        muster.kill()
        muster.start()
        present = {m["metadata"]["name"] for m in muster.get("configmaps")["items"]}
        assert set(names) <= present


def test_a_stop_leaves_no_process_behind(make_muster):
    muster = make_muster().start()
    muster.apply(job("sleeper", '["sleep", "98765"]', ns="default"))
    muster.until("the pod runs", lambda: muster.get("job", "sleeper")["status"].get("ready") == 1)
    assert muster.stop() == 0
    found = [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if b"98765" in read(p)]
    assert found == []


def test_a_data_folder_in_use_is_refused_in_one_sentence(make_muster):
    first = make_muster().start()
    second = subprocess.run([first.process.args[0], "up", "--data", str(first.folder / "state"), "--listen", "127.0.0.1:0"],
                            capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode != 0
    assert "another" in second.stderr.lower()


def test_a_port_in_use_is_refused_in_one_sentence(make_muster):
    first = make_muster().start()
    address = re.search(r"server: https://([0-9.:]+)", first.kubeconfig.read_text()).group(1)
    second = make_muster()
    done_ = subprocess.run([first.process.args[0], "up", "--data", str(second.folder / "state"), "--listen", address],
                           capture_output=True, text=True, timeout=30, check=False)
    assert done_.returncode != 0
    assert address.rsplit(":", 1)[1] in done_.stderr and "in use" in done_.stderr
