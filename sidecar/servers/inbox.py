"""The door of `supervisor inbox`: opens the inbox, tells of work that begins, and lets a person look on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from sidecar.servers import wire
from sidecar.servers.control import Control, Peer


class InboxCall(Struct, frozen=True, kw_only=True):
    """`session` is about to begin in `project`, "" where none is. `watch`: tell of decisions from now on."""

    session: str = ""
    project: str = ""
    watch: bool = False


class Opened(Struct, frozen=True):
    """Where the inbox is: the answer, and what whoever looks on hears first."""

    folder: str


class InboxDoor:
    """Every peer that looks on hears of every decision, and gets its answer when the sidecar ends."""

    def __init__(
        self, control: Control, reach: Callable[[], Path], begin: Callable[[str, str], Awaitable[object]]
    ) -> None:
        """`reach` opens the inbox; `begin` takes a session and its project."""
        self._control, self._reach, self._begin = control, reach, begin
        self._lookers: list[Peer] = []

    def tell(self, decided: Struct) -> None:
        """Tell all who look on."""
        for peer in self._lookers:
            peer.notify("decided", decided)

    async def open(self, params: Raw, peer: Peer) -> bytes:
        """Answer one call: where the inbox is. Raises BadInputError."""
        call = wire.read(params, InboxCall)
        opened = Opened(str(self._reach()))
        if call.session:
            await self._begin(call.session, call.project)
        if call.watch:
            self._lookers.append(peer)
            peer.notify("opened", opened)
            try:
                await self._control.ending.wait()
            finally:
                self._lookers.remove(peer)
        return msgspec.json.encode(opened)
