"""Between markers and our words. Knows no session and no file: the inbox reads those.

A marker cannot show whether its writer got the last continuation. A stop after one counts as its arrival,
whatever the marker says: else its writer could go on for ever at no cost to the budget (law 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sidecar.adapters.host_words import WORKER_MARKER, project_folder, session_id
from sidecar.adapters.markers.form import Decision, Marker
from sidecar.adapters.markers.turns import HOST, Told
from sidecar.adapters.text import middle_out_utf16
from sidecar.model.effects import Continue, HostAnswer, Rest
from sidecar.model.events import PromptSubmitted, Stopped
from sidecar.model.events import Told as Event
from sidecar.model.session import SessionKey
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from sidecar.ports import Environment

__all__ = ["HOST", "MarkerCodec", "StopFound", "WorkBegins"]

SAID_LIMIT = 20_000
"""UTF-16 code units of one text of a decision."""


class StopFound(Struct, frozen=True, tag_field="event", tag="stop"):
    """A marker was found; `id` names its file as it was."""

    id: str
    marker: Marker


class WorkBegins(Struct, frozen=True, tag_field="event", tag="begin"):
    """A person sets an agent to work whose stops will be markers."""

    session: str
    project: str


class MarkerCodec:
    """Implements ports.HostCodec."""

    def __init__(self, environment: Environment) -> None:
        """`environment`: what gates and judges of every marker run with; a marker has none of its own."""
        self._environment = {name: value for name, value in environment.items() if name != WORKER_MARKER}

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Event:  # noqa: ARG002 - see above
        """Read what the inbox tells. Raises BadInputError."""
        try:
            event = msgspec.json.decode(raw, type=StopFound | WorkBegins)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadInputError(f"this is no event of the inbox: {error}") from error
        return self._begun(event) if isinstance(event, WorkBegins) else self._stopped(event)

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:  # noqa: ARG002 - one kind is answered
        """Word the decision; whoever begins work waits for none."""
        match answer:
            case Continue():
                return msgspec.json.encode(_sent_back(answer, feedback))
            case Rest():
                return msgspec.json.encode(_rested(answer))
            case _:
                return b"{}"

    def _begun(self, event: WorkBegins) -> Event:
        key, project = SessionKey(HOST, session_id(event.session)), project_folder(event.project)
        return PromptSubmitted(
            key=key, project=project, environment=self._in(project), prompt_id="", human=True
        )

    def _stopped(self, event: StopFound) -> Event:
        marker = event.marker
        project = project_folder(marker.project)
        told = Told(event.id, marker.requests, claims_work=bool(marker.edited or marker.ran))
        return Stopped(
            key=SessionKey(HOST, session_id(marker.session)),
            project=project,
            environment=self._in(project),
            transcript=msgspec.json.encode(told).decode(),
            last_message=marker.last_message,
            continued=True,
        )

    def _in(self, project: str) -> Environment:
        return {**self._environment, "PWD": project}


def _sent_back(answer: Continue, feedback: str) -> Decision:
    if not feedback.strip():
        raise ValueError("a continuation without words")
    told = answer.feedback
    return Decision(
        decision="continue",
        reason=told.kind,
        detail=_said("; ".join(told.missing)),
        note=_said(answer.note),
        say=_said(feedback),
        continuation=told.id,
    )


def _rested(answer: Rest) -> Decision:
    detail, note = _said(answer.detail), _said(answer.note)
    return Decision(decision="rest", reason=answer.reason.value, detail=detail, note=note)


def _said(text: str) -> str:
    """A text that UTF-8 can hold: names of files may not be any."""
    return middle_out_utf16(text, SAID_LIMIT)
