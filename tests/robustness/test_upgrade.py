"""A clone is upgraded while its sidecar runs, with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE
from support.older_code import greeted, older_supervisor
from support.scene import GOAL, Stage

pytestmark = pytest.mark.proves("crashes and bad input")


async def test_a_command_of_newer_code_replaces_the_older_sidecar_and_knows_the_session(
    stage: Stage, tmp_path: Path
) -> None:
    stage.run_by(f'exec "{older_supervisor(tmp_path / "clone")}" "$@"')
    state = stage.sessions.parent
    agent = await stage.agent_with_goal()
    agent.say("All tests pass. Done.")
    assert "sent back 1/16" in (await agent.stop()).system_message
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Repaired.")
    assert "goal achieved" in (await agent.stop()).system_message  # at rest: what is typed now is no agent's
    older = greeted(state)
    assert "continuations 1/16" in stage.report().text
    newer = greeted(state)
    assert (newer.version, newer.pid != older.pid, newer.code != older.code) == (older.version, True, True)
    assert "goal set" in (await agent.prompt(GOAL)).system_message
    assert greeted(state).pid == newer.pid
