"""Puts a case into words for a model: bounded, deterministic, every foreign text fenced as data.

The marker of the fences is a digest of all that is fenced, so no text can contain it. What never changes
comes first (instructions, rubric), so that a model's prompt cache serves it. Where the case is too long, the
last message is cut first, then details of evidence, then the user's prompts, then evidence that speaks for
being done; never the goal, the rubric or what speaks against.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sidecar.model.effects import Case
    from sidecar.model.evidence import Evidence
    from sidecar.model.rubric import Criterion, Rubric

CASE_LIMIT: Final = 32_000
"""Characters of instructions, rubric and case together: 8,000 tokens of four characters."""
RUBRIC_LIMIT: Final = 9_000
"""Characters of the rubric in words; the file is refused above 8 KiB."""
FACT_LIMIT: Final = 400
"""Characters of one fact."""
REPAIR_LIMIT: Final = 2_000
"""Characters of an unfit answer that are quoted, and of what is wrong with it."""
NOTHING: Final = "(nothing)"


class Prompt(NamedTuple):
    """`system` is the same for every stop of a project, `case` is new."""

    system: str
    case: str


class _Room(NamedTuple):
    """Characters for the last message, for one detail, for all prompts; number of facts that speak for it."""

    message: int
    detail: int
    prompts: int
    facts: int


_ROOMS: Final = (
    _Room(message=6_000, detail=2_000, prompts=8_000, facts=60),
    _Room(message=3_000, detail=2_000, prompts=8_000, facts=60),
    _Room(message=1_000, detail=2_000, prompts=8_000, facts=60),
    _Room(message=1_000, detail=800, prompts=8_000, facts=60),
    _Room(message=1_000, detail=300, prompts=8_000, facts=60),
    _Room(message=1_000, detail=0, prompts=8_000, facts=60),
    _Room(message=1_000, detail=0, prompts=4_000, facts=60),
    _Room(message=1_000, detail=0, prompts=1_500, facts=60),
    _Room(message=300, detail=0, prompts=1_500, facts=30),
    _Room(message=300, detail=0, prompts=500, facts=10),
    _Room(message=100, detail=0, prompts=300, facts=0),
)
"""From ample to bare; the first that fits is taken."""


def word(case: Case, texts: Path) -> Prompt:
    """The case in words. Raises OSError or UnicodeError where judge.md in `texts` cannot be read."""
    rubric = _rubric(case.rubric)
    system = f"{_text(texts / 'judge.md')}\n\n{_fenced(_digest(rubric), 'rubric', rubric)}"
    marker, room = _marker(case), CASE_LIMIT - len(system)
    for attempt in _ROOMS:
        told = _told(case, marker, attempt, _evidence(case.evidence, attempt))
        if len(told) <= room:
            return Prompt(system, told)
    bare = len(_told(case, marker, _ROOMS[-1], NOTHING))
    evidence = _cut(_evidence(case.evidence, _ROOMS[-1]), max(0, room - bare))
    return Prompt(system, _told(case, marker, _ROOMS[-1], evidence)[: max(0, room)])


def word_repair(prompt: Prompt, answer: str, fault: str, texts: Path) -> Prompt:
    """The same case again, with what was wrong with the first answer. Raises as `word` does."""
    marker = _digest(answer, fault, prompt.case)
    wrong = _fenced(marker, "fault", _cut(fault, REPAIR_LIMIT))
    quoted = _fenced(marker, "answer", _cut(answer, REPAIR_LIMIT))
    return Prompt(prompt.system, f"{prompt.case}\n\n{_text(texts / 'repair.md')}\n\n{wrong}\n\n{quoted}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _digest(*texts: str) -> str:
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _marker(case: Case) -> str:
    facts = [text for fact in case.evidence for text in (fact.id, fact.fact, fact.detail)]
    return _digest(case.condition, case.suspicion, case.last_message, *case.prompts, *facts)


def _fenced(marker: str, name: str, text: str) -> str:
    return f'<data-{marker} name="{name}">\n{text.strip() or NOTHING}\n</data-{marker}>'


def _told(case: Case, marker: str, room: _Room, evidence: str) -> str:
    measure = ("goal", case.condition) if case.condition else ("suspicion", case.suspicion)
    prompts = "\n\n".join(f"{number}. {text}" for number, text in enumerate(case.prompts, start=1))
    sections = (
        measure,
        ("prompts", _cut(prompts, room.prompts)),
        ("evidence", evidence),
        ("last message", _cut(case.last_message, room.message)),
    )
    return "\n\n".join(_fenced(marker, name, text) for name, text in sections)


def _rubric(rubric: Rubric) -> str:
    patterns, antipatterns = _criteria(rubric.patterns), _criteria(rubric.antipatterns)
    return _cut(f"# Patterns\n\n{patterns}\n\n# Antipatterns\n\n{antipatterns}", RUBRIC_LIMIT)


def _criteria(criteria: Iterable[Criterion]) -> str:
    return "\n".join(f"- {one.name}: {one.text}" if one.text else f"- {one.name}" for one in criteria)


def _evidence(evidence: tuple[Evidence, ...], room: _Room) -> str:
    """Every fact that speaks against being done, and the last ones that speak for it."""
    good = [fact for fact in evidence if not fact.bad]
    left_out = {id(fact) for fact in good[: max(0, len(good) - room.facts)]}
    return "\n".join(_line(fact, room.detail) for fact in evidence if id(fact) not in left_out)


def _line(fact: Evidence, room: int) -> str:
    """One fact. It cannot look like two: it is on one line, and its detail is indented."""
    marks = "".join((" STALE" if fact.stale else "", " AGAINST" if fact.bad else ""))
    head = f"{fact.id} [{fact.source}{marks}] {_cut(' '.join(fact.fact.split()), FACT_LIMIT)}"
    detail = _cut(fact.detail.strip(), room) if room else ""
    return head + "".join(f"\n    {line}" for line in detail.splitlines())


def _cut(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long, `limit` characters with the mark between them."""
    if len(text) <= limit:
        return text
    mark = f" [... {len(text) - limit} characters left out ...] "
    half = max(0, limit - len(mark)) // 2
    return f"{text[:half]}{mark}{text[len(text) - half :]}"[:limit]
