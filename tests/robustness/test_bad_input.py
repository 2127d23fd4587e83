"""Bad input at every door: a clear error or a safe rest, never a traceback and never an exit code 2."""

from __future__ import annotations

import json

import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE, HookAnswer
from support.scene import GOAL, SUPERVISOR, Stage

pytestmark = pytest.mark.proves("crashes and bad input")

EVENTS = ("UserPromptSubmit", "Stop", "SessionEnd")
"""One that is answered in words, one that is judged, one that nobody waits for."""
HOSTILE = ("../../x", "a\x00b", "x" * 10_000)
"""What would leave the folder, end a string, or be no name of a file."""


def _safe(told: HookAnswer) -> None:
    assert told.exit_code == 0
    assert "Traceback" not in told.output
    assert told.output == "" or isinstance(json.loads(told.output), dict)
    assert not told.feedback


PAYLOADS = {
    "empty": b"",
    "torn": b"{",
    "a list": b"[]",
    "null": b"null",
    "no UTF-8": b"\xff\xfe",
    "a wrong type": b'{"session_id":5}',
    "fields missing": b'{"hook_event_name":"Stop"}',
    "too much": b"{}}",
    "a request": b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}',
    "5 MB": b"0" * 5_000_000,
}


@pytest.mark.parametrize("event", EVENTS)
async def test_events_that_make_no_sense_are_survived_and_the_sidecar_still_works(
    stage: Stage, event: str
) -> None:
    agent = stage.agent()
    await agent.start()
    for payload in PAYLOADS.values():
        _safe(await agent.hook_raw(event, payload))
    assert "goal set" in (await agent.prompt(GOAL)).system_message


@pytest.mark.parametrize("session", HOSTILE, ids=lambda text: repr(text)[:20])
async def test_a_hostile_session_id_writes_nothing_and_a_goal_for_it_is_refused(
    stage: Stage, session: str
) -> None:
    agent = stage.agent("ordinary")
    agent.session = session
    told = await agent.prompt(GOAL)
    assert told.decision == "block"
    _safe(await agent.hook("Stop", stop_hook_active=False, last_assistant_message="Done."))
    found = [
        path for path in stage.scene.home.parent.rglob("*") if path.is_file() and "sessions" in path.parts
    ]
    assert found == []


async def test_a_transcript_that_vanished_is_judged_by_checks_alone(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    agent.say("Done.")
    agent.transcript.unlink()
    assert (await agent.stop()).feedback
    agent.transcript.unlink()
    (stage.scene.project / "shop.py").write_text(REPAIRED_SOURCE, encoding="utf-8")
    assert "goal achieved" in (await agent.stop()).system_message


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: text[: len(text) // 2], "corrupt"),
        (lambda text: text.replace('"version":1', '"version":99'), "future-version"),
        (lambda text: text.replace("all tests pass", "nothing at all"), "edited"),
        (lambda _: "", "corrupt"),
    ],
    ids=["half", "of a future version", "edited by hand", "emptied"],
)
@pytest.mark.parametrize(
    "lives", [pytest.param(True, marks=pytest.mark.long), False], ids=["beside a sidecar", "without one"]
)
async def test_a_damaged_state_is_set_aside_with_its_reason_and_the_session_goes_on(
    stage: Stage, damage: object, why: str, *, lives: bool
) -> None:
    """A sidecar that lives restores what it wrote; a new one goes on without a goal. Both tell."""
    assert callable(damage)
    agent = await stage.agent_with_goal()
    (state,) = stage.sessions.glob("*.json")
    if not lives:
        stage.end_sidecar()
    state.write_text(damage(state.read_text(encoding="utf-8")), encoding="utf-8")
    agent.say("Done.")
    told = await agent.stop()
    assert "the state of this session: " in told.system_message
    if not lives:
        _safe(told)
    assert ("a check of this project fails" in told.feedback) is lives
    assert any(why in reason for reason in stage.report().set_aside)
    assert "goal set" in (await agent.prompt(GOAL)).system_message


async def test_a_full_disk_refuses_a_goal_and_lets_the_agent_rest(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    stage.run_by(f'ulimit -f 1\nexec "{SUPERVISOR}" "$@"')
    for path in stage.sessions.glob("*.json"):
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    agent.say("Done.")
    told = await agent.stop()
    _safe(told)
    assert "could not be saved" in told.system_message
    refused = await agent.prompt(f"/supervisor:goal {'x' * 3000}")
    assert refused.decision == "block"
    assert "could not be saved" in refused.reason
