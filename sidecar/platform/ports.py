"""Interfaces to the machine for other packages: time, state, secrets. Each has one contract test suite."""

from __future__ import annotations

import asyncio
import errno
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path
from threading import RLock
from typing import Generic, Protocol, TypeVar, cast

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal
from sidecar.kernel.log import EventFilter, LoggedEvent
from sidecar.kernel.loop import Loop
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.orders import Ancestry, Process
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.steering import FilesInForce

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D", Session, Loop)
"""A document with a revision."""


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def awake(self) -> float:
        """Seconds in which this machine was awake; nobody sets it. Only differences of one boot count."""

    async def pause(self, seconds: float) -> None:
        """Wait for this many seconds."""


class StaleSessionError(OSError):
    """The state was saved by somebody else since it was loaded. Nothing was written."""

    def __init__(self, session: Session | Loop | Journal, stored: Session | Loop | Journal | None) -> None:
        """Name both revisions; one that is not stored has revision 0."""
        there = stored.revision if stored is not None else 0
        super().__init__(
            errno.ESTALE, f"it was changed meanwhile (revision {there}, expected {session.revision})"
        )


class RevisionedStore(Protocol[D]):
    """Stores one document per session, which has a revision."""

    def load(self, key: SessionKey) -> D | None:
        """The saved document, None for an unknown session.

        A corrupt or foreign file, or one from a newer version, is set aside with its reason and None is
        returned. Raises BadInputError for an invalid id, OSError if the state folder cannot be read.
        """

    def save(self, document: D) -> D:
        """Write it whole or not at all, and return it with its new revision.

        Raises StaleSessionError if another revision is stored than the one that it was loaded with, OSError.
        """

    def forget(self, key: SessionKey) -> None:
        """Remove a session's document."""


class SessionStore(RevisionedStore[Session], Protocol):
    """Stores one state per session."""

    def known(self) -> tuple[SessionKey, ...]:
        """Every session that has a state, the most recently seen first."""

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        """Reasons why files of this session were set aside, oldest first."""


def remember_newest(known: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Set a value as the newest one, and forget the oldest beyond `most`."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > most:
        known.popitem(last=False)


def load_readable(store: SessionStore, key: SessionKey) -> Session | None:
    """Return the state of a session; None where there is none, or none that can be read."""
    try:
        return store.load(key)
    except (BadInputError, OSError):
        return None


class JournalStore(Protocol):
    """Stores one journal per session, next to its state."""

    def load(self, key: SessionKey) -> Journal | None:
        """The saved journal, or None. Raises the same exceptions as SessionStore.load."""

    def save(self, key: SessionKey, journal: Journal) -> Journal:
        """Write it whole or not at all, and return it with its new revision.

        Raises StaleSessionError if another revision is stored than the one that it was loaded with, OSError,
        BadInputError for text that cannot be encoded.
        """

    def forget(self, key: SessionKey) -> None:
        """Remove a session's journal."""


LoopStore = RevisionedStore[Loop]
"""Stores one task loop per session, next to its state."""


class EventLog(Protocol):
    """The one log, append-only: everything that a system decides or does is an event in it.

    All methods raise OSError if the log cannot be used, except where they say otherwise.
    """

    def append(self, event: LoggedEvent) -> int:
        """Add an event and return its position."""

    def read(self, wanted: EventFilter, *, after: int = 0, limit: int = 1000) -> tuple[LoggedEvent, ...]:
        """The first events after a position, oldest first."""

    def newest(self, wanted: EventFilter, number: int, *, after: int = 0) -> tuple[LoggedEvent, ...]:
        """The newest events after a position, oldest first."""

    def count(self, wanted: EventFilter, *, after: int = 0) -> int:
        """Return how many events after a position fit."""

    def last(self) -> int:
        """The greatest position, 0 for an empty log."""

    def forget(self, wanted: EventFilter, *, keep: int = 0) -> int:
        """Remove events, except for the newest `keep`, and return how many.

        Entries of the audit go only where `wanted.kinds` names them.
        """

    def trim(self) -> None:
        """Remove what is older, or more, than the settings allow, but no audit. Never raises."""

    def listen(self, notify: Callable[[], object]) -> Callable[[], None]:
        """Call `notify`, in any thread, after every append of this process until the result is called."""

    def tell_losses(self, key: SessionKey) -> None:
        """Report as an incident if events of a session are gone that this process appended. Never raises."""


class FileWatcher(Protocol):
    """Calls back after something may have changed."""

    def look_at(self, folders: Collection[Path]) -> None:
        """Watch exactly these folders."""

    def close(self) -> None:
        """Stop calling back."""


class SecretDetector(Protocol):
    """Recognizes secrets."""

    def masker(self, environment: Environment) -> SecretMask:
        """A function that masks secrets in a text: values of this environment, and others by their format."""


class SwitchStore(Protocol):
    """Whether Supervisor is switched off."""

    def off(self, project: str) -> str:
        """Why Supervisor is off for this project ("off for you", "off for this project"), "" if it is on."""

    def turn(self, *, on: bool, project: str | None) -> None:
        """Switch it for a project, or for the user if `project` is None. Raises OSError."""


class Processes(Protocol):
    """The processes of the machine."""

    def ancestry(self, pid: int) -> Ancestry:
        """Return this process and those above it, as far as they can be seen. Never raises."""

    def find(self, pid: int) -> Process | None:
        """Return this process, None where it is gone or cannot be seen. Never raises."""

    def environment(self, pid: int) -> Environment:
        """Return the environment in which this process began, {} where it cannot be seen. Never raises."""


class Steering(FilesInForce, Protocol):
    """The files that steer Supervisor, and which edits of them count (law 9). See platform/held_edits.py."""

    def decide(self, at_rest: Callable[[], bool]) -> None:
        """Settle edits from now on. `at_rest`: whether certainly no agent of this user is at work."""

    def watch(self, project: str, environment: Environment) -> tuple[Path, ...]:
        """Look at the files of a project from now on; return where people edit them, or the user's own."""

    def settle(self) -> tuple[HeldEdit, ...]:
        """Look at every file; return the edits since the last call: those that wait now and those that count.

        Never raises.
        """

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:
        """Put the edits with these digests in force and return them. Raises OSError."""


class Configuration(Protocol):
    """The user's settings."""

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        """The settings in force and every error in the file; wrong values fall back to the defaults."""


# --- the system clock ---------------------------------------------------------------------------------------


class SystemClock:
    """Implements `Clock` with the system's time."""

    def now(self) -> float:
        return time.time()

    def awake(self) -> float:
        return time.monotonic()

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


# --- objects that are built when they are first used --------------------------------------------------------
# A sidecar answers its first event sooner, and holds less while nobody works, if it does not import what
# neither needs: most of that judges stops, runs checks, reads their reports, and serves tools.
# The function that builds such an object imports its module.


T = TypeVar("T")


def built_on_use(build: Callable[[], T]) -> T:
    """Return what stands for the object of `build`, which is called once, when an attribute is first read."""
    return cast("T", _BuiltOnUse(build))


class _BuiltOnUse(Generic[T]):
    def __init__(self, build: Callable[[], T]) -> None:
        self._build: Callable[[], T] | None = build
        self._built: T | None = None
        self._building = RLock()

    def __getattr__(self, name: str) -> object:
        """Called for the names that this object does not have: those of the other."""
        with self._building:
            if self._build is not None:
                self._built = self._build()
                self._build = None
        return getattr(self._built, name)
