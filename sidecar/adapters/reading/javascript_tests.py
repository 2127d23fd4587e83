"""The tests of JavaScript and TypeScript: jest, vitest, mocha, jasmine, node:test, ava, tap, QUnit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from sidecar.adapters.grammar import Tongue, line_of, text_of
from sidecar.adapters.reading.found import ASSERTIONS, SETS, bounded, one_line
from sidecar.adapters.reading.javascript_asserts import asserted, values_of
from sidecar.adapters.reading.javascript_tables import Table, given, looped, parameters_of, rows_of
from sidecar.adapters.reading.trees import CHAIN, ERASED, body_digest, canonical, holds, parsed, shown, walk
from sidecar.model.inspection import TestCase

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node
    from sidecar.model.inspection import Assertion

ENDINGS: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
SUITES: Final = frozenset(("describe", "context", "suite", "xdescribe", "fdescribe", "xcontext", "ddescribe"))
TESTS: Final = frozenset(
    ("it", "test", "specify", "fit", "xit", "xtest", "xspecify", "ftest", "iit", "Deno", "QUnit")
)
SKIPS: Final = frozenset(("skip", "todo", "fixme", "ignore", "skipIf", "runIf"))
FAILS: Final = frozenset(("failing", "fails", "fail"))
FUNCTIONS: Final = frozenset(("arrow_function", "function_expression", "function"))
EXPECTS: Final = re.compile(r"\b(?:assert|expect)\b")
MOST: Final = 5_000
"""Tests of one file that are read."""


class Head(Struct, frozen=True):
    """What a call of `test` or `describe` says besides its body."""

    suite: bool
    name: str = ""
    skipped: str = ""
    focused: str = ""
    expected_to_fail: str = ""
    table: tuple[str, ...] | None = None


class Place(Struct, frozen=True):
    """The describe blocks around a test. `helpers` are functions of the file that expect something."""

    prefix: str = ""
    skipped: str = ""
    focused: str = ""
    helpers: frozenset[str] = frozenset()


def javascript_tests(path: str, text: str, *, lenient: bool = False) -> tuple[TestCase, ...]:
    """The tests of a file; raises ValueError where it does not parse."""
    typed = Tongue.TYPESCRIPT if path.endswith(("ts",)) else Tongue.TSX
    root = parsed(Tongue.JAVASCRIPT if path.endswith(("js", "jsx")) else typed, text, lenient=lenient)
    found = list[TestCase]()
    waiting = [(root, Place(helpers=_helpers(root)))]
    while waiting and len(found) < MOST:
        node, place = waiting.pop()
        head = _head(node) if node.type == "call_expression" else None
        if head is None:
            waiting.extend((child, place) for child in reversed(node.children))
            continue
        callback = _callback(node)
        inner = structs.replace(
            place,
            prefix=f"{place.prefix}{head.name} > ",
            skipped=head.skipped or place.skipped,
            focused=head.focused or place.focused,
        )
        if not head.suite:
            found.append(_test(node, callback, head, place))
            inner = structs.replace(inner, skipped="", focused="")
        if callback is not None:
            waiting.extend((child, inner) for child in reversed(callback.children))
    return tuple(found)


def _helpers(root: Node) -> frozenset[str]:
    """The names of the functions at the top of a file in which something is expected."""
    found = set[str]()
    for node in root.named_children:
        inner = node.named_children[0] if node.type == "lexical_declaration" and node.named_children else node
        name = inner.child_by_field_name("name")
        if (
            name is not None
            and inner.type in ("function_declaration", "variable_declarator")
            and EXPECTS.search(text_of(inner))
        ):
            found.add(text_of(name))
    return frozenset(found)


def _test(node: Node, callback: Node | None, head: Head, place: Place) -> TestCase:
    body = callback.child_by_field_name("body") if callback is not None else None
    assertions: list[Assertion] = []
    skipped, digest = head.skipped or place.skipped, ""
    uses: tuple[str, ...] = ()
    if body is not None:
        digest, uses = body_digest(body)
        values = values_of(body)
        for seen in walk(body, _is_test):
            assertions += asserted(seen, values, place.helpers) if len(assertions) < ASSERTIONS else []
            skipped = skipped or ("" if seen.dead else _skip_inside(seen.node, body))
    if body is None and not skipped:
        skipped = one_line(text_of(node))
    table = looped(node, body) if head.table is None else Table(head.table, _parameters(callback))
    return TestCase(
        name=f"{place.prefix}{head.name}",
        line=line_of(node),
        skipped=skipped,
        expected_to_fail=head.expected_to_fail,
        assertions=bounded(assertions),
        cases=len(table.rows) if table is not None else None,
        body=digest if body is not None and body.named_child_count else "",
        focused=head.focused or place.focused,
        parameters=table.parameters if table is not None else (),
        sets=table.rows[:SETS] if table is not None else (),
        uses=uses,
        given=given(body),
    )


def _head(node: Node) -> Head | None:
    """What a call declares, None where it is neither a test nor a suite."""
    chain, calls = _chain(node.child_by_field_name("function"))
    if not _declares(chain, calls):
        return None
    arguments = node.child_by_field_name("arguments")
    if arguments is None or arguments.type != "arguments":
        return None
    given = [one for one in arguments.named_children if one.type not in ERASED]
    first = given[0] if given else None
    if first is None or not (_callback(node) is not None or _is_name(first)):
        return None
    function = node.child_by_field_name("function")
    source = one_line(f"{shown(function)}({shown(first)})")
    return Head(
        suite=chain[0] in SUITES or "describe" in chain or "module" in chain,
        name=_name(first),
        skipped=_skip(chain, calls, given, source),
        focused=_focus(chain, given, source),
        expected_to_fail=source if FAILS & set(chain) else "",
        table=_table(chain, calls, _parameters(_callback(node))),
    )


def _declares(chain: list[str], calls: list[Node]) -> bool:
    """Whether the names of a call are those of a test or a suite."""
    if not chain or chain[0] not in SUITES | TESTS or chain[-1] in ("step", "use", "extend"):
        return False
    if not calls and chain[-1] in ("each", "for", "skipIf", "runIf"):
        return False
    if chain[0] in ("Deno", "QUnit") and not {"test", "module", "skip", "todo", "only"} & set(chain[1:2]):
        return False
    return not any(name.startswith(("before", "after")) for name in chain)


def _skip(chain: list[str], calls: list[Node], given: list[Node], source: str) -> str:
    if chain[0].startswith("x"):
        return source
    for word in SKIPS & set(chain):
        condition = canonical(calls[-1], 100) if calls and word in ("skipIf", "runIf") else ""
        if condition and holds(condition) is (word == "runIf"):
            continue
        return source
    return _option(given, ("skip", "todo"), source)


def _focus(chain: list[str], given: list[Node], source: str) -> str:
    if "only" in chain or chain[0] in ("fit", "fdescribe", "ftest", "iit", "ddescribe"):
        return source
    return _option(given, ("only",), source)


def _option(given: list[Node], names: tuple[str, ...], source: str) -> str:
    """The options of node:test: `{ skip: true }`."""
    for options in given[:2]:
        if options.type != "object":
            continue
        for one in options.named_children:
            key, value = one.child_by_field_name("key"), one.child_by_field_name("value")
            if key is not None and value is not None and text_of(key).strip("'\"") in names:
                said = shown(value)
                return "" if holds(said) is False else f"{source} {{{text_of(key)}: {said}}}"
    return ""


def _chain(node: Node | None) -> tuple[list[str], list[Node]]:
    """The names of `it.only.each(...)`, and the arguments of calls in it."""
    names: list[str] = []
    calls: list[Node] = []
    for _ in range(CHAIN):
        if node is None:
            break
        if node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            calls += [arguments] if arguments is not None else []
            node = node.child_by_field_name("function")
        elif node.type == "member_expression":
            field = node.child_by_field_name("property")
            names.append(text_of(field) if field is not None else "")
            node = node.child_by_field_name("object")
        else:
            names.append(shown(node)[:50])
            return names[::-1], calls[::-1]
    return [], []


def _table(chain: list[str], calls: list[Node], parameters: tuple[str, ...]) -> tuple[str, ...] | None:
    """The rows of `each`, where they are written out."""
    if not ({"each", "for"} & set(chain)) or not calls:
        return None
    rows = calls[-1]
    if rows.type == "template_string":
        lines = [line.strip() for line in text_of(rows).strip("`").strip().split("\n")[1:]]
        return tuple(one_line("".join(line.split())) for line in lines if line)
    return rows_of(rows.named_children[0] if rows.named_children else None, parameters)


def _parameters(callback: Node | None) -> tuple[str, ...]:
    given = callback.child_by_field_name("parameters") if callback is not None else None
    if callback is not None and given is None:
        given = callback.child_by_field_name("parameter")
    return parameters_of(given)


def _callback(node: Node) -> Node | None:
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    return next((one for one in reversed(given) if one.type in FUNCTIONS), None)


def _is_test(node: Node) -> bool:
    return node.type == "call_expression" and _head(node) is not None


def _is_name(node: Node) -> bool:
    return node.type in ("string", "template_string")


def _name(node: Node) -> str:
    return one_line(text_of(node).strip("'\"`")) if _is_name(node) else shown(node)[:60]


def _skip_inside(node: Node, body: Node) -> str:
    """`t.skip()`, `this.skip()`, `test.skip(condition)`, and a return before anything is expected."""
    if node.type == "call_expression":
        chain, _ = _chain(node.child_by_field_name("function"))
        if len(chain) == 2 and chain[1] in ("skip", "todo", "fixme", "pending"):  # noqa: PLR2004 - owner and method
            return one_line(_guarded(node, body))
        return one_line(text_of(node)) if chain == ["pending"] else ""
    early = node.type == "return_statement" and node.parent == body and not node.named_child_count
    return "return" if early and "expect" in text_of(body)[node.end_byte - body.start_byte :] else ""


def _guarded(node: Node, body: Node) -> str:
    """A call with the `if` above it."""
    above = node.parent
    while above is not None and above != body:
        if above.type == "if_statement":
            return f"if {shown(above.child_by_field_name('condition'))}: {text_of(node)[:200]}"
        above = above.parent
    return text_of(node)[:200]
