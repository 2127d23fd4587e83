"""Expectations of JavaScript: `expect(...)` of jest, jasmine and chai, `assert.*`, `should`, `t.*`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import descend, text_of
from sidecar.adapters.reading.found import HELPER, Form
from sidecar.adapters.reading.javascript_words import ASSERTS, CHAINS, MATCHERS, PROPERTIES, Word
from sidecar.adapters.reading.trees import (
    CHAIN,
    ERASED,
    Seen,
    literal,
    opposite,
    pair,
    say,
    shown,
    truth,
    unwrapped,
)

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node
    from sidecar.model.inspection import Assertion

Step = tuple[str, list["Node"] | None]
OWNERS: Final = frozenset(("assert", "t", "chai.assert", "sinon.assert", "QUnit.assert", "test"))
ROOT: Final = re.compile(r"[A-Za-z_$][\w$]*")
LONGEST: Final = 100
"""Characters of a value that is put in place of a name."""
DIGITS: Final = 2
"""Digits of a number of digits."""
NEGATIONS: Final = frozenset(("not", "never"))


def asserted(seen: Seen, values: dict[str, str], helpers: frozenset[str]) -> list[Assertion]:
    """What a node expects, if it is the whole of an expectation. `helpers`: functions that expect."""
    node = seen.node
    if node.type not in ("call_expression", "member_expression") or not _whole(node):
        return []
    root, steps = _steps(node)
    found = _forms(node, root, steps, values) or _by_helper(node, root, steps, helpers)
    awaited = not {"resolves", "rejects"} & {name for name, _ in steps} or not _alone(node, awaited=False)
    return say(node, found, dead=seen.dead or not awaited) if found else []


def values_of(body: Node) -> dict[str, str]:
    """What the constants of a test stand for: a literal, a call or a part of something."""
    found = dict[str, str]()
    for node in descend(body):
        name, value = node.child_by_field_name("name"), unwrapped(node.child_by_field_name("value"))
        if node.type != "variable_declarator" or name is None or value is None or name.type != "identifier":
            continue
        if node.parent is None or not text_of(node.parent).startswith("const"):
            continue
        if value.type in ("call_expression", "member_expression", "subscript_expression", "number", "string"):
            found[text_of(name)] = shown(value)
    return found


def _whole(node: Node) -> bool:
    """Whether nothing is called on this node."""
    above = node.parent
    if above is None:
        return False
    if above.type == "call_expression":
        return above.child_by_field_name("function") != node
    return above.type not in ("member_expression", "non_null_expression")


def _steps(node: Node | None) -> tuple[str, list[Step]]:
    """The root name of `expect(x).not.toBe(y)`, and its steps with their arguments."""
    steps = list[Step]()
    given: list[Node] | None = None
    for _ in range(CHAIN):
        if node is None:
            break
        if node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            given = [one for one in arguments.named_children if one.type not in ERASED] if arguments else []
            node = node.child_by_field_name("function")
        elif node.type == "member_expression":
            field = node.child_by_field_name("property")
            steps.append((text_of(field) if field is not None else "", given))
            given, node = None, node.child_by_field_name("object")
        else:
            break
    root = shown(node)[:80] if node is not None else ""
    steps.append((root, given))
    return root, steps[::-1]


def _forms(node: Node, root: str, steps: list[Step], values: dict[str, str]) -> list[Form]:
    names = [name for name, _ in steps]
    given = steps[0][1]
    if root in ("expect", "expectAsync") and given is not None:
        return _expected(given[0] if given else None, steps[1:], values)
    if "should" in names[1:] and steps[names.index("should", 1)][1] is None:
        at = names.index("should", 1)
        subject = shown(node).rpartition(".should")[0]
        return _chai(subject, steps[at + 1 :], values)
    if root == "assert" and given:
        return truth(given[0])
    owner = ".".join(names[:-1])
    if owner in OWNERS | {"assert.strict"} and steps[-1][1] is not None:
        return _owned(names[-1], steps[-1][1], values)
    return []


def _by_helper(node: Node, root: str, steps: list[Step], helpers: frozenset[str]) -> list[Form]:
    """A call of a function that expects something, by its name or as the file shows."""
    called = len(steps) == 1 and steps[0][1] is not None and _alone(node)
    return [Form("opaque", shown(node))] if called and (HELPER.match(root) or root in helpers) else []


def _alone(node: Node, *, awaited: bool = True) -> bool:
    """Whether a call is a statement by itself, awaited or not."""
    above = node.parent
    if awaited and above is not None and above.type == "await_expression":
        above = above.parent
    return above is not None and above.type == "expression_statement"


def _expected(looked: Node | None, steps: list[Step], values: dict[str, str]) -> list[Form]:
    """`expect(x)` and what follows."""
    if looked is None:
        return []
    subject = _settled(looked, values)
    called = [(name, given) for name, given in steps if given is not None]
    turned = any(name in NEGATIONS for name, _ in steps)
    if called and called[-1][0] in MATCHERS:
        name, given = called[-1]
        form = _matched(MATCHERS[name], subject, looked, given, values)
        return [opposite([form], subject)] if turned else [form]
    if not called and not any(name in PROPERTIES for name, _ in steps):
        return [Form("none", subject, void=True)]
    return _chai(subject, steps, values)


def _matched(word: Word, subject: str, looked: Node, given: list[Node], values: dict[str, str]) -> Form:
    """One matcher of jest, in our words."""
    texts = [_settled(one, values) for one in given]
    wanted = texts[0] if texts else ""
    match word.form:
        case "==" | "<" | "<=" | ">" | ">=":
            subject = f"{subject}.length" if word.value == "length" else subject
            form = _compared(word.form, subject, wanted or word.value, looked)
            same = bool(given) and pair(word.form, shown(looked), shown(given[0])).void
            return form._replace(void=form.void or same)
        case "truthy":
            return _single(truth(looked), subject)
        case "is not None" | "falsy":
            return Form(word.form, subject, void=literal(subject))
        case "~=":
            return Form("~=", subject, f"{wanted} within {_within(*texts[1:2])}")
        case _:
            return Form(word.form, subject, ", ".join(texts))


def _compared(word: str, subject: str, wanted: str, looked: Node) -> Form:
    if word == "==" and wanted.startswith(("expect.anything(", "expect.any(")):
        return Form("is not None", subject)
    if wanted == "true":
        return _single(truth(looked), subject)
    return pair(word, subject, wanted)


def _within(digits: str = "2") -> str:
    """The tolerance of `toBeCloseTo`: half of the last of 2 digits."""
    known = digits.isdigit() and len(digits) <= DIGITS
    return f"abs {0.5 * 10.0 ** -int(digits)}" if known else digits


def _single(forms: list[Form], subject: str) -> Form:
    if len(forms) != 1:
        return Form("truthy", subject)
    return forms[0]._replace(subject=subject) if forms[0].name == "truthy" else forms[0]


def _settled(node: Node, values: dict[str, str]) -> str:
    """The source of a value; a constant with which it begins is replaced by what that stands for."""
    text = shown(node)
    root = ROOT.match(text)
    given = values.get(root[0], "") if root else ""
    if root is None or not given or len(given) > LONGEST or (text != root[0] and literal(given)):
        return text
    return given + text[root.end() :]


def _chai(subject: str, steps: list[Step], values: dict[str, str]) -> list[Form]:
    """`to.be.true`, `to.equal(y)`: the last word that means something decides."""
    turned = any(name in NEGATIONS for name, _ in steps)
    for name, given in reversed(steps):
        texts = [_settled(one, values) for one in given or []]
        if given is not None and name in CHAINS:
            word = CHAINS[name]
            form = (
                pair(word, subject, texts[0])
                if word in ("==", "<", "<=", ">", ">=") and texts
                else Form(word, subject, ", ".join(texts))
            )
        elif given is None and name in PROPERTIES:
            form = PROPERTIES[name]._replace(subject=subject, void=literal(subject))
        else:
            continue
        return [opposite([form], subject)] if turned else [form]
    called = [name for name, given in steps if given is not None]
    return [Form(called[-1], subject)] if called else []


def _owned(name: str, given: list[Node], values: dict[str, str]) -> list[Form]:
    """`assert.equal(actual, expected)` and its like in ava and tap."""
    word = ASSERTS.get(name, "")
    texts = [_settled(one, values) for one in given]
    if word == "fails" or not word or not texts:
        return [Form("fails")] if word == "fails" else []
    first, second = texts[0], texts[1] if len(texts) > 1 else "null"
    match word:
        case "truthy":
            return truth(given[0])
        case "falsy":
            return [opposite(truth(given[0]), first)]
        case "is not None":
            return [Form(word, first, void=literal(first))]
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            same = pair(word, shown(given[0]), shown(given[1])).void if len(given) > 1 else False
            form = pair(word, first, second)
            return [form._replace(void=form.void or same)]
        case _:
            return [Form(word, first, ", ".join(texts[1:2]))]
