"""Private keys <-> PEM files (PKCS 8), as other tools know them."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from odf_coordinator.errors import Invalid


def encode(key: Ed25519PrivateKey) -> bytes:
    """A key as a PEM file. Whoever has it can extend the dataset."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def decode(data: bytes, file: str) -> Ed25519PrivateKey:
    """The key in a PEM file. Raises Invalid."""
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Invalid(
            f"{file} is not a private key", hint="give a file that `odf key export` wrote"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise Invalid(f"{file} is not an ed25519 key: datasets have no others")
    return key
