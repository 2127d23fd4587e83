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
from collections.abc import Iterable
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError, CommandRefusal
from sidecar.kernel.events import AgentStopped, CommandTyped, HostEvent
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.turn import ToolAction, ToolCall, Turn
from sidecar.rubric.policy import (
    ACCEPT_COMMAND,
    RubricCommand,
    describe_rubric,
    edit_rubric_answer,
    held_edit_message,
    parse_rubric_command,
    rubric_change_message,
)
from sidecar.rubric.ports import AgentWrites
from sidecar.systems.supervision.ports import Services

K = TypeVar("K")
V = TypeVar("V")

MAX_REMEMBERED: Final = 200
"""Maximum number of sessions at work, of sessions with notices, and of reported held edits."""
AT_WORK_S: Final = 1800.0
"""Seconds after its prompt in which a session that never stopped still counts as being at work."""
MAX_SESSIONS_RECALLED: Final = 100
"""Sessions, those seen last, that may have been at work when this process began."""
MAX_WORK_SECONDS: Final = 6 * 3600.0
"""Seconds after which a session that was at work before this process began counts as idle."""
MAX_LINES_OWED: Final = 4
"""Maximum pending lines of a session; older ones are dropped."""
MAX_KNOWN_CALLS: Final = 400
"""Maximum known calls of a turn; with so many there may have been more."""
MAX_SHELL_LINE_LENGTH: Final = 1990
"""Characters of a shell line that are certainly known; a longer line may lack its middle."""

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


class RubricWatch:
    """Tracks the rubric in force, and which sessions may have edited it."""

    def __init__(self, services: Services) -> None:
        """Use these services."""
        self._services = services
        self._working: OrderedDict[SessionKey, _ActiveSession] = OrderedDict()
        self._owed: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._told: OrderedDict[tuple[SessionKey, str], None] = OrderedDict()
        self._unsure: OrderedDict[SessionKey, str] = OrderedDict()
        self._shared: OrderedDict[str, _SharedRubricChange] = OrderedDict()
        self._recalled = False
        self._heard: set[SessionKey] = set()

    def recall(self) -> None:
        """Load who may be at work since before this process began; until then nobody is known to rest."""
        try:
            keys = self._services.store.known()[:MAX_SESSIONS_RECALLED]
        except OSError:
            return
        self._recalled = True
        for key in keys:
            self._recall(key)
        self._heard.clear()

    def _recall(self, key: SessionKey) -> None:
        known = key in self._working or key in self._heard
        session = None if known else self._remembered(key)
        since = session.active_since if session else None
        if session and since is not None and since > self._services.clock.now() - MAX_WORK_SECONDS:
            _remember_newest(self._working, key, _ActiveSession(session.project, {}, since, seen=False))

    def _remembered(self, key: SessionKey) -> Session | None:
        try:
            return self._services.store.load(key)
        except (BadInputError, OSError):
            return None

    def unseen(self, event: HostEvent) -> None:
        """Note that this agent may be at work from now on, without events that report when."""
        _remember_newest(self._unsure, event.key, event.project)

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
            _remember_newest(self._shared, project, _SharedRubricChange(environment, tuple(sessions)))

    def spoken(self, event: HostEvent) -> None:
        """Handle a person's prompt: changes made while no agent was at work are the person's, and count.

        Without the session's environment the place of the user's own rubric is unknown.
        """
        if not event.environment:
            return
        if not self._recalled:
            self._recall(event.key)
        at_rest = event.key not in self._working and not self._beside(event.project)
        writes = AgentWrites() if at_rest else None
        self._owe(event.key, self._services.rubrics.load(event.project, event.environment, writes))

    def set_to_work(self, event: HostEvent, *, human: bool = True) -> None:
        """Note that the agent goes to work. A person's prompt begins a turn; work before it is unchecked."""
        self._hear(event.key)
        before = self._working.pop(event.key, None)
        if before is not None and not human:
            self._working[event.key] = before
            return
        now = self._services.clock.now()
        work = _ActiveSession(event.project, event.environment, now, blind=before is not None)
        _remember_newest(self._working, event.key, work)

    def in_force(self, stop: AgentStopped, turn: Turn) -> Rubric:
        """Return the rubric of this stop. Call it at every stop whose turn was read, even if not judged."""
        self._hear(stop.key)
        work = self._working.pop(stop.key, None)
        if work is None or not work.seen:  # the host does not report when its agent goes to work
            self.unseen(stop)
        blind = (work is not None and work.blind) or self._beside(stop.project)
        done = possible_writes(turn)
        rubric = self._decided(stop.project, stop.environment, done, blind=blind)
        self._owe(stop.key, rubric)
        self._shared.pop(stop.project, None)
        while self._shared:
            project, of = self._shared.popitem(last=False)
            decided = self._decided(project, of.environment, done, blind=self._busy())
            for key in of.sessions:
                self._owe(key, decided)
        return rubric

    def owe(self, key: SessionKey, lines: Iterable[str]) -> None:
        """Queue lines for the user of this session."""
        if new := tuple(line for line in lines if line):
            _remember_newest(self._owed, key, (*self._owed.get(key, ()), *new)[-MAX_LINES_OWED:])

    def note(self, key: SessionKey) -> str:
        """Return what is queued for the user of this session, "" for nothing. Each line is returned once."""
        return "\n".join(self._owed.pop(key, ()))

    def end(self, key: SessionKey) -> None:
        """End a session. Changes made while its agent was at work were not checked, so they are held."""
        self._unsure.pop(key, None)
        self._owed.pop(key, None)
        work = self._working.pop(key, None)
        if work is not None and work.environment:
            self._decided(work.project, work.environment, AgentWrites(), blind=True)

    def obey(self, event: CommandTyped) -> CommandReply:
        """Answer /supervisor:rubric."""
        try:
            word = parse_rubric_command(event.arguments)
            if word is RubricCommand.ACCEPT:
                done = self._services.rubrics.accept(event.project, event.environment)
                return CommandReply(text=f"Supervisor: {done}")
            rubric = self._services.rubrics.load(event.project, event.environment)
            return CommandReply(
                text=self._begun(event, rubric)
                if word is RubricCommand.EDIT
                else describe_rubric(rubric, event.project)
            )
        except CommandRefusal as refusal:
            return CommandReply(text=f"Supervisor: {refusal}", refused=True)
        except OSError as error:
            why = f"it could not be saved ({error.strerror or error}), so all is as before"
            return CommandReply(
                text=f"Supervisor: refused: {why}. Type in a shell: supervisor doctor", refused=True
            )

    def _begun(self, event: CommandTyped, rubric: Rubric) -> str:
        """Create the project's rubric where it has none. The user asked for it, so it is the user's."""
        if rubric.held is not None:
            raise CommandRefusal(
                f"an edit of the agent is held. Type {ACCEPT_COMMAND}, or take it back, then edit"
            )
        path, made = self._services.rubrics.begin(event.project)
        if made:
            self._services.rubrics.load(event.project, event.environment, AgentWrites())
        return edit_rubric_answer(path, made=made)

    def _hear(self, key: SessionKey) -> None:
        """Note that from now on it is known when this session is at work, whatever was saved before."""
        self._unsure.pop(key, None)
        if not self._recalled:
            self._heard.add(key)

    def _decided(self, project: str, environment: Environment, done: AgentWrites, *, blind: bool) -> Rubric:
        done = replace(done, unseen=done.unseen or blind)
        return self._services.rubrics.load(project, environment, done)

    def _beside(self, project: str) -> bool:
        """Whether an agent is at work that may have written the rubric of this project."""
        return self._busy(project) or (project in self._shared and self._busy())

    def _busy(self, project: str = "") -> bool:
        """Whether an agent is at work on this project, "" for any."""
        now = self._services.clock.now()
        return any(
            project in ("", work.project) and now - work.since < AT_WORK_S for work in self._working.values()
        )

    def _owe(self, key: SessionKey, rubric: Rubric) -> None:
        lines = [rubric_change_message(rubric)]
        if rubric.held is not None and (key, rubric.held.digest) not in self._told:
            _remember_newest(self._told, (key, rubric.held.digest), None)
            lines.append(held_edit_message(rubric))
        self.owe(key, lines)


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


def _remember_newest(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > MAX_REMEMBERED:
        known.popitem(last=False)
