"""Judges a session that was never supervised, as its last stop would have been.

Nobody set a goal, so it is what the user asked for last, and that the tests pass where the project has some.
The baseline is what was checked out when the session began. A session that only talked has no goal. All that
is stored for it lies in the services' own state folder, which goes with the check.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from msgspec import Struct

from sidecar.hosts.ports import RecordedSession
from sidecar.kernel.effects import Inquiry, RestReason
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import Kind, Outcome
from sidecar.kernel.goal import CONDITION_LIMIT, Goal
from sidecar.kernel.session import Environment, Session
from sidecar.systems.supervision.decisions import read_decisions, replay_decision
from sidecar.systems.supervision.policy.decision_story import Story, tell_decision
from sidecar.systems.supervision.policy.history import Decision
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.stop_loop import build_lone_loop

TESTS_TOO: Final = "All tests pass. "
"""What is asked of a project that has tests, besides what the user asked for."""
UNDECIDED: Final = frozenset({RestReason.CLEAN, RestReason.UNJUDGED, RestReason.UNVERIFIED})
"""Endings after which what ran may still say that nothing speaks against the work."""


class CheckResult(IntEnum):
    """What a check found; the exit codes of `supervisor check`."""

    CLEAR = 0
    """Nothing speaks against it, and a check passed."""
    FOUND = 1
    """A stop would have been sent back."""
    UNKNOWN = 2
    """No check ran, or the agent waits for the user."""


class CheckWish(Struct, frozen=True, kw_only=True):
    """What a person wants to know: `goal` is "" for what the user asked the agent for last.

    `claimed` is what the author of a change says of it: looked through for parts that nothing touches, and
    for nothing else.
    """

    goal: str = ""
    claimed: str = ""
    checks: tuple[str, ...] = ()


async def check_session(
    services: Services, found: RecordedSession, base: FileBaseline, environment: Environment, wish: CheckWish
) -> tuple[CheckResult, Story]:
    """Judge the last stop of a recorded session."""
    stop = AgentStopped(
        key=found.key, project=found.project, environment=environment, transcript=found.transcript
    )
    goal = await _goal(services, stop, base, found.began, wish)
    loop = build_lone_loop(services)
    await loop.rule(stop, Session(key=found.key, project=found.project, goal=goal))
    await loop.idle()
    decision = read_decisions(services.log)[-1]
    known = await replay_decision(services.stop_history, decision)
    return _result(decision, known.inquiry if known else None), tell_decision(decision, known)


async def _goal(
    services: Services, stop: AgentStopped, base: FileBaseline, began: float, wish: CheckWish
) -> Goal | None:
    turn = await services.transcripts.read(stop, -1)
    if not (wish.goal or wish.checks or turn.changed):
        return None
    catalog = await services.catalog.list(stop.project, stop.environment)
    tests = any(gate.kind is Kind.TESTS for gate in catalog.gates)
    asked = (TESTS_TOO if tests else "") + "\n".join(turn.prompts)
    return Goal(
        id="check",
        condition=(wish.goal or asked or TESTS_TOO)[:CONDITION_LIMIT],
        checks=wish.checks,
        set_at=began,
        base=base,
    )


def _result(decision: Decision, inquiry: Inquiry | None) -> CheckResult:
    if decision.sent_back:
        return CheckResult.FOUND
    if decision.stop.decided == RestReason.ACHIEVED:
        return CheckResult.CLEAR
    if inquiry is None or decision.stop.decided not in UNDECIDED or inquiry.project_state.findings:
        return CheckResult.UNKNOWN
    outcomes = {run.outcome for run in inquiry.runs}
    return CheckResult.CLEAR if outcomes == {Outcome.PASSED} else CheckResult.UNKNOWN
