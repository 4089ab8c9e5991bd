"""Keys and signatures: a dataset is its public key."""

import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from odf_coordinator.errors import InvalidBlock
from odf_coordinator.model.identity import DatasetId
from odf_coordinator.rules import hashing

PrivateKey = Ed25519PrivateKey

_DID = "did:odf:"
_BASE16 = "f"
_ED25519_PUBLIC = bytes.fromhex("ed01")
_IDENTITY = re.compile(rf"{_DID}{_BASE16}{_ED25519_PUBLIC.hex()}[0-9a-f]{{64}}")


def dataset_id(key: PrivateKey) -> DatasetId:
    """The identity that a key gives: multicodec ed25519-pub, multibase base16."""
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return DatasetId(_DID + _BASE16 + (_ED25519_PUBLIC + raw).hex())


def is_dataset_id(text: str) -> bool:
    """Whether a text can be an identity: of the form that `dataset_id` gives."""
    return _IDENTITY.fullmatch(text) is not None


def sign(key: PrivateKey, payload: bytes) -> bytes:
    """The signature of a block's payload."""
    return key.sign(hashing.signed_digest(payload))


def check(signer: DatasetId, payload: bytes, signature: bytes) -> None:
    """Raises InvalidBlock when the signature is not the dataset's over this payload."""
    try:
        multicodec = bytes.fromhex(signer.removeprefix(_DID + _BASE16))
        if not multicodec.startswith(_ED25519_PUBLIC):
            raise InvalidBlock(f"{signer} is not an ed25519 identity")
        public = Ed25519PublicKey.from_public_bytes(multicodec.removeprefix(_ED25519_PUBLIC))
        public.verify(signature, hashing.signed_digest(payload))
    except ValueError as error:
        raise InvalidBlock(f"{signer} is not an identity") from error
    except InvalidSignature as error:
        raise InvalidBlock("the signature is not the dataset's") from error
