"""The tests of Go: `TestX`, named subtests, table loops, testify, and `if` with `t.Error`."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import Tongue, descend, line_of, text_of
from sidecar.adapters.reading.found import ASSERTIONS, HELPER, SETS, Form, bounded, one_line
from sidecar.adapters.reading.go_tables import given, parameters, table
from sidecar.adapters.reading.trees import (
    ERASED,
    Seen,
    body_digest,
    canonical,
    literal,
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
    from collections.abc import Iterator

    from sidecar.adapters.grammar import Node

NAME: Final = re.compile(r"(?:Test|Fuzz|Example)(?![a-z])\w*")
SKIPS: Final = frozenset(("Skip", "Skipf", "SkipNow"))
FAILS: Final = frozenset(("Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"))
BUILD: Final = re.compile(r"^//go:build (.{1,200})$|^// \+build (.{1,200})$", re.MULTILINE)
PAIRS: Final = {
    **dict.fromkeys(("Equal", "EqualValues", "Exactly", "JSONEq", "YAMLEq", "Same", "EqualError"), "=="),
    **dict.fromkeys(("NotEqual", "NotSame"), "!="),
    "Greater": ">",
    "GreaterOrEqual": ">=",
    "Less": "<",
    "LessOrEqual": "<=",
}
PLAIN: Final = {
    "Nil": ("==", "None"),
    "Empty": ("==", "empty"),
    "Zero": ("==", "zero"),
    "NoError": ("==", "None"),
    "NotNil": ("is not None", ""),
    "NotEmpty": ("is not None", ""),
    "Error": ("is not None", ""),
    "ErrorIs": ("raises", ""),
    "ErrorAs": ("raises", ""),
    "ErrorContains": ("matches", ""),
    "Panics": ("raises", ""),
    "Contains": ("in", ""),
    "ElementsMatch": ("==", ""),
    "Subset": ("in", ""),
    "Regexp": ("matches", ""),
    "IsType": ("isinstance", ""),
    "Implements": ("isinstance", ""),
    "Len": ("==", "len"),
    "InDelta": ("~=", ""),
    "InEpsilon": ("~=", ""),
}
"""What testify calls its expectations."""
MOST: Final = 5_000


def go_tests(path: str, text: str, *, lenient: bool = False) -> tuple[TestCase, ...]:
    """The tests of a file; raises ValueError where it does not parse."""
    if not path.endswith("_test.go"):
        return ()
    root = parsed(Tongue.GO, text, lenient=lenient)
    built = BUILD.search(text[: text.find("\npackage ")] if "\npackage " in text else "")
    tag = one_line(built[0]) if built else ""
    found = list[TestCase]()
    for node in root.children:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type not in ("function_declaration", "method_declaration") or name is None or body is None:
            continue
        if NAME.fullmatch(text_of(name)):
            found += _tests(text_of(name), node, body, tag)
        elif HELPER.match(text_of(name)):
            assertions = list(
                islice((one for seen in walk(body, _never) for one in _asserted(seen)), ASSERTIONS)
            )
            found.append(
                TestCase(name=text_of(name), line=line_of(node), assertions=tuple(assertions), helper=True)
            )
    return tuple(found[:MOST])


def _tests(name: str, node: Node, body: Node, tag: str) -> Iterator[TestCase]:
    """A test and, after it, its subtests with literal names."""
    assertions, skipped = list[Assertion](), ""
    subtests: list[tuple[str, Node]] = []
    for seen in walk(body, _is_named_run):
        assertions += _asserted(seen) if len(assertions) < ASSERTIONS else []
        if not seen.dead:
            skipped = skipped or _skip(seen.node, body)
        subtests += [found for child in seen.node.children if (found := _named_run(child))]
    digest, uses = body_digest(body)
    rows = table(body)
    yield TestCase(
        name=name,
        line=line_of(node),
        skipped=tag or skipped,
        assertions=bounded(assertions),
        cases=len(rows) if rows else None,
        body=digest
        if any(one.named_child_count for one in body.named_children) or body.named_child_count
        else "",
        parameters=parameters(body) if rows else (),
        sets=tuple(rows[:SETS]),
        uses=uses,
        given=given(body),
    )
    for label, inner in subtests[:MOST]:
        function = inner.child_by_field_name("body")
        if function is not None and name.count("/") < 10:  # noqa: PLR2004 - deeper subtests are nobody's
            yield from _tests(f"{name}/{label}", inner, function, tag or skipped)


def _named_run(node: Node) -> tuple[str, Node] | None:
    """The name and function of `t.Run("name", func...)`."""
    if node.type != "call_expression" or not canonical_name(node).endswith(".Run"):
        return None
    arguments = node.child_by_field_name("arguments")
    given = [one for one in arguments.named_children if one.type not in ERASED] if arguments else []
    if len(given) < 2 or given[0].type != "interpreted_string_literal" or given[1].type != "func_literal":  # noqa: PLR2004 - name and function
        return None
    return text_of(given[0]).strip('"')[:200], given[1]


def canonical_name(node: Node) -> str:
    """What a call calls."""
    function = node.child_by_field_name("function")
    return canonical(function, 50) if function is not None else ""


def _is_named_run(node: Node) -> bool:
    return _named_run(node) is not None


def _never(node: Node) -> bool:
    return node.type == "comment"


def _asserted(seen: Seen) -> list[Assertion]:
    node = seen.node
    if node.type == "if_statement":
        body, condition = node.child_by_field_name("consequence"), node.child_by_field_name("condition")
        if body is not None and condition is not None and _fails(body) is not None:
            return say(node, _guarded(condition), dead=seen.dead)
    if node.type != "call_expression":
        return []
    owner, _, name = canonical_name(node).rpartition(".")
    arguments = node.child_by_field_name("arguments")
    given = [one for one in arguments.named_children if one.type not in ERASED] if arguments else []
    if owner in ("require", "assert", "s", "suite", "is", "r", "a") or owner.endswith(
        ("Require()", "Assert()")
    ):
        return say(node, _testify(name, given, owned=owner not in ("require", "assert")), dead=seen.dead)
    handed = bool(given) and shown(given[0]) in ("t", "tb", "s.T()")
    if not owner and handed and HELPER.match(name):
        return say(node, [Form("opaque", shown(node))], dead=seen.dead)
    return []


def _guarded(condition: Node) -> list[Form]:
    """What `if condition { t.Fatal() }` expects; each side of an `||` by itself."""
    sides = [condition]
    while sides and sides[0].type == "binary_expression" and len(sides) < 20:  # noqa: PLR2004 - a condition's sides
        sign = sides[0].child_by_field_name("operator")
        left, right = sides[0].child_by_field_name("left"), sides[0].child_by_field_name("right")
        if sign is None or text_of(sign) != "||" or left is None or right is None:
            break
        sides = [left, right, *sides[1:]]
    return [opposite(truth(one), shown(one)) for one in sides]


def _fails(body: Node) -> Node | None:
    """The call that fails the test in this block, not one of an inner block."""
    for node in descend(body):
        owner, _, name = (
            canonical_name(node).rpartition(".") if node.type == "call_expression" else ("", "", "")
        )
        if owner and name in FAILS:
            above = node.parent
            while above is not None and above != body:
                if above.type in ("if_statement", "for_statement"):
                    return None
                above = above.parent
            return node
    return None


def _testify(name: str, given: list[Node], *, owned: bool) -> list[Form]:
    texts = [shown(one) for one in given]
    if not owned:
        given, texts = given[1:], texts[1:]
    name = name.removesuffix("f")
    if not texts:
        return []
    if name in PAIRS and len(texts) > 1:
        swapped = name in ("Equal", "EqualValues", "Exactly", "JSONEq", "Same", "NotEqual", "NotSame")
        return [pair(PAIRS[name], *((texts[1], texts[0]) if swapped else (texts[0], texts[1])))]
    if name in ("True", "False"):
        return truth(given[0]) if name == "True" else [opposite(truth(given[0]), texts[0])]
    if name in PLAIN:
        return [_plain(name, texts)]
    return [Form("opaque", f"{name}({', '.join(texts)})")] if name[:1].isupper() else []


def _plain(name: str, texts: list[str]) -> Form:
    form, value = PLAIN[name]
    if value == "len":
        return Form("==", f"len({texts[0]})", texts[1] if len(texts) > 1 else "")
    if form == "~=":
        within = " within abs " if name == "InDelta" else " within rel "
        wanted = texts[0], texts[1] if len(texts) > 1 else ""
        subject, expected = (wanted[1], wanted[0]) if literal(wanted[0]) else wanted
        return Form("~=", subject, f"{expected}{within}{texts[2] if len(texts) > 2 else ''}")  # noqa: PLR2004 - delta
    if name in ("Regexp", "IsType", "Implements", "ElementsMatch") and len(texts) > 1:
        return Form(form, texts[1], texts[0])
    return Form(
        form, texts[0], value or (texts[1] if len(texts) > 1 and form in ("raises", "in", "matches") else "")
    )


def _skip(node: Node, body: Node) -> str:
    if node.type == "call_expression":
        owner, _, name = canonical_name(node).rpartition(".")
        if owner and name in SKIPS:
            return one_line(_with_guard(node, body))
    alone = node.type == "return_statement" and node.parent is not None and node.parent.parent == body
    rest = text_of(body)[node.end_byte - body.start_byte :]
    return "return" if alone and re.search(r"\.(?:Error|Fatal|Equal|True|Run)", rest) else ""


def _with_guard(node: Node, body: Node) -> str:
    above = node.parent
    while above is not None and above != body:
        if above.type == "if_statement":
            return f"if {shown(above.child_by_field_name('condition'))}: {text_of(node)[:200]}"
        above = above.parent
    return text_of(node)[:200]
