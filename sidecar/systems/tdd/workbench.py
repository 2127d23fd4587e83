"""One call of a skill: its request, the copies of the project that its workers get, and what they took."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

from msgspec import Struct

from sidecar.evidence.gates.approvals import InstructionRegistry
from sidecar.kernel.session import Environment, SessionKey
from sidecar.platform.apply import ChangeApplier
from sidecar.systems.tdd.policy.skills import Skill
from sidecar.work.place import CheckedCopy, NoCopyError, ProjectCopies, WorkCopy, begin_checked_copy
from sidecar.work.ports import HeadlessServices
from sidecar.work.progress import Step, Tell
from sidecar.workers.backend import route_model
from sidecar.workers.ports import CountedWorkers, WorkerRun, WorkerTask


@dataclass(frozen=True, kw_only=True)
class SkillServices(HeadlessServices):
    """What skills use. `texts`: rubric/tdd.md."""

    applier: ChangeApplier
    registry: InstructionRegistry[Skill]


OUTPUT_LENGTH: Final = 4_000
"""Characters of output in a result, from its end."""

log = logging.getLogger(__name__)


class SkillRequest(Struct, frozen=True, kw_only=True):
    """What a skill is asked to do. `values` fill its text; `test_cmd` "" means the detected command.

    `model` "" means the skill's own or the default one. `keep`: what the last attempt wrote goes into the
    project even if it was refused. `approved`: a person asked for it, so that a detected command may run.
    `session` asks, None for a person in a shell.
    """

    project: str
    environment: Environment
    values: Mapping[str, str]
    model: str = ""
    test_cmd: str = ""
    keep: bool = False
    approved: bool = False
    session: SessionKey | None = None


class SkillResult(Struct, frozen=True, kw_only=True):
    """How a skill ended, with secrets masked.

    `status`: "fail" where the discipline was broken in every attempt, "error" where it could not be tried;
    "pass" without `verified` where there was nothing to do.
    `phase` is "" for a skill that is none. `verified`: our own run of the tests shows it. `runner_output` is
    the end of that run, at most 4,000 characters. `files` were changed in the project. `model_used` is a name
    or "self". `cents` is None where a price is unknown. `answer` has the fields of a skill's answer; a phase
    has none, because what its worker says proves nothing.
    """

    status: Literal["pass", "fail", "error"]
    phase: str
    skill: str
    file_path: str = ""
    runner_output: str = ""
    verified: bool = False
    model_used: str = ""
    message: str = ""
    attempts: int = 0
    files: tuple[str, ...] = ()
    tokens: int = 0
    cents: float | None = None
    answer: dict[str, Any] | None = None


class SkillEndedError(Exception):
    """The skill ends with this result."""

    def __init__(self, result: SkillResult) -> None:
        super().__init__(result.message)
        self.result = result


class Workbench:
    """What one call of a skill works with. `phase` is "" for a skill that is no phase.

    `attempts` is the number of workers so far. `mask` masks the secrets of the caller's environment.
    """

    def __init__(
        self, services: SkillServices, skill: Skill, request: SkillRequest, tell: Tell, phase: str = ""
    ) -> None:
        self.services = services
        self.skill = skill
        self.request = request
        self.phase = phase
        self.attempts = 0
        self.mask = services.shared.secrets.masker(request.environment)
        self._copies = ProjectCopies(services.shared.workspace, request.project, request.environment)
        self._workers = CountedWorkers(services.workers)
        self._model = ""
        self._tell = tell

    def tell(self, text: str, *, gate: str = "", outcome: str = "") -> None:
        """Tell what is being done."""
        kind, attempt = self.phase or self.skill.name, self.attempts
        self._tell(Step(kind=kind, text=text, attempt=attempt, gate=gate, outcome=outcome))

    @asynccontextmanager
    async def copy(self) -> AsyncIterator[CheckedCopy]:
        """Yield a copy of the project as it was at the first call. Raises SkillEndedError."""
        asked = self.request
        at = (self.services.shared, asked.session, asked.project, asked.environment)
        try:
            async with self._copies.open("skill") as copy:
                yield await begin_checked_copy(*at, copy)
        except NoCopyError as error:
            raise self.ended("no-copy", why=str(error)) from None

    async def work(self, copy: WorkCopy, values: Mapping[str, str]) -> WorkerRun[Struct]:
        """Let the next worker work in the copy, where the paths among the values are. Raises WorkerError."""
        self.attempts += 1
        number = f"{self.attempts}/{self.skill.attempts}"
        self.tell(f"an agent works in a copy of the project ({number})")
        settings, _ = self.services.shared.configuration.load()
        task = WorkerTask(
            prompt=self.skill.prompt(values),
            answer=self.skill.answer,
            tools=self.skill.tools,
            model=route_model(self.request.model, self.skill.name, settings, preset=self.skill.model),
            project=copy.project,
            environment=copy.environment,
            guarded=copy.origin,
            files=tuple(filter(None, (values.get("test_path", ""), values.get("impl_path", "")))),
        )
        done = await self._workers.run(task, settings, log.debug)
        self._model = done.model
        return done

    def ended(self, rule: str, **values: str) -> SkillEndedError:
        """Build the end of a skill that cannot be tried, in the words of rubric/tdd.md."""
        return SkillEndedError(self.result("error", self.services.texts.say(rule, **values)))

    def result(
        self,
        status: Literal["pass", "fail", "error"],
        message: str,
        output: str = "",
        **found: Any,  # noqa: ANN401 - other fields of the result
    ) -> SkillResult:
        """Build the result, with what the workers took."""
        return SkillResult(
            status=status,
            phase=self.phase,
            skill=self.skill.name,
            runner_output=self.mask(output.strip()[-OUTPUT_LENGTH:]),
            model_used=self._model,
            message=self.mask(message),
            attempts=self.attempts,
            tokens=self._workers.tokens,
            cents=self._workers.cents,
            **found,
        )
