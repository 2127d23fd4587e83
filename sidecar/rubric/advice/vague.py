"""Wording that nobody can check. Precision first: better a vague sentence missed than a plain one accused.

A sentence with something to hold on to (code, a number, a quotation, what stands behind a colon, "so that")
is not vague. A criterion is a warning where all that it demands is vague, else a hint. Where it names its
evidence, the author has said how it is decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix, RubricOutline, SectionRole, TextEdit, TextSpan
from sidecar.rubric.advice.edits import Code, with_line
from sidecar.rubric.advice.passage import BLOT, CACHED, Passage, Place

# --- Wordings that two readers decide differently, and what would make each one checkable. English only. ----
# Data alone. A wording stands here where it says little in nearly every sentence; words that good criteria
# use too ("clear", "simple", "consistent") count only where nothing follows that they could be about.


class Vague(Struct, frozen=True):
    """One kind of wording.

    `pattern` is a regular expression for letters of either case, `help` what to write. `gates` are parts
    of ids of gates that decide it, `source` what does where there is no such gate. `instead` can stand in its
    place; None where nothing fits every sentence.
    """

    pattern: str
    help: str
    gates: tuple[str, ...] = ()
    source: str = "diff"
    instead: str | None = None


WELL: Final = (
    r"(?:properly|well|adequately|sufficiently|thoroughly|appropriately|correctly|nicely|cleanly|carefully)"
)
END: Final = r"(?=[ \n]*(?:[.,;!)]|\Z|(?:and|or|enough|code|for (?:the|our) users?)\b))"
"""Nothing follows that says of what, for whom, or how much."""
IS: Final = (
    r"\b(?:is|are|be|being|stays?|remains?|looks?|feels?|kept)"
    r"(?: (?:very|really|quite|as|also|both|always|not|more|of|and|\w{4,12},?) ?){0,3} "
)
QUALITIES: Final = (
    r"(?:clean|readable|maintainable|elegant|modular|idiomatic|neat|tidy"
    r"|well[- ](?:structured|organi[sz]ed|designed|written|crafted|factored)|understandable|polished|sloppy"
    r"|optimal|complete|correct|easy to (?:read|understand|maintain|extend|follow|change))"
)
SPEEDS: Final = r"(?:fast|quick|efficient|performant|responsive|snappy|optimi[sz]ed)"
STRENGTHS: Final = r"(?:robust|reliable|stable|scalable|resilient|solid|sound|flexible|secure|safe)"
WORTHS: Final = (
    r"(?:good|nice|proper|appropriate|adequate|sufficient|reasonable|sensible|clear|meaningful|modern|simple"
    r"|pretty|helpful|useful|comprehensive|thorough)"
)
THINGS: Final = (
    r"(?:names?|naming|messages?|timeouts?|defaults?|limits?|coverage|tests?|testing|documentation|docs|comments?"
    r"|logging|(?:error )?handling|validation|abstractions?|structure|design|practices?|performance|style"
    r"|code)"
)

VAGUE: Final[tuple[Vague, ...]] = (
    Vague(
        rf"\b{WELL}[ -](?:unit[ -])?tested\b",
        "Say which test has to exist, and when it has to fail.",
        ("test",),
        "calls",
        "covered by a test that fails without the change",
    ),
    Vague(
        rf"\b{WELL}[ -](?:documented|commented|described)\b",
        "Say where it has to be described, and what has to stand there.",
        ("doc",),
        "diff",
        "described in the documentation with an example that was run",
    ),
    Vague(
        rf"\b{WELL}[ -](?:formatted|styled|linted)\b",
        "Name the formatter whose word counts.",
        ("format", "fmt", "lint"),
        "calls",
        "left as they are by the project's formatter",
    ),
    Vague(
        r"\b(?:handled?|handles|handling|dealt with|treated)(?: \w+){0,3} "
        r"(?:properly|correctly|gracefully|appropriately|cleanly|well|sensibly)\b"
        r"|\b(?:properly|correctly|gracefully|appropriately|cleanly|sensibly) (?:handled?|handles|treated)\b",
        "Say what happens with it: returned, shown to whom, retried how often.",
    ),
    Vague(
        rf"\b(?:works?|worked|working|behaves?|done|implemented|integrated|used) {WELL}\b{END}"
        r"|\bworks? (?:fine|as (?:expected|intended|it should))\b",
        "Say what is run, and what has to come out.",
        ("test",),
        "calls",
    ),
    Vague(
        r"\b(?:high|good|poor|bad|low|top|best|great|decent)[- ]quality\b"
        r"|\bof (?:good|high|poor|low) quality\b|\bwell[- ](?:written|structured|designed|crafted)\b"
        r"|\b(?:performance|quality|security|usability) (?:issues|problems)\b"
        r"|\b(?:good|bad|clean|nice|ugly|messy|beautiful|spaghetti) code\b",
        "Say what a reader would see: a length, a rule of the linter, a thing that must not be there.",
        ("lint",),
    ),
    Vague(
        rf"{IS}{QUALITIES}\b{END}",
        "Say what a reader would see: a length, a rule of the linter, a thing that must not be there.",
        ("lint",),
    ),
    Vague(
        rf"{IS}{SPEEDS}\b{END}|\bnot {SPEEDS} enough\b",
        "Say how many milliseconds, for how much data, and which benchmark shows it.",
        ("bench", "perf"),
        "calls",
    ),
    Vague(
        rf"{IS}{STRENGTHS}\b{END}",
        "Say which input or failure it has to survive, and what is run to show it.",
        ("test",),
        "calls",
    ),
    Vague(
        r"\buser[- ]friendly\b|\bintuitive(?:ly)?\b|\beasy to use\b|\bdeveloper[- ]friendly\b",
        "Say what a user can do in how many steps, or what the page must show.",
    ),
    Vague(
        rf"{IS}{WORTHS}\b{END}", "Say by what it is told: a number, a name, a thing that is or is not there."
    ),
    Vague(
        r"\b(?:meaningful|consistent|helpful|comprehensive|clear and consistent|descriptive|good|sensible"
        r"|proper|appropriate|clear|reasonable|decent|nice|suitable|adequate"
        rf"|sufficient)(?: (?:variable|function|test|unit|error|code|commit|log))* {THINGS}\b",
        "Say by what it is told: a number, a form, a thing that must or must not be in it.",
    ),
    Vague(
        r"\b(?:best|good|industry|common|modern) (?:coding )?(?:practices?|standards?)\b"
        r"|\bstate[- ]of[- ]the[- ]art\b"
        r"|\b(?:production|enterprise|industry)[- ](?:ready|grade|quality)\b|\bworld[- ]class\b",
        "Name the practices that count here, each as a criterion, or the linter that knows them.",
        ("lint",),
    ),
    Vague(
        r"\b(?:as \w{3,15} as (?:possible|necessary|needed)|reasonably \w{3,15}"
        r"|(?:overly|too|unnecessarily|needlessly|very) (?:complex|complicated|long|big|verbose|clever))\b",
        "Say where the line is: how many lines, parameters, levels.",
        ("lint",),
    ),
    Vague(
        r"\b(?:relevant|important|necessary|possible|obvious) (?:edge |corner )?"
        r"(?:cases?|scenarios?|errors?|tests?)\b|\ball (?:edge|corner) cases\b"
        r"|\bproper separation\b|\bclean (?:architecture|design|structure)\b",
        "Name them, or say by what one is known.",
    ),
    Vague(
        r",?[ \n](?:as|if|when(?:ever)?|where(?:ver)?) (?:needed|necessary|appropriate|it makes sense)\b",
        "Say when it is needed, or leave it out: a criterion that does not fit is passed over anyway.",
        instead="",
    ),
)


# --- Wording that nobody can check. Precision first: better a vague sentence missed than a plain one accused.
# A sentence with something to hold on to (code, a number, a quotation, what stands behind a colon, "so that")
# is not vague. A criterion is a warning where all that it demands is vague, else a hint. Where it names its
# evidence, the author has said how it is decided.


def vague(outline: RubricOutline, place: Place, gates: tuple[str, ...]) -> Iterator[Flaw]:
    """What in a criterion is vague. Without evidence of its own only."""
    one = place.located.criterion
    found = _found(place.passage)
    if one.evidence or not found or place.passage.role is SectionRole.LEGITIMATE:
        return
    every = len({number for number, _, _ in found}) == len(place.passage.sentences)
    for _, span, kind in found:
        begin, end = place.begin + span.begin, place.begin + span.end
        words = " ".join(outline.text[begin:end].split()).lstrip(", ")
        yield Flaw(
            Code.VAGUE_WORDING,
            f'"{words}" is decided differently by every reader',
            begin,
            end,
            FlawSeverity.WARNING if every and _bare(place.passage) else FlawSeverity.HINT,
            kind.help,
            tuple(_fixes(outline, place, kind, TextSpan(begin, end), gates)),
        )


def _fixes(
    outline: RubricOutline, place: Place, kind: Vague, at: TextSpan, gates: tuple[str, ...]
) -> Iterator[QuickFix]:
    if kind.instead is not None:
        title = f'Write "{kind.instead}"' if kind.instead else "Leave it out"
        yield QuickFix(title, (TextEdit(at, kind.instead),))
    named = next(
        (f"gate:{gate}" for part in kind.gates for gate in gates if part in gate.casefold()), kind.source
    )
    line = f"Evidence: {named}"
    if edit := with_line(outline, place.located, line):
        yield QuickFix(f"Say what decides it: `{line}`", (edit,))


@lru_cache(maxsize=CACHED)
def _found(passage: Passage) -> tuple[tuple[int, TextSpan, Vague], ...]:
    """The vague wordings: the number of the sentence, the place, the kind; one for each sentence."""
    kept = []
    for number, span in enumerate(passage.sentences):
        if met := _first(passage.sentence(number)):
            found, kind = met
            kept.append((number, TextSpan(span.begin + found.start(), span.begin + found.end()), kind))
    return tuple(kept)


@lru_cache(maxsize=CACHED)
def _first(sentence: str) -> tuple[re.Match[str], Vague] | None:
    found = _any().search(sentence)
    if found is None or _anchor().search(sentence):
        return None
    return found, VAGUE[int(str(found.lastgroup).removeprefix("v"))]


def _bare(passage: Passage) -> bool:
    """Whether nothing in a criterion can be held on to."""
    return BLOT not in passage.prose


@cache
def _any() -> re.Pattern[str]:
    return re.compile(
        "|".join(f"(?P<v{number}>{kind.pattern})" for number, kind in enumerate(VAGUE)), re.IGNORECASE
    )


@cache
def _anchor() -> re.Pattern[str]:
    return re.compile(
        rf"[\d{BLOT}]|:\s|\b(?:that|which|so that|such as|i\.e|namely|meaning)\b[^.]*\w", re.IGNORECASE
    )
