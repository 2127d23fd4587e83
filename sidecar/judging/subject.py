"""Classifies what a goal is about: work that only a run can prove, or documents, files and git.

A goal is about FILES only if its own words say so, none of them mentions a check, and nothing that could run
was changed. A goal that is also about work needs a run besides (BOTH). Any doubt, and any language whose
words are not known here, makes it WORK, which asks for more proof and never for less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Final

from sidecar.kernel.evidence import FileDiff


class GoalSubject(StrEnum):
    """What proof a goal needs.

    WORK: a run for each part. FILES: each part is shown by its files. BOTH: a run for at least one part.
    """

    WORK = "work"
    FILES = "files"
    BOTH = "both"


_DOCUMENTS: Final = (
    r"\b(?:readme|changelog|change ?log|licen[sc]e|contributing|docs?|document(?:s|ed|ation)?|docstrings?"
    r"|guide|tutorial|manual|release notes|translations?|glossary|report|summary|essay|article|blog post"
    r"|dokumentation|doku|handbuch|anleitung|documentaci\u00f3n|documenta\u00e7\u00e3o|documentazione"
    r"|\u0434\u043e\u043a\u0443\u043c\u0435\u043d\u0442\w*)\b"
    r"|\.(?:md|rst|adoc|txt)\b|\u6587\u6863|\u8bf4\u660e|\u30c9\u30ad\u30e5\u30e1\u30f3\u30c8|\ubb38\uc11c"
)
_FILES: Final = (
    r"\b(?:renam|mov|delet|remov|creat|cop(?:y|ie))\w*\b.{0,60}\b(?:files?|folders?|director(?:y|ies))\b"
    r"|\b(?:files?|folders?|director(?:y|ies))\b.{0,60}\b(?:renamed|moved|deleted|removed|gone|exists?)\b"
)
_GIT: Final = (
    r"\b(?:committed|commits? (?:all|every|the|this|it|my|our)|everything is in git|pushed"
    r"|push (?:the|this|my|our|it|to)\b.{0,40}\b(?:branch|commits?|origin|main|master|remote|upstream)"
    r"|rebased?|squash(?:ed)?|cherry-?pick(?:ed)?|pull request|merge request|tagged"
    r"|merged? .{0,40}\b(?:branch|main|master))\b"
    r"|\u63d0\u4ea4|\u63a8\u9001|\u30b3\u30df\u30c3\u30c8|\ucee4\ubc0b"
)
_CHECKS: Final = (
    r"\b(?:tests?|test suite|pytest|specs?|builds?|built|compil\w+|lint\w*|type-?checks?|mypy|tsc|coverage|ci"
    r"|prueb\w+|kompilier\w+|\u0442\u0435\u0441\u0442\w*)\b|\u6d4b\u8bd5|\u30c6\u30b9\u30c8|\ud14c\uc2a4\ud2b8"
)
_WORK: Final = (
    r"\b(?:functions?|methods?|class(?:es)?|endpoints?|api|parser|components?|servers?|apps?|pages?|buttons?"
    r"|quer(?:y|ies)|features?|bugs?|crash\w*|implement\w*|returns?|accepts?|rejects?|raises?|refactor\w*"
    r"|migrat\w+|perform\w*|works?|working|runs?|running|script|command|program|cli|exit code)\b"
)
_INERT: Final = (
    r"(?:.*/)?(?:(?:readme|license|changelog|authors|notice|contributing|codeowners)[^/]*"
    r"|[^/]*\.(?:md|rst|adoc|txt|tex|rtf|org|png|jpe?g|gif|svg|ico|webp|pdf|csv|tsv|pot?|json|ya?ml"
    r"|toml|ini|cfg|conf|properties|lock)|\.(?:git(?:ignore|attributes)|editorconfig|env[^/]*))"
)
_TESTS: Final = (
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|integration|features)/|(?:^|/)test_|[._-](?:test|tests|spec)\."
    r"|Tests?\.\w+$"
)
_PROSE: Final = (
    r"(?!(?:.*/)?[^/]*(?:prompt|template|content|skill|agent|command|fixture|test|rubric|example)[^/]*/)"
    r"(?:(?:.*/)?(?:readme|license|changelog|authors|notice|contributing)[^/]*"
    r"|.*\.(?:md|rst|adoc|txt|png|jpe?g|svg))"
)
"""Files that are usually neither run nor read by a program: texts for people."""
_COMMENT: Final = r"(?:#(?!!|include|define|if|endif|pragma)|//|/\*|\*(?:\s|/|$)|--\s|<!--|;|%|\"\"\"|''').*"
"""A line that looks like a comment in a language that uses these markers."""
_GREEN: Final = (
    r"\W{0,9}(?:(?:please|make|makes|sure|ensure|that|get|until|the|all|every|each|of|our|my|its|unit|integration"
    r"|whole|entire|existing|failing|broken|remaining|project'?s?|again|to|see|it|\d+|one|two|three)\W{1,3}){0,8}"
    r"(?:tests?|suite|pytest|specs?|builds?|lint\w*|type-?checks?|types|mypy|tsc|ci|checks?|it|everything)\b"
    r"[^.,;]{0,60}\b(?:pass\w*|green|clean|succeed\w*|exits? (?:with )?0"
    r"|no (?:new )?errors|without errors|compiles?)\b"
)
"""A goal whose first words ask for a check to pass."""


def classify_goal(condition: str, edits: Iterable[FileDiff], *, unseen: bool) -> GoalSubject:
    """Return what proof a goal needs. `unseen`: not all changes are known."""
    edits = tuple(edits)
    inert = not unseen and bool(edits) and all(map(_is_inert, edits))
    if _find_pattern(_CHECKS, condition) >= 0:
        return (
            GoalSubject.BOTH
            if _find_file_mention(condition, edits) >= 0 or _about_git(condition)
            else GoalSubject.WORK
        )
    work = _find_pattern(_WORK, condition)
    if _about_git(condition):
        return GoalSubject.FILES if work < 0 else GoalSubject.BOTH
    files = _find_file_mention(condition, edits)
    if files < 0:
        return GoalSubject.WORK
    return GoalSubject.FILES if inert and (work < 0 or files < work) else GoalSubject.BOTH


def is_about_files(text: str, edits: Iterable[FileDiff]) -> bool:
    """Whether one part of a goal is about documents, files or git, and about nothing that runs."""
    if _find_pattern(_CHECKS, text) >= 0 or _find_pattern(_WORK, text) >= 0:
        return False
    return _about_git(text) or _find_file_mention(text, tuple(edits)) >= 0


def _about_git(text: str) -> bool:
    return _find_pattern(_GIT, text) >= 0


def _find_file_mention(text: str, edits: tuple[FileDiff, ...]) -> int:
    """Position where a text first mentions documents, files or a changed inert file; -1 if none."""
    lower = text.lower()
    named = (lower.find(edit.path.lower()) for edit in edits if edit.path and _is_inert(edit))
    places = [
        place
        for place in (_find_pattern(_DOCUMENTS, text), _find_pattern(_FILES, text), *named)
        if place >= 0
    ]
    return min(places, default=-1)


def only_prose_changed(edits: Iterable[FileDiff]) -> bool:
    """Whether only texts for people and comments were changed, or nothing."""
    return all(map(_is_prose_or_comment, edits))


def adds_to_tests(edits: Iterable[FileDiff]) -> bool:
    """Whether lines were added to a test file."""
    return any(edit.added > 0 and _compile_pattern(_TESTS).search(edit.path) for edit in edits)


def asks_checks_to_pass(condition: str) -> bool:
    """Whether a goal's first words ask for checks to pass."""
    return _compile_pattern(_GREEN).match(condition[:400]) is not None


def _is_inert(edit: FileDiff) -> bool:
    """Whether a change adds nothing that could run: text, data, or only a removal or a rename."""
    return edit.added == 0 or _compile_pattern(_INERT).fullmatch(edit.path) is not None


def _is_prose_or_comment(edit: FileDiff) -> bool:
    if _compile_pattern(_PROSE).fullmatch(edit.path):
        return True
    added = [line[1:].strip() for line in edit.hunks.splitlines() if line.startswith("+")]
    removed = [line for line in edit.hunks.splitlines() if line.startswith("-") and line[1:].strip()]
    whole = bool(added) and len(added) >= edit.added and not removed and not edit.removed
    return whole and all(not line or _compile_pattern(_COMMENT).match(line) for line in added)


def _find_pattern(pattern: str, text: str) -> int:
    found = _compile_pattern(pattern).search(text[:4_000])
    return found.start() if found else -1


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
