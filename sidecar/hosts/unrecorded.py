"""Stops that nobody recorded: reported by a marker in a file, or by `supervisor run`.

A marker cannot show whether its writer received the last continuation. A stop after a continuation counts as
its arrival, whatever the marker says; otherwise the writer could go on for ever without using any budget (law
6). A run gives the continuation to its agent by itself, so it can say whether it arrived.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from sidecar.hosts.ports import NothingRecorded
from sidecar.hosts.shared import (
    MESSAGE_LIMIT,
    WORKER_MARKER,
    checked_project_folder,
    checked_session_id,
    clip_message,
)
from sidecar.kernel.decoding import UNREADABLE
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, Rest
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped, CommandTyped, PromptSubmitted, SessionEnded
from sidecar.kernel.events import AnyHostEvent as Event
from sidecar.kernel.orders import Order
from sidecar.kernel.runs import RUN_HOST, StopDecision
from sidecar.kernel.session import SessionKey, active_goal
from sidecar.kernel.text import repair_json, strip_control_codes, truncate_middle, truncate_middle_utf16
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from sidecar.platform.ports import remember_newest

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment
    from sidecar.platform.ports import SessionStore

T = TypeVar("T")


# --- Format 1 of markers and decisions, described in docs/markers.md ----------------------------------------
# A marker is written by the worker. It can only say that a stop happened and what the worker claims about it:
# no field can change a goal, a budget, a check or an environment, and a marker with an unknown field is
# refused.


VERSION: Final = 1
REQUEST_LIMIT: Final = 4_000
"""Characters of one request."""
REQUESTS_LIMIT: Final = 20
"""Requests that are kept: the first one and the newest."""
"""Characters of the last message, and of one text of a decision; the same as for other hosts."""


class UnfinishedMarkerError(BadInputError):
    """Not complete JSON: a marker that is still being written, or no marker at all."""


class StopMarker(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stop as the worker reports it.

    `requests` is what the user asked for, oldest first. `edited` and `ran`: files and commands of the turn.
    """

    version: Literal[1]
    session: str
    project: str
    last_message: str
    requests: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()


class MarkerDecision(StopDecision, frozen=True, kw_only=True):
    """The decision about a stop, in the format of a file."""

    version: Literal[1] = VERSION


def parse_marker(raw: bytes) -> StopMarker:
    """Parse a marker and cut its texts to their limits. Raises UnfinishedMarkerError and BadInputError."""
    try:
        marker = msgspec.json.decode(repair_json(raw), type=StopMarker)
    except msgspec.ValidationError as error:
        raise BadInputError(f"it is no marker of format {VERSION}: {error}") from error
    except msgspec.DecodeError as error:
        raise UnfinishedMarkerError(f"it is no whole JSON: {error}") from error
    requests = (*marker.requests[:1], *marker.requests[1:][1 - REQUESTS_LIMIT :])
    return StopMarker(
        version=VERSION,
        session=checked_session_id(marker.session),
        project=checked_project_folder(marker.project),
        last_message=clip_message(marker.last_message),
        requests=tuple(truncate_middle(strip_control_codes(each), REQUEST_LIMIT) for each in requests),
        edited=marker.edited[:1],
        ran=marker.ran[:1],
    )


# --- The turn that a marker stands for ----------------------------------------------------------------------
# Rules (law 2: what the worker writes about itself can lower a verdict, never raise it):
#
# - What the agent did is unknown: the turn is not `readable`, and the files and commands that the marker
#   claims are not tool calls. All of it together counts as one piece of unseen work.
# - Whether there was work at all is decided here. Each of these is enough: the files differ from those at the
#   session's last stop, whether they differ is unknown, or the marker claims work. Only a stop with none of
#   them is mere talk.
# - If a goal is set, its condition is what is judged: the user's requests in the marker are left out, because
#   a judge would believe them. The project is then the folder in which a person began the work: a stop that
#   names another folder is not judged, because the goal's checks would run where the worker chooses.


HOST: Final = "marker"
"""The host's name in session keys."""
CACHED_TREES: Final = 1000
"""Sessions whose last file tree is remembered."""
UNSEEN_WORK: Final = ToolCall(id=HOST, tool=HOST, doing=ToolAction.DELEGATE, outcome=CallOutcome.PENDING)
"""Stands for whatever an agent did that nobody recorded."""


class MarkerTranscript(Struct, frozen=True):
    """What a stop reported by a marker has instead of a transcript.

    `id` identifies the marker's file as it was found: the same file found again is the same stop. `arrived`,
    `tokens` and `waited`: see Turn; no marker can show them, but a run of agents, whose stops use the same
    form, can.
    """

    id: str
    requests: tuple[str, ...] = ()
    claims_work: bool = False
    arrived: tuple[str, ...] = ()
    tokens: int = 0
    waited: float = 0.0


class _Seen(Struct, frozen=True):
    """The last stop of a session that was read: its file tree, and whether there was work before it."""

    id: str
    tree: str
    worked: bool


class Files(Protocol):
    """The part of evidence.ports.Workspace that is needed here."""

    async def fingerprint(self, project: str, environment: Environment) -> str:
        """Return one digest of all content that is not ignored; "" where none can be computed."""


class MarkerTurns(NothingRecorded):
    """The part of hosts.ports.Transcripts that concerns markers."""

    def __init__(self, workspace: Files, store: SessionStore) -> None:
        self._workspace = workspace
        self._store = store
        self._seen: OrderedDict[SessionKey, _Seen] = OrderedDict()

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see hosts.ports.Transcripts."""
        told = msgspec.json.decode(stop.transcript, type=MarkerTranscript)
        position = max(counted_to, 0)
        session = self._store.load(stop.key)
        goal = session is not None and active_goal(session) is not None
        if session is not None and goal and not await _is_same_folder(session.project, stop.project):
            why = f"it names another folder than its goal has, which is {session.project}"
            return Turn(last_message_id=told.id, position=position, readable=False, unfinished=why)
        worked = await self._worked(stop, told)
        return Turn(
            prompts=() if goal else told.requests,
            calls=(UNSEEN_WORK,) if worked else (),
            calls_since_arrival=1 if worked else 0,
            last_message=stop.last_message,
            last_message_id=told.id,
            arrived=told.arrived,
            tokens=0 if session and session.judged == told.id else told.tokens,
            waited=told.waited,
            position=position,
            readable=False,
        )

    async def _worked(self, stop: AgentStopped, told: MarkerTranscript) -> bool:
        """Return whether there may have been work; the same stop read again gets the same answer."""
        before = self._seen.get(stop.key)
        if before is not None and before.id == told.id:
            return before.worked
        tree = await self._workspace.fingerprint(stop.cwd or stop.project, stop.environment)
        worked = told.claims_work or not tree or before is None or tree != before.tree
        remember_newest(self._seen, stop.key, _Seen(told.id, tree, worked), CACHED_TREES)
        return worked


async def _is_same_folder(project: str, other: str) -> bool:
    """Return whether two paths lead to the same folder."""
    return await asyncio.to_thread(lambda: os.path.realpath(project) == os.path.realpath(other))


# --- The codec for the inbox's events -----------------------------------------------------------------------
# Knows no session and no file: the inbox reads those.


class StopFound(Struct, frozen=True, tag_field="event", tag="stop"):
    """A marker was found; `id` identifies its file as it was found."""

    id: str
    marker: StopMarker


class WorkBegins(Struct, frozen=True, tag_field="event", tag="begin"):
    """A person starts an agent whose stops will be reported as markers."""

    session: str
    project: str


def _parse_event(raw: bytes, decoder: msgspec.json.Decoder[T], of: str) -> T:
    """Parse the JSON of an event. Raises BadInputError."""
    try:
        return decoder.decode(raw)
    except UNREADABLE as error:
        raise BadInputError(f"this is no event of {of}: {error}") from error


def _about(host: str, event: WorkBegins | StopMarker | RunEvent, environment: Environment) -> dict[str, Any]:
    """The fields that all events have. Raises BadInputError."""
    project = checked_project_folder(event.project)
    own = {name: value for name, value in environment.items() if name != WORKER_MARKER}
    key = SessionKey(host, checked_session_id(event.session))
    return {"key": key, "project": project, "environment": {**own, "PWD": project}}


class MarkerCodec:
    """Implements ports.HostCodec."""

    relayed = False

    def __init__(self, environment: Environment) -> None:
        """Take the environment in which the checks and judges of every marker run.

        A marker has no environment of its own.
        """
        self._environment = environment

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Event:  # noqa: ARG002 - see above
        """Decode an event of the inbox. Raises BadInputError."""
        event = _parse_event(raw, msgspec.json.Decoder(StopFound | WorkBegins), "the inbox")
        if isinstance(event, WorkBegins):
            return PromptSubmitted(**_about(HOST, event, self._environment), prompt_id="", human=True)
        marker = event.marker
        told = MarkerTranscript(event.id, marker.requests, claims_work=bool(marker.edited or marker.ran))
        return AgentStopped(
            **_about(HOST, marker, self._environment),
            transcript=msgspec.json.encode(told).decode(),
            last_message=marker.last_message,
            continued=True,
        )

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:  # noqa: ARG002 - one kind is answered
        """Encode the decision; the event that begins work expects none."""
        return encode_decision(answer, feedback)


def encode_decision(answer: HostAnswer, feedback: str) -> bytes:
    """Encode a MarkerDecision, with texts that UTF-8 can encode; names of files need not be."""
    cut = partial(truncate_middle_utf16, limit=MESSAGE_LIMIT)
    if isinstance(answer, Continue):
        if not feedback.strip():
            raise ValueError("a continuation without words")
        told = answer.feedback
        decision = MarkerDecision(
            decision="continue",
            reason=told.kind,
            detail=cut("; ".join(told.missing)),
            note=cut(answer.note),
            say=cut(feedback),
            continuation=told.id,
        )
    elif isinstance(answer, Rest):
        decision = MarkerDecision(
            decision="rest", reason=answer.reason.value, detail=cut(answer.detail), note=cut(answer.note)
        )
    else:
        return b"{}"
    return msgspec.json.encode(decision)


# --- The codec for the events of `supervisor run`, which starts the agents; it knows no agent ---------------


class RunEvent(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Fields common to all events of a run. `cwd`: where its agents work, "" for the project itself."""

    session: str
    project: str
    cwd: str = ""


class RunBegunEvent(RunEvent, frozen=True, kw_only=True, tag="begin"):
    """A person starts a run."""


class RunTypedEvent(RunEvent, frozen=True, kw_only=True, tag="typed"):
    """A person types one of our commands."""

    order: Order


class RunStoppedEvent(RunEvent, frozen=True, kw_only=True, tag="stop"):
    """An agent has ended.

    `id` identifies the stop. `arrived` is the continuation that the agent was given, "" for none, `tokens`
    what it spent, `waited` the seconds in which it was not at work because its service was limited.
    """

    id: str
    said: str
    arrived: str = ""
    tokens: int = 0
    waited: float = 0.0


class RunEndedEvent(RunEvent, frozen=True, kw_only=True, tag="end"):
    """The run is over or was interrupted."""

    why: str


_RunEvents = RunBegunEvent | RunTypedEvent | RunStoppedEvent | RunEndedEvent
_RUN_EVENTS: Final[msgspec.json.Decoder[_RunEvents]] = msgspec.json.Decoder(_RunEvents)


class RunCodec:
    """Implements ports.HostCodec."""

    relayed = False

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Event:  # noqa: ARG002 - a run starts no forks
        """Decode an event of a run. Raises BadInputError."""
        event = _parse_event(raw, _RUN_EVENTS, "a run")
        about = _about(RUN_HOST, event, environment)
        if event.cwd:
            about["cwd"] = checked_project_folder(event.cwd)
        match event:
            case RunBegunEvent():
                return PromptSubmitted(**about, prompt_id="", human=True)
            case RunTypedEvent():
                return CommandTyped(**about, order=event.order, prompt_id="", origin="supervisor run")
            case RunEndedEvent():
                return SessionEnded(**about, reason=event.why)
            case RunStoppedEvent():
                arrived = (event.arrived,) if event.arrived else ()
                told = MarkerTranscript(event.id, arrived=arrived, tokens=event.tokens, waited=event.waited)
                return AgentStopped(
                    **about,
                    transcript=msgspec.json.encode(told).decode(),
                    last_message=clip_message(event.said),
                    continued=bool(arrived),
                )

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:  # noqa: ARG002 - as above
        """Encode a decision as for a marker, and a command's reply as it is."""
        return (
            msgspec.json.encode(answer)
            if isinstance(answer, CommandReply)
            else encode_decision(answer, feedback)
        )
