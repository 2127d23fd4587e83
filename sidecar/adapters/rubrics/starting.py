"""Puts a new rubric where a project, or a user, has its own: whole or not at all, and over no rubric."""

from __future__ import annotations

import os
from pathlib import Path


def begin(place: Path, text: str, *, force: bool = False) -> Path | None:
    """Make the file. Raises FileExistsError where anything is there already, else OSError.

    `force`: what is there is first put beside it, at the path that is given back, over what is there.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f"{place.name}.bak") if force and os.path.lexists(place) else None
    if beside is not None:
        place.replace(beside)
    with place.open("x", encoding="utf-8", newline="") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            place.unlink()
            if beside is not None:
                beside.replace(place)
            raise
    return beside
