"""What the screen of `supervisor watch` asks of the sidecar, and orders."""

from __future__ import annotations

import os
from typing import Protocol

from msgspec.structs import replace

from sidecar.cli.history import explain_last
from sidecar.cli.link import call_sidecar
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.held_edits import HeldEdit
from sidecar.systems.supervision.people import (
    CommandRequest,
    HeldEditsRequest,
    SessionReport,
    SessionSelector,
)


class Desk(Protocol):
    """What the screen asks and orders. All raise SidecarError or BadInputError."""

    def report(self, session: str) -> SessionReport:
        """Return where a session stands, "" for the one that matters, and the others of the folder."""

    def order(self, session: str, name: str, arguments: str) -> str:
        """Give an order as a person, and return what is said to it."""

    def explain(self, session: str) -> str:
        """Return the story of the session's last decision."""

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return the edits that wait."""

    def accept(self, project: str, digests: tuple[str, ...]) -> str:
        """Let edits count, and return what is said to it."""


class SidecarDesk:
    """Implements Desk by the sidecar. `folder`: only its sessions, those above and below."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def report(self, session: str) -> SessionReport:
        return call_sidecar("report", SessionSelector(session=session, project=self._folder), SessionReport)

    def order(self, session: str, name: str, arguments: str) -> str:
        asked = CommandRequest(who=SessionSelector(session=session), name=name, arguments=arguments)
        return call_sidecar("order", asked, CommandReply).text

    def explain(self, session: str) -> str:
        return explain_last(session)

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        return call_sidecar("held", _held_request(project), tuple[HeldEdit, ...])

    def accept(self, project: str, digests: tuple[str, ...]) -> str:
        asked = replace(_held_request(project), digests=digests)
        return "\n".join(call_sidecar("accept", asked, tuple[str, ...]))


def _held_request(project: str) -> HeldEditsRequest:
    return HeldEditsRequest(project=project, environment=dict(os.environ))
