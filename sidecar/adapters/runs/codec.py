"""Between a run and our words. Knows no agent: `supervisor run` starts those.

A run's stop is like a marker's: nobody recorded what the agent did. But the run itself, and not the agent,
tells of it, so it can say whether a continuation arrived: the next agent got it in its prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sidecar.adapters.host_words import WORKER_MARKER, project_folder, session_id
from sidecar.adapters.markers.codec import MarkerCodec
from sidecar.adapters.markers.turns import Told
from sidecar.adapters.text import middle_out, plain
from sidecar.model.effects import HostAnswer, Reply
from sidecar.model.events import CommandTyped, PromptSubmitted, SessionEnded, Stopped
from sidecar.model.events import Told as Event
from sidecar.model.iterations import HOST
from sidecar.model.session import SessionKey
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from sidecar.ports import Environment

SAID_LIMIT = 20_000
"""Characters of an agent's last message."""


class RunEvent(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Common to all that a run tells."""

    session: str
    project: str


class Begins(RunEvent, frozen=True, kw_only=True, tag="begin"):
    """A person sets an agent to work."""


class Types(RunEvent, frozen=True, kw_only=True, tag="typed"):
    """A person types a command of ours."""

    name: str
    arguments: str


class Stops(RunEvent, frozen=True, kw_only=True, tag="stop"):
    """An agent has ended. `id` is the stop's; `arrived`: the continuation that it was given, "" for none."""

    id: str
    said: str
    arrived: str = ""


class Ends(RunEvent, frozen=True, kw_only=True, tag="end"):
    """The run is over, or interrupted."""

    why: str


class RunCodec:
    """Implements ports.HostCodec."""

    def __init__(self) -> None:
        self._decisions = MarkerCodec({})

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Event:  # noqa: ARG002 - a run starts no forks
        """Read what a run tells. Raises BadInputError."""
        event = _read(raw)
        key, project = SessionKey(HOST, session_id(event.session)), project_folder(event.project)
        given = {name: value for name, value in environment.items() if name != WORKER_MARKER}
        given["PWD"] = project
        match event:
            case Begins():
                return PromptSubmitted(key=key, project=project, environment=given, prompt_id="", human=True)
            case Types():
                return CommandTyped(
                    key=key,
                    project=project,
                    environment=given,
                    name=event.name,
                    arguments=event.arguments,
                    prompt_id="",
                )
            case Ends():
                return SessionEnded(key=key, project=project, environment=given, reason=event.why)
            case Stops():
                arrived = (event.arrived,) if event.arrived else ()
                told = Told(event.id, arrived=arrived)
                return Stopped(
                    key=key,
                    project=project,
                    environment=given,
                    transcript=msgspec.json.encode(told).decode(),
                    last_message=middle_out(plain(event.said), SAID_LIMIT),
                    continued=bool(arrived),
                )

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Word a decision as a marker's is, and a reply as it is."""
        if isinstance(answer, Reply):
            return msgspec.json.encode(answer)
        return self._decisions.encode(raw, answer, feedback)


def _read(raw: bytes) -> Begins | Types | Stops | Ends:
    """Raises BadInputError."""
    try:
        return msgspec.json.decode(raw, type=Begins | Types | Stops | Ends)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"this is no event of a run: {error}") from error
