"""An agent that works in a linked worktree, as by Claude Code's EnterWorktree: the stop's `cwd` says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sidecar.cli.demo_agent import BROKEN_SOURCE, REPAIRED_SOURCE
from support.scene import GOAL, Stage

COMMIT = "git -c user.name=A -c user.email=a@example.invalid commit -qam {}"


def worktree(stage: Stage) -> Path:
    """Make one where the host does."""
    folder = stage.scene.project / ".claude" / "worktrees" / "feat"
    line = ["git", "worktree", "add", "-q", str(folder), "-b", "feat"]
    subprocess.run(line, cwd=stage.scene.project, env=dict(stage.scene.environment), check=True, timeout=60)
    return folder


@pytest.mark.parametrize("repaired", [True, False], ids=["repaired there", "broken there"])
async def test_the_worktree_in_which_the_agent_works_is_judged(stage: Stage, repaired: bool) -> None:  # noqa: FBT001 - a column
    agent = stage.agent()
    await agent.start()
    if not repaired:  # the main checkout is green, and what is committed in the worktree is not
        agent.edit("shop.py", REPAIRED_SOURCE)
        await agent.run(COMMIT.format("Repair"))
    assert "goal set" in (await agent.prompt(GOAL)).system_message
    place = worktree(stage)
    agent.edit(str(place / "shop.py"), REPAIRED_SOURCE if repaired else BROKEN_SOURCE)
    await agent.run(f"cd {place} && {COMMIT.format('Feature')}")
    agent.say("Done. All tests pass.")
    told = await agent.stop(cwd=str(place))
    status = stage.report()
    assert (status.status == "achieved") is repaired, (told, status.text)
    if repaired:
        assert f"looked at: {place}" in told.system_message
    else:
        assert "test_a_tenth_is_taken_off" in told.feedback
