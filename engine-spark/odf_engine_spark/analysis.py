"""What kind of query a plan is, which inputs it reads, and where its event time comes from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from odf_wire.messages import InputShape, Vocabulary

from odf_engine_spark.guard import place_of
from odf_engine_spark.plans import Node, Plan
from odf_engine_spark.refusal import Refused

STATELESS = "stateless"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """An accepted query: its kind and the indices of the inputs that it reads."""

    kind: str
    read: frozenset[int]


def analyse(plan: Plan, inputs: Sequence[InputShape], vocabulary: Vocabulary) -> Analysis:
    """Raises Refused unless the query reads each input at most once and keeps its event time."""
    scans = _scans(plan)
    for index, count in sorted(scans.items()):
        if count > 1:
            raise Refused(
                f"input {inputs[index].alias} is read {count} times",
                hint="read each input once; one SELECT with CASE can often replace a UNION",
            )
    _check_event_time(plan, inputs, vocabulary)
    return Analysis(kind=STATELESS, read=frozenset(scans))


def _scans(plan: Plan) -> Counter[int]:
    """How often the plan reads each input; a common table expression counts at each use."""
    definitions = _definitions(plan)
    found: Counter[int] = Counter()
    pending = [0]
    while pending:
        node = plan[pending.pop()]
        if node.input is not None:
            found[node.input] += 1
        if node.kind == "CTERelationRef":
            pending += definitions[node.cte].children
        elif node.kind == "WithCTE":
            pending.append(node.children[-1])
        else:
            pending += node.children
        if found.total() > len(plan) ** 2:
            break
    return found


def _definitions(plan: Plan) -> dict[int | None, Node]:
    return {node.cte: node for node in plan if node.kind == "CTERelationDef"}


def _check_event_time(plan: Plan, inputs: Sequence[InputShape], vocabulary: Vocabulary) -> None:
    wanted = vocabulary.event_time
    own = [each for each in plan[0].output if each.name.lower() == wanted.lower()]
    if not own:
        raise Refused(
            f"the output has no event time: column {wanted} is missing",
            hint=f"select the input's event time{_as(inputs, wanted)}",
        )
    for node, attribute in _origins(plan, own[0].id):
        name = inputs[node.input].vocabulary.event_time if node.input is not None else None
        found = {each.id: each.name for each in node.output}.get(attribute)
        if name is None or found is None or found.lower() != name.lower():
            line, column = place_of(plan, own[0].id)
            raise Refused(
                f"{wanted} is not the event time of an input, passed on unchanged",
                line=line, column=column,
                hint=f"select the input's event time as it is{_as(inputs, wanted)}; a calculated"
                " time can be another column",
            )  # fmt: skip


def _as(inputs: Sequence[InputShape], wanted: str) -> str:
    names = {shape.vocabulary.event_time for shape in inputs}
    return f" ({', '.join(sorted(names))} AS {wanted})" if names != {wanted} else ""


def _origins(plan: Plan, attribute: int) -> list[tuple[Node, int]]:
    """The nodes that an output attribute comes from, each with its attribute there.

    Plain references and aliases are followed; a node that calculates the value is its origin.
    """
    definitions = _definitions(plan)
    origins = []
    pending = [(plan[0], attribute)]
    while pending:
        node, wanted = pending.pop()
        if node.kind == "Union":
            at = [each.id for each in node.output].index(wanted)
            pending += [(plan[child], plan[child].output[at].id) for child in node.children]
        elif node.kind == "CTERelationRef":
            at = [each.id for each in node.output].index(wanted)
            body = plan[definitions[node.cte].children[0]]
            pending.append((body, body.output[at].id))
        else:
            below = _below(plan, node, wanted)
            pending += [below] if below else []
            origins += [] if below else [(node, wanted)]
    return origins


def _below(plan: Plan, node: Node, attribute: int) -> tuple[Node, int] | None:
    """The same value one node further down, or None when it starts here."""
    if not node.children:
        return None
    child = plan[node.children[-1]]
    if node.kind == "Project":
        for expression in node.expressions:
            if expression[0].id == attribute:
                source = expression[-1]
                passed = source.kind == "AttributeReference" and len(expression) <= 2  # noqa: PLR2004
                return (child, source.id) if passed and source.id is not None else None
        return None
    return (child, attribute) if attribute in {each.id for each in child.output} else None
