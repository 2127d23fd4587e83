"""Conducts all phases for a person, one after the other, until the change is delivered or the work ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from sidecar.kernel import governance as forms
from sidecar.kernel.audit import Mode
from sidecar.kernel.governance import Phase
from sidecar.systems.governance.policy.table import MAY_CALL, Stage
from sidecar.systems.governance.policy.work import Question, Work
from sidecar.systems.governance.ports import Caller, Tell
from sidecar.systems.governance.service import NEW, Governance, PhaseOutcome, PhaseRequest

ATTEMPTS: Final = 3
"""Times in a row that a phase is tried that leaves the stage as it is."""


class Assignment(Struct, frozen=True, kw_only=True):
    """What is to be conducted. `lock` "new" begins; `mode` None means the default one, or the lock's."""

    problem: str = ""
    requirements: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    mode: Mode | None = None
    lock: str = NEW


async def conduct(  # noqa: PLR0913 - the work, and whom to tell, to show and to ask
    governance: Governance,
    caller: Caller,
    wish: Assignment,
    *,
    tell: Tell,
    show: Callable[[PhaseOutcome], None],
    ask: Callable[[Question], tuple[bool, str] | None],
) -> Work:
    """Go on until the work is over, a person must answer who is not there, or a phase keeps failing.

    `show` is given each outcome. `ask` asks the person: yes or no with a text, None where nobody is there.
    Raises as `Governance.run`.
    """
    lock, failed = wish.lock, 0
    work = governance.work(lock) if lock != NEW else Work(lock=NEW)
    while True:
        if work.question is not None:
            if (said := ask(work.question)) is None:
                return work
            work = governance.answer(lock, caller, yes=said[0], text=said[1])
            continue
        if not (allowed := MAY_CALL[work.stage]) or failed == ATTEMPTS:
            return work
        phase, before = allowed[0], work
        request = PhaseRequest(phase=phase, lock=lock, given=_given(phase, wish), mode=wish.mode)
        outcome = await governance.run(request, caller, tell)
        show(outcome)
        lock = outcome.context_lock_id
        work = governance.work(lock)
        again = work.stage is before.stage and work.question is None and work.stage is not Stage.NEW
        failed = failed + 1 if again else 0


def _given(phase: Phase, wish: Assignment) -> Struct:
    """Return what a phase is given. Results of earlier phases are in the audit."""
    wished: dict[Phase, Struct] = {
        Phase.ANALYZE: forms.AnalyzeInput(
            problem_statement=wish.problem, user_requirements=wish.requirements
        ),
        Phase.IMPLEMENT: forms.ImplementInput(om_rules=wish.rules),
        Phase.REVIEW: forms.ReviewInput(quick_fix_eligible=True),
    }
    return wished.get(phase) or forms.FORMS[phase].given()
