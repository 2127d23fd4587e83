"""Why the last stop ended as it did: for every way in which one can end."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from servers.tools.core_room import settled
from servers.tools.desk import CONDITION, Desk, real_words
from sidecar.kernel.effects import RestReason
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.systems.supervision.policy.decision_story import Next
from support.cases import (
    KEY,
    PROJECT,
    PYTEST,
    goal,
    incomplete,
    ran,
    session,
    stopped,
    talk,
    turn,
)
from support.fakes import ENVIRONMENT, command
from support.scripted_gates import FAILED

SECRET = "hunter2-and-more"


def use(desk: Desk, settings: Settings) -> None:
    desk.fakes.configuration._settings = settings  # noqa: SLF001 - a user who edits the file


async def test_of_a_session_that_never_stopped_it_says_what_will_happen(desk: Desk) -> None:
    found = await desk.data("explain")
    assert (found["stop"], found["goal"], found["next_stop"]) == (None, CONDITION, "goal")
    text = await desk.text("explain")
    assert text.startswith("No stop of this session")
    assert f'judged by the goal "{CONDITION}"' in text
    assert "16 of 16 continuations are left" in text


async def test_sent_back_by_the_judge_it_names_the_points_their_criteria_and_the_next_step(
    desk: Desk,
) -> None:
    desk.fakes.judge.script(incomplete("comments are refused"))
    await desk.fakes.sent_back()
    await settled(desk.fakes.supervisor)
    desk.fakes.clock.advance(30)
    found = await desk.data("explain")
    stop = found["stop"]
    assert (stop["decided"], stop["stage"], stop["judge"]) == (CONTINUE_DECISION, "judge", "scripted")
    assert stop["missing"] == [{"text": "comments are refused", "criterion": "left-work"}]
    assert stop["next_step"] == "Accept them."
    state = desk.fakes.state()
    assert state.pending is not None
    assert found["pending"] == state.pending.id
    text = await desk.text("explain")
    assert "30 seconds ago, was sent back (decided at: judge)" in text
    assert "- missing (left-work): comments are refused" in text
    assert "What would satisfy it: Accept them." in text
    assert f"It was said as {state.pending.id} and has not been seen to arrive" in text


async def test_sent_back_by_a_gate_it_names_what_fails(desk: Desk) -> None:
    desk.fakes.catalog.gates = (PYTEST,)
    desk.fakes.gates.script("pytest -q", FAILED)
    await desk.fakes.reply(command("all tests pass"))
    await desk.fakes.sent_back(environment=ENVIRONMENT)
    await settled(desk.fakes.supervisor)
    text = await desk.text("explain")
    assert "- missing: test_a: it failed" in text
    assert "- checks that Supervisor ran: tests: failed" in text


async def test_a_claim_that_the_evidence_contradicts_is_quoted(desk: Desk) -> None:
    desk.fakes.transcripts.script(turn(ran("pytest", 1), message="All tests pass."))
    await desk.fakes.sent_back()
    await settled(desk.fakes.supervisor)
    (claim,) = (await desk.data("explain"))["stop"]["contradicted"]
    assert claim.startswith("\u201cAll tests pass.\u201d: ")
    assert f"- you said, and the evidence contradicts: {claim}" in await desk.text("explain")


async def test_without_kept_stops_the_record_is_told(desk: Desk) -> None:
    use(desk, Settings(keep_stops=False))
    desk.fakes.transcripts.script(turn(ran("pytest", 1), message="All tests pass."))
    answer = await desk.fakes.sent_back()
    await settled(desk.fakes.supervisor)
    stop = (await desk.data("explain"))["stop"]
    assert stop["missing"] == [{"text": "; ".join(answer.feedback.missing), "criterion": ""}]
    assert stop["contradicted"] == ["tests-pass: contradicted"]


# --- every way to end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decided", [CONTINUE_DECISION, *RestReason])
async def test_every_way_to_end_has_its_words(desk: Desk, decided: str) -> None:
    desk.fakes.record.append(
        KEY, RecordEntry(at=0.0, event="stop", decided=decided, detail="because", stage="rules")
    )
    text = await desk.text("explain")
    if decided != RestReason.SUBAGENT:  # such a stop is no stop of this session's agent
        seconds = str(int(desk.fakes.clock.now()))
        said = real_words().say(f"explain-{decided}", seconds=seconds, why="because", stage="rules")
        assert text.startswith(said)
    assert "$" not in text


async def test_a_skipped_stop_is_explained_and_that_of_a_helper_is_passed_over(desk: Desk) -> None:
    desk.fakes.store.put(session())
    desk.fakes.transcripts.script(talk())
    await desk.fakes.rest()
    await desk.fakes.rest(subagent=True)
    found = await desk.data("explain")
    assert (found["stop"]["decided"], found["stop"]["stage"]) == (RestReason.TALK, "skip rules")
    assert "nothing was changed and nothing ran" in await desk.text("explain")


@pytest.mark.parametrize(
    ("fields", "settings", "off", "coming"),
    [
        ({"goal": goal()}, Settings(), False, Next.GOAL),
        ({"goal": goal()}, Settings(), True, Next.OFF),
        ({"goal": goal(status=GoalStatus.PAUSED)}, Settings(), False, Next.PAUSED),
        ({"goal": goal()}, Settings(mode="shadow"), False, Next.SHADOW),
        ({"goal": goal(status=GoalStatus.ACHIEVED), "unasked": 2}, Settings(), False, Next.FREE),
        ({}, Settings(), False, Next.FREE),
    ],
)
async def test_it_says_what_becomes_of_the_next_stop(
    desk: Desk, fields: dict[str, Any], settings: Settings, coming: Next, *, off: bool
) -> None:
    use(desk, settings)
    desk.fakes.store.put(session(**fields))
    desk.fakes.switches.turn(on=not off, project=PROJECT)
    assert (await desk.data("explain"))["next_stop"] == coming
    assert real_words().say(f"explain-next-{coming}").split("$")[0].splitlines()[0] in await desk.text(
        "explain"
    )


async def test_it_says_what_is_left(desk: Desk) -> None:
    desk.fakes.judge.script(incomplete("comments are refused"), incomplete("no test has one"))
    desk.fakes.transcripts.script(turn(last_message_id="m1", tokens=70), turn(last_message_id="m2"))
    answer = await desk.fakes.sent_back()
    assert (await desk.data("explain"))["left"] == {
        "continuations": 0, "continuations_of": 16, "tokens": 70, "tokens_of": 400_000, "seconds": 0,
        "seconds_of": 1800,
    }  # fmt: skip
    desk.fakes.transcripts.arrived.append(answer.feedback.id)
    await desk.fakes.sent_back(continued=True)
    assert (await desk.data("explain"))["left"]["continuations"] == 1
    assert "15 of 16 continuations are left" in await desk.text("explain")


async def test_no_secret_of_the_session_is_in_what_these_tools_answer(desk: Desk) -> None:
    environment = ENVIRONMENT | {"DEPLOY_TOKEN": SECRET}
    desk.fakes.store.put(session(goal=goal(f"log in with {SECRET}")))
    await desk.fakes.tell(stopped(environment=environment, subagent=True))
    entry = RecordEntry(at=0.0, event="stop", decided="continue", detail=SECRET)
    desk.fakes.record.append(KEY, entry)
    desk.fakes.catalog.gates = (replace(PYTEST, approved=True),)
    desk.fakes.catalog.problems = (SECRET,)
    desk.fakes.gates.script(PYTEST.command, replace(FAILED, failures=(SECRET,), reason=SECRET))
    for tool in ("explain", "evidence", "gates", "gates_run"):
        assert SECRET not in str(await desk.data(tool)) + await desk.text(tool), tool
