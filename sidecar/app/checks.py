"""Which checks apply to a session's project, and how they end now, for an agent or a person who asks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from sidecar.app.house import House
from sidecar.model.events import Told
from sidecar.model.gate import Catalog, GateRun
from sidecar.model.session import Session, SessionKey
from sidecar.ports import BadInputError, Environment, Progress

REMEMBERED: Final = 200
"""Sessions whose environment is remembered. Each has some kilobytes."""


class Checks:
    """Runs gates in the environment that a session's host sent last."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
        self._environments: OrderedDict[SessionKey, Environment] = OrderedDict()

    def met(self, event: Told) -> None:
        """Remember the environment of a session."""
        if event.environment and not event.ours:
            self._environments[event.key] = event.environment
            self._environments.move_to_end(event.key)
            while len(self._environments) > REMEMBERED:
                self._environments.popitem(last=False)

    async def list(self, session: Session) -> Catalog:
        """The gates of a session's project; raises BadInputError."""
        return await self._house.catalog.list(session.project, self._environment(session))

    async def run(
        self, session: Session, only: Sequence[str] = (), progress: Progress | None = None
    ) -> tuple[GateRun, ...]:
        """Run these gates, all where none is named, as a stop would run them.

        What nobody approved could not run. Cancelling kills what runs. Raises BadInputError.
        """
        raise NotImplementedError

    def _environment(self, session: Session) -> Environment:
        found = self._environments.get(session.key)
        if found is None:
            raise BadInputError(f"no event of session {session.key.id} has come since Supervisor started")
        return found
