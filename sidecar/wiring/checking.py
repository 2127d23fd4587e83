"""Builds supervision for one check: with the user's settings and approvals, and a state that goes with it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec.structs import replace

from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.hosts.recorded import RecordedSession
from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.settings import Settings
from sidecar.kernel.turn import Turn
from sidecar.platform.paths import user_paths
from sidecar.systems.supervision.ports import Services
from sidecar.wiring.supervision import build_services


class RecordedTurn:
    """Implements hosts.ports.Transcripts for a session whose last turn is known."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:  # noqa: ARG002 - the port's
        return self._turn

    def position(self, event: object) -> int:  # noqa: ARG002 - the port's
        return 0

    def unanswered(self, event: object) -> bool:  # noqa: ARG002 - the port's
        return False

    def queued(self, stop: AgentStopped, position: int) -> bool:  # noqa: ARG002 - the port's
        return False


class CheckSettings:
    """Implements `Configuration`: the user's settings, by which no model is asked unless that is wanted."""

    def __init__(self, settings: Settings, problems: tuple[str, ...], *, ask: bool) -> None:
        judge = settings.judge if ask else replace(settings.judge, backend="rules")
        self._loaded = replace(settings, judge=judge, keep_stops=True, mode="on"), problems

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        return self._loaded


def build_check(found: RecordedSession, state: Path, *, ask: bool) -> Services:
    """Build the services. `state`: a folder that is removed after the check.

    Where no model is asked and the user has no state, nothing else is written.
    """
    own = build_services(state)
    users = build_services() if ask or user_paths().state.is_dir() else own
    return dataclasses.replace(
        own,
        catalog=users.catalog,
        configuration=CheckSettings(*users.configuration.load(), ask=ask),
        rubrics=users.rubrics,
        spending=users.spending,
        steering=users.steering,
        transcripts=RecordedTurn(found.turn) if found.turn else own.transcripts,
    )


async def remember_start(
    found: RecordedSession, state: Path, environment: dict[str, str]
) -> tuple[FileBaseline, bool]:
    """Store what was checked out when the session began, and whether that is a guess."""
    return await GitWorkspace(state / "trees").remember_commit(found.project, environment, found.began)
