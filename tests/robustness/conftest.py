"""Everything here runs real processes: relay, sidecar, checks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from support.scene import Stage, staged


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A project whose tests fail, and all that watches over it."""
    async with staged(tmp_path) as made:
        yield made
