"""Make, just and task: recipes that the project gives a telling name.

They say what to do only where nothing more specific does: the caller drops a kind that has a gate already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.found import Found, drawn_in, one_line
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

NAMES: Final = {
    Kind.TESTS: ("test", "tests", "check"),
    Kind.BUILD: ("build",),
    Kind.TYPES: ("typecheck", "type-check", "types", "check-types"),
    Kind.LINT: ("lint",),
}
"""Names of recipes by what they check, the better name first."""
TARGETS: Final = 20
"""Targets of one rule of a Makefile that are looked at."""
ASSIGNED: Final = re.compile(r"\s*(?:export\s+|override\s+)?([\w.-]+)\s*(?:::?:?|[?+!])?=")
TASK: Final = re.compile(r"(?P<indent>[ \t]+)(?P<quote>['\"]?)(?P<name>[\w:.-]+)(?P=quote):(?:\s|$)")
JUST: Final = re.compile(r"@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>[^:]*):(?!=)")


def find(root: Folder) -> Iterator[Found]:
    """Recipes with a telling name."""
    for program, files, read in FILES:
        if name := root.has(*files):
            yield from _named(program, name, read(root.text(name)))


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - the same for all
    """A recipe says itself where it goes; see `detect`."""
    return False


def _named(program: str, file: str, blocks: _Blocks) -> Iterator[Found]:
    for kind, names in NAMES.items():
        name = next((name for name in names if name in blocks.recipes), "")
        if name:
            behind = drawn_in(blocks.texts(), name)
            why = f"{file} has the target {name}: `{one_line(behind.partition(chr(10))[2] or behind)}`"
            yield Found(kind=kind, tool=program, command=f"{program} {name}", why=why, behind=behind)


class _Blocks:
    """Lines by the name of the recipe or variable to which they belong."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        self.recipes: set[str] = set()

    def add(self, names: Iterable[str], line: str) -> None:
        for name in names:
            self._lines.setdefault(name, []).append(line)

    def texts(self) -> dict[str, str]:
        return {name: "\n".join(lines) for name, lines in self._lines.items()}


def _make(text: str) -> _Blocks:
    """Read a Makefile. A rule ends where another line begins at the margin."""
    blocks, names = _Blocks(), list[str]()
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith("\t"):
            assigned = ASSIGNED.match(line)
            targets = line.partition(":")[0].split()[:TARGETS] if ":" in line and not assigned else []
            names = [assigned[1]] if assigned else targets
            blocks.recipes.update(targets)
        blocks.add(names, line)
    return blocks


def _just(text: str) -> _Blocks:
    """Read a justfile. A recipe ends where another line begins at the margin."""
    blocks, name = _Blocks(), ""
    for line in text.splitlines():
        if line[:1] not in " \t#":
            found = JUST.match(line)
            name = found["name"] if found else line.partition(":=")[0].strip() if ":=" in line else ""
            blocks.recipes.update((name,) if found else ())
        if name and line.strip():
            blocks.add((name,), line)
    return blocks


def _task(text: str) -> _Blocks:
    """Read a Taskfile: what is set in below one of the names that stand first below `tasks:`."""
    blocks = _Blocks()
    inside, margin, name = False, "", ""
    for line in text.splitlines():
        if line[:1] not in " \t#":
            inside, margin, name = line.startswith("tasks:"), "", ""
        elif inside and (found := TASK.match(line)) and found["indent"] == (margin or found["indent"]):
            margin, name = found["indent"], found["name"]
            blocks.recipes.add(name)
        if name and line.strip():
            blocks.add((name,), line)
    return blocks


FILES: Final[tuple[tuple[str, tuple[str, ...], Callable[[str], _Blocks]], ...]] = (
    ("make", ("GNUmakefile", "makefile", "Makefile"), _make),
    ("just", ("justfile", ".justfile", "Justfile"), _just),
    ("task", ("Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"), _task),
)
