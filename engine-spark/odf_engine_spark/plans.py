"""Spark's logical plans as values: what the JVM reports about a query, in one document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A column of a node's output. `type` is Spark's JSON form; `system` marks a hidden column."""

    id: int
    name: str
    type: Any
    system: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One operator, function or leaf of an expression.

    `name` is Spark's name of the function, `text` the source text of a literal. `id` and `alias`
    belong to named expressions; `type` is absent while the part is unresolved.
    """

    class_name: str
    name: str
    depth: int
    deterministic: bool
    type: str | None
    text: str | None
    id: int | None
    alias: str | None
    line: int
    column: int

    @property
    def kind(self) -> str:
        """The class without its package."""
        return self.class_name.rpartition(".")[2]


Expression = tuple[Part, ...]
"""The parts of an expression in pre-order; each part's depth tells its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operator of a plan. Other nodes are named by their index in the plan."""

    class_name: str
    output: tuple[Attribute, ...]
    expressions: tuple[Expression, ...]
    children: tuple[int, ...]
    inner: tuple[int, ...]
    subqueries: tuple[int, ...]
    line: int
    column: int
    relation: tuple[str, ...] | None = None
    options: int = 0
    streaming: bool = False
    input: int | None = None
    alias: str | None = None
    recursive: bool = False
    cte: int | None = None

    @property
    def kind(self) -> str:
        """The class without its package."""
        return self.class_name.rpartition(".")[2]


Plan = tuple[Node, ...]
"""All nodes of a plan, subqueries and common table expressions included; the root is the first."""


def from_report(report: list[dict[str, Any]]) -> Plan:
    """The plan that the JVM reported."""
    return tuple(_node(each) for each in report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A constant text that the query turns into the present; (0, 0) where its place is unknown."""

    text: str
    line: int = 0
    column: int = 0


def parts(plan: Plan) -> Iterator[Part]:
    """Every part of every expression of a plan."""
    for node in plan:
        for expression in node.expressions:
            yield from expression


def children_of(expression: Expression, index: int) -> Iterator[Part]:
    """The direct children of the part at `index`."""
    depth = expression[index].depth
    for part in expression[index + 1 :]:
        if part.depth <= depth:
            return
        if part.depth == depth + 1:
            yield part


def _node(raw: dict[str, Any]) -> Node:
    return Node(
        class_name=raw["class"],
        output=tuple(Attribute(**each) for each in raw["output"]),
        expressions=tuple(tuple(map(_part, each)) for each in raw["expressions"]),
        children=tuple(raw["children"]),
        inner=tuple(raw["inner"]),
        subqueries=tuple(raw["subqueries"]),
        line=raw.get("line", 0),
        column=raw.get("column", 0),
        relation=tuple(raw["relation"]) if "relation" in raw else None,
        options=raw.get("options", 0),
        streaming=raw.get("streaming", False),
        input=raw.get("input"),
        alias=raw.get("alias"),
        recursive=raw.get("recursive", False),
        cte=raw.get("cte"),
    )


def _part(raw: dict[str, Any]) -> Part:
    return Part(
        class_name=raw["class"],
        name=raw["name"],
        depth=raw["depth"],
        deterministic=raw["deterministic"],
        type=raw.get("type"),
        text=raw.get("text"),
        id=raw.get("id"),
        alias=raw.get("alias"),
        line=raw.get("line", 0),
        column=raw.get("column", 0),
    )
