"""Where the session of a run stands, for the process that starts its agents."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from sidecar.app.house import House
from sidecar.app.journals import Journals
from sidecar.model.goal import Goal
from sidecar.model.iterations import HOST, Standing
from sidecar.model.session import Session, SessionKey
from sidecar.model.settings import Settings
from sidecar.policy import budget
from sidecar.policy.journal import iterate
from sidecar.policy.status import exit_code


class Look(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which run is asked about. `iterate`: its next iteration begins."""

    session: str
    iterate: bool = False


class Standings:
    """Answers a run."""

    def __init__(self, house: House, journals: Journals) -> None:
        """Read the sessions of `house`."""
        self._house = house
        self._journals = journals

    def of(self, look: Look) -> Standing:
        """Where the session stands. Raises OSError, BadInputError."""
        key = SessionKey(HOST, look.session)
        session = self._house.store.load(key) or Session(key=key)
        if look.iterate:
            self._journals.change(key, lambda journal: (iterate(journal), None))
        settings, _ = self._house.configuration.load()
        standing = Standing(
            project=session.project,
            budget=budget.continuations(session, settings),
            pending=session.pending.id if session.pending else "",
            exit_code=exit_code(session).value,
            journal=self._journals.of(key),
        )
        return standing if session.goal is None else _with_goal(standing, session.goal, settings)


def _with_goal(standing: Standing, goal: Goal, settings: Settings) -> Standing:
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
