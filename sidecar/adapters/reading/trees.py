"""What the languages with a grammar share: canonical sources, what a statement can reach, and comparisons.

A canonical source has no comments, no type annotations, one kind of quotes, and no semicolons or trailing
commas: what a formatter changes does not change it. All of it goes without recursion: sources nest deep.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.grammar import descend, line_of, parse, text_of
from sidecar.adapters.reading.found import LINE, Form, assertion, digest, names_in, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sidecar.adapters.grammar import Node, Tongue
    from sidecar.model.inspection import Assertion

TOKENS: Final = 20_000
"""Tokens of one source that are read."""
NODES_OF_TOKEN: Final = 8
"""Nodes that are walked for one token: what nests without end is cut."""
CHAIN: Final = 60
"""Calls and members of one chain that are read."""
NODES: Final = 200_000
"""Nodes of one test that are walked."""
ERASED: Final = frozenset(
    ("comment", "line_comment", "block_comment", "type_annotation", "type_arguments", "type_parameters", ";")
)
"""Nodes that a canonical source leaves out."""
FIRST_ONLY: Final = frozenset(("as_expression", "satisfies_expression", "non_null_expression"))
STRINGS: Final = frozenset(("string", "string_literal", "interpreted_string_literal", "character_literal"))
CLOSERS: Final = frozenset(")]}>")
WORD: Final = re.compile(r"\w")
LITERAL: Final = re.compile(
    r"""[-+]?\d[\w.]*|"(?:[^"\\]|\\.)*"|`[^`$]*`|true|false|null|nil|undefined|None|NaN|\[\]|\{\}|\(\)"""
)
NOTHING: Final = frozenset(("null", "nil", "undefined", "None"))
OPERATORS: Final = {
    "===": "==",
    "!==": "!=",
    **{sign: sign for sign in ("==", "!=", "<", "<=", ">", ">=")},
}
MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
LEAVES: Final = frozenset(
    (
        "return_statement",
        "throw_statement",
        "break_statement",
        "continue_statement",
        "return_expression",
        "break_expression",
        "continue_expression",
    )
)
"""Statements after which nothing of the same block runs."""
RESCUES: Final = re.compile(
    r"\b(?:throw|expect|assert\w*|fail|reject|done|panic)\b|\.(?:fail|should|is|equal)\b"
)
"""Words with which a handler passes a failure on."""
NEVER: Final = frozenset(("false", "0", "null", "undefined", '""', "!true", "1==2"))
EVER: Final = frozenset(("true", "1", "!false", "!0"))


class Seen(NamedTuple):
    """A node of a test, and whether it never runs or fails unseen."""

    node: Node
    dead: bool


def parsed(tongue: Tongue, text: str, *, lenient: bool) -> Node:
    """The root of a source; raises ValueError where it does not parse."""
    root = parse(tongue, text.removeprefix("\ufeff")).root_node
    if root.has_error and not lenient:
        raise ValueError("it does not parse")
    return root


def canonical(node: Node, limit: int = TOKENS) -> str:
    """A source without layout, comments and types."""
    parts = list[str]()
    for token in _tokens(node, limit):
        if token in CLOSERS and parts and parts[-1] == ",":
            parts.pop()
        if parts and WORD.match(token) and WORD.match(parts[-1][-1]):
            parts.append(" ")
        parts.append(token)
    return "".join(parts)


def body_digest(node: Node | None) -> tuple[str, tuple[str, ...]]:
    """The digest of a body without brackets and commas, and the names it mentions."""
    if node is None:
        return "", ()
    tokens = [token for token in _tokens(node, TOKENS) if token not in {"(", ")", ",", "{", "}"}]
    text = " ".join(tokens)
    return digest(text), names_in(text)


def shown(node: Node | None) -> str:
    """The canonical source of a value, bounded; "" where there is none."""
    return canonical(node, LINE)[:LINE] if node is not None else ""


def walk(body: Node, stop: Callable[[Node], bool]) -> Iterator[Seen]:
    """Every node of a test in the order of the source, but for what `stop` says is another test."""
    waiting, count = [Seen(body, dead=False)], 0
    while waiting and count < NODES:
        count += 1
        seen = waiting.pop()
        yield seen
        inner = [one for one in _children(seen) if not stop(one.node)]
        waiting.extend(reversed(inner))


def say(node: Node, forms: list[Form], *, dead: bool) -> list[Assertion]:
    """Assertions that stand at a node."""
    text = one_line(text_of(node)[: 2 * LINE])
    return [assertion(line_of(node), text, form._replace(void=form.void or dead)) for form in forms]


# --- comparisons --------------------------------------------------------------------------------------------


def pair(word: str, left: str, right: str) -> Form:
    """What `left word right` expects."""
    if literal(left) and not literal(right):
        left, right, word = right, left, MIRRORED.get(word, word)
    void = _self_evident(word, left, right)
    if word in ("==", "!=") and right in ("true", "false") and not literal(left):
        return Form("truthy" if (right == "true") is (word == "==") else "falsy", left)
    if word in ("==", "!=") and right in NOTHING:
        return Form("==", left, "None") if word == "==" else Form("is not None", left, void=literal(left))
    return Form(word, left, right, void)


def truth(node: Node | None) -> list[Form]:
    """What is expected when this expression must be true."""
    node = unwrapped(node)
    if node is None:
        return []
    sign = node.child_by_field_name("operator")
    word = text_of(sign) if sign is not None else ""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type == "binary_expression" and left is not None and right is not None:
        if word in OPERATORS:
            return [pair(OPERATORS[word], shown(left), shown(right))]
        if word == "&&":
            return [*truth(left), *truth(right)] if _shallow(node) else [Form("truthy", shown(node))]
        if word == "||":
            return [_either(left, right, node)]
    text = shown(node)
    if text.startswith("!") and node.type == "unary_expression" and _shallow(node):
        return [opposite(truth(node.children[-1]), text[1:])]
    return [Form("truthy", text, void=text in EVER or (literal(text) and text not in NEVER))]


def opposite(forms: list[Form], text: str) -> Form:
    """What is expected when that expression must be false."""
    turned = {"==": "!=", "<": ">=", ">": "<=", "truthy": "falsy", "matches": "not matches", "in": "not in"}
    turned |= {new: old for old, new in turned.items()}
    if len(forms) != 1:
        return Form("falsy", text)
    form = forms[0]
    if form.name == "is not None":
        return Form("==", form.subject, "None")
    if (form.name, form.expected) == ("==", "None"):
        return Form("is not None", form.subject)
    word = turned.get(form.name, "falsy")
    void = text in NEVER or (word == "==" and _self_evident(word, form.subject, form.expected))
    return Form(word, form.subject, form.expected, void)


def literal(text: str) -> bool:
    """Whether a canonical source is a value written out."""
    return LITERAL.fullmatch(text) is not None


def unwrapped(node: Node | None) -> Node | None:
    """What stands in brackets."""
    for _ in range(20):
        if node is None or node.type not in ("parenthesized_expression", "await_expression"):
            return node
        node = next((one for one in node.children if one.is_named and one.type not in ERASED), None)
    return node


def holds(text: str) -> bool | None:
    """Whether a condition is always true or never; None where it depends."""
    bare = text.strip("()")
    if bare in NEVER:
        return False
    return True if bare in EVER else None


# --- inside -------------------------------------------------------------------------------------------------


def _shallow(node: Node) -> bool:
    """Whether an expression may be taken apart: recursion stays within a few hundred calls."""
    return node.end_byte - node.start_byte < 2 * LINE


def _either(left: Node, right: Node, node: Node) -> Form:
    sides = [truth(left), truth(right)] if _shallow(node) else []
    void = any(side and all(form.void for form in side) for side in sides)
    one, other = shown(left), shown(right)
    void = void or one == f"!{other}" or other == f"!{one}"
    subject = next((form.subject for side in sides for form in side), "")
    return Form("or", subject, shown(node), void)


def _self_evident(word: str, left: str, right: str) -> bool:
    if literal(left) and literal(right):
        return word == "==" and left == right
    if word in ("==", "<=", ">=") and left == right:
        return "(" not in left
    counted = left.endswith((".length", ".size", ".size()", ".length()")) or left.startswith("len(")
    return counted and (word, right) in ((">=", "0"), (">", "-1"))


def _tokens(node: Node, limit: int) -> Iterator[str]:
    waiting, count, seen = [node], 0, 0
    while waiting and count < limit and seen < NODES_OF_TOKEN * limit:
        node = waiting.pop()
        seen += 1
        if node.type in ERASED:
            continue
        if node.type in STRINGS or not node.children:
            count += 1
            yield _quoted(text_of(node)) if node.type in STRINGS else text_of(node)
            continue
        children = node.children[:1] if node.type in FIRST_ONLY else node.children
        waiting.extend(reversed(children))


def _quoted(text: str) -> str:
    if text[:1] == "'" and text[-1:] == "'" and not {'"', "\\"} & set(text):
        return f'"{text[1:-1]}"'
    return text


def _children(seen: Seen) -> list[Seen]:
    """The children of a node, those dead that cannot be reached or whose failure is caught."""
    node, dead = seen
    if node.type in ("if_statement", "if_expression", "while_statement", "while_expression"):
        return _branches(node, dead=dead)
    handlers = _handlers(node)
    found = list[Seen]()
    left = False
    for child in node.children:
        caught = bool(handlers) and child.type in ("block", "statement_block")
        found.append(Seen(child, dead or left or caught))
        left = left or _leaving(child)
    return found


def _branches(node: Node, *, dead: bool) -> list[Seen]:
    condition = node.child_by_field_name("condition")
    always = holds(canonical(condition, 20)) if condition is not None else None
    taken = [node.child_by_field_name(name) for name in ("consequence", "body")]
    other = node.child_by_field_name("alternative")
    found = list[Seen]()
    for child in node.children:
        never = (child in taken and always is False) or (child == other and always is True)
        found.append(Seen(child, dead or never))
    return found


def _handlers(node: Node) -> list[Node]:
    """The handlers of a `try` that keep a failed expectation to themselves."""
    if not node.type.startswith("try") or node.type == "try_expression":
        return []
    return [one for one in node.children if one.type == "catch_clause" and _swallows(one)]


def _swallows(handler: Node) -> bool:
    body = handler.child_by_field_name("body") or handler.children[-1]
    if RESCUES.search(text_of(body)):
        return False
    caught = next((one for one in descend(handler) if one.type == "catch_type"), None)
    return caught is None or re.search(r"\b(?:Throwable|\w*Error)\b", text_of(caught)) is not None


def _leaving(node: Node) -> bool:
    if node.type in LEAVES:
        return True
    if node.type == "expression_statement" and node.named_child_count == 1:
        return node.named_children[0].type in LEAVES
    return False
