"""Reads what earlier versions kept of held edits: one file per subject in `steering/` and `rubrics/`.

Each text in force stays in force, and each edit that was held waits.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from sidecar.platform.state import BrokenStateError, read_state
from sidecar.platform.steering import PROJECT_CONFIGURATION, TEXT_LIMIT, Kept

STEERING, RUBRICS = "steering", "rubrics"
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
    for path in sorted([*state.glob(f"{STEERING}/*.json"), *state.glob(f"{RUBRICS}/*.json")]):
        try:
            document = read_state(path, _OlderDocument, 6 * TEXT_LIMIT)
        except (BrokenStateError, OSError) as error:
            log.warning("%s cannot be read: %s", path, error)
            continue
        for name, kept in _known_files(document, key):
            if name not in found or not found[name].held:
                found[name] = kept
    return found


def remove_older_edits(state: Path) -> None:
    """Remove the files of earlier versions. Never raises."""
    for folder in filter(Path.is_dir, (state / STEERING, state / RUBRICS)):
        with contextlib.suppress(OSError):
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


def _known_files(document: _OlderDocument, key: Callable[[Path], str]) -> Iterator[tuple[str, Kept]]:
    """Yield the file in force, and another one that a held edit made."""
    if document.state is None:
        return
    subject, force, held = Path(document.project), document.state.force, document.state.held
    project = document.project.removesuffix(f"/{PROJECT_CONFIGURATION}")
    homes = [project if one and one.origin.startswith(f"{project}/") else "" for one in (force, held)]
    name = subject.name if subject.parent.name == STEERING else key(Path(force.origin))
    if not force.origin.endswith(PACKAGED):
        yield name, Kept(force.text, held=held is not None, project=homes[0])
    if held is not None and held.origin != force.origin and (homes[1] or not homes[0]):
        yield key(Path(held.origin)), Kept("", held=True, project=homes[1])
