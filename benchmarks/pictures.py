"""Draws the pictures of docs/pictures: the page and the watch, of one project that is really played.

    python benchmarks/pictures.py [FOLDER]

The hooks, the sidecar and the checks are real, only the agent is scripted. Needs Chromium, and npm for the
two packages that drive it. Ends with 1 where something is wrong with a page.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from real_hosts.browser import browser_modules, look, play
from sidecar.cli.demo import CLAIM
from sidecar.cli.watch_desk import SidecarDesk
from sidecar.cli.watch_screen import WatchApp
from sidecar.platform.clock import SystemClock
from support.scene import Stage, staged

PICTURES: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures"
COLUMNS: Final = (80, 120)
THEMES: Final = {"light": "textual-light", "dark": "textual-dark"}
FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Where an SVG of Textual asks another machine for its font."""
SLOW_CHECK: Final = """import pathlib, time
for name in ("cart", "invoice", "rates", "refund", "stock"):
    print(f"tests/test_{name}.py ... ok", flush=True)
for _ in range(600):
    if pathlib.Path("go").exists():
        break
    time.sleep(0.1)
"""
TASKS: Final = (
    ("task_add", '{"content": "multiply by the rate", "status": "in_progress"}'),
    ("task_add", '{"content": "round to cents"}'),
    ("note_add", '{"type": "decision", "content": "a discount is a rate between 0 and 1"}'),
)


async def watched(stage: Stage, folder: Path) -> None:
    """Draw the watch while a check runs."""
    project = stage.scene.project
    (project / "slow.py").write_text(SLOW_CHECK, encoding="utf-8")
    agent = stage.agent()
    await agent.start()
    await agent.prompt('/supervisor:goal the discount is right --check "python3 slow.py"')
    for name, arguments in TASKS:
        done = stage.supervisor("tool", name, "--session", agent.session, "--json", arguments)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    agent.say(CLAIM)
    judging = asyncio.create_task(agent.stop())
    while "stock" not in stage.report().output:
        await SystemClock().pause(0.2)
    os.environ.update(stage.scene.environment)
    for columns in COLUMNS:
        for name, theme in THEMES.items():
            app = WatchApp(SidecarDesk(str(project)))
            async with app.run_test(size=(columns, 28)) as pilot:
                app.theme = theme
                await app.workers.wait_for_complete()
                await pilot.pause()
                drawn = FONT.sub("", app.export_screenshot(title="supervisor watch"))
            (folder / f"watch-{columns}-{name}.svg").write_text(drawn, encoding="utf-8")
    (project / "go").touch()
    await judging


async def main(folder: Path) -> int:
    """Play, and draw."""
    chromium = shutil.which("chromium") or "chromium"
    modules = browser_modules()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        async with staged(Path(root)) as stage:
            agent = await play(stage)
            seen = await look(stage, agent, modules, chromium, str(folder))
            await watched(stage, folder)
    print(*seen.faults or ("nothing is wrong",), sep="\n")
    return 1 if seen.faults else 0


if __name__ == "__main__":
    place = Path(sys.argv[1]) if sys.argv[1:] else PICTURES
    place.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main(place)))
