"""Lines that look as if they said something of a criterion, and are prose.

The reader takes a line as it is meant or not at all, and is silent about it. What is said here is why, and
how the line has to look. A key that is not quite one counts only where its value would be understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Final, NamedTuple

from sidecar.kernel.rubric import (
    CRITERION_SOURCES,
    CriterionKey,
    Flaw,
    FlawSeverity,
    QuickFix,
    RubricContext,
    RubricOutline,
    Severity,
    TextEdit,
    TextSpan,
)
from sidecar.rubric.advice.decidable import nearest
from sidecar.rubric.advice.edits import Code, line_at, without
from sidecar.rubric.advice.passage import BLOT, CACHED, Place, moved

WHEN_LIMIT: Final = 300
"""Characters of a hint, as the reader has it."""
KEYS: Final = {
    **{key.lower(): key for key in CriterionKey},
    **dict.fromkeys(("priority", "level", "importance", "weight"), CriterionKey.SEVERITY),
    **dict.fromkeys(
        ("applies", "apply to", "applicable to", "files", "paths", "globs", "scope", "only for"),
        CriterionKey.APPLIES_TO,
    ),
    **dict.fromkeys(("proof", "proven by", "decided by", "checked by", "verified by"), CriterionKey.EVIDENCE),
}
"""What people call the keys."""
SEVERITIES: Final = {
    **dict.fromkeys(("blocker", "blocking", "critical", "error", "fatal", "high", "highest"), Severity.MUST),
    **dict.fromkeys(("major", "mandatory", "required", "very important", "p0", "p1"), Severity.MUST),
    **dict.fromkeys(("medium", "moderate", "normal", "warning", "warn"), Severity.SHOULD),
    **dict.fromkeys(("minor", "important", "recommended", "low", "p2"), Severity.SHOULD),
    **dict.fromkeys(("info", "informational", "hint", "nit", "trivial", "optional", "p3"), Severity.NOTE),
}
"""What people call the severities."""
LANGUAGES: Final = {
    "python": "*.py", "typescript": "*.ts", "javascript": "*.js", "go": "*.go", "rust": "*.rs",
    "java": "*.java", "ruby": "*.rb", "php": "*.php", "markdown": "*.md", "css": "*.css", "html": "*.html",
    "sql": "*.sql", "kotlin": "*.kt", "swift": "*.swift", "shell": "*.sh", "yaml": "*.yml",
    "c#": "*.cs", "json": "*.json",
}  # fmt: skip
"""What files of a language are called."""


class _Read(NamedTuple):
    """A line that looks like one that says something; `exact`: its key is one, word for word."""

    key: CriterionKey
    exact: bool
    whole: TextSpan
    value: str


def unread(outline: RubricOutline, place: Place, around: RubricContext) -> Iterator[Flaw]:
    """Each line of a criterion that its author hardly meant as prose."""
    known = {line.key for line in place.located.lines}
    for found in _lines(place.passage.raw, place.passage.prose):
        here = found._replace(whole=moved(found.whole, place.begin))
        if found.exact and found.key in known:
            yield _second(outline, here)
        elif flaw := _flaw(here, around):
            yield flaw


def _second(outline: RubricOutline, found: _Read) -> Flaw:
    why = f"a second `{found.key}:` is prose; the first one counts"
    cut = without(outline.text, line_at(outline.text, found.whole.begin))
    fixes = (QuickFix("Leave this one out", (cut,)),)
    return Flaw(Code.UNREAD_LINE, why, *_ends(found.whole), FlawSeverity.WARNING, "Leave one of them.", fixes)


def _flaw(found: _Read, around: RubricContext) -> Flaw | None:
    better = tuple(_better(found, around))
    if not found.exact and not better:
        return None
    code, why = _why(found)
    fixes = tuple(QuickFix(f"Write `{line}`", (TextEdit(found.whole, line),)) for line in better)
    return Flaw(code, why, *_ends(found.whole), FlawSeverity.WARNING, _help(found.key), fixes)


def _why(found: _Read) -> tuple[Code, str]:
    if not found.exact:
        return Code.UNREAD_LINE, f"this is prose: the judge's reader knows `{found.key}:`"
    if found.key is CriterionKey.SEVERITY:
        return Code.UNKNOWN_SEVERITY, "this is prose, and the criterion is a must: no such severity"
    if found.key is CriterionKey.EVIDENCE:
        return Code.UNKNOWN_EVIDENCE, "this is prose: not all of it is something that decides a criterion"
    if found.key is CriterionKey.WHEN:
        return Code.UNREAD_LINE, f"this is prose: a hint has at most {WHEN_LIMIT} characters"
    return Code.UNREAD_LINE, "this is prose, and the criterion holds for all files: not all of it are globs"


def _help(key: CriterionKey) -> str:
    return {
        CriterionKey.SEVERITY: "It is must, should or note.",
        CriterionKey.APPLIES_TO: "List globs alone, as `src/**`, `*.py`.",
        CriterionKey.WHEN: "Say it shorter.",
        CriterionKey.EVIDENCE: f"List `gate:ID`, `rule:ID`, {', '.join(CRITERION_SOURCES)} alone.",
    }[key]


def _ends(span: TextSpan) -> tuple[int, int]:
    return span.begin, span.end


# --- better lines -------------------------------------------------------------------------------------------


def _better(found: _Read, around: RubricContext) -> Iterator[str]:
    """How the line could be meant."""
    if found.key is CriterionKey.SEVERITY:
        word = found.value.strip("`*_. !").casefold()
        near = [*Severity, *SEVERITIES]
        close = [word] if word in near else get_close_matches(word[:20], near, 1, 0.8)
        if close:
            yield f"Severity: {SEVERITIES.get(close[0]) or Severity(close[0])}"
        elif found.exact:
            yield from (f"Severity: {each}" for each in Severity)
    elif found.key is CriterionKey.APPLIES_TO:
        globs = _globs(found.value)
        if globs and (found.exact or _alone(found.value)):
            yield f"Applies to: {', '.join(f'`{glob}`' for glob in globs)}"
    elif found.key is CriterionKey.EVIDENCE:
        named = [nearest(each, around) for each in _listed(found.value)]
        if named and all(named):
            yield f"Evidence: {', '.join(filter(None, dict.fromkeys(named)))}"
        elif found.exact:
            yield from (f"Evidence: {each}" for each in CRITERION_SOURCES)


def _alone(value: str) -> bool:
    """Whether a value has no words beside what it lists."""
    return not re.sub(r"`[^`]*`|\S*[*/.]\S*|\band\b|\bor\b|[,;\s]", "", value[:1000])


def _listed(value: str) -> list[str]:
    return [
        each.strip("`*. ")
        for each in re.split(r"\s*(?:[,;]|\band\b|\bor\b)\s*", value[:200])
        if each.strip("`*. ")
    ]


def _globs(value: str) -> tuple[str, ...]:
    """The globs of a value that says more than globs."""
    named = re.findall(r"`([^`\s]{1,200})`", value[:1000]) or re.findall(
        r"(?<!\S)(?=[^\s,;]*[*/]|\.?[^\s,;.]+\.[a-z]{1,5}\b)[^\s,;`]{2,200}", value[:1000]
    )
    if named:
        return tuple(dict.fromkeys(each.rstrip(".") for each in named))[:20]
    found = re.fullmatch(
        r"(?:(?:all|the|every|any) )*(?P<words>[\w#+]+(?:(?:,| and| or|, and) [\w#+]+)*)"
        r" (?:source )?(?:files?|code|modules?)",
        value[:100].strip(" ."),
        re.IGNORECASE,
    )
    names = re.split(r", and | and | or |, ", found["words"].casefold()) if found else []
    return tuple(LANGUAGES[name] for name in names) if all(name in LANGUAGES for name in names) else ()


# --- lines --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=CACHED)
def _lines(raw: str, prose: str) -> tuple[_Read, ...]:
    """The lines of a criterion below its first that have a key, and are neither code nor understood."""
    found = []
    for line in _line().finditer(raw, max(raw.find("\n"), raw.find("\r"), 0)):
        begin, end = line.span("key")
        if BLOT in prose[begin:end] or not prose[begin:end].strip():
            continue
        word = " ".join(line["key"].replace("-", " ").split()).casefold()
        key = _key(word)
        if key is None:
            continue
        found.append(
            _Read(
                key,
                word in set(map(str.lower, CriterionKey)) and line["mark"] == ":" and not line["more"],
                TextSpan(begin - len(line["bold"] or ""), len(line["text"].rstrip()) + line.start("text")),
                line["value"].strip(),
            )
        )
    return tuple(found)


@lru_cache(maxsize=512)
def _key(word: str) -> CriterionKey | None:
    if word in KEYS:
        return KEYS[word]
    close = get_close_matches(
        word, [key.lower() for key in CriterionKey if key is not CriterionKey.WHEN], 1, 0.84
    )
    return KEYS[close[0]] if close else None


@cache
def _line() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?<=\n)|(?<=\r))[ \t]{0,8}(?:[-*+][ \t]{1,4})?"
        r"(?P<text>(?P<bold>\*\*|__)?(?P<key>[A-Za-z]{3,12}(?:[ -][A-Za-z]{2,4})?)(?:\*\*|__)?"
        r"(?P<more>(?: [a-z]{2,12}){1,2})?[ \t]?(?P<mark>[:=]|-(?=[ \t]))(?:\*\*|__)?"
        r"[ \t]*(?P<value>\S[^\r\n]{0,2000}))"
    )
