"""What the configuration files say of gates, the user's and the project's: `[gates]` and `[gate.ID]`.

A wrong value falls back by itself and is named with file and line. What only a look at the project can tell
(whether a gate is there to be changed) is the catalog's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.settings.toml_fields import Wrong, fit, worded
from sidecar.adapters.settings.toml_file import TomlFile, UnusableError, read_toml
from sidecar.model.settings import Gates, OwnGate, Settings

PROJECT_FILE: Final = ".supervisor/config.toml"
ID: Final = re.compile(r"[a-z0-9][a-z0-9:_./-]{0,63}")
RESERVED: Final = {"pr": "gates.pr", "ci": "gates.ci"}
"""IDs that are Supervisor's own, and the setting that is meant. So is `check:N`, which --check makes."""
OWN_PREFIX: Final = "check:"


class GateWords(Struct, frozen=True, kw_only=True):
    """What one file says of gates.

    `said` names those fields of `gates` that the file says, and says right.
    """

    file: TomlFile
    gates: Gates = Gates()
    said: frozenset[str] = frozenset()
    gate: Mapping[str, OwnGate] = {}
    problems: tuple[str, ...] = ()


class _Project(Struct, frozen=True, kw_only=True):
    """What a project's file may say."""

    gates: Gates = Gates()
    gate: dict[str, OwnGate] = {}


def of_project(project: str) -> GateWords:
    """What the project's own file says. Never raises. A link is not followed: it could lead anywhere."""
    path = Path(project, PROJECT_FILE)
    try:
        file = read_toml(path, follow=False)
    except UnusableError as error:
        return GateWords(file=TomlFile(str(path)), problems=(f"{path}: {error}; it says nothing",))
    names = {field.name for field in msgspec.structs.fields(Settings)}
    words, wrongs = fit(_Project, file.table, names - {"gates", "gate"})
    gate, more = sound(words.gate)
    return words_of(file, words.gates, gate, [*wrongs, *more])


def words_of(file: TomlFile, gates: Gates, gate: Mapping[str, OwnGate], wrongs: list[Wrong]) -> GateWords:
    """Gather what a file says of gates."""
    table = file.table.get("gates")
    said = {name for name in table if name in Gates.__struct_fields__} if isinstance(table, dict) else set()
    wrong = {wrong.key[1] for wrong in wrongs if wrong.key[0] == "gates" and len(wrong.key) > 1}
    return GateWords(
        file=file, gates=gates, said=frozenset(said - wrong), gate=gate, problems=worded(file, wrongs)
    )


def sound(gates: Mapping[str, OwnGate]) -> tuple[dict[str, OwnGate], list[Wrong]]:
    """The gates whose ID, command and folder can be, and what is wrong with the others."""
    kept: dict[str, OwnGate] = {}
    wrongs: list[Wrong] = []
    for name, gate in gates.items():
        if fault := _id_fault(name):
            wrongs.append(Wrong(("gate", name), fault))
            continue
        kept[name], wrong = _sound(name, gate)
        wrongs += wrong
    return kept, wrongs


def _id_fault(name: str) -> str:
    if name in RESERVED:
        return f"this ID is taken; {RESERVED[name]} = true is what asks for it"
    if name.startswith(OWN_PREFIX):
        return f"IDs that begin with {OWN_PREFIX} are those of --check"
    if not ID.fullmatch(name):
        return "an ID has 1 to 64 of a-z 0-9 : _ . / -, a letter or digit first; it is ignored"
    return ""


def _sound(name: str, gate: OwnGate) -> tuple[OwnGate, list[Wrong]]:
    """The gate without values that cannot be."""
    wrongs = []
    if gate.command is not None and (not gate.command.strip() or "\0" in gate.command):
        wrongs.append(Wrong(("gate", name, "command"), "it is empty or holds a NUL; it is ignored"))
        gate = replace(gate, command=None)
    if gate.folder is not None:
        folder = inside(gate.folder)
        if folder is None:
            said = f"must be a relative path inside the project (got {gate.folder[:40]!r}); it is ignored"
            wrongs.append(Wrong(("gate", name, "folder"), said))
        gate = replace(gate, folder=folder)
    return gate, wrongs


def inside(folder: str) -> str | None:
    """The folder in its plainest form ("" is the project itself), None where it leads out by its name."""
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not folder.isprintable():
        return None
    return "" if str(path) == "." else str(path)
