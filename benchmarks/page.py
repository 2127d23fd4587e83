"""The local page in a browser: pictures, what axe-core finds, and whether the keyboard reaches everything.

    python benchmarks/page.py FOLDER MODULES [CHROMIUM]

FOLDER gets the pictures, MODULES holds the npm packages axe-core and puppeteer-core. A project is played with
the real hooks and sidecar; only the agent is scripted. Ends with 1 where something serious is found.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from sidecar.cli.demo_story import CLAIM, DIAGNOSIS, REPORT, SHORTCUT, TESTS
from sidecar.cli.scripted.project import REPAIRED_SOURCE, SKIPPED_TEST_SOURCE, TEST_SOURCE
from support.scene import GOAL, Stage, staged

LOOSENED = TEST_SOURCE.replace("== 90", "> 0")
"""A test that anything passes."""


async def play(stage: Stage) -> None:
    """Let one agent cheat until it does the work, and another one begin."""
    agent = await stage.agent_with_goal()
    agent.say(CLAIM)
    await agent.stop()
    for content in (SKIPPED_TEST_SOURCE, LOOSENED):
        agent.edit("test_shop.py", content)
        agent.say(SHORTCUT)
        await agent.stop()
    other = stage.agent()
    await other.start()
    await other.prompt(GOAL)
    other.say(CLAIM)
    await other.stop()
    agent.edit("test_shop.py", TEST_SOURCE)
    agent.edit("shop.py", REPAIRED_SOURCE)
    await agent.run(TESTS)
    agent.say(f"{DIAGNOSIS} {REPORT}")
    await agent.stop()


async def main(folder: str, modules: str, chromium: str = "chromium") -> int:
    """Play, open the page, and let the browser look."""
    script = Path(__file__).with_suffix(".mjs")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        async with staged(Path(root)) as stage:
            await play(stage)
            url = stage.supervisor("dashboard").stdout.strip()
            line = ["node", str(script), url, folder, modules, chromium]
            return subprocess.run(line, check=False).returncode  # noqa: ASYNC221, S603 - nothing else runs


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
