"""Calls in Python tests that expect, skip or fail: unittest's methods, pytest's functions, mocks, numpy."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.found import Form
from sidecar.adapters.reading.python_forms import about, compared, forms, negated, places, shown, tolerance
from sidecar.adapters.reading.python_values import Values, tail

if TYPE_CHECKING:
    from collections.abc import Mapping

SKIPS: Final = frozenset(
    ("pytest.skip", "self.skipTest", "pytest.importorskip", "skip", "importorskip", "self.skip", "skipTest")
)
XFAILS: Final = frozenset(("pytest.xfail", "xfail"))
FAILS: Final = frozenset(("pytest.fail", "self.fail"))
ENDS: Final = (
    SKIPS - {"pytest.importorskip", "importorskip"} | XFAILS | FAILS | {"sys.exit", "os._exit", "exit"}
)
"""Calls after which nothing of a test runs."""
SIGNS: Final[Mapping[str, ast.cmpop]] = {
    "assertEqual": ast.Eq(),
    "assertEquals": ast.Eq(),
    "assertListEqual": ast.Eq(),
    "assertDictEqual": ast.Eq(),
    "assertSetEqual": ast.Eq(),
    "assertTupleEqual": ast.Eq(),
    "assertCountEqual": ast.Eq(),
    "assertSequenceEqual": ast.Eq(),
    "assertMultiLineEqual": ast.Eq(),
    "assertIs": ast.Is(),
    "assertNotEqual": ast.NotEq(),
    "assertIsNot": ast.IsNot(),
    "assertIn": ast.In(),
    "assertNotIn": ast.NotIn(),
    "assertGreater": ast.Gt(),
    "assertGreaterEqual": ast.GtE(),
    "assertLess": ast.Lt(),
    "assertLessEqual": ast.LtE(),
    "assert_equal": ast.Eq(),
    "assert_array_equal": ast.Eq(),
    "assert_frame_equal": ast.Eq(),
    "assert_series_equal": ast.Eq(),
}
RAISES: Final = {
    "raises": "raises",
    "assertRaises": "raises",
    "assertRaisesRegex": "raises",
    "assertRaisesMessage": "raises",
    "warns": "warns",
    "assertWarns": "warns",
    "assertWarnsRegex": "warns",
    "deprecated_call": "warns",
}
MOCKS: Final = {
    "assert_called": "called",
    "assert_called_once": "called once",
    "assert_called_with": "called with",
    "assert_called_once_with": "called with",
    "assert_any_call": "called with",
    "assert_has_calls": "called with",
    "assert_awaited": "called",
    "assert_awaited_once": "called once",
    "assert_awaited_with": "called with",
    "assert_awaited_once_with": "called with",
    "assert_not_called": "not called",
    "assert_not_awaited": "not called",
}
REGEX: Final = frozenset(("assertRegex", "assertRegexpMatches"))
ALMOST: Final = frozenset(
    ("assertAlmostEqual", "assertAlmostEquals", "assert_allclose", "assert_almost_equal")
)


def called_name(call: ast.Call) -> str:
    """The dotted name of what is called; the last part where it is no plain name."""
    parts, node = list[str](), call.func
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return parts[0] if len(parts) == 1 else ".".join(["", *parts[::-1]]) if parts else ""
    return ".".join([node.id, *reversed(parts)])


def asserted(call: ast.Call, values: Values) -> list[Form] | None:
    """What a call expects, None where it is no known expectation."""
    name, given = tail(call.func), call.args
    if name in RAISES and (name.startswith("assert") or called_name(call) in (name, f"pytest.{name}")):
        return [_raises(call, RAISES[name], values)]
    if name in MOCKS and isinstance(call.func, ast.Attribute):
        said = ", ".join([*map(ast.unparse, given), *map(ast.unparse, call.keywords)])
        return [Form(MOCKS[name], ast.unparse(call.func.value), said)]
    if called_name(call) in FAILS:
        return [Form("fails")]
    if name in SIGNS and len(given) > 1:
        return compared(given[0], SIGNS[name], given[1], values)
    return _unittest(call, name, values) if given else None


def guarded(test: ast.expr, values: Values) -> list[Form]:
    """What `if test: fail()` expects."""
    found = forms(test, values)
    if len(found) == 1:
        return [negated(found[0])._replace(void=False)]
    return [Form("falsy", ast.unparse(test))]


def _unittest(call: ast.Call, name: str, values: Values) -> list[Form] | None:
    given = call.args
    single = _single(given[0], name, values)
    if single is not None or len(given) < 2:  # noqa: PLR2004 - a value and what it is compared with
        return single
    if name == "assertIsInstance":
        return forms(ast.Call(ast.Name("isinstance", ast.Load()), given[:2], []), values)
    if name in ALMOST:
        within = places(call) if name.startswith("assertA") else tolerance(call)
        return [about(given[0], given[1], within, values)]
    if name in REGEX:
        return [Form("matches", shown(given[0], values), shown(given[1], values))]
    return None


def _single(value: ast.expr, name: str, values: Values) -> list[Form] | None:
    match name:
        case "assertTrue" | "assert_" | "assertIsTrue":
            return forms(value, values)
        case "assertFalse":
            return forms(ast.UnaryOp(ast.Not(), value), values)
        case "assertIsNone":
            return compared(value, ast.Is(), ast.Constant(None), values)
        case "assertIsNotNone":
            return compared(value, ast.IsNot(), ast.Constant(None), values)
        case _:
            return None


def _raises(call: ast.Call, word: str, values: Values) -> Form:
    """`raises(E, match="x")`, `raises(E, f, a)` and their like in unittest."""
    what, rest = (ast.unparse(call.args[0]) if call.args else ""), call.args[1:]
    pattern = next((ast.unparse(one.value) for one in call.keywords if one.arg == "match"), "")
    if tail(call.func).endswith(("Regex", "Message")) and rest:
        pattern, rest = shown(rest[0], values), rest[1:]
    subject = ""
    if rest:
        subject = f"{ast.unparse(rest[0])}({', '.join(map(ast.unparse, rest[1:]))})"
    return Form(word, subject, f"{what} matching {pattern}" if pattern else what)
