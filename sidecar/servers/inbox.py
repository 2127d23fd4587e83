"""Server side of `supervisor inbox`: opens the inbox, starts sessions, and reports decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from sidecar.platform.rpc import read_params
from sidecar.servers.control import Peer, SidecarControl


class InboxCall(Struct, frozen=True, kw_only=True):
    """Parameters: `session` begins in `project`, "" for none; `watch`: report decisions from now on."""

    session: str = ""
    project: str = ""
    watch: bool = False


class InboxOpened(Struct, frozen=True):
    """Where the inbox is: the answer, and the first notification to a peer that watches."""

    folder: str


class InboxHandler:
    """Notifies every watching peer of each decision; its call is answered when the sidecar ends."""

    def __init__(
        self,
        control: SidecarControl,
        reach: Callable[[], Path],
        begin: Callable[[str, str], Awaitable[object]],
    ) -> None:
        """`reach` opens the inbox; `begin` takes a session and its project."""
        self._control, self._reach, self._begin = control, reach, begin
        self._lookers: list[Peer] = []

    def tell(self, decided: Struct) -> None:
        """Notify all peers that watch."""
        for peer in self._lookers:
            peer.notify("decided", decided)

    async def open(self, params: Raw, peer: Peer) -> bytes:
        """Answer one call with the place of the inbox. Raises BadInputError."""
        call = read_params(params, InboxCall)
        opened = InboxOpened(str(self._reach()))
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
