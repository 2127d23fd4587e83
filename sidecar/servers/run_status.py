"""Status of a run's session, for the process that starts its agents."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.kernel import budget
from sidecar.kernel.goal import Goal
from sidecar.kernel.runs import RUN_HOST, RunStatus, RunStatusQuery
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.policy.journal import begin_next_iteration
from sidecar.systems.supervision.policy.commands import session_exit_code
from sidecar.systems.supervision.ports import Services


class RunStatusReader:
    """Answers status queries of runs."""

    def __init__(self, services: Services, journals: SessionJournals) -> None:
        """Read the sessions of these services."""
        self._services = services
        self._journals = journals

    def of(self, look: RunStatusQuery) -> RunStatus:
        """Return the session's status. Raises OSError, BadInputError."""
        key = SessionKey(RUN_HOST, look.session)
        session = self._services.store.load(key) or Session(key=key)
        if look.iterate:
            self._journals.change(key, lambda journal: (begin_next_iteration(journal), None))
        settings, _ = self._services.configuration.load()
        standing = RunStatus(
            project=session.project,
            budget=budget.continuation_budget(session, settings),
            pending=session.pending.id if session.pending else "",
            no_judge=self._why_no_judge(look.environment, settings),
            exit_code=session_exit_code(session).value,
            journal=self._journals.of(key),
        )
        return standing if session.goal is None else _with_goal(standing, session.goal, settings)

    def _why_no_judge(self, environment: dict[str, str], settings: Settings) -> str:
        chosen = self._services.judge.chosen(environment, settings) if environment else None
        return chosen.why if chosen is not None and not chosen.backend else ""


def _with_goal(standing: RunStatus, goal: Goal, settings: Settings) -> RunStatus:
    limit = goal.max_seconds or settings.goal_max_seconds
    return replace(
        standing,
        status=goal.status,
        condition=goal.condition,
        checks=goal.checks,
        max_seconds=goal.max_seconds,
        continuations=goal.spent.continuations,
        last_reason=goal.last_reason,
        seconds_left=limit - goal.spent.seconds,
    )
