"""The method `events`: pages of the log, and every new event as it comes.

A follower reads by position, like everybody, and is only woken when something was appended. So nothing is
queued for it, and one that reads slowly delays nobody. What another process appended is seen when this one
appends next, or when a page is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import EventFilter, LoggedEvent, StopKept
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.ports import EventLog
from sidecar.platform.rpc import read_params
from sidecar.servers.control import Peer, SidecarControl

PAGE_EVENTS: Final = 100
"""Maximum number of events of one page."""
PAGE_BYTES: Final = 1024 * 1024
"""Bytes after which a page ends."""

FindSession = Callable[[str], Session | None]


class EventsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for events after a position; None for the newest page. `session` is an ID or HOST:ID.

    `follow`: each is sent as a notification `event`, and the answer comes when the sidecar ends.
    """

    after: int | None = None
    session: str = ""
    project: str = ""
    systems: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    follow: bool = False


class EventsPage(Struct, frozen=True, kw_only=True):
    """Events, oldest first. Ask for those after `position` next; `more`: there are some now.

    Kept stops are left out: they are long, and `supervisor rubric replay` reads them.
    """

    events: tuple[LoggedEvent, ...]
    position: int
    more: bool = False


class EventsHandler:
    """Answers `events`."""

    def __init__(self, events: EventLog, find: FindSession, control: SidecarControl) -> None:
        """`find` returns the session of an ID."""
        self._log = events
        self._find = find
        self._control = control

    async def open(self, params: Raw, peer: Peer) -> bytes:
        """Answer a request. Raises BadInputError."""
        asked = read_params(params, EventsRequest)
        wanted = self._filter(asked)
        if not asked.follow:
            return msgspec.json.encode(await asyncio.to_thread(self._page, wanted, asked.after))
        return msgspec.json.encode(await self._follow(wanted, asked.after, peer))

    async def _follow(self, wanted: EventFilter, after: int | None, peer: Peer) -> EventsPage:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        end = self._log.listen(wake)
        ending = asyncio.create_task(self._control.ending.wait())
        try:
            while not ending.done():
                woken.clear()
                page = await asyncio.to_thread(self._page, wanted, after)
                after = page.position
                for event in page.events:
                    await peer.push("event", event)
                if not page.more:
                    waiting = asyncio.create_task(woken.wait())
                    await asyncio.wait((waiting, ending), return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
        finally:
            end()
            ending.cancel()
        return EventsPage(events=(), position=after or 0)

    def _page(self, wanted: EventFilter, after: int | None) -> EventsPage:
        reached = self._log.last()  # what was appended so far and is not found need not be looked at again
        if after is None:
            found = self._log.newest(wanted, PAGE_EVENTS)
        else:
            found = self._log.read(wanted, after=after, limit=PAGE_EVENTS)
        events: list[LoggedEvent] = []
        size, position = 0, after or 0
        for event in found:
            if size >= PAGE_BYTES:
                return EventsPage(events=tuple(events), position=position, more=True)
            position = event.position
            if not isinstance(event.data, StopKept):
                events.append(event)
                size += len(msgspec.json.encode(event))
        more = after is not None and len(found) == PAGE_EVENTS
        return EventsPage(
            events=tuple(events), position=position if more else max(position, reached), more=more
        )

    def _filter(self, asked: EventsRequest) -> EventFilter:
        host, _, ident = asked.session.rpartition(":")
        key = SessionKey(host, ident) if host else None
        if asked.session and key is None:
            session = self._find(asked.session)
            if session is None:
                raise BadInputError(f"no session is known as {asked.session}; name it HOST:ID")
            key = session.key
        return EventFilter(session=key, project=asked.project, systems=asked.systems, kinds=asked.kinds)
