"""Interfaces to the machine for other packages: time, state, secrets. Each has one contract test suite."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sidecar.kernel.goal import Spending
from sidecar.kernel.held_edits import AgentWrites, HeldEdit
from sidecar.kernel.journal import Journal
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.origin import Ancestry, Process
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import LoadedStops, RecordedStop
from sidecar.platform.incidents import Incidents
from sidecar.platform.steering import FilesInForce


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> float:
        """Seconds since the epoch."""

    async def pause(self, seconds: float) -> None:
        """Wait for this many seconds."""


class SessionStore(Protocol):
    """Stores one state per session."""

    def load(self, key: SessionKey) -> Session | None:
        """The saved state, None for an unknown session.

        A corrupt or foreign file, or one from a newer version, is set aside with its reason and None is
        returned. Raises BadInputError for an invalid id, OSError if the state folder cannot be read.
        """

    def save(self, session: Session) -> None:
        """Write the state whole or not at all. Raises OSError."""

    def forget(self, key: SessionKey) -> None:
        """Remove a session's state."""

    def known(self) -> tuple[SessionKey, ...]:
        """Every session that has a state, the most recently seen first."""


class JournalStore(Protocol):
    """Stores one journal per session, next to its state."""

    def load(self, key: SessionKey) -> Journal | None:
        """The saved journal, or None. Raises the same exceptions as SessionStore.load."""

    def save(self, key: SessionKey, journal: Journal) -> None:
        """Write it whole or not at all. Raises OSError, BadInputError for text that cannot be encoded."""

    def forget(self, key: SessionKey) -> None:
        """Remove a session's journal."""


class RecordEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a session's record: what was decided at one stop or command, and why.

    `at` is seconds since the epoch. `decided` is a Reason, "continue" or a command's name. `origin` says
    by which processes an order came that was not typed in the host.
    """

    at: float
    event: str
    decided: str
    detail: str = ""
    continuation: str = ""
    stage: str = ""
    tree: str = ""
    origin: str = ""
    gates: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    rule: str = ""
    confidence: float | None = None
    judge: str = ""
    judge_tokens: int = 0
    judge_cents: float | None = None
    seconds: float = 0.0


class SessionRecord(Protocol):
    """The append-only record of a session."""

    def append(self, key: SessionKey, entry: RecordEntry) -> None:
        """Add one entry. Raises OSError."""

    def read(self, key: SessionKey, last: int = 20) -> tuple[RecordEntry, ...]:
        """The newest entries, oldest first; an incomplete last line is left out."""

    def report_loss(self, key: SessionKey) -> None:
        """Report a record that is shorter than this process left it, as an incident of its session."""

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        """Reasons why state files of this session were set aside, oldest first."""


class StopHistory(Protocol):
    """Judged stops of each project, stored to be replayed under another rubric."""

    def keep(self, stop: RecordedStop) -> None:
        """Store a stop. Above a limit the oldest are removed; a stop that is too big is not stored.

        Raises OSError, and ValueError for text that cannot be encoded.
        """

    def last(self, project: str, number: int) -> LoadedStops:
        """The newest stops of a project. Never raises: unreadable ones are reported in the result."""

    def forget(self, project: str, key: SessionKey) -> None:
        """Remove the stops of a session. Never raises."""


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


class SpendingStore(Protocol):
    """Adds up this user's spending on judging, day by day."""

    def today(self) -> Spending:
        """Today's spending. Never raises: an unreadable file counts as nothing spent, and is logged."""

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        """Add the spending of one judged stop. Raises OSError."""


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


class Steering(FilesInForce, Protocol):
    """The files that steer Supervisor, and which edits of them count (law 9). See kernel/held_edits.py."""

    def settle(self, project: str, writes: AgentWrites, shared: AgentWrites) -> tuple[HeldEdit, ...]:
        """Decide about every edit since the last look; return those that count now and those that wait.

        `writes`: what agents at work on the project did meanwhile; `shared`: what agents anywhere did, who
        may have edited the user's own files. Never raises.
        """

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return the edits that wait. Never raises."""

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:
        """Put the edits with these digests in force and return them. Raises OSError."""


class Configuration(Protocol):
    """The user's settings."""

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        """The settings in force and every error in the file; wrong values fall back to the defaults."""


@dataclass(frozen=True, kw_only=True)
class PlatformServices:
    """The adapters of this module's interfaces."""

    clock: Clock
    configuration: Configuration
    incidents: Incidents
    journals: JournalStore
    processes: Processes
    record: SessionRecord
    secrets: SecretDetector
    spending: SpendingStore
    steering: Steering
    stop_history: StopHistory
    store: SessionStore
    switches: SwitchStore
