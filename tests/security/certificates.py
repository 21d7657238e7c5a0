"""Certificates for tests: authorities, servers and clients, each a pair of PEM files, good for an hour."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key."""

    cert: Path
    key: Path
    subject: x509.Name
    private: ec.EllipticCurvePrivateKey

    def encrypted_key(self) -> Path:
        """The key in a file that a password protects."""
        path = self.key.with_suffix(".encrypted")
        protection = BestAvailableEncryption(b"password")
        path.write_bytes(self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection))
        return path


def authority(directory: Path, name: str) -> Certificate:
    """An authority that signs itself."""
    return _made(directory, name, None)


def issued(directory: Path, name: str, by: Certificate, *hosts: str) -> Certificate:
    """A certificate of an authority, for these host names and addresses."""
    return _made(directory, name, by, *hosts)


def _made(directory: Path, name: str, by: Certificate | None, *hosts: str) -> Certificate:
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.subject if by else subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_name, hosts))), critical=False)
    signed = builder.sign(by.private if by else private, hashes.SHA256())
    cert, key = directory / f"{name}.pem", directory / f"{name}.key"
    cert.write_bytes(signed.public_bytes(Encoding.PEM))
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return Certificate(cert, key, subject, private)


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
