"""What a run tells the sidecar, and what it is answered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.hosts.shared import MESSAGE_LIMIT
from sidecar.hosts.unrecorded import (
    MarkerTurns,
    RunBegunEvent,
    RunCodec,
    RunEndedEvent,
    RunEvent,
    RunStoppedEvent,
    RunTypedEvent,
)
from sidecar.kernel.effects import CommandReply, Continue, Feedback, NoReply, Rest, RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped, CommandTyped, PromptSubmitted, SessionEnded
from sidecar.kernel.orders import parse_order
from sidecar.kernel.runs import StopDecision
from sidecar.kernel.session import SessionKey
from support.memory_stores import MemorySessionStore
from support.scripted_ports import ScriptedWorkspace
from support.table import over_table

CODEC = RunCodec()
ENVIRONMENT = {"PATH": "/bin", "SUPERVISOR_WORKER": "1"}


def decoded(event: RunEvent) -> object:
    return CODEC.decode(msgspec.json.encode(event), ENVIRONMENT, 4711)


def test_events_of_a_run_are_those_of_a_host() -> None:
    about: Any = {"session": "demo", "project": "/shop/"}
    kinds = [
        decoded(RunBegunEvent(**about)),
        decoded(RunTypedEvent(**about, order=parse_order("goal", "all tests pass"))),
        decoded(RunStoppedEvent(**about, id="demo-1", said="Done.")),
        decoded(RunEndedEvent(**about, why="interrupted")),
    ]
    assert [type(kind) for kind in kinds] == [PromptSubmitted, CommandTyped, AgentStopped, SessionEnded]
    for kind in kinds:
        assert isinstance(kind, PromptSubmitted | CommandTyped | AgentStopped | SessionEnded)
        assert (kind.key, kind.project, kind.host_pid) == (SessionKey("run", "demo"), "/shop", 0)
        assert dict(kind.environment) == {"PATH": "/bin", "PWD": "/shop"}
    assert [kind.origin for kind in kinds if isinstance(kind, CommandTyped)] == ["supervisor run"]


@pytest.mark.parametrize("arrived", ["", "abc123"])
async def test_a_stop_says_which_continuation_its_agent_was_given(arrived: str) -> None:
    stop = decoded(
        RunStoppedEvent(session="demo", project="/shop", id="demo-1", said="Done.", arrived=arrived)
    )
    assert isinstance(stop, AgentStopped)
    turn = await MarkerTurns(ScriptedWorkspace(), MemorySessionStore()).read(stop, 0)
    assert stop.continued == bool(arrived)
    assert turn.arrived == ((arrived,) if arrived else ())
    assert (turn.last_message, turn.last_message_id, turn.readable) == ("Done.", "demo-1", False)


@given(st.text(max_size=50).map(lambda text: text * 1000))
def test_what_an_agent_said_is_bounded(said: str) -> None:
    stop = decoded(RunStoppedEvent(session="demo", project="/shop", id="demo-1", said=said))
    assert isinstance(stop, AgentStopped)
    assert len(stop.last_message) <= MESSAGE_LIMIT


@over_table(
    "raw",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"event":"stop","session":"demo","project":"/shop"}',
        b'{"event":"begin","session":"../x","project":"/shop"}',
        b'{"event":"begin","session":"demo","project":"shop"}',
        b'{"event":"goal","session":"demo","project":"/shop"}',
        b'{"event":"begin","session":"demo","project":"/\xff"}',
    ],
)
def test_what_is_no_event_of_a_run_is_refused(raw: bytes) -> None:
    with pytest.raises(BadInputError):
        CODEC.decode(raw, ENVIRONMENT, 0)


def test_answers_are_a_ruling_or_the_reply_as_it_is() -> None:
    feedback = Feedback(kind="incomplete", id="abc123", number=1, budget=3, missing=("a point",))
    went_on = CODEC.encode(b"", Continue(feedback=feedback, note="n"), "[supervisor abc123] Go on.")
    assert msgspec.json.decode(went_on, type=StopDecision) == StopDecision(
        decision="continue",
        reason="incomplete",
        detail="a point",
        note="n",
        say="[supervisor abc123] Go on.",
        continuation="abc123",
    )
    rested = CODEC.encode(b"", Rest(reason=RestReason.STALLED, detail="why"), "")
    assert msgspec.json.decode(rested, type=StopDecision) == StopDecision(
        decision="rest", reason="stalled", detail="why"
    )
    reply = CommandReply(headline="goal set", work=True)
    assert msgspec.json.decode(CODEC.encode(b"", reply, ""), type=CommandReply) == reply
    assert CODEC.encode(b"", NoReply(), "") == b"{}"
