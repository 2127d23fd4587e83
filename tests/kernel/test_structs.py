"""The nouns cannot be changed behind anybody's back, and what is saved can be read again."""

from __future__ import annotations

import msgspec

from sidecar.kernel import (
    effects,
    events,
    evidence,
    gate,
    goal,
    rubric,
    session,
    settings,
    turn,
)
from sidecar.kernel.decoding import read_json
from sidecar.kernel.effects import RestReason
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.session import Continuation, ProgressSnapshot, Session
from sidecar.systems.supervision.policy.continuations import GOAL_ENDINGS
from support.cases import KEY
from support.table import over_table

MODULES = (effects, events, evidence, gate, goal, rubric, session, settings, turn)
STRUCTS = {
    kind.__name__: kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct
}


@over_table("name", sorted(STRUCTS))
def test_every_struct_is_frozen(name: str) -> None:
    assert STRUCTS[name].__struct_config__.frozen


WHOLE = Session(
    key=KEY,
    project="/p",
    goal=Goal(
        id="g1",
        condition="all tests pass",
        checks=("make",),
        status=GoalStatus.STALLED,
        max_seconds=5,
        max_tokens=6,
        spent=GoalSpending(continuations=1, tokens=2, seconds=3.5, judge_tokens=4, judge_cents=0.5),
        lifetime=7,
        asked_to_run=("tests",),
    ),
    retry=5,
    pending=Continuation(id="abc123", said_at=1.0, for_goal=True),
    movement=ProgressSnapshot(tree="t", failing=("tests",), todos=("x",), missing=("y",)),
    waited_for=("b1",),
    active_since=2.0,
)


def test_a_session_survives_being_written_and_read() -> None:
    assert msgspec.json.decode(msgspec.json.encode(WHOLE), type=Session) == WHOLE


def test_an_older_state_without_newer_fields_can_be_read() -> None:
    raw = b'{"key":{"host":"claude-code","id":"s1"},"goal":{"id":"g1","condition":"x"}}'
    assert msgspec.json.decode(raw, type=Session) == Session(key=KEY, goal=Goal(id="g1", condition="x"))


def test_every_ending_has_a_reason_of_the_same_name() -> None:
    assert {status.value: reason.value for status, (reason, _) in GOAL_ENDINGS.items()} == {
        status.value: status.value for status in GOAL_ENDINGS
    }
    assert len(set(RestReason)) == len(RestReason.__members__)


@over_table("text", ["", "no JSON", b"\xff", '"\ud800"', "[" * 100_000, "[1]", '{"spent": {"tokens": "1"}}'])
def test_what_is_no_json_of_a_type_reads_as_nothing(text: bytes | str) -> None:
    assert read_json(text, Goal) is None
