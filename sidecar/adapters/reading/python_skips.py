"""What keeps a Python test from counting, beside its body: decorators, `pytestmark`, `__test__`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.adapters.reading.found import one_line
from sidecar.adapters.reading.python_values import constant, tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SKIP: Final = re.compile(
    r"(?:.*_)?skip(?:_?(?:if|unless|test|on|un|in|with)(?:_.*)?|(?:If|Unless)\w*)?", re.ASCII
)
XFAIL: Final = re.compile(r"xfail|expected_?[fF]ail\w*|known_?[fF]ail\w*")
INVERTED: Final = re.compile(r"unless", re.IGNORECASE)
CONDITIONAL: Final = re.compile(r"if|unless", re.IGNORECASE)


class Out(Struct, frozen=True):
    """Why a test does not count, as source; "" where it does."""

    skipped: str = ""
    expected_to_fail: str = ""

    def within(self, other: Out) -> Out:
        """Both, the inner one first."""
        return Out(self.skipped or other.skipped, self.expected_to_fail or other.expected_to_fail)


def marks_out(marks: Iterable[ast.expr], names: Mapping[str, ast.expr]) -> Out:
    """What these decorators or marks make of a test. `names` are the module's values."""
    out = Out()
    for mark in marks:
        for one in mark.elts if isinstance(mark, ast.List | ast.Tuple) else (mark,):
            out = out.within(_mark_out(one, names))
    return out


def marked(body: Iterable[ast.stmt], names: Mapping[str, ast.expr]) -> Out:
    """What `pytestmark` and `__test__` of a module or class make of its tests."""
    out = Out()
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            target, value = node.target.id, node.value
        else:
            continue
        if target == "pytestmark":
            out = out.within(marks_out((value,), names))
        if target == "__test__" and constant(value) is False:
            out = out.within(Out(one_line(ast.unparse(node))))
    return out


def switched_off(body: Iterable[ast.stmt]) -> dict[str, str]:
    """Tests that a module takes back: `test_x = None`, `del test_x`, `test_x.__test__ = False`."""
    off = dict[str, str]()
    for node in body:
        taken = isinstance(node, ast.Delete) or (isinstance(node, ast.Assign) and _nothing(node.value))
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) and taken else []
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr == "__test__":
                name = ast.unparse(target.value)
            elif isinstance(target, ast.Name | ast.Attribute):
                name = ast.unparse(target)
            else:
                continue
            if tail(target).lower().startswith("test") or tail(target) == "__test__":
                off[name.replace(".", "::")] = one_line(ast.unparse(node))
    return off


def _nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or SKIP.fullmatch(tail(value)) is not None


def skipping_param(node: ast.expr) -> bool:
    """Whether `pytest.param(..., marks=...)` takes its set out."""
    marks = [word.value for word in getattr(node, "keywords", ()) if word.arg == "marks"]
    return marks_out(marks, {}) != Out()


def _mark_out(mark: ast.expr, names: Mapping[str, ast.expr]) -> Out:
    if isinstance(mark, ast.Name) and mark.id in names:
        mark = names[mark.id]
    name = tail(mark)
    if not (SKIP.fullmatch(name) or XFAIL.fullmatch(name)):
        return Out()
    shown = _with_condition(mark, name, names) if isinstance(mark, ast.Call) else ast.unparse(mark)
    text = one_line(shown)
    return Out(expected_to_fail=text) if XFAIL.fullmatch(name) else Out(skipped=text)


def _with_condition(mark: ast.Call, name: str, names: Mapping[str, ast.expr]) -> str:
    """The mark as source, with the value of a named condition; "" where the condition never holds."""
    conditions = [*mark.args[:1], *(word.value for word in mark.keywords if word.arg == "condition")]
    if not conditions or not (CONDITIONAL.search(name) or XFAIL.fullmatch(name)):
        return ast.unparse(mark)
    condition = _named(conditions[0], names)
    holds = constant(condition)
    if isinstance(condition, ast.Constant) and isinstance(condition.value, str):
        holds = None if CONDITIONAL.search(name) else True
    if holds is not None and holds is bool(INVERTED.search(name)):
        return ""
    written = ast.unparse(mark)
    return written.replace(ast.unparse(conditions[0]), ast.unparse(condition), 1)


def _named(node: ast.expr, names: Mapping[str, ast.expr]) -> ast.expr:
    if isinstance(node, ast.UnaryOp):
        return ast.UnaryOp(node.op, _named(node.operand, names))
    return names.get(node.id, node) if isinstance(node, ast.Name) else node
