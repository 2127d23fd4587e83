"""kill -9 of the sidecar at each step of a stop: nothing is charged twice or lost, and no file is torn."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE, ScriptedAgent
from support import mortal_sidecar
from support.scene import Stage

pytestmark = pytest.mark.proves("crashes and bad input")

FAILING = "test_a_tenth_is_taken_off"


async def _mortal(stage: Stage, agent: ScriptedAgent, step: str, deaths: int) -> None:
    """Let a sidecar run that dies at `step` so many times, and so do those that hooks start after it."""
    lives = stage.runtime.with_name("lives")
    lives.write_text("\n".join("x" * deaths), encoding="utf-8")
    stage.run_by(f'exec {shlex.join([sys.executable, mortal_sidecar.__file__, step, str(lives)])} "$@"')
    await agent.start("compact")


def steps(*usual: str) -> list[object]:
    """All steps at which it can die; those that are not usual are played before a release."""
    return [
        step if step in usual else pytest.param(step, marks=pytest.mark.long)
        for step in sorted(mortal_sidecar.STEPS)
    ]


def _all_files_are_whole(stage: Stage) -> None:
    for path in stage.sessions.glob("*.json"):
        assert json.loads(path.read_bytes())["session"]
    assert [path.name for path in stage.sessions.iterdir() if path.suffix in {".why", ".tmp"}] == []


@pytest.mark.parametrize("step", steps("after saving, before answering"))
async def test_a_sidecar_killed_once_is_asked_again_and_nothing_is_charged_twice(
    stage: Stage, step: str
) -> None:
    agent = await stage.agent_with_goal()
    await _mortal(stage, agent, step, deaths=1)
    agent.say("All tests pass. Done.")
    assert FAILING in (await agent.stop()).feedback
    _all_files_are_whole(stage)
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Repaired.")
    assert "goal achieved" in (await agent.stop()).system_message
    report = stage.report()
    assert report.status == "achieved"
    assert "continuations 1/16" in report.text
    assert not stage.runtime.with_name("lives").read_text(encoding="utf-8"), "it never died"


@pytest.mark.parametrize("step", steps("before saving"))
async def test_a_sidecar_killed_at_every_try_lets_the_agent_rest_and_the_next_stop_works(
    stage: Stage, step: str
) -> None:
    agent = await stage.agent_with_goal()
    await _mortal(stage, agent, step, deaths=2)
    agent.say("All tests pass. Done.")
    told = await agent.stop()
    assert (told.feedback, told.exit_code) == ("", 0)
    assert "supervisor doctor" in told.system_message
    _all_files_are_whole(stage)
    agent.say("I say it again: all tests pass.")
    assert FAILING in (await agent.stop()).feedback
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Repaired.")
    await agent.stop()
    report = stage.report()
    assert report.status == "achieved"
    assert "continuations 1/16" in report.text


async def test_a_continuation_that_the_host_never_read_is_given_back(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    agent.say("All tests pass. Done.")
    lost = await agent.hook("Stop", stop_hook_active=False, last_assistant_message="All tests pass. Done.")
    assert lost.feedback
    assert "one more on its way" in stage.report().text
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Repaired.")
    await agent.stop()
    assert "continuations 0/16" in stage.report().text
