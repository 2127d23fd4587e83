"""Locates rubric files, and creates new ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sidecar.platform.configuration import user_config_folder

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


class RejectedRubricError(ValueError):
    """A file that cannot serve, and why."""


class RubricPlace(NamedTuple):
    """A path at which a rubric may be.

    `within`: a project's file must not be a link that leads out of this folder.
    """

    path: Path
    within: Path | None = None


def rubric_places(project: str, environment: Environment, default: Path) -> Iterator[RubricPlace]:
    """Yield the places by precedence.

    They are the project's own, the one of our predecessor in the project, the user's, OpenCode's, and the
    packaged rubric.
    """
    root = Path(project)
    if root.is_absolute():
        yield RubricPlace(root / ".supervisor" / "rubric.md", root)
        yield RubricPlace(root / ".reflection" / "rubric.md", root)
    if folder := user_config_folder(environment):
        yield RubricPlace(folder / "rubric.md")
    home = Path(environment.get("HOME", ""))
    if home.is_absolute():
        yield RubricPlace(home / ".config" / "opencode" / "supervisor" / "rubric.md")
    yield RubricPlace(default)


def resolve_place(place: RubricPlace) -> Path:
    """Return the resolved path.

    Raises FileNotFoundError if there is nothing, else RejectedRubricError and OSError.
    """
    try:
        path = place.path.resolve(strict=True)
        within = place.within.resolve() if place.within else None
    except FileNotFoundError:
        if place.path.is_symlink():
            raise RejectedRubricError("a link that leads nowhere") from None
        raise
    except NotADirectoryError as error:
        raise FileNotFoundError(str(error)) from error
    except RuntimeError as error:  # an OSError since Python 3.13, which says the same
        raise RejectedRubricError("too many levels of symbolic links") from error
    except ValueError as error:
        raise RejectedRubricError(f"no possible path: {error}") from error
    if within and not path.is_relative_to(within):
        raise RejectedRubricError("a link that leads out of the project")
    return path


# --- Creating a rubric file: whole or not at all, and never over an existing one ----------------------------


def create_rubric_file(place: Path, text: str, *, force: bool = False) -> Path | None:
    """Create the file; return the path of the backup, if any.

    Raises FileExistsError if anything is there already, else OSError. `force`: what is there is first moved
    to the backup's path, replacing what is there.
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
