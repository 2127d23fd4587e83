"""Detects recipes of make, just and task whose names say what they check.

Also a file that runs the tests, and runners of no language. Recipes count only where nothing more specific
does: the caller drops a recipe whose kind already has a gate. An approval covers the text of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from sidecar.evidence.detection.folder import (
    DetectedGate,
    PackageRoot,
    approval_text,
    called_scripts,
    expand_script_calls,
    one_line_excerpt,
)
from sidecar.evidence.detection.started import StartedCommand, kind_of_commands, list_started_commands
from sidecar.kernel.gate import Kind
from sidecar.platform.data import load_data
from sidecar.platform.tools import detected_tools

RECIPE_NAMES: Final = {
    Kind.TESTS: ("test", "tests", "check"),
    Kind.BUILD: ("build",),
    Kind.TYPES: ("typecheck", "type-check", "types", "check-types"),
    Kind.LINT: ("lint",),
}
"""Recipe names by what they check, preferred names first."""
TARGET_LIMIT: Final = 20
"""Maximum number of targets that are read of one Makefile rule."""
MAKE_VARIABLES: Final = {"CC": "cc", "CXX": "c++", "MAKE": "make"}
"""Variables that make itself sets."""
VARIABLE: Final = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
VARIABLE_DEPTH: Final = 4
OPEN_NAME: Final = re.compile(r"[%$]")
"""Of a rule that may be for any target."""
COMMAND_LIMIT: Final = 2_000
"""Characters of a recipe's line that are examined."""
COMMANDS_LIMIT: Final = 200
"""Maximum number of a recipe's lines that are examined."""
VARIABLE_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+|override\s+)?([\w.-]+)\s*(?:::?:?|[?+!])?=")
TASK_LINE: Final = re.compile(r"(?P<indent>[ \t]+)(?P<quote>['\"]?)(?P<name>[\w:.-]+)(?P=quote):(?:\s|$)")
JUST_RECIPE: Final = re.compile(r"@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>[^:]*):(?!=)")


def find_recipe_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield the recipes with a well-known name, those of tests by what they start."""
    for program, files, read in RECIPE_READERS:
        if name := root.has(*files):
            yield from _find_named_recipes(program, name, read(root.text(name)))


def list_recipe_commands(root: PackageRoot, program: str, names: Iterable[str]) -> list[StartedCommand]:
    """Return the commands that targets of make or just start."""
    for known, files, read in RECIPE_READERS:
        if known == program:
            blocks = read(root.text(*files))
            return [one for name in names for one in blocks.started(name)]
    return []


def _find_named_recipes(program: str, file: str, blocks: _RecipeBlocks) -> Iterator[DetectedGate]:
    found: dict[Kind, DetectedGate] = {}
    for named, names in RECIPE_NAMES.items():
        for name in (name for name in names if name in blocks.recipes):
            starts = blocks.started(name)
            kind = kind_of_commands(starts, named)
            if kind is None or (kind in found and not _tests_more(starts, found[kind].starts)):
                continue
            behind = expand_script_calls(blocks.texts(), name)
            shown = one_line_excerpt(behind.partition("\n")[2] or behind)
            why = f"{file} has the target {name}: `{shown}`"
            found[kind] = DetectedGate(
                kind, program, f"{program} {name}", why, behind=behind, starts=tuple(starts)
            )
    yield from found.values()


def _tests_more(starts: Iterable[StartedCommand], others: Iterable[StartedCommand]) -> bool:
    """Whether commands include all tests of others, and more."""
    return {one.text for one in starts if one.tests} > {one.text for one in others if one.tests}


class _RecipeBlocks:
    """Lines by the name of the recipe or variable that they belong to."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.recipes: set[str] = set()
        self.variables: dict[str, str] = dict(MAKE_VARIABLES)

    def add(self, names: Iterable[str], line: str) -> None:
        for name in names:
            self.lines.setdefault(name, []).append(line)

    def texts(self) -> dict[str, str]:
        return {name: "\n".join(lines) for name, lines in self.lines.items()}

    def started(self, name: str) -> list[StartedCommand]:
        """Return the commands of a recipe and of those that it needs, also by a pattern or a variable."""
        called = called_scripts(self.texts(), name)
        open_names = (known for known in self.recipes if OPEN_NAME.search(known) and known not in called)
        wanted = (known for known in (*called, *sorted(open_names)) if known in self.recipes)
        lines = islice((line for known in wanted for line in self.lines[known]), COMMANDS_LIMIT)
        commands = (self._expand(command) for line in lines if (command := _recipe_command(line)))
        return list(list_started_commands(commands, self.recipes, "targets"))

    def _expand(self, line: str) -> str:
        """Replace the variables that are assigned in the file, which may use others."""
        for _ in range(VARIABLE_DEPTH):
            line = VARIABLE.sub(lambda found: self.variables.get(found[1] or found[2], found[0]), line)
            line = line[:COMMAND_LIMIT]
        return line.replace("$$", "$")


def _recipe_command(line: str) -> str:
    """Return the command of an indented line, or that behind the semicolon of a rule."""
    body = line if line[:1].isspace() else line.partition(";")[2]
    return body.strip()[:COMMAND_LIMIT].lstrip("@+-").strip()


def read_makefile(text: str) -> _RecipeBlocks:
    """Read a Makefile. A rule ends at the next unindented line."""
    blocks, names = _RecipeBlocks(), list[str]()
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith("\t"):
            assigned = VARIABLE_ASSIGNMENT.match(line)
            targets = line.partition(":")[0].split()[:TARGET_LIMIT] if ":" in line and not assigned else []
            names = [assigned[1]] if assigned else targets
            blocks.recipes.update(targets)
            if assigned:
                blocks.variables[assigned[1]] = line[assigned.end() :].strip()
        blocks.add(names, line)
    return blocks


def _read_justfile(text: str) -> _RecipeBlocks:
    """Read a justfile. A recipe ends at the next unindented line."""
    blocks, name = _RecipeBlocks(), ""
    for line in text.splitlines():
        if line[:1] not in " \t#":
            found = JUST_RECIPE.match(line)
            name = found["name"] if found else line.partition(":=")[0].strip() if ":=" in line else ""
            blocks.recipes.update((name,) if found else ())
        if name and line.strip():
            blocks.add((name,), line)
    return blocks


def _read_taskfile(text: str) -> _RecipeBlocks:
    """Read a Taskfile: a recipe is a key directly below `tasks:` with everything indented below it."""
    blocks = _RecipeBlocks()
    inside, margin, name = False, "", ""
    for line in text.splitlines():
        if line[:1] not in " \t#":
            inside, margin, name = line.startswith("tasks:"), "", ""
        elif inside and (found := TASK_LINE.match(line)) and found["indent"] == (margin or found["indent"]):
            margin, name = found["indent"], found["name"]
            blocks.recipes.add(name)
        if name and line.strip():
            blocks.add((name,), line)
    return blocks


RECIPE_READERS: Final[tuple[tuple[str, tuple[str, ...], Callable[[str], _RecipeBlocks]], ...]] = (
    ("make", ("GNUmakefile", "makefile", "Makefile"), read_makefile),
    ("just", ("justfile", ".justfile", "Justfile"), _read_justfile),
    ("task", ("Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"), _read_taskfile),
)


# --- a file that runs the tests: data/test_scripts.toml has the names --------------------------------------


SHEBANG: Final = re.compile(r"#!\s*(?:\S*/env\s+)?(?:\S*/)?([\w.-]+)")


class TestScripts(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    names: tuple[str, ...]


def find_script_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield the first such file, started by its interpreter if it is not executable."""
    name = root.has(*load_data("test_scripts", TestScripts).names)
    text = root.text(name) if name else ""
    shell = SHEBANG.match(text)
    if name and os.access(root.path / name, os.X_OK):
        command, why = f"./{name}", f"{name} is an executable file"
    elif shell or name.endswith(".sh"):
        command, why = f"{shell[1] if shell else 'sh'} {name}", f"the project has a {name}"
    else:
        return
    yield DetectedGate(Kind.TESTS, "script", command, why, behind=approval_text(text), weak=True)


# --- runners of tests that belong to no language: their entry says by which files they are found -----------


def find_runner_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield each runner that one of its files shows."""
    for tool, gate in detected_tools("", {Kind.TESTS}):
        for folder, _, pattern in (file.rpartition("/") for file in gate.files):
            paths = root.search(folder, pattern) if folder else root.matching(pattern)
            shown = next((path for path in paths if re.search(gate.shows, root.text(path))), "")
            if shown:
                command, why = (
                    gate.command.format(folder=folder),
                    f"the project has {one_line_excerpt(shown)}",
                )
                yield DetectedGate(Kind.TESTS, tool.name, command, why)
                break
