"""The bug council by tools: one agent takes the perspectives in turn, and submits what each found."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.log import LoopCouncil
from sidecar.kernel.loop import CouncilDecision, CouncilMember, CouncilProposal, Loop, LoopState
from sidecar.kernel.session import Session
from sidecar.systems.taskloop.council import CouncilRequest
from sidecar.systems.taskloop.policy.council_case import council_facts, describe_case
from sidecar.systems.taskloop.policy.loop import accept_decision
from sidecar.systems.taskloop.policy.transitions import Step, take_step
from sidecar.systems.taskloop.ports import LoopServices
from sidecar.systems.taskloop.states import LoopStates


class CouncilStatus(Struct, frozen=True, kw_only=True):
    """Who was not heard yet. `loop` has the decision when nobody is left."""

    loop: Loop
    missing: tuple[CouncilMember, ...]


class LoopCouncils:
    """Collects proposals. Methods raise ToolRuleError where a rule forbids it, OSError, BadInputError."""

    def __init__(self, states: LoopStates, services: LoopServices) -> None:
        self._states = states
        self._services = services

    def status(self, session: Session) -> CouncilStatus:
        """Return who is to be heard."""
        loop = self._states.of(session.key)
        take_step(loop, Step.DECIDED)
        return CouncilStatus(loop=loop, missing=missing_members(loop))

    def case(self, session: Session) -> str:
        """Return what an agent is told that takes the missing perspectives in turn."""
        status = self.status(session)
        return self._services.council.prompt_in_turn(status.missing, self.request(session))

    def request(self, session: Session) -> CouncilRequest:
        """Return what a council of workers is asked about the task at work."""
        loop, settings = self._states.of(session.key), self._states.settings()
        task = self._services.tasks.task(session.key, loop.task)
        spent = loop.spent_cents or 0.0
        most = settings.loop.max_cents
        return CouncilRequest(
            project=session.project,
            environment=self._services.gates.permitted_environment(session),
            case=describe_case(loop, "\n- ".join((task.content, *task.acceptance_criteria))),
            facts=council_facts(loop),
            max_cents=None if most is None else max(0.0, most - spent),
        )

    def submit(self, session: Session, proposal: CouncilProposal) -> CouncilStatus:
        """Add what a perspective found, instead of an earlier proposal of it; decide when all were heard."""
        self._states.check_free(session.key)
        loop, mask = self._states.of(session.key), self._services.gates.mask(session)
        take_step(loop, Step.DECIDED)
        proposal = replace(
            proposal,
            findings=tuple(map(mask, proposal.findings)),
            hypothesis=mask(proposal.hypothesis),
            suggested_fix=mask(proposal.suggested_fix),
        )
        others = tuple(one for one in loop.proposals if one.member is not proposal.member)
        loop = replace(loop, proposals=(*others, proposal))
        if not (missing := missing_members(loop)):
            loop = accept_decision(loop, self._decide(session, loop))
        loop = self._states.save(loop)
        heard = LoopCouncil(task=loop.task, member=proposal.member, confidence=proposal.confidence)
        self._states.note(session, heard)
        if loop.state is LoopState.EXECUTING:
            self._note_decision(session, loop)
        return CouncilStatus(loop=loop, missing=missing)

    def accept(
        self, session: Session, decision: CouncilDecision, proposals: tuple[CouncilProposal, ...] = ()
    ) -> Loop:
        """Go on with what a council of workers decided."""
        self._states.check_free(session.key)
        loop = accept_decision(self._states.of(session.key), decision)
        loop = self._states.save(replace(loop, proposals=proposals))
        self._note_decision(session, loop)
        return loop

    def _decide(self, session: Session, loop: Loop) -> CouncilDecision:
        return self._services.council.decide(session.project, loop.proposals, council_facts(loop))

    def _note_decision(self, session: Session, loop: Loop) -> None:
        if (decided := loop.decision) is not None:
            self._states.note(
                session,
                LoopCouncil(task=loop.task, winner=decided.winner, fix=decided.recommended_fix),
            )


def missing_members(loop: Loop) -> tuple[CouncilMember, ...]:
    """Return the perspectives without a proposal."""
    heard = {one.member for one in loop.proposals}
    return tuple(member for member in CouncilMember if member not in heard)
