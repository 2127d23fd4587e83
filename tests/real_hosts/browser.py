"""The local page in a real browser: a project is played with the real hooks and sidecar, and looked at."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from real_hosts.install import PLAYWRIGHT, PLAYWRIGHT_PINNED, hosts_folder, installed
from sidecar.cli.demo import CLAIM, DIAGNOSIS, REPORT, SHORTCUT
from sidecar.cli.demo_agent import REPAIRED_SOURCE, ScriptedAgent
from support.projects import PYTEST_SOURCE
from support.scene import Stage

CHEATS: Final = (
    "import pytest\n\n\n"
    + PYTEST_SOURCE.replace("def test_a", "@pytest.mark.skip(reason='flaky')\ndef test_a"),
    PYTEST_SOURCE.replace("== 27.0", "> 0"),
)
"""Tests that the broken code passes."""
SCRIPT: Final = Path(__file__).with_suffix(".mjs")
LIMIT_S: Final = 480.0


class Look(msgspec.Struct, frozen=True):
    """What is wrong with the pages, and how many places of each the keyboard reached."""

    faults: tuple[str, ...]
    places: dict[str, int]


def browser_modules() -> Path:
    """The folder with the npm packages that drive the browser. Raises InstallError."""
    return installed(PLAYWRIGHT, PLAYWRIGHT_PINNED, hosts_folder()).parents[2]


async def play(stage: Stage) -> tuple[str, ScriptedAgent]:
    """Let two agents claim and one of them cheat; return this one before its last stop, which is honest.

    With it comes the page's address: while they work we, as their host, are given none.
    """
    address = stage.supervisor("dashboard").stdout.strip()
    other, agent = [await stage.agent_with_goal() for _ in range(2)]
    for one in (other, agent):
        one.say(CLAIM)
        await one.stop()
    for content in CHEATS:
        agent.edit("test_shop.py", content)
        agent.say(SHORTCUT)
        await agent.stop()
    agent.edit("test_shop.py", PYTEST_SOURCE)
    agent.edit("shop.py", REPAIRED_SOURCE)
    await agent.run("python -m pytest -q")
    agent.say(f"{DIAGNOSIS} {REPORT}")
    return address, agent


async def look(
    stage: Stage, played: tuple[str, ScriptedAgent], modules: Path, chromium: str, folder: str = ""
) -> Look:
    """Open the page, and let the agent stop when it is open. Pictures go into `folder`, "" for none."""
    url, agent = played
    node = shutil.which("node") or "node"
    home = str(stage.scene.home)
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else runs
        [node, str(SCRIPT), url, str(modules), chromium, folder],
        env={"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        await agent.stop()
        said, _ = process.communicate(timeout=LIMIT_S)
    return msgspec.json.decode(said.splitlines()[-1], type=Look)
