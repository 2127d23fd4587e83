"""The tests of Java: JUnit 3 to 5 and TestNG, with the assertions of JUnit, Hamcrest, AssertJ and Mockito."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import Tongue, line_of, text_of
from sidecar.adapters.reading.found import ASSERTIONS, HELPER, SETS, Form, bounded, one_line
from sidecar.adapters.reading.trees import (
    CHAIN,
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
    from sidecar.adapters.grammar import Node

TEST: Final = re.compile(
    r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b.*"
)
SKIP: Final = re.compile(r"@(?:\w+\.)*(?:Disabled|Ignore|Enabled)\w*(?:\(.*)?", re.DOTALL)
OFF: Final = re.compile(r"@(?:\w+\.)*Test\(.*enabled=false.*", re.DOTALL)
THROWS: Final = re.compile(r"@(?:\w+\.)*Test\(.*(?:expected|expectedExceptions)=([\w.]+).*", re.DOTALL)
ROWS: Final = re.compile(r"@(?:\w+\.)*(?:ValueSource|CsvSource|EnumSource)\((.*)\)", re.DOTALL)
CLASSES: Final = frozenset(
    ("class_declaration", "record_declaration", "interface_declaration", "enum_declaration")
)
PAIRS: Final = {
    "assertEquals": "==",
    "assertSame": "==",
    "assertArrayEquals": "==",
    "assertIterableEquals": "==",
    "assertLinesMatch": "==",
    "assertNotEquals": "!=",
    "assertNotSame": "!=",
}
SINGLES: Final = frozenset(("assertTrue", "assertFalse", "assertNull", "assertNotNull"))
FLUENT: Final = {
    **dict.fromkeys(("isEqualTo", "isSameAs", "containsExactly", "hasSize", "isEqualByComparingTo"), "=="),
    **dict.fromkeys(("isEmpty", "isZero", "isBlank"), "=="),
    **dict.fromkeys(("isNotEqualTo", "isNotSameAs"), "!="),
    **dict.fromkeys(("isNotNull", "isNotEmpty", "isPresent", "isNotBlank"), "is not None"),
    **dict.fromkeys(("contains", "containsAll", "containsKey", "containsEntry", "isIn"), "in"),
    **dict.fromkeys(("matches", "startsWith", "endsWith", "hasMessageContaining", "satisfies"), "matches"),
    **dict.fromkeys(("isInstanceOf", "isExactlyInstanceOf"), "isinstance"),
    **dict.fromkeys(("isCloseTo",), "~="),
    "isTrue": "truthy",
    "isFalse": "falsy",
    "isGreaterThan": ">",
    "isGreaterThanOrEqualTo": ">=",
    "isPositive": ">",
    "isLessThan": "<",
    "isLessThanOrEqualTo": "<=",
}
MOST: Final = 5_000


def java_tests(_path: str, text: str, *, lenient: bool = False) -> tuple[TestCase, ...]:
    """The tests of a file; raises ValueError where it does not parse."""
    root = parsed(Tongue.JAVA, text, lenient=lenient)
    found = list[TestCase]()
    waiting: list[tuple[Node, str, str, bool]] = [(root, "", "", False)]
    while waiting and len(found) < MOST:
        node, prefix, skipped, old = waiting.pop()
        inner: list[tuple[Node, str, str, bool]] = []
        for child in node.named_children:
            body, name = child.child_by_field_name("body"), child.child_by_field_name("name")
            if child.type in CLASSES and body is not None and name is not None:
                off = next((one for one in _annotations(child) if SKIP.fullmatch(one)), skipped)
                junit3 = "TestCase" in shown(child.child_by_field_name("superclass"))
                inner.append((body, f"{prefix}{text_of(name)}::", off, junit3))
            elif child.type == "method_declaration" and body is not None and name is not None:
                found += _method(child, prefix, skipped, old=old)
        waiting.extend(reversed(inner))
    return tuple(found)


def _method(node: Node, prefix: str, skipped: str, *, old: bool) -> list[TestCase]:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return []
    marks = _annotations(node)
    is_test = any(TEST.fullmatch(one) for one in marks) or (old and text_of(name).startswith("test"))
    if not is_test and not HELPER.match(text_of(name)):
        return []
    assertions = list(islice((one for seen in walk(body, _never) for one in _asserted(seen)), ASSERTIONS))
    for mark in marks:
        thrown = THROWS.fullmatch(mark)
        if thrown:
            assertions += say(node, [Form("raises", "", thrown[1].removesuffix(".class"))], dead=False)
    off = [one for one in marks if SKIP.fullmatch(one) or OFF.fullmatch(one)]
    rows = _rows(node)
    digest, uses = body_digest(body)
    inside = next(
        (one for seen in walk(body, _never) if not seen.dead and (one := _assumed(seen.node, body))), ""
    )
    return [
        TestCase(
            name=f"{prefix}{text_of(name)}",
            line=line_of(name),
            skipped=one_line(off[0] if off else skipped or inside) if is_test else "",
            assertions=bounded(assertions),
            cases=len(rows) or None,
            body=digest if body.named_child_count else "",
            parameters=tuple(re.findall(r"(\w+)[,)]", shown(node.child_by_field_name("parameters"))))
            if rows
            else (),
            sets=tuple(rows[:SETS]),
            uses=uses,
            helper=not is_test,
        )
    ]


def _annotations(node: Node) -> list[str]:
    modifiers = next((one for one in node.children if one.type == "modifiers"), None)
    if modifiers is None:
        return []
    return [canonical(one, 300) for one in modifiers.children if one.type.endswith("annotation")]


def _rows(node: Node) -> list[str]:
    """The values of `@ValueSource`, `@CsvSource` and `@EnumSource`."""
    modifiers = next((one for one in node.children if one.type == "modifiers"), None)
    for mark in modifiers.children if modifiers is not None else ():
        if not ROWS.fullmatch(canonical(mark, 2_000)):
            continue
        waiting = list(mark.children)
        while waiting:
            one = waiting.pop(0)
            if one.type == "element_value_array_initializer":
                return [shown(row) for row in one.named_children if row.type not in ERASED]
            waiting += one.children
    return []


def _never(node: Node) -> bool:
    return node.type in ERASED or node.type in CLASSES


def _assumed(node: Node, body: Node) -> str:
    """`assumeTrue(false)`, `throw new SkipException()`, and a return before anything is expected."""
    text = canonical(node, 40)
    if node.type == "method_invocation" and re.match(
        r"(?:\w+\.)*(?:assumeTrue\(false|assumeFalse\(true|abort\()", text
    ):
        return text
    if node.type == "throw_statement" and re.match(
        r"throw new (?:Skip|TestAborted|AssumptionViolated)", text
    ):
        return text
    early = node.type == "return_statement" and node.parent == body and not node.named_child_count
    return "return" if early and "assert" in text_of(body)[node.end_byte - body.start_byte :] else ""


def _asserted(seen: Seen) -> list[Assertion]:
    node = seen.node
    if node.type == "assert_statement" and node.named_children:
        return say(node, truth(node.named_children[0]), dead=seen.dead)
    if node.type != "method_invocation" or (
        node.parent is not None and node.parent.type == "method_invocation"
    ):
        return []
    chain = _chain(node)
    names = [name for name, _ in chain]
    if "assertThat" in names:
        at = names.index("assertThat")
        return say(node, _that(chain[at][1], chain[at + 1 :]), dead=seen.dead)
    name, given = chain[-1]
    texts = [shown(one) for one in given]
    if name == "fail":
        return say(node, [Form("fails")], dead=seen.dead)
    if "verify" in names and name != "verify":
        return say(node, [Form("called with", name, ", ".join(texts))], dead=seen.dead)
    alone = node.parent is not None and node.parent.type == "expression_statement"
    return say(node, _plain(name, given, texts, shown(node) if alone else ""), dead=seen.dead)


def _plain(name: str, given: list[Node], texts: list[str], source: str) -> list[Form]:
    """JUnit's own; a message stands first in JUnit 4 and last in 5."""
    if name in PAIRS and len(texts) > 1:
        return [_pair(name, texts)]
    if name in SINGLES and given:
        return _single(name, given[-1] if texts[0].startswith('"') else given[0])
    if name in ("assertThrows", "assertThrowsExactly", "assertThatThrownBy", "assertInstanceOf") and texts:
        subject = texts[1].removeprefix("()->") if len(texts) > 1 else ""
        return [
            Form("isinstance" if name.endswith("Of") else "raises", subject, texts[0].removesuffix(".class"))
        ]
    return [Form("opaque", source)] if source and HELPER.match(name) else []


def _pair(name: str, texts: list[str]) -> Form:
    if len(texts) > 2 and texts[0].startswith('"') and not texts[2].startswith('"'):  # noqa: PLR2004 - a message
        texts = texts[1:]
    third = texts[2] if len(texts) > 2 else '"'  # noqa: PLR2004 - a delta
    if PAIRS[name] == "==" and not third.startswith('"') and "->" not in third:
        return Form("~=", texts[1], f"{texts[0]} within abs {third.rstrip('dDfF')}")
    return pair(PAIRS[name], texts[1], texts[0])


def _single(name: str, node: Node) -> list[Form]:
    text = shown(node)
    match name:
        case "assertTrue":
            return truth(node)
        case "assertFalse":
            return [opposite(truth(node), text)]
        case "assertNull":
            return [Form("==", text, "None")]
        case _:
            return [Form("is not None", text, void=literal(text))]


def _that(looked: list[Node], steps: list[tuple[str, list[Node]]]) -> list[Form]:
    """AssertJ's chains, each step an expectation, and Hamcrest's matchers."""
    if not looked:
        return []
    subject = shown(looked[0])
    if len(looked) > 1:
        matcher = shown(looked[-1])
        inner = re.fullmatch(r"(?:is|equalTo)\((?:equalTo\()?(.*?)\)+", matcher)
        return (
            [pair("==", subject, inner[1])] if inner else [Form(matcher.partition("(")[0], subject, matcher)]
        )
    found = list[Form]()
    for name, given in steps:
        texts = ", ".join(map(shown, given))
        if name == "isTrue":
            found += truth(looked[0])
        elif name == "isNull":
            found.append(Form("==", subject, "None"))
        elif name in FLUENT and FLUENT[name] == "==" and given and name != "hasSize":
            found.append(pair("==", subject, texts))
        elif name in FLUENT:
            expected = texts or (name if FLUENT[name] == "==" else "")
            found.append(
                Form(
                    FLUENT[name],
                    f"{subject}.size()" if name == "hasSize" else subject,
                    expected,
                    literal(subject),
                )
            )
    return found or [Form("opaque", f"{subject} {' '.join(name for name, _ in steps)}")]


def _chain(node: Node | None) -> list[tuple[str, list[Node]]]:
    """The calls of `a(x).b(y)`, the first first."""
    found: list[tuple[str, list[Node]]] = []
    for _ in range(CHAIN):
        if node is None or node.type != "method_invocation":
            break
        name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        given = [one for one in arguments.named_children if one.type not in ERASED] if arguments else []
        found.append((text_of(name) if name is not None else "", given))
        node = node.child_by_field_name("object")
    return found[::-1]
