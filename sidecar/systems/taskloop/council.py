"""Holds a bug council on the task at work: of five workers at once, or of one agent that takes their places.

Each worker is in a copy of its own of the project, with its history; what it writes there is dropped. No text
of one member reaches another. One that fails is left out with the reason; a decision needs three. With
`loop.max_cents`, a council of workers begins only if its estimate fits into what is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from sidecar.evidence.tree.workspace import NAMED_PATHS
from sidecar.kernel.log import LoopCouncil
from sidecar.kernel.loop import CouncilAnswer, CouncilDecision, CouncilMember, CouncilProposal, Loop
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_text, fill_template, truncate_middle
from sidecar.platform.installation import plugin_root
from sidecar.rubric.texts import read_prompt
from sidecar.systems.taskloop.policy.council import (
    LEAST_PROPOSALS,
    CouncilEstimate,
    council_facts,
    decide_council,
    estimate_council,
    paths_to_check,
    quote_case,
)
from sidecar.systems.taskloop.policy.loop import accept_decision, priced_cents, record_tokens
from sidecar.systems.taskloop.policy.transitions import Step, take_step
from sidecar.systems.taskloop.states import LoopStates
from sidecar.systems.taskloop.wording import LoopWords
from sidecar.work.place import NoCopyError, ProjectCopies
from sidecar.workers.backend import route_model
from sidecar.workers.ports import SELF, CountedWorkers, WorkerError, WorkerTask

ROUTE: Final = "council"
"""The name under which `[workers.models]` may name the model of the members."""
OWN_MODEL: Final = "the host's own model"
FOLDER: Final = "council"
CASE_FILE: Final = "council.md"
TEXT_LENGTH: Final = 4_000
"""Characters kept of each text of an answer."""

Tell = Callable[[CouncilMember, str], None]
"""Hears how a member gets on, in one line each time."""
MemberTasks = Mapping[CouncilMember, WorkerTask[CouncilAnswer]]

log = logging.getLogger(__name__)


class CouncilMeeting(Struct, frozen=True, kw_only=True):
    """How a council of workers ended. `decision` is None where there were fewer proposals than it takes.

    `left_out`: each member without a proposal, and why.
    """

    decision: CouncilDecision | None
    left_out: tuple[tuple[CouncilMember, str], ...]


class LoopCouncils:
    """Holds councils. Methods raise ToolRuleError where a rule forbids it, OSError, BadInputError."""

    def __init__(self, states: LoopStates, words: LoopWords) -> None:
        self._states, self._services, self._words = states, states.services, words

    def open_council(self, session: Session, tool: str = "") -> Loop:
        """Return the loop while a council is to be held on its task. `tool`: what was called for it."""
        loop = self._states.of(session.key)
        take_step(loop, Step.DECIDED, tool)
        return loop

    # --- one agent in turn ---

    def prompt_in_turn(self, session: Session) -> str:
        """Return the prompt of an agent that takes the places of the missing members: the case once."""
        loop = self.open_council(session)
        texts = (f"[{one}]\n{read_prompt(FOLDER, one)[1]}" for one in missing_members(loop))
        return self._fill(session, loop, "\n\n".join(texts))

    def submit(self, session: Session, proposal: CouncilProposal) -> Loop:
        """Add what a perspective found, instead of an earlier proposal of it; decide when all are in."""
        self._states.check_free(session.key)
        loop = self.open_council(session)
        proposal = clean_proposal(proposal, self._services.gates.mask(session))
        others = tuple(one for one in loop.proposals if one.member is not proposal.member)
        loop = replace(loop, proposals=(*others, proposal))
        event = LoopCouncil(task=loop.task, member=proposal.member, confidence=proposal.confidence)
        if missing_members(loop):
            return self._states.save(session, loop, event)
        return self._decide(session, loop, event)

    # --- workers ---

    def estimate(self, session: Session, model: str = "") -> CouncilEstimate:
        """Say what a council may cost on the models that would really run, before it is held; see `meet`."""
        loop, settings = self.open_council(session), self._states.settings()
        tasks, most = self._tasks(session, loop, model), settings.loop.max_cents
        try:
            models = self._services.workers.models(tasks.values(), settings, limited=most is not None)
        except WorkerError as error:
            return CouncilEstimate(cents=None, text=error.message, obstacle=error.message)
        runs = {name: OWN_MODEL if one == SELF else one for name, one in models.items()}
        asked = [(task.prompt, runs.get(task.model, task.model)) for task in tasks.values()]
        return estimate_council(asked, settings, None if most is None else most - priced_cents(loop))

    async def meet(self, session: Session, tell: Tell, model: str = "") -> CouncilMeeting:
        """Hold a council of workers, and go on with what it decides. Cancelling ends every member.

        `model` "" means the user's for `council`, or the one of the prompts.
        """
        self._states.check_free(session.key)
        loop, settings = self.open_council(session), self._states.settings()
        tasks = self._tasks(session, loop, model)
        if why := self.estimate(session, model).obstacle:
            left_out = tuple((member, f"not begun: {why}") for member in tasks)
            return CouncilMeeting(decision=None, left_out=left_out)
        workspace, environment = self._services.shared.workspace, self._states.environment(session)
        meeting = _Meeting(
            settings=settings,
            workers=CountedWorkers(self._services.workers),
            copies=ProjectCopies(workspace, session.project, environment),
            mask=self._services.gates.mask(session),
            tell=tell,
            places=asyncio.Semaphore(settings.workers.parallel),
        )
        async with asyncio.TaskGroup() as group:
            asked = {member: group.create_task(meeting.ask(member, task)) for member, task in tasks.items()}
        ended, workers = {member: one.result() for member, one in asked.items()}, meeting.workers
        loop = record_tokens(self._states.of(session.key), workers.tokens, 0, workers.cents)
        proposals = tuple(one for one in ended.values() if isinstance(one, CouncilProposal))
        if len(proposals) < LEAST_PROPOSALS:
            decision = self._states.save(session, loop).decision
        else:
            decision = self._decide(session, replace(loop, proposals=proposals)).decision
        left_out = tuple((member, why) for member, why in ended.items() if isinstance(why, str))
        return CouncilMeeting(decision=decision, left_out=left_out)

    # --- parts ---

    def _decide(self, session: Session, loop: Loop, *events: LoopCouncil) -> Loop:
        """Weigh the proposals; files that they name are looked up in the project."""
        named = paths_to_check(loop.proposals)
        parts = [named[at : at + NAMED_PATHS] for at in range(0, len(named), NAMED_PATHS)]
        workspace, facts = self._services.shared.workspace, council_facts(loop)
        absent = {path for part in parts for path in workspace.absent(session.project, part)}
        there = tuple(path for path in named if path not in absent)
        decided = decide_council(loop.proposals, replace(facts, files=there))
        event = LoopCouncil(task=loop.task, winner=decided.winner, fix=decided.recommended_fix)
        return self._states.save(session, accept_decision(loop, decided), *events, event)

    def _tasks(self, session: Session, loop: Loop, model: str) -> MemberTasks:
        """Return what each member is asked."""
        tasks, settings = {}, self._states.settings()
        for member in CouncilMember:
            head, text = read_prompt(FOLDER, member)
            tasks[member] = WorkerTask(
                prompt=self._fill(session, loop, text),
                answer=CouncilAnswer,
                tools=head.tools,
                model=route_model(model, ROUTE, settings, preset=head.model),
                project=session.project,
                environment=self._states.environment(session),
            )
        return tasks

    def _fill(self, session: Session, loop: Loop, perspective: str) -> str:
        """Return the case of the task at work for a perspective."""
        task, facts = self._services.tasks.task(session.key, loop.task), council_facts(loop)
        case = quote_case(
            task="\n- ".join((task.content, *task.acceptance_criteria)),
            tried="\n".join(self._words.failures(loop)),
            failures="\n".join(facts.failing),
            errors="\n".join(facts.errors),
            gates="\n".join(map(self._words.gate, loop.gates)),
        )
        template = (plugin_root() / "rubric" / CASE_FILE).read_text(encoding="utf-8")
        return self._states.mask(session, fill_template(template, {**case, "perspective": perspective}))


def missing_members(loop: Loop) -> tuple[CouncilMember, ...]:
    """Return the perspectives without a proposal."""
    submitted = {one.member for one in loop.proposals}
    return tuple(member for member in CouncilMember if member not in submitted)


@dataclass(kw_only=True)
class _Meeting:
    """One council, while its members are at work.

    `places`: as many as may be at work at once, so that a copy is made when it is used. `final`: how a member
    failed so that no other one is started.
    """

    settings: Settings
    workers: CountedWorkers
    copies: ProjectCopies
    mask: SecretMask
    tell: Tell
    places: asyncio.Semaphore
    final: WorkerError | None = None

    async def ask(self, member: CouncilMember, task: WorkerTask[CouncilAnswer]) -> CouncilProposal | str:
        """Return a member's proposal, or why there is none."""
        try:
            async with self.places, self.copies.open(ROUTE, history=True) as copy:
                if self.final is not None:
                    raise self.final
                self.tell(member, "works in a copy of the project")
                own = replace(task, project=copy.project, environment=copy.environment, guarded=copy.origin)
                answer = (await self.workers.run(own, self.settings, log.debug)).answer
        except (WorkerError, NoCopyError, OSError) as error:
            if isinstance(error, WorkerError) and error.is_final():
                self.final = error
            why = f"left out: {error}"
            self.tell(member, why)
            return why
        self.tell(member, f"proposes, with a confidence of {answer.confidence}")
        said = CouncilProposal(member=member, **asdict(answer))
        return clean_proposal(said, lambda text: self.mask(text.replace(f"{copy.project}/", "")))


def clean_proposal(said: CouncilProposal, mask: Callable[[str], str]) -> CouncilProposal:
    """Return a proposal with its texts masked and bounded, and none of them empty."""

    def clean(text: str) -> str:
        return truncate_middle(clean_text(mask(text)), TEXT_LENGTH) or "-"

    return replace(
        said,
        findings=tuple(map(clean, said.findings)),
        hypothesis=clean(said.hypothesis),
        suggested_fix=clean(said.suggested_fix),
    )
