"""Rows on a stream, in the formats that people and programs ask for."""

import base64
import datetime as dt
import decimal
import json
import math
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, TextIO

import pyarrow as pa

from odf_coordinator.errors import Invalid

Row = Mapping[str, Any]
Decimals = Callable[[decimal.Decimal], Any]

_NULL = "-"
_TABLE_ROWS = 1000
_BATCH_ROWS = 10_000
_GAP = 2
_NARROW = 12
_NO_FOLD = 2**31 - 1
_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_LAST_DAY = dt.date.max.toordinal()
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_NANOS = {"s": _SECOND, "ms": 1_000_000, "us": 1000, "ns": 1}
_ENDLESS = {2**63 - 1: "infinity", -(2**63 - 1): "-infinity"}
_ENDLESS_DAYS = {2**31 - 1: "infinity", -(2**31 - 1): "-infinity"}
_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160))} | {10: "\n"}


def default_format(*, is_terminal: bool) -> str:
    """A table for people, tab-separated values for pipes."""
    return "table" if is_terminal else "tsv"


def write_table(rows: pa.Table, types: Sequence[str], form: str, stream: TextIO) -> None:
    """Print an Arrow table. `types` are the query's own type names, or empty.

    Text: integers of any width, doubles and booleans as values (NaN and infinities as text),
    decimals as text with their scale, times in ISO 8601 with `Z` and a fraction of 3, 6 or 9 digits
    when it is not zero, UUIDs in canonical form, bytes in base64, lists and structs nested. Columns
    of the same name become a, a_1, a_2. `arrow` and `parquet` go to the stream's bytes.
    """
    names = unique(rows.column_names)
    if form in ("arrow", "parquet"):
        _write_binary(rows.rename_columns(names), form, stream)
        return
    numeric = [name for name, f in zip(names, rows.schema, strict=True) if _is_number(f.type)]
    write_rows(_records(rows, names, types), names, form, stream, numeric=numeric)


def write_rows(
    rows: Iterable[Row],
    columns: Sequence[str],
    form: str,
    stream: TextIO,
    *,
    numeric: Iterable[str] = (),
) -> None:
    """Print records of plain values, the columns in order.

    table: fitted to a terminal, where rows that do not fit are shown one column a line and rows
    after the first 1000 are counted on stderr; whole and without colour anywhere else.
    csv: RFC 4180, with `""` for an empty text and nothing for NULL. tsv: tab, line breaks and
    backslash are escaped.
    """
    if form == "table":
        _write_grid(rows, columns, stream, frozenset(numeric))
        return
    writers: dict[str, Callable[[], Iterator[str]]] = {
        "json": lambda: _json(rows),
        "ndjson": lambda: (_dumped(row) + "\n" for row in rows),
        "yaml": lambda: _yaml(rows),
        "csv": lambda: _separated(rows, columns, ",", _csv_cell),
        "tsv": lambda: _separated(rows, columns, "\t", _tsv_cell),
    }
    for piece in writers[form]():
        stream.write(piece)


def unique(names: Sequence[str]) -> list[str]:
    """Names made distinct by numbers, those that are distinct already left alone: a, a_1, a_2."""
    taken, found = set(names), []
    seen: set[str] = set()
    for name in names:
        candidate, number = name, 0
        while candidate in seen or (number and candidate in taken):
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate)
        found.append(candidate)
    return found


def _write_binary(rows: pa.Table, form: str, stream: TextIO) -> None:
    stream.flush()
    binary = stream.buffer
    if form == "arrow":
        with pa.ipc.new_stream(binary, rows.schema) as writer:
            writer.write_table(rows)
    else:
        import pyarrow.parquet as pq

        try:
            pq.write_table(rows, binary)
        except pa.ArrowNotImplementedError as error:
            raise Invalid(
                f"Parquet cannot hold this: {error}", hint="cast it, or use -o arrow"
            ) from error
    binary.flush()


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _json(rows: Iterable[Row]) -> Iterator[str]:
    opening = "["
    for row in rows:
        yield f"{opening}\n  {_dumped(row)}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _yaml(rows: Iterable[Row]) -> Iterator[str]:
    import yaml

    # The C dumper is ten times as fast; where PyYAML came without it, the other one serves.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    empty = True
    for row in rows:
        empty = False
        yield yaml.dump(
            [dict(row)], Dumper=dumper, sort_keys=False, allow_unicode=True, width=_NO_FOLD
        )
    if empty:
        yield "[]\n"


def _separated(
    rows: Iterable[Row], columns: Sequence[str], separator: str, cell: Callable[[Any], str]
) -> Iterator[str]:
    yield separator.join(cell(name) for name in columns) + "\n"
    for row in rows:
        line = separator.join(cell(row[name]) for name in columns)
        # A blank line would be no row at all to most readers.
        yield (line or '""') + "\n" if separator == "," else line + "\n"


def _csv_cell(value: Any) -> str:
    text = _text(value)
    quoted = value == "" or any(character in text for character in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text


def _tsv_cell(value: Any) -> str:
    return _text(value).translate(_TSV_ESCAPES)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        return _dumped(value)
    return str(value)


def _write_grid(
    rows: Iterable[Row], columns: Sequence[str], stream: TextIO, numeric: frozenset[str]
) -> None:
    terminal = stream.isatty()
    records = iter(rows)
    shown = list(islice(records, _TABLE_ROWS)) if terminal else list(records)
    titles = [name.translate(_CONTROLS) for name in columns]
    cells = [[_cell(row[name]) for name in columns] for row in shown]
    widths = _widths(titles, cells)
    right = [name in numeric for name in columns]
    if not terminal:
        stream.writelines(_plain_grid([titles, *cells], widths, right))
        return
    limit = shutil.get_terminal_size().columns
    least = sum(min(width, _NARROW) for width in widths) + _GAP * (len(widths) - 1)
    if least > limit:
        stream.writelines(_one_column_a_line(titles, cells))
    else:
        stream.write(_grid(titles, cells, right, limit, stream))
    more = sum(1 for _ in records)
    if more:
        stream.flush()
        print(f"... {more} more rows; -o csv prints them all", file=sys.stderr)


def _cell(value: Any) -> str:
    """What a table shows; control characters are spelled out: data must not steer a terminal."""
    return _NULL if value is None else _text(value).translate(_CONTROLS)


def _widths(titles: list[str], cells: list[list[str]]) -> list[int]:
    from rich.cells import cell_len

    return [
        max(cell_len(line) for text in column for line in text.split("\n"))
        for column in zip(titles, *cells, strict=True)
    ]


def _grid(
    titles: list[str], cells: list[list[str]], right: list[bool], width: int, stream: TextIO
) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for title, aligned in zip(titles, right, strict=True):
        justify: Any = "right" if aligned else "left"
        table.add_column(Text(title), justify=justify, overflow="fold")
    for row in cells:
        table.add_row(*(Text(text, style="dim" if text == _NULL else "") for text in row))
    # Without a height, rich takes a dumb terminal for 80 columns wide.
    console = Console(
        file=stream, width=width, height=25, force_terminal=stream.isatty(), highlight=False
    )
    with console.capture() as captured:
        console.print(table)
    return "".join(line.rstrip(" ") + "\n" for line in captured.get().split("\n")[:-1])


def _plain_grid(
    rows: Iterable[Sequence[str]], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[str]:
    """As `_grid`, where there is no terminal to fit: quick, for there may be many rows."""
    from rich.cells import cell_len

    for row in rows:
        cells = [text.split("\n") for text in row]
        for lines in zip_longest(*cells, fillvalue=""):
            padded = (
                " " * (width - cell_len(text)) + text
                if aligned
                else text + " " * (width - cell_len(text))
                for text, width, aligned in zip(lines, widths, right, strict=True)
            )
            yield (" " * _GAP).join(padded).rstrip(" ") + "\n"


def _one_column_a_line(titles: list[str], cells: list[list[str]]) -> Iterator[str]:
    margin = max(len(title) for title in titles) + _GAP
    for number, row in enumerate(cells, start=1):
        yield f"--- row {number}\n"
        for title, text in zip(titles, row, strict=True):
            yield f"{title:<{margin}}" + text.replace("\n", "\n" + " " * margin) + "\n"


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _records(rows: pa.Table, names: Sequence[str], types: Sequence[str]) -> Iterator[Row]:
    """The rows as plain values, a few thousand at a time."""
    decimals = [_decimals(kind) for kind in types or [""] * len(names)]
    for batch in rows.to_batches(max_chunksize=_BATCH_ROWS):
        columns = [_plain(c, d) for c, d in zip(batch.columns, decimals, strict=True)]
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))


def _decimals(kind: str) -> Decimals:
    """How a decimal of a column is meant: DuckDB's 128-bit integers travel as DECIMAL(38,0)."""
    if "HUGEINT" not in kind or "DECIMAL(38,0)" in kind:
        return lambda value: f"{value:f}"
    if "UHUGEINT" in kind:
        return lambda value: int(value) % 2**128
    return int


def _plain(array: pa.Array, decimals: Decimals) -> list[Any]:
    """The values of a column as JSON has them."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(array.storage, decimals)
    for matches, convert in _NESTED:
        if matches(kind):
            return convert(array, decimals)
    for matches, plain in _LEAVES:
        if matches(kind):
            return plain(array)
    if pa.types.is_decimal(kind):
        return _each(decimals, array.to_pylist())
    return list(array.to_pylist())


def _each(function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    return [None if value is None else function(value) for value in values]


def _lists(array: pa.Array, decimals: Decimals) -> list[Any]:
    return [_plain(each.values, decimals) if each.is_valid else None for each in array]


def _maps(array: pa.Array, decimals: Decimals) -> list[Any]:
    pairs = _lists(array, decimals)
    return _each(lambda entries: {_text(e["key"]): e["value"] for e in entries}, pairs)


def _structs(array: pa.Array, decimals: Decimals) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [_plain(child, decimals) for child in array.flatten()]
    valid = array.is_valid().to_pylist()
    rows = zip(*columns, strict=True) if columns else (() for _ in valid)
    return [
        dict(zip(names, cells, strict=True)) if there else None
        for there, cells in zip(valid, rows, strict=True)
    ]


def _floats(array: pa.Array) -> list[Any]:
    """Narrow floats by their shortest text: 0.1, not 0.10000000149011612."""
    if array.type != pa.float64():
        array = array.cast(pa.float32()).cast(pa.string())
    return _each(lambda value: _finite(float(value)), array.to_pylist())


def _finite(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _timestamps(array: pa.Array) -> list[Any]:
    unit = _NANOS[array.type.unit]

    def moment(value: int) -> str:
        days, nanos = divmod(value * unit, _DAY)
        return _ENDLESS.get(value) or f"{_iso_day(days)}T{_iso_time(nanos)}Z"

    return _each(moment, array.cast(pa.int64()).to_pylist())


def _dates(array: pa.Array) -> list[Any]:
    days = array.cast(pa.date32()).cast(pa.int32()).to_pylist()
    return _each(lambda day: _ENDLESS_DAYS.get(day) or _iso_day(day), days)


def _times(array: pa.Array) -> list[Any]:
    unit = _NANOS[array.type.unit]
    width = pa.int32() if array.type.bit_width == pa.int32().bit_width else pa.int64()
    return _each(lambda value: _iso_time(value * unit), array.cast(width).to_pylist())


def _iso_day(day: int) -> str:
    """A date from days since 1970; years outside 1 to 9999 have a sign, as ISO 8601 wants."""
    ordinal = day + _EPOCH_DAY
    if 1 <= ordinal <= _LAST_DAY:
        return dt.date.fromordinal(ordinal).isoformat()
    cycles, rest = divmod(ordinal - 1, _CYCLE_DAYS)
    date = dt.date.fromordinal(rest + 1)
    return f"{date.year + cycles * _CYCLE_YEARS:+05d}{date.isoformat()[4:]}"


def _iso_time(nanos: int) -> str:
    seconds, fraction = divmod(nanos, _SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if not fraction:
        return text
    digits = f"{fraction:09}"
    shortest = next(n for n in (3, 6, 9) if not digits[n:].strip("0"))
    return f"{text}.{digits[:shortest]}"


def _intervals(array: pa.Array) -> list[Any]:
    def period(value: Any) -> str:
        sign = "-" if value.nanoseconds < 0 else ""
        seconds, nanos = divmod(abs(value.nanoseconds), _SECOND)
        fraction = f".{nanos:09}".rstrip("0") if nanos else ""
        return f"P{value.months}M{value.days}DT{sign}{seconds}{fraction}S"

    return _each(period, array.to_pylist())


def _binaries(array: pa.Array) -> list[Any]:
    """Columns of 16 bytes are UUIDs: no other column of a dataset holds bytes."""
    if array.type == pa.binary(16):
        return _each(lambda value: str(uuid.UUID(bytes=value)), array.to_pylist())
    return _each(lambda value: base64.b64encode(value).decode(), array.to_pylist())


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


_NESTED: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, Decimals], list[Any]]]] = [
    (pa.types.is_dictionary, lambda array, decimals: _plain(array.dictionary_decode(), decimals)),
    (_is_list, _lists),
    (pa.types.is_map, _maps),
    (pa.types.is_struct, _structs),
]
_LEAVES: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], list[Any]]]] = [
    (pa.types.is_floating, _floats),
    (pa.types.is_timestamp, _timestamps),
    (pa.types.is_date, _dates),
    (pa.types.is_time, _times),
    (pa.types.is_interval, _intervals),
    (_is_bytes, _binaries),
]
