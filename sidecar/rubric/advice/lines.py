"""The codes of advice, how a flaw and its fix are made, and the advice about lines of a criterion.

Advised on are lines that are prose and look as if they set something, and names and globs that mean nothing.

The reader takes a line as it is meant or not at all, and reports nothing about it. Advice says why, and how
the line has to look. A key that is not quite one counts only where its value would be understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct

from sidecar.kernel.rubric import (
    CRITERION_SOURCES,
    CriterionKey,
    Flaw,
    FlawSeverity,
    LocatedCriterion,
    QuickFix,
    RubricContext,
    RubricOutline,
    SectionRole,
    Severity,
    TextEdit,
    TextSpan,
)
from sidecar.rubric.conventions import glob_matches_path

T = TypeVar("T")


class Code(StrEnum):
    """docs/rubric.md has a row for each. They stay: scripts name them."""

    GLOB_INVALID = "glob-invalid"
    GLOB_MATCHES_NOTHING = "glob-matches-nothing"
    TOO_LONG_CRITERION = "too-long-criterion"
    TOO_MANY_CRITERIA = "too-many-criteria"
    UNKNOWN_EVIDENCE = "unknown-evidence"
    UNKNOWN_GATE = "unknown-gate"
    UNKNOWN_RULE = "unknown-rule"
    UNKNOWN_SECTION = "unknown-section"
    UNKNOWN_SEVERITY = "unknown-severity"
    UNREAD_LINE = "unread-line"


class AdviceWording(Struct, frozen=True, forbid_unknown_fields=True, eq=False):
    """The data file rubric_advice.toml: what people call each known name.

    `templates` are criteria that hold in any project, for a section that has none.
    """

    section_titles: dict[SectionRole, tuple[str, ...]]
    keys: dict[CriterionKey, tuple[str, ...]]
    severities: dict[Severity, tuple[str, ...]]
    sources: dict[str, tuple[str, ...]]
    templates: dict[SectionRole, str]


def name_meant_by(word: str, names: Mapping[T, Iterable[str]]) -> T | None:
    """Return the name that people mean who write this word."""
    return next((meant for meant, known in names.items() if word in known), None)


def warning(code: Code, why: str, span: TextSpan, help_: str = "", *fixes: QuickFix) -> Flaw:
    """Return a flaw that is hardly meant."""
    return Flaw(code, why, span.begin, span.end, FlawSeverity.WARNING, help_, fixes)


def hint(code: Code, why: str, span: TextSpan, help_: str = "", *fixes: QuickFix) -> Flaw:
    """Return a flaw that could be better."""
    return Flaw(code, why, span.begin, span.end, FlawSeverity.HINT, help_, fixes)


def fix_by(title: str, place: TextSpan, text: str) -> QuickFix:
    """Return a fix that writes `text` in one place."""
    return QuickFix(title, (TextEdit(place, text),))


def line_end_of(text: str) -> str:
    """Return how the lines of a text end."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


# --- Lines, names and globs of a criterion ------------------------------------------------------------------


NAME_LIKENESS: Final = 0.6
"""How alike two names are that one is offered for the other, from 0 to 1, as difflib measures."""
KEY_LIKENESS: Final = 0.84
"""How alike a word is to a key that it is taken for."""
WORD_LIKENESS: Final = 0.8
"""How alike a value is to a known one that it is taken for."""
OFFERED: Final = 3
"""Names that are offered for an unknown one."""
LISTED: Final = 12
"""Known names that are listed."""

LINE: Final = re.compile(
    r"(?:(?<=\n)|(?<=\r))[ \t]{0,8}(?:[-*+][ \t]{1,4})?"
    r"(?P<text>(?:\*\*|__)?(?P<key>[A-Za-z]{3,12}(?:[ -][A-Za-z]{2,4})?)(?:\*\*|__)?"
    r"[ \t]?(?P<mark>[:=]|-(?=[ \t]))(?:\*\*|__)?[ \t]*(?P<value>\S[^\r\n]{0,2000}))"
)
UNREAD: Final = {
    CriterionKey.SEVERITY: (Code.UNKNOWN_SEVERITY, "the criterion is a must: no such severity"),
    CriterionKey.EVIDENCE: (Code.UNKNOWN_EVIDENCE, "not all of it is something that decides a criterion"),
    CriterionKey.WHEN: (Code.UNREAD_LINE, "a hint has at most 300 characters"),
    CriterionKey.APPLIES_TO: (
        Code.UNREAD_LINE,
        "the criterion holds for all files: not all of them are globs",
    ),
}
HELP: Final = {
    CriterionKey.SEVERITY: "It is must, should or note.",
    CriterionKey.EVIDENCE: f"List `gate:ID`, `rule:ID`, {', '.join(CRITERION_SOURCES)} alone.",
    CriterionKey.WHEN: "Say it shorter.",
    CriterionKey.APPLIES_TO: "List globs alone, as `src/**`, `*.py`.",
}
"""What is said of a line of each key, and what to do."""


class _UnreadLine(NamedTuple):
    """A line that looks like one that sets something; `exact`: its key is one, word for word."""

    key: CriterionKey
    exact: bool
    span: TextSpan
    value: str


def unread_lines(
    outline: RubricOutline, one: LocatedCriterion, around: RubricContext, wording: AdviceWording
) -> Iterator[Flaw]:
    """Yield each line of a criterion that its author hardly meant as prose."""
    read = {line.key for line in one.lines}
    for found in _unread_lines_of(outline, one, wording):
        key, span = found.key, found.span
        code, why = UNREAD[key]
        fixes = [fix_by(f"Write `{line}`", span, line) for line in _lines_meant(found, around, wording)]
        if found.exact and key in read:
            why = f"a second `{key}:` is prose; the first one counts"
            yield warning(Code.UNREAD_LINE, why, span, "Leave one of them.")
        elif found.exact:
            yield warning(code, f"this is prose, and {why}", span, HELP[key], *fixes)
        elif fixes:
            why = f"this is prose: the judge's reader knows `{key}:`"
            yield warning(Code.UNREAD_LINE, why, span, HELP[key], *fixes)


def _unread_lines_of(
    outline: RubricOutline, one: LocatedCriterion, wording: AdviceWording
) -> Iterator[_UnreadLine]:
    """Yield the lines below a criterion's first one that have a key, and are neither code nor understood."""
    text, begin, end = outline.text, one.whole.begin, one.whole.end
    first = min((at for mark in "\r\n" if (at := text.find(mark, begin, end)) >= 0), default=end)
    understood = [line.whole for line in one.lines]
    for line in LINE.finditer(text, first, end):
        span = TextSpan(line.start("text"), line.start("text") + len(line["text"].rstrip()))
        if any(span.begin in each for each in (*outline.code, *understood)):
            continue
        word = " ".join(line["key"].replace("-", " ").split()).casefold()
        near = get_close_matches(word, ("severity", "applies to", "evidence"), 1, KEY_LIKENESS)
        key = next(filter(None, (name_meant_by(each, wording.keys) for each in (word, *near))), None)
        if key is not None:
            exact = word == key.casefold() and line["mark"] == ":"
            yield _UnreadLine(key, exact, span, line["value"].strip())


# --- how a line is meant ------------------------------------------------------------------------------------


def _lines_meant(found: _UnreadLine, around: RubricContext, wording: AdviceWording) -> Iterator[str]:
    """Yield the lines that may be meant; all possible ones where only the key is clear."""
    if found.key is CriterionKey.SEVERITY:
        word = found.value.strip("`*_. !").casefold()[:20]
        known = [each for words in wording.severities.values() for each in words]
        if near := get_close_matches(word, known, 1, WORD_LIKENESS):
            severity = name_meant_by(near[0], wording.severities)
            yield f"Severity: {severity}"
        elif found.exact:
            yield from (f"Severity: {each}" for each in Severity)
    elif found.key is CriterionKey.APPLIES_TO:
        value = found.value[:1000]
        alone = not re.sub(r"`[^`]*`|\S*[*/.]\S*|\band\b|\bor\b|[,;\s]", "", value)
        if (globs := _globs_in(value)) and (found.exact or alone):
            yield f"Applies to: {', '.join(f'`{glob}`' for glob in globs)}"
    elif found.key is CriterionKey.EVIDENCE:
        parts = re.split(r"\s*(?:[,;]|\band\b|\bor\b)\s*", found.value[:200])
        named = [_source_meant(word, around, wording) for part in parts if (word := part.strip("`*. "))]
        if named and all(named):
            yield f"Evidence: {', '.join(filter(None, dict.fromkeys(named)))}"
        elif found.exact:
            yield from (f"Evidence: {each}" for each in CRITERION_SOURCES)


def _source_meant(said: str, around: RubricContext, wording: AdviceWording) -> str | None:
    """Return the source of evidence that is meant by a word; None where it can be anything."""
    word = " ".join(said.casefold().split())[:100]
    if meant := name_meant_by(word, wording.sources):
        return meant
    kind, _, ident = (part.strip() for part in word.partition(":"))
    if kind in {"gate", "rule"}:
        exact = f"{kind}:{'-'.join(ident.split())}"
        return exact if _is_known(exact, around) else next(iter(_similar_names(kind, ident, around)), None)
    names = {name: f"{each}:{name}" for each in ("rule", "gate") for name in _known_names(each, around)}
    close = get_close_matches(word, [*names, *CRITERION_SOURCES], 1, WORD_LIKENESS)
    return names.get(close[0], close[0]) if close else None


def _globs_in(value: str) -> tuple[str, ...]:
    """Return the globs of a value that holds other words too: what is quoted, else what looks like one."""
    named = re.findall(r"`([^`\s]{1,200})`", value) or re.findall(
        r"(?<!\S)(?=[^\s,;]*[*/]|\.?[^\s,;.]+\.[a-z]{1,5}\b)[^\s,;`]{2,200}", value
    )
    return tuple(dict.fromkeys(each.rstrip(".") for each in named))[:20]


# --- gates and rules ----------------------------------------------------------------------------------------


def unknown_names(one: LocatedCriterion, around: RubricContext) -> Iterator[Flaw]:
    """Yield each gate or rule in `Evidence:` that the project or Supervisor does not have."""
    evidence = one.criterion.evidence
    strange = {each for each in evidence if not _is_known(each, around)}
    alone = " Nothing else is named, so nothing can decide it." if strange.issuperset(evidence) else ""
    for part, name in _parts_of(one, CriterionKey.EVIDENCE, evidence):
        if name in strange:
            kind, _, ident = name.partition(":")
            code = Code.UNKNOWN_GATE if kind == "gate" else Code.UNKNOWN_RULE
            known = ", ".join(_known_names(kind, around)[:LISTED])
            fixes = [fix_by(f"Name `{near}`", part, near) for near in _similar_names(kind, ident, around)]
            why = f"there is no {kind} `{ident}`.{alone}"
            yield warning(code, why, part, f"There are: {known}." if known else "", *fixes)


def _parts_of(
    one: LocatedCriterion, key: CriterionKey, values: tuple[str, ...]
) -> list[tuple[TextSpan, str]]:
    """Return the place and the value of each item of a criterion's line with this key."""
    parts = [part for line in one.lines if line.key is key for part in line.parts]
    return list(zip(parts, values, strict=False))


def _known_names(kind: str, around: RubricContext) -> tuple[str, ...]:
    return {"gate": around.gates or (), "rule": around.rules}.get(kind, ())


def _is_known(name: str, around: RubricContext) -> bool:
    """Return whether something decides a criterion by this name, or may."""
    kind, _, ident = name.partition(":")
    if kind == "gate" and ident:
        return around.gates is None or ident in around.gates
    if kind == "rule" and ident:
        return not around.rules or ident in around.rules
    return name in CRITERION_SOURCES


def _similar_names(kind: str, ident: str, around: RubricContext) -> list[str]:
    near = get_close_matches(ident[:100], _known_names(kind, around), OFFERED, NAME_LIKENESS)
    return [f"{kind}:{name}" for name in near]


# --- globs --------------------------------------------------------------------------------------------------


PATHS_LIMIT: Final = 5_000
"""Files of a project above which globs are not compared with them: that would take more than some 10 ms."""
WILDCARDS_LIMIT: Final = 8
"""Wildcards of a glob above which it is not compared: with each, there are more ways to match a path."""
FOLDER_LIKENESS: Final = 0.75
"""How alike two folders are that one is offered for the other."""


def strange_globs(one: LocatedCriterion, around: RubricContext) -> Iterator[Flaw]:
    """Yield each glob that can mean nothing, and each that means no file where all of a criterion do."""
    paths = around.paths if around.paths is not None and not around.more else None
    globs = one.criterion.applies_to
    useful = paths is not None and any(_may_mean_a_file(glob, paths) for glob in globs if glob[:1] != "!")
    for part, glob in _parts_of(one, CriterionKey.APPLIES_TO, globs):
        bare = glob.removeprefix("!")
        if fault := _glob_fault(bare):
            yield warning(Code.GLOB_INVALID, fault, part)
        elif paths is not None and not _may_mean_a_file(bare, paths):
            why = "it means no file of the project"
            better = next(_globs_of_similar_folders(bare, paths), "")
            if better:  # else the files may be yet to come
                fix = fix_by(f"Write `{better}`", part, glob.removesuffix(bare) + better)
                yield warning(Code.GLOB_MATCHES_NOTHING, why, part, "", fix)
            elif not useful:
                yield hint(Code.GLOB_MATCHES_NOTHING, why, part)


def _glob_fault(glob: str) -> str:
    """Return why a glob can mean no file, "" if it may."""
    folders = glob.removeprefix("./").lstrip("/").split("/")
    faults = (
        (not glob.strip("/."), "this names no file"),
        (folders[0] == ".git", "files of the version control itself are never among the changed ones"),
        ("\\" in glob, "folders are parted with `/`"),
        (
            re.match(r"~|[A-Za-z]:/|[a-z]+://", glob) or ".." in folders,
            "nothing outside the project is meant",
        ),
        (glob.count("{") != glob.count("}"), "a brace has no other half, so it is a letter like others"),
    )
    return next((why for holds, why in faults if holds), "")


@lru_cache(maxsize=512)
def _may_mean_a_file(glob: str, paths: tuple[str, ...]) -> bool:
    """Return whether a glob matches one of the paths; True as well where that would take too long."""
    if len(paths) > PATHS_LIMIT or len(re.findall(r"[*?\[{]", glob)) > WILDCARDS_LIMIT:
        return True
    return any(glob_matches_path(glob, path) for path in paths)


def _globs_of_similar_folders(glob: str, paths: tuple[str, ...]) -> Iterator[str]:
    """Yield the same glob with a folder of the project in place of one that is misspelt."""
    parts, folders = glob.split("/"), {folder for path in paths for folder in path.split("/")[:-1]}
    for number, part in enumerate(parts[:-1]):
        if part in folders or set(part) & set("*?[{"):
            continue
        for folder in get_close_matches(part[:100], folders, OFFERED, FOLDER_LIKENESS):
            better = "/".join([*parts[:number], folder, *parts[number + 1 :]])
            if _may_mean_a_file(better, paths):
                yield better
        return
