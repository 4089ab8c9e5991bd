"""Rules of a manifest that concern several values at once."""

from collections.abc import Iterator

from odf_coordinator.codec.plain import Mistake, guess
from odf_coordinator.errors import Invalid
from odf_coordinator.model import source as src
from odf_coordinator.model.schema import Array, Struct, Vocabulary
from odf_coordinator.rules import slices


def problems_beyond_shape(snapshot: src.DatasetSnapshot) -> Iterator[Mistake]:
    """What is wrong with a snapshot whose values are each right by themselves."""
    wrong = list(_vocabulary(snapshot.vocab))
    if wrong:
        yield from wrong
        return
    source = snapshot.source
    if isinstance(source, src.DerivativeSource):
        yield from _derivative(source)
        return
    yield from _schema(source, snapshot.vocab)
    if source.preprocess is None:
        yield from _keys(source, snapshot.vocab)


def _vocabulary(vocabulary: Vocabulary) -> Iterator[Mistake]:
    names = [
        vocabulary.offset_column,
        vocabulary.operation_type_column,
        vocabulary.system_time_column,
        vocabulary.event_time_column,
    ]
    if len({name.lower() for name in names}) < len(names):
        yield Mistake(path=("vocab",), message="two system columns have the same name")


def _schema(
    source: src.PollingSource | src.PushSource, vocabulary: Vocabulary
) -> Iterator[Mistake]:
    path = ("source", "read", "schema")
    read = source.read
    if isinstance(read, src.ReadCsv):
        nested = [
            (number, field)
            for number, field in enumerate(read.schema)
            if isinstance(field.type, Array | Struct)
        ]
        for number, _ in nested:
            yield Mistake(path=(*path, number), message="a cell of csv holds no lists or structs")
        if nested:
            return
    if not read.schema or source.preprocess is not None:
        return
    try:
        slices.root_schema(slices.declared_fields(source), vocabulary)
    except Invalid as error:
        yield Mistake(path=path, message=str(error))


def _keys(source: src.PollingSource | src.PushSource, vocabulary: Vocabulary) -> Iterator[Mistake]:
    merge = source.merge
    if isinstance(merge, src.MergeAppend) or not source.read.schema:
        return
    known = [field.name for field in source.read.schema]
    if vocabulary.event_time_column not in known:
        known.append(vocabulary.event_time_column)
    named = [("primaryKey", merge.primary_key)]
    if isinstance(merge, src.MergeSnapshot):
        named.append(("compareColumns", merge.compare_columns))
    for key, columns in named:
        for number, column in enumerate(columns):
            if column not in known:
                yield Mistake(
                    path=("source", "merge", key, number),
                    message=f"no column '{column}' in the schema",
                    hint=guess(column, known),
                )


def _derivative(source: src.DerivativeSource) -> Iterator[Mistake]:
    seen: set[str] = set()
    for number, each in enumerate(source.inputs):
        if each.known_as.lower() in seen:
            message = f"alias '{each.known_as}' appears twice"
            yield Mistake(path=("source", "inputs", number), message=message)
        seen.add(each.known_as.lower())
    for number, query in enumerate(source.transform.queries):
        if query.alias is not None and query.alias.lower() in seen:
            path = ("source", "transform", "queries", number, "alias")
            yield Mistake(path=path, message=f"'{query.alias}' is an input already")
    known = [name for each in source.inputs for name in {each.known_as, each.id.dataset}]
    for number, table in enumerate(source.transform.temporal_tables):
        if table.id not in known:
            yield Mistake(
                path=("source", "transform", "temporalTables", number, "id"),
                message=f"'{table.id}' is not an input",
                hint=guess(table.id, known),
            )
