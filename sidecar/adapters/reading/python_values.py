"""Values in Python sources: what a name stands for, what is written out, what is always true."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

Values = dict[str, ast.expr]
"""What the names of a test stand for where they were given a value once."""

OPERATORS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.Is: "==",
    ast.NotEq: "!=",
    ast.IsNot: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda one, other: one in other,
    "not in": lambda one, other: one not in other,
}


def tail(node: ast.expr) -> str:
    """The last name of what is called: "approx" of `pytest.approx`."""
    if isinstance(node, ast.Call):
        return tail(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def constant(node: ast.expr) -> bool | None:
    """Whether a condition is always true or always false; None where it depends."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = constant(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts) if not any(isinstance(one, ast.Starred) for one in node.elts) else None
    if isinstance(node, ast.Dict):
        return bool(node.keys) if None not in node.keys else None
    if (
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and self_evident(node.left, OPERATORS[type(node.ops[0])], node.comparators[0], {})
    ):
        return True
    return None


def settled(node: ast.expr, values: Values) -> ast.expr:
    """What a node stands for, if it is a name with one value."""
    if isinstance(node, ast.Name):
        return values.get(node.id, node)
    return node


def literal(node: ast.expr) -> bool:
    """Whether a value is written out. `all` of big literals is bounded by the size of a source."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(literal(one) for one in node.elts)
    if isinstance(node, ast.Dict):
        return all(one is not None and literal(one) for one in (*node.keys, *node.values))
    if isinstance(node, ast.UnaryOp):
        return literal(node.operand)
    return isinstance(node, ast.Constant)


def always(node: ast.expr, values: Values) -> bool:
    """Whether a value is true, whatever the code does."""
    node = settled(node, values)
    return constant(node) is True or isinstance(node, ast.Lambda)


def self_evident(left: ast.expr, word: str, right: ast.expr, values: Values) -> bool:
    """Whether a comparison is true whatever the code does."""
    left, right = settled(left, values), settled(right, values)
    if _any(left) or _any(right):
        return word == "=="
    if literal(left) and literal(right):
        return _holds(left, word, right)
    if word == "!=" and isinstance(right, ast.Constant) and right.value is None:
        return literal(left)
    if word in ("==", "<=", ">=") and not _calls(left) and ast.unparse(left) == ast.unparse(right):
        return True
    if word == "in" and isinstance(right, ast.Tuple | ast.List | ast.Set) and not _calls(left):
        return any(ast.unparse(one) == ast.unparse(left) for one in right.elts)
    return _counted(left, word, right)


def _holds(left: ast.expr, word: str, right: ast.expr) -> bool:
    """Whether a comparison of two values that are written out is true."""
    try:
        one, other = ast.literal_eval(left), ast.literal_eval(right)
        return bool(COMPARED[word](one, other))
    except (ArithmeticError, MemoryError, TypeError, ValueError):
        return word == "==" and ast.unparse(left) == ast.unparse(right)


def _counted(left: ast.expr, word: str, right: ast.expr) -> bool:
    """`len(x) >= 0` and its like."""
    if not (
        isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id in ("len", "abs")
    ):
        return False
    return (word, ast.unparse(right)) in ((">=", "0"), (">", "-1"), ("!=", "-1"))


def _any(node: ast.expr) -> bool:
    return tail(node) == "ANY" and not isinstance(node, ast.Call)


def _calls(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(node))
