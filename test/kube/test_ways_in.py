# test/kube/test_ways_in.py - kubeconfigs of every sort against the real server.
import os
import stat
import subprocess

import pytest

from conftest import MUSTER


def get(kubeconfig, *words: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(MUSTER), "get", "namespaces", "-o", "name", *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "KUBECONFIG": str(kubeconfig), **env}, check=False)


def assert_in(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "namespace/kube-system" in done.stdout.split()


@pytest.fixture
def plugin(make_folder):
    """A credential plugin that prints what $ANSWER says, and notes what it was asked."""
    path = make_folder() / "plugin"
    path.write_text('#!/bin/sh\nprintf %s "$KUBERNETES_EXEC_INFO" >"$(dirname "$0")/asked"\nprintf %s "$ANSWER"\nexit "${CODE:-0}"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def exec_user(plugin, **more) -> dict:
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "IfAvailable",
                     **more}}


def answer(**status: str) -> str:
    said = ",".join(f'"{name}":"{value}"' for name, value in status.items())
    return f'{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{{said}}}}}'


def test_a_certificate_inline_and_in_files(cluster):
    assert_in(get(cluster.kubeconfig))
    user = {"client-certificate": "admin.crt", "client-key": "admin.key"}
    files = cluster.write_kubeconfig("by-files", user=user, cluster={"certificate-authority-data": None,
                                                                    "certificate-authority": "authority.pem"})
    assert_in(get(files))


def test_tokens(cluster):
    assert_in(get(cluster.write_kubeconfig("by-token", user={"token": "test-token"})))
    (cluster.folder / "a-token").write_text("test-token\n")
    assert_in(get(cluster.write_kubeconfig("by-token-file", user={"tokenFile": "a-token"})))
    wrong = get(cluster.write_kubeconfig("by-wrong-token", user={"token": "nobody's"}))
    assert wrong.returncode == 1 and "Unauthorized" in wrong.stderr


def test_a_plugin_that_gives_a_token(cluster, plugin):
    kubeconfig = cluster.write_kubeconfig("by-plugin", user=exec_user(plugin, provideClusterInfo=True))
    assert_in(get(kubeconfig, ANSWER=answer(token="test-token", expirationTimestamp="2100-01-01T00:00:00Z")))
    assert cluster.server in (plugin.parent / "asked").read_text()


def test_a_plugin_that_gives_a_certificate(cluster, plugin):
    certificate, key = (text.replace("\n", "\\n") for text in cluster.admin_pair)
    kubeconfig = cluster.write_kubeconfig("by-plugin", user=exec_user(plugin))
    assert_in(get(kubeconfig, ANSWER=answer(clientCertificateData=certificate, clientKeyData=key)))


@pytest.mark.parametrize("said, code, words", [
    ("", "0", "no JSON"), (answer(), "0", "neither a token nor a client certificate"), (answer(token="t"), "3", "ended with 3")])
def test_a_plugin_that_fails_is_named(cluster, plugin, said, code, words):
    done = get(cluster.write_kubeconfig("by-plugin", user=exec_user(plugin)), ANSWER=said, CODE=code)
    assert done.returncode == 1
    assert words in done.stderr and str(plugin) in done.stderr


def test_a_plugin_that_is_not_there_says_how_to_get_it(cluster):
    done = get(cluster.write_kubeconfig("by-plugin", user=exec_user("no-such-plugin", installHint="ask Ann for it")))
    assert done.returncode == 1
    assert "no-such-plugin" in done.stderr and "ask Ann for it" in done.stderr


def test_whom_to_believe(cluster):
    named = {"server": cluster.server.replace("127.0.0.1", "localhost"), "tls-server-name": "kubernetes.default.svc"}
    assert_in(get(cluster.write_kubeconfig("by-name", cluster=named)))
    other = {"tls-server-name": "somebody.else"}
    assert "certificate" in get(cluster.write_kubeconfig("by-other-name", cluster=other)).stderr
    unknown = {"certificate-authority-data": None}
    assert "certificate is not trusted" in get(cluster.write_kubeconfig("without-authority", cluster=unknown)).stderr
    skipped = {"certificate-authority-data": None, "insecure-skip-tls-verify": True}
    assert_in(get(cluster.write_kubeconfig("unchecked", cluster=skipped)))


def test_a_proxy_is_refused_in_words(cluster):
    done = get(cluster.write_kubeconfig("behind-proxy", cluster={"proxy-url": "http://between.example:3128"}))
    assert done.returncode == 1
    assert "proxy-url" in done.stderr
