"""Which agents are at work, which edits of steering files count because of that, and what users are told.

Edits are settled before an agent goes to work when none was, when one stops or ends while it still counts as
at work, and when the system says that a file was saved. At work is also who does not report it: a session
whose prompts are not seen, or one that was at work when a sidecar ended. The rule is that of
sidecar/platform/held_edits.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.events import AgentStopped, CommandTyped, HostEvent
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import MemoryGap, SessionKey
from sidecar.platform.ports import load_readable, remember_newest
from sidecar.rubric.policy import (
    ACCEPT_COMMAND,
    NOTHING_HELD,
    describe_rubric,
    edit_rubric_answer,
    held_edit_message,
    saved_file_messages,
)
from sidecar.systems.supervision.environments import StartEnvironments
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
TAKE_BACK: Final = f"take it back, or type {ACCEPT_COMMAND}"
MAX_REMEMBERED: Final = 200
"""Maximum number of sessions at work, of sessions that are told, and of edits that were shown."""
MAX_SESSIONS_RECALLED: Final = 100
"""Sessions, those seen last, that may have been at work when this process began."""
MAX_WORK_SECONDS: Final = 6 * 3600.0
"""Seconds after which a session counts as idle that was at work before this process began, or reports stops
alone."""
MAX_LINES_OWED: Final = 12
"""Maximum pending lines of a session; newer ones are dropped, and that is said."""
MORE_LINES: Final = "Supervisor: more happened than is told here. Type in a shell: supervisor status"


class _ActiveSession(Struct, frozen=True):
    """A session whose agent is at work. `speaker`: its host's process, 0 where unknown.

    Not `seen`: it began before this process did.
    """

    since: float
    speaker: int
    seen: bool = True


class _MetSession(Struct, frozen=True):
    """A session, and where the files are that steer there."""

    project: str
    paths: tuple[Path, ...]


class SteeringWatch:
    """Knows who is at work, and tells of edits; the services' guard settles them by that."""

    def __init__(self, services: Services, *, gap: MemoryGap = MemoryGap.NONE) -> None:
        """Use these services. `gap`: what this process cannot know of the time before it."""
        self._services = services
        self._gap = gap
        self.environments = StartEnvironments(services)
        self._working: OrderedDict[SessionKey, _ActiveSession] = OrderedDict()
        self._unsure: OrderedDict[SessionKey, float] = OrderedDict()
        self._met: OrderedDict[SessionKey, _MetSession] = OrderedDict()
        self._owed: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._edits: OrderedDict[SessionKey, dict[str, HeldEdit]] = OrderedDict()
        self._shown: OrderedDict[tuple[SessionKey, str], None] = OrderedDict()
        self._knows_gap: set[SessionKey] = set()
        self._delivered: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._recalled = False
        self._heard: set[SessionKey] = set()

    # --- who is at work ---

    def recall_once(self) -> None:
        """Load who may be at work since before this process began; until then nobody is known to rest."""
        if self._recalled:
            return
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
        session = None if known else load_readable(self._services.store, key)
        since = session.active_since if session else None
        if session and since is not None and since > self._services.clock.now() - MAX_WORK_SECONDS:
            work = _ActiveSession(since, session.host_process, seen=False)
            remember_newest(self._working, key, work, MAX_REMEMBERED)

    def working(self) -> Mapping[SessionKey, float]:
        """Return the sessions whose agents are at work, and since when (seconds since the epoch)."""
        return {key: work.since for key, work in self._working.items()}

    def at_rest(self) -> bool:
        """Whether certainly no agent of this user is at work."""
        self.recall_once()
        long_ago = self._services.clock.now() - MAX_WORK_SECONDS
        return self._recalled and not self._working and all(at < long_ago for at in self._unsure.values())

    def set_to_work(self, event: HostEvent, *, human: bool = True) -> None:
        """Note that the agent goes to work. A person's prompt begins a turn, and was told of by `spoken`."""
        if not human and not self._working:
            self.settle()
        self._hear(event.key)
        before = self._working.pop(event.key, None)
        if before is None or human:
            before = _ActiveSession(self._services.clock.now(), event.speaker)
        remember_newest(self._working, event.key, before, MAX_REMEMBERED)

    def _hear(self, key: SessionKey) -> None:
        """Note that from now on it is known when this session is at work, whatever was saved before."""
        self._unsure.pop(key, None)
        if not self._recalled:
            self._heard.add(key)

    def end(self, key: SessionKey, *, during_call: bool = False) -> None:
        """End a session. An end that a tool call may have made up leaves the agent at work."""
        self.settle()
        self._unsure.pop(key, None)
        self._met.pop(key, None)
        if not during_call:
            self._working.pop(key, None)

    # --- what changed, and who is told ---

    def meet(self, event: HostEvent) -> bool:
        """Remember where a session works; return whether that is news. Events of a shell do not tell it."""
        before = self._met.get(event.key)
        if before is not None and not event.environment:
            return False
        met = _MetSession(event.project, self._services.steering.watch(event.project, event.environment))
        remember_newest(self._met, event.key, met, MAX_REMEMBERED)
        return met != before

    def folders(self) -> frozenset[Path]:
        """Return the folders of the files that matter to any session."""
        met = self._met.values()
        roots = {Path(session.project) for session in met}  # too large, and written too often
        return frozenset(path.parent for session in met for path in session.paths) - roots

    def paths(self, key: SessionKey) -> tuple[str, ...]:
        """Return the files that matter to a session."""
        paths = self._met[key].paths if key in self._met else ()
        return tuple(str(path) for path in paths if not path.name.startswith("*"))

    def sessions(self) -> tuple[SessionKey, ...]:
        """Return the sessions that are told of edits."""
        return tuple(self._met)

    def settle(self) -> None:
        """Settle every edit by who is at work now, and queue what is to be told of it."""
        for edit in self._services.steering.settle():
            for key, session in self._met.items():
                if edit.project in ("", session.project):
                    self._owe_edit(key, edit)

    def saved(self) -> None:
        """Look at files that were saved; then forget who was at work in a host that is gone."""
        self.settle()
        find = self._services.processes.find
        for key, work in list(self._working.items()):
            if work.speaker > 0 and find(work.speaker) is None and find(1) is not None:
                del self._working[key]

    def unaccepted(self, project: str) -> str:
        """Say which edit waits by which a host itself works otherwise, "" for none."""
        self.settle()
        waits = (edit for edit in self._services.steering.held(project) if edit.live)
        said = (f"{edit.path} was changed ({edit.summary}); {TAKE_BACK}" for edit in waits)
        return next(said, "")

    def spoken(self, event: HostEvent) -> None:
        """Handle a person's prompt: the user is told what waits."""
        self.settle()
        if not event.during_call:
            self._delivered.pop(event.key, None)
            self._owe_held(event.key, event.project)

    def heard_of(self, stop: AgentStopped) -> None:
        """Note that a stop came whose turn was read, even if it is not judged."""
        work = self._working.get(stop.key)
        self._hear(stop.key)
        if work is None or not work.seen:
            self._tell_of_gap(stop.key)
        if work is None:  # the host does not report when its agent goes to work
            remember_newest(self._unsure, stop.key, self._services.clock.now(), MAX_REMEMBERED)
        self._owe_held(stop.key, stop.project)

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

    def rest(self, stop: AgentStopped, *, read: bool, goes_on: bool = False) -> str:
        """Note that an agent rests, and return what is queued for its user. `read`: the stop is no fake.

        What changed while it was judged may be its work. `goes_on`: it goes on at once. A stop that was not
        read, or that came while a tool call ran, may be made up: the agent stays at work, and the lines are
        returned again at the next stop, until the user speaks.
        """
        self.settle()
        genuine = read and not stop.during_call
        if genuine and not goes_on:
            self._working.pop(stop.key, None)
        self._services.log.tell_losses(stop.key)
        self.owe(stop.key, self._services.incidents.take(stop.key))
        lines = (*self._delivered.pop(stop.key, ()), *self.take_lines(stop.key))
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
        edits = self._edits.pop(key, {})
        waiting = {edit.digest for edit in self.held(self._project(key))} if edits else ()
        for edit in edits.values():
            if not edit.waits:
                self.owe(key, saved_file_messages(edit))
            elif edit.digest in waiting:
                self._show(key, edit)
                self.owe(key, [held_edit_message(edit)])
        return self._owed.pop(key, ())

    def _owe_edit(self, key: SessionKey, edit: HeldEdit) -> None:
        """Queue an edit; of one file only the newest is told."""
        shown = edit.waits and (key, edit.digest) in self._shown
        if not shown and not self._services.switches.off(self._project(key)):
            owed = {**self._edits.get(key, {}), edit.path: edit}
            remember_newest(self._edits, key, owed, MAX_REMEMBERED)

    def _owe_held(self, key: SessionKey, project: str) -> None:
        for edit in self.held(project):
            self._owe_edit(key, edit)

    def _show(self, key: SessionKey, edit: HeldEdit) -> None:
        remember_newest(self._shown, (key, edit.digest), None, MAX_REMEMBERED)

    def _project(self, key: SessionKey) -> str:
        return self._met[key].project if key in self._met else ""

    # --- what a user orders ---

    def obey(self, event: CommandTyped) -> CommandReply:
        """Answer /supervisor:rubric and /supervisor:accept."""
        order = event.order
        try:
            if order.fault:
                return refusal(order.fault)
            if ACCEPT_NAME in (order.name, order.word):
                lines = self.accept(event.key, event.project)
            elif order.word == "edit":
                return self._begin_rubric(event)
            else:
                rubric = self._services.rubrics.load(event.project, event.environment)
                lines = describe_rubric(rubric, event.project)
            return CommandReply(headline=lines[0], details=lines[1:])
        except OSError as error:
            why = f"it could not be saved ({error.strerror or error}), so all is as before"
            return refusal(f"refused: {why}. Type in a shell: supervisor doctor")

    def accept(self, key: SessionKey, project: str) -> tuple[str, ...]:
        """Put in force what waits and was shown to this user; show the rest. Raises OSError."""
        self.settle()
        lines = self.put_in_force(project, [digest for seen_by, digest in self._shown if seen_by == key])
        for edit in self.held(project):
            self._show(key, edit)
            lines.append(f"waits: {edit.path} ({edit.summary}). To put it in force: {ACCEPT_COMMAND} again")
        return tuple(lines) or (NOTHING_HELD,)

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return what waits: edits of the user's files and of this project's, and what hosts say later."""
        return self._services.steering.held(project) + self.environments.held(project)

    def put_in_force(self, project: str, digests: Collection[str]) -> list[str]:
        """Put the edits with these digests in force; return a line for each. Raises OSError."""
        edits = self._services.steering.accept(project, digests) + self.environments.accept(project, digests)
        return [f"in force now: {edit.path}: {edit.summary}" for edit in edits]

    def _begin_rubric(self, event: CommandTyped) -> CommandReply:
        """Create the project's rubric where it has none. The user asked for it, so it is the user's."""
        self.settle()
        if self._services.rubrics.load(event.project, event.environment).held is not None:
            return refusal(f"an edit of it is held. Type {ACCEPT_COMMAND}, or take it back, then edit")
        path, made = self._services.rubrics.begin(event.project)
        return CommandReply(headline=edit_rubric_answer(path, made=made))
