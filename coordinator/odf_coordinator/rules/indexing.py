"""The block index: which few blocks give the state at any block, without the history before it.

Blocks have *roles*. Of all blocks with one role only the last one counts for a state, so the last
block of each role, its *landmarks*, give the whole state. Docs: docs/adr/0008-block-index.md.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from odf_coordinator.errors import InvalidBlock
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import Event
from odf_coordinator.model.identity import BlockHash
from odf_coordinator.rules import chain, hashing
from odf_coordinator.rules.chain import DatasetState

_DIGEST = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How far the index may lag behind the head, and how many blocks share a file of it."""

    lag: int = 32
    segment: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """The last block of a role, seen from some later block."""

    role: str
    number: int
    hash: BlockHash


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A block on its way into the index: the rules hold for it; is its signature good, too?"""

    number: int
    hash: BlockHash
    role: str
    signed: bool
    file: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A run of blocks from number `first` on, in columns, and the landmarks before it.

    `ends` tells where the file of each block ends when they lie one after the other.
    """

    first: int
    before: tuple[Landmark, ...]
    roles: tuple[str, ...]
    digests: bytes
    ends: tuple[int, ...]
    role_numbers: tuple[int, ...]
    signed: bytes

    def __len__(self) -> int:
        return len(self.ends)

    def position(self, number: int, block_hash: BlockHash) -> int | None:
        """Where this very block stands in the run, if it does."""
        at = number - self.first
        if not 0 <= at < len(self) or hashing.digest(block_hash) != self._digest(at):
            return None
        return at

    def landmarks(self, at: int) -> tuple[Landmark, ...]:
        """The landmarks at a position of the run, in the order of the chain."""
        found = {each.role: each for each in self.before}
        last = {role: place for place, role in enumerate(self.role_numbers[: at + 1])}
        for role, place in last.items():
            found[self.roles[role]] = Landmark(
                role=self.roles[role],
                number=self.first + place,
                hash=BlockHash(hashing.multihash(self._digest(place))),
            )
        return tuple(sorted(found.values(), key=lambda each: each.number))

    def file(self, at: int) -> slice:
        """Where the bytes of a block lie in those of the run."""
        return slice(self.ends[at - 1] if at else 0, self.ends[at])

    def cut(self, count: int) -> "Segment":
        """The first blocks of the run."""
        return dataclasses.replace(
            self,
            digests=self.digests[: count * _DIGEST],
            ends=self.ends[:count],
            role_numbers=self.role_numbers[:count],
            signed=self.signed[:count],
        )

    def _digest(self, at: int) -> bytes:
        return self.digests[at * _DIGEST : (at + 1) * _DIGEST]


def empty(first: int, before: tuple[Landmark, ...]) -> Segment:
    """A run that begins at a number, still without blocks."""
    return Segment(
        first=first, before=before, roles=(), digests=b"", ends=(), role_numbers=(), signed=b""
    )


def extended(segment: Segment, records: Sequence[Record]) -> Segment:
    """A run and the blocks that follow it."""
    roles = {role: number for number, role in enumerate(segment.roles)}
    ends, end = list(segment.ends), segment.ends[-1] if segment.ends else 0
    for record in records:
        roles.setdefault(record.role, len(roles))
        end += len(record.file)
        ends.append(end)
    return Segment(
        first=segment.first,
        before=segment.before,
        roles=tuple(roles),
        digests=segment.digests + b"".join(hashing.digest(each.hash) for each in records),
        ends=tuple(ends),
        role_numbers=segment.role_numbers + tuple(roles[each.role] for each in records),
        signed=segment.signed + bytes(each.signed for each in records),
    )


def role(event: Event) -> str:
    """The kind of an event and which of its optional fields are there.

    `chain.advance` must let the last word win for each role. An event that adds to what earlier
    ones of its kind said needs a role of its own, or the index forgets the earlier ones.
    """
    names = (each.name for each in dataclasses.fields(event))
    there = [name for name in names if getattr(event, name) not in (None, ())]
    return f"{type(event).__name__}({','.join(there)})"


def restore(landmarks: Iterable[SealedBlock]) -> DatasetState:
    """The state that landmarks give, in the order of the chain. Their rules were checked before."""
    state: DatasetState | None = None
    for sealed in landmarks:
        state = chain.advance(state, sealed)
    if state is None:
        raise InvalidBlock("an empty chain")
    return state


def stamp() -> str:
    """Changes whenever the events or their fields change: roles may then mean something else."""
    events = ";".join(
        f"{kind.__name__}({','.join(each.name for each in dataclasses.fields(kind))})"
        for kind in get_args(Event)
    )
    return hashlib.sha3_256(events.encode()).hexdigest()
