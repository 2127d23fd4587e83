"""Holds a bug council: five workers look into one fault in parallel, and their proposals are weighed.

Each member works in a copy of its own of the project, with its history; what it writes there is dropped.
No text of one member reaches another. One that fails is left out and told; a decision needs three.
With `max_cents`, a member begins only if its estimate fits into what is left beside those at work. Where no
price is known, what others have cost by their own word counts alone.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from sidecar.evidence.ports import Workspace
from sidecar.evidence.tree.copies import NoCopyError, ProjectCopies
from sidecar.evidence.tree.workspace import NAMED_PATHS
from sidecar.kernel.loop import CouncilDecision, CouncilMember, CouncilProposal
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
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
HEAD: Final = re.compile(r"---\n(?P<head>.*?\n)---\n(?P<body>.*)", re.DOTALL)
TEXT_LENGTH: Final = 2_000
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
    """How a council ended. `left_out`: each member without a proposal, and why.

    `tokens` and `cents` are what all members took, those without a proposal too; `cents` is None where a
    price is unknown.
    """

    decision: CouncilDecision
    proposals: tuple[CouncilProposal, ...]
    left_out: tuple[tuple[CouncilMember, str], ...]
    tokens: int
    cents: float | None


class CouncilError(Exception):
    """There are too few proposals; the message says why for each member. What was spent was spent."""

    def __init__(
        self, left_out: Sequence[tuple[CouncilMember, str]], tokens: int, cents: float | None
    ) -> None:
        why = "\n".join(f"- {member}: {reason}" for member, reason in left_out)
        super().__init__(f"the council needs {LEAST_PROPOSALS} proposals to decide, and has too few:\n{why}")
        self.left_out = tuple(left_out)
        self.tokens = tokens
        self.cents = cents


class MemberPrompt(Struct, frozen=True, kw_only=True):
    """The head of a member's file in rubric/council/, and its text."""

    name: CouncilMember
    about: str
    tools: tuple[str, ...]
    model: str = ""
    text: str = ""


class Council:
    """Holds councils."""

    def __init__(self, services: CouncilServices) -> None:
        """Use these services."""
        self._services = services

    def estimate(self, request: CouncilRequest) -> CouncilEstimate:
        """Say what a council may cost, before it is held."""
        settings, _ = self._services.configuration.load()
        asked = [(task.prompt, task.model) for task in self._tasks(request, settings).values()]
        return estimate_council(asked, settings)

    async def meet(self, request: CouncilRequest, tell: Tell) -> CouncilMeeting:
        """Hold a council. Raises CouncilError. Cancelling ends every member."""
        settings, _ = self._services.configuration.load()
        workers = CountedWorkers(self._services.workers)
        copies = ProjectCopies(self._services.workspace, request.project, request.environment)
        meeting = _Meeting(request, settings, workers, copies, tell)
        mask = self._services.secrets.masker(request.environment)
        tasks = self._tasks(request, settings)
        if why := meeting.unaffordable(list(tasks.values())):
            raise CouncilError([(member, why) for member in tasks], 0, 0.0)
        async with asyncio.TaskGroup() as group:
            running = {
                member: group.create_task(meeting.ask(member, task, mask)) for member, task in tasks.items()
            }
        ended = {member: one.result() for member, one in running.items()}
        proposals = tuple(one for one in ended.values() if isinstance(one, CouncilProposal))
        left_out = tuple((member, why) for member, why in ended.items() if isinstance(why, str))
        if len(proposals) < LEAST_PROPOSALS:
            raise CouncilError(left_out, workers.tokens, workers.cents)
        return CouncilMeeting(
            decision=self.decide(request.project, proposals, request.facts),
            proposals=proposals,
            left_out=left_out,
            tokens=workers.tokens,
            cents=workers.cents,
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
        return decide_council(proposals, msgspec.structs.replace(facts, files=(*facts.files, *there)))

    def prompt(self, member: CouncilMember, request: CouncilRequest) -> str:
        """Return what a member is told: also for an agent that takes the places of all in turn."""
        return self._fill(request, read_member_prompt(self._services.texts, member))

    def prompt_in_turn(self, members: Sequence[CouncilMember], request: CouncilRequest) -> str:
        """Return what an agent is told that takes the places of these members: the case once."""
        read = [read_member_prompt(self._services.texts, member) for member in members]
        text = "\n\n".join(f"[{one.name}]\n{one.text}" for one in read)
        return self._fill(request, msgspec.structs.replace(read[0], text=text))

    def _fill(self, request: CouncilRequest, prompt: MemberPrompt) -> str:
        case = (self._services.texts / CASE_FILE).read_text(encoding="utf-8")
        mask = self._services.secrets.masker(request.environment)
        return mask(fill_template(case, {**asdict(request.case), "perspective": prompt.text}))

    def _tasks(
        self, request: CouncilRequest, settings: Settings
    ) -> Mapping[CouncilMember, WorkerTask[CouncilAnswer]]:
        prompts = [read_member_prompt(self._services.texts, member) for member in CouncilMember]
        return {
            one.name: WorkerTask(
                prompt=self._fill(request, one),
                answer=CouncilAnswer,
                tools=one.tools,
                model=route_model(request.model, ROUTE, settings, preset=one.model),
                project=request.project,
                environment=request.environment,
                seconds=request.seconds,
            )
            for one in prompts
        }


class _Meeting:
    """One council, while its members are at work."""

    def __init__(
        self,
        request: CouncilRequest,
        settings: Settings,
        workers: CountedWorkers,
        copies: ProjectCopies,
        tell: Tell,
    ) -> None:
        self._most = request.max_cents
        self._settings, self._workers, self._copies, self._tell = settings, workers, copies, tell
        self._places = asyncio.Semaphore(settings.workers.parallel)  # so that a copy is made when it is used
        self._reserved = 0.0

    def unaffordable(self, tasks: Sequence[WorkerTask[CouncilAnswer]]) -> str:
        """Say why no decision can be had for the money, "" if one can."""
        least = sum(sorted(map(self._estimate, tasks))[:LEAST_PROPOSALS])
        if self._most is None or least <= self._most:
            return ""
        return f"not begun: a council costs about {least:.1f} cents, and {self._most:g} may be spent"

    async def ask(
        self, member: CouncilMember, task: WorkerTask[CouncilAnswer], mask: SecretMask
    ) -> CouncilProposal | str:
        """Return a member's proposal, or why there is none."""
        async with self._places:
            expected, spent = self._estimate(task), self._workers.known_cents
            left = None if self._most is None else self._most - spent - self._reserved
            if left is not None and (left <= 0 or expected > left):
                return self._end(member, f"not begun: {left:.1f} of {self._most:g} cents are left")
            self._reserved += expected
            try:
                return await self._work(member, task, mask)
            except (WorkerError, NoCopyError, OSError) as error:
                return self._end(member, f"left out: {error}")
            finally:
                self._reserved -= expected

    async def _work(
        self, member: CouncilMember, task: WorkerTask[CouncilAnswer], mask: SecretMask
    ) -> CouncilProposal:
        async with self._copies.open(ROUTE, history=True) as copy:
            self._tell(member, "works in a copy of the project")
            own = msgspec.structs.replace(task, project=copy.project, environment=copy.environment)
            done = await self._workers.run(own, self._settings, log.debug)

        def kept(text: str) -> str:
            return truncate_middle(clean_text(mask(text.replace(f"{copy.project}/", ""))), TEXT_LENGTH)

        self._tell(member, f"proposes, with a confidence of {done.answer.confidence}")
        return CouncilProposal(
            member=member,
            findings=tuple(map(kept, done.answer.findings)),
            hypothesis=kept(done.answer.hypothesis),
            suggested_fix=kept(done.answer.suggested_fix),
            confidence=done.answer.confidence,
        )

    def _estimate(self, task: WorkerTask[CouncilAnswer]) -> float:
        return estimate_council([(task.prompt, task.model)], self._settings).cents or 0.0

    def _end(self, member: CouncilMember, why: str) -> str:
        self._tell(member, why)
        return why


def read_member_prompt(texts: Path, member: CouncilMember) -> MemberPrompt:
    """Read a member's file. It is ours, so a faulty one is a bug."""
    parts = HEAD.fullmatch((texts / FOLDER / f"{member}.md").read_text(encoding="utf-8"))
    if parts is None:
        raise ValueError(f"rubric/council/{member}.md has no head")
    head = msgspec.yaml.decode(parts["head"], type=MemberPrompt)
    return msgspec.structs.replace(head, text=parts["body"].strip())
