"""The package roots of a project: the project itself, then the folders below it with a manifest of their own.

A folder that is a repository of its own is not the project's. Links to folders are not followed, so nothing
goes in circles.
"""

from __future__ import annotations

from collections import deque
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.folder import Files, Folder, listing, passed_over

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEPTH: Final = 4
"""Folders below the project down to which a package root is looked for."""
ROOTS: Final = 40
"""Package roots of one project, the project among them; those nearest to it come first."""
FOLDERS: Final = 2_000
"""Folders that are looked into."""
MANIFESTS: Final = frozenset(
    (
        *("Cargo.toml", "Gemfile", "composer.json", "go.mod", "mix.exs", "package.json"),
        *("build.gradle", "build.gradle.kts", "pom.xml"),
        *("pyproject.toml", "pytest.ini", "requirements.txt", "setup.cfg", "setup.py", "tox.ini"),
    )
)
MANIFEST_PATTERNS: Final = ("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj")


def package_roots(project: Path, *, deep: bool = True) -> tuple[Folder, ...]:
    """The project and, where `deep`, the package roots below it, the shallow ones first, then by name."""
    files = Files()
    root = Folder(project, "", (), files)
    roots = {"": root}
    for name in _below(project) if deep else ():
        if len(roots) == ROOTS:
            break
        above = tuple(roots[parent] for parent in _parents(name) if parent in roots)
        roots[name] = Folder(project / name, name, above, files)
    return tuple(roots.values())


def _below(project: Path) -> Iterator[str]:
    """Paths below the project of the folders with a manifest."""
    waiting = deque([""])
    for _ in range(FOLDERS):
        if not waiting:
            return
        name = waiting.popleft()
        files, folders = listing(project / name)
        if name and (".git" in files or ".git" in folders):
            continue
        if name and any(map(_manifest, files)):
            yield name
        if len(_parents(name)) < DEPTH:
            sound = (f"{name}/{below}" if name else below for below in folders if _sound(below))
            waiting.extend(islice(sound, FOLDERS - len(waiting)))


def _manifest(name: str) -> bool:
    return name in MANIFESTS or any(fnmatchcase(name, pattern) for pattern in MANIFEST_PATTERNS)


def _sound(name: str) -> bool:
    """Whether a folder may hold a package whose name can be said at all."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return not passed_over(name)


def _parents(name: str) -> list[str]:
    """The paths of the folders above, up to the project, the nearest first; none for the project."""
    parts = name.split("/") if name else []
    return ["/".join(parts[:length]) for length in range(len(parts) - 1, -1, -1)]
