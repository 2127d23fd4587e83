"""Reads what a goal's condition asks of the checks, where it says no more than checks can show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sidecar.kernel.gate import Kind
from sidecar.platform.tools import known_tools

_RUNNERS: Final = "|".join(tool.named for tool in known_tools().tools if tool.named)
GATE_KIND_WORDS: Final[dict[Kind, re.Pattern[str]]] = {
    kind: re.compile(words, re.IGNORECASE)
    for kind, words in {
        Kind.TESTS: rf"\b(tests?|test suite|specs?|{_RUNNERS})\b",
        Kind.TYPES: r"\b(type[- ]?checks?|type[- ]?checking|types? (check|are)|typecheck|mypy|pyright|tsc)\b",
        Kind.LINT: r"\b(lint(s|er|ing)?|ruff|eslint|biome|clippy|flake8)\b",
        Kind.BUILD: r"\b(builds? (is|are|(has|have) to be|(must|should) be|pass(es)?|succeeds?|works?|runs?)"
        r"|(clean|green|passing) build|it builds|compiles)\b",
        Kind.COVERAGE: r"\bcoverage\b",
        Kind.SECURITY: r"\b(vulnerabilit(y|ies)|security (scan|check|audit)|(pip|npm)[- ]audit|bandit)\b",
        Kind.PR: r"\b(pull requests?|merge requests?|PRs?)\b",
        Kind.CI: r"\b(CI|ci (is|passes)|github actions|gitlab ci)\b",
    }.items()
}
"""The words with which a goal names a kind of gate, anywhere in its condition."""
CONDITION_SUBJECT_WORDS: Final[dict[Kind, re.Pattern[str]]] = {
    Kind.TESTS: re.compile(rf"\b(tests?|suite|specs?|{_RUNNERS})\b", re.IGNORECASE),
    Kind.LINT: re.compile(r"\b(lint|linter|linting|ruff|eslint)\b", re.IGNORECASE),
    Kind.TYPES: re.compile(r"\b(types?|type[- ]?check\w*|mypy|pyright|tsc)\b", re.IGNORECASE),
    Kind.BUILD: re.compile(r"\bbuild\b", re.IGNORECASE),
}
"""The same for a condition that only says that such checks pass (`ONLY_CHECKS_PASS`)."""

TEST_PATH: Final = r"(?:[\w.-]+/)*(?:test_[\w-]*|[\w-]+_test)\.py(?:::[\w-]+(?:\[[\w.,:-]*\])?)*"
"""A file of tests, or one test, as pytest names it."""
_FILLER: Final = (
    r"please|make sure|ensure|see to it|that|get|make|until|all|every|each|the|our|my|this|project'?s?"
    r"|unit|whole|entire|of|a|both"
)
_SUBJECT: Final = (
    rf"(?:{TEST_PATH}|{_RUNNERS}|tests?|test suite|suite|specs?|checks?|lint(?:er|ing)?|ruff|eslint|mypy"
    r"|pyright|tsc|types?|type[- ]?checks?|type[- ]?checking|build)"
)
ONLY_CHECKS_PASS: Final = re.compile(
    rf"(?:(?:{_FILLER}) )*{_SUBJECT}(?:(?:,| and|, and| &) (?:(?:{_FILLER}) )*{_SUBJECT})*"
    r"(?: (?:is|are|really|now|must|should|will|all|both|do|does|can|to))*"
    r" (?:pass(?:es|ing)?|green|clean|succeeds?|check(?:s|ed)?)(?: again| now)?[.!]*",
    re.IGNORECASE,
)
_NAME: Final = r"`?(?P<{}>[A-Za-z_]\w*(?:[.:]+\w+)*)(?:\(\))?`?"
REPAIR: Final = re.compile(
    r"(?:please )?(?:"
    r"(?:fix|repair|mend|make|get) (?:the |all |our |my )?(?:failing |broken |red )?tests?"
    r"(?: (?:to )?(?:pass|green))?"
    rf"|(?:the )?{_SUBJECT} (?:is|are) (?:red|failing|broken)"
    r"|(?:fix|repair|mend)(?: (?:it|that|this|them))?"
    r"|(?:fix|repair|mend|correct) (?:the (?:bug|fault|error|problem)s? (?:in|with|of) )?"
    rf"{_NAME.format('what')}"
    rf"|{_NAME.format('that')} (?:works|is (?:fixed|repaired|right|correct))"
    r"(?: again| now| correctly| as its? (?:name|doc|docs|docstring|test|tests) says?)?"
    r")(?: again| now)?[.!]*",
    re.IGNORECASE,
)
"""A part of a condition that asks for the repair of something that has one name, or of failing tests."""
_PARTS: Final = re.compile(r"(?:[;,.]|,? and| so that) ")
_PLEASE: Final = re.compile(r",? please(?=[.!]*$)|`")


class RequestedProof(Struct, frozen=True):
    """What checks must show. `repairs`: something must have failed; `names`: what it must be about."""

    repairs: bool = False
    names: tuple[str, ...] = ()


def parse_condition(condition: str, commands: Iterable[str] = ()) -> RequestedProof | None:
    """Return what checks must show for the condition to hold; None where checks cannot show all of it.

    `commands` are shell lines of checks, by which a condition may name them.
    """
    by_word = condition
    for command in sorted(commands, key=len, reverse=True):
        by_word = by_word.replace(command, "check")
    return _parse_words(condition) or _parse_words(by_word)


def _parse_words(condition: str) -> RequestedProof | None:
    condition = _PLEASE.sub("", condition.strip())
    if ONLY_CHECKS_PASS.fullmatch(condition):
        return RequestedProof()
    names, repairs = list[str](), False
    for part in _PARTS.split(condition):
        if ONLY_CHECKS_PASS.fullmatch(part.strip()):
            continue
        found = REPAIR.fullmatch(part.strip())
        if found is None:
            return None
        repairs = True
        names += [name.split(".")[-1] for name in (found["what"], found["that"]) if name]
    return RequestedProof(repairs=repairs, names=tuple(names))


def named_tests(condition: str) -> tuple[str, ...]:
    """Return the tests that a condition names by their file or node id."""
    return tuple(dict.fromkeys(re.findall(rf"(?<![\w/.-]){TEST_PATH}", condition)))


def gate_kinds_named(condition: str) -> frozenset[Kind]:
    """Return the kinds of gates that a condition mentions; tests that it names are a gate of their own."""
    asked, condition = parse_condition(condition), re.sub(TEST_PATH, "", condition)
    named = {kind for kind, words in GATE_KIND_WORDS.items() if words.search(condition)}
    if asked is not None:
        named |= {kind for kind, words in CONDITION_SUBJECT_WORDS.items() if words.search(condition)}
    return frozenset(named)
