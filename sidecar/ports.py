"""What `app` needs from the world. Each port has one contract suite, run on every adapter of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sidecar.model.effects import Case, Feedback, HostAnswer
from sidecar.model.events import CommandTyped, Judged, JudgeFailed, Stopped, Told
from sidecar.model.gate import Catalog, Gate, GateRun
from sidecar.model.inspection import Base, Changes, Reading, Repository
from sidecar.model.journal import Journal
from sidecar.model.kept import KeptStop, Recalled
from sidecar.model.rubric import Rubric
from sidecar.model.saved import Configured
from sidecar.model.session import Session, SessionKey
from sidecar.model.settings import Settings
from sidecar.model.spending import Spending
from sidecar.model.turn import Turn

Environment = Mapping[str, str]
Mask = Callable[[str], str]
"""Gives a text back without its secrets."""


class Writes(Struct, frozen=True):
    """What an agent may have written: paths it edited, absolute or of the project, and shell lines it ran.

    `unseen`: it may have done more, of which nothing is known (another agent worked for it, for example).
    """

    paths: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    unseen: bool = False


class Site(Struct, frozen=True, kw_only=True):
    """Where gates run: the project, its tree as it was just seen, and the session's environment."""

    project: str
    tree: str
    environment: Environment


class BadInputError(Exception):
    """What came in from outside cannot be used. The message says what, where, and what to do."""


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> float:
        """Seconds since the epoch."""

    async def pause(self, seconds: float) -> None:
        """Wait."""


class HostCodec(Protocol):
    """Translates between one host's words and ours."""

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Told:
        """Turn a host's event into ours; raises BadInputError."""

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Turn an answer to the event `raw` into the JSON object that the host understands.

        `feedback` is the worded continuation where the answer is one, else empty.
        """


class Transcripts(Protocol):
    """What the host recorded of the session.

    A position is in the host's own measure: bytes of a transcript, or milliseconds since the epoch.
    """

    async def read(self, stop: Stopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`. Costs what was added since the last read.

        Tokens are those recorded from the position `counted_to` on, those of this turn where it is negative.

        Never raises for a missing or damaged transcript: `readable` is false then.
        """

    def position(self, event: CommandTyped) -> int:
        """Where the record ends now, 0 where there is none."""

    def queued(self, stop: Stopped, position: int) -> bool:
        """Whether a human prompt was queued at or after `position` and still waits.

        False for a host that tells of such a prompt itself.
        """


class Workspace(Protocol):
    """The project's files."""

    async def fingerprint(self, project: str, environment: Environment) -> str:
        """One digest of all content that is not ignored; "" where it cannot be had."""

    async def remember(self, project: str, environment: Environment) -> Base:
        """Keep the files as they are now to be compared with later. Never raises: `unseen` says why not."""

    async def since(self, base: Base, project: str, environment: Environment) -> Changes:
        """What changed since then, ignored files that steer a test runner among it. Never raises."""

    async def repository(self, base: Base, project: str, environment: Environment) -> Repository | None:
        """What git knows of the project, None where there is no repository. Asks no remote."""

    def absent(self, project: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Which of these are not there. What leads out of the project is not looked at."""

    def forget(self, base: Base, project: str) -> None:
        """Give back what was kept; nothing where it is gone already."""


class Inspector(Protocol):
    """Reads changed files with the eyes of the checks."""

    async def read(self, changes: Changes) -> Reading:
        """Both versions of every changed file that bears on a check. Never raises for a damaged file."""


class GateCatalog(Protocol):
    """Which checks a project offers."""

    async def list(self, project: str, environment: Environment) -> Catalog:
        """Detected and configured gates, each with the reason, the configured ones first. Never raises."""


Progress = Callable[[Gate, GateRun | None], None]
"""Told when a gate begins (None) and when it has ended."""


class GateRunner(Protocol):
    """Runs the project's own checks."""

    async def run(
        self, gates: Sequence[Gate], at: Site, seconds: float, progress: Progress | None = None
    ) -> tuple[GateRun, ...]:
        """Run these gates, the independent ones side by side, each within `seconds` or its own deadline.

        In the order asked for. Never raises for a failing or missing command. Cancelling kills what runs.
        """


class Chosen(Struct, frozen=True):
    """Which backend judges, "" where none can, and why in one line."""

    backend: str
    why: str


class Judge(Protocol):
    """Asks a model about a case."""

    def chosen(self, environment: Environment, settings: Settings) -> Chosen:
        """Who would be asked now. Asks nobody."""

    async def ask(self, case: Case, environment: Environment, settings: Settings) -> Judged | JudgeFailed:
        """Never raises for a broken backend: JudgeFailed says why. Cancelling ends the request."""


class SessionStore(Protocol):
    """Keeps one state per session."""

    def load(self, key: SessionKey) -> Session | None:
        """The saved state, None for an unknown session.

        A corrupt, foreign or future file is set aside with its reason and None is returned. Raises
        BadInputError for a hostile id, OSError where the state folder cannot be read.
        """

    def save(self, session: Session) -> None:
        """Write it whole or not at all; raises OSError."""

    def forget(self, key: SessionKey) -> None:
        """Remove a session's state."""

    def known(self) -> tuple[SessionKey, ...]:
        """Every session with a state, the one seen last first."""


class JournalStore(Protocol):
    """Keeps one journal per session, beside its state."""

    def load(self, key: SessionKey) -> Journal | None:
        """The saved journal, None where there is none. Raises as SessionStore.load does."""

    def save(self, key: SessionKey, journal: Journal) -> None:
        """Write it whole or not at all; raises OSError, BadInputError for text that no file can hold."""

    def forget(self, key: SessionKey) -> None:
        """Remove it."""


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a session's record: what was decided at one stop or command, and why.

    `at` is seconds since the epoch. `decided` is a Reason, "continue" or a command's name.
    """

    at: float
    event: str
    decided: str
    detail: str = ""
    continuation: str = ""
    stage: str = ""
    tree: str = ""
    gates: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    rule: str = ""
    confidence: float | None = None
    judge: str = ""
    judge_tokens: int = 0
    judge_cents: float | None = None
    seconds: float = 0.0


class Record(Protocol):
    """The append-only story of a session."""

    def append(self, key: SessionKey, entry: Entry) -> None:
        """Add one entry; raises OSError."""

    def read(self, key: SessionKey, last: int = 20) -> tuple[Entry, ...]:
        """The newest entries, oldest first; a torn last line is left out."""

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        """Reasons why state files of this session were set aside, oldest first."""


class KeptStops(Protocol):
    """Judged stops of each project, to be played again under another rubric."""

    def keep(self, stop: KeptStop) -> None:
        """Keep it; of too many the oldest go, and one that is too big is not kept.

        Raises OSError, and ValueError for a text that cannot be written.
        """

    def last(self, project: str, number: int) -> Recalled:
        """The newest of a project. Never raises: what cannot be read is named."""

    def forget(self, project: str, key: SessionKey) -> None:
        """Remove those of a session. Never raises."""


class Rubrics(Protocol):
    """The rubric in force."""

    def load(self, project: str, environment: Environment, writes: Writes | None = None) -> Rubric:
        """First found wins: project, user, default. Never raises: a broken file is in `rejected`.

        `writes` tells what the agent did since the last look. Where it may have edited the file, the text
        that was in force before stays in force, and `held` says so, until `accept`.
        """

    def accept(self, project: str, environment: Environment) -> str:
        """Put what is held in force; what was done, in one line. Raises OSError."""

    def begin(self, project: str) -> tuple[str, bool]:
        """The path of the project's own rubric, and whether it was made just now from the default.

        Raises OSError.
        """


class Guides(Protocol):
    """The files by which people guide us, as they are now, whoever wrote them. Nothing here raises."""

    def paths(self, project: str, environment: Environment) -> tuple[str, ...]:
        """Where they may be: the rubrics by precedence, then the configuration."""

    def rubric(self, project: str, environment: Environment) -> Rubric | None:
        """What would be in force if every edit counted; None while a file is being written."""

    def settings(self, project: str) -> tuple[Configured, ...]:
        """The user's file, and the project's."""


class Watch(Protocol):
    """Wakes somebody after something may have changed."""

    def look_at(self, folders: Collection[Path]) -> None:
        """Watch these folders and no others."""

    def close(self) -> None:
        """Wake nobody any more."""


class Secrets(Protocol):
    """Knows what a secret looks like."""

    def masker(self, environment: Environment) -> Mask:
        """What takes secrets out of a text: those of this environment, and those known by their form."""


class Access(Struct, frozen=True):
    """Where an agent reaches the tools of its session over MCP, and with which bearer token."""

    url: str
    token: str


class Errand(Struct, frozen=True, kw_only=True):
    """What an agent is to do: the prompt, where, in which environment, and within how many seconds."""

    prompt: str
    project: str
    environment: Environment
    seconds: float
    access: Access | None = None


class AgentRest(Struct, frozen=True, kw_only=True):
    """How an agent's run ended.

    `said` is the end of what it said, at most 20,000 characters. `trouble` says in one line why it did not
    work through: it could not be started, it took too long, it was killed, it speaks no protocol; "" where it
    ended by itself.
    """

    said: str = ""
    exit_code: int | None = None
    trouble: str = ""


class AgentRunner(Protocol):
    """Starts an agent afresh and waits until it rests."""

    async def run(self, errand: Errand, hear: Callable[[str], None]) -> AgentRest:
        """Run it once; `hear` gets what it says, piece by piece. Cancelling kills it and all it started."""


class Purse(Protocol):
    """Adds up what judging costs this user, day by day."""

    def today(self) -> Spending:
        """What was spent today. Never raises: what cannot be read counts as nothing spent, and is logged."""

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        """Add one stop's judging. Raises OSError."""


class Phrasebook(Protocol):
    """Every text that a model reads."""

    def continuation(self, feedback: Feedback) -> str:
        """The continuation in words, under 9,000 characters."""

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        """What the agent is told beside the goal command."""


class Switches(Protocol):
    """Whether Supervisor is switched off."""

    def off(self, project: str) -> str:
        """Why it is off for this project ("off for you", "off for this project"), "" where it is on."""

    def turn(self, *, on: bool, project: str | None) -> None:
        """Switch it for a project, or for the user where None; raises OSError."""


class Configuration(Protocol):
    """The user's settings."""

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        """The settings in force and every error in the file; with errors the defaults hold."""
