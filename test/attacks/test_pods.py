# test/attacks/test_pods.py - a pod gets what it was given, and nothing else of the machine: as root, as an ordinary user with
# subordinate ids, and where all pods are that user.
import json
import os
import pathlib
import shutil
import stat
import subprocess

import pytest

from tenants import Ground, make_ground

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it makes users, and Musters that run as them: that needs root")

MODES = ["root", "rootless", "shared"]
CONFIG = """
apiVersion: muster.dev/v1alpha1
kind: Configuration
hostPaths:
- {path: FOLDER/allowed}
- {path: FOLDER/open, writable: true}
podPidsLimit: 200
"""


@pytest.fixture(scope="module", params=MODES)
def ground(request):
    made = make_ground_with_paths(request.param)
    yield made
    try:
        assert made.muster.process.poll() is None, "muster up has ended"
        assert (made.victim / "secret").read_text() == "SECRET-OF-THE-MACHINE\n"
    finally:
        made.muster.leave()
        shutil.rmtree(made.folder, ignore_errors=True)


def make_ground_with_paths(mode: str) -> Ground:
    made = make_ground(mode, ["--shutdown-grace", "1"], CONFIG)
    for name in ("allowed", "open"):
        folder = made.folder / name
        folder.mkdir()
        (folder / "word").write_text(f"{name}\n")
        (folder / "out").symlink_to("../victim")
        folder.chmod(0o777)
    made.muster.run("label", "namespace", "default", "pod-security.kubernetes.io/enforce=privileged", check=False)
    return made


counter = 0


def run(ground: Ground, script: str, spec: str = "", container: str = "", first: str = "", namespace: str = "default",
        image: str = "python") -> tuple[str, dict]:
    """Runs a pod to its end; what it wrote, and the pod."""
    global counter
    counter += 1
    name = f"p{counter}"
    indent = lambda text, by: "\n".join(" " * by + line for line in text.splitlines())  # noqa: E731
    inits = f"  initContainers:\n{indent(first, 2)}" if first else ""
    ground.muster.apply(f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
{indent(spec, 2)}
{inits}
  containers:
  - name: main
    image: {image}
    command: ["sh", "-c", {json.dumps(script)}]
{indent(container, 4)}
""")

    def ended():
        pod = ground.muster.get("pod", name, "-n", namespace)
        return pod if pod.get("status", {}).get("phase") in ("Succeeded", "Failed") else None

    pod = ground.muster.until(f"{name} ends", ended)
    return ground.muster.run("logs", name, "-n", namespace, check=False).stdout, pod


def message(pod: dict) -> str:
    """Why a container could not be started."""
    states = [s.get("state", {}) for s in pod["status"].get("containerStatuses", []) + pod["status"].get("initContainerStatuses", [])]
    return " ".join(state.get(kind, {}).get("message", "") for state in states for kind in ("terminated", "waiting"))




def init(script: str) -> str:
    return f"""- name: attack
  image: python
  command: ["sh", "-c", {json.dumps(script)}]
  volumeMounts: [{{name: v, mountPath: /v}}]
"""


EMPTY = "volumes: [{name: v, emptyDir: {}}]"


@pytest.mark.parametrize("link", ["../../../../../..", "/", "..", "../..", "/proc/self/root", "/proc/1/root", "up/../../.."])
def test_f1_a_link_in_a_volume_does_not_lead_out_of_it(ground, link):
    out, pod = run(ground, "ls -la /out; cat /out/etc/shadow /out/victim/secret /out/state/pki/ca.key; touch /out/victim/mine",
                   EMPTY, "volumeMounts: [{name: v, mountPath: /out, subPath: parent}]",
                   init(f"ln -s {link} /v/parent; mkdir -p /v/up"))
    assert "SECRET" not in out and "PRIVATE KEY" not in out
    assert pod["status"]["phase"] == "Failed"
    assert "leads out of" in message(pod) or "too many" in message(pod) or "Too many" in message(pod), pod["status"]
    assert not (ground.victim / "mine").exists()


def test_f1_a_link_that_is_swapped_meanwhile_does_not_either(ground):
    # The first container swaps a folder and a link for as long as the second one is started again and again.
    swap = ("import os,time\\nend=time.time()+6\\nwhile time.time()<end:\\n os.mkdir('/v/d'); os.rename('/v/d','/v/s'); os.rmdir('/v/s')\\n"
            " os.symlink('/','/v/s'); os.unlink('/v/s')\\n os.symlink('../../../../..','/v/s'); os.unlink('/v/s')")
    ground.muster.apply(f"""
apiVersion: v1
kind: Pod
metadata: {{name: swapper}}
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  volumes: [{{name: v, emptyDir: {{}}}}]
  containers:
  - name: attack
    image: python
    command: ["python3", "-c", "{swap}"]
    volumeMounts: [{{name: v, mountPath: /v}}]
""" + "".join(f"""
  - name: main{i}
    image: python
    command: ["sh", "-c", "ls -A /out; cat /out/etc/shadow /out/victim/secret; touch /out/escaped; exit 0"]
    volumeMounts: [{{name: v, mountPath: /out, subPath: s}}]
""" for i in range(6)))
    ended = lambda s: "terminated" in s.get("state", {}) or "terminated" in s.get("lastState", {})  # noqa: E731
    ground.muster.until("each has tried", lambda: all(
        ended(s) for s in ground.muster.get("pod", "swapper")["status"].get("containerStatuses", [{}])[1:]), 90)
    logs = "".join(ground.muster.run("logs", "swapper", "-c", f"main{i}", check=False).stdout for i in range(6))
    assert "SECRET" not in logs and "root:" not in logs and "vmlinuz" not in logs
    for place in (pathlib.Path("/escaped"), ground.folder / "escaped", ground.folder / "state/escaped"):
        assert not place.exists()
    assert not list((ground.folder / "state").rglob("agent/pods/*/escaped"))
    ground.muster.run("delete", "pod", "swapper", "--now", check=False)


def test_f2_the_machines_settings_cannot_be_written(ground):
    out, _ = run(ground, r"""
for f in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sys/kernel/panic /proc/sys/kernel/pid_max \
         /proc/sys/net/ipv4/ip_forward /proc/irq/default_smp_affinity /proc/sys/vm/drop_caches; do
  [ -e $f ] || continue
  v=$(cat $f 2>/dev/null); (echo "${v:-1}" > $f) 2>/dev/null && echo "WROTE $f"
done
for f in /proc/sysrq-trigger /sys/kernel/mm/transparent_hugepage/enabled; do (: >> $f) 2>/dev/null && echo "OPEN $f"; done
for f in /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug; do [ -s $f ] && [ -n "$(head -c 8 $f 2>/dev/null | tr -d '\0')" ] && echo "READ $f"; done
ls -A /proc/acpi /proc/scsi /sys/firmware 2>/dev/null | grep -v : ; mount -o remount,rw /proc/sys 2>/dev/null && echo REMOUNTED
umount /proc/sys 2>/dev/null && echo UNMOUNTED; echo done""")
    assert out.split() == ["done"], out


@pytest.mark.parametrize("name", ["kernel.core_pattern", "kernel/core_pattern", "net/../kernel/core_pattern"])
def test_no_parameter_of_the_machine_is_set_for_a_pod(ground, name):
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern")
    before = pattern.read_text()
    try:
        ground.muster.apply(f"""
apiVersion: v1
kind: Pod
metadata: {{name: parameter}}
spec:
  securityContext: {{sysctls: [{{name: {name}, value: "|/bin/false"}}]}}
  containers: [{{name: main, image: python, command: [sleep, "1"]}}]
""")
        ground.muster.until("it is refused", lambda: "belongs to the whole machine" in message(ground.muster.get("pod", "parameter")))
        assert pattern.read_text() == before
    finally:
        ground.muster.run("delete", "pod", "parameter", "--now", check=False)
        if pattern.read_text() != before:
            pattern.write_text(before)


def test_f5_files_of_root_cannot_be_read(ground):
    out, _ = run(ground, "cat /etc/shadow /etc/gshadow /etc/ssh/*key 2>&1; ls -A /etc/ssh /root/.ssh /home /var/lib /var/log /srv /opt /mnt 2>&1; id -u; cat /proc/self/uid_map")
    assert "$" not in out and "PRIVATE" not in out
    assert all("o such file" in line or ":" not in line for line in out.splitlines()), out
    outside = int(out.split()[-2])
    # Without root the number is one of Muster's own user namespace, where 0 is its user.
    assert ground.mode == "shared" or outside != 0, out


def test_what_a_pod_sees_is_a_list(ground):
    out, _ = run(ground, "ls -A /; echo --; ls -A /etc /var /home /root /run 2>&1; echo --; cat /proc/self/mountinfo; ls -l /")
    root = set(out.split("--")[0].split())
    assert root <= {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc", "sys", "tmp", "run", "var", "root",
                    *[p.name for p in [ground.folder.parents[0], ground.folder]]}, root
    for word in ("state", "victim", str(ground.folder) + "/state/pki"):
        assert f" {word} " not in out
    mounts = out.split("--")[2]
    assert "/agent/pods/" not in "".join(line.split()[4] for line in mounts.splitlines() if " - " in line)


@pytest.mark.parametrize("path,allowed", [("/", False), ("/etc/shadow", False), ("/proc", False), ("/sys", False), ("/dev", False),
                                          ("FOLDER", False), ("FOLDER/state", False), ("FOLDER/victim", False),
                                          ("FOLDER/allowed/../victim", False), ("FOLDER/allowed/out", False), ("FOLDER/allowed", True)])
def test_f6_host_path_shows_only_what_the_node_allows(ground, path, allowed):
    path = path.replace("FOLDER", str(ground.folder))
    name = f"hp{abs(hash(path)) % 100000}"
    done = ground.muster.run("apply", "-f", "-", check=False, input=f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{{name: h, hostPath: {{path: {path}}}}}]
  containers:
  - {{name: main, image: python, command: [sh, -c, "cat /h/word /h/secret; touch /h/mine; ls /h"], volumeMounts: [{{name: h, mountPath: /h}}]}}
""")
    if done.returncode != 0:  # Refused by validation or Pod Security.
        assert not allowed, done.stderr
        return

    def settled():
        status = ground.muster.get("pod", name).get("status", {})
        if status.get("phase") in ("Succeeded", "Failed"):
            return status
        events = " ".join(e["message"] for e in ground.muster.get("events")["items"] if e["involvedObject"]["name"] == name)
        return {"events": events} if "MountVolume.SetUp failed" in events else None

    status = ground.muster.until("the pod ends or says why not", settled)
    out = ground.muster.run("logs", name, check=False).stdout
    assert "SECRET" not in out and not (ground.folder / "allowed/mine").exists()
    if allowed:
        assert "allowed" in out, status
    else:
        assert "events" in status, status
        assert "not allowed" in status["events"] or "leads out" in status["events"], status
    ground.muster.run("delete", "pod", name, "--now", check=False)


def test_f6_a_link_in_an_allowed_path_does_not_lead_out_of_it(ground):
    _, pod = run(ground, "cat /h/secret", f"volumes: [{{name: h, hostPath: {{path: {ground.folder}/allowed}}}}]",
                 "volumeMounts: [{name: h, mountPath: /h, subPath: out}]")
    assert "leads out of" in message(pod), pod["status"]


def test_a_writable_host_path_is_written_as_the_pods_user(ground):
    out, _ = run(ground, "touch /h/mine && echo made", f"volumes: [{{name: h, hostPath: {{path: {ground.folder}/open}}}}]",
                 "volumeMounts: [{name: h, mountPath: /h}]")
    assert out.strip() == "made"
    owner = (ground.folder / "open/mine").stat().st_uid
    (ground.folder / "open/mine").unlink()
    assert owner != 0 and (ground.mode == "shared") == (owner == ground.outside)


SYSTEM_CALLS = r"""
import ctypes, os, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(number, *args)
    print(name, 'ALLOWED' if got >= 0 else errno.errorcode[ctypes.get_errno()])
call('add_key', 248, b'user', b'k', b'v', 1, -4)
call('keyctl', 250, 0, -4, 1)
call('request_key', 249, b'user', b'k', b'', -4)
call('unshare_user', 272, 0x10000000)
call('unshare_net', 272, 0x40000000)
call('unshare_mount', 272, 0x00020000)
call('clone_user', 56, 0x10000000 | 17, 0, 0, 0, 0)
call('io_uring', 425, 8, ctypes.create_string_buffer(200))
call('bpf', 321, 0, ctypes.create_string_buffer(200), 100)
call('init_module', 175, b'', 0, b'')
call('finit_module', 313, 0, b'', 0)
call('mount', 165, b'none', b'/tmp', b'tmpfs', 0, 0)
call('umount', 166, b'/proc', 2)
call('open_tree', 428, -100, b'/', 1)
call('setns', 308, 0, 0)
call('pivot_root', 155, b'/tmp', b'/tmp')
call('kexec', 246, 0, 0, 0, 0)
call('reboot', 169, 0xfee1dead, 672274793, 0, 0)
call('swapon', 167, b'/tmp/x', 0)
call('userfaultfd', 323, 0)
call('perf_event', 298, ctypes.create_string_buffer(200), 0, -1, -1, 0)
call('open_by_handle', 304, -100, ctypes.create_string_buffer(200), 0)
call('settime', 227, 0, ctypes.create_string_buffer(b'\1' * 16, 16))
call('acct', 163, b'/tmp/x')
call('syslog', 103, 3, ctypes.create_string_buffer(100), 100)
call('vsock', 41, 40, 1, 0)
print('caps', [l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapBnd', 'CapAmb'))])
print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'Seccomp:'))])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls are those of x86_64")
@pytest.mark.parametrize("extra", ["", "securityContext: {capabilities: {add: [ALL]}}"])
def test_f10_f11_dangerous_system_calls_are_refused(ground, extra):
    counter_script = f"cat > /tmp/s.py <<'END'\n{SYSTEM_CALLS}\nEND\npython3 /tmp/s.py"
    out, _ = run(ground, counter_script, "", extra)
    assert "ALLOWED" not in out and "vsock EPERM" in out, out
    assert "['1', '2']" in out, out
    if not extra:
        assert "00000000a80425fb" in out, out  # The set that container engines give.


def test_f11_no_capability_reaches_the_machine(ground):
    out, _ = run(ground, "cat /proc/1/status | grep -E 'Cap(Eff|Prm)'; for p in /proc/[0-9]*; do readlink $p/ns/user; done | sort -u | wc -l; "
                         "ls /proc/1/root /proc/1/cwd 2>/dev/null; cat /proc/1/environ 2>/dev/null; kill -9 1; echo alive")
    assert "alive" in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("Cap")] == ["0000000000000020"] * 2, out


@pytest.mark.parametrize("size", ["2G", "1T"])
def test_f15_a_huge_termination_message_is_read_from_its_end(ground, size):
    before = ground.muster.memory_mb()
    _, pod = run(ground, f"truncate -s {size} /dev/termination-log; printf THE-END >> /dev/termination-log")
    said = pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"]
    assert said.endswith("THE-END") and len(said.encode()) <= 4096 * 4
    assert ground.muster.memory_mb() < before + 64


def test_f16_processes_are_limited_and_pods_go_first(ground):
    out, _ = run(ground, r"""cat /proc/self/oom_score_adj; python3 -c '
import os, time
n = 0
try:
    while n < 3000:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        n += 1
except OSError: pass
print("forked", n)'""")
    assert out.split()[0] == "1000"
    assert 50 < int(out.split()[-1]) < 200
    assert int(pathlib.Path(f"/proc/{ground.muster.process.pid}/oom_score_adj").read_text()) < 1000


OLD_ROOTS = ["/.machine", "/.stage", "/.old_root", "/proc/1/root", "/proc/self/cwd", "/proc/self/fd/3", "/dev/fd/4"]


@pytest.mark.parametrize("root", OLD_ROOTS)
def test_f17_no_path_of_the_pod_makes_anything_on_the_machine(ground, root):
    victim = f"{root}{ground.victim}"
    for container in (f"workingDir: {victim}/by-cwd", f"terminationMessagePath: {victim}/by-message",
                      f"volumeMounts: [{{name: v, mountPath: {victim}/by-mount}}]"):
        run(ground, f"ls -A {victim}; cat {victim}/secret", EMPTY, container)
        assert sorted(p.name for p in ground.victim.iterdir()) == ["secret"]


@pytest.mark.parametrize("root", OLD_ROOTS)
def test_f18_mounting_over_the_old_root_does_not_keep_it(ground, root):
    out, _ = run(ground, f"cat {root}{ground.victim}/secret {root}/etc/shadow; ls -A {root}; touch {root}{ground.victim}/by-mount", EMPTY,
                 f"volumeMounts: [{{name: v, mountPath: {root}}}]",
                 init(f"mkdir -p /v{ground.folder}/state/agent/pods; mkdir -p /v/etc; touch /v/etc/own"))
    assert "SECRET" not in out and "$" not in out
    assert sorted(p.name for p in ground.victim.iterdir()) == ["secret"]


def test_the_program_of_muster_cannot_be_replaced(ground):
    out, _ = run(ground, r"""
for p in /proc/1/exe /proc/self/exe; do (: >> $p) 2>/dev/null && echo "WRITABLE $p"; done
cp /proc/1/exe /tmp/x 2>/dev/null && echo "COPIED"; ls /proc/1/fd 2>/dev/null; echo done""")
    assert out.split() == ["done"], out


def test_a_pod_has_its_own_devices_and_network_interfaces(ground):
    out, _ = run(ground, "ls -A /dev /sys/class/net 2>&1; mknod /tmp/sda b 8 0 2>/dev/null && head -c1 /tmp/sda && echo RAW; "
                         "cat /sys/class/net/*/address; hostname")
    names = out.split()
    assert "sda" not in names and "vda" not in names and "mem" not in names and "kmsg" not in names and "RAW" not in names
    assert {"lo", "eth0"} <= set(names) and not {"muster0", "ens5", "enp0s3"} & set(names)


def test_accelerators_show_to_those_who_ask_for_one(ground):
    device = pathlib.Path(f"/dev/nvidia-of-test-{os.getpid()}")
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    try:
        assert device.name not in run(ground, "ls /dev")[0].split()
        assert device.name in run(ground, "ls /dev", container="resources: {limits: {nvidia.com/gpu: 1}}")[0].split()
    finally:
        device.unlink()


def test_users_of_two_namespaces_never_meet(ground):
    if ground.mode == "shared":
        pytest.skip("pods have no users of their own here")
    seen = {}
    for ns in ("red", "blue"):
        ground.muster.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {ns}}}}}")
        out, _ = run(ground, "cat /proc/self/uid_map", namespace=ns)
        again, _ = run(ground, "cat /proc/self/uid_map", namespace=ns)
        assert out == again
        seen[ns] = {(int(a[1]), int(a[1]) + int(a[2])) for a in (line.split() for line in out.splitlines())}
    for first, end in seen["red"]:
        for other, other_end in seen["blue"]:
            assert end <= other or other_end <= first, seen


def test_users_and_groups_of_a_pod_are_what_it_asked_for(ground):
    if ground.mode == "shared":
        pytest.skip("pods have no users of their own here")
    ground.muster.apply("{apiVersion: v1, kind: Secret, metadata: {name: pass}, stringData: {word: sesame}}")
    out, _ = run(ground, "id -u; id -g; id -G; cat /s/word; echo; touch /v/new; stat -c %u:%g /v/new /m; stat -c %u:%a /s/word; touch $HOME/x /tmp/x && echo home",
                 "securityContext: {runAsUser: 1234, runAsGroup: 1000650000, fsGroup: 4321, supplementalGroups: [70000]}\n"
                 "volumes: [{name: v, emptyDir: {}}, {name: m, emptyDir: {medium: Memory}}, {name: s, secret: {secretName: pass, defaultMode: 0400}}]",
                 "volumeMounts: [{name: v, mountPath: /v}, {name: m, mountPath: /m}, {name: s, mountPath: /s}]")
    assert out.split() == ["1234", "1000650000", "1000650000", "4321", "70000", "sesame", "1234:4321", "0:4321", "0:440", "home"], out


def test_root_of_a_pod_may_give_its_files_away(ground):
    if ground.mode != "root":
        pytest.skip("without root only the ids that a pod names are there")
    out, _ = run(ground, "touch /tmp/a && chown 33:44 /tmp/a && stat -c %u:%g /tmp/a; mkdir /tmp/d && chmod 700 /tmp/d && su -s /bin/sh nobody -c 'id -u; ls /tmp/d' 2>&1")
    assert "33:44" in out


def test_read_only_roots_and_sub_paths_work(ground):
    out, _ = run(ground, "touch /tmp/x /usr/x /etc/x /x 2>/dev/null; echo own > /out/file && cat /out/file; ls /usr/share/mine /etc/mine; ls -A /usr/share | wc -l",
                 "volumes: [{name: v, emptyDir: {}}]",
                 "securityContext: {readOnlyRootFilesystem: true}\n"
                 "volumeMounts: [{name: v, mountPath: /out, subPath: a/b/c}, {name: v, mountPath: /usr/share/mine, subPath: a/b/c}, {name: v, mountPath: /etc/mine}]")
    assert out.split()[:1] == ["own"] and "file" in out and int(out.split()[-1]) > 10, out


@pytest.mark.parametrize("what", ["/", "/proc", "/proc/sys", "/proc/self"])
def test_nothing_is_mounted_over_root_or_proc(ground, what):
    _, pod = run(ground, "true", EMPTY, f"volumeMounts: [{{name: v, mountPath: {what}}}]")
    assert pod["status"]["phase"] == "Failed" and "nothing can be mounted" in message(pod) or "too many links" in message(pod), pod["status"]


def test_a_volume_that_grows_over_its_limit_is_evicted(ground):
    _, pod = run(ground, "head -c 30000000 /dev/zero > /v/large; sleep 60", "volumes: [{name: v, emptyDir: {sizeLimit: 10Mi}}]",
                 "volumeMounts: [{name: v, mountPath: /v}]")
    assert pod["status"]["reason"] == "Evicted" and pod["status"]["phase"] == "Failed"
    assert pod["status"]["message"] == 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". '


def test_a_container_that_fills_the_disk_is_evicted(ground):
    _, pod = run(ground, "mkdir /tmp/d; chmod 0 /tmp/d; head -c 30000000 /dev/zero > /tmp/large; sleep 60", "",
                 "resources: {limits: {ephemeral-storage: 20Mi}}")
    assert pod["status"]["reason"] == "Evicted", pod["status"]
    assert "ephemeral local storage usage exceeds" in pod["status"]["message"]


def test_a_file_without_a_name_counts_for_the_pod_that_holds_it(ground):
    _, pod = run(ground, "exec 3>/tmp/large; rm /tmp/large; head -c 30000000 /dev/zero >&3; sleep 60", "",
                 "resources: {limits: {ephemeral-storage: 20Mi}}")
    assert pod["status"]["reason"] == "Evicted", pod["status"]
    assert "ephemeral local storage usage exceeds" in pod["status"]["message"]


def test_what_pods_leave_behind_is_removed(ground):
    run(ground, "mkdir -p /v/a/b && chmod 000 /v/a/b && chmod 500 /v/a && touch /tmp/x; mkdir -m 0 /tmp/closed; ln -s / /v/root; "
                "python3 -c \"import os\nos.chdir('/v')\nfor i in range(2000):\n os.mkdir('d'); os.chdir('d')\"", EMPTY,
        "volumeMounts: [{name: v, mountPath: /v}]")
    for namespace in ("default", "red", "blue"):
        ground.muster.run("delete", "pods", "--all", "--now", "-n", namespace, check=False)
    pods = ground.folder / "state/agent/pods"
    left = lambda: [str(p.relative_to(pods)) for p in pods.glob("*/*")]  # noqa: E731
    try:
        ground.muster.until("every pod's folder is gone", lambda: not list(pods.iterdir()))
    except AssertionError as late:
        raise AssertionError(f"{left()} {ground.muster.run('get', 'pods', '-A', check=False).stdout}") from late


def test_files_that_cannot_be_removed_are_tried_again(ground):
    ground.muster.apply("""
apiVersion: v1
kind: Pod
metadata: {name: leaves}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: python, command: [sh, -c, "echo 1 > /v/file; sleep 1000"], volumeMounts: [{name: v, mountPath: /v}]}
  volumes: [{name: v, emptyDir: {}}]
""")
    file = ground.muster.until("the pod has written", lambda: next(ground.folder.glob("state/agent/pods/*/volumes/v/file"), None))
    pod = file.parents[2]
    if subprocess.run(["chattr", "+i", file], capture_output=True).returncode != 0:
        pytest.skip("this file system has no files that cannot be changed")
    try:
        ground.muster.run("delete", "pod", "leaves", "--now")
        ground.muster.until("the log says so", lambda: "stay on the disk and are tried again" in pathlib.Path(ground.muster.log.name).read_text())
        assert file.exists()
    finally:
        subprocess.run(["chattr", "-i", file], check=True)
    ground.muster.until("the pod's folder is gone", lambda: not pod.exists())


def test_exec_is_as_confined_as_the_container(ground):
    ground.muster.apply("""
apiVersion: v1
kind: Pod
metadata: {name: shell}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 1234}
  containers: [{name: main, image: busybox, command: [sleep, "1000"], securityContext: {capabilities: {drop: [ALL]}}}]
""")
    ground.muster.run("wait", "--for=condition=Ready", "pod/shell", "--timeout=60s")
    out = ground.muster.run("exec", "shell", "--", "sh", "-c",
                            "id -u; grep -E 'CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ls -l /proc/self/fd | wc -l; cat /proc/self/cgroup; "
                            "cat /proc/self/oom_score_adj; unshare -U true 2>&1; ls /victim /root/.ssh 2>&1; true").stdout
    assert out.split()[0] == "1234"
    assert "CapBnd:\t0000000000000000" in out and "NoNewPrivs:\t1" in out and "Seccomp:\t2" in out
    assert "1000" in out and "SECRET" not in out
    assert all(line.endswith(":/") for line in out.splitlines() if line.count(":") == 2 and line[0].isdigit()), out
    for command in ("/proc/self/exe", "/proc/1/exe"):
        done = ground.muster.run("exec", "shell", "--", command, "up", check=False)
        assert done.returncode != 0 and "ready" not in done.stdout
    ground.muster.run("delete", "pod", "shell", "--now")


TAKES_ALL = r"""
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.timer_create.restype = ctypes.c_int
def count(make, most):
    made = 0
    while made < most and make(): made += 1
    return made
timer = ctypes.c_void_p()
print(count(lambda: libc.inotify_init() >= 0, int(sys.argv[1])), count(lambda: libc.timer_create(1, None, ctypes.byref(timer)) == 0, int(sys.argv[2])), flush=True)
time.sleep(int(sys.argv[3]))
"""


def test_f25_inotify_instances_and_timers_of_one_namespace_are_not_those_of_others(ground):
    if ground.mode != "root":
        pytest.skip("the kernel counts them all for the user who runs Muster, as docs/security.md says")
    for ns in ("takes", "needs"):
        ground.muster.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {ns}}}}}")
    script = f"cat > /tmp/s.py <<'END'\n{TAKES_ALL}\nEND\npython3 /tmp/s.py"
    ground.muster.apply(f"""
apiVersion: v1
kind: Pod
metadata: {{name: takes, namespace: takes}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {{name: main, image: python, command: [sh, -c, {json.dumps(script + " 100000 1000000 1000")}]}}
""")
    try:
        logs = lambda: ground.muster.run("logs", "takes", "-n", "takes", check=False).stdout  # noqa: E731
        taken = [int(word) for word in ground.muster.until("it has taken all that it gets", logs).split()]
        assert taken[0] >= 100 and taken[1] >= 1000, taken
        out, _ = run(ground, script + " 1 1 0", namespace="needs")
        assert out.split() == ["1", "1"], (taken, out)
        own = subprocess.run(["python3", "-c", TAKES_ALL, "1", "1", "0"], text=True, capture_output=True, check=True).stdout
        assert own.split() == ["1", "1"], (taken, own)
    finally:
        ground.muster.run("delete", "pod", "takes", "-n", "takes", "--now", check=False)
