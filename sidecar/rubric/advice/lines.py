"""Lines that look as if they said something of a criterion and are prose, and what decides a criterion.

The reader takes a line as it is meant or not at all, and is silent about it. What is said here is why, and
how the line has to look. A key that is not quite one counts only where its value would be understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, NamedTuple

from sidecar.kernel.rubric import (
    CRITERION_SOURCES,
    CriterionKey,
    Flaw,
    RubricContext,
    RubricOutline,
    Severity,
    TextSpan,
)
from sidecar.rubric.advice.edits import Code, fix, line_at, moved, warn, without
from sidecar.rubric.advice.passage import BLOT, CACHED, Place
from sidecar.rubric.advice.wording import AdviceWording, meant_by

WHEN_LIMIT: Final = 300
"""Characters of a hint, as the reader has it."""
NEAR: Final = 0.6
"""How alike two names are that one is offered for the other, from 0 to 1; measured as difflib does."""
OFFERED: Final = 3
"""Names that are offered for an unknown one."""
LINE: Final = (
    r"(?:(?<=\n)|(?<=\r))[ \t]{0,8}(?:[-*+][ \t]{1,4})?"
    r"(?P<text>(?P<bold>\*\*|__)?(?P<key>[A-Za-z]{3,12}(?:[ -][A-Za-z]{2,4})?)(?:\*\*|__)?"
    r"(?P<more>(?: [a-z]{2,12}){1,2})?[ \t]?(?P<mark>[:=]|-(?=[ \t]))(?:\*\*|__)?"
    r"[ \t]*(?P<value>\S[^\r\n]{0,2000}))"
)
FILES_OF: Final = (
    r"(?i)(?:(?:all|the|every|any) )*(?P<words>[\w#+]+(?:(?:,| and| or|, and) [\w#+]+)*)"
    r" (?:source )?(?:files?|code|modules?)"
)
"""Files that are named by their language."""
UNREAD: Final = {
    CriterionKey.SEVERITY: (Code.UNKNOWN_SEVERITY, "the criterion is a must: no such severity"),
    CriterionKey.EVIDENCE: (Code.UNKNOWN_EVIDENCE, "not all of it is something that decides a criterion"),
    CriterionKey.WHEN: (Code.UNREAD_LINE, f"a hint has at most {WHEN_LIMIT} characters"),
    CriterionKey.APPLIES_TO: (Code.UNREAD_LINE, "the criterion holds for all files: not all of it are globs"),
}
HELP: Final = {
    CriterionKey.SEVERITY: "It is must, should or note.",
    CriterionKey.EVIDENCE: f"List `gate:ID`, `rule:ID`, {', '.join(CRITERION_SOURCES)} alone.",
    CriterionKey.WHEN: "Say it shorter.",
    CriterionKey.APPLIES_TO: "List globs alone, as `src/**`, `*.py`.",
}
"""What is said of a line of each key, and what to do."""


class _Read(NamedTuple):
    """A line that looks like one that says something; `exact`: its key is one, word for word."""

    key: CriterionKey
    exact: bool
    whole: TextSpan
    value: str


def unread(
    outline: RubricOutline, place: Place, around: RubricContext, wording: AdviceWording
) -> Iterator[Flaw]:
    """Each line of a criterion that its author hardly meant as prose."""
    known = {line.key for line in place.located.lines}
    for found in _lines(place.passage.raw, place.passage.prose, wording):
        key, span = found.key, moved(found.whole, place.begin)
        code, why = UNREAD[key]
        if found.exact and key in known:
            drop = without(outline.text, line_at(outline.text, span.begin), "Leave this one out")
            why = f"a second `{key}:` is prose; the first one counts"
            yield warn(Code.UNREAD_LINE, why, span, "Leave one of them.", drop)
            continue
        fixes = [fix(f"Write `{line}`", span, line) for line in _better(found, around, wording)]
        if found.exact:
            yield warn(code, f"this is prose, and {why}", span, HELP[key], *fixes)
        elif fixes:
            why = f"this is prose: the judge's reader knows `{key}:`"
            yield warn(Code.UNREAD_LINE, why, span, HELP[key], *fixes)


def unknown(place: Place, around: RubricContext) -> Iterator[Flaw]:
    """Each gate or rule in `Evidence:` that the project or Supervisor does not have."""
    one = place.located.criterion
    strange = [each for each in one.evidence if not _known(each, around)]
    alone = " Nothing else is named, so nothing can decide it." if len(strange) == len(one.evidence) else ""
    for line in place.located.lines:
        if line.key is not CriterionKey.EVIDENCE:
            continue
        for part, name in zip(line.parts, one.evidence, strict=False):
            kind, _, ident = name.partition(":")
            if name in strange:
                code = Code.UNKNOWN_GATE if kind == "gate" else Code.UNKNOWN_RULE
                names = ", ".join(_names(kind, around)[:12])
                fixes = [fix(f"Name `{near}`", part, near) for near in _near(kind, ident, around)]
                help_ = f"There are: {names}." if names else ""
                yield warn(code, f"there is no {kind} `{ident}`.{alone}", part, help_, *fixes)


def _names(kind: str, around: RubricContext) -> tuple[str, ...]:
    return {"gate": around.gates or (), "rule": around.rules}.get(kind, ())


def _known(name: str, around: RubricContext) -> bool:
    """Whether something decides a criterion by this name, or may."""
    kind, _, ident = name.partition(":")
    if kind == "gate" and ident:
        return around.gates is None or ident in around.gates
    if kind == "rule" and ident:
        return not around.rules or ident in around.rules
    return name in CRITERION_SOURCES


def _near(kind: str, ident: str, around: RubricContext) -> list[str]:
    return [f"{kind}:{name}" for name in get_close_matches(ident[:100], _names(kind, around), OFFERED, NEAR)]


# --- how a line could be meant ------------------------------------------------------------------------------


def _better(found: _Read, around: RubricContext, wording: AdviceWording) -> Iterator[str]:
    if found.key is CriterionKey.SEVERITY:
        word = found.value.strip("`*_. !").casefold()[:20]
        names = [each for known in wording.severities.values() for each in known]
        close = [word] if word in names else get_close_matches(word, names, 1, 0.8)
        if close:
            severity = meant_by(close[0], wording.severities)
            yield f"Severity: {severity}"
        elif found.exact:
            yield from (f"Severity: {each}" for each in Severity)
    elif found.key is CriterionKey.APPLIES_TO:
        globs = _globs(found.value[:1000], wording)
        alone = not re.sub(r"`[^`]*`|\S*[*/.]\S*|\band\b|\bor\b|[,;\s]", "", found.value[:1000])
        if globs and (found.exact or alone):
            yield f"Applies to: {', '.join(f'`{glob}`' for glob in globs)}"
    elif found.key is CriterionKey.EVIDENCE:
        parts = re.split(r"\s*(?:[,;]|\band\b|\bor\b)\s*", found.value[:200])
        named = [_source(word, around, wording) for part in parts if (word := part.strip("`*. "))]
        if named and all(named):
            yield f"Evidence: {', '.join(filter(None, dict.fromkeys(named)))}"
        elif found.exact:
            yield from (f"Evidence: {each}" for each in CRITERION_SOURCES)


def _source(said: str, around: RubricContext, wording: AdviceWording) -> str | None:
    """What somebody means by this word; None where it can be anything."""
    word = " ".join(said.casefold().split())[:100]
    if meant := meant_by(word, wording.sources):
        return meant
    kind, _, ident = (part.strip() for part in word.partition(":"))
    if kind in {"gate", "rule"}:
        exact = f"{kind}:{'-'.join(ident.split())}"
        return exact if _known(exact, around) else next(iter(_near(kind, ident, around)), None)
    names = {name: f"{each}:{name}" for each in ("rule", "gate") for name in _names(each, around)}
    close = get_close_matches(word, [*names, *CRITERION_SOURCES], 1, 0.8)
    return names.get(close[0], close[0]) if close else None


def _globs(value: str, wording: AdviceWording) -> tuple[str, ...]:
    """The globs of a value that says more than globs."""
    named = re.findall(r"`([^`\s]{1,200})`", value) or re.findall(
        r"(?<!\S)(?=[^\s,;]*[*/]|\.?[^\s,;.]+\.[a-z]{1,5}\b)[^\s,;`]{2,200}", value
    )
    if named:
        return tuple(dict.fromkeys(each.rstrip(".") for each in named))[:20]
    found = re.fullmatch(FILES_OF, value[:100].strip(" ."))
    names = re.split(r", and | and | or |, ", found["words"].casefold()) if found else []
    known = [wording.languages[name] for name in names if name in wording.languages]
    return tuple(known) if len(known) == len(names) else ()


@lru_cache(maxsize=CACHED)
def _lines(raw: str, prose: str, wording: AdviceWording) -> tuple[_Read, ...]:
    """The lines of a criterion below its first that have a key, and are neither code nor understood."""
    found = []
    for line in re.compile(LINE).finditer(raw, max(raw.find("\n"), raw.find("\r"), 0)):
        begin, end = line.span("key")
        if BLOT in prose[begin:end] or not prose[begin:end].strip():
            continue
        word = " ".join(line["key"].replace("-", " ").split()).casefold()
        near = get_close_matches(word, ("severity", "applies to", "evidence"), 1, 0.84)
        key = next(filter(None, (meant_by(each, wording.keys) for each in (word, *near))), None)
        if key is not None:
            plain = word == key.lower() and line["mark"] == ":" and not line["more"]
            whole = TextSpan(begin - len(line["bold"] or ""), len(line["text"].rstrip()) + line.start("text"))
            found.append(_Read(key, plain, whole, line["value"].strip()))
    return tuple(found)
