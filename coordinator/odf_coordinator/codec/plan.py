"""Plans <-> canonical JSON: what is stored before the engine is called, and hashed for its id."""

import json
from dataclasses import asdict

from odf_coordinator.errors import IntegrityError
from odf_coordinator.model.event import EnginePin, InputInterval
from odf_coordinator.model.identity import BlockHash, DatasetId
from odf_coordinator.model.plan import Batch
from odf_coordinator.model.timeline import Instant, Mark


def encode(batch: Batch) -> bytes:
    """The same plan gives the same bytes."""
    return json.dumps(asdict(batch), sort_keys=True, separators=(",", ":")).encode()


def decode(data: bytes) -> Batch:
    """Raises IntegrityError when the bytes are not a plan."""
    try:
        raw = json.loads(data)
        mark = raw["previous_mark"]
        return Batch(
            dataset_id=DatasetId(raw["dataset_id"]),
            expected_head=BlockHash(raw["expected_head"]),
            transform_block=BlockHash(raw["transform_block"]),
            engine=EnginePin(**raw["engine"]),
            inputs=tuple(InputInterval(**each) for each in raw["inputs"]),
            next_offset=raw["next_offset"],
            previous_mark=Mark(**mark) if mark else None,
            system_time=Instant(raw["system_time"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(
            f"a saved plan is damaged: {error}", hint="delete it below .odf/plans and pull again"
        ) from error
