"""Reads what earlier versions kept of held edits: one file per subject in `steering/` and `rubrics/`.

Each text in force stays in force, and each edit that was held waits.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from sidecar.platform.state import BrokenStateError, read_state
from sidecar.platform.steering import TEXT_LIMIT, Kept

STEERING, RUBRICS = "steering", "rubrics"
CONFIGURATION: Final = "/.supervisor/config.toml"
PACKAGED: Final = "/rubric/rubric.md"
"""The end of the path of the default rubric, which an update may have changed."""

log = logging.getLogger(__name__)


class _Text(Struct, frozen=True):
    origin: str
    text: str


class _State(Struct, frozen=True):
    force: _Text
    held: _Text | None = None


class _OlderDocument(Struct, frozen=True, kw_only=True):
    """`project` is the path of the file, or the project whose rubric it is about."""

    version: int = 1
    project: str = ""
    state: _State | None = field(default=None, name="standing")


def read_older_edits(state: Path, key: Callable[[Path], str]) -> dict[str, Kept]:
    """Return what is known of each file by its key. Of several states of one, a held one wins."""
    found: dict[str, Kept] = {}
    for folder, read in ((STEERING, _file_states), (RUBRICS, _rubric_states)):
        for path in sorted((state / folder).glob("*.json")):
            try:
                document = read_state(path, _OlderDocument, 6 * TEXT_LIMIT)
            except (BrokenStateError, OSError) as error:
                log.warning("%s cannot be read: %s", path, error)
                continue
            for file, kept in read(document.project, document.state, key) if document.state else ():
                if file not in found or not found[file].held:
                    found[file] = kept
    return found


def remove_older_edits(state: Path) -> None:
    """Remove the files of earlier versions. Never raises."""
    for folder in filter(Path.is_dir, (state / STEERING, state / RUBRICS)):
        with contextlib.suppress(OSError):
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


def _file_states(subject: str, state: _State, key: Callable[[Path], str]) -> list[tuple[str, Kept]]:
    path = Path(subject)
    name = path.name if path.parent.name == STEERING else key(Path(state.force.origin))
    project = subject.removesuffix(CONFIGURATION) if subject.endswith(CONFIGURATION) else ""
    return [(name, Kept(state.force.text, held=state.held is not None, project=project))]


def _rubric_states(project: str, state: _State, key: Callable[[Path], str]) -> list[tuple[str, Kept]]:
    """Return those of the rubric in force, and of one that the held edit made."""
    force, held = state.force, state.held
    own, made = (Path(text.origin).is_relative_to(project) if text else False for text in (force, held))
    found = []
    if not force.origin.endswith(PACKAGED):
        found.append(
            (key(Path(force.origin)), Kept(force.text, held=held is not None, project=project if own else ""))
        )
    if held is not None and held.origin != force.origin and (made or not own):
        found.append((key(Path(held.origin)), Kept("", held=True, project=project if made else "")))
    return found
