"""What no evidence of a stop can ever show: feelings, other people's minds, the future, production."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Final

from sidecar.kernel.rubric import (
    CRITERION_SOURCES,
    CriterionKey,
    Flaw,
    FlawSeverity,
    QuickFix,
    RubricContext,
    RubricOutline,
    SectionRole,
    TextEdit,
    TextSpan,
)
from sidecar.rubric.advice.edits import Code, without
from sidecar.rubric.advice.passage import CACHED, Passage, Place

UNSEEN = (".git", ".hg", ".svn")
"""Folders whose files are never among the changed ones."""


def by_wording(place: Place) -> Iterator[Flaw]:
    """A demand that only someone absent, or later, could confirm. English only; at most one flaw."""
    passage = place.passage
    if passage.role is SectionRole.LEGITIMATE or place.located.criterion.evidence:
        return
    if found := _found(passage):
        kind, span = found
        yield Flaw(
            Code.UNDECIDABLE,
            _why(kind),
            place.begin + span.begin,
            place.begin + span.end,
            FlawSeverity.WARNING,
            "Say what can be seen when the agent stops: in the changed files, in what a command returned,"
            " or in the last message.",
        )


def by_paths(outline: RubricOutline, place: Place) -> Iterator[Flaw]:
    """A criterion for files alone that no change ever shows."""
    for line in place.located.lines:
        globs = place.located.criterion.applies_to
        if line.key is CriterionKey.APPLIES_TO and globs and all(map(unseen, globs)):
            yield Flaw(
                Code.UNDECIDABLE,
                "files of the version control itself are never among the changed ones, so it never applies",
                line.value.begin,
                line.value.end,
                FlawSeverity.WARNING,
                "Leave the line out, or name files of the project.",
                (QuickFix("Leave the line out", (without(outline.text, line.whole),)),),
            )


@lru_cache(maxsize=CACHED)
def _found(passage: Passage) -> tuple[str, TextSpan] | None:
    for number, span in enumerate(passage.sentences):
        if found := _beyond().search(passage.sentence(number)):
            return str(found.lastgroup), TextSpan(span.begin + found.start(), span.begin + found.end())
    return None


def unseen(glob: str) -> bool:
    """Whether a glob is for such files alone."""
    return glob.removeprefix("./").lstrip("/").split("/", 1)[0] in UNSEEN


def _why(kind: str) -> str:
    return {
        "feelings": "what people feel or think is in no evidence of a stop",
        "agent": "what the agent thinks is in no evidence of a stop; what it did and wrote is",
        "later": "what will be is in no evidence of a stop",
        "production": "how it fares in production is in no evidence of a stop",
    }[kind]


@cache
def _beyond() -> re.Pattern[str]:
    people = (
        r"(?:users?|customers?|clients?|stakeholders?|reviewers?|(?:the |our )?team|managers?|management"
        r"|everyone|everybody|people|developers?|maintainers?|colleagues)"
    )
    mood = r"(?:happy|satisfied|pleased|delighted|comfortable|impressed|excited|convinced|content)"
    return re.compile(
        rf"(?P<feelings>\b{people} (?:(?:is|are|will be|should be|must be|feels?) {mood}"
        r"|(?:will |should |must )?(?:likes?|loves?|enjoys?|agrees?|trusts?|appreciates?|understands?) ))"
        r"|(?P<agent>\bthe agent (?:(?:does not|did not|doesn't|didn't|should|must|has to|is|was) )?"
        r"(?:really |truly |fully )?"
        r"(?:understands?|thinks?|believes?|feels?|cares?|confident|motivated|sure)\b)"
        r"|(?P<later>\bfuture[- ]proof\b|\bin the (?:future|long (?:run|term))\b"
        r"|\bin \w{1,20} (?:years?|months?)\b|\bnext (?:year|quarter|month)\b"
        r"|\bwill (?:never|always|still) (?:break|fail|be|work|scale)\b)"
        r"|(?P<production>\b(?:works?|runs?|behaves?|performs?|is|are|stays?|stable|healthy|verified|proven|tested)"
        r"(?: (?:well|fine|stable|reliably|correctly|smoothly|properly|healthy|fast|proven|tested|verified))?"
        r" in production\b)",
        re.IGNORECASE,
    )


# --- What decides a criterion: whether the project has the gate, and Supervisor the rule, that it names. ----


NEAR: Final = 0.6
"""How alike two names are that one is offered for the other, from 0 to 1; measured as difflib does."""
OFFERED: Final = 3
"""Names that are offered for an unknown one."""
MEANT: Final = {
    **dict.fromkeys(("diffs", "changes", "files", "patch", "changed files", "the diff", "code"), "diff"),
    **dict.fromkeys(
        ("call", "tool", "tools", "output", "commands", "command output", "tool calls", "runs"), "calls"
    ),
    **dict.fromkeys(("messages", "last message", "report", "answer", "the last message", "reply"), "message"),
}
"""What people call the sources."""


def unknown(place: Place, around: RubricContext) -> Iterator[Flaw]:
    """Each name in `Evidence:` of which nothing is known."""
    one = place.located.criterion
    strange = [each for each in one.evidence if not known(each, around)]
    alone = " Nothing else is named, so nothing can decide it." if len(strange) == len(one.evidence) else ""
    for line in place.located.lines:
        if line.key is not CriterionKey.EVIDENCE:
            continue
        for part, name in zip(line.parts, one.evidence, strict=False):
            if name not in strange:
                continue
            kind, _, ident = name.partition(":")
            code = {"gate": Code.UNKNOWN_GATE, "rule": Code.UNKNOWN_RULE}.get(kind, Code.UNKNOWN_EVIDENCE)
            yield Flaw(
                code,
                f"there is no {kind} `{ident}`.{alone}" if ident else f"`{name}` decides nothing.{alone}",
                part.begin,
                part.end,
                FlawSeverity.WARNING,
                _help(kind, around),
                tuple(
                    QuickFix(f"Name `{near}`", (TextEdit(part, near),)) for near in _near(kind, ident, around)
                ),
            )


def known(name: str, around: RubricContext) -> bool:
    """Whether something decides a criterion by this name, or may."""
    kind, _, ident = name.partition(":")
    if kind == "gate" and ident:
        return around.gates is None or ident in around.gates
    if kind == "rule" and ident:
        return not around.rules or ident in around.rules
    return name in CRITERION_SOURCES


def nearest(said: str, around: RubricContext) -> str | None:
    """What somebody means by this word; None where it can be anything."""
    word = " ".join(said.casefold().split())[:100]
    if word in CRITERION_SOURCES or word in MEANT:
        return MEANT.get(word, word)
    kind, _, ident = word.partition(":")
    kind = kind.strip()
    if kind in {"gate", "rule"}:
        exact = f"{kind}:{'-'.join(ident.split())}"
        return exact if known(exact, around) else next(_near(kind, ident.strip(), around), None)
    names = {
        **{rule: f"rule:{rule}" for rule in around.rules},
        **{gate: f"gate:{gate}" for gate in around.gates or ()},
    }
    close = get_close_matches(word, [*names, *CRITERION_SOURCES], 1, 0.8)
    return names.get(close[0], close[0]) if close else None


def _near(kind: str, ident: str, around: RubricContext) -> Iterator[str]:
    if kind not in {"gate", "rule"}:
        return
    names = (around.gates or ()) if kind == "gate" else around.rules
    for name in get_close_matches(ident[:100], names, OFFERED, NEAR):
        yield f"{kind}:{name}"


def _help(kind: str, around: RubricContext) -> str:
    names = {"gate": around.gates or (), "rule": around.rules}.get(kind, ())
    return f"There are: {', '.join(names[:12])}." if names else ""
