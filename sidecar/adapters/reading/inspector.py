"""The port `Inspector`, for all languages at once. The readers are loaded when the first change is read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidecar.model.inspection import Changes, Reading


class FileInspector:
    """Reads in a thread, as parsing a large change takes seconds."""

    async def read(self, changes: Changes) -> Reading:
        """Both versions of every changed file that bears on a check. Never raises for a damaged file."""
        return await asyncio.to_thread(_read, changes)


def _read(changes: Changes) -> Reading:
    from sidecar.adapters.reading.changes import read  # noqa: PLC0415 - a cold start does without parsers

    return read(changes)
