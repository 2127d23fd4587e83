"""The local page in headless Chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from real_hosts.browser import browser_modules, look, play
from real_hosts.install import InstallError, missing
from support.scene import staged

pytestmark = pytest.mark.proves("seeing and asking back")


async def test_every_page_is_live_and_whole_for_eyes_keyboard_and_screen_reader(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium is not installed")
    try:
        modules = browser_modules()
    except InstallError as error:
        missing(str(error))
    async with staged(tmp_path) as stage:
        played = await play(stage)
        seen = await look(stage, played, modules, chromium)
    assert seen.faults == ()
    assert set(seen.places) == {"overview", "checks", "session", "stop", "newest"}
    assert min(seen.places.values()) > 3
