# test/e2e/test_pod_spec.py - unusual pod specs: each field is obeyed, or refused in words before anything starts.
import os

import pytest

from conftest import OPEN, Muster

pytestmark = pytest.mark.muster_up("it is about what the node makes of a pod; on a cluster kubelets do that")

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
SPEC
  containers:
  - name: main
    image: busybox
    command: ["sh", "-c", 'SCRIPT']
CONTAINER
"""


def pod(name: str, script: str = "true", spec: str = "", container: str = "") -> str:
    return (POD.replace("NAME", name).replace("SPEC", "\n".join("  " + line for line in spec.splitlines()))
            .replace("SCRIPT", script.replace("'", "''")).replace("CONTAINER", "\n".join("    " + line for line in container.splitlines())))


def ended(muster: Muster, name: str) -> dict:
    """The pod once it has come to its end."""
    return muster.until(f"{name} ends", lambda: next(
        (p for p in [muster.get("pod", name)] if p.get("status", {}).get("phase") in ("Succeeded", "Failed")), None))


def output(muster: Muster, name: str) -> str:
    ended(muster, name)
    return muster.run("logs", name).stdout


def main_state(pod: dict) -> dict:
    return pod["status"]["containerStatuses"][0]["state"]


def events_of(muster: Muster, name: str) -> str:
    return " ".join(e.get("message", "") for e in muster.get("events")["items"] if e["involvedObject"]["name"] == name)


ROOT = os.geteuid() == 0


def test_run_as_user_and_group_are_obeyed(muster):
    muster.apply(pod("somebody", "id -u; id -g; touch /tmp/mine $HOME/mine /dev/shm/mine && echo written",
                     "securityContext: {runAsUser: 1234, runAsGroup: 2345}"))
    assert output(muster, "somebody").split() == ["1234", "2345", "written"]


def test_a_pod_has_the_variables_of_its_namespaces_services(muster):
    muster.apply("{apiVersion: v1, kind: Service, metadata: {name: my-db}, spec: {ports: [{name: sql, port: 5432}]}}")
    script = "env | grep ^MY_DB | sort"
    muster.apply(pod("linked", script))
    muster.apply(pod("unlinked", script, "enableServiceLinks: false"))
    address = muster.get("service", "my-db")["spec"]["clusterIP"]
    assert f"MY_DB_SERVICE_HOST={address}" in output(muster, "linked").split()
    assert "MY_DB_SERVICE_PORT_SQL=5432" in output(muster, "linked").split()
    assert output(muster, "unlinked") == ""


def test_run_as_non_root_without_a_user_is_not_root(muster):
    muster.apply(pod("no-root", "id -u", "securityContext: {runAsNonRoot: true}"))
    assert output(muster, "no-root").strip() == "1000"


def test_a_container_overrides_the_pods_user(muster):
    muster.apply(pod("own-user", "id -u", "securityContext: {runAsUser: 5}", "securityContext: {runAsUser: 6}"))
    assert output(muster, "own-user").strip() == "6"


@pytest.mark.skipif(not ROOT, reason="further groups need root")
def test_fs_group_owns_volumes(muster):
    muster.apply("{apiVersion: v1, kind: Secret, metadata: {name: pass}, stringData: {word: sesame}}")
    muster.apply(pod("grouped", "id -G; cat /secret/word; echo; touch /work/new && stat -c %g /work/new /memory",
                     "securityContext: {runAsUser: 1234, fsGroup: 4321}\n"
                     "volumes: [{name: secret, secret: {secretName: pass, defaultMode: 0400}}, {name: work, emptyDir: {}},"
                     " {name: memory, emptyDir: {medium: Memory}}]",
                     "volumeMounts: [{name: secret, mountPath: /secret}, {name: work, mountPath: /work},"
                     " {name: memory, mountPath: /memory}]"))
    assert output(muster, "grouped").split() == ["0", "4321", "sesame", "4321", "4321"]


def test_exec_runs_as_the_containers_user(muster):
    muster.apply(pod("served", "sleep 60", "securityContext: {runAsUser: 77}"))
    muster.until("exec works", lambda: muster.run("exec", "served", "--", "id", "-u", check=False).stdout.strip() == "77")


def test_a_read_only_root_leaves_volumes_writable(muster):
    muster.apply(pod("frozen", "touch /tmp/x 2>/dev/null || echo tmp; touch $HOME/x 2>/dev/null || echo home; touch /run/x 2>/dev/null || echo run;"
                     " touch /tmp/deep/x && touch /dev/shm/x && echo volumes",
                     "volumes: [{name: deep, emptyDir: {}}]",
                     "securityContext: {readOnlyRootFilesystem: true}\nvolumeMounts: [{name: deep, mountPath: /tmp/deep}]"))
    assert output(muster, "frozen").split() == ["tmp", "home", "run", "volumes"]


def test_low_ports_are_open_to_everybody(muster):
    muster.apply(pod("low", 'python3 -c "import socket; s = socket.socket(); s.bind((str(), 80)); print(80)"'))
    assert output(muster, "low").strip() == "80"


def test_dns_config_names_and_sysctls_are_obeyed(muster):
    muster.apply(pod("named", "cat /etc/resolv.conf; grep friend /etc/hosts; hostname; cat /proc/sys/net/ipv4/ip_local_port_range", """
dnsPolicy: None
dnsConfig: {nameservers: [10.96.0.10], searches: [example.org], options: [{name: ndots, value: "2"}, {name: edns0}]}
hostAliases: [{ip: 10.1.2.3, hostnames: [friend.example.org, friend]}]
hostname: box
subdomain: boxes
setHostnameAsFQDN: true
securityContext: {sysctls: [{name: net.ipv4.ip_local_port_range, value: "20000 30000"}]}
""".strip()))
    assert output(muster, "named").split() == (
        "search example.org nameserver 10.96.0.10 options ndots:2 edns0 10.1.2.3 friend.example.org friend "
        "box.boxes.default.svc.cluster.local 20000 30000").split()


def test_containers_may_share_their_processes(muster):
    muster.apply(pod("shared", "until pkill -f '^sleep 43219'; do sleep 0.1; done; echo killed",
                     "shareProcessNamespace: true",
                     "- {name: other, image: busybox, command: [sh, -c, 'sleep 43219; echo ended by the other']}").replace(
                         "    - {name: other", "  - {name: other"))
    end = ended(muster, "shared")
    assert muster.run("logs", "shared", "-c", "main").stdout.splitlines()[-1] == "killed"
    # Some shells say "Terminated" first.
    assert "ended by the other\n" in muster.run("logs", "shared", "-c", "other").stdout
    assert [s["state"]["terminated"]["exitCode"] for s in end["status"]["containerStatuses"]] == [0, 0]


def test_a_shared_process_namespace_leaves_nothing_behind(muster):
    muster.apply(pod("daemons", "setsid sh -c 'sleep 43220 & sleep 43220' & sleep 0.3; echo started", "shareProcessNamespace: true"))
    ended(muster, "daemons")
    from test_kill_loop import pathlib, read
    muster.until("all of it is gone", lambda: not [
        p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if b"43220" in read(p) and b"pytest" not in read(p)])


def test_the_end_of_the_log_is_the_message_of_a_failure(muster):
    muster.apply(pod("talker", "echo first; echo the reason is this; exit 4",
                     container="terminationMessagePolicy: FallbackToLogsOnError"))
    assert main_state(ended(muster, "talker"))["terminated"]["message"] == "first\nthe reason is this\n"
    muster.apply(pod("writer", "echo noise; echo -n own words > /dev/termination-log; exit 4", "securityContext: {runAsUser: 9}",
                     "terminationMessagePolicy: FallbackToLogsOnError"))
    assert main_state(ended(muster, "writer"))["terminated"]["message"] == "own words"
    muster.apply(pod("calm", "echo nothing wrong", container="terminationMessagePolicy: FallbackToLogsOnError"))
    assert "message" not in main_state(ended(muster, "calm"))["terminated"]


def test_a_stop_signal_of_ones_own_is_sent(muster):
    muster.apply(pod("stopper", "trap \"echo got usr1; exit 0\" USR1; echo ready; while :; do sleep 0.1; done",
                     "os: {name: linux}", "lifecycle: {stopSignal: SIGUSR1}").replace(
                         "terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 30"))
    muster.until("it is ready", lambda: "ready" in muster.run("logs", "stopper", check=False).stdout)
    import subprocess
    follower = subprocess.Popen([str(muster.program), "logs", "-f", "stopper"], env=muster.env, stdout=subprocess.PIPE, text=True)
    assert follower.stdout.readline() == "ready\n"
    muster.run("delete", "pod", "stopper")
    assert follower.communicate(timeout=60)[0] == "got usr1\n"


REFUSED = {
    "host-network": ("hostNetwork: true", "", "hostNetwork"),
    "host-pid": ("hostPID: true", "", "hostPID"),
    "host-ipc": ("hostIPC: true", "", "hostIPC"),
    "runtime-class": ("runtimeClassName: kata", "", "runtimeClassName kata"),
    "machine-sysctl": ("securityContext: {sysctls: [{name: kernel.pid_max, value: '9'}]}", "", "kernel.pid_max"),
    "privileged": ("", "securityContext: {privileged: true}", "privileged"),
    "capability": ("", "securityContext: {capabilities: {add: [SYS_ADMINISTRATOR]}}", "SYS_ADMINISTRATOR"),
    "root-non-root": ("securityContext: {runAsNonRoot: true, runAsUser: 0}", "", "breaks non-root policy"),
    "seccomp": ("", "securityContext: {seccompProfile: {type: Localhost, localhostProfile: x}}", "seccompProfile"),
    "grpc": ("", "livenessProbe: {grpc: {port: 5000}}", "gRPC livenessProbe"),
    "host-port": ("", "ports: [{containerPort: 80, hostPort: 80}]", "hostPort 80"),
    "propagation": ("volumes: [{name: v, emptyDir: {}}]",
                    "volumeMounts: [{name: v, mountPath: /v, mountPropagation: HostToContainer}]", "mountPropagation"),
}


def test_what_cannot_be_done_is_refused_in_words_before_it_starts(muster):
    muster.apply(OPEN.replace("NAME", "default"))
    muster.apply("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n")
    muster.apply("---".join(pod(name, "echo started", spec, container) for name, (spec, container, _) in REFUSED.items()))
    for name, (_, _, words) in REFUSED.items():
        seen = muster.until(f"{name} says why", lambda name=name: next(
            (p for p in [muster.get("pod", name)] if "waiting" in (p["status"].get("containerStatuses") or [{"state": {}}])[0]["state"]
             and main_state(p)["waiting"]["reason"] == "CreateContainerConfigError"), None))
        assert words in main_state(seen)["waiting"]["message"], (name, main_state(seen))
        assert seen["status"]["phase"] == "Pending"
        muster.until(f"an event of {name}", lambda name=name, words=words: words in events_of(muster, name))


def test_net_bind_service_may_be_asked_for(muster):
    muster.apply(pod("binds", "echo ran", container="securityContext: {capabilities: {add: [NET_BIND_SERVICE], drop: [ALL]}}"))
    assert output(muster, "binds").strip() == "ran"


def test_an_image_names_its_command_or_the_error_says_where_to(make_muster, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("""
apiVersion: muster.dev/v1alpha1
kind: Configuration
images:
- {pattern: example.com/greeter, command: [echo, hello], args: [nobody]}
- {pattern: example.com/mute}
""")
    muster = make_muster(flags=["--config", str(config)]).start()
    base = "{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {restartPolicy: Never, containers: [{name: main, image: IMAGE ARGS}]}}"

    def apply(name: str, image: str, args: str = "") -> None:
        muster.apply(base.replace("NAME", name).replace("IMAGE", image).replace("ARGS", args))

    apply("plain", "example.com/greeter")
    apply("with-args", "example.com/greeter", ", args: [somebody]")
    apply("mute", "example.com/mute")
    apply("official", "python:3.12", ", args: [python3, -c, print(7)]")
    assert output(muster, "plain") == "hello nobody\n"
    assert output(muster, "with-args") == "hello somebody\n"
    assert output(muster, "official") == "7\n"
    waiting = muster.until("mute says why", lambda: main_state(p).get("waiting", {}).get("message") if (
        p := muster.get("pod", "mute"))["status"].get("containerStatuses") else None)
    assert "set `command`" in waiting and "example.com/mute" in waiting


def test_each_pod_gets_gpus_of_its_own(make_muster):
    muster = make_muster("box:cpu=8,memory=8Gi,nvidia.com/gpu=2").start()
    wait = "; until [ -e /tmp/go ]; do sleep 0.1; done"
    one = "resources: {limits: {nvidia.com/gpu: 1}}"
    muster.apply("---".join([pod("a", "echo gpu $CUDA_VISIBLE_DEVICES" + wait, container=one),
                             pod("b", "echo gpu $CUDA_VISIBLE_DEVICES" + wait, container=one), pod("none", "echo [$CUDA_VISIBLE_DEVICES]")]))
    said = {n: muster.until(f"{n} says which", lambda n=n: muster.run("logs", n, check=False).stdout) for n in "ab"}
    assert set(said.values()) == {"gpu 0\n", "gpu 1\n"}
    assert output(muster, "none") == "[]\n"
    muster.kill()
    muster.start()
    muster.apply(pod("c", "echo gpu $CUDA_VISIBLE_DEVICES", container=one))
    muster.until("a may end", lambda: muster.run("exec", "a", "--", "touch", "/tmp/go", check=False).returncode == 0)
    assert output(muster, "c") == said["a"]


def test_a_command_that_is_too_long_for_exec_is_an_error(muster):
    muster.apply(pod("host", "sleep 600"))
    muster.until("exec works", lambda: muster.run("exec", "host", "--", "true", check=False).returncode == 0)
    refused = muster.run("exec", "host", "--", "echo", "x" * 100_000, check=False)
    assert refused.returncode != 0 and ("64 KiB" in refused.stderr or "65536" in refused.stderr), refused


def test_host_path_shows_what_the_configuration_lists_and_nothing_else(make_muster, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "weights").write_text("heavy")
    (folder / "keys").symlink_to("..")
    config = tmp_path / "config.yaml"
    config.write_text(f"apiVersion: muster.dev/v1alpha1\nkind: Configuration\nhostPaths: [{{path: {folder}}}]\n")
    for each in [tmp_path, *tmp_path.parents[:2]]:
        each.chmod(0o755)
    muster = make_muster(flags=["--config", str(config)]).start()
    muster.apply(OPEN.replace("NAME", "default"))
    muster.apply(pod("reader", "cat /m/weights; touch /m/mine 2>/dev/null || echo read-only", f"volumes: [{{name: m, hostPath: {{path: {folder}}}}}]",
                     "volumeMounts: [{name: m, mountPath: /m}]"))
    assert output(muster, "reader") == "heavyread-only\n"
    muster.apply(pod("nosy", "true", f"volumes: [{{name: keys, hostPath: {{path: {muster.folder}/state}}}}]"))
    muster.until("it is refused", lambda: "is not allowed on this machine" in events_of(muster, "nosy"))
    muster.apply(pod("sly", "ls /keys", f"volumes: [{{name: m, hostPath: {{path: {folder}}}}}]",
                     "volumeMounts: [{name: m, mountPath: /keys, subPath: keys}]"))
    assert "leads out of the volume" in main_state(ended(muster, "sly"))["terminated"]["message"]


def test_a_wrong_host_path_in_the_configuration_is_said_at_the_start(make_muster, tmp_path):
    config = tmp_path / "config.yaml"
    for path, words in [("/proc", "no pod may have it"), ("/", "all of the machine"), ("relative", "absolute path")]:
        config.write_text(f"apiVersion: muster.dev/v1alpha1\nkind: Configuration\nhostPaths: [{{path: {path}}}]\n")
        muster = make_muster(flags=["--config", str(config)])
        with pytest.raises(AssertionError):
            muster.start()
        assert words in (muster.folder / "muster.log").read_text()
