"""Blocks: an event in its place in a chain, and the sealed file that holds it."""

from dataclasses import dataclass

from odf_coordinator.model.event import Event
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.model.timeline import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataBlock:
    """One step of a dataset's history."""

    prev_block_hash: BlockHash | None
    sequence_number: int
    system_time: Instant
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedBlock:
    """A block with the hash of its file and the signature over its payload."""

    hash: BlockHash
    block: MetadataBlock
    payload: bytes
    signature: bytes
