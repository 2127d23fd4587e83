"""Parameter sets of a Python test: `parametrize`, `parameterized.expand`, `ddt`, and loops over tables."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.adapters.reading.found import SETS, one_line
from sidecar.adapters.reading.python_skips import skipping_param
from sidecar.adapters.reading.python_values import tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SPREAD: Final = frozenset(("data", "named_data", "idata"))
"""Decorators of ddt, whose arguments are the sets."""
WRAPPERS: Final = frozenset(("list", "tuple", "sorted", "enumerate", "reversed", "set"))
RANGE: Final = 10_000


class Sets(Struct, frozen=True):
    """How many sets there are (None where that is not written out), their names and their sources."""

    count: int | None = None
    parameters: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def sets_of(decorators: Iterable[ast.expr], body: list[ast.stmt], names: Mapping[str, ast.expr]) -> Sets:
    """The sets with which a test runs. `names` are the values that its file gives to names."""
    found = [one for mark in decorators if (one := _decorated(mark, names))]
    found = found or [one for node in body for loop in _loops(node) if (one := _looped(loop, names))]
    if not found:
        return Sets()
    count: int | None = 1
    for one in found:
        count = None if count is None or one.count is None else count * one.count
    sources = tuple(islice((source for one in found for source in one.sources), SETS))
    return Sets(count, tuple(dict.fromkeys(name for one in found for name in one.parameters)), sources)


def _decorated(mark: ast.expr, names: Mapping[str, ast.expr]) -> Sets | None:
    if not isinstance(mark, ast.Call):
        return None
    given = {word.arg: word.value for word in mark.keywords}
    match tail(mark):
        case "parametrize":
            parameters = mark.args[0] if mark.args else given.get("argnames")
            table = mark.args[1] if len(mark.args) > 1 else given.get("argvalues")
            return _table(table, parameters, names) if table and parameters else None
        case "expand" if mark.args:
            return _table(mark.args[0], None, names)
        case name if name in SPREAD:
            return _table(ast.Tuple(mark.args, ast.Load()), None, names)
        case _:
            return None


def _loops(node: ast.stmt) -> list[ast.For]:
    """Loops at the outer level of a test that expect something."""
    inside = node.body if isinstance(node, ast.With) else [node]
    return [
        one
        for one in inside
        if isinstance(one, ast.For)
        and any(isinstance(part, ast.Assert) or _asserts(part) for part in ast.walk(one))
    ]


def _asserts(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and tail(node).lower().startswith(("assert", "subtest", "raises"))


def _looped(loop: ast.For, names: Mapping[str, ast.expr]) -> Sets | None:
    found = _table(loop.iter, loop.target, names)
    return found if found.count is not None else None


def _table(table: ast.expr, parameters: ast.expr | None, names: Mapping[str, ast.expr]) -> Sets:
    parameter_names = _parameter_names(parameters)
    if isinstance(table, ast.Call) and table.args and tail(table) in WRAPPERS | {"items"}:
        table = table.args[0]
    elif isinstance(table, ast.Call) and tail(table) == "items" and isinstance(table.func, ast.Attribute):
        table = table.func.value
    if isinstance(table, ast.Name):
        table = names.get(table.id, table)
    if isinstance(table, ast.Call) and tail(table) == "range":
        return Sets(_length(table), parameter_names, (one_line(ast.unparse(table)),))
    if isinstance(table, ast.Dict):
        pairs = zip(table.keys, table.values, strict=True)
        sources = tuple(one_line(f"{ast.unparse(key)}, {ast.unparse(value)}") for key, value in pairs if key)
        return Sets(len(sources), parameter_names, sources)
    if not isinstance(table, ast.List | ast.Tuple | ast.Set):
        return Sets(None, parameter_names)
    if any(isinstance(one, ast.Starred) for one in table.elts):
        return Sets(None, parameter_names)
    kept = [one for one in table.elts if not skipping_param(one)]
    return Sets(len(kept), parameter_names, tuple(map(_source, kept[:SETS])))


def _source(node: ast.expr) -> str:
    """One set, without its id and brackets."""
    members = [node]
    if isinstance(node, ast.Tuple | ast.List):
        members = node.elts
    elif isinstance(node, ast.Call) and tail(node) == "param":
        members = node.args
    return one_line(", ".join(map(ast.unparse, members)))


def _parameter_names(node: ast.expr | None) -> tuple[str, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(name.strip() for name in node.value.split(",") if name.strip())
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(name for one in node.elts for name in _parameter_names(one))
    return (node.id,) if isinstance(node, ast.Name) else ()


def _length(call: ast.Call) -> int | None:
    try:
        bounds = [int(ast.literal_eval(one)) for one in call.args]
        return min(len(range(*bounds)), RANGE)
    except (MemoryError, OverflowError, TypeError, ValueError):
        return None
