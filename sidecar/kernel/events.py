"""Events of a session: what hosts report, and the results of effects that policy requested."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from sidecar.kernel.evidence import FileDiff, IntegrityFinding, Judgement, RepositoryState
from sidecar.kernel.gate import AvailableGates, CheckComparison, CheckTrial, GateRun
from sidecar.kernel.orders import Order
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn


class SessionOrigin(StrEnum):
    """Why the host announced a session."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"


class HostEvent(Struct, frozen=True, kw_only=True):
    """Common fields of all host events.

    `project` is the session's folder, `cwd` the one in which the agent works now, "" where the host does not
    say. `host_pid` is the host's process id, 0 where unknown; it tells a forked
    session from an unrelated one. `environment` is the session's own, for gates and judges; it is only held
    in memory. `subagent`: the event comes from a helper of the agent. `ours`: it comes from a judge or worker
    that Supervisor started. `speaker` is the process that speaks as the host, as the system says, 0
    where unknown. `during_call`: a tool call of the agent ran when it came, which may have made it up.
    """

    key: SessionKey
    project: str
    cwd: str = ""
    host_pid: int = 0
    speaker: int = 0
    during_call: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    subagent: bool = False
    ours: bool = False


class SessionStarted(HostEvent, frozen=True, kw_only=True):
    """The host opened, resumed, cleared or compacted a session. `headless`: nobody sees what it shows."""

    origin: SessionOrigin
    headless: bool = False


class PromptSubmitted(HostEvent, frozen=True, kw_only=True):
    """A prompt was submitted. `human` is false for the host's own notices about background work.

    `read_only`: whether the agent may change nothing in this turn, None where the host does not say.
    `continuation` is the id of our own continuation, where the host sends that as a prompt.
    """

    prompt_id: str
    human: bool
    continuation: str = ""
    transcript: str = ""
    read_only: bool | None = None


class CommandTyped(HostEvent, frozen=True, kw_only=True):
    """The user typed a Supervisor command, whose order was parsed by the host's codec.

    `prompt_id` makes it idempotent, because hosts report one typed command twice; "" where the host names
    none: then each counts. `origin` says by which processes it came, where it was not typed in the host.
    `expanded`: the host took it for a command, as it does with what a person types; a prompt that the agent
    scheduled comes without.
    """

    order: Order
    prompt_id: str
    origin: str = ""
    expanded: bool = True
    transcript: str = ""


class BackgroundActivity(Struct, frozen=True):
    """Work that runs in the background."""

    id: str
    description: str


class AgentStopped(HostEvent, frozen=True, kw_only=True):
    """The agent ended its turn and waits.

    `continued`: the host says that this stop follows a continuation. `headless`: the host exits after this
    stop and kills background work. `read_only`: plan mode. `capped`: the host lets the agent rest after some
    continuations in a row, also if tools were called. `transcript` is the path that the host names,
    which may not exist; for a stop delivered as a marker file it is the record itself.
    """

    transcript: str
    prompt_id: str = ""
    last_message: str = ""
    background: tuple[BackgroundActivity, ...] = ()
    continued: bool = False
    headless: bool = False
    read_only: bool = False
    capped: bool = False


class TurnFailed(HostEvent, frozen=True, kw_only=True):
    """The turn ended in an error of the host or its model (limit, refusal), or the person interrupted it."""

    error: str


class ToolCalled(HostEvent, frozen=True, kw_only=True):
    """The agent is about to call a tool that may be ours.

    `tool` is our name for it. `certain`: the host says that the tool belongs to our plugin, and not to
    another server that uses its name. `read_only`: whether the agent may change nothing now, None where the
    host does not say.
    """

    tool: str
    certain: bool
    read_only: bool | None = None


class FileSaved(HostEvent, frozen=True, kw_only=True):
    """The host saw a change to one of the files that we asked it to watch."""


class SessionEnded(HostEvent, frozen=True, kw_only=True):
    """The host closed the session. Hosts do not always report this."""

    reason: str


class SessionDeleted(HostEvent, frozen=True, kw_only=True):
    """The user deleted the session, so it cannot be resumed."""


AnyHostEvent = (
    SessionStarted
    | PromptSubmitted
    | CommandTyped
    | AgentStopped
    | ToolCalled
    | FileSaved
    | TurnFailed
    | SessionEnded
    | SessionDeleted
)


NO_RUBRIC = Rubric(patterns=(), antipatterns=(), origin="")
"""The rubric before any was read."""


class TurnRead(Struct, frozen=True, tag="turn"):
    """The recorded turn, and the seconds of work in it, None for unknown."""

    turn: Turn
    worked: float | None = None


class ProjectState(Struct, frozen=True, kw_only=True, tag="project-state"):
    """The state of a project.

    `tree` is the fingerprint of its files. `changed` are the paths that differ from the baseline, None where
    that is unknown (`unseen` says why). `since_prompt`: the baseline is that of the last prompt, not of a
    goal that was set earlier. `checks_changed`: one of them may bear on a check.
    `dependencies_changed`: one of them names another version of a dependency. Of the paths that the last
    message names in a claim, `absent` do not exist, `present` do, and `unchanged` are followed by git and as
    they were at the baseline. `findings` are the changes to the checks themselves. `edits` are the changed
    files as diffs. `code` are the changed files that hold code of the product, which a check ought to open;
    `untouched` is what the goal names and no changed line, name or file has, and what a new function takes
    and never reads.
    `place` is the folder that was looked at, "" for the session's own; `elsewhere` says why that decides
    nothing, else "".
    """

    tree: str
    rubric: Rubric
    catalog: AvailableGates = AvailableGates()
    changed: tuple[str, ...] | None = None
    since_prompt: bool = False
    checks_changed: bool = False
    dependencies_changed: bool = False
    unseen: str = ""
    findings: tuple[IntegrityFinding, ...] = ()
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    repository: RepositoryState | None = None
    edits: tuple[FileDiff, ...] = ()
    code: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()
    place: str = ""
    elsewhere: str = ""


class GatesRan(Struct, frozen=True, tag="gates"):
    """Gate results, in the order in which they were requested."""

    runs: tuple[GateRun, ...]


class OldChecksRan(Struct, frozen=True, tag="old-checks"):
    """What the checks say as they were, where files that bear on them changed."""

    comparisons: tuple[CheckComparison, ...]


class ChecksTried(Struct, frozen=True, tag="checks-tried"):
    """Whether the gates that passed could have failed."""

    trials: tuple[CheckTrial, ...]


class JudgeAnswered(Struct, frozen=True, tag="judged"):
    """A valid verdict."""

    judgement: Judgement


class JudgeFailed(Struct, frozen=True, tag="judge-failed"):
    """No valid verdict was obtained; `reason` says why in one line. The costs are as in Judgement."""

    reason: str
    tokens: int = 0
    cents: float | None = None
    backend: str = ""
    calls: int = 0


Fact = TurnRead | ProjectState | GatesRan | OldChecksRan | ChecksTried | JudgeAnswered | JudgeFailed
