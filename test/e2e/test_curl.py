# test/e2e/test_curl.py - curl with a certificate or a token, over HTTP/1.1 and HTTP/2, in JSON and YAML.
import base64
import json
import subprocess

import pytest
import yaml

MAPS = "/api/v1/namespaces/default/configmaps"


class Curl:
    def __init__(self, muster):
        config = yaml.safe_load(muster.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.muster, self.server, self.folder = muster, cluster["server"], muster.folder
        for name, data in (("ca.crt", cluster["certificate-authority-data"]), ("me.crt", user["client-certificate-data"]),
                           ("me.key", user["client-key-data"])):
            (self.folder / name).write_bytes(base64.b64decode(data))
        self.me = ["--cert", str(self.folder / "me.crt"), "--key", str(self.folder / "me.key")]

    def __call__(self, *words: str, path: str = MAPS, me: bool = True, input: bytes | None = None) -> str:
        """What curl prints: the body, then with the flags of the test also code and version."""
        command = ["curl", "-sS", "--max-time", "60", "--cacert", str(self.folder / "ca.crt"), *(self.me if me else []), *words,
                   self.server + path]
        done = subprocess.run(command, capture_output=True, input=input, timeout=120, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


@pytest.fixture(scope="module")
def curl(either):
    return Curl(either)


@pytest.mark.parametrize("version,shown", [("--http1.1", "1.1"), ("--http2", "2")])
def test_create_read_patch_delete(curl, version, shown):
    told = ["-w", "\n%{http_code} %{http_version}"]
    name = "c" + shown.replace(".", "-")
    body = json.dumps({"metadata": {"name": name}, "data": {"a": "b"}})
    made = curl(version, *told, "-H", "Content-Type: application/json", "-d", body)
    assert made.splitlines()[-1] == f"201 {shown}"
    assert json.loads(curl(version, path=f"{MAPS}/{name}"))["data"] == {"a": "b"}
    assert yaml.safe_load(curl(version, "-H", "Accept: application/yaml", path=f"{MAPS}/{name}"))["data"] == {"a": "b"}
    curl(version, "-X", "PATCH", "-H", "Content-Type: application/merge-patch+json", "-d", '{"data":{"c":"d"}}', path=f"{MAPS}/{name}")
    assert json.loads(curl(version, path=f"{MAPS}/{name}"))["data"] == {"a": "b", "c": "d"}
    assert curl(version, *told, "-I", path=f"{MAPS}/{name}").splitlines()[-1] == f"405 {shown}"  # As kube-apiserver: no HEAD.
    gone = curl(version, *told, "-X", "DELETE", path=f"{MAPS}/{name}")
    assert gone.splitlines()[-1] == f"200 {shown}"
    assert curl(version, *told, path=f"{MAPS}/{name}").splitlines()[-1] == f"404 {shown}"


def test_yaml_goes_in(curl):
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {a: b}\n"
    made = json.loads(curl("-H", "Content-Type: application/yaml", "--data-binary", "@-", input=text))
    assert made["data"] == {"a": "b"}


def test_a_token_instead_of_a_certificate(curl):
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    curl.muster.until("the default account is there", lambda: "default" in curl(path=path))
    made = json.loads(curl("-H", "Content-Type: application/json", "-d", "{}", path=path + "/token"))
    token = made["status"]["token"]
    answer = json.loads(curl("-H", "Authorization: Bearer " + token, me=False))
    assert answer["code"] == 403 and "system:serviceaccount:default:default" in answer["message"]
    assert json.loads(curl(me=False))["message"].startswith('configmaps is forbidden: User "system:anonymous"')


def test_health_version_and_metrics(curl):
    for path in ("/healthz", "/livez", "/readyz"):
        assert curl(path=path, me=False) == "ok"
    assert json.loads(curl(path="/version", me=False))["major"] == "1"
    text = curl(path="/metrics")
    assert 'apiserver_request_total{code="200"' in text
    for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"):
        assert float(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1]) > 0


def test_large_lists_are_compressed_when_asked_for(curl):
    for i in range(3):
        body = json.dumps({"metadata": {"name": f"large-{i}"}, "data": {"a": "x" * 100_000}})
        curl("-H", "Content-Type: application/json", "-d", body)
    plain = curl()
    head = curl("-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: gzip").lower()
    assert "content-encoding: gzip" in head and "vary: accept-encoding" in head
    assert int(head.split("content-length: ")[1].split()[0]) < len(plain) / 10
    things = json.loads(plain)["items"]  # The list's version is that of the whole store, where others write.
    assert json.loads(curl("--compressed"))["items"] == things
    assert json.loads(curl("--http2", "--compressed"))["items"] == things


def test_a_watch_streams(curl):
    version = json.loads(curl())["metadata"]["resourceVersion"]
    told = curl("--max-time", "30", path=f"{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1&allowWatchBookmarks=true")
    assert all(json.loads(line)["type"] in ("ADDED", "BOOKMARK") for line in told.splitlines())
    lines = curl(path=f"{MAPS}?watch=1&timeoutSeconds=5&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                      "&allowWatchBookmarks=true").splitlines()
    events = [json.loads(line) for line in lines]
    assert events[-1]["type"] == "BOOKMARK"
    assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
