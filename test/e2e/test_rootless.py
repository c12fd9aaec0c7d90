# test/e2e/test_rootless.py - `muster up` as a user without any privilege: pods, names, adoption and a clean stop, or one clear sentence.
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile

import pytest

import conftest
from conftest import Muster, job
from test_pod_network import holder_of
from test_pod_spec import events_of, output, pod
from test_queues import condition, done

pytestmark = pytest.mark.muster_up("it is about the rights that the node needs to run pods")

NOBODY = 65534

PAIR = """
apiVersion: v1
kind: Service
metadata: {name: greeter}
spec: {selector: {app: greeter}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: greeter, labels: {app: greeter}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: python
    command: ["python3", "-c", "import http.server as h, os; os.chdir('/tmp'); open('greeting', 'w').write('hello from ' + os.uname().nodename); h.HTTPServer(('', 8080), h.SimpleHTTPRequestHandler).serve_forever()"]
    readinessProbe: {httpGet: {path: /greeting, port: 8080}, periodSeconds: 1}
"""

ASK = ('["python3", "-c", "import time, urllib.request as u\\nfor i in range(100):\\n  try: '
       'print(u.urlopen(\\"http://greeter.default.svc.cluster.local/greeting\\", timeout=5).read().decode()); break\\n'
       '  except OSError as e: time.sleep(0.2)\\nelse: raise SystemExit(str(e))"]')


def reachable_by_all(program: pathlib.Path) -> bool:
    return all(p.stat().st_mode & stat.S_IXOTH for p in [program, *program.parents])


@pytest.fixture
def nobody():
    """Makes a Muster that runs as an unprivileged user; ended and removed with the test."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-rootless-"))
    program, user = conftest.MUSTER, None
    if os.geteuid() == 0:
        user = NOBODY
        if not reachable_by_all(program):
            program = pathlib.Path(shutil.copy(program, folder / "muster"))
        os.chown(folder, user, user)
    muster = Muster(folder, ["laptop:cpu=4,memory=4Gi"], user=user)
    muster.env["HOME"] = str(folder)
    muster.program = program
    yield muster
    if muster.process is not None and muster.process.poll() is None:
        muster.stop()
    muster.log.close()
    shutil.rmtree(folder, ignore_errors=True)


def started(muster: Muster) -> Muster:
    """Starts it; skips the test, naming Muster's own sentence, where the machine forbids user namespaces."""
    try:
        return muster.start()
    except AssertionError:
        said = (muster.folder / "muster.log").read_text()
        if "does not allow Muster to make namespaces" in said:
            pytest.skip(said.strip().splitlines()[-1])
        raise


def processes_of(muster: Muster) -> list[int]:
    """What runs under this Muster's data folder or with its mark: its holder and all pods' processes."""
    mark = str(muster.folder).encode()
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "cmdline").read_bytes() or mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_job_runs_to_its_end_as_an_ordinary_user(nobody):
    muster = started(nobody)
    if muster.user is not None:
        assert pathlib.Path(f"/proc/{muster.process.pid}").stat().st_uid == NOBODY
    muster.apply(job("plain", '["sh", "-c", "id -u; echo to out; echo to err >&2; touch /tmp/mine; ! touch /etc/not-mine"]',
                     ns="default"))
    muster.until("the job completes", lambda: done(muster, "plain", ns="default"))
    log = muster.run("logs", "job/plain").stdout
    assert "to out" in log and "to err" in log and "/etc/not-mine" in log, log


def test_two_pods_reach_each_other_by_name_as_an_ordinary_user(nobody):
    muster = started(nobody)
    muster.apply(PAIR)
    muster.apply(job("asker", ASK, ns="default").replace("busybox", "python"))
    muster.until("the job completes", lambda: done(muster, "asker", ns="default"), 120)
    assert muster.run("logs", "job/asker").stdout.strip() == "hello from greeter"


def test_kill_and_restart_adopt_what_runs_as_an_ordinary_user(nobody):
    muster = started(nobody)
    muster.apply(job("long", '["sh", "-c", "echo started once; until [ -e /tmp/go ]; do sleep 0.1; done; echo ended"]', ns="default"))
    muster.until("its line is there",
                 lambda: "started once" in muster.run("logs", "job/long", check=False).stdout)
    muster.kill()
    muster.start()
    pod = muster.until("the pod is seen to run", lambda: next(
        (p for p in muster.get("pods")["items"] if p["status"]["phase"] == "Running"), None))
    muster.until("exec works in it", lambda: muster.run(
        "exec", pod["metadata"]["name"], "--", "touch", "/tmp/go", check=False).returncode == 0)
    muster.until("the job completes", lambda: done(muster, "long", ns="default"))
    assert muster.run("logs", "job/long").stdout.split("\n")[:2] == ["started once", "ended"]
    assert len(muster.get("pods")["items"]) == 1


def test_a_stop_leaves_nothing_behind_as_an_ordinary_user(nobody):
    muster = started(nobody)
    muster.apply(job("sleeper", '["sleep", "87654"]', ns="default"))
    muster.until("the pod runs", lambda: muster.get("job", "sleeper")["status"].get("ready") == 1)
    assert muster.stop() == 0
    muster.until("no process is left", lambda: not processes_of(muster))
    assert not [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if b"87654" in conftest.read(p)]


def test_forbidden_namespaces_are_said_in_one_sentence_with_the_fix(nobody):
    """A user namespace in which no further ones may be made, and no privilege in it, is such a machine."""
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("setpriv and unshare are not installed")
    up = f"'{nobody.program}' up --data '{nobody.folder}/state' --listen 127.0.0.1:0"
    strict = ("echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "
              f"--securebits=+noroot --no-new-privs {up}")
    identity = {} if nobody.user is None else {"user": nobody.user, "group": nobody.user, "extra_groups": []}
    tried = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", strict], env=nobody.env, text=True,
                           capture_output=True, timeout=60, check=False, **identity)
    if "unshare failed" in tried.stderr or "setpriv:" in tried.stderr:
        pytest.skip(tried.stderr.strip())
    assert tried.returncode != 0
    lines = tried.stderr.strip().splitlines()
    assert len(lines) == 1, tried.stderr
    assert "does not allow Muster to make namespaces" in lines[0] and "user.max_user_namespaces" in lines[0], lines
    assert "ready" not in tried.stdout


def test_users_limits_and_shared_processes_as_an_ordinary_user(nobody):
    """Any number is the one user, seen under that number; what cannot be enforced is said."""
    muster = started(nobody)
    muster.apply(pod("somebody", "id -u; id -g; touch $HOME/mine /tmp/mine /work/mine && echo written",
                     "shareProcessNamespace: true\nsecurityContext: {runAsUser: 1234, runAsGroup: 2345, fsGroup: 7}\n"
                     "volumes: [{name: work, emptyDir: {}}]",
                     "volumeMounts: [{name: work, mountPath: /work}]\nresources: {limits: {cpu: 500m, memory: 100Mi}}"))
    muster.apply(pod("groups", "true", "securityContext: {supplementalGroups: [5]}"))
    assert output(muster, "somebody").split() == ["1234", "2345", "written"]
    told = condition(muster.get("nodes")["items"][0], "muster.dev/LimitsEnforced")
    assert told["status"] == "True" or "not limited: cannot" in told["message"], told
    if muster.user is not None:
        muster.until("further groups are refused", lambda: "supplementalGroups" in events_of(muster, "groups"))


def test_a_terminal_and_low_ports_as_an_ordinary_user(nobody):
    muster = started(nobody)
    muster.apply(pod("low", 'python3 -c "import socket; s = socket.socket(); s.bind((str(), 80)); s.listen(); input()"',
                     container="stdin: true\ntty: true\nreadinessProbe: {tcpSocket: {port: 80}, periodSeconds: 1}"))
    muster.until("it is ready", lambda: (muster.get("pod", "low")["status"].get("containerStatuses") or [{}])[0].get("ready"))
    done_ = muster.run("exec", "-t", "low", "--", "tty", check=False)
    assert "/dev/pts/" in done_.stdout, done_


def test_the_network_is_made_again_as_an_ordinary_user(nobody):
    muster = started(nobody)
    muster.apply(PAIR)
    muster.until("it is ready", lambda: (muster.get("pod", "greeter")["status"].get("containerStatuses") or [{}])[0].get("ready"))
    old = holder_of(muster)
    assert old
    os.kill(old, signal.SIGKILL)
    muster.until("a new holder is there", lambda: holder_of(muster) not in (0, old))
    muster.apply(job("asker", ASK, ns="default").replace("busybox", "python"))
    muster.until("the job completes", lambda: done(muster, "asker", ns="default"), 120)
    assert muster.run("logs", "job/asker").stdout.strip() == "hello from greeter"
