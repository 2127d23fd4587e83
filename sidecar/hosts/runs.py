"""The codec for the events of `supervisor run`, which starts the agents; this file knows no agent.

As with a marker's stop, nobody recorded what the agent did. But a run's stop is reported by the run and not
by the agent, so it can say whether a continuation arrived: the next agent got it in its prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sidecar.hosts.markers.codec import MarkerCodec, MarkerTranscript
from sidecar.hosts.names import WORKER_MARKER, checked_project_folder, checked_session_id
from sidecar.kernel.effects import CommandReply, HostAnswer
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped, CommandTyped, PromptSubmitted, SessionEnded
from sidecar.kernel.events import AnyHostEvent as Event
from sidecar.kernel.orders import Order
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import strip_control_codes, truncate_middle

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


SAID_LIMIT = 20_000
"""Characters kept of an agent's last message."""


class RunEvent(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Fields common to all events of a run."""

    session: str
    project: str


class RunBegunEvent(RunEvent, frozen=True, kw_only=True, tag="begin"):
    """A person starts a run."""


class RunTypedEvent(RunEvent, frozen=True, kw_only=True, tag="typed"):
    """A person types one of our commands."""

    order: Order


class RunStoppedEvent(RunEvent, frozen=True, kw_only=True, tag="stop"):
    """An agent has ended.

    `id` identifies the stop. `arrived` is the continuation that the agent was given, "" for none.
    """

    id: str
    said: str
    arrived: str = ""


class RunEndedEvent(RunEvent, frozen=True, kw_only=True, tag="end"):
    """The run is over or was interrupted."""

    why: str


class RunCodec:
    """Implements ports.HostCodec."""

    relayed = False

    def __init__(self) -> None:
        self._decisions = MarkerCodec({})

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Event:  # noqa: ARG002 - a run starts no forks
        """Decode an event of a run. Raises BadInputError."""
        event = _parse_run_event(raw)
        key, project = (
            SessionKey(RUN_HOST, checked_session_id(event.session)),
            checked_project_folder(event.project),
        )
        given = {name: value for name, value in environment.items() if name != WORKER_MARKER}
        given["PWD"] = project
        match event:
            case RunBegunEvent():
                return PromptSubmitted(key=key, project=project, environment=given, prompt_id="", human=True)
            case RunTypedEvent():
                return CommandTyped(
                    key=key,
                    project=project,
                    environment=given,
                    order=event.order,
                    prompt_id="",
                )
            case RunEndedEvent():
                return SessionEnded(key=key, project=project, environment=given, reason=event.why)
            case RunStoppedEvent():
                arrived = (event.arrived,) if event.arrived else ()
                told = MarkerTranscript(event.id, arrived=arrived)
                return AgentStopped(
                    key=key,
                    project=project,
                    environment=given,
                    transcript=msgspec.json.encode(told).decode(),
                    last_message=truncate_middle(strip_control_codes(event.said), SAID_LIMIT),
                    continued=bool(arrived),
                )

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Encode a decision as for a marker, and a command's reply as it is."""
        if isinstance(answer, CommandReply):
            return msgspec.json.encode(answer)
        return self._decisions.encode(raw, answer, feedback)


def _parse_run_event(raw: bytes) -> RunBegunEvent | RunTypedEvent | RunStoppedEvent | RunEndedEvent:
    """Parse the JSON of an event. Raises BadInputError."""
    try:
        return msgspec.json.decode(raw, type=RunBegunEvent | RunTypedEvent | RunStoppedEvent | RunEndedEvent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"this is no event of a run: {error}") from error
