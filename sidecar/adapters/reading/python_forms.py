"""Expectations of Python, taken apart: `assert` and unittest's methods end in the same words.

Two ways to say the same give the same form, so that a change of style is no change. What cannot fail is void:
literals, a value compared with itself, an `or` with such a side. A call compared with itself may fail and is
not void. Texts are those of `ast.unparse`: layout, quotes and comments do not count.
"""

from __future__ import annotations

import ast
from typing import Final

from sidecar.adapters.reading.found import Form
from sidecar.adapters.reading.python_values import (
    OPERATORS,
    Values,
    always,
    constant,
    literal,
    self_evident,
    settled,
    tail,
)

TURNED: Final = {
    "==": "!=",
    "in": "not in",
    "truthy": "falsy",
    "is not None": "== None",
    "<": ">=",
    ">": "<=",
    "isinstance": "not isinstance",
    "matches": "not matches",
    "called": "not called",
}
"""What the negation of a form is called; also read from right to left."""
MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
PARTIAL: Final = frozenset(
    ("startswith", "endswith", "issubset", "issuperset", "match", "search", "fullmatch")
)
APPROX: Final = frozenset(("approx", "isclose", "allclose"))
PAIRS: Final = 30
"""Members of two compared tuples that are looked at one by one."""
ROOT: Final = 100
"""Characters of a value that is put in place of the name with which a longer source begins."""


def forms(node: ast.expr, values: Values) -> list[Form]:
    """What is expected when `node` must be true."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [_negated(node.operand, values)]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [form for part in node.values for form in forms(part, values)]
    if isinstance(node, ast.BoolOp):
        return [_either(node, values)]
    if isinstance(node, ast.Compare):
        return _chain(node, values)
    if isinstance(node, ast.Call):
        return _call(node, values)
    return [Form("truthy", shown(node, values), void=always(node, values))]


def compared(left: ast.expr, sign: ast.cmpop, right: ast.expr, values: Values) -> list[Form]:
    """What `left sign right` expects."""
    word = OPERATORS[type(sign)]
    void = self_evident(left, word, right, {}) or self_evident(left, word, right, values)
    if word in ("==", "!="):
        for one, other in ((left, right), (right, left)):
            plain = _plain(one, word, other, values, void=void)
            if plain:
                return plain
    if word in ("in", "not in"):
        inside = isinstance(right, ast.Tuple | ast.List | ast.Set | ast.Dict) and not literal(left)
        looked, within = (left, right) if inside else (right, left)
        return [Form(word, shown(looked, values), shown(within, values), void)]
    if literal(left) and not literal(right):
        left, right, word = right, left, MIRRORED[word]
    return [Form(word, shown(left, values), shown(right, values), void)]


def about(left: ast.expr, right: ast.expr, within: str, values: Values) -> Form:
    """A comparison with a tolerance."""
    if literal(left) and not literal(right):
        left, right = right, left
    return Form("~=", shown(left, values), f"{shown(right, values)} within {within}")


def shown(node: ast.expr, values: Values) -> str:
    """The source of a value; of what it was given, where it is a name with one value."""
    node = settled(node, values)
    node = node.value if isinstance(node, ast.Await) else node
    text, root = ast.unparse(node), node
    while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
        root = root.func if isinstance(root, ast.Call) else root.value
    value = values.get(root.id) if isinstance(root, ast.Name) and root is not node else None
    if value is None or not isinstance(root, ast.Name) or isinstance(value, ast.UnaryOp | ast.Constant):
        return text
    given = ast.unparse(value.value if isinstance(value, ast.Await) else value)
    return f"{given}{text[len(root.id) :]}" if len(given) <= ROOT and text.startswith(root.id) else text


# --- the kinds of expressions -------------------------------------------------------------------------------


def _chain(node: ast.Compare, values: Values) -> list[Form]:
    found, left = list[Form](), node.left
    for sign, right in zip(node.ops, node.comparators, strict=True):
        found += compared(left, sign, right, values)
        left = right
    return found


def _plain(one: ast.expr, word: str, other: ast.expr, values: Values, *, void: bool) -> list[Form]:
    """The cases in which `one == other` is another word: True, None, about equal, and tuples."""
    equal = word == "=="
    if isinstance(other, ast.Constant) and isinstance(other.value, bool) and not literal(one):
        return forms(one, values) if other.value is equal else [_negated(one, values)]
    if isinstance(other, ast.Constant) and other.value is None:
        return [Form("==" if equal else "is not None", shown(one, values), "None" if equal else "", void)]
    if isinstance(other, ast.Call) and tail(other) == "approx" and other.args and equal:
        return [about(one, other.args[0], tolerance(other), values)]
    if isinstance(one, ast.Tuple | ast.List) and isinstance(other, ast.Tuple | ast.List) and equal:
        return _members(one.elts, other.elts, values)
    return []


def _members(left: list[ast.expr], right: list[ast.expr], values: Values) -> list[Form]:
    if len(left) != len(right) or len(left) > PAIRS or all(literal(one) for one in left):
        return []
    if any(isinstance(one, ast.Starred) for one in (*left, *right)):
        return []
    return [
        form
        for one, other in zip(left, right, strict=True)
        for form in compared(one, ast.Eq(), other, values)
    ]


def _call(node: ast.Call, values: Values) -> list[Form]:
    name, arguments = tail(node.func), node.args
    void = False
    if name in ("isinstance", "issubclass") and len(arguments) == 2:  # noqa: PLR2004 - a value and its type
        void = isinstance(arguments[1], ast.Name) and arguments[1].id == "object"
        return [Form("isinstance", shown(arguments[0], values), shown(arguments[1], values), void)]
    if name in APPROX and len(arguments) > 1:
        return [about(arguments[0], arguments[1], tolerance(node), values)]
    if name in PARTIAL and arguments and isinstance(node.func, ast.Attribute):
        subject = (
            arguments[1] if shown(node.func.value, {}) == "re" and len(arguments) > 1 else node.func.value
        )
        pattern = arguments[0]
        return [Form("matches", shown(subject, values), shown(pattern, values))]
    if name == "bool" and len(arguments) == 1:
        return forms(arguments[0], values)
    if name in ("hasattr", "callable") and arguments and literal(arguments[-1]):
        void = shown(arguments[-1], {}) in ("'__class__'", "'__doc__'")
    return [Form("truthy", shown(node, values), void=void)]


def _either(node: ast.BoolOp, values: Values) -> Form:
    parts = [forms(part, values) for part in node.values]
    texts = {ast.unparse(part) for part in node.values}
    opposite = any(
        isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) and ast.unparse(part.operand) in texts
        for part in node.values
    )
    nothing = {(form.subject, form.name + form.expected) for part in parts for form in part}
    both = any((subject, "==None") in nothing for subject, word in nothing if word == "is not None")
    void = opposite or both or any(all(form.void for form in part) for part in parts if part)
    subject = next((form.subject for part in parts for form in part if form.subject), "")
    return Form("or", subject, ast.unparse(node), void)


def _negated(node: ast.expr, values: Values) -> Form:
    inner = forms(node, values)
    void = constant(settled(node, values)) is False
    if len(inner) != 1:
        return Form("falsy", shown(node, values), void=void)
    return negated(inner[0])._replace(void=void)


def negated(form: Form) -> Form:
    """The opposite of a form."""
    if form.name == "==" and form.expected == "None":
        return Form("is not None", form.subject)
    if form.name == "is not None":
        return Form("==", form.subject, "None")
    turned = TURNED | {new: old for old, new in TURNED.items()}
    if form.name in turned:
        return form._replace(name=turned[form.name], void=False)
    return Form("falsy", form.subject, form.expected)


# --- tolerances ---------------------------------------------------------------------------------------------


def tolerance(node: ast.Call) -> str:
    """How far off a comparison may be; pytest's default is one millionth."""
    given = {word.arg: ast.unparse(word.value) for word in node.keywords}
    for kind, names in (("abs", ("abs", "abs_tol", "atol")), ("rel", ("rel", "rel_tol", "rtol"))):
        for name in names:
            if name in given:
                return f"{kind} {given[name]}"
    if tail(node) == "approx" and len(node.args) > 1:
        return f"rel {ast.unparse(node.args[1])}"
    return "rel 1e-06"


def places(node: ast.Call) -> str:
    """The tolerance of `assertAlmostEqual`: its delta, or half of the last of 7 places."""
    given = {word.arg: word.value for word in node.keywords}
    if "delta" in given:
        return f"abs {ast.unparse(given['delta'])}"
    digits = given.get("places", node.args[2] if len(node.args) > 2 else ast.Constant(7))  # noqa: PLR2004 - third
    if isinstance(digits, ast.Constant) and isinstance(digits.value, int) and abs(digits.value) < 300:  # noqa: PLR2004 - a float's range
        return f"abs {0.5 * 10.0**-digits.value}"
    return f"places {ast.unparse(digits)}"
