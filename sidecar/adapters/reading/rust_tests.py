"""The tests of Rust: functions with a `test` attribute, and the assert macros in them."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import Tongue, line_of, parse, text_of
from sidecar.adapters.reading.found import ASSERTIONS, HELPER, SETS, Form, bounded, one_line
from sidecar.adapters.reading.trees import (
    Seen,
    body_digest,
    canonical,
    opposite,
    pair,
    parsed,
    say,
    shown,
    truth,
    walk,
)
from sidecar.model.inspection import Assertion, TestCase

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

TEST: Final = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|test_log)\b.*\]", re.DOTALL)
IGNORE: Final = re.compile(r"#\[(?:ignore|cfg_attr\(.*\bignore\b).*\]", re.DOTALL)
SWITCH: Final = re.compile(r"#\[cfg\((?!test\)|all\(test\)).*\]", re.DOTALL)
PANIC: Final = re.compile(r"#\[should_panic.*\]", re.DOTALL)
CASE: Final = re.compile(r"#\[(?:case|test_case)(?:::\w+)?\((.*)\)\]", re.DOTALL)
MACROS: Final = {"assert_eq": "==", "assert_ne": "!=", "debug_assert_eq": "==", "debug_assert_ne": "!="}
CHECKS: Final = re.compile(r"(?:.*_)?assert\w*|.*_assert")
ARGUMENT: Final = 1_000
"""Characters of one argument of a macro that are parsed."""
MOST: Final = 5_000


def rust_tests(_path: str, text: str, *, lenient: bool = False) -> tuple[TestCase, ...]:
    """The tests of a file; raises ValueError where it does not parse."""
    if "test" not in text:
        return ()
    root = parsed(Tongue.RUST, text, lenient=lenient)
    found = list[TestCase]()
    waiting: list[tuple[Node, str, str]] = [(root, "", "")]
    while waiting and len(found) < MOST:
        node, prefix, skipped = waiting.pop()
        attributes = list[str]()
        inner: list[tuple[Node, str, str]] = []
        for child in node.children:
            if child.type in ("attribute_item", "inner_attribute_item"):
                attributes.append(canonical(child, 300))
            elif child.type == "mod_item":
                body, name = child.child_by_field_name("body"), child.child_by_field_name("name")
                off = next((one for one in attributes if SWITCH.fullmatch(one)), skipped)
                if body is not None and name is not None:
                    inner.append((body, f"{prefix}{text_of(name)}::", off))
                attributes = []
            elif child.type == "function_item":
                found += _function(child, prefix, skipped, attributes)
                attributes = []
            elif child.is_named and "comment" not in child.type:
                attributes = []
        waiting.extend(reversed(inner))
    return tuple(found)


def _function(node: Node, prefix: str, skipped: str, attributes: list[str]) -> list[TestCase]:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return []
    is_test = any(TEST.fullmatch(one) for one in attributes)
    if not is_test and not HELPER.match(text_of(name)):
        return []
    assertions = list(islice((one for seen in walk(body, _never) for one in _asserted(seen)), ASSERTIONS))
    panics = next((one for one in attributes if PANIC.fullmatch(one)), "")
    if panics:
        wanted = panics.partition("expected=")[2].strip(")]")
        expected = "panic" + (f" matching {wanted}" if wanted else "")
        assertions += say(node, [Form("raises", "", expected)], dead=False)
    off = [one for one in attributes if IGNORE.fullmatch(one) or SWITCH.fullmatch(one)]
    cases = [one_line(found[1]) for one in attributes if (found := CASE.fullmatch(one))]
    digest, uses = body_digest(body)
    early = _early(body)
    return [
        TestCase(
            name=f"{prefix}{text_of(name)}",
            line=line_of(node),
            skipped=one_line(off[0] if off else skipped or early) if is_test else "",
            assertions=bounded(assertions),
            cases=len(cases) or None,
            body=digest if body.named_child_count else "",
            parameters=tuple(re.findall(r"(\w+):", shown(node.child_by_field_name("parameters"))))
            if cases
            else (),
            sets=tuple(cases[:SETS]),
            uses=uses,
            helper=not is_test,
        )
    ]


def _never(node: Node) -> bool:
    return node.type in ("line_comment", "block_comment")


def _early(body: Node) -> str:
    """A return at the outer level before anything is asserted."""
    for child in body.named_children:
        text = canonical(child, 40)
        if text in ("return", "return()"):
            return "return" if "assert" in text_of(body)[child.end_byte - body.start_byte :] else ""
        if "assert" in text:
            return ""
    return ""


def _asserted(seen: Seen) -> list[Assertion]:
    node = seen.node
    if node.type == "call_expression":
        name = shown(node.child_by_field_name("function"))
        alone = node.parent is not None and node.parent.type == "expression_statement"
        return (
            say(node, [Form("opaque", shown(node))], dead=seen.dead) if alone and HELPER.match(name) else []
        )
    if node.type != "macro_invocation":
        return []
    macro = shown(node.child_by_field_name("macro")).rpartition("::")[2]
    if not CHECKS.fullmatch(macro):
        return []
    tree = next((one for one in node.children if one.type == "token_tree"), None)
    given = _arguments(tree) if tree is not None else []
    return say(node, _forms(macro, given), dead=seen.dead)


def _forms(macro: str, given: list[str]) -> list[Form]:
    if macro in MACROS and len(given) > 1:
        left, right = (_expression(one) for one in given[:2])
        return [pair(MACROS[macro], shown(left) or given[0], shown(right) or given[1])]
    if macro in ("assert", "debug_assert") and given:
        node = _expression(given[0])
        return _checked(node, given[0]) if node is not None else [Form("truthy", given[0])]
    if (
        macro in ("assert_matches", "assert_approx_eq", "assert_relative_eq", "assert_abs_diff_eq")
        and len(given) > 1
    ):
        word = "matches" if macro == "assert_matches" else "~="
        within = given[2].rpartition("=")[2] if len(given) > 2 else ""  # noqa: PLR2004 - the tolerance
        return [Form(word, given[0], f"{given[1]} within {within}" if within and word == "~=" else given[1])]
    if "snapshot" in macro and given:
        return [Form("snapshot", given[0], given[1] if len(given) > 1 else "")]
    return [Form("opaque", f"{macro}!({', '.join(given)})"[:300])]


def _checked(node: Node, text: str) -> list[Form]:
    """`assert!` of something; the weak questions by their own words."""
    for ending, word in ((".is_some()", "is not None"), (".is_ok()", "not raises"), (".is_err()", "raises")):
        if text.endswith(ending):
            return [Form(word, text.removesuffix(ending))]
    if text.endswith(".is_none()"):
        return [Form("==", text.removesuffix(".is_none()"), "None")]
    found = re.fullmatch(r"(.+)\.(?:contains|starts_with|ends_with)\((.*)\)", text)
    if found and node.type == "call_expression":
        return [Form("matches", found[1], found[2])]
    if node.type == "unary_expression" and text.startswith("!"):
        inner = _expression(text[1:])
        return (
            [opposite(_checked(inner, text[1:]), text[1:])]
            if inner is not None
            else [Form("falsy", text[1:])]
        )
    if text.startswith("matches!("):
        return [Form("matches", text[9:-1].partition(",")[0], text[9:-1].partition(",")[2])]
    return truth(node)


def _arguments(tree: Node) -> list[str]:
    """The arguments of a macro, which the grammar leaves as tokens."""
    parts, current = list[str](), list[bytes]()
    previous = tree.children[0].end_byte
    for token in tree.children[1:-1]:
        if token.type == ",":
            parts.append(b"".join(current).decode("utf-8", "replace"))
            current = []
        elif "comment" not in token.type:
            current.append((b" " if token.start_byte > previous else b"") + (token.text or b""))
        previous = token.end_byte
        if len(parts) > 20:  # noqa: PLR2004 - arguments of an assert
            break
    parts.append(b"".join(current).decode("utf-8", "replace"))
    return [" ".join(part.split()) for part in parts if part.strip()]


def _expression(text: str) -> Node | None:
    """The tree of one expression."""
    root = parse(Tongue.RUST, f"fn f() {{ {text[:ARGUMENT]}; }}").root_node
    body = root.named_children[0].child_by_field_name("body") if root.named_children else None
    if body is None or root.has_error or not body.named_children or not body.named_children[0].named_children:
        return None
    return body.named_children[0].named_children[0]
