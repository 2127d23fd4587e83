"""Writes the prompt for a case: bounded, deterministic, all foreign text fenced as data.

To make the best use of a model's prompt cache, what never changes comes first (instructions, rubric), then
what rarely changes (goal, prompts), then the rest. If the case is too long, it is cut in the order of
SECTION_BUDGETS: the last message and the lines of edits, details of evidence for being done, such evidence
itself, the user's prompts in their middle, and last the details of evidence against. The goal, the criteria,
and every fact that speaks against being done always stay.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.judging.backends import sections
from sidecar.judging.backends.quoting import fence_section
from sidecar.judging.backends.tokens import cut_to_tokens, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.rubric import Criterion


CASE_LIMIT: Final = 8_000
"""Tokens of instructions, rubric and case together, as tokens.py estimates them."""
RUBRIC_LIMIT: Final = 3_000
"""Tokens of the criteria. A rubric file may have 8 KiB; in alphabetic languages that is less."""
SUSPICION_LIMIT: Final = 400
"""Tokens of what a rule suspects."""
REPAIR_LIMIT: Final = 1_500
"""Tokens quoted of an invalid answer, and of what is wrong with it."""


class JudgePrompt(NamedTuple):
    """`system` is the same for every stop of a project, `case` is different each time."""

    system: str
    case: str


class _SectionBudget(NamedTuple):
    """Limits in tokens, except `facts`: the number of facts shown that are not against being done.

    `hunks`: all lines of edits. `line`, `detail`: one fact and its detail. `against`: the detail of a fact
    that speaks against being done.
    """

    message: int
    hunks: int
    detail: int
    facts: int
    prompts: int
    against: int
    line: int


SECTION_BUDGETS: Final = (
    _SectionBudget(message=1500, hunks=2500, detail=220, facts=60, prompts=3000, against=700, line=140),
    _SectionBudget(message=1000, hunks=2000, detail=120, facts=60, prompts=3000, against=700, line=140),
    _SectionBudget(message=700, hunks=1500, detail=80, facts=60, prompts=3000, against=700, line=140),
    _SectionBudget(message=500, hunks=1000, detail=40, facts=60, prompts=3000, against=700, line=140),
    _SectionBudget(message=400, hunks=600, detail=0, facts=60, prompts=2500, against=700, line=140),
    _SectionBudget(message=300, hunks=400, detail=0, facts=40, prompts=2000, against=700, line=140),
    _SectionBudget(message=300, hunks=200, detail=0, facts=30, prompts=1500, against=500, line=120),
    _SectionBudget(message=200, hunks=0, detail=0, facts=20, prompts=1000, against=300, line=100),
    _SectionBudget(message=150, hunks=0, detail=0, facts=12, prompts=700, against=150, line=80),
    _SectionBudget(message=100, hunks=0, detail=0, facts=6, prompts=500, against=60, line=60),
    _SectionBudget(message=60, hunks=0, detail=0, facts=3, prompts=300, against=0, line=50),
)
"""From the largest to the smallest; the first that fits is used."""


def build_judge_prompt(case: JudgeCase, texts: Path) -> JudgePrompt:
    """Build the prompt. Raises OSError or UnicodeError if judge.md in `texts` cannot be read."""
    rubric = _rubric_section(case, everywhere=True, tokens=RUBRIC_LIMIT)
    system = f"{_read_instructions(texts / 'judge.md')}\n\n{fence_section('rubric', rubric)}"
    words = _CaseSections(case, CASE_LIMIT - estimate_tokens(system), RUBRIC_LIMIT - estimate_tokens(rubric))
    return JudgePrompt(system, words.fitting())


def build_repair_prompt(prompt: JudgePrompt, answer: str, fault: str, texts: Path) -> JudgePrompt:
    """Build the prompt that asks for the form of an answer alone: the answer, and what is wrong with it.

    The case is left out, which is most of the price; the instructions and the rubric stay, for the criteria.
    Raises OSError or UnicodeError if repair.md in `texts` cannot be read.
    """
    wrong = fence_section("fault", cut_to_tokens(sections.clean_bounded_text(fault), REPAIR_LIMIT))
    quoted = fence_section("answer", cut_to_tokens(sections.clean_bounded_text(answer), REPAIR_LIMIT))
    return JudgePrompt(prompt.system, f"{_read_instructions(texts / 'repair.md')}\n\n{wrong}\n\n{quoted}")


def _read_instructions(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


class _CaseSections:
    """The sections of one case, within `room` tokens in all."""

    def __init__(self, case: JudgeCase, room: int, rubric_room: int) -> None:
        self._room = room
        self._first = tuple(_opening_sections(case, room, rubric_room))
        self._case = case
        self._prompts = tuple(map(sections.clean_bounded_text, case.prompts))
        self._facts = sections.clean_evidence(case.evidence)
        self._message = sections.clean_bounded_text(case.last_message)

    def fitting(self) -> str:
        """Use the largest budget that fits, found by bisection.

        If none fits, use the smallest one and drop all evidence except what speaks against being done.
        """
        at = bisect_left(SECTION_BUDGETS, True, key=self._fits)  # noqa: FBT003 - sought
        if at < len(SECTION_BUDGETS):
            return self._told(SECTION_BUDGETS[at])
        left = self._room - estimate_tokens(self._told(SECTION_BUDGETS[-1], ""))
        return self._told(SECTION_BUDGETS[-1], sections.facts_against(self._facts, left))

    def _fits(self, room: _SectionBudget) -> bool:
        return estimate_tokens(self._told(room)) < self._room

    def _told(self, room: _SectionBudget, evidence: str | None = None) -> str:
        if evidence is None:
            evidence = sections.evidence_section(
                self._facts, room.line, room.facts, room.detail, room.against
            )
        rest = (
            ("prompts", sections.prompts_section(self._prompts, room.prompts)),
            ("edits", sections.edits_section(self._case, room.hunks)),
            ("evidence", evidence),
            ("last message", cut_to_tokens(self._message, room.message)),
        )
        return "\n\n".join(fence_section(name, text) for name, text in (*self._first, *rest))


def _opening_sections(case: JudgeCase, room: int, rubric_room: int) -> Iterator[tuple[str, str]]:
    """The goal or suspicion, and criteria for some files only, which differ from stop to stop.

    A goal may use half of the room: more than a goal of 4,000 characters needs in alphabetic languages.
    """
    if case.condition:
        yield "goal", cut_to_tokens(sections.clean_bounded_text(case.condition), room // 2)
    else:
        yield "suspicion", cut_to_tokens(sections.clean_bounded_text(case.suspicion), SUSPICION_LIMIT)
    if more := _rubric_section(case, everywhere=False, tokens=max(rubric_room, 200)):
        yield "rubric for these files", more


def _rubric_section(case: JudgeCase, *, everywhere: bool, tokens: int) -> str:
    """The criteria for all files (`everywhere`), or those limited to files that were changed."""

    def some(ones: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        return tuple(one for one in ones if bool(one.applies_to) is not everywhere)

    rubric = case.rubric
    groups = (
        ("Patterns", some(rubric.patterns)),
        ("Antipatterns", some(rubric.antipatterns)),
        ("Legitimate stops", some(rubric.legitimate)),
    )
    return sections.format_criteria(groups, tokens)
