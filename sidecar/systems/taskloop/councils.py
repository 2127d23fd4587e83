"""The bug council on the task at work: of workers, or of one agent that takes the perspectives in turn."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.kernel.log import LoopCouncil
from sidecar.kernel.loop import CouncilDecision, CouncilMember, CouncilProposal, Loop
from sidecar.kernel.session import Session
from sidecar.systems.taskloop.council import CouncilRequest, clean_proposal
from sidecar.systems.taskloop.policy.council_case import CouncilCase, council_facts
from sidecar.systems.taskloop.policy.loop import accept_decision
from sidecar.systems.taskloop.policy.transitions import Step, take_step
from sidecar.systems.taskloop.states import LoopStates
from sidecar.systems.taskloop.wording import LoopWords


class LoopCouncils:
    """Collects proposals. Methods raise ToolRuleError where a rule forbids it, OSError, BadInputError."""

    def __init__(self, states: LoopStates, words: LoopWords) -> None:
        self._states = states
        self._words = words
        self.council = states.services.council

    def open_council(self, session: Session) -> Loop:
        """Return the loop while a council is to be held on its task."""
        loop = self._states.of(session.key)
        take_step(loop, Step.DECIDED)
        return loop

    def case(self, session: Session) -> str:
        """Return what an agent is told that takes the missing perspectives in turn."""
        missing = missing_members(self.open_council(session))
        return self.council.prompt_in_turn(missing, self.request(session))

    def request(self, session: Session) -> CouncilRequest:
        """Return what a council of workers is asked about the task at work."""
        loop, most = self._states.of(session.key), self._states.settings().loop.max_cents
        task = self._states.services.tasks.task(session.key, loop.task)
        facts = council_facts(loop)
        return CouncilRequest(
            project=session.project,
            environment=self._states.environment(session),
            case=CouncilCase(
                task="\n- ".join((task.content, *task.acceptance_criteria)),
                tried="\n".join(self._words.failures(loop)),
                failures="\n".join(facts.failing),
                errors="\n".join(facts.errors),
                gates="\n".join(map(self._words.gate, loop.gates)),
            ),
            facts=facts,
            max_cents=None if most is None else max(0.0, most - (loop.spent_cents or 0.0)),
        )

    def submit(self, session: Session, proposal: CouncilProposal) -> Loop:
        """Add what a perspective found, instead of an earlier proposal of it; decide when all were heard."""
        self._states.check_free(session.key)
        loop = self.open_council(session)
        proposal = clean_proposal(proposal, self._states.services.gates.mask(session))
        others = tuple(one for one in loop.proposals if one.member is not proposal.member)
        loop = replace(loop, proposals=(*others, proposal))
        heard = LoopCouncil(task=loop.task, member=proposal.member, confidence=proposal.confidence)
        if missing_members(loop):
            return self._states.save(session, loop, heard)
        decision = self.council.decide(session.project, loop.proposals, council_facts(loop))
        return self._states.save(session, accept_decision(loop, decision), heard, _told(loop, decision))

    def accept(
        self, session: Session, decision: CouncilDecision, proposals: tuple[CouncilProposal, ...] = ()
    ) -> Loop:
        """Go on with what a council of workers decided."""
        self._states.check_free(session.key)
        loop = replace(accept_decision(self._states.of(session.key), decision), proposals=proposals)
        return self._states.save(session, loop, _told(loop, decision))


def missing_members(loop: Loop) -> tuple[CouncilMember, ...]:
    """Return the perspectives without a proposal."""
    heard = {one.member for one in loop.proposals}
    return tuple(member for member in CouncilMember if member not in heard)


def _told(loop: Loop, decision: CouncilDecision) -> LoopCouncil:
    return LoopCouncil(task=loop.task, winner=decision.winner, fix=decision.recommended_fix)
