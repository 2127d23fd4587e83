"""What happens to a session: things hosts tell us, and outcomes of what policy ordered."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from sidecar.model.finding import Finding
from sidecar.model.gate import Catalog, GateRun
from sidecar.model.inspection import Edit, Repository
from sidecar.model.rubric import Rubric
from sidecar.model.session import SessionKey
from sidecar.model.turn import Turn
from sidecar.model.verdict import Judgement


class Origin(StrEnum):
    """Why a session began to exist for us."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"


class HostEvent(Struct, frozen=True, kw_only=True):
    """Common to all that a host tells.

    `project` is the session's folder. `host_pid` is the host's process, 0 where unknown: it tells a forked
    session from a foreign one. `environment` is the session's own, for gates and judges; it stays in memory.
    `subagent`: the event belongs to a helper of the agent. `ours`: it belongs to a judge or worker of ours.
    """

    key: SessionKey
    project: str
    host_pid: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    subagent: bool = False
    ours: bool = False


class SessionStarted(HostEvent, frozen=True, kw_only=True):
    """The host opened, resumed, cleared or compacted a session. `headless`: nobody sees what it shows."""

    origin: Origin
    headless: bool = False


class PromptSubmitted(HostEvent, frozen=True, kw_only=True):
    """A prompt went in. `human` is false for the host's own notices about background work.

    `read_only`: whether the agent may change nothing in this turn, None where the host does not say.
    """

    prompt_id: str
    human: bool
    transcript: str = ""
    read_only: bool | None = None


class CommandTyped(HostEvent, frozen=True, kw_only=True):
    """The user typed a command of ours.

    `prompt_id` makes it idempotent: hosts tell of one typed command twice.
    """

    name: str
    arguments: str
    prompt_id: str
    transcript: str = ""


class Background(Struct, frozen=True):
    """Work that goes on behind the agent's back."""

    id: str
    description: str


class Stopped(HostEvent, frozen=True, kw_only=True):
    """The agent ended its turn and waits.

    `continued`: the host says that this stop follows a continuation. `headless`: the host ends after this
    stop and kills what runs in the background. `read_only`: plan mode. `transcript` is the path the host
    names, which may not exist; of a stop that was dropped as a file it is the record itself.
    """

    transcript: str
    prompt_id: str = ""
    last_message: str = ""
    background: tuple[Background, ...] = ()
    continued: bool = False
    headless: bool = False
    read_only: bool = False


class TurnFailed(HostEvent, frozen=True, kw_only=True):
    """The turn ended in an error of the host or its model (rate limit, refusal, overload)."""

    error: str


class ToolCalled(HostEvent, frozen=True, kw_only=True):
    """The agent is about to call a tool that may be ours.

    `tool` is the name that we know it by. `certain`: the host says that it is our plugin's, and not one of a
    server that is only called as ours. `read_only`: whether the agent may change nothing now, None where the
    host does not say.
    """

    tool: str
    certain: bool
    read_only: bool | None = None


class FileSaved(HostEvent, frozen=True, kw_only=True):
    """The host saw one of the files change of which we wanted to hear."""


class SessionEnded(HostEvent, frozen=True, kw_only=True):
    """The host closed the session. Hosts do not always say so."""

    reason: str


class SessionDeleted(HostEvent, frozen=True, kw_only=True):
    """The user deleted the session: there is nothing to come back to."""


Told = (
    SessionStarted
    | PromptSubmitted
    | CommandTyped
    | Stopped
    | ToolCalled
    | FileSaved
    | TurnFailed
    | SessionEnded
    | SessionDeleted
)


NO_RUBRIC = Rubric(patterns=(), antipatterns=(), origin="")
"""Before anybody looked."""


class TurnRead(Struct, frozen=True):
    """What the host recorded of the turn, and the rubric in force after it."""

    turn: Turn
    rubric: Rubric = NO_RUBRIC


class Surveyed(Struct, frozen=True, kw_only=True):
    """What the project looks like.

    `tree` is its files' fingerprint. `changed` are the paths that differ from the base, None where that could
    not be seen (`unseen` says why). `absent` are paths that the last message says were made and that are not
    there. `findings` are the changes to the checks themselves. `edits` are the changed files for a reader.
    """

    tree: str
    rubric: Rubric
    catalog: Catalog = Catalog()
    changed: tuple[str, ...] | None = None
    unseen: str = ""
    findings: tuple[Finding, ...] = ()
    absent: tuple[str, ...] = ()
    repository: Repository | None = None
    edits: tuple[Edit, ...] = ()


class GatesRan(Struct, frozen=True):
    """Outcomes, in the order in which the gates were asked for."""

    runs: tuple[GateRun, ...]


class Judged(Struct, frozen=True):
    """A valid verdict."""

    judgement: Judgement


class JudgeFailed(Struct, frozen=True):
    """No valid verdict could be had, and why, in one line. What was spent on it is as in Judgement."""

    reason: str
    tokens: int = 0
    cents: float | None = None
    backend: str = ""
    calls: int = 0


Fact = TurnRead | Surveyed | GatesRan | Judged | JudgeFailed
