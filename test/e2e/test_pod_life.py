# test/e2e/test_pod_life.py - what a kubelet does with a running pod: probes, hooks, restarts, logs, exec, attach, port-forward.
import os
import pty
import re
import select
import subprocess
import termios
import fcntl
import struct
import time

import pytest
from kubernetes import client, config
from kubernetes.stream import stream

from test_pod_spec import ended, events_of, main_state, output, pod

pytestmark = pytest.mark.muster_up("it is about what the node does with a pod; on a cluster kubelets do that")

SERVE = "mkdir -p /tmp/w; cd /tmp/w; python3 -m http.server 8080 >/dev/null 2>&1"


def status_of(muster, name: str) -> dict:
    statuses = muster.get("pod", name).get("status", {}).get("containerStatuses")
    return statuses[0] if statuses else {"state": {}, "restartCount": 0, "ready": False, "lastState": {}}


def always(text: str) -> str:
    return text.replace("restartPolicy: Never", "restartPolicy: Always")


def run_in(muster, name: str, script: str) -> None:
    muster.until(f"exec works in {name}", lambda: muster.run("exec", name, "--", "sh", "-c", script, check=False).returncode == 0)


# Probes


def test_an_http_readiness_probe_makes_ready_and_takes_it_back(muster):
    muster.apply(pod("web", SERVE, container="readinessProbe: {httpGet: {path: /ok, port: web}, periodSeconds: 1, failureThreshold: 1}\n"
                     "ports: [{name: web, containerPort: 8080}]"))
    muster.until("the probe has failed", lambda: "Readiness probe failed: HTTP probe failed with statuscode: 404" in events_of(muster, "web"))
    assert not status_of(muster, "web")["ready"]
    run_in(muster, "web", "touch /tmp/w/ok")
    muster.until("it is ready", lambda: status_of(muster, "web")["ready"])
    run_in(muster, "web", "rm /tmp/w/ok")
    muster.until("it is not ready any more", lambda: not status_of(muster, "web")["ready"])
    assert status_of(muster, "web")["restartCount"] == 0


def test_a_success_threshold_is_waited_for(muster):
    muster.apply(pod("twice", "sleep 600", container="readinessProbe: {exec: {command: [sh, -c, 'echo x >> /tmp/n']}, periodSeconds: 1, successThreshold: 3}"))
    muster.until("it is ready", lambda: status_of(muster, "twice")["ready"])
    assert int(muster.run("exec", "twice", "--", "sh", "-c", "wc -l < /tmp/n").stdout) >= 3


def test_a_tcp_probe_asks_the_port(muster):
    muster.apply(pod("tcp", "sleep 600", container="readinessProbe: {tcpSocket: {port: 7070}, periodSeconds: 1}"))
    muster.until("the probe was refused", lambda: "connection refused" in events_of(muster, "tcp").lower())
    run_in(muster, "tcp", "python3 -c 'import socket, time; s = socket.socket(); s.bind((str(), 7070)); s.listen(); time.sleep(600)' >/dev/null 2>&1 &")
    muster.until("it is ready", lambda: status_of(muster, "tcp")["ready"])


def test_a_liveness_probe_restarts_its_container(muster):
    muster.apply(always(pod("sick", "echo run $$; sleep 600",
                            container="livenessProbe: {exec: {command: [sh, -c, '[ -e /proc/1 ] && [ ! -e /tmp/sick ]']}, periodSeconds: 1, failureThreshold: 2}")))
    run_in(muster, "sick", "touch /tmp/sick")
    muster.until("it was restarted", lambda: status_of(muster, "sick")["restartCount"] == 1)
    muster.until("an event says so", lambda: "failed liveness probe, will be restarted" in events_of(muster, "sick"))
    muster.until("and lives", lambda: "running" in status_of(muster, "sick")["state"])


def test_a_startup_probe_holds_the_others_back(muster):
    muster.apply(always(pod("slow", "sleep 3; touch /tmp/up; sleep 600", container="startupProbe: {exec: {command: [ls, /tmp/up]}, periodSeconds: 1, failureThreshold: 30}\n"
                            "livenessProbe: {exec: {command: [ls, /tmp/up]}, periodSeconds: 1, failureThreshold: 1}")))
    muster.until("it has started", lambda: status_of(muster, "slow").get("started"))
    assert status_of(muster, "slow")["restartCount"] == 0


def test_a_probe_that_takes_too_long_fails(muster):
    muster.apply(pod("hangs", "sleep 600", container="readinessProbe: {exec: {command: [sleep, '60']}, timeoutSeconds: 1, periodSeconds: 1}"))
    muster.until("the event says so", lambda: "timed out after 1s" in events_of(muster, "hangs"))


# Hooks and endings


def test_pre_stop_runs_before_the_signal_and_within_the_grace_period(muster):
    muster.apply(pod("polite", "trap \"echo term; exit 0\" TERM; echo up; while :; do sleep 0.1; done",
                     container="lifecycle: {preStop: {exec: {command: [sh, -c, 'echo hook > /proc/1/fd/1 || echo hook > /tmp/hook; sleep 1; echo done >> /tmp/hook']}}}")
                 .replace("terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 30"))
    muster.until("it runs", lambda: "up" in muster.run("logs", "polite", check=False).stdout)
    follower = subprocess.Popen([str(muster.program), "logs", "-f", "--timestamps", "polite"], env=muster.env, stdout=subprocess.PIPE, text=True)
    assert follower.stdout.readline().rstrip().endswith("up")
    begun = time.time()
    muster.run("delete", "pod", "polite")
    said = follower.communicate(timeout=60)[0]
    assert said.splitlines()[-1].endswith("term")
    assert time.time() - begun >= 1, "the hook was not waited for"


def test_a_pre_stop_that_never_ends_is_cut_off_by_the_grace_period(muster):
    muster.apply(pod("stuck", "sleep 6000", container="lifecycle: {preStop: {exec: {command: [sleep, '6000']}}}")
                 .replace("terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 2"))
    muster.until("it runs", lambda: "running" in status_of(muster, "stuck")["state"])
    muster.run("delete", "pod", "stuck", "--wait=false")
    muster.until("it is gone", lambda: not muster.get("pod", "stuck"))


def test_who_ignores_the_signal_is_killed_after_the_grace_period(muster):
    muster.apply(pod("deaf", "trap \"\" TERM; while :; do sleep 0.1; done"))
    muster.until("it runs", lambda: "running" in status_of(muster, "deaf")["state"])
    muster.run("delete", "pod", "deaf", "--wait=false")
    muster.until("it is gone", lambda: not muster.get("pod", "deaf"))


def test_post_start_runs_and_its_failure_ends_the_container(muster):
    muster.apply(pod("hooked", "sleep 600", container="lifecycle: {postStart: {exec: {command: [touch, /tmp/begun]}}}"))
    run_in(muster, "hooked", "[ -e /tmp/begun ]")
    muster.apply(pod("unlucky", "sleep 600", container="lifecycle: {postStart: {exec: {command: [sh, -c, 'echo no luck; exit 3']}}}"))
    seen = ended(muster, "unlucky")
    assert seen["status"]["phase"] == "Failed"
    muster.until("an event says so", lambda: all(word in events_of(muster, "unlucky") for word in ("PostStartHook failed", "no luck")))
    assert str(events_of(muster, "unlucky")).count("PostStartHook failed") == 1


# Restarts and logs


def test_restart_policies_and_back_off(muster):
    muster.apply(pod("never", "exit 3"))
    muster.apply(pod("on-failure", "[ -e /keep/x ] || { touch /keep/x; exit 3; }", "volumes: [{name: k, emptyDir: {}}]",
                     "volumeMounts: [{name: k, mountPath: /keep}]").replace("Policy: Never", "Policy: OnFailure"))
    muster.apply(always(pod("again", "echo life; exit 0")))
    seen = ended(muster, "never")
    assert (seen["status"]["phase"], main_state(seen)["terminated"]["exitCode"]) == ("Failed", 3)
    assert seen["status"]["containerStatuses"][0]["restartCount"] == 0
    seen = ended(muster, "on-failure")
    assert (seen["status"]["phase"], seen["status"]["containerStatuses"][0]["restartCount"]) == ("Succeeded", 1)
    looping = muster.until("it backs off", lambda: next((s for s in [status_of(muster, "again")] if s["state"].get(
        "waiting", {}).get("reason") == "CrashLoopBackOff"), None))
    assert re.match("back-off [12]0s restarting failed container=main", looping["state"]["waiting"]["message"]), looping
    assert looping["lastState"]["terminated"]["reason"] == "Completed"
    muster.until("it runs a third time", lambda: status_of(muster, "again")["restartCount"] >= 2)
    folder = muster.folder / "state/agent/pods" / muster.get("pod", "again")["metadata"]["uid"]
    # One run that has ended keeps its logs, as with the kubelet; nothing else stays on the disk.
    muster.until("files of older runs are removed", lambda: not list(folder.glob("*/main/0*")) and not (folder / "containers/main/1").exists())
    assert (folder / "logs/main/1.log").exists() and muster.run("logs", "again", "--previous").stdout == "life\n"


def test_init_containers_run_in_order_before_the_others(muster):
    muster.apply(pod("ordered", "cat /keep/log", "volumes: [{name: k, emptyDir: {}}]\ninitContainers:\n" + "\n".join(
        f"- {{name: {n}, image: busybox, command: [sh, -c, 'echo {n} >> /keep/log'], volumeMounts: [{{name: k, mountPath: /keep}}]}}"
        for n in ("first", "second")), "volumeMounts: [{name: k, mountPath: /keep}]"))
    assert output(muster, "ordered").split() == ["first", "second"]


def test_logs_of_the_previous_run_the_last_lines_and_times(muster):
    muster.apply(pod("lines", "for i in 1 2 3 4 5; do echo line $i; done; echo oops >&2"))
    assert output(muster, "lines").splitlines()[-1] == "oops"
    assert muster.run("logs", "lines", "--tail", "2").stdout == "line 5\noops\n"
    assert muster.run("logs", "lines", "--tail", "0").stdout == ""
    stamped = muster.run("logs", "lines", "--timestamps", "--tail", "1").stdout
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z oops\n", stamped), stamped
    assert muster.run("logs", "lines", "--since", "1h").stdout.count("line") == 5
    muster.until("they are older than a second", lambda: muster.run("logs", "lines", "--since", "1s").stdout == "")
    muster.apply(always(pod("reborn", "if [ -e /keep/x ]; then echo second; sleep 600; else touch /keep/x; echo first; exit 1; fi",
                            "volumes: [{name: k, emptyDir: {}}]", "volumeMounts: [{name: k, mountPath: /keep}]")))
    muster.until("it runs again", lambda: "second" in muster.run("logs", "reborn", check=False).stdout)
    assert muster.run("logs", "reborn", "--previous").stdout == "first\n"
    refused = muster.run("logs", "lines", "--previous", check=False)
    assert refused.returncode != 0 and "previous terminated container" in refused.stderr


def test_logs_are_followed_to_the_end(muster):
    muster.apply(pod("counting", "for i in 1 2 3; do echo $i; sleep 0.3; done"))
    muster.until("it has begun", lambda: muster.run("logs", "counting", check=False).stdout)
    assert muster.run("logs", "-f", "counting").stdout.split() == ["1", "2", "3"]


# Exec, attach, port-forward


def test_exec_enters_the_container_also_where_muster_lives_in_a_chroot(make_muster, mounts):
    muster = make_muster()
    root = muster.folder / "root"
    root.mkdir()
    muster.prefix = [*mounts(f"mount --make-rprivate /; mount --rbind / {root}"), "chroot", str(root)]
    muster.start()
    muster.apply(pod("inside", "echo of the container > /tmp/mark; sleep 600"))
    run_in(muster, "inside", "test -e /tmp/mark")
    assert muster.run("exec", "inside", "--", "cat", "/tmp/mark").stdout == "of the container\n"


def test_exec_gives_output_error_input_and_exit_code(muster):
    muster.apply(pod("host", "sleep 600"))
    run_in(muster, "host", "true")
    done = muster.run("exec", "-i", "host", "--", "sh", "-c", "cat; echo bad >&2; exit 7", input="typed", check=False)
    assert (done.stdout, done.returncode) == ("typed", 7) and "bad" in done.stderr
    assert muster.run("exec", "host", "--", "no-such-program", check=False).returncode != 0
    assert len(muster.run("exec", "host", "--", "head", "-c", "3000000", "/dev/zero").stdout) == 3_000_000
    for _ in range(15):  # What is written last comes too, on both ways.
        done = muster.run("exec", "host", "--", "sh", "-c", "head -c 50000 /dev/zero; head -c 50000 /dev/zero >&2")
        assert (len(done.stdout), len(done.stderr)) == (50_000, 50_000)
    assert muster.run("exec", "host", "--", "sh", "-c", "echo left; yes > /dev/stdout &").stdout.startswith("left\n")


class Terminal:
    """A command of Muster's on a terminal of ours."""

    def __init__(self, muster, *words: str, size: tuple[int, int] = (31, 97)):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen([str(muster.program), *words], env=muster.env, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.text = ""

    def type(self, line: str) -> None:
        os.write(self.master, line.encode())

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, what: str) -> str:
        deadline = time.time() + 60
        while what not in self.text:
            assert time.time() < deadline, f"no {what!r} in {self.text!r}"
            if not select.select([self.master], [], [], 1)[0]:
                continue
            try:
                self.text += os.read(self.master, 4096).decode()
            except OSError:
                assert what in self.text, f"ended without {what!r}: {self.text!r}"
        return self.text

    def end(self) -> int:
        code = self.process.wait(timeout=60)
        os.close(self.master)
        return code


def test_exec_on_a_terminal_has_its_name_its_size_and_its_keys(muster):
    muster.apply(pod("host", "sleep 600"))
    run_in(muster, "host", "true")
    terminal = Terminal(muster, "exec", "-it", "host", "--", "sh")
    terminal.type("tty; stty size; test -t 0 && test -c $(tty) && echo it has $((5 * 7)) letters\n")
    said = terminal.wait_for("it has 35 letters")
    assert "/dev/pts/0" in said and "31 97" in said, said
    terminal.resize(40, 120)
    terminal.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.1; done; echo resized $((6 * 7))\n")
    terminal.wait_for("resized 42")
    # What speaks has the terminal: a key that comes while the shell is still giving it away interrupts the shell, which then ends.
    terminal.type("sh -c 'echo asleep $((2 * 9)); exec sleep 600'\n")
    terminal.wait_for("asleep 18")
    terminal.type("\x03echo interrupted $((6 * 8))\n")
    terminal.wait_for("interrupted 48")
    terminal.type("exit 5\n")
    assert terminal.end() == 5


def core(muster) -> client.CoreV1Api:
    return client.CoreV1Api(config.new_client_from_config(str(muster.kubeconfig)))


def test_attach_writes_to_the_input_and_reads_the_output(muster):
    muster.apply(pod("echoer", "echo hello; while read line; do echo got $line; done; echo input is over", container="stdin: true\nstdinOnce: true"))
    muster.until("it runs", lambda: "hello" in muster.run("logs", "echoer", check=False).stdout)
    to = stream(core(muster).connect_get_namespaced_pod_attach, "echoer", "default", stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
    to.write_stdin("one\n")
    muster.until("it answers", lambda: (to.update(timeout=1), "got one" in to.peek_stdout())[1])
    to.close()
    assert output(muster, "echoer").splitlines() == ["hello", "got one", "input is over"]


def test_attach_to_a_terminal(muster):
    muster.apply(pod("shell", "exec sh", container="stdin: true\ntty: true").replace("command: [\"sh\", \"-c\", 'exec sh']", "command: [sh]"))
    muster.until("it runs", lambda: "running" in status_of(muster, "shell")["state"])
    to = stream(core(muster).connect_get_namespaced_pod_attach, "shell", "default", stdin=True, stdout=True, stderr=False, tty=True, _preload_content=False)
    to.write_stdin("tty; echo $((6 * 7)); exit 3\n")
    muster.until("it answers", lambda: (to.update(timeout=1), "42" in to.peek_stdout())[1])
    assert "/dev/pts/0" in to.peek_stdout()
    assert main_state(ended(muster, "shell"))["terminated"]["exitCode"] == 3
    assert "42" in muster.run("logs", "shell").stdout


def test_attach_to_a_container_without_input_says_why_not(muster):
    muster.apply(pod("closed", "sleep 600"))
    muster.until("it runs", lambda: "running" in status_of(muster, "closed")["state"])
    try:
        stream(core(muster).connect_get_namespaced_pod_attach, "closed", "default", stdin=True, stdout=True, tty=False, _preload_content=False)
        raise AssertionError("it must be refused")
    except client.ApiException as error:
        assert "stdin: true" in str(error) or error.status in (0, 400), error


def test_a_container_keeps_its_input_open_without_anybody_attached(muster):
    muster.apply(pod("waits", "cat; echo over", container="stdin: true"))
    muster.apply(pod("does-not", "cat; echo over"))
    assert output(muster, "does-not") == "over\n"
    muster.until("it runs", lambda: "running" in status_of(muster, "waits")["state"])
    assert muster.run("logs", "waits").stdout == ""


def test_port_forward_reaches_the_pod(muster):
    muster.apply(pod("web", SERVE.replace("cd /tmp/w;", "cd /tmp/w; echo forwarded > page;"),
                     container="readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}"))
    muster.until("it is ready", lambda: status_of(muster, "web")["ready"])
    from kubernetes.stream import portforward
    forward = portforward(core(muster).connect_get_namespaced_pod_portforward, "web", "default", ports="8080")
    connection = forward.socket(8080)
    connection.setblocking(True)
    connection.sendall(b"GET /page HTTP/1.0\r\n\r\n")
    answer = b""
    while piece := connection.recv(4096):
        answer += piece
    assert answer.endswith(b"forwarded\n"), answer
