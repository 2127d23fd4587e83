"""Folders for temporary files that vanish with their purpose, also when their process was killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sidecar.platform.files import is_process_alive


@asynccontextmanager
async def scratch_folder(purpose: str) -> AsyncIterator[Path]:
    """Make a folder `supervisor-PURPOSE-PROCESS-…`, and remove it in the end without blocking the loop.

    Those of processes that were killed are removed, too. Raises OSError.
    """
    start = f"supervisor-{purpose}-"
    await asyncio.to_thread(_remove_abandoned, Path(tempfile.gettempdir()), start)
    folder = tempfile.mkdtemp(prefix=f"{start}{os.getpid()}-")
    try:
        yield Path(folder)
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


def _remove_abandoned(place: Path, start: str) -> None:
    for folder in place.glob(f"{start}*-*"):
        process = folder.name.removeprefix(start).partition("-")[0]
        if process.isdecimal() and not is_process_alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
