"""Separated values -> rows, with the place of every mistake.

The fast path is Arrow's parser, block by block: cells as text, then `convert`. Only when something
is wrong does the slow path look for the line, with the csv module; both split a text into the same
records and cells.
"""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv as arrow_csv

from odf_coordinator.codec.ddl import print_type
from odf_coordinator.errors import Invalid
from odf_coordinator.ingest.convert import Unreadable, convert, first_unreadable
from odf_coordinator.model.schema import Array, Field, Struct
from odf_coordinator.model.source import ReadCsv
from odf_coordinator.rules.slices import arrow_type

_BOM = b"\xef\xbb\xbf"
_BLOCK_BYTES = 1 << 22
_LARGEST_BLOCK = 2**31 - 1
_LONGEST_SHOWN = 60
_SENTINEL = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """One record as the slow path sees it: where it starts, and where the next one does."""

    cells: list[str]
    line: int
    next_line: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """The records of a file: its bytes after the header, and the line on which they start."""

    content: pa.Buffer
    file: str
    first_line: int
    fields: tuple[Field, ...]
    separator: str

    def records(self) -> Iterator[_Record]:
        return _records(self.content, self.separator, self.first_line)

    def error(self, line: int, message: str, hint: str = "") -> Invalid:
        return Invalid(f"{self.file}:{line}: {message}", hint=hint)


def read(content: bytes, step: ReadCsv, *, file: str) -> pa.Table:
    """The rows of a file with the declared columns in declared order; `file` is its name in errors.

    With a header, columns are found by their exact names and none may be missing or left over;
    without, by position. An empty field is NULL; `""` is the empty string. Fields may be quoted and
    then hold line breaks. Blank lines do not count. UTF-8, with or without a byte order mark.
    Raises Invalid with file and line.
    """
    _check_step(step)
    body = _body(content, step, file)
    try:
        batches = list(_batches(body, _BLOCK_BYTES))
    except _LongRecord:
        batches = list(_batches(body, _LARGEST_BLOCK))
    schema = pa.schema([(field.name, arrow_type(field.type)) for field in body.fields])
    table = pa.Table.from_batches(batches, schema=schema)
    return table.select([field.name for field in step.schema])


class _LongRecord(Exception):
    """A record does not fit into one block."""


def _check_step(step: ReadCsv) -> None:
    separator = step.separator
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise Invalid(f"{separator!r} cannot separate values", hint="use one character such as ';'")
    if not step.schema:
        raise Invalid("the read step declares no columns", hint="list them under schema")
    for field in step.schema:
        if isinstance(field.type, Array | Struct):
            raise Invalid(
                f"column {field.name}: separated values cannot hold {print_type(field.type)}"
            )


def _body(content: bytes, step: ReadCsv, file: str) -> _Body:
    whole = pa.py_buffer(content)
    start = len(_BOM) if content.startswith(_BOM) else 0
    first = next(_filled(_records(whole.slice(start), step.separator, 1)), None)
    if first is None:
        what = "a header line" if step.header else "rows"
        raise Invalid(f"{file}: the file is empty", hint=f"expected {what}")
    if not step.header:
        return _Body(
            content=whole.slice(start),
            file=file,
            first_line=1,
            fields=step.schema,
            separator=step.separator,
        )
    if any(not cell.isprintable() for cell in first.cells):
        _check_encoding(content[: start + first.end], file, 1)
    return _Body(
        content=whole.slice(start + first.end),
        file=file,
        first_line=first.next_line,
        fields=_by_name(first.cells, step.schema, f"{file}:{first.line}"),
        separator=step.separator,
    )


def _by_name(header: list[str], declared: tuple[Field, ...], where: str) -> tuple[Field, ...]:
    """The declared columns in the order of the file."""
    known = {field.name: field for field in declared}
    has = f"the header has: {', '.join(header)}"
    for name in known:
        if name not in header:
            raise Invalid(f"{where}: column {name} is missing", hint=has)
    for number, name in enumerate(header):
        if name in header[:number]:
            raise Invalid(f"{where}: column {name} appears twice", hint=has)
        if name not in known:
            raise Invalid(
                f"{where}: column {name!r} is not in the schema",
                hint="declare it in the schema of the read step",
            )
    return tuple(known[name] for name in header)


def _batches(body: _Body, block_bytes: int) -> Iterator[pa.RecordBatch]:
    """Typed rows, block by block, columns in the order of the file."""
    if not body.content.size:
        return
    done, last = 0, None
    try:
        for texts in _open(body, block_bytes):
            yield _converted(texts, body, done)
            done += texts.num_rows
            last = texts if texts.num_rows else last
    except pa.ArrowInvalid as error:
        if "straddl" in str(error) and block_bytes < _LARGEST_BLOCK:
            raise _LongRecord from error
        raise _explained(body, error) from error
    if last is not None:
        _check_last_quote(body, last)


def _open(body: _Body, block_bytes: int) -> arrow_csv.CSVStreamingReader:
    names = [str(number) for number in range(len(body.fields))]
    return arrow_csv.open_csv(
        pa.BufferReader(body.content),
        read_options=arrow_csv.ReadOptions(
            column_names=names, block_size=min(block_bytes, body.content.size)
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=body.separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _converted(texts: pa.RecordBatch, body: _Body, done: int) -> pa.RecordBatch:
    """The typed columns of one block, `done` records into the file."""
    columns: list[pa.Array] = []
    bad: list[tuple[int, int, Field, pa.Array]] = []
    for field, column in zip(body.fields, texts.columns, strict=True):
        try:
            columns.append(convert(column, field.type))
        except Unreadable:
            bad.append((first_unreadable(column, field.type), len(bad), field, column))
    if bad:
        row, _, field, column = min(bad)
        line = _line_of(body, done + row)
        raise body.error(line, f"column {field.name}: {_wrong(column[row].as_py(), field)}")
    return pa.record_batch(columns, names=[field.name for field in body.fields])


def _wrong(text: str, field: Field) -> str:
    kind = print_type(field.type)
    article = "an" if kind[0] in "AEIOU" else "a"
    shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
    return f"{shown!r} is not {article} {kind}"


def _line_of(body: _Body, number: int) -> int:
    """The line on which a record starts; records count from 0."""
    for index, record in enumerate(_filled(body.records())):
        if index == number:
            return record.line
    return body.first_line


def _explained(body: _Body, error: pa.ArrowInvalid) -> Invalid:
    """What Arrow found, with the place."""
    expected = len(body.fields)
    _check_encoding(body.content.to_pybytes(), body.file, body.first_line)
    for record in _filled(body.records()):
        if len(record.cells) != expected:
            found = len(record.cells)
            return body.error(
                record.line,
                f"{found} field{'' if found == 1 else 's'}, expected {expected}",
                hint=f"columns: {', '.join(field.name for field in body.fields)}",
            )
    return Invalid(f"{body.file}: {error}")


def _check_encoding(content: bytes, file: str, first_line: int) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start]
        breaks = before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
        raise Invalid(
            f"{file}:{first_line + breaks}: byte 0x{content[error.start]:02x} is not UTF-8",
            hint="convert the file to UTF-8",
        ) from error


def _check_last_quote(body: _Body, last: pa.RecordBatch) -> None:
    """Both parsers take a quote that is never closed for a field up to the end of the file."""
    text = last.column(last.num_columns - 1)[-1].as_py()
    if text is None:
        return
    open_field = b'"' + text.replace('"', '""').encode()
    start = body.content.size - len(open_field)
    if start < 0 or body.content.slice(start).to_pybytes() != open_field:
        return
    marked = pa.py_buffer(body.content.to_pybytes() + f"\n{_SENTINEL}".encode())
    *_, final = _filled(_records(marked, body.separator, body.first_line))
    if final.cells != [_SENTINEL]:
        raise body.error(final.line, "a quote is opened in this record and never closed")


def _filled(records: Iterator[_Record]) -> Iterator[_Record]:
    return (record for record in records if record.cells)


def _records(content: pa.Buffer, separator: str, first_line: int) -> Iterator[_Record]:
    """All records with their lines, blank lines as records without cells; slow.

    Bytes that are not UTF-8 come as lone surrogates.
    """
    # The limit guards servers against memory use; here the whole file is in memory already.
    csv.field_size_limit(sys.maxsize)
    position = 0

    def lines() -> Iterator[str]:
        nonlocal position
        with io.TextIOWrapper(
            pa.BufferReader(content), encoding="utf-8", errors="surrogateescape", newline=""
        ) as text:
            for line in text:
                position += len(line.encode("utf-8", "surrogateescape"))
                yield line

    reader = csv.reader(lines(), delimiter=separator)
    line = first_line
    for cells in reader:
        following = first_line + reader.line_num
        yield _Record(cells=cells, line=line, next_line=following, end=position)
        line = following
