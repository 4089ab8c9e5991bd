"""Names, identities and hashes."""

import re
from dataclasses import dataclass
from typing import NewType

DatasetName = NewType("DatasetName", str)
"""The id that people give a dataset: a host name such as `org.example.cities`."""

DatasetId = NewType("DatasetId", str)
"""`did:odf:` and the dataset's public key: what a dataset *is*, whatever it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRef:
    """How people name a dataset: here, on a remote, or of a user of a remote."""

    remote: str | None = None
    user: str | None = None
    dataset: DatasetName

    def __str__(self) -> str:
        parts = (self.remote, self.user, self.dataset)
        return "/".join(part for part in parts if part is not None)


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
_REF = re.compile(rf"(?:({_HOSTNAME})/)?(?:({_SUBDOMAIN})/)?({_HOSTNAME})")
_MAX_NAME = 200
NAME_RULE = "letters and digits in parts joined by '.' or '-', such as org.example.cities"


def is_dataset_name(text: str) -> bool:
    """Does the text follow the spec's grammar of a DatasetID?"""
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None


def parse_ref(text: str) -> DatasetRef | None:
    """`dataset`, `remote/dataset` or `remote/user/dataset` by the spec's grammar; None if not."""
    match = _REF.fullmatch(text)
    if match is None or len(match[3]) > _MAX_NAME:
        return None
    return DatasetRef(remote=match[1], user=match[2], dataset=DatasetName(match[3]))


def short(digest: str) -> str:
    """A hash as people read it: the first digits that tell, and the last."""
    return f"{digest[4:8]}..{digest[-2:]}"
