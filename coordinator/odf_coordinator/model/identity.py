"""Names, identities and hashes."""

import re
from typing import NewType

DatasetName = NewType("DatasetName", str)
"""The id that people give a dataset: a host name such as `org.example.cities`."""

DatasetId = NewType("DatasetId", str)
"""`did:odf:` and the dataset's public key: what a dataset *is*, whatever it is called."""

BlockHash = NewType("BlockHash", str)
"""SHA3-256 of a block file, a multihash in base16; the file's name."""

PhysicalHash = NewType("PhysicalHash", str)
"""SHA3-256 of a file's bytes, a multihash in base16; the file's name."""

LogicalHash = NewType("LogicalHash", str)
"""Hash of the rows of a slice, whatever file they are in."""

TransactionId = NewType("TransactionId", str)
"""Digest of the plan of one step: the same step has the same id for ever."""

_SUBDOMAIN = r"[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*"
_HOSTNAME = rf"{_SUBDOMAIN}(?:\.{_SUBDOMAIN})*"
_NAME = re.compile(_HOSTNAME)
_MAX_NAME = 200
NAME_RULE = "letters and digits in parts joined by '.' or '-', such as org.example.cities"


def is_dataset_name(text: str) -> bool:
    """Does the text follow the spec's grammar of a DatasetID?"""
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None


def short(digest: str) -> str:
    """A hash as people read it: the first digits that tell, and the last."""
    return f"{digest[4:8]}..{digest[-2:]}"
