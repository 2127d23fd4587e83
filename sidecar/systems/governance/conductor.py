"""Conducts all phases for a person, one after the other, until the change is delivered or the work ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from sidecar.kernel.audit import Mode
from sidecar.kernel.governance import FORMS, GovernedPhase
from sidecar.systems.governance.policy.table import MAY_CALL, Stage
from sidecar.systems.governance.policy.work import Question, Work
from sidecar.systems.governance.ports import PhaseCaller, Tell
from sidecar.systems.governance.service import NEW, Governance, PhaseOutcome, PhaseRequest

ATTEMPTS: Final = 3
"""Times in a row that a phase is tried that leaves the stage as it is."""


class Assignment(Struct, frozen=True, kw_only=True):
    """What is to be conducted: what phases are given, where results of earlier ones in the audit do not do.

    `lock` "new" begins; `mode` None means the default one, or the lock's.
    """

    given: Mapping[GovernedPhase, Struct]
    lock: str = NEW
    mode: Mode | None = None


async def conduct(  # noqa: PLR0913 - the work, and whom to tell, to show and to ask
    governance: Governance,
    caller: PhaseCaller,
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
        given = wish.given.get(phase) or FORMS[phase].given()
        request = PhaseRequest(phase=phase, lock=lock, given=given, mode=wish.mode)
        outcome = await governance.run(request, caller, tell)
        show(outcome)
        lock = outcome.context_lock_id
        work = governance.work(lock)
        again = work.stage is before.stage and work.question is None and work.stage is not Stage.NEW
        failed = failed + 1 if again else 0
