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


class Conductor:
    """Conducts one assignment.

    `show` is given each outcome. `ask` asks the person: yes or no with a text, None where nobody is there.
    """

    def __init__(
        self,
        governance: Governance,
        caller: Caller,
        tell: Tell,
        show: Callable[[PhaseOutcome], None],
        ask: Callable[[Question], tuple[bool, str] | None],
    ) -> None:
        self._governance, self._caller = governance, caller
        self._tell, self._show, self._ask = tell, show, ask
        self.lock = NEW

    async def conduct(self, wish: Assignment) -> Work:
        """Go on until the work is over, a person must answer who is not there, or a phase keeps failing.

        Raises as `Governance.run`.
        """
        self.lock, failed = wish.lock, 0
        work = self._governance.work(self.lock) if self.lock != NEW else Work(lock=NEW)
        while True:
            if work.question is not None:
                said = self._ask(work.question)
                if said is None:
                    return work
                work = self._governance.answer(self.lock, self._caller, yes=said[0], text=said[1])
                continue
            if not (allowed := MAY_CALL[work.stage]) or failed == ATTEMPTS:
                return work
            phase, before = allowed[0], work
            request = PhaseRequest(phase=phase, lock=self.lock, given=_given(phase, wish), mode=wish.mode)
            outcome = await self._governance.run(request, self._caller, self._tell)
            self._show(outcome)
            self.lock = outcome.context_lock_id
            work = self._governance.work(self.lock)
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
