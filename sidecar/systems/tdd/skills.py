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

from typing import Final

import msgspec

from sidecar.evidence.gates.approvals import KnownInstructions
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import SkillEnded
from sidecar.kernel.masking import mask_texts
from sidecar.platform.services import note_event
from sidecar.systems.tdd.phase_run import PhaseRun
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.policy.skills import Skill
from sidecar.systems.tdd.workbench import (
    SkillEndedError,
    SkillRequest,
    SkillResult,
    SkillServices,
    Workbench,
)
from sidecar.work.progress import Tell
from sidecar.workers.ports import FINAL_FAILURES, WorkerError

SYSTEM: Final = "tdd"
"""The name of the system in the event log."""


class Skills:
    """Runs skills."""

    def __init__(self, services: SkillServices) -> None:
        """Use these services."""
        self._services = services

    def known(self, project: str) -> KnownInstructions[Skill]:
        """Return the skills that may be used in a project."""
        return self._services.registry.known(project)

    async def run(self, skill: str | Phase, request: SkillRequest, tell: Tell) -> SkillResult:
        """Let workers carry out a phase of test-driven development, or the skill of a name.

        Raises BadInputError.
        """
        phase = skill if isinstance(skill, Phase) else None
        found = self._find(f"tdd_{phase}" if phase else skill, request.project)
        bench = Workbench(self._services, found, request, tell, phase or "")
        try:
            result = await (PhaseRun(bench, phase).run() if phase else _run_skill(bench))
        except SkillEndedError as ended:
            result = ended.result
        event, shared = msgspec.convert(result, SkillEnded, from_attributes=True), self._services.shared
        note_event(shared.log, shared.clock, SYSTEM, event, request.session, request.project)
        return result

    def _find(self, name: str, project: str) -> Skill:
        known = self.known(project)
        if name not in known.by_name:
            there = ", ".join(sorted(known.by_name)) or "none"
            why = "".join(f"\n{problem}" for problem in known.problems)
            raise BadInputError(f"there is no skill {name[:40]!r}; there are: {there}{why}")
        return known.by_name[name]


async def _run_skill(bench: Workbench) -> SkillResult:
    """Carry out a skill that is no phase: what the worker writes is dropped, and its answer is the result."""
    while True:
        try:
            async with bench.copy() as copy:
                done = await bench.work(copy.copy, bench.request.values)
        except WorkerError as error:
            if bench.attempts == bench.skill.attempts or error.failure in FINAL_FAILURES:
                return bench.result("error", error.message, error.output)
        else:
            answer = mask_texts(msgspec.to_builtins(done.answer), bench.mask)
            return bench.result("pass", "", answer=answer)
