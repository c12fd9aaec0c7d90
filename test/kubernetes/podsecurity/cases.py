# test/kubernetes/podsecurity/cases.py - pods at each check of the Pod Security Standards, each under policies of both levels at the
# versions where a check changes.
import itertools

VERSIONS = ["v1.0", "v1.7", "v1.8", "v1.18", "v1.19", "v1.22", "v1.23", "v1.24", "v1.25", "v1.27", "v1.29", "v1.31", "v1.32", "v1.34", "v1.35",
            "v1.99", "latest"]
GOOD = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"}}


def container(name: str = "c", **fields) -> dict:
    return {"name": name, **fields}


def context(name: str = "c", **fields) -> dict:
    return container(name, securityContext=fields)


def pod(*containers: dict, annotations: dict | None = None, **spec) -> dict:
    metadata = {"annotations": annotations} if annotations else {}
    return {"metadata": metadata, "spec": {"containers": list(containers) or [container()], **spec}}


def of_pod(**fields) -> dict:
    return pod(securityContext=fields)


def volumes(*names: str) -> dict:
    sources = {"iscsi": {"targetPortal": "a", "iqn": "b", "lun": 0}, "rbd": {"monitors": ["a"], "image": "b"}, "cephfs": {"monitors": ["a"]},
               "hostPath": {"path": "/"}, "gcePersistentDisk": {"pdName": "a"}, "awsElasticBlockStore": {"volumeID": "a"},
               "gitRepo": {"repository": "a"}, "nfs": {"server": "a", "path": "b"}, "glusterfs": {"endpoints": "a", "path": "b"},
               "flexVolume": {"driver": "a"}, "cinder": {"volumeID": "a"}, "azureFile": {"secretName": "a", "shareName": "b"},
               "vsphereVolume": {"volumePath": "a"}, "quobyte": {"registry": "a", "volume": "b"}, "azureDisk": {"diskName": "a", "diskURI": "b"},
               "photonPersistentDisk": {"pdID": "a"}, "portworxVolume": {"volumeID": "a"},
               "scaleIO": {"gateway": "a", "system": "b", "secretRef": None}, "persistentVolumeClaim": {"claimName": "a"},
               "csi": {"driver": "a"}}
    return pod(volumes=[{"name": f"v{i}", **({} if name == "none" else {name: sources.get(name, {})})} for i, name in enumerate(names)])


SECCOMP = ["RuntimeDefault", "Localhost", "Unconfined", "Other"]
ALL_VOLUMES = ["awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
               "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "hostPath", "image", "iscsi", "nfs", "none",
               "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "secret", "storageos",
               "vsphereVolume"]
SYSCTLS = ["kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
           "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
           "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "kernel.msgmax", ""]
CAPABILITIES = ["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
                "SETPCAP", "SETUID", "SYS_CHROOT", "NET_RAW", "SYS_ADMIN", "ALL", "net_bind_service", "CAP_CHOWN"]


def pods() -> list[dict]:
    made = [pod(), pod(context(**GOOD)), of_pod(**{key: GOOD[key] for key in ("runAsNonRoot", "seccompProfile")})]
    # Namespaces, ports, volumes of the machine.
    for chosen in itertools.product([None, False, True], repeat=3):
        made.append(pod(**{key: value for key, value in zip(("hostNetwork", "hostPID", "hostIPC"), chosen) if value is not None}))
    made += [volumes(name) for name in ALL_VOLUMES] + [volumes("hostPath", "hostPath"), volumes("nfs", "hostPath", "emptyDir", "iscsi", "nfs")]
    ports = [[], [0], [80], [8080, 80, 9], [0, 443]]
    for one, other in itertools.product(ports, repeat=2):
        made.append(pod(container("a", ports=[{"containerPort": 1, "hostPort": port} for port in one]),
                        container("b", ports=[{"containerPort": 1, "hostPort": port} for port in other])))
    # What containers may set: one alone, two, init and ephemeral ones.
    for fields in [{"privileged": True}, {"privileged": False}, {"allowPrivilegeEscalation": True}, {"allowPrivilegeEscalation": False},
                   {"runAsNonRoot": True}, {"runAsNonRoot": False}, {"runAsUser": 0}, {"runAsUser": 1000}, {"procMount": "Default"},
                   {"procMount": "Unmasked"}, {"windowsOptions": {"hostProcess": True}}, {"windowsOptions": {"hostProcess": False}},
                   {"windowsOptions": {}}, {"capabilities": {}}, {"capabilities": {"drop": ["CHOWN"]}},
                   {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}, {"capabilities": {"drop": ["all"], "add": ["SYS_ADMIN"]}},
                   *({"capabilities": {"add": [name]}} for name in CAPABILITIES), {"capabilities": {"add": ["SYS_TIME", "NET_RAW", "SYS_TIME"]}},
                   *({"seccompProfile": {"type": name}} for name in SECCOMP),
                   *({"appArmorProfile": {"type": name}} for name in SECCOMP),
                   *({"seLinuxOptions": options} for options in (
                       {}, {"type": "container_t"}, {"type": "container_init_t"}, {"type": "container_kvm_t"}, {"type": "container_engine_t"},
                       {"type": "spc_t"}, {"user": "u"}, {"role": "r"}, {"level": "s0"}, {"type": "spc_t", "user": "u", "role": "r"}))]:
        made += [pod(context(**fields)), pod(context("a", **fields), context("b", **fields)), pod(context("a", **GOOD), context("b", **fields)),
                 pod(context("c", **{**GOOD, **fields})), pod(initContainers=[context("i", **fields)]),
                 pod(context(**GOOD), ephemeralContainers=[context("e", **fields)]), pod(context(**fields), hostUsers=False),
                 pod(context(**fields), os={"name": "windows"}), pod(context(**fields), os={"name": "linux"})]
        own = {key: value for key, value in fields.items() if key not in ("privileged", "allowPrivilegeEscalation", "procMount", "capabilities")}
        if own:
            made += [of_pod(**own), pod(context("a", **fields), container("b"), securityContext=own),
                     pod(context("a", **GOOD), context("b"), securityContext=own, hostUsers=True)]
    made += [pod(context("a", seLinuxOptions={"type": "x_t"}), context("b", seLinuxOptions={"type": "a_t", "role": "r"}),
                 securityContext={"seLinuxOptions": {"user": "u"}}),
             pod(context("b", seccompProfile={"type": "Unconfined"}), context("a", seccompProfile={"type": "A"}),
                 securityContext={"seccompProfile": {"type": "Unconfined"}})]
    # Annotations of older versions.
    for value in ["runtime/default", "docker/default", "localhost/x", "unconfined", "", 'a "quoted" one', "zwölf\t\u0001"]:
        for key in ["seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/c",
                    "container.seccomp.security.alpha.kubernetes.io/other", "container.apparmor.security.beta.kubernetes.io/c",
                    "container.apparmor.security.beta.kubernetes.io/other"]:
            made.append(pod(annotations={key: value}))
    both = {"container.apparmor.security.beta.kubernetes.io/b": "unconfined", "container.apparmor.security.beta.kubernetes.io/a": "bad",
            "seccomp.security.alpha.kubernetes.io/pod": "unconfined", "container.seccomp.security.alpha.kubernetes.io/c": "unconfined"}
    made += [pod(annotations=both), pod(context("c", appArmorProfile={"type": "Unconfined"}), annotations=both,
                                        securityContext={"appArmorProfile": {"type": "Unconfined"}})]
    # Sysctls, and hosts of probes and hooks.
    made += [of_pod(sysctls=[{"name": name, "value": "1"}]) for name in SYSCTLS]
    made.append(of_pod(sysctls=[{"name": name, "value": "1"} for name in ("z.b", "kernel.shm_rmid_forced", "a.b", "z.b")]))
    for host in ["", "127.0.0.1", "example.com"]:
        for handler in [{"httpGet": {"host": host, "port": 80}}, {"tcpSocket": {"host": host, "port": 80}}]:
            made += [pod(container(**{probe: handler})) for probe in ("livenessProbe", "readinessProbe", "startupProbe")]
            made += [pod(container("b", lifecycle={hook: handler}), container("a", lifecycle={hook: handler})) for hook in ("postStart", "preStop")]
    made.append(pod(container("b", livenessProbe={"httpGet": {"host": "z", "port": 1}}, startupProbe={"tcpSocket": {"host": "a", "port": 1}}),
                    initContainers=[container("b", readinessProbe={"httpGet": {"host": "m", "port": 1}})]))
    # All at once.
    made.append(pod(context("a", privileged=True, capabilities={"add": ["SYS_ADMIN"]}, procMount="Unmasked", runAsUser=0, runAsNonRoot=False),
                    hostNetwork=True, hostPID=True, volumes=[{"name": "v", "hostPath": {"path": "/"}}]))
    return made


def rows() -> list[dict]:
    """Each pod under the newest policies; at older versions as many as tell the versions apart: every pod at each fifth of them."""
    made = []
    for number, each in enumerate(pods()):
        for place, version in enumerate(VERSIONS):
            if version != "latest" and (number + place) % 5:
                continue
            made += [{"policy": f"{level}:{version}", **each} for level in ("baseline", "restricted")]
    return made
