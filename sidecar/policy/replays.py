"""What another rubric means for a stop that was judged before.

The rubric reaches a ruling through the judge alone: in the case that it is shown, and in what its answer is
held against. So where the case stays the same, the answer that was given then is the answer now. Where it
does not, that answer still tells what the new rubric cannot uphold any more; what else the judge would say,
only a model can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from sidecar.model.effects import Case, Continue, Ruling
from sidecar.model.evaluation import CONTINUE
from sidecar.model.kept import Replayed
from sidecar.model.rubric import Criterion, Rubric
from sidecar.policy.case import applying

DETAIL: Final = 600
"""Characters of why a stop ended as it did."""


def ended(ruling: Ruling) -> tuple[str, str]:
    """How a stop ended: "continue" or a Reason, and why."""
    if isinstance(ruling, Continue):
        return CONTINUE, "; ".join(ruling.feedback.missing)[:DETAIL]
    return ruling.reason.value, ruling.detail[:DETAIL]


def other_case(case: Case, was: Rubric, changed: tuple[str, ...] | None) -> bool:
    """Whether this case shows other criteria than the rubric `was` had for these changed files."""
    return _shown(case.rubric) != _shown(applying(was, changed))


def _shown(rubric: Rubric) -> tuple[tuple[Criterion, ...], ...]:
    """What a judge reads of a rubric; of the files that a criterion is about, only that there are some."""
    return tuple(
        tuple(replace(one, applies_to=("",) if one.applies_to else ()) for one in group)
        for group in (rubric.patterns, rubric.antipatterns, rubric.legitimate)
    )


def summary(done: Sequence[Replayed]) -> str:
    """All of them in one line."""
    if not done:
        return "there is no stop to replay: none was kept for this project yet"
    which = "stop" if len(done) == 1 else f"{len(done)} stops"
    changed, open_ = sum(one.changed for one in done), sum(one.asks for one in done)
    line = f"replay on the last {which}: {changed} verdict{'s change' if changed != 1 else ' changes'}"
    return f"{line}, {open_} cannot be told without a model" if open_ else line
