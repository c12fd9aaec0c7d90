# test/attacks/tenants.py - `muster up` for each way in which pods get their users, and attackers with the role `edit` in it.
import dataclasses
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import e2e_servers as e2e  # noqa: E402  (in the folder just named)

NODE = "laptop:cpu=8,memory=8118372Ki,nvidia.com/gpu=1,pods=110"
TENANT = "muster-attacks"  # An ordinary user with a range in /etc/subuid.
NOBODY = 65534             # One without.


def make_tenant() -> int:
    """The user with subordinate ids; made when it is not there. Needs root."""
    try:
        user = pwd.getpwnam(TENANT)
    except KeyError:
        subprocess.run(["useradd", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", TENANT], check=True)
        user = pwd.getpwnam(TENANT)
    for file in ("/etc/subuid", "/etc/subgid"):
        path = pathlib.Path(file)
        lines = path.read_text().splitlines() if path.exists() else []
        if not any(line.startswith(f"{TENANT}:") for line in lines):
            first = max([100000] + [int(l.split(":")[1]) + int(l.split(":")[2]) for l in lines if l.count(":") == 2])
            path.write_text("\n".join([*lines, f"{TENANT}:{first}:65536"]) + "\n")
    return user.pw_uid


@dataclasses.dataclass
class Ground:
    """A Muster, and a secret of the machine beside it that no pod may reach."""

    muster: "e2e.Muster"
    folder: pathlib.Path
    mode: str
    outside: int  # The user as whom Muster runs.

    @property
    def victim(self) -> pathlib.Path:
        return self.folder / "victim"

    def secrets(self) -> list[pathlib.Path]:
        state = self.folder / "state"
        return [self.victim / "secret", state / "kubeconfig", *sorted((state / "pki").glob("*.key"))]

    def tenant(self, name: str, role: str = "edit") -> "Tenant":
        """A namespace with a service account that has the role in it, and its command line."""
        self.muster.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}")
        self.muster.apply(f"""
apiVersion: v1
kind: ServiceAccount
metadata: {{name: attacker, namespace: {name}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: attacker, namespace: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}
subjects: [{{kind: ServiceAccount, name: attacker, namespace: {name}}}]
""")
        token = self.muster.run("create", "token", "attacker", "-n", name, check=False).stdout.strip()
        if not token:
            token = self.token_of(name)
        return Tenant(self, name, token)

    def token_of(self, name: str) -> str:
        import json
        body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}})
        return json.loads(self.curl(f"/api/v1/namespaces/{name}/serviceaccounts/attacker/token", "-X", "POST", "-H",
                                    "Content-Type: application/json", "-d", body))["status"]["token"]

    def curl(self, path: str, *words: str, token: str | None = None) -> str:
        import base64
        import yaml
        config = yaml.safe_load(self.muster.kubeconfig.read_text())
        server = config["clusters"][0]["cluster"]["server"]
        files = self.folder / "client"
        files.mkdir(exist_ok=True, mode=0o700)
        for name, text in [("ca", config["clusters"][0]["cluster"]["certificate-authority-data"]),
                           ("cert", config["users"][0]["user"]["client-certificate-data"]),
                           ("key", config["users"][0]["user"]["client-key-data"])]:
            (files / name).write_bytes(base64.b64decode(text))
        who = ["--cert", str(files / "cert"), "--key", str(files / "key")] if token is None else ["-H", f"Authorization: Bearer {token}"]
        return subprocess.run(["curl", "-sS", "--cacert", str(files / "ca"), *who, *words, server + path],
                              text=True, capture_output=True, check=True, timeout=60).stdout


class Tenant(e2e.Commands):
    """The command line of somebody with a token, in a namespace of its own."""

    def __init__(self, ground: Ground, namespace: str, token: str):
        import yaml
        self.ground, self.namespace, self.token = ground, namespace, token
        config = yaml.safe_load(ground.muster.kubeconfig.read_text())
        config["users"] = [{"name": "attacker", "user": {"token": token}}]
        config["contexts"] = [{"name": "attacker", "context": {"cluster": config["clusters"][0]["name"], "user": "attacker",
                                                               "namespace": namespace}}]
        config["current-context"] = "attacker"
        path = ground.folder / f"kubeconfig-{namespace}"
        path.write_text(yaml.safe_dump(config))
        self.env = dict(os.environ, KUBECONFIG=str(path))


def reachable_by_all(program: pathlib.Path) -> bool:
    return all(p.stat().st_mode & stat.S_IXOTH for p in [program, *program.parents])


def make_ground(mode: str, flags: list[str] = (), config: str = "", before=lambda folder: None) -> Ground:
    """mode: root, rootless (with subordinate ids) or shared (without). `before` makes more in the folder before the start."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-attacks-"))
    before(folder)
    user = None if mode == "root" else make_tenant() if mode == "rootless" else NOBODY
    program = e2e.MUSTER
    if user is not None and not reachable_by_all(program):
        program = pathlib.Path(shutil.copy(program, folder / "muster"))
    victim = folder / "victim"
    victim.mkdir()
    (victim / "secret").write_text("SECRET-OF-THE-MACHINE\n")
    (victim / "secret").chmod(0o600)
    extra = list(flags)
    if config:
        (folder / "config.yaml").write_text(config.replace("FOLDER", str(folder)))
        extra += ["--config", str(folder / "config.yaml")]
    if mode == "shared":
        extra.append("--allow-shared-uid")
    if user is not None:
        for path in [folder, victim, victim / "secret"]:
            os.chown(path, user, user)
    folder.chmod(0o755)
    muster = e2e.Muster(folder, [NODE], extra, user=user)
    muster.env["HOME"] = str(folder)
    muster.program = program
    return Ground(muster.start(), folder, mode, os.geteuid() if user is None else user)
