"""What deciding costs by itself: the pure core on a stop that rules decide, against parsing the event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

import msgspec
from measure import Figure, Report, in_turn, rounds

from sidecar.kernel.effects import Continue, Effect, Inquiry, ReadProjectState, ReadTurn, Rest
from sidecar.kernel.events import AgentStopped, Fact, ProjectState, TurnRead
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry

ROUNDS: Final = 200
BATCH: Final = 200
"""Repetitions of one measurement: a single one is shorter than the clock is good for."""
LONG_BATCH: Final = 10
"""The same, of the long turn, which takes milliseconds."""
KEY: Final = SessionKey("claude-code", "4d8f5b7b-2033-4ade-a407-251a5cfea125")
SAID: Final = "It reads comments as text. " * 20
MANY: Final = 400
"""Tool calls of a long turn: as many as are kept."""


def measured(*, quick: bool) -> Report:
    """A turn of talk, a turn with edits and tests that ran, and json.loads."""
    event = _event()
    talk = Turn(prompts=("What is it?",), last_message=SAID, last_message_id="m1")
    work = Turn(
        prompts=("Do it.",),
        calls=tuple(_call(number) for number in range(MANY)),
        last_message=f"{SAID} It is in place.",
        last_message_id="m1",
        calls_since_arrival=MANY,
    )
    talked, worked, parsed = in_turn(
        rounds(ROUNDS, quick=quick),
        _batch(_decide(talk), BATCH),
        _batch(_decide(work), LONG_BATCH),
        _batch(lambda: json.loads(event), BATCH),
    )
    against = f"json.loads of the event, {len(event):,} bytes"
    return Report(
        (
            Figure(name="only talk -> rest", ours=talked, against=against, peer=parsed, unit="us"),
            Figure(name=f"{MANY} tool calls -> rest", ours=worked, against=against, peer=parsed, unit="us"),
        )
    )


def _decide(turn: Turn) -> Callable[[], object]:
    stop = AgentStopped(
        key=KEY, project="/home/user/project", transcript="/t.jsonl", last_message=turn.last_message
    )
    inquiry = Inquiry(session=Session(key=KEY), stop=stop, settings=Settings())
    told: dict[type[Effect], Fact] = {
        ReadTurn: TurnRead(turn),
        ReadProjectState: ProjectState(
            tree="1" * 40, rubric=Rubric(patterns=(), antipatterns=(), origin="default")
        ),
    }

    def decide() -> object:
        looking, order = begin_inquiry(inquiry)
        while not isinstance(order, Continue | Rest):
            looking, order = advance_inquiry(looking, told[type(order)], 0.0)
        if not isinstance(order, Rest):
            raise TypeError(order)
        return order

    return decide


def _batch(work: Callable[[], object], times: int) -> Callable[[], float]:
    """The microseconds of one, from many in a row."""

    def job() -> float:
        begun = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - begun) / times * 1e6

    return job


def _call(number: int) -> ToolCall:
    doing, command = (ToolAction.RUN, "python -m pytest -q") if number % 2 else (ToolAction.EDIT, "")
    return ToolCall(
        id=f"t{number}", tool="Tool", doing=doing, outcome=CallOutcome.OK, command=command, exit_code=0
    )


def _event() -> bytes:
    """A stop as Claude Code tells of it."""
    return msgspec.json.encode(
        {
            "session_id": KEY.id,
            "transcript_path": f"/home/user/.claude/projects/-home-user-project/{KEY.id}.jsonl",
            "cwd": "/home/user/project",
            "prompt_id": "12ea0a32-f729-4e64-927c-da3293c7dd42",
            "permission_mode": "default",
            "effort": {"level": "high"},
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": SAID,
            "background_tasks": [],
            "session_crons": [],
        }
    )
