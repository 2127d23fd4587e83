"""Methods of the socket that no system has: the log's events as they come, the inbox, and runs.

A follower of events reads by position, like everybody, and is only woken when something was appended. So
nothing is queued for it, and one that reads slowly delays nobody. What another process appended is seen when
this one appends next, or when a page is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.shared import checked_session_id
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import Goal, GoalTerms
from sidecar.kernel.log import EventFilter, LoggedEvent, StopKept
from sidecar.kernel.runs import RUN_HOST, MergeChecks, RunStatus, RunStatusQuery, WorkerChange
from sidecar.kernel.session import Session, SessionKey, continuation_budget
from sidecar.kernel.settings import Settings
from sidecar.platform.ports import EventLog
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods, Peer, SidecarControl
from sidecar.systems.iteration.journals import RunChecks, RunNote, SessionJournals
from sidecar.systems.iteration.policy.journal import begin_next_iteration
from sidecar.systems.supervision.policy.orders import session_exit_code

if TYPE_CHECKING:  # the command line does without
    from sidecar.systems.supervision.gate_requests import SessionChecks
    from sidecar.systems.supervision.ports import Services

# --- events -------------------------------------------------------------------------------------------------


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
    kinds: tuple[str, ...] = ()
    follow: bool = False


class EventsPage(Struct, frozen=True, kw_only=True):
    """Events, oldest first. Ask for those after `position` next; `more`: there are some now.

    Kept stops are left out: they are long, and `supervisor eval --kept` reads them.
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

    async def open(self, asked: EventsRequest, peer: Peer) -> EventsPage:
        """Answer a request. Raises BadInputError."""
        wanted = self._filter(asked)
        if asked.follow:
            return await self._follow(wanted, asked.after, peer)
        return await asyncio.to_thread(self._page, wanted, asked.after)

    async def _follow(self, wanted: EventFilter, after: int | None, peer: Peer) -> EventsPage:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        end = self._log.listen(lambda: loop.call_soon_threadsafe(woken.set))
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
        return EventFilter(session=key, kinds=asked.kinds)


# --- the inbox ----------------------------------------------------------------------------------------------


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

    async def open(self, call: InboxCall, peer: Peer) -> InboxOpened:
        """Answer one call with the place of the inbox. Raises BadInputError."""
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
        return opened


# --- runs, for the process that starts their agents ---------------------------------------------------------


def read_run_status(services: Services, journals: SessionJournals, query: RunStatusQuery) -> RunStatus:
    """Return the status of a run's session. Raises OSError, BadInputError."""
    key = SessionKey(RUN_HOST, query.session)
    session = services.store.load(key) or Session(key=key)
    if query.iterate:
        journals.change(key, lambda journal: (begin_next_iteration(journal), None))
    settings, _ = services.configuration.load()
    chosen = services.judge.chosen(query.environment, settings) if query.environment else None
    status = RunStatus(
        project=session.project,
        budget=continuation_budget(session, settings),
        pending=session.pending.id if session.pending else "",
        no_judge=chosen.why if chosen and not chosen.backend else "",
        exit_code=session_exit_code(session).value,
        journal=journals.of(key),
    )
    return status if session.goal is None else _with_goal(status, session.goal, settings)


def _with_goal(status: RunStatus, goal: Goal, settings: Settings) -> RunStatus:
    limit = goal.max_seconds or settings.goal_max_seconds
    return replace(
        status,
        status=goal.status,
        **{name: getattr(goal, name) for name in GoalTerms.__struct_fields__},
        continuations=goal.spent.continuations,
        last_reason=goal.last_reason,
        seconds_left=limit - goal.spent.seconds,
    )


def run_methods(services: Services, journals: SessionJournals, checks: SessionChecks) -> Methods:
    """Build the methods of `supervisor run`, by name."""

    def run_status(query: RunStatusQuery, _peer: Peer) -> RunStatus:
        return read_run_status(services, journals, query)

    def run_note(note: RunNote, _peer: Peer) -> None:
        journals.note(SessionKey(RUN_HOST, checked_session_id(note.session)), note.event, note.project)

    def run_workers(change: WorkerChange, _peer: Peer) -> object:
        from sidecar.systems.iteration.journals import change_workers  # noqa: PLC0415 - `run --jobs` alone needs it

        return change_workers(journals, services.clock, change)

    async def run_checks(trial: RunChecks, _peer: Peer) -> MergeChecks:
        session = services.store.load(SessionKey(RUN_HOST, checked_session_id(trial.session)))
        if session is None:
            return MergeChecks()
        return await checks.run_elsewhere(session, trial.folder, trial.environment, trial.only, trial.asked)

    return {
        "run_checks": struct_handler(RunChecks, run_checks),
        "run_workers": struct_handler(WorkerChange, run_workers),
        "run_note": struct_handler(RunNote, run_note),
        "run_status": struct_handler(RunStatusQuery, run_status),
    }
