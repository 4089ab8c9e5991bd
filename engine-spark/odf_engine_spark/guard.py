"""What a query may not do. Default deny: a plan node, function or expression must be on a list.

A query is judged twice. As parsed, before Spark looks anything up: exactly one SELECT over declared
inputs, calling listed functions. As analysed: the nodes, the expressions and the output columns.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from odf_wire.messages import InputShape, Vocabulary

from odf_engine_spark import functions, plans
from odf_engine_spark.plans import Clock, Expression, Node, Part, Plan
from odf_engine_spark.refusal import Refused

STATELESS_HINT = "this engine runs stateless SELECTs: projection, filter, explode and UNION ALL"
CLOCK_HINT = "the result must not depend on when it runs: use event_time"

_SHARED_NODES = {"Project", "Filter", "SubqueryAlias", "Union", "Generate"}
_PARSED_NODES = _SHARED_NODES | {
    "UnresolvedRelation",
    "UnresolvedWith",
    "UnresolvedSubqueryColumnAliases",
    "OneRowRelation",
}
_ANALYSED_NODES = _SHARED_NODES | {
    "DataSourceV2Relation",
    "WithCTE",
    "CTERelationDef",
    "CTERelationRef",
}
_WHAT = {
    "Aggregate": "GROUP BY and aggregates are",
    "UnresolvedHaving": "HAVING is",
    "Join": "a join is",
    "AsOfJoin": "a join is",
    "LateralJoin": "a lateral join is",
    "Sort": "ORDER BY is",
    "RepartitionByExpression": "DISTRIBUTE BY is",
    "GlobalLimit": "LIMIT is",
    "LocalLimit": "LIMIT is",
    "Limit": "LIMIT is",
    "Offset": "OFFSET is",
    "Distinct": "DISTINCT (and UNION without ALL) is",
    "Deduplicate": "DISTINCT is",
    "Intersect": "INTERSECT is",
    "Except": "EXCEPT is",
    "Window": "a window function is",
    "WithWindowDefinition": "a window function is",
    "Pivot": "PIVOT is",
    "Unpivot": "UNPIVOT is",
    "UnresolvedHint": "a hint is",
    "Sample": "TABLESAMPLE is",
    "RelationTimeTravel": "time travel is",
    "ScriptTransformation": "TRANSFORM is",
    "UnresolvedInlineTable": "VALUES is",
    "LocalRelation": "VALUES is",
    "UnresolvedTableValuedFunction": "a table function is",
    "PlanWithUnresolvedIdentifier": "IDENTIFIER() is",
    "OneRowRelation": "a SELECT that reads no input is",
    "Range": "a table function is",
}
_MAX_NODES = 2000
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_TIMES = ("timestamp", "timestamp_ntz", "date")
_TIME_LITERAL = re.compile(r"\s*(?:date|timestamp)", re.IGNORECASE)
_TYPED_LITERAL = re.compile(
    r"\s*[A-Za-z_]+(?:\s|/\*.*?\*/|--[^\n]*\n)*r?['\"](.*)", re.DOTALL | re.IGNORECASE
)
_HOLDS_TIMES = re.compile(r"(?:^|[<,:])timestamp(?:[,>]|$)")
_HOLDS_TEXTS = re.compile(r"(?:^|[<,:])string(?:[,>]|$)")
_STARTS_WITH_DATE = re.compile(r"\s*['\"]?\s*([+-]?\d{4,}(-|\D*$)|epoch)", re.IGNORECASE)


class Guard:
    """The lists, completed by the classes behind the allowed function names."""

    def __init__(self, function_classes: Mapping[str, str]) -> None:
        structure = {_EXPRESSIONS + name for name in functions.STRUCTURE}
        self._classes = structure | set(function_classes.values())

    def check_parsed(self, plan: Plan, aliases: Sequence[str]) -> None:
        """Raises Refused unless the text is one SELECT over these inputs."""
        if len(plan) > _MAX_NODES:
            raise Refused("the query is too large", hint="split it into several queries")
        views = {name.lower() for name in _view_names(plan)}
        for node in plan:
            _check_node(node, _PARSED_NODES)
            _check_relation(node, aliases, views)
            if node.subqueries:
                raise _refused(plan[node.subqueries[0]], "a subquery in an expression is")
            if node.recursive:
                raise _refused(node, "WITH RECURSIVE is")
        for part in plans.parts(plan):
            _check_call(part)
            _check_literal(part)
        _check_named(plan)

    def check_analysed(
        self,
        plan: Plan,
        clocks: Sequence[Clock],
        inputs: Sequence[InputShape],
        vocabulary: Vocabulary,
    ) -> None:
        """Raises Refused unless every node, expression and output column is allowed."""
        for clock in clocks:
            raise _of_the_clock(f"'{clock.text}'", clock.line, clock.column)
        for node in plan:
            _check_node(node, _ANALYSED_NODES)
            for expression in node.expressions:
                self._check_expression(expression)
        _check_system_time(plan, inputs)
        _check_output(plan, vocabulary)

    def _check_expression(self, expression: Expression) -> None:
        for index, part in enumerate(expression):
            if part.class_name not in self._classes:
                raise _forbidden(part)
            if not part.deterministic:
                raise Refused(
                    f"{part.name} gives another result each time", line=part.line,
                    column=part.column, hint="the same input must always give the same output",
                )  # fmt: skip
            _check_literal(part)
            if part.kind == "Cast" and _HOLDS_TIMES.search(part.type or ""):
                _check_cast(part, next(plans.children_of(expression, index)))


def _check_node(node: Node, allowed: Collection[str]) -> None:
    if node.kind not in allowed:
        raise _refused(node, _WHAT.get(node.kind, f"{node.kind} is"))


def _refused(node: Node, what: str) -> Refused:
    return Refused(
        f"{what} not accepted here", line=node.line, column=node.column, hint=STATELESS_HINT
    )


def _view_names(plan: Plan) -> Iterator[str]:
    """Names that WITH defines."""
    for node in plan:
        yield from (plan[index].alias or "" for index in node.inner)


def _check_relation(node: Node, aliases: Sequence[str], views: Collection[str]) -> None:
    if node.relation is None:
        return
    if node.streaming or node.options:
        raise Refused(
            "an input takes neither STREAM nor options", line=node.line, column=node.column
        )
    known = {alias.lower() for alias in aliases}
    if len(node.relation) == 1 and node.relation[0].lower() in known | set(views):
        return
    name = ".".join(node.relation)
    listed = ", ".join(f"`{alias}`" if "." in alias else alias for alias in aliases)
    hint = f"quote the name: `{name}`" if name.lower() in known else f"the inputs are: {listed}"
    raise Refused(f"unknown relation {name}", line=node.line, column=node.column, hint=hint)


def _check_call(part: Part) -> None:
    if part.kind in ("UnresolvedFunction", "UnresolvedGenerator"):
        if part.name.lower() not in functions.ALLOWED:
            raise _forbidden(part)
    elif part.kind in ("UnresolvedWindowExpression", "WindowExpression"):
        raise Refused(
            "a window function is not accepted here", line=part.line, column=part.column,
            hint=STATELESS_HINT,
        )  # fmt: skip


def _forbidden(part: Part) -> Refused:
    name = part.name.lower()
    hint = "only listed, pure functions are accepted"
    if name in functions.AGGREGATES:
        hint = STATELESS_HINT
    elif name in functions.CLOCKS or part.kind in functions.CLOCKS:
        hint = CLOCK_HINT
    return Refused(f"{name} is not accepted here", line=part.line, column=part.column, hint=hint)


def _check_named(plan: Plan) -> None:
    """A column's name must be its author's. Later branches of a UNION take those of the first."""
    pending = [0]
    while pending:
        node = plan[pending.pop()]
        pending += node.inner
        pending += node.children[:1] if node.kind == "Union" else node.children
        for expression in node.expressions if node.kind == "Project" else ():
            if expression[0].kind == "UnresolvedAlias":
                raise Refused(
                    "a column that is calculated needs a name", line=expression[1].line,
                    column=expression[1].column, hint="AS name",
                )  # fmt: skip


def _check_literal(part: Part) -> None:
    """Spark puts the clock's time in the place of TIMESTAMP 'now', and of one without a date."""
    if part.kind != "Literal" or part.type not in _TIMES:
        return
    text = part.text or ""
    typed = _TYPED_LITERAL.match(text)
    dated = typed is not None and _STARTS_WITH_DATE.match(typed.group(1))
    if not dated and (not text or typed is not None or _TIME_LITERAL.match(text)):
        raise _of_the_clock(text or "this time", part.line, part.column)


def _of_the_clock(what: str, line: int, column: int) -> Refused:
    return Refused(f"{what} depends on the clock", line=line, column=column, hint=CLOCK_HINT)


def _check_cast(part: Part, child: Part) -> None:
    """A text without a date would become a time of today, whatever it is inside of."""
    constant = child.kind == "Literal" and _STARTS_WITH_DATE.match(child.text or "")
    if _HOLDS_TEXTS.search(child.type or "") and not constant:
        raise Refused(
            "a text is read as a time without a format", line=part.line, column=part.column,
            hint="to_timestamp(text, 'yyyy-MM-dd HH:mm:ss'): without a format, a text that has no"
            " date would be a time of today",
        )  # fmt: skip


def _check_system_time(plan: Plan, inputs: Sequence[InputShape]) -> None:
    hidden = {
        attribute.id: inputs[node.input].alias
        for node in plan
        if node.input is not None and not inputs[node.input].is_root
        for attribute in node.output
        if attribute.system
        and attribute.name.lower() == inputs[node.input].vocabulary.system_time.lower()
    }
    for part in plans.parts(plan):
        if part.kind == "AttributeReference" and part.id in hidden:
            raise Refused(
                f"{part.alias} of {hidden[part.id]} depends on when it was pulled",
                line=part.line, column=part.column, hint="read a root's; or use event_time",
            )  # fmt: skip


def _check_output(plan: Plan, vocabulary: Vocabulary) -> None:
    root = plan[0]
    reserved = {vocabulary.offset, vocabulary.operation_type, vocabulary.system_time}
    system = {name.lower() for name in reserved}
    seen: set[str] = set()
    for attribute in root.output:
        name = attribute.name.lower()
        line, column = place_of(plan, attribute.id)
        if name in system:
            raise Refused(
                f"{attribute.name} is the name of a system column of the output",
                line=line, column=column, hint="give the column another name: AS name",
            )  # fmt: skip
        if name in seen:
            raise Refused(
                f"two columns are named {attribute.name}",
                line=line, column=column, hint="give one of them another name: AS name",
            )  # fmt: skip
        seen.add(name)


def place_of(plan: Plan, attribute: int) -> tuple[int, int]:
    """Line and column of the expression behind an output attribute; (0, 0) when unknown."""
    for expression in plan[0].expressions:
        if expression[0].id == attribute:
            return expression[0].line, expression[0].column
    return 0, 0
