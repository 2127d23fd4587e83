"""A clone is upgraded while its sidecar runs, with real processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE
from sidecar.platform.client import SidecarClient
from sidecar.platform.installation import code_root
from sidecar.platform.paths import Paths
from sidecar.platform.rpc import HelloAnswer
from support.scene import GOAL, SUPERVISOR, Stage

pytestmark = pytest.mark.proves("crashes and bad input")


def run_older_code(stage: Stage, folder: Path) -> None:
    """Let hooks start a clone of other code and of the same version from now on."""
    shutil.copytree(
        Path(code_root(), "sidecar"), folder / "sidecar", ignore=shutil.ignore_patterns("__pycache__")
    )
    for part in ("rubric", "hooks", ".claude-plugin"):
        packaged = Path(code_root(), "sidecar", "_plugin", part)
        shutil.copytree(packaged if packaged.exists() else Path(code_root(), part), folder / part)
    (folder / "sidecar" / "older.py").touch()
    stage.run_by(f'PYTHONPATH="{folder}" exec "{SUPERVISOR}" "$@"')


def greeted(stage: Stage) -> HelloAnswer:
    """Ask who runs, without making it leave."""
    state = stage.sessions.parent
    hello = SidecarClient(Paths(state, state), starts=False).greet()
    assert hello is not None
    return hello


async def test_a_command_of_newer_code_replaces_the_older_sidecar_and_knows_the_session(
    stage: Stage, tmp_path: Path
) -> None:
    run_older_code(stage, tmp_path / "clone")
    agent = await stage.agent_with_goal()
    agent.say("All tests pass. Done.")
    assert "sent back 1/16" in (await agent.stop()).system_message
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Repaired.")
    assert "goal achieved" in (await agent.stop()).system_message  # at rest: what is typed now is no agent's
    older = greeted(stage)
    assert "continuations 1/16" in stage.report().text
    newer = greeted(stage)
    assert (newer.version, newer.pid != older.pid, newer.code != older.code) == (older.version, True, True)
    assert "goal set" in (await agent.prompt(GOAL)).system_message
    assert greeted(stage).pid == newer.pid
