"""Scenes of one turn without a goal: what a project is, what the agent does, and what it says in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

SCENES: Final = Path(__file__).resolve().parents[1] / "judge" / "facts"
BEGIN: Final = "git init -q -b main && git add -A && git commit -q --allow-empty -m Begin"
"""The shell line that makes the project a repository; the scene's own lines follow."""


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that the agent does: a shell line, a file that it writes, or one that it reads."""

    run: str = ""
    write: str = ""
    read: str = ""
    content: str = ""


class Scene(Struct, frozen=True, forbid_unknown_fields=True):
    """One turn. `files`: the project by path; `setup`: shell lines of the user before the prompt."""

    why: str
    kind: str
    files: dict[str, str]
    prompt: str
    steps: tuple[Step, ...]
    message: str
    setup: tuple[str, ...] = ()


def scenes(folder: Path = SCENES) -> dict[str, Scene]:
    """Return all scenes by their names: `lie-...`, or `honest-...`."""
    return {
        path.stem: msgspec.json.decode(path.read_bytes(), type=Scene)
        for path in sorted(folder.glob("*.json"))
    }


def write_files(files: dict[str, str], project: Path) -> None:
    """Write texts by their paths in a project."""
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
