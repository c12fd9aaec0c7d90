# test/e2e/test_credentials.py - who may come in: nobody, strangers, the expired, and those who may.
import base64
import datetime
import json
import ssl
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID

from test_bad_input import Client

pytestmark = pytest.mark.muster_up("on a cluster kube-apiserver says whom it believes")

MAPS = "/api/v1/namespaces/default/configmaps"
NOW = datetime.datetime.now(datetime.timezone.utc)


def context_of(muster, client, certificate, key) -> ssl.SSLContext:
    """A client's TLS context that shows this certificate."""
    for name, data in (("own.crt", certificate), ("own.key", key)):
        (muster.folder / name).write_bytes(data)
    context = ssl.create_default_context(cadata=client.authority)
    context.load_cert_chain(muster.folder / "own.crt", muster.folder / "own.key")
    return context


def certificate(issuer_name, issuer_key, valid_for: tuple[int, int]) -> tuple[bytes, bytes]:
    """kubernetes-admin of system:masters, valid from and to so many hours from now, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
                         x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes-admin")])
    start, end = (NOW + datetime.timedelta(hours=h) for h in valid_for)
    made = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer_name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(end)
            .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(issuer_key, hashes.SHA256()))
    return (made.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def token_of(muster, head: str, claims: dict) -> str:
    """A service account token with these claims, signed with the server's own key."""
    key = serialization.load_pem_private_key((muster.folder / "state/pki/service-accounts.key").read_bytes(), None)
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")  # noqa: E731
    signed = head.encode() + b"." + part(json.dumps(claims).encode())
    r, s = utils.decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
    return (signed + b"." + part(r.to_bytes(32, "big") + s.to_bytes(32, "big"))).decode()


@pytest.fixture
def client(muster):
    made = Client(muster)
    made.muster = muster
    return made


def test_certificates_are_believed_until_they_expire(client):
    muster = client.muster
    authority = x509.load_pem_x509_certificate((muster.folder / "state/pki/ca.crt").read_bytes())
    key = serialization.load_pem_private_key((muster.folder / "state/pki/ca.key").read_bytes(), None)

    def ask(valid_for, issuer_key=key):
        context = context_of(muster, client, *certificate(authority.subject, issuer_key, valid_for))
        return client.ask("GET", MAPS, context=context)

    assert ask((-1, 1))[0] == 200
    for valid_for in ((-48, -24), (24, 48)):
        status, answer = ask(valid_for)
        assert (status, answer["reason"]) == (401, "Unauthorized"), answer
    status, answer = ask((-1, 1), ec.generate_private_key(ec.SECP256R1()))
    assert (status, answer["reason"]) == (401, "Unauthorized"), answer
    assert client.ask("GET", MAPS)[0] == 200


def test_tokens_are_believed_until_they_expire(client):
    muster = client.muster
    status, made = client.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token",
                              b'{"spec":{"expirationSeconds":600}}')
    assert status == 201, made
    good = made["status"]["token"]
    head, body, _ = good.split(".")
    decode = lambda text: json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))  # noqa: E731
    claims = decode(body)

    def ask(token):
        return client.ask("GET", "/api", context=client.anonymous, headers={"Authorization": "Bearer " + token})

    def changed(**changes):
        return token_of(muster, head, {**claims, **changes})

    assert ask(good)[0] == 200
    assert ask(changed())[0] == 200, "a token made by hand like the server's own must be as good"
    now = int(time.time())
    for wrong in (changed(exp=now - 10), changed(exp=now - 10, iat=now - 700, nbf=now - 700), changed(nbf=now + 3600),
                  changed(aud=["somebody-else"]), changed(iss="https://elsewhere"),
                  good[:-6] + ("AAAAAA" if good[-6:] != "AAAAAA" else "BBBBBB"), good.replace(".", ".e30.", 1), "", "x", "a.b.c"):
        status, answer = ask(wrong) if wrong else client.ask("GET", "/api", context=client.anonymous,
                                                             headers={"Authorization": "Bearer"})
        assert (status, answer["reason"]) == (401, "Unauthorized"), (wrong, answer)
    client.ask("DELETE", "/api/v1/namespaces/default/serviceaccounts/default")
    assert muster.until("the token of an account that is gone is refused", lambda: ask(good)[0] == 401)


def test_nobody_gets_nothing_but_health_and_version(client):
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert client.ask("GET", path, context=client.anonymous, text=True)[0] == 200, path
    for path in (MAPS, "/api", "/metrics", "/api/v1/secrets"):
        status, answer = client.ask("GET", path, context=client.anonymous)
        assert (status, answer["reason"]) == (403, "Forbidden"), path
        assert "system:anonymous" in answer["message"], answer
    status, answer = client.ask("GET", MAPS, context=client.anonymous, headers={"Authorization": "Basic YTpi"})
    assert (status, answer["reason"]) == (401, "Unauthorized")
