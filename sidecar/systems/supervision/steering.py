"""The rubric in force at a stop, and notices to the user about its changes.

The author of a change can be determined at two moments. When a person speaks and no agent was at work since
the rubric was last read, the change is the person's. At a stop it is the agent's, if the agent's calls may
have written the file. In between nothing is decided. Where an agent's actions are not all known (its turn was
interrupted, another session works on the same project, it delegated work), a change is held until the user
accepts it. A file that several projects share, the user's own, may have been changed by an agent in any of
them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.events import AgentStopped, CommandTyped, HostEvent
from sidecar.kernel.rubric import AgentWrites, HeldEdit, Rubric
from sidecar.kernel.session import Environment, MemoryGap, SessionKey
from sidecar.kernel.turn import ToolAction, ToolCall, Turn
from sidecar.platform.ports import load_readable, remember_newest
from sidecar.rubric.policy import (
    ACCEPT_COMMAND,
    NOTHING_HELD,
    describe_rubric,
    edit_rubric_answer,
    held_edit_message,
    rubric_change_message,
)
from sidecar.systems.supervision.policy.orders import refusal
from sidecar.systems.supervision.ports import Services

ACCEPT_NAME: Final = "accept"
"""The command that puts in force what waits."""
FORCE_MESSAGE: Final = (
    "Supervisor: its background process was ended by force while this agent worked. "
    "What was done to Supervisor's own files meanwhile cannot be vouched for. Look: supervisor status"
)
GONE_MESSAGE: Final = (
    "Supervisor: there is no state of this session's earlier turns. If you had set a goal or switched "
    "something, its files were removed. Type it again: /supervisor:goal"
)
MAX_REMEMBERED: Final = 200
"""Maximum number of sessions at work, of sessions with notices, and of reported held edits."""
AT_WORK_S: Final = 1800.0
"""Seconds after its prompt in which a session that never stopped still counts as being at work."""
MAX_SESSIONS_RECALLED: Final = 100
"""Sessions, those seen last, that may have been at work when this process began."""
MAX_WORK_SECONDS: Final = 6 * 3600.0
"""Seconds after which a session that was at work before this process began counts as idle."""
MAX_LINES_OWED: Final = 12
"""Maximum pending lines of a session; newer ones are dropped, and that is said."""
MORE_LINES: Final = "Supervisor: more happened than is told here. Type in a shell: supervisor status"
MAX_KNOWN_CALLS: Final = 400
"""Maximum known calls of a turn; with so many there may have been more."""
MAX_SHELL_LINE_LENGTH: Final = 1990
"""Characters of a shell line that are certainly known; a longer line may have lost its middle."""

_WRITING_TOOL: Final = re.compile(
    r"write|edit|create|move|rename|patch|replace|save|delete|remove", re.IGNORECASE
)


class _ActiveSession(Struct, frozen=True):
    """A session whose agent is at work. `blind`: it was at work before too, and that work was not checked.

    Not `seen`: it began before this process did.
    """

    project: str
    environment: Environment
    since: float
    blind: bool = False
    seen: bool = True


class _SharedRubricChange(Struct, frozen=True):
    """A project whose rubric file outside the project changed while an agent was at work elsewhere."""

    environment: Environment
    sessions: tuple[SessionKey, ...]


class SteeringWatch:
    """Tracks the rubric in force, and which sessions may have edited it."""

    def __init__(self, services: Services, *, gap: MemoryGap = MemoryGap.NONE) -> None:
        """Use these services. `gap`: what this process cannot know of the time before it."""
        self._services = services
        self._gap = gap
        self._working: OrderedDict[SessionKey, _ActiveSession] = OrderedDict()
        self._owed: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._shown: OrderedDict[tuple[SessionKey, str], None] = OrderedDict()
        self._unsure: OrderedDict[SessionKey, str] = OrderedDict()
        self._shared: OrderedDict[str, _SharedRubricChange] = OrderedDict()
        self._knows_gap: set[SessionKey] = set()
        self._delivered: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._recalled = False
        self._met: set[SessionKey] = set()

    def recall(self) -> None:
        """Load who may be at work since before this process began; until then nobody is known to rest."""
        try:
            keys = self._services.store.known()[:MAX_SESSIONS_RECALLED]
        except OSError:
            return
        self._recalled = True
        for key in keys:
            self._recall(key)
        self._met.clear()

    def recall_once(self) -> None:
        """Load who may be at work, where that was not done yet: an order does not wait for it."""
        if not self._recalled:
            self.recall()

    def _recall(self, key: SessionKey) -> None:
        known = key in self._working or key in self._met
        session = None if known else load_readable(self._services.store, key)
        since = session.active_since if session else None
        if session and since is not None and since > self._services.clock.now() - MAX_WORK_SECONDS:
            remember_newest(
                self._working, key, _ActiveSession(session.project, {}, since, seen=False), MAX_REMEMBERED
            )

    def unseen(self, event: HostEvent) -> None:
        """Note that this agent may be at work from now on, without events that report when."""
        remember_newest(self._unsure, event.key, event.project, MAX_REMEMBERED)

    def working(self) -> Mapping[SessionKey, float]:
        """Return the sessions whose agents are at work, and since when (seconds since the epoch)."""
        return {key: work.since for key, work in self._working.items()}

    def at_rest(self, project: str, *, alone: bool = True) -> bool:
        """Whether certainly no agent is at work on this project, however long ago one began.

        If not `alone`: nor on any other project, as far as events show it.
        """
        if not self._recalled or project in self._unsure.values():
            return False
        resting = all(work.project != project for work in self._working.values())
        return resting and (alone or not self._busy())

    def shared(self, project: str, environment: Environment, sessions: Iterable[SessionKey]) -> None:
        """Note a change to a rubric file outside this project while agents are at work: see `in_force`."""
        if self._busy():
            remember_newest(
                self._shared, project, _SharedRubricChange(environment, tuple(sessions)), MAX_REMEMBERED
            )

    def spoken(self, event: HostEvent) -> None:
        """Handle a person's prompt: changes made while no agent was at work are the person's, and count.

        Without the session's environment the place of the user's own rubric is unknown.
        """
        if not event.environment:
            return
        if not self._recalled:
            self._recall(event.key)
        if event.during_call:
            return
        here = event.key in self._working
        self._delivered.pop(event.key, None)
        approved = frozenset[str]() if event.key in self._owed else self._shown_to(event.key)
        writes = AgentWrites(approved=approved, undecided=here or self._beside(event.project))
        shared = AgentWrites(approved=approved, undecided=here or self._busy())
        self._owe(event.key, self._services.rubrics.load(event.project, event.environment, writes))
        self._owe_held(event.key, self._services.steering.settle(event.project, writes, shared))

    def set_to_work(self, event: HostEvent, *, human: bool = True) -> None:
        """Note that the agent goes to work. A person's prompt begins a turn; work before it is unchecked."""
        self._hear(event.key)
        before = self._working.pop(event.key, None)
        if before is not None and not human:
            self._working[event.key] = before
            return
        now = self._services.clock.now()
        work = _ActiveSession(event.project, event.environment, now, blind=before is not None)
        remember_newest(self._working, event.key, work, MAX_REMEMBERED)

    def in_force(self, stop: AgentStopped, turn: Turn) -> Rubric:
        """Return the rubric of this stop. Call it at every stop whose turn was read, even if not judged."""
        self._hear(stop.key)
        work = self._working.get(stop.key)
        if work is None or not work.seen:  # the host does not report when its agent goes to work
            self._tell_of_gap(stop.key)
            self.unseen(stop)
        others = self._beside(stop.project, apart_from=stop.key)
        blind = (work is not None and work.blind) or others or stop.during_call
        done = possible_writes(turn)
        rubric = self._decided(stop.project, stop.environment, done, blind=blind)
        self._owe(stop.key, rubric)
        self._owe_held(stop.key, self._settled(stop.project, done, blind=blind, apart_from=stop.key))
        self._forget_settled(stop.key, stop.project, rubric)
        self._shared.pop(stop.project, None)
        while self._shared:
            project, of = self._shared.popitem(last=False)
            decided = self._decided(project, of.environment, done, blind=self._busy(apart_from=stop.key))
            for key in of.sessions:
                self._owe(key, decided)
        return rubric

    def _tell_of_gap(self, key: SessionKey) -> None:
        """Tell once of each session that was at work in a time of which nothing is known."""
        if self._gap is MemoryGap.NONE or key in self._knows_gap:
            return
        self._knows_gap.add(key)
        session = load_readable(self._services.store, key)
        if session is None:
            self.owe(key, [GONE_MESSAGE])
        if self._gap is MemoryGap.FORCE and (session is None or session.active_since is not None):
            self.owe(key, [FORCE_MESSAGE])

    def rest(self, stop: AgentStopped, *, read: bool) -> str:
        """Note that an agent rests, and return what is queued for its user. `read`: its turn was read.

        What changed while it was judged, or unread, may be its work. A stop that was not read, or that came
        while a tool call ran, may be made up: the agent stays at work, and the lines are returned again at
        the next stop, until the user speaks.
        """
        genuine = read and not stop.during_call
        work = self._working.get(stop.key)
        if work is not None and work.environment:
            self._owe(stop.key, self._decided(work.project, work.environment, AgentWrites(), blind=True))
            self._owe_held(stop.key, self._settled(work.project, AgentWrites(), blind=True))
        if genuine:
            self._working.pop(stop.key, None)
        elif work is not None:
            self._working[stop.key] = replace(work, blind=True)
        self._services.log.tell_losses(stop.key)
        self.owe(stop.key, self._services.incidents.take(stop.key))
        lines = (*self._delivered.pop(stop.key, ()), *self._owed.pop(stop.key, ()))
        if lines and not genuine:
            remember_newest(self._delivered, stop.key, lines, MAX_REMEMBERED)
        return "\n".join(lines)

    def owe(self, key: SessionKey, lines: Iterable[str]) -> None:
        """Queue lines for the user of this session; what they quote may hold secrets."""
        mask = self._services.secrets.masker({})
        if new := tuple(mask(line) for line in lines if line):
            lines = (*self._owed.get(key, ()), *new)
            kept = lines if len(lines) <= MAX_LINES_OWED else (*lines[: MAX_LINES_OWED - 1], MORE_LINES)
            remember_newest(self._owed, key, kept, MAX_REMEMBERED)

    def take_lines(self, key: SessionKey) -> tuple[str, ...]:
        """Return the lines that are queued for the user of this session, each once."""
        return self._owed.pop(key, ())

    def end(self, key: SessionKey, *, during_call: bool = False) -> None:
        """End a session. Changes made while its agent was at work were not checked, so they are held.

        An end that a tool call may have made up leaves the agent at work.
        """
        self._unsure.pop(key, None)
        work = self._working.get(key) if during_call else self._working.pop(key, None)
        if work is not None and work.environment:
            self._decided(work.project, work.environment, AgentWrites(), blind=True)
            self._settled(work.project, AgentWrites(), blind=True)

    def saved(self, project: str) -> None:
        """Decide about files that were saved while nobody may have been at work on them but the user."""
        writes, shared = (
            AgentWrites(undecided=not self.at_rest(project, alone=alone)) for alone in (True, False)
        )
        self._services.steering.settle(project, writes, shared)

    def obey(self, event: CommandTyped) -> CommandReply:
        """Answer /supervisor:rubric and /supervisor:accept."""
        order = event.order
        try:
            if order.fault:
                return refusal(order.fault)
            if ACCEPT_NAME in (order.name, order.word):
                lines = self.accept(event.key, event.project, event.environment)
            elif order.word == "edit":
                return self._begin_rubric(event)
            else:
                rubric = self._services.rubrics.load(event.project, event.environment)
                lines = describe_rubric(rubric, event.project)
            return CommandReply(headline=lines[0], details=lines[1:])
        except OSError as error:
            why = f"it could not be saved ({error.strerror or error}), so all is as before"
            return refusal(f"refused: {why}. Type in a shell: supervisor doctor")

    def accept(self, key: SessionKey, project: str, environment: Environment) -> tuple[str, ...]:
        """Put in force what waits and was shown to this user; show the rest. Raises OSError."""
        shown = self._shown_to(key)
        lines = self.put_in_force(project, environment, shown)
        for edit in self.held(project, environment):
            remember_newest(self._shown, (key, edit.digest), None, MAX_REMEMBERED)
            lines.append(f"waits: {edit.path} ({edit.summary}). To put it in force: {ACCEPT_COMMAND} again")
        return tuple(lines) or (NOTHING_HELD,)

    def held(self, project: str, environment: Environment) -> tuple[HeldEdit, ...]:
        """Return every edit that waits."""
        rubric = self._services.rubrics.load(project, environment).held
        return (*self._services.steering.held(project), *((rubric,) if rubric else ()))

    def put_in_force(self, project: str, environment: Environment, digests: Collection[str]) -> list[str]:
        """Put the edits with these digests in force; return a line for each. Raises OSError."""
        edits = self._services.steering.accept(project, digests)
        lines = [f"in force now: {edit.path}: {edit.summary}" for edit in edits]
        rubric = self._services.rubrics.load(project, environment).held
        if rubric is not None and rubric.digest in digests:
            lines.append(self._services.rubrics.accept(project, environment))
        return lines

    def _begin_rubric(self, event: CommandTyped) -> CommandReply:
        """Create the project's rubric where it has none. The user asked for it, so it is the user's."""
        if self._services.rubrics.load(event.project, event.environment).held is not None:
            return refusal(f"an edit of the agent is held. Type {ACCEPT_COMMAND}, or take it back, then edit")
        path, made = self._services.rubrics.begin(event.project)
        if made:
            self._services.rubrics.load(event.project, event.environment, AgentWrites())
        return CommandReply(headline=edit_rubric_answer(path, made=made))

    def _hear(self, key: SessionKey) -> None:
        """Note that from now on it is known when this session is at work, whatever was saved before."""
        self._unsure.pop(key, None)
        if not self._recalled:
            self._met.add(key)

    def _decided(self, project: str, environment: Environment, done: AgentWrites, *, blind: bool) -> Rubric:
        done = replace(done, unseen=done.unseen or blind)
        return self._services.rubrics.load(project, environment, done)

    def _settled(
        self, project: str, done: AgentWrites, *, blind: bool, apart_from: SessionKey | None = None
    ) -> tuple[HeldEdit, ...]:
        writes = replace(done, unseen=done.unseen or blind)
        shared = replace(done, unseen=done.unseen or blind or self._busy(apart_from=apart_from))
        return self._services.steering.settle(project, writes, shared)

    def _beside(self, project: str, *, apart_from: SessionKey | None = None) -> bool:
        """Whether an agent is at work that may have written the rubric of this project."""
        shared = project in self._shared and self._busy(apart_from=apart_from)
        return shared or self._busy(project, apart_from=apart_from)

    def _busy(self, project: str = "", *, apart_from: SessionKey | None = None) -> bool:
        """Whether an agent is at work on this project, "" for any."""
        now = self._services.clock.now()
        return any(
            project in ("", work.project) and now - work.since < AT_WORK_S
            for key, work in self._working.items()
            if key != apart_from
        )

    def _owe(self, key: SessionKey, rubric: Rubric) -> None:
        self.owe(key, [rubric_change_message(rubric)])
        self._owe_held(key, () if rubric.held is None else (rubric.held,))

    def _owe_held(self, key: SessionKey, edits: Iterable[HeldEdit]) -> None:
        """Queue a line for each edit that waits and was not shown yet."""
        for edit in edits:
            if edit.waits and (key, edit.digest) not in self._shown:
                remember_newest(self._shown, (key, edit.digest), None, MAX_REMEMBERED)
                self.owe(key, [held_edit_message(edit)])

    def _forget_settled(self, key: SessionKey, project: str, rubric: Rubric) -> None:
        """Forget what was shown of edits that no longer wait: the same edit may come back."""
        waits = {edit.digest for edit in self._services.steering.held(project)}
        waits |= {rubric.held.digest} if rubric.held else set()
        for digest in self._shown_to(key) - waits:
            del self._shown[key, digest]

    def _shown_to(self, key: SessionKey) -> frozenset[str]:
        """Return the digests of the held edits that the user of this session was shown."""
        return frozenset(digest for seen_by, digest in self._shown if seen_by == key)


def possible_writes(turn: Turn) -> AgentWrites:
    """Return what an agent may have written in a turn."""
    return AgentWrites(
        paths=tuple(path for call in turn.calls if call.doing is ToolAction.EDIT for path in call.paths),
        lines=tuple(call.command for call in turn.calls if call.doing is ToolAction.RUN),
        unseen=not turn.readable
        or len(turn.calls) >= MAX_KNOWN_CALLS
        or any(map(_may_write_unnamed, turn.calls)),
    )


def _may_write_unnamed(call: ToolCall) -> bool:
    """Whether a call may have written files that it does not name."""
    if call.doing is ToolAction.OTHER:
        return _WRITING_TOOL.search(call.tool) is not None
    return call.doing is ToolAction.DELEGATE or (
        call.doing is ToolAction.RUN and len(call.command) >= MAX_SHELL_LINE_LENGTH
    )
