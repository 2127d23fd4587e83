"""The rubric in force at a stop, and what the user is told of its changes.

Whose edit a change is can be told at two moments: when a person speaks and no agent was at work since the
last look, it is the person's; at a stop it is the agent's, if what the agent did may have written the file.
In between nothing is decided. Where an agent's doings are not all known (its turn was interrupted, another
session is at work on the same project, it had others work for it), a change is held: the user can accept it.
A file that several projects share, the user's own, may be the work of an agent at any of them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.app.house import House
from sidecar.model.effects import Reply
from sidecar.model.events import CommandTyped, HostEvent, Stopped
from sidecar.model.rubric import Rubric
from sidecar.model.session import Session, SessionKey
from sidecar.model.turn import Doing, ToolCall, Turn
from sidecar.policy.arguments import Refusal
from sidecar.policy.rubric_words import Word, asked, to_edit
from sidecar.policy.rubrics import COMMAND, described, told, told_change
from sidecar.ports import BadInputError, Environment, Writes

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED: Final = 200
"""Sessions at work, sessions that are to be told something, and held edits that were told."""
AT_WORK_S: Final = 1800.0
"""Seconds after its prompt in which a session that never stopped still counts as being at work."""
RECALLED: Final = 100
"""Sessions, those seen last, that may have been at work when this process began."""
LONGEST_S: Final = 6 * 3600.0
"""Seconds after which a session that was at work before this process began is no longer taken to be."""
OWED: Final = 4
"""Lines that a session is to be told; the older ones go."""
CALLS: Final = 400
"""Calls of a turn that are known; with so many there may have been more."""
LINE: Final = 1990
"""Characters of a shell line that are known for sure; of a longer one the middle may be cut out."""

_WRITING_TOOL: Final = re.compile(
    r"write|edit|create|move|rename|patch|replace|save|delete|remove", re.IGNORECASE
)


class _Work(Struct, frozen=True):
    """A session whose agent is at work. `blind`: it was before too, and nobody looked at what it did then.

    Not `seen`: it began before this process did.
    """

    project: str
    environment: Environment
    since: float
    blind: bool = False
    seen: bool = True


class _Shared(Struct, frozen=True):
    """A project whose rubric outside of it changed while an agent was at work elsewhere."""

    environment: Environment
    sessions: tuple[SessionKey, ...]


class RubricWatch:
    """Knows the rubric in force, and which sessions may have edited it."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
        self._working: OrderedDict[SessionKey, _Work] = OrderedDict()
        self._owed: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._told: OrderedDict[tuple[SessionKey, str], None] = OrderedDict()
        self._unsure: OrderedDict[SessionKey, str] = OrderedDict()
        self._shared: OrderedDict[str, _Shared] = OrderedDict()
        self._recalled = False
        self._heard: set[SessionKey] = set()

    def recall(self) -> None:
        """Find out who may be at work since before this process began; until then nobody is sure to rest."""
        try:
            keys = self._house.store.known()[:RECALLED]
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
        if session and since is not None and since > self._house.clock.now() - LONGEST_S:
            _put(self._working, key, _Work(session.project, {}, since, seen=False))

    def _remembered(self, key: SessionKey) -> Session | None:
        try:
            return self._house.store.load(key)
        except (BadInputError, OSError):
            return None

    def unseen(self, event: HostEvent) -> None:
        """From here on this agent may be at work, and nobody is told when."""
        _put(self._unsure, event.key, event.project)

    def at_rest(self, project: str, *, alone: bool = True) -> bool:
        """Whether it is sure that no agent is at work on this project, however long ago one began.

        Not `alone`: nor on any other, as far as one is told of it.
        """
        if not self._recalled or project in self._unsure.values():
            return False
        resting = all(work.project != project for work in self._working.values())
        return resting and (alone or not self._busy())

    def shared(self, project: str, environment: Environment, sessions: Iterable[SessionKey]) -> None:
        """A rubric of this project that is outside of it changed while it was not at rest: see `in_force`."""
        if self._busy():
            _put(self._shared, project, _Shared(environment, tuple(sessions)))

    def spoken(self, event: HostEvent) -> None:
        """A person spoke: what changed while no agent was at work is the person's, and counts.

        Without the session's environment one cannot tell where the user's own rubric is.
        """
        if not event.environment:
            return
        if not self._recalled:
            self._recall(event.key)
        at_rest = event.key not in self._working and not self._beside(event.project)
        writes = Writes() if at_rest else None
        self._owe(event.key, self._house.rubrics.load(event.project, event.environment, writes))

    def set_to_work(self, event: HostEvent, *, human: bool = True) -> None:
        """The agent goes to work. A person's word begins another turn; what came before is not seen."""
        self._hear(event.key)
        before = self._working.pop(event.key, None)
        if before is not None and not human:
            self._working[event.key] = before
            return
        now = self._house.clock.now()
        work = _Work(event.project, event.environment, now, blind=before is not None)
        _put(self._working, event.key, work)

    def in_force(self, stop: Stopped, turn: Turn) -> Rubric:
        """The rubric of this stop. Call it at every stop whose turn was read, even where nobody judges."""
        self._hear(stop.key)
        work = self._working.pop(stop.key, None)
        if work is None or not work.seen:  # of a host that does not tell when its agent goes to work
            self.unseen(stop)
        blind = (work is not None and work.blind) or self._beside(stop.project)
        done = writes(turn)
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
        """Have the user of this session told these lines."""
        if new := tuple(line for line in lines if line):
            _put(self._owed, key, (*self._owed.get(key, ()), *new)[-OWED:])

    def note(self, key: SessionKey) -> str:
        """What the user of this session is still to be told, "" for nothing. Each line is given once."""
        return "\n".join(self._owed.pop(key, ()))

    def end(self, key: SessionKey) -> None:
        """The session is over. What changed while its agent was at work, nobody looked at: it is held."""
        self._unsure.pop(key, None)
        self._owed.pop(key, None)
        work = self._working.pop(key, None)
        if work is not None and work.environment:
            self._decided(work.project, work.environment, Writes(), blind=True)

    def obey(self, event: CommandTyped) -> Reply:
        """Answer /supervisor:rubric."""
        try:
            word = asked(event.arguments)
            if word is Word.ACCEPT:
                done = self._house.rubrics.accept(event.project, event.environment)
                return Reply(text=f"Supervisor: {done}")
            rubric = self._house.rubrics.load(event.project, event.environment)
            return Reply(
                text=self._begun(event, rubric) if word is Word.EDIT else described(rubric, event.project)
            )
        except Refusal as refusal:
            return Reply(text=f"Supervisor: {refusal}", refused=True)
        except OSError as error:
            why = f"it could not be saved ({error.strerror or error}), so all is as before"
            return Reply(text=f"Supervisor: refused: {why}. Type in a shell: supervisor doctor", refused=True)

    def _begun(self, event: CommandTyped, rubric: Rubric) -> str:
        """Make the project a rubric where it has none. The user asked for it, so it is the user's."""
        if rubric.held is not None:
            raise Refusal(f"an edit of the agent is held. Type {COMMAND}, or take it back, then edit")
        path, made = self._house.rubrics.begin(event.project)
        if made:
            self._house.rubrics.load(event.project, event.environment, Writes())
        return to_edit(path, made=made)

    def _hear(self, key: SessionKey) -> None:
        """From here on it is known when this session is at work, whatever was saved of it before."""
        self._unsure.pop(key, None)
        if not self._recalled:
            self._heard.add(key)

    def _decided(self, project: str, environment: Environment, done: Writes, *, blind: bool) -> Rubric:
        done = replace(done, unseen=done.unseen or blind)
        return self._house.rubrics.load(project, environment, done)

    def _beside(self, project: str) -> bool:
        """Whether an agent is at work that may have written the rubric of this project."""
        return self._busy(project) or (project in self._shared and self._busy())

    def _busy(self, project: str = "") -> bool:
        """Whether an agent is at work on this project, "" for any."""
        now = self._house.clock.now()
        return any(
            project in ("", work.project) and now - work.since < AT_WORK_S for work in self._working.values()
        )

    def _owe(self, key: SessionKey, rubric: Rubric) -> None:
        lines = [told_change(rubric)]
        if rubric.held is not None and (key, rubric.held.digest) not in self._told:
            _put(self._told, (key, rubric.held.digest), None)
            lines.append(told(rubric))
        self.owe(key, lines)


def writes(turn: Turn) -> Writes:
    """What an agent may have written in a turn."""
    return Writes(
        paths=tuple(path for call in turn.calls if call.doing is Doing.EDIT for path in call.paths),
        lines=tuple(call.command for call in turn.calls if call.doing is Doing.RUN),
        unseen=not turn.readable or len(turn.calls) >= CALLS or any(map(_hidden, turn.calls)),
    )


def _hidden(call: ToolCall) -> bool:
    """Whether a call may have written files that it does not name."""
    if call.doing is Doing.OTHER:
        return _WRITING_TOOL.search(call.tool) is not None
    return call.doing is Doing.DELEGATE or (call.doing is Doing.RUN and len(call.command) >= LINE)


def _put(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > REMEMBERED:
        known.popitem(last=False)
