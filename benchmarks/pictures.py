"""Draws the pictures of docs/pictures: the local page, of one project that is really played.

    python benchmarks/pictures.py [FOLDER]

The hooks, the sidecar and the checks are real, only the agent is scripted; the week before it is made up
(week.py). Needs Chromium, and npm for the
two packages that drive it. Ends with 1 where something is wrong with a page.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from week import fill_week

from real_hosts.browser import browser_modules, look, play
from support.scene import staged

PICTURES: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures"
KEPT: Final = (
    *("page-1280-light.webp", "page-checks-1280-light.webp"),
    *("page-stop-1280-dark.webp", "page-tests-1280-dark.webp"),
)


async def main(folder: Path) -> int:
    """Play, and draw."""
    chromium = shutil.which("chromium") or "chromium"
    modules = browser_modules()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        drawn = Path(root) / "drawn"
        async with staged(Path(root)) as stage:
            fill_week(stage.sessions.parent, "/home/ana/work", time.time())
            seen = await look(stage, await play(stage), modules, chromium, str(drawn))
        for name in KEPT:
            shutil.copy(drawn / name, folder)
    print(*seen.faults or ("nothing is wrong",), sep="\n")
    return 1 if seen.faults else 0


if __name__ == "__main__":
    place = Path(sys.argv[1]) if sys.argv[1:] else PICTURES
    place.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main(place)))
