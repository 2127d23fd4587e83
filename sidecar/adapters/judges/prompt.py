"""Puts a case into words for a model: bounded, deterministic, every foreign text fenced as data.

What never changes comes first (instructions, rubric), then what changes seldom (goal, prompts), then the
rest, so that a model's prompt cache serves as much as it can. Where the case is too long, it is cut in the
order of ROOMS: the last message and the lines of edits, details of evidence that speaks for being done, such
evidence itself, the user's prompts in their middle, and last the details of what speaks against. The goal,
the criteria, and every fact that speaks against being done always stay.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.judges import sections
from sidecar.adapters.judges.quoting import fenced
from sidecar.adapters.judges.tokens import Measured, cut, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sidecar.model.effects import Case
    from sidecar.model.rubric import Criterion

CASE_LIMIT: Final = 8_000
"""Tokens of instructions, rubric and case together, as tokens.py estimates them."""
RUBRIC_LIMIT: Final = 3_000
"""Tokens of the criteria. A file may have 8 KiB; in languages with letters that is less."""
SUSPICION_LIMIT: Final = 400
"""Tokens of what a rule noticed."""
LONGEST: Final = 8
"""Characters of a token in a text that has many; a text with more is not even weighed."""
REPAIR_LIMIT: Final = 600
"""Tokens of an unfit answer that are quoted, and of what is wrong with it."""


class Prompt(NamedTuple):
    """`system` is the same for every stop of a project, `case` is new."""

    system: str
    case: str


class _Room(NamedTuple):
    """Tokens, and the number of facts that are not against being done.

    `hunks`: for all lines of edits; `detail`, `line`: of one fact; `against`: of the detail of one that is.
    """

    message: int
    hunks: int
    detail: int
    facts: int
    prompts: int
    against: int
    line: int


ROOMS: Final = (
    _Room(message=1500, hunks=2500, detail=220, facts=60, prompts=3000, against=700, line=140),
    _Room(message=1000, hunks=2000, detail=120, facts=60, prompts=3000, against=700, line=140),
    _Room(message=700, hunks=1500, detail=80, facts=60, prompts=3000, against=700, line=140),
    _Room(message=500, hunks=1000, detail=40, facts=60, prompts=3000, against=700, line=140),
    _Room(message=400, hunks=600, detail=0, facts=60, prompts=2500, against=700, line=140),
    _Room(message=300, hunks=400, detail=0, facts=40, prompts=2000, against=700, line=140),
    _Room(message=300, hunks=200, detail=0, facts=30, prompts=1500, against=500, line=120),
    _Room(message=200, hunks=0, detail=0, facts=20, prompts=1000, against=300, line=100),
    _Room(message=150, hunks=0, detail=0, facts=12, prompts=700, against=150, line=80),
    _Room(message=100, hunks=0, detail=0, facts=6, prompts=500, against=60, line=60),
    _Room(message=60, hunks=0, detail=0, facts=3, prompts=300, against=0, line=50),
)
"""From ample to bare; the first that fits is taken."""


def word(case: Case, texts: Path) -> Prompt:
    """The case in words. Raises OSError or UnicodeError where judge.md in `texts` cannot be read."""
    rubric = _rubric(case, everywhere=True, tokens=RUBRIC_LIMIT)
    system = f"{_text(texts / 'judge.md')}\n\n{fenced('rubric', rubric)}"
    words = _Words(case, CASE_LIMIT - estimate(system), RUBRIC_LIMIT - estimate(rubric))
    return Prompt(system, words.fitting())


def word_repair(prompt: Prompt, answer: str, fault: str, texts: Path) -> Prompt:
    """The same case again, with what was wrong with the first answer. Raises as `word` does."""
    wrong = fenced("fault", cut(sections.whole(fault), REPAIR_LIMIT))
    quoted = fenced("answer", cut(sections.whole(answer), REPAIR_LIMIT))
    return Prompt(prompt.system, f"{prompt.case}\n\n{_text(texts / 'repair.md')}\n\n{wrong}\n\n{quoted}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


class _Words:
    """The sections of one case, each weighed once, for `room` tokens in all."""

    def __init__(self, case: Case, room: int, rubric_room: int) -> None:
        self._room = room
        self._first = tuple(_beginning(case, room, rubric_room))
        self._prompts = sections.Prompts(case.prompts)
        self._edits = sections.Edits(case)
        self._facts = sections.Facts(case.evidence)
        self._message = Measured(sections.whole(case.last_message))

    def fitting(self) -> str:
        """The amplest that fits, found by halving; where none does, the barest without what speaks for it."""
        at = bisect_left(ROOMS, True, key=lambda attempt: self._fits(self._told(attempt)))  # noqa: FBT003 - sought
        if at < len(ROOMS):
            return self._told(ROOMS[at])
        left = self._room - estimate(self._told(ROOMS[-1], ""))
        return self._told(ROOMS[-1], self._facts.bare(left))

    def _fits(self, told: str) -> bool:
        return len(told) < LONGEST * self._room and estimate(told) < self._room

    def _told(self, room: _Room, evidence: str | None = None) -> str:
        if evidence is None:
            evidence = self._facts.within(room.line, room.facts, room.detail, room.against)
        rest = (
            ("prompts", self._prompts.within(room.prompts)),
            ("edits", self._edits.within(room.hunks)),
            ("evidence", evidence),
            ("last message", self._message.cut(room.message)),
        )
        return "\n\n".join(fenced(name, text) for name, text in (*self._first, *rest))


def _beginning(case: Case, room: int, rubric_room: int) -> Iterator[tuple[str, str]]:
    """The measure, and the criteria that hold for some files only: they are not in the same words every time.

    A goal may have half of the room: more than one of 4,000 characters needs in languages with letters.
    """
    if case.condition:
        yield "goal", cut(sections.whole(case.condition), room // 2)
    else:
        yield "suspicion", cut(sections.whole(case.suspicion), SUSPICION_LIMIT)
    if more := _rubric(case, everywhere=False, tokens=max(rubric_room, 200)):
        yield "rubric for these files", more


def _rubric(case: Case, *, everywhere: bool, tokens: int) -> str:
    """The criteria that hold everywhere, or those that hold for some files, of which some were changed."""

    def some(ones: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        return tuple(one for one in ones if bool(one.applies_to) is not everywhere)

    rubric = case.rubric
    groups = (
        ("Patterns", some(rubric.patterns)),
        ("Antipatterns", some(rubric.antipatterns)),
        ("Legitimate stops", some(rubric.legitimate)),
    )
    return sections.criteria(groups, tokens)
