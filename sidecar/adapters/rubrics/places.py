"""Where a rubric may be, the first by precedence first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sidecar.adapters.settings.user_file import user_folder

if TYPE_CHECKING:
    from sidecar.ports import Environment


class RejectedError(Exception):
    """This file cannot serve, and why. `before` is the text before the first byte that is none."""

    def __init__(self, why: str, before: str | None = None) -> None:
        super().__init__(why)
        self.before = before


class Place(NamedTuple):
    """Where a rubric may be. `within`: a file of a project must not be a link that leads out of it."""

    path: Path
    within: Path | None = None


def places(project: str, environment: Environment, default: Path) -> Iterator[Place]:
    """The project's, the ancestor's, the user's, the one of OpenCode, and what ships."""
    root = Path(project)
    if root.is_absolute():
        yield Place(root / ".supervisor" / "rubric.md", root)
        yield Place(root / ".reflection" / "rubric.md", root)
    if folder := user_folder(environment):
        yield Place(folder / "rubric.md")
    home = Path(environment.get("HOME", ""))
    if home.is_absolute():
        yield Place(home / ".config" / "opencode" / "supervisor" / "rubric.md")
    yield Place(default)


def resolved(place: Place) -> Path:
    """The file itself. Raises FileNotFoundError where there is nothing, else RejectedError and OSError."""
    try:
        path = place.path.resolve(strict=True)
        within = place.within.resolve() if place.within else None
    except FileNotFoundError:
        if place.path.is_symlink():
            raise RejectedError("a link that leads nowhere") from None
        raise
    except NotADirectoryError as error:
        raise FileNotFoundError(str(error)) from error
    except RuntimeError as error:  # an OSError since Python 3.13, which says the same
        raise RejectedError("too many levels of symbolic links") from error
    except ValueError as error:
        raise RejectedError(f"no possible path: {error}") from error
    if within and not path.is_relative_to(within):
        raise RejectedError("a link that leads out of the project")
    return path
