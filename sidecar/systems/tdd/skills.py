"""Carries out skills: a worker in a copy of the project, our own run of the tests, and then all or nothing.

    copy the project      the tests as they end now (once)
    the worker            in the copy, with the skill's tools and deadline
    what changed          against the rules of the phase
    the tests again       in the copy, compared test by test
    verified              the changed files are applied to the project, whole
    refused               the copy is dropped; the next attempt is told why

Until the end nothing of the project is touched: a worker, a host or a sidecar that is killed leaves it whole.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec
from msgspec import Raw

from sidecar.evidence.gates.instructions import KnownInstructions
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import LoggedEvent, SkillEnded
from sidecar.systems.tdd.phase_run import PhaseRun
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.policy.skills import Skill
from sidecar.systems.tdd.ports import SkillServices
from sidecar.systems.tdd.workbench import (
    OUTPUT_LENGTH,
    SkillEndedError,
    SkillRequest,
    SkillResult,
    Tell,
    Workbench,
)
from sidecar.workers.ports import FINAL_FAILURES, WorkerError

SYSTEM: Final = "tdd"
"""The name of the system in the event log."""

log = logging.getLogger(__name__)


class Skills:
    """Runs skills."""

    def __init__(self, services: SkillServices) -> None:
        """Use these services."""
        self._services = services

    def known(self, project: str) -> KnownInstructions[Skill]:
        """Return the skills that may be used in a project."""
        return self._services.registry.known(project)

    async def run(self, name: str, request: SkillRequest, tell: Tell) -> SkillResult:
        """Let a worker do a skill that is no phase; what it writes is dropped. Raises BadInputError."""
        bench = Workbench(self._services, self._find(name, request.project), request, tell)
        try:
            result = await _run_skill(bench)
        except SkillEndedError as ended:
            result = ended.result
        return self._logged(request, result)

    async def run_phase(self, phase: Phase, request: SkillRequest, tell: Tell) -> SkillResult:
        """Carry out a phase of test-driven development. Raises BadInputError."""
        skill = self._find(f"tdd_{phase}", request.project)
        bench = Workbench(self._services, skill, request, tell, phase)
        try:
            result = await PhaseRun(bench, phase).run()
        except SkillEndedError as ended:
            result = bench.complete(ended.result, 0)
        return self._logged(request, result)

    def _logged(self, request: SkillRequest, result: SkillResult) -> SkillResult:
        """Append the end of a skill to the event log, with secrets masked."""
        services, mask = self._services, self._services.secrets.masker(request.environment)
        ended = SkillEnded(
            skill=result.skill,
            status=result.status,
            attempts=result.attempts,
            phase=result.phase,
            verified=result.verified,
            files=result.files,
            message=mask(result.message),
            tokens=result.tokens,
            cents=result.cents,
        )
        event = LoggedEvent(
            at=services.clock.now(),
            system=SYSTEM,
            data=ended,
            session=request.session,
            project=request.project,
        )
        try:
            services.log.append(event)
        except OSError as error:
            log.warning("%s: its end could not be written down: %s", result.skill, error)
        return result

    def _find(self, name: str, project: str) -> Skill:
        known = self.known(project)
        if name not in known.by_name:
            there = ", ".join(sorted(known.by_name)) or "none"
            why = "".join(f"\n{problem}" for problem in known.problems)
            raise BadInputError(f"there is no skill {name[:40]!r}; there are: {there}{why}")
        return known.by_name[name]


async def _run_skill(bench: Workbench) -> SkillResult:
    attempt, attempts, name = 0, bench.skill.attempts, bench.skill.name
    while True:
        attempt += 1
        bench.tell(f"{name}: an agent works in a copy of the project ({attempt}/{attempts})")
        try:
            async with bench.copy() as copy:
                done = await bench.work(copy, bench.request.values)
        except WorkerError as error:
            if attempt < attempts and error.failure not in FINAL_FAILURES:
                continue
            output = error.output[-OUTPUT_LENGTH:]
            result = SkillResult(status="error", skill=name, message=error.message, runner_output=output)
        else:
            result = SkillResult(status="pass", skill=name, answer=Raw(msgspec.json.encode(done.answer)))
        return bench.complete(result, attempt)
