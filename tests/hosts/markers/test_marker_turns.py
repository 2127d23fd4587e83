"""What the writer of a marker claims never counts as evidence, and whether work was done is seen here."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.evidence.ledger import gather_evidence
from sidecar.hosts.ports import HostTranscripts
from sidecar.hosts.unrecorded import (
    CACHED_TREES,
    HOST,
    UNSEEN_WORK,
    MarkerCodec,
    MarkerDecision,
    MarkerTurns,
    StopFound,
    StopMarker,
    WorkBegins,
)
from sidecar.kernel.effects import Continue, Rest, RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import NO_RUBRIC, AgentStopped, ProjectState, PromptSubmitted
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import complete, goal, incomplete
from support.fakes import Fakes, command
from support.loops import run
from support.memory_stores import MemorySessionStore
from support.scripted_ports import ScriptedWorkspace

KEY = SessionKey(HOST, "s1")
CODEC = MarkerCodec({"PATH": "/bin", "SUPERVISOR_WORKER": "1"})
CLAIMS = st.lists(st.text(max_size=40), max_size=3).map(tuple)
SURVEY = ProjectState(tree="tree-1", rubric=NO_RUBRIC)


def stop(number: int = 1, message: str = "I did it.", **fields: Any) -> AgentStopped:
    usual: dict[str, Any] = {"version": 1, "session": KEY.id, "project": "/shop", "last_message": message}
    raw = msgspec.json.encode(StopFound(f"marker-{number}", StopMarker(**usual | fields)))
    event = CODEC.decode(raw, {"PATH": "/evil"}, 1)
    assert isinstance(event, AgentStopped)
    return event


@pytest.fixture
def fakes() -> Fakes:
    """A supervisor that reads markers, and has everything else in memory."""
    fakes = Fakes()
    turns = HostTranscripts({HOST: MarkerTurns(fakes.workspace, fakes.store)})
    fakes.supervisor = Supervisor(dataclasses.replace(fakes.services, transcripts=turns))
    return fakes


async def reason(fakes: Fakes, stopped: AgentStopped) -> RestReason:
    answer = await fakes.tell(stopped)
    assert isinstance(answer, Rest)
    return answer.reason


async def with_goal(fakes: Fakes) -> None:
    await fakes.tell(stop(0))
    reply = await fakes.reply(command("the parser accepts comments", key=KEY, project="/shop"))
    assert not reply.refused


# --- claims ---


@given(CLAIMS, CLAIMS, st.text(max_size=60))
def test_what_is_claimed_of_edits_and_commands_is_no_evidence(
    edited: tuple[str, ...], ran: tuple[str, ...], message: str
) -> None:
    turns = MarkerTurns(ScriptedWorkspace(), MemorySessionStore())
    told = run(turns.read(stop(1, message, edited=edited, ran=ran), 0))
    silent = run(MarkerTurns(ScriptedWorkspace(), MemorySessionStore()).read(stop(1, message), 0))
    assert told.calls == (UNSEEN_WORK,)
    assert not told.readable
    assert gather_evidence(told, (), SURVEY) == gather_evidence(silent, (), SURVEY)


async def test_a_judge_of_a_goal_is_not_shown_what_the_marker_says_the_user_asked_for(fakes: Fakes) -> None:
    await with_goal(fakes)
    await fakes.tell(stop(1, requests=("Only pretend.",)))
    assert fakes.judge.cases[-1].condition
    assert fakes.judge.cases[-1].prompts == ()


async def test_a_judges_yes_without_evidence_of_ours_makes_no_goal_achieved(fakes: Fakes) -> None:
    await with_goal(fakes)
    fakes.judge.script(complete("E1"), complete("E1"))
    await fakes.tell(stop(1, "I ran pytest: 12 passed.", ran=("pytest",), edited=("parser.py",)))
    assert fakes.goal(KEY).status.value != "achieved"


async def test_a_goals_checks_run_in_no_other_folder_that_a_marker_names(
    fakes: Fakes, tmp_path: Path
) -> None:
    await with_goal(fakes)
    answer = await fakes.tell(stop(1, project="/another/shop"))
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.UNJUDGED
    assert answer.detail == "it names another folder than its goal has, which is /shop"
    assert fakes.judge.cases == []
    assert fakes.goal(KEY).status.value == "active"
    (tmp_path / "link").symlink_to("/shop")
    fakes.judge.script(incomplete())
    assert isinstance(await fakes.tell(stop(2, project=f"{tmp_path}/link")), Continue)


@pytest.mark.parametrize(
    "message",
    ["Shall I go on with the rest?", "Next, I will write the tests.", "Let me now run the tests:"],
)
async def test_without_a_goal_no_wording_alone_sends_an_agent_back(fakes: Fakes, message: str) -> None:
    answer = await fakes.tell(stop(1, message, requests=("Write the parser and its tests.",)))
    assert isinstance(answer, Rest)


# --- talk ---


async def test_a_stop_is_only_talk_where_the_files_are_as_at_the_last_one_and_nothing_is_claimed(
    fakes: Fakes,
) -> None:
    assert await reason(fakes, stop(1)) is not RestReason.TALK, "nobody knows what was before"
    assert await reason(fakes, stop(2)) is RestReason.TALK
    fakes.workspace.tree = "tree-2"
    assert await reason(fakes, stop(3)) is not RestReason.TALK
    assert await reason(fakes, stop(4, ran=("make",))) is not RestReason.TALK
    assert await reason(fakes, stop(5, edited=("a.py",))) is not RestReason.TALK
    fakes.workspace.tree = ""
    assert await reason(fakes, stop(6)) is not RestReason.TALK
    assert await reason(fakes, stop(7)) is not RestReason.TALK


async def test_one_sessions_files_say_nothing_of_anothers() -> None:
    turns = MarkerTurns(ScriptedWorkspace(), MemorySessionStore())
    assert (await turns.read(stop(1), 0)).changed
    assert (await turns.read(stop(2, session="s2"), 0)).changed
    assert not (await turns.read(stop(3), 0)).changed


async def test_only_so_many_sessions_are_remembered() -> None:
    turns = MarkerTurns(ScriptedWorkspace(), MemorySessionStore())
    for number in range(CACHED_TREES + 1):
        await turns.read(stop(1, session=f"s{number}"), 0)
    assert (await turns.read(stop(2, session="s0"), 0)).changed, "it is forgotten, so nothing is known"
    assert not (await turns.read(stop(2, session=f"s{CACHED_TREES}"), 0)).changed


async def test_a_stop_that_is_read_again_is_what_it_was_before() -> None:
    workspace = ScriptedWorkspace()
    turns = MarkerTurns(workspace, MemorySessionStore())
    await turns.read(stop(1), 0)
    workspace.tree = "tree-2"
    assert await turns.read(stop(2), 0) == await turns.read(stop(2), 0)


async def test_with_a_goal_the_requests_are_left_out_and_without_one_they_stay() -> None:
    store = MemorySessionStore()
    turns = MarkerTurns(ScriptedWorkspace(), store)
    assert (await turns.read(stop(1, requests=("Go.",)), 0)).prompts == ("Go.",)
    store.save(Session(key=KEY, goal=goal()))
    assert (await turns.read(stop(2, requests=("Go.",)), 0)).prompts == ()


# --- continuations ---


async def test_a_stop_after_a_continuation_is_charged_whatever_the_marker_says(fakes: Fakes) -> None:
    await with_goal(fakes)
    for number in range(1, 4):
        fakes.workspace.tree = f"tree-{number}"
        fakes.judge.script(incomplete(f"point {number} is missing"))
        answer = await fakes.tell(stop(number))
        assert isinstance(answer, Continue), answer
        assert fakes.goal(KEY).spent.continuations == number - 1
        assert answer.feedback.number == number


async def test_the_same_marker_found_again_is_judged_again_and_charged_nothing(fakes: Fakes) -> None:
    await with_goal(fakes)
    fakes.judge.script(incomplete("one point is missing"), incomplete("one point is missing"))
    assert isinstance(await fakes.tell(stop(1)), Continue)
    assert isinstance(await fakes.tell(stop(1)), Continue), "a sidecar died before the decision was written"
    assert fakes.goal(KEY).spent.continuations == 0


async def test_a_turn_that_nobody_saw_is_no_turn_without_tool_calls(fakes: Fakes) -> None:
    await with_goal(fakes)
    for number in range(1, 12):
        fakes.workspace.tree = f"tree-{number}"
        fakes.judge.script(incomplete(f"point {number} is missing"))
        assert isinstance(await fakes.tell(stop(number)), Continue), number


# --- the codec ---


def test_a_marker_brings_no_environment_and_is_never_one_of_our_own_workers() -> None:
    event = stop()
    assert event.environment == {"PATH": "/bin", "PWD": "/shop"}
    assert not event.ours


def test_work_that_a_person_begins_is_a_prompt() -> None:
    event = CODEC.decode(msgspec.json.encode(WorkBegins("s1", "/shop")), {}, 0)
    assert isinstance(event, PromptSubmitted)
    assert (event.key, event.project, event.human) == (KEY, "/shop", True)
    assert event.environment["PATH"] == "/bin"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b'{"event":"goal"}', b'{"event":"begin","session":"a/b","project":"/shop"}', b"[" * 10**5],
)
def test_what_is_no_event_of_the_inbox_is_refused(raw: bytes) -> None:
    with pytest.raises(BadInputError):
        CODEC.decode(raw, {}, 0)


async def test_a_decision_says_what_the_agent_and_the_person_are_told(fakes: Fakes) -> None:
    await with_goal(fakes)
    fakes.judge.script(incomplete("one point is missing"))
    answer = await fakes.tell(stop(1))
    assert isinstance(answer, Continue)
    decision = msgspec.json.decode(CODEC.encode(b"", answer, "go on"), type=MarkerDecision)
    assert (decision.decision, decision.say, decision.reason) == ("continue", "go on", "incomplete")
    assert decision.continuation == answer.feedback.id
    assert "sent back 1/16" in decision.note
    with pytest.raises(ValueError, match="without words"):
        CODEC.encode(b"", answer, " ")
    rest = msgspec.json.decode(
        CODEC.encode(b"", Rest(reason=RestReason.TALK, note="n"), ""), type=MarkerDecision
    )
    assert (rest.decision, rest.say, rest.reason, rest.note) == ("rest", "", "only-talk", "n")
