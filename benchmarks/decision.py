"""What deciding costs by itself: the pure core on a stop that rules decide, against parsing the event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

import msgspec
from measure import Figure, Report, in_turn, rounds

from sidecar.model.effects import Continue, Effect, ReadTurn, Rest, Survey
from sidecar.model.events import Fact, Stopped, Surveyed, TurnRead
from sidecar.model.inquiry import Inquiry
from sidecar.model.rubric import Rubric
from sidecar.model.session import Session, SessionKey
from sidecar.model.settings import Settings
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.stop import begin, step

ROUNDS: Final = 200
BATCH: Final = 200
"""Repetitions of one measurement: a single one is shorter than the clock is good for."""
KEY: Final = SessionKey("claude-code", "4d8f5b7b-2033-4ade-a407-251a5cfea125")
SAID: Final = "It reads comments as text. " * 20
MANY: Final = 400
"""Tool calls of a long turn: as many as are kept."""


def measured(*, quick: bool) -> Report:
    """A turn of talk, a turn with tests that ran, and json.loads."""
    event = _event()
    talk = Turn(prompts=("What is it?",), last_message=SAID, last_message_id="m1")
    work = Turn(
        prompts=("Do it.",),
        calls=tuple(_call(number) for number in range(MANY)),
        last_message=f"{SAID} All tests pass.",
        last_message_id="m1",
        calls_since_arrival=MANY,
    )
    talked, worked, parsed = in_turn(
        rounds(ROUNDS, quick=quick),
        _batch(_decide(talk)),
        _batch(_decide(work)),
        _batch(lambda: json.loads(event)),
    )
    against = f"json.loads of the event, {len(event):,} bytes"
    return Report(
        (
            Figure(name="only talk -> rest", ours=talked, against=against, peer=parsed, unit="us"),
            Figure(name=f"{MANY} tool calls -> rest", ours=worked, against=against, peer=parsed, unit="us"),
        )
    )


def _decide(turn: Turn) -> Callable[[], object]:
    stop = Stopped(
        key=KEY, project="/home/user/project", transcript="/t.jsonl", last_message=turn.last_message
    )
    inquiry = Inquiry(session=Session(key=KEY), stop=stop, settings=Settings())
    told: dict[type[Effect], Fact] = {
        ReadTurn: TurnRead(turn),
        Survey: Surveyed(tree="1" * 40, rubric=Rubric(patterns=(), antipatterns=(), origin="default")),
    }

    def decide() -> object:
        looking, order = begin(inquiry)
        while not isinstance(order, Continue | Rest):
            looking, order = step(looking, told[type(order)], 0.0)
        if not isinstance(order, Rest):
            raise TypeError(order)
        return order

    return decide


def _batch(work: Callable[[], object]) -> Callable[[], float]:
    """The microseconds of one, from many in a row."""

    def job() -> float:
        begun = time.perf_counter()
        for _ in range(BATCH):
            work()
        return (time.perf_counter() - begun) / BATCH * 1e6

    return job


def _call(number: int) -> ToolCall:
    doing, command = (Doing.RUN, "python -m pytest -q") if number % 2 else (Doing.EDIT, "")
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
