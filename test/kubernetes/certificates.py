# test/kubernetes/certificates.py - keys and certificates for a cluster of tests.
import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = datetime.timedelta(days=365)
PURPOSES = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


def key_text(key) -> str:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                             serialization.NoEncryption()).decode()


def signing_key() -> str:
    """A key for service account tokens."""
    return key_text(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class Authority:
    """A certificate authority of its own."""

    def __init__(self, name: str = "test-authority"):
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        built = self._builder(self.name, self.key, LIFE).add_extension(x509.BasicConstraints(True, None), critical=True)
        self.certificate = built.sign(self.key, hashes.SHA256())
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @classmethod
    def of(cls, pem: str, key: str) -> "Authority":
        """One that somebody else has made."""
        made = cls.__new__(cls)
        made.pem, made.key = pem, serialization.load_pem_private_key(key.encode(), password=None)
        made.certificate = x509.load_pem_x509_certificate(pem.encode())
        made.name = made.certificate.subject
        return made

    def _builder(self, subject: x509.Name, key, life: datetime.timedelta) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        return (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key.public_key())
                .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
                .not_valid_after(now + life))

    def issue(self, name: str, groups: list[str] = (), also: list[str] = (), life: datetime.timedelta = LIFE) -> tuple[str, str]:
        """Certificate and key of a user in groups, or of a server that is also called by other names."""
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        built = self._builder(subject, key, life).add_extension(x509.ExtendedKeyUsage(PURPOSES), critical=False)
        if also:
            built = built.add_extension(x509.SubjectAlternativeName([alternative(a) for a in also]), critical=False)
        pem = built.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
        return pem, key_text(key)
