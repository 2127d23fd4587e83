"""Holds a bug council: five workers look into one fault in parallel, and their proposals are weighed.

Each member works in a copy of its own of the project, with its history; what it writes there is dropped.
No text of one member reaches another. One that fails is left out and told; a decision needs three.
With `max_cents`, a member begins only if its estimate fits into what is left beside those at work. Where no
price is known, what others have cost by their own word counts alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import Workspace
from sidecar.evidence.tree.copies import NoCopyError, ProjectCopies
from sidecar.evidence.tree.workspace import NAMED_PATHS
from sidecar.kernel.instructions import parse_instructions
from sidecar.kernel.loop import CouncilDecision, CouncilMember, CouncilProposal
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.kernel.structs import fill_struct
from sidecar.kernel.text import clean_text, fill_template, truncate_middle
from sidecar.platform.ports import Configuration, SecretDetector
from sidecar.systems.taskloop.policy.council import (
    LEAST_PROPOSALS,
    CouncilFacts,
    decide_council,
    paths_to_check,
)
from sidecar.systems.taskloop.policy.council_case import (
    CouncilAnswer,
    CouncilCase,
    CouncilEstimate,
    estimate_council,
)
from sidecar.workers.counted import CountedWorkers
from sidecar.workers.policy import route_model
from sidecar.workers.ports import WorkerError, Workers, WorkerTask

ROUTE: Final = "council"
"""The name under which `[workers.models]` may name the model of the members."""
FOLDER: Final = "council"
CASE_FILE: Final = "council.md"
TEXT_LENGTH: Final = 4_000
"""Characters kept of each text of an answer."""

Tell = Callable[[CouncilMember, str], None]
"""Is told how a member gets on, in one line each time."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CouncilServices:
    """What a council works with. `texts`: the folder of council.md and of the members' prompts."""

    configuration: Configuration
    secrets: SecretDetector
    texts: Path
    workers: Workers
    workspace: Workspace


class CouncilRequest(Struct, frozen=True, kw_only=True):
    """What a council is asked. `facts`: what is known; files that proposals name are looked up besides.

    `model` "" means the user's for `council`, or the one of the prompts. `seconds` is the deadline of one
    member, 0 for `[workers] seconds`.
    """

    project: str
    environment: Environment
    case: CouncilCase
    facts: CouncilFacts = CouncilFacts()
    model: str = ""
    max_cents: float | None = None
    seconds: float = 0.0


class CouncilMeeting(Struct, frozen=True, kw_only=True):
    """How a council ended. `decision` is None where there were fewer proposals than it takes.

    `left_out`: each member without a proposal, and why. `tokens` and `cents` are what all members took, those
    without a proposal too; `cents` is None where a price is unknown.
    """

    decision: CouncilDecision | None
    proposals: tuple[CouncilProposal, ...]
    left_out: tuple[tuple[CouncilMember, str], ...]
    tokens: int
    cents: float | None


class MemberHead(Struct, frozen=True, kw_only=True):
    """The head of a member's file in rubric/council/."""

    name: CouncilMember
    about: str
    tools: tuple[str, ...]
    model: str = ""


class Council:
    """Holds councils."""

    def __init__(self, services: CouncilServices) -> None:
        """Use these services."""
        self._services = services

    def estimate(self, request: CouncilRequest) -> CouncilEstimate:
        """Say what a council may cost, before it is held."""
        settings, _ = self._services.configuration.load()
        tasks = self.tasks(request, settings).values()
        return estimate_council([(task.prompt, task.model) for task in tasks], settings)

    async def meet(self, request: CouncilRequest, tell: Tell) -> CouncilMeeting:
        """Hold a council. Cancelling ends every member."""
        settings, _ = self._services.configuration.load()
        meeting = _Meeting(
            most=request.max_cents,
            settings=settings,
            workers=CountedWorkers(self._services.workers),
            copies=ProjectCopies(self._services.workspace, request.project, request.environment),
            mask=self._services.secrets.masker(request.environment),
            tell=tell,
            places=asyncio.Semaphore(settings.workers.parallel),
        )
        ended = await meeting.hear_all(self.tasks(request, settings))
        proposals = tuple(one for one in ended.values() if isinstance(one, CouncilProposal))
        enough = len(proposals) >= LEAST_PROPOSALS
        return CouncilMeeting(
            decision=self.decide(request.project, proposals, request.facts) if enough else None,
            proposals=proposals,
            left_out=tuple((member, why) for member, why in ended.items() if isinstance(why, str)),
            tokens=meeting.workers.tokens,
            cents=meeting.workers.cents,
        )

    def decide(
        self, project: str, proposals: Sequence[CouncilProposal], facts: CouncilFacts
    ) -> CouncilDecision:
        """Weigh proposals, at most one of each member; files that they name are looked up in the project."""
        named = paths_to_check(proposals)
        absent = {
            path
            for at in range(0, len(named), NAMED_PATHS)
            for path in self._services.workspace.absent(project, named[at : at + NAMED_PATHS])
        }
        there = tuple(path for path in named if path not in absent)
        return decide_council(proposals, replace(facts, files=(*facts.files, *there)))

    def prompt_in_turn(self, members: Sequence[CouncilMember], request: CouncilRequest) -> str:
        """Return what an agent is told that takes the places of these members: the case once."""
        return self._fill(request, "\n\n".join(f"[{one}]\n{self._read(one)[1]}" for one in members))

    def tasks(
        self, request: CouncilRequest, settings: Settings
    ) -> dict[CouncilMember, WorkerTask[CouncilAnswer]]:
        """Return what each member is asked."""
        tasks = {}
        for member in CouncilMember:
            head, text = self._read(member)
            tasks[member] = WorkerTask(
                prompt=self._fill(request, text),
                answer=CouncilAnswer,
                tools=head.tools,
                model=route_model(request.model, ROUTE, settings, preset=head.model),
                project=request.project,
                environment=request.environment,
                seconds=request.seconds,
            )
        return tasks

    def _read(self, member: CouncilMember) -> tuple[MemberHead, str]:
        path = self._services.texts / FOLDER / f"{member}.md"
        head, text = parse_instructions(path.read_text(encoding="utf-8"), str(path), MemberHead, "name")
        return head, text.strip()

    def _fill(self, request: CouncilRequest, perspective: str) -> str:
        case = (self._services.texts / CASE_FILE).read_text(encoding="utf-8")
        mask = self._services.secrets.masker(request.environment)
        return mask(fill_template(case, {**request.case.quoted(), "perspective": perspective}))


@dataclass(kw_only=True)
class _Meeting:
    """One council, while its members are at work. `most`: the cents that it may cost, None for no limit."""

    most: float | None
    settings: Settings
    workers: CountedWorkers
    copies: ProjectCopies
    mask: SecretMask
    tell: Tell
    places: asyncio.Semaphore
    """As many as may be at work at once, so that a copy is made when it is used."""
    reserved: float = 0.0
    failed: int = 0

    async def hear_all(
        self, tasks: Mapping[CouncilMember, WorkerTask[CouncilAnswer]]
    ) -> dict[CouncilMember, CouncilProposal | str]:
        """Return each member's proposal, or why there is none. Without money for a decision none begins."""
        least = sum(sorted(map(self._estimate, tasks.values()))[:LEAST_PROPOSALS])
        if self.most is not None and least > self.most:
            why = f"not begun: a council costs about {least:.1f} cents, and {self.most:g} may be spent"
            return dict.fromkeys(tasks, why)
        async with asyncio.TaskGroup() as group:
            running = {member: group.create_task(self._ask(member, task)) for member, task in tasks.items()}
        return {member: one.result() for member, one in running.items()}

    async def _ask(self, member: CouncilMember, task: WorkerTask[CouncilAnswer]) -> CouncilProposal | str:
        async with self.places:
            expected = self._estimate(task)
            why = self._reason_against(expected)
            self.reserved += expected
            try:
                if not why:
                    return await self._work(member, task)
            except (WorkerError, NoCopyError, OSError) as error:
                why = f"left out: {error}"
            finally:
                self.reserved -= expected
        self.failed += 1
        self.tell(member, why)
        return why

    def _reason_against(self, expected: float) -> str:
        """Say why a member that is expected to take so many cents may not begin; "" if it may."""
        if self.failed > len(CouncilMember) - LEAST_PROPOSALS:
            return "not begun: too many others have failed"
        if self.most is None:
            return ""
        left = self.most - self.workers.known_cents - self.reserved
        return (
            f"not begun: {left:.1f} of {self.most:g} cents are left" if left <= 0 or expected > left else ""
        )

    async def _work(self, member: CouncilMember, task: WorkerTask[CouncilAnswer]) -> CouncilProposal:
        async with self.copies.open(ROUTE, history=True) as copy:
            self.tell(member, "works in a copy of the project")
            own = replace(task, project=copy.project, environment=copy.environment)
            answer = (await self.workers.run(own, self.settings, log.debug)).answer

        self.tell(member, f"proposes, with a confidence of {answer.confidence}")
        said = fill_struct(CouncilProposal, answer, member=member)
        return clean_proposal(said, lambda text: self.mask(text.replace(f"{copy.project}/", "")))

    def _estimate(self, task: WorkerTask[CouncilAnswer]) -> float:
        return estimate_council([(task.prompt, task.model)], self.settings).cents or 0.0


def clean_proposal(said: CouncilProposal, mask: Callable[[str], str]) -> CouncilProposal:
    """Return a proposal with its texts masked and bounded."""

    def clean(text: str) -> str:
        return truncate_middle(clean_text(mask(text)), TEXT_LENGTH)

    return replace(
        said,
        findings=tuple(map(clean, said.findings)),
        hypothesis=clean(said.hypothesis),
        suggested_fix=clean(said.suggested_fix),
    )
