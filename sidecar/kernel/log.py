"""The events of the one log: a Struct per kind. A new kind is one more Struct in the union `EventData`.

Texts in an event are masked before it is appended.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from sidecar.kernel.journal import JournalSummary, Note, Task
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.kernel.stop_history import RecordedStop
from sidecar.kernel.text import encode_json

MAX_DETAIL: Final = 16_000
"""Maximum characters of an event's detail."""


class StopJudged(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="stop-judged"):
    """A stop was decided. `decided` is "continue" or a RestReason, `detail` says why.

    The other fields are what was found out on the way and what it cost. `gate_seconds` is how long each of
    `gates` took, 0 for one that was answered from memory. `flaky` names those that failed and passed on the
    same files when they were run again. `stages`: each with the second of the stop at which it ended.
    `trace`: the `traceparent` that the host handed on, "" for none.
    """

    decided: str
    detail: str = ""
    continuation: str = ""
    stage: str = ""
    tree: str = ""
    gates: tuple[str, ...] = ()
    gate_seconds: tuple[float, ...] = ()
    flaky: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    rule: str = ""
    confidence: float | None = None
    judge: str = ""
    judge_tokens: int = 0
    judge_cents: float | None = None
    seconds: float = 0.0
    stages: tuple[tuple[str, float], ...] = ()
    trace: str = ""


class OrderGiven(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="order-given"):
    """A command was typed in a host or a shell. `decided` is "done", "permitted" or "refused"."""

    name: str
    decided: str
    detail: str = ""


class SessionNoted(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session-noted"):
    """A host reported something that ended a turn or a session."""

    what: str
    decided: str = "noted"
    detail: str = ""


class WorkEnded(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="work-ended"):
    """No agent of this user works any more. `since`: when the first of them went to work."""

    since: float


class JudgingPaid(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="judging-paid"):
    """Judging was paid for. `cents` is None where a call had no known price."""

    tokens: int
    cents: float | None
    calls: int


class WorkerRan(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="worker-ran"):
    """A worker ended, and what it cost. `failure` says how it failed, "" if it gave an answer.

    `meanwhile`: files that changed in the project of which it had a copy, where the system does not keep a
    worker from writing there.
    """

    backend: str
    model: str
    tokens: int
    cents: float | None
    calls: int
    seconds: float
    failure: str = ""
    meanwhile: tuple[str, ...] = ()


class SkillEnded(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="skill-ended"):
    """A skill ended; see systems.tdd.workbench.SkillResult."""

    skill: str
    status: str
    attempts: int
    phase: str = ""
    verified: bool = False
    files: tuple[str, ...] = ()
    message: str = ""
    tokens: int = 0
    cents: float | None = None


class JournalChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="journal-changed"):
    """A journal changed: tasks, notes and summaries that are new or other than before, ids that are gone."""

    tasks: tuple[Task, ...] = ()
    notes: tuple[Note, ...] = ()
    summaries: tuple[JournalSummary, ...] = ()
    removed: tuple[str, ...] = ()
    complete: bool = False


class RunIterationBegan(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="run-iteration-begun"):
    """An agent of a run was started. `number` counts the session's iterations, `iteration` its goal's.

    `task` is the id of its task, "" for none.
    """

    number: int
    iteration: int
    most: int
    prompt: str
    task: str = ""


class RunIterationEnded(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="run-iteration-ended"):
    """An agent of a run has ended and was judged. `number`: as when it began.

    `output` is the beginning and the end of what it printed, `moved` are tasks and their new status.
    `decided` is "continue", a RestReason, or how the run ended before the stop was judged. The others are as
    in AgentResult.
    """

    number: int
    decided: str
    detail: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    trouble: str = ""
    tokens: int = 0
    cents: float | None = None
    output: str = ""
    moved: tuple[str, ...] = ()


class RunTold(Struct, frozen=True, kw_only=True, tag="run-told"):
    """What a run told of its beginning, its end or what it met: an event of work/progress.py as JSON."""

    told: Raw


RunHistoryEvent = RunIterationBegan | RunIterationEnded


class LoopSessionChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="loop-session"):
    """A loop session began, ended or was paused."""

    status: str
    command: str = ""
    reason: str = ""


class LoopTaskBegun(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="loop-task"):
    """A task was given to an agent."""

    task: str
    agent: str
    tier: str
    model: str
    complexity: int
    iteration: int = 0


class LoopReportRuled(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="loop-report"):
    """A report of completion was answered. `gates` are "id: verdict", `files` those that changed."""

    task: str
    action: str
    verdict: str
    reason: str
    iteration: int
    tier: str
    agent: str = ""
    gates: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    standing: str = ""
    missing: tuple[str, ...] = ()
    stuck: str = ""
    summary: str = ""


class LoopEscalated(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="loop-escalated"):
    """A stronger model, or the council, takes over."""

    task: str
    from_tier: str
    to_tier: str
    reason: str


class LoopCouncil(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="loop-council"):
    """A member of the council was heard, or it decided. `winner` is "" until then."""

    task: str
    member: str = ""
    confidence: int = 0
    winner: str = ""
    fix: str = ""


class LoopCheckpointed(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="loop-checkpoint"):
    """A checkpoint was saved or restored. `kept` is the one that holds what the restore replaced."""

    checkpoint: str
    done: str
    description: str = ""
    tree: bool = False
    kept: str = ""


class AuditEntry(Struct, frozen=True, kw_only=True, tag="governed"):
    """One thing that was done under a lock, as an event of the log.

    `tool` is "phase_NAME", "lock" or "answer". `input` and `output` are JSON with secrets masked.
    `agent` did the work: "worker MODEL", "caller", "person" or "supervisor". `subject` names the
    change that it is about. `number` counts all entries from 1; `previous` and `digest` chain them.
    """

    number: int = 0
    previous: str = ""
    tool: str
    lock: str
    mode: Mode
    iteration: int = 0
    agent: str = ""
    input: Raw = Raw(b"null")
    output: Raw = Raw(b"null")
    result: str = ""
    error: str = ""
    duration_ms: int = 0
    subject: str = ""
    digest: str = ""


class TeamLink(Struct, frozen=True, kw_only=True, tag="team-link"):
    """Whether the team's database answers: `state` is "reached" or "away", `detail` says more to people."""

    state: str
    detail: str


class StopKept(Struct, frozen=True, kw_only=True, tag="stop-kept"):
    """A judged stop with all that policy knew."""

    stop: RecordedStop


class UnreadableEvent(Struct, frozen=True, kw_only=True, tag="unreadable"):
    """Stands for an event that cannot be decoded: damaged, or of another version. It is never appended."""

    kind: str
    why: str


EventData = (
    StopJudged
    | OrderGiven
    | SessionNoted
    | WorkEnded
    | JudgingPaid
    | WorkerRan
    | SkillEnded
    | JournalChanged
    | RunIterationBegan
    | RunIterationEnded
    | ServiceLimit
    | RunTold
    | LoopSessionChanged
    | LoopTaskBegun
    | LoopReportRuled
    | LoopEscalated
    | LoopCouncil
    | LoopCheckpointed
    | AuditEntry
    | TeamLink
    | StopKept
    | UnreadableEvent
)


class LoggedEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event. `position` orders all events of a log; 0 before it is appended.

    `at` is seconds since the epoch, `session` None where it belongs to none, `system` the one that appended
    it. `origin` says by which processes an order came that was not typed in the host.
    """

    at: float
    system: str
    data: EventData
    position: int = 0
    session: SessionKey | None = None
    project: str = ""
    origin: str = ""

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.data.kind if isinstance(self.data, UnreadableEvent) else event_kind(type(self.data))


class EventFilter(Struct, frozen=True, kw_only=True):
    """Selects events: those that fit every field that is given. `since` and `before` bound their times."""

    session: SessionKey | None = None
    project: str = ""
    kinds: tuple[str, ...] = ()
    since: float | None = None
    before: float | None = None


def event_kind(data: type[Struct]) -> str:
    """Return the name of a kind of events."""
    return str(data.__struct_config__.tag)


AUDIT_KIND: Final = event_kind(AuditEntry)
"""The kind of events that nothing removes but an order that names it."""


def encode_event_data(data: EventData) -> bytes:
    """Encode it as JSON; a lone surrogate, as in a path that is not UTF-8, is replaced."""
    return encode_json(data)


# --- Decisions: of stops, and in the same form of tasks, loops, skills, phases and runs ---------------------


_DECISIONS: Final[tuple[type[Struct], ...]] = (
    *(StopJudged, RunIterationEnded, LoopSessionChanged),
    *(LoopReportRuled, SkillEnded, AuditEntry),
)
DECISION_KINDS: Final = tuple(event_kind(kind) for kind in _DECISIONS)


def find_decision(data: EventData) -> tuple[str, StopJudged] | None:
    """Return what was decided about ("" for a stop) and how, None where an event decides nothing.

    An iteration of a run ends in a stop; it is named where that was not judged.
    """
    what, ruled = "", data
    match data:
        case RunIterationEnded() if data.trouble:
            what = f"run iteration {data.number}"
            ruled = StopJudged(decided=data.decided or "failed", detail=data.trouble, seconds=data.seconds)
        case LoopSessionChanged():
            what, ruled = "loop", StopJudged(decided=data.status, detail=data.reason)
        case LoopReportRuled():
            found = (*data.weakened, *(f"{file} is outside of the task" for file in data.outside))
            what = f"task {data.task}"
            ruled = StopJudged(decided=data.action, detail=data.reason, gates=data.gates, findings=found)
        case SkillEnded():
            what, ruled = f"tdd {data.skill}", StopJudged(decided=data.status, detail=data.message)
        case AuditEntry():
            what = data.tool.replace("_", " ")
            ruled = StopJudged(decided=data.result or "failed", detail=data.error or data.subject)
        case _:
            pass
    return (what, ruled) if isinstance(ruled, StopJudged) else None


# --- The record: what a person is told of a session's events ------------------------------------------------


RECORD_KINDS: Final = (*DECISION_KINDS, event_kind(OrderGiven), event_kind(SessionNoted))


class RecordEntry(StopJudged, frozen=True, kw_only=True, omit_defaults=True, tag=False):
    """One line of a session's record: what was decided at one stop or command, and why.

    `event` is "stop", what else was decided about, "command NAME" or what a host reported. The other fields
    are those of the event.
    """

    at: float
    event: str
    origin: str = ""


def record_entries(events: tuple[LoggedEvent, ...]) -> tuple[RecordEntry, ...]:
    """Return the line of every event that has one."""
    return tuple(entry for event in events if (entry := _record_entry(event)))


def _record_entry(event: LoggedEvent) -> RecordEntry | None:
    if found := find_decision(event.data):
        what, decided = found
        fields = msgspec.structs.asdict(decided)
        return RecordEntry(at=event.at, event=what or "stop", origin=event.origin, **fields)
    match data := event.data:
        case OrderGiven():
            name = f"command {data.name}"
        case SessionNoted():
            name = data.what
        case _:
            return None
    return RecordEntry(at=event.at, event=name, decided=data.decided, detail=data.detail, origin=event.origin)
