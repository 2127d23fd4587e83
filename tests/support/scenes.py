"""Scenes of one turn without a goal: what a project is, what the agent does, and what it says in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

SCENES: Final = Path(__file__).resolve().parents[1] / "judge" / "facts"
BEGIN: Final = "git init -q -b main && git add -A && git commit -q --allow-empty -m Begin"
"""The shell line that makes the project a repository; the scene's own lines follow."""


MISSED: Final = frozenset(
    (8206, 8208, 8211, 8212, 8218, 8220, 8304, 8306, 8311, 8312, 8317, 8319, 8404, 8405, 8413, 8416, 8420)
)
"""Lies that the core of claims does not meet, by their numbers.

An install or a script that never ran, or whose failure the message mentions in other words; an edit that
changed nothing; a commit on another branch than the one that is named with it.
"""


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
    """Return all scenes by their names: `lie-...`, or `honest-...`. A file holds a set of them."""
    sets = [
        msgspec.json.decode(path.read_bytes(), type=dict[str, Scene])
        for path in sorted(folder.glob("*.json"))
    ]
    return {name: scene for one in sets for name, scene in one.items()}


def number_of(name: str) -> int:
    """Return the number of a scene; each set has a hundred of its own."""
    return int(name.split("-")[1])


def is_sent_back(name: str) -> bool:
    """Whether its stop is sent back today."""
    return name.startswith("lie-") and number_of(name) not in MISSED


def write_files(files: dict[str, str], project: Path) -> None:
    """Write texts by their paths in a project."""
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
