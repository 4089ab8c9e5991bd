"""Where a dataset's rows come from: what people declare in a manifest and the chain records."""

from dataclasses import dataclass

from odf_coordinator.model.identity import DatasetId, DatasetName
from odf_coordinator.model.schema import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchUrl:
    """One file at an address; a relative path is relative to the manifest's folder."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFilesGlob:
    """Files whose names match, in order of name; each is its own ingest step."""

    path: str


FetchStep = FetchUrl | FetchFilesGlob


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCsv:
    """Separated values. With a header, columns are found by name; without, by position."""

    schema: tuple[Field, ...]
    header: bool
    separator: str


ReadStep = ReadCsv


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAppend:
    """New rows are added as they are."""


MergeStrategy = MergeAppend


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingSource:
    """A root's definition: fetch, read, merge."""

    fetch: FetchStep
    read: ReadStep
    merge: MergeStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformInput:
    """An input of a derivative, under the alias that its query uses."""

    dataset_id: DatasetId
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """What is done to the inputs: one query in an engine's dialect."""

    engine: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredInput:
    """An input as a manifest names it."""

    name: DatasetName
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivativeSource:
    """A derivative's definition as a manifest gives it; the chain stores identities instead."""

    inputs: tuple[DeclaredInput, ...]
    transform: Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSnapshot:
    """One dataset as a manifest declares it."""

    name: DatasetName
    source: PollingSource | DerivativeSource
