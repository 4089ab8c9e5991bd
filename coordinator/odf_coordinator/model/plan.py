"""Plans: what will be done, as a value that can be stored, printed and run again."""

from dataclasses import dataclass

from odf_coordinator.model.event import EnginePin, InputInterval
from odf_coordinator.model.identity import BlockHash, DatasetId
from odf_coordinator.model.timeline import Instant, Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The next step of a derivative. Its digest is the transaction id.

    `system_time` is part of it, so that a step which is run again gives the same block.
    """

    dataset_id: DatasetId
    expected_head: BlockHash
    transform_block: BlockHash
    engine: EnginePin
    inputs: tuple[InputInterval, ...]
    next_offset: int
    previous_mark: Mark | None
    system_time: Instant
