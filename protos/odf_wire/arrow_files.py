"""Arrow IPC files of the exchange folder: written once, uncompressed, memory-mapped to read.

Normative text: docs/formats/exchange.md.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

MAX_BATCH_ROWS = 65_536


def write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> list[int]:
    """Write the batches in order and give the rows of each one written; empty ones are left out.

    A batch larger than MAX_BATCH_ROWS is cut. The file is complete on disk when this returns.
    """
    rows = []
    with path.open("wb") as raw:
        with pa.ipc.new_file(raw, schema) as writer:
            for batch in batches:
                for start in range(0, batch.num_rows, MAX_BATCH_ROWS):
                    piece = batch.slice(start, MAX_BATCH_ROWS)
                    writer.write_batch(piece)
                    rows.append(piece.num_rows)
        raw.flush()
        os.fsync(raw.fileno())
    return rows


def read(path: Path) -> pa.Table:
    """The rows of a file, mapped: columns point into the file, nothing is copied."""
    with pa.memory_map(str(path)) as mapped:
        return pa.ipc.open_file(mapped).read_all()
