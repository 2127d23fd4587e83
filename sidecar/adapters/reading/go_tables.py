"""The tables over which tests of Go loop, and the values that are given to names."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import descend, text_of
from sidecar.adapters.reading.found import LINE
from sidecar.adapters.reading.trees import ERASED, canonical, shown

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

MOST: Final = 5_000
GIVEN: Final = 40
"""Names of one test, or fields of a row, that are kept."""


def table(body: Node) -> list[str]:
    """The rows of tables that a loop goes over."""
    ranged = {
        canonical(right, 50)
        for node in descend(body)
        if node.type == "range_clause" and (right := node.child_by_field_name("right")) is not None
    }
    rows = list[str]()
    for node in descend(body):
        if node.type not in ("short_var_declaration", "var_spec"):
            continue
        name = node.child_by_field_name("left") or node.child_by_field_name("name")
        literals = [one for one in descend(node) if one.type == "composite_literal"][:1]
        if name is not None and canonical(name, 5) in ranged and literals:
            inner = literals[0].child_by_field_name("body")
            found = inner.named_children if inner is not None else []
            rows += [shown(one).strip("{}") for one in found if one.type not in ERASED]
    return rows


def parameters(body: Node) -> tuple[str, ...]:
    """The loop's variables; the fields of the one that stands for a row of several."""
    fields = _fields(body)
    for node in descend(body):
        if node.type == "range_clause" and (left := node.child_by_field_name("left")) is not None:
            names = tuple(name for name in canonical(left, 20).split(",") if name != "_")
            return tuple(f"{names[-1]}.{field}" for field in fields) if fields and names else names
    return ()


def _fields(body: Node) -> tuple[str, ...]:
    """The fields of the first table that is written as a list of rows without their names."""
    for node in descend(body):
        if node.type != "composite_literal" or (kind := node.child_by_field_name("type")) is None:
            continue
        listed = next((one for one in kind.named_children if one.type == "struct_type"), None)
        if kind.type not in ("slice_type", "array_type", "implicit_length_array_type") or listed is None:
            continue
        rows = node.child_by_field_name("body")
        keyed = rows is not None and any(one.type == "keyed_element" for one in islice(descend(rows), MOST))
        names = [text_of(one) for one in descend(listed) if one.type == "field_identifier"]
        return () if keyed else tuple(names[:GIVEN])
    return ()


def given(body: Node) -> tuple[tuple[str, str], ...]:
    """Names that are given one value with `:=`, and its source."""
    found: dict[str, str | None] = {}
    for node in descend(body):
        if node.type not in ("short_var_declaration", "assignment_statement"):
            continue
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            continue
        for name in canonical(left, 20).split(","):
            declared = node.type == "short_var_declaration" and left.named_child_count == 1
            value = shown(right)
            known = declared and name not in found and len(value) < LINE
            found[name] = value if known else None
    return tuple((name, value) for name, value in found.items() if value is not None)[:GIVEN]
