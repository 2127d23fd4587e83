"""The tables over which tests of JavaScript go: `each`, and `for ... of` around or within a test."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.grammar import descend, text_of
from sidecar.adapters.reading.found import LINE, SETS, one_line
from sidecar.adapters.reading.trees import ERASED, NODES, canonical, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.grammar import Node

ABOVE: Final = 8
"""Blocks around a test in which a loop is looked for."""
SCOPES: Final = 60
"""Blocks around a table's name in which its value is looked for."""
GIVEN: Final = 40
"""Names of one test whose values are kept."""
NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")


class Table(NamedTuple):
    """The sources of the rows, and the names that differ from row to row."""

    rows: tuple[str, ...]
    parameters: tuple[str, ...]


def rows_of(table: Node | None, parameters: tuple[str, ...]) -> tuple[str, ...] | None:
    """The rows of an array that is written out, or of the constant of this name; None where there is none."""
    array = _array(table)
    if array is None or any(one.type == "spread_element" for one in array.named_children):
        return None
    return tuple(_row(one, parameters) for one in array.named_children if one.type not in ERASED)


def parameters_of(given: Node | None) -> tuple[str, ...]:
    """The names in a pattern."""
    return tuple(NAME.findall(canonical(given, 200)))[:20] if given is not None else ()


def looped(test: Node, body: Node | None) -> Table | None:
    """The table of the loop around a test, or of one right within it that expects something."""
    node = test.parent
    for _ in range(ABOVE):
        if node is None or node.type in ("arrow_function", "function_expression", "program"):
            break
        if node.type == "for_in_statement":
            return _loop(node)
        node = node.parent
    for one in body.named_children if body is not None else []:
        if one.type == "for_in_statement" and re.search(r"\b(?:expect|assert\w*)\b|\bt\.", text_of(one)):
            return _loop(one)
    return None


def given(body: Node | None) -> tuple[tuple[str, str], ...]:
    """Names that are declared with `const` in a test, each with the source of its value."""
    found: dict[str, str] = {}
    for node in islice(descend(body), NODES) if body is not None else ():
        if node.type != "variable_declarator" or node.parent is None:
            continue
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        fixed = text_of(node.parent).startswith("const")
        if not fixed or name is None or value is None or name.type != "identifier":
            continue
        text = shown(value)
        found[text_of(name)] = "" if text_of(name) in found or len(text) >= LINE else text
    return tuple((name, text) for name, text in found.items() if text)[:GIVEN]


def _loop(node: Node) -> Table | None:
    names = parameters_of(node.child_by_field_name("left"))
    rows = rows_of(node.child_by_field_name("right"), names)
    return Table(rows[:SETS], names) if rows is not None else None


def _array(table: Node | None) -> Node | None:
    if table is None or table.type == "array":
        return table
    if table.type != "identifier":
        return None
    name, scope = text_of(table), table.parent
    for _ in range(SCOPES):
        if scope is None:
            break
        for node in _declared(scope):
            if text_of(node.child_by_field_name("name") or node) == name:
                value = node.child_by_field_name("value")
                return value if value is not None and value.type == "array" else None
        scope = scope.parent
    return None


def _declared(root: Node) -> Iterator[Node]:
    for node in root.named_children:
        if node.type == "lexical_declaration":
            yield from (one for one in node.named_children if one.type == "variable_declarator")


def _row(node: Node, parameters: tuple[str, ...]) -> str:
    """One row without its brackets; of an object its values, in the order of the parameters."""
    if node.type == "array":
        return one_line(", ".join(shown(one) for one in node.named_children if one.type not in ERASED))
    values = {
        text_of(key).strip("'\""): shown(one.child_by_field_name("value"))
        for one in node.named_children
        if (key := one.child_by_field_name("key")) is not None
    }
    if node.type == "object" and parameters and values.keys() >= set(parameters):
        return one_line(", ".join(values[name] for name in parameters))
    return shown(node)
