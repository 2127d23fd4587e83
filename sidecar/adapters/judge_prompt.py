"""Puts a case into words for a model: bounded, deterministic, every foreign text fenced as data.

The marker of the fences is a digest of all that is fenced, so no text can contain it. What never changes comes
first (instructions, rubric), so that a model's prompt cache serves it. Where the case is too long, the last
message is cut first, then details of evidence, then the user's prompts, then evidence that speaks for nothing;
never the goal, the rubric or what speaks against being done.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from sidecar.model.effects import Case
from sidecar.model.evidence import Evidence
from sidecar.model.rubric import Criterion, Rubric

CASE_LIMIT: Final = 32_000
"""Characters of instructions, rubric and case together: 8,000 tokens of four characters."""
RUBRIC_LIMIT: Final = 8_192
"""Characters of the rubric, which is refused as a file above as many bytes."""
NOTHING: Final = "(nothing)"


class Prompt(NamedTuple):
    """`system` is the same for every stop of a project, `case` is new."""

    system: str
    case: str


class _Room(NamedTuple):
    """Characters for the last message, one detail, all prompts, one fact; and how many facts speak for it."""

    message: int
    detail: int
    prompts: int
    fact: int
    facts: int


_ROOMS: Final = (
    _Room(4000, 1500, 6000, 400, 60),
    _Room(3000, 600, 5000, 400, 60),
    _Room(2000, 200, 4000, 300, 40),
    _Room(1000, 0, 3000, 300, 25),
    _Room(500, 0, 2000, 200, 15),
    _Room(300, 0, 1000, 160, 5),
)


def word(case: Case, texts: Path) -> Prompt:
    """The case in words; raises OSError where rubric/judge.md cannot be read."""
    marker = _marker(case)
    system = f"{_text(texts / 'judge.md')}\n\n{_fenced(marker, 'rubric', _rubric(case.rubric))}"
    for room in _ROOMS:
        told = _told(case, marker, room)
        if len(system) + len(told) <= CASE_LIMIT:
            break
    return Prompt(system, told)


def word_repair(prompt: Prompt, answer: str, fault: str, texts: Path) -> Prompt:
    """The same case again, with what was wrong with the first answer; raises OSError."""
    marker = _digest(answer, fault, prompt.case)
    quoted = f"{_fenced(marker, 'fault', fault[:1000])}\n\n{_fenced(marker, 'answer', _cut(answer, 2000))}"
    return Prompt(prompt.system, f"{prompt.case}\n\n{_text(texts / 'repair.md')}\n\n{quoted}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _digest(*texts: str) -> str:
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()


def _marker(case: Case) -> str:
    facts = [text for fact in case.evidence for text in (fact.fact, fact.detail)]
    return _digest(
        case.condition, case.suspicion, case.last_message, *case.prompts, *facts, _rubric(case.rubric)
    )


def _fenced(marker: str, name: str, text: str) -> str:
    return f"<data-{marker} {name}>\n{text.strip() or NOTHING}\n</data-{marker}>"


def _told(case: Case, marker: str, room: _Room) -> str:
    asked = (
        ("goal the user set", case.condition)
        if case.condition
        else ("why a rule was suspicious", case.suspicion)
    )
    prompts = "\n\n".join(f"{number}. {text}" for number, text in enumerate(case.prompts, start=1))
    parts = (
        asked,
        ("what the user wrote in this turn", _cut(prompts, room.prompts)),
        ("evidence", _evidence(case.evidence, room)),
        ("what the agent said last, a claim", _cut(case.last_message, room.message)),
    )
    return "\n\n".join(_fenced(marker, name, text) for name, text in parts)


def _rubric(rubric: Rubric) -> str:
    text = f"Patterns\n{_criteria(rubric.patterns)}\n\nAntipatterns\n{_criteria(rubric.antipatterns)}"
    return text[:RUBRIC_LIMIT]


def _criteria(criteria: Iterable[Criterion]) -> str:
    return "\n".join(f"- {one.name}: {one.text}" if one.text else f"- {one.name}" for one in criteria)


def _evidence(evidence: Iterable[Evidence], room: _Room) -> str:
    evidence = tuple(evidence)
    good = [fact for fact in evidence if not fact.bad]
    left_out = {fact.id for fact in good[: max(0, len(good) - room.facts)]}
    return "\n".join(_line(fact, room) for fact in evidence if fact.id not in left_out)


def _line(fact: Evidence, room: _Room) -> str:
    marks = "".join((" STALE" if fact.stale else "", " AGAINST" if fact.bad else ""))
    head = f"{fact.id} [{fact.source}{marks}] {_cut(' '.join(fact.fact.split()), room.fact)}"
    detail = _cut(fact.detail.strip(), room.detail) if room.detail else ""
    return head + "".join(f"\n    {line}" for line in detail.splitlines())


def _cut(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= limit:
        return text
    half = max(0, limit - 20) // 2
    return f"{text[:half]} [... cut ...] {text[len(text) - half :]}"
