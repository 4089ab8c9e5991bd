"""Where the ticks of a call stand, and the marks and the watermark that they give the output.

Normative text: docs/formats/engine-protocol.md.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from odf_wire.flat import Instant
from odf_wire.messages import InputSlice, Mark, Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTick:
    """A tick of one input, `sequence` counting that input's ticks."""

    input: int
    sequence: int
    tick: Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """What a call did to the output's log: its new marks and its watermark afterwards."""

    marks: tuple[Mark, ...]
    watermark: Instant | None


def place(inputs: Sequence[InputSlice]) -> tuple[PlacedTick, ...]:
    """All ticks of a call by (time of the mark, input, sequence): the index is the position."""
    placed = [
        PlacedTick(input=index, sequence=sequence, tick=tick)
        for index, slice_ in enumerate(inputs)
        for sequence, tick in enumerate(slice_.ticks)
    ]
    return tuple(sorted(placed, key=lambda each: (each.tick.mark.time, each.input, each.sequence)))


def advance(
    inputs: Sequence[InputSlice],
    *,
    read: Collection[int],
    rows: Mapping[int, int],
    next_offset: int,
    previous: Mark | None,
) -> Advance:
    """The output's marks after each tick, those that tell nothing new left out.

    `read` are the inputs that the query reads; `rows` the output rows of each tick position, zero
    when absent. The bound of the watermark is the least one of the inputs that are read.
    """
    known = {index: inputs[index].previous_watermark for index in read}
    watermark = previous.watermark if previous else None
    offset = next_offset - 1
    marks: list[Mark] = []
    for position, placed in enumerate(place(inputs)):
        mark = placed.tick.mark
        if placed.input in known and mark.watermark is not None:
            known[placed.input] = mark.watermark
        offset += rows.get(position, 0)
        watermark = _later(watermark, _least(known.values()))
        if previous and (offset, watermark) == (previous.offset, previous.watermark):
            continue
        time = max(mark.time, previous.time) if previous else mark.time
        previous = Mark(offset=offset, watermark=watermark, time=time)
        marks.append(previous)
    return Advance(marks=tuple(marks), watermark=watermark)


def _least(watermarks: Collection[Instant | None]) -> Instant | None:
    """None while any input has none: nothing is known about its times yet."""
    present = [each for each in watermarks if each is not None]
    return min(present) if present and len(present) == len(watermarks) else None


def _later(first: Instant | None, second: Instant | None) -> Instant | None:
    if first is None or second is None:
        return first if second is None else second
    return max(first, second)
