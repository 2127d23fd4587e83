"""Reads the user's config.toml, the ancestor's reflection.yaml, and a project's own gate settings.

All errors of a file are reported at once, each with its field and line; a wrong value falls
back to its default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from sidecar.kernel.settings import CONTINUATION_BUDGET, ConfiguredGate, GateSettings, Settings
from sidecar.platform.files import SeenFiles, UnusableFileError, read_whole
from sidecar.platform.paths import organisation_file
from sidecar.platform.steering import PROJECT_CONFIGURATION, UNHELD, FilesInForce, describe_edit
from sidecar.platform.toml import (
    FILE_LIMIT,
    FieldError,
    TomlFile,
    UnusableError,
    field_error_lines,
    fit_toml_fields,
    read_toml,
)

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


# --- Gate settings in the user's and the project's files: `[gates]` and `[gate.ID]` -------------------------
# A wrong value falls back by itself and is reported with file and line. What depends on the project itself
# (whether a gate exists that could be changed) is checked by the catalog.


GATE_ID: Final = re.compile(r"[a-z0-9][a-z0-9:_./-]{0,63}")
RESERVED_GATE_IDS: Final = {"pr": "gates.pr", "ci": "gates.ci"}
"""Reserved IDs with the setting to use instead. `check:N`, which --check makes, is reserved too."""
CHECK_ID_PREFIX: Final = "check:"
TRUST_HINT: Final = "a command of the project runs only once you approved it: supervisor trust"

_COMMAND: Final = re.compile(r"^\s*command\s*=", re.MULTILINE)


class GateFileSettings(Struct, frozen=True, kw_only=True):
    """The gate settings of one file.

    `said` names the fields of `gates` that the file sets to valid values.
    """

    file: TomlFile
    gates: GateSettings = GateSettings()
    said: frozenset[str] = frozenset()
    gate: Mapping[str, ConfiguredGate] = {}
    problems: tuple[str, ...] = ()


class _ProjectFileSettings(Struct, frozen=True, kw_only=True):
    """The settings that a project's file may contain."""

    gates: GateSettings = GateSettings()
    gate: dict[str, ConfiguredGate] = {}


def read_project_gates(project: str, files: FilesInForce = UNHELD) -> GateFileSettings:
    """The gate settings of the project's own file. Never raises.

    A symbolic link is not followed, because it could lead anywhere.
    """
    path = Path(project, PROJECT_CONFIGURATION)
    try:
        file = read_toml(files.path_in_force(path), str(path), follow=False)
    except UnusableError as error:
        return GateFileSettings(file=TomlFile(str(path)), problems=(f"{path}: {error}; it says nothing",))
    names = {*Settings.__struct_fields__}
    words, wrongs = fit_toml_fields(_ProjectFileSettings, file.table, names - {"gates", "gate"})
    gate, more = split_valid_gates(words.gate)
    return gather_gate_settings(file, words.gates, gate, [*wrongs, *more])


def describe_gates_edit(before: str, now: str) -> str:
    """Describe an edit of a project's file; a command in it runs only once the user approved it."""
    said = describe_edit(before, now)
    return f"{said}; {TRUST_HINT}" if _COMMAND.search(now) else said


def gather_gate_settings(
    file: TomlFile, gates: GateSettings, gate: Mapping[str, ConfiguredGate], wrongs: list[FieldError]
) -> GateFileSettings:
    """Combine the gate settings and the errors of one file."""
    table = file.table.get("gates")
    names = table if isinstance(table, dict) else ()
    said = {name for name in names if name in GateSettings.__struct_fields__}
    wrong = {wrong.key[1] for wrong in wrongs if wrong.key[0] == "gates" and len(wrong.key) > 1}
    return GateFileSettings(
        file=file,
        gates=gates,
        said=frozenset(said - wrong),
        gate=gate,
        problems=field_error_lines(file, wrongs),
    )


def split_valid_gates(
    gates: Mapping[str, ConfiguredGate],
) -> tuple[dict[str, ConfiguredGate], list[FieldError]]:
    """The gates with a valid ID, without invalid commands and folders, and every error found."""
    kept: dict[str, ConfiguredGate] = {}
    wrongs: list[FieldError] = []
    for name, gate in gates.items():
        if fault := _gate_id_fault(name):
            wrongs.append(FieldError(("gate", name), fault))
            continue
        kept[name], wrong = _drop_invalid_values(name, gate)
        wrongs += wrong
    return kept, wrongs


def _gate_id_fault(name: str) -> str:
    if name in RESERVED_GATE_IDS:
        return f"this ID is taken; {RESERVED_GATE_IDS[name]} = true is what asks for it"
    if name.startswith(CHECK_ID_PREFIX):
        return f"IDs that begin with {CHECK_ID_PREFIX} are those of --check"
    if not GATE_ID.fullmatch(name):
        return "an ID has 1 to 64 of a-z 0-9 : _ . / -, a letter or digit first; it is ignored"
    return ""


def _drop_invalid_values(name: str, gate: ConfiguredGate) -> tuple[ConfiguredGate, list[FieldError]]:
    """The gate without its invalid values, and their errors."""
    wrongs = []
    if gate.command is not None and (not gate.command.strip() or "\0" in gate.command):
        wrongs.append(FieldError(("gate", name, "command"), "it is empty or holds a NUL; it is ignored"))
        gate = replace(gate, command=None)
    if gate.folder is not None:
        folder = folder_inside_project(gate.folder)
        if folder is None:
            said = f"must be a relative path inside the project (got {gate.folder[:40]!r}); it is ignored"
            wrongs.append(FieldError(("gate", name, "folder"), said))
        gate = replace(gate, folder=folder)
    return gate, wrongs


def folder_inside_project(folder: str) -> str | None:
    """The normalized folder ("" is the project itself), None if its name leads out of the project."""
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not folder.isprintable():
        return None
    return "" if str(path) == "." else str(path)


# --- The user's config.toml ---------------------------------------------------------------------------------


def user_config_folder(environment: Environment) -> Path | None:
    """The folder of the user's configuration, None if the environment names no home."""
    for variable, below in (("XDG_CONFIG_HOME", ()), ("HOME", (".config",))):
        place = Path(environment.get(variable, ""))
        if place.is_absolute():
            return place.joinpath(*below, "supervisor")
    return None


def user_config_file(environment: Environment) -> Path | None:
    """The user's config.toml, None if the environment names no home."""
    folder = user_config_folder(environment)
    return folder / "config.toml" if folder else None


def ancestor_settings_file(environment: Environment) -> Path | None:
    """The file in which people who come from the ancestor have their budgets."""
    folder = user_config_folder(environment)
    return folder.parent / "opencode" / "reflection.yaml" if folder else None


class _AncestorSettings(Struct, frozen=True, rename="camel"):
    """The keys of reflection.yaml that have a counterpart here."""

    max_attempts: CONTINUATION_BUDGET | None = None
    goal_max_tokens: Annotated[int, Meta(ge=1)] | None = None
    goal_max_duration_ms: Annotated[int, Meta(ge=1)] | None = None
    supervisor_resume_paused: bool | None = None


def _read_ancestor_settings(path: Path, files: FilesInForce) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The valid values of the ancestor's file under our names, and its errors. Never raises."""
    try:
        text = read_whole(files.path_in_force(path), FILE_LIMIT, follow=True)
        table = msgspec.yaml.decode(text, type=dict[str, Any] | None) or {}
    except (FileNotFoundError, NotADirectoryError):
        return {}, ()
    except (OSError, UnusableFileError, ValueError, RecursionError) as error:
        said = " ".join(str(error).replace(" | null", "").split())
        return {}, (f"{path}: {said}; it says nothing",)
    known = {field.encode_name for field in msgspec.structs.fields(_AncestorSettings)}
    own, wrongs = fit_toml_fields(_AncestorSettings, {key: table[key] for key in table if key in known})
    milliseconds = own.goal_max_duration_ms
    values = {
        "max_attempts": own.max_attempts,
        "goal_max_tokens": own.goal_max_tokens,
        "goal_max_seconds": None if milliseconds is None else -(-milliseconds // 1000),
        "resume_paused": own.supervisor_resume_paused,
    }
    problems = tuple(f"{path}: {wrong.key[0]}: {wrong.said}" for wrong in wrongs)
    return {name: value for name, value in values.items() if value is not None}, problems


ORGANISATION: Final = "the organisation's config.toml"


class SettingSource(Struct, frozen=True):
    """The values that one file sets, by the names of `Settings`."""

    name: str
    values: Mapping[str, Any]


class ConfigurationFile:
    """Implements `Configuration` with the files in the user's folder. A missing file means defaults.

    What a team's organisation sets counts before what the user sets, value by value.
    """

    def __init__(self, environment: Environment, files: FilesInForce = UNHELD) -> None:
        self._path = user_config_file(environment)
        self._ancestor = ancestor_settings_file(environment)
        self._organisation = organisation_file("config.toml")
        self._sources = (self._organisation, self._path, self._ancestor)
        self._files = files
        self._seen = SeenFiles()
        self._paths: tuple[Path, ...] | None = None
        self._known: tuple[Settings, GateFileSettings]

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        settings, words = self.read()
        return settings, words.problems

    def sources(self) -> tuple[SettingSource, ...]:
        """The files that set values; where both set one, the first counts."""
        _, words = self.read()
        own = SettingSource("config.toml", words.file.table)
        return (
            SettingSource(ORGANISATION, self._read_organisation()[0]),
            own,
            SettingSource("reflection.yaml", self._read_ancestor()[0]),
        )

    def read(self) -> tuple[Settings, GateFileSettings]:
        """The settings in force, and the gate settings that config.toml itself contains."""
        paths = tuple(self._files.path_in_force(path) for path in self._sources if path)
        if any(self._seen.is_new(path) for path in paths) or paths != self._paths:
            self._paths, self._known = paths, self._read()
        return self._known

    def _read(self) -> tuple[Settings, GateFileSettings]:
        name, problems = str(self._path), []
        inherited, unusable = self._read_ancestor()
        try:
            path = self._path
            file = read_toml(self._files.path_in_force(path), name, follow=True) if path else TomlFile(name)
        except UnusableError as error:
            file = TomlFile(name)
            problems = [f"{name}: {error}; the defaults are in force"]
        decided, more_unusable = self._read_organisation()
        file.table = _overlay(file.table, decided)
        settings, wrongs = fit_toml_fields(Settings, {**inherited, **file.table})
        gate, more = split_valid_gates(settings.gate)
        settings = replace(settings, gate=gate)
        wrongs += more
        settings, more = _drop_invalid_combinations(settings)
        wrongs += more
        if too_long := _stop_seconds_error(settings):
            wrongs.append(too_long)
            settings = replace(settings, stop_seconds=Settings().stop_seconds)
        found = gather_gate_settings(file, settings.gates, gate, wrongs)
        return settings, replace(found, problems=(*problems, *found.problems, *unusable, *more_unusable))

    def _read_organisation(self) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Return what the organisation sets, nothing where some of it is wrong, and what that is."""
        path = self._organisation
        try:
            file = read_toml(self._files.path_in_force(path), str(path), follow=False)
        except UnusableError as error:
            return {}, (f"{path}: {error}; it says nothing",)
        _, wrongs = fit_toml_fields(Settings, file.table)
        return {} if wrongs else file.table, field_error_lines(file, wrongs)

    def _read_ancestor(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        return _read_ancestor_settings(self._ancestor, self._files) if self._ancestor else ({}, ())


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of both tables, those of `above` where both set one."""
    tables = {name for name in below.keys() & above.keys() if isinstance(below[name], dict)}
    deeper = {name: _overlay(below[name], above[name]) for name in tables if isinstance(above[name], dict)}
    return {**below, **above, **deeper}


def _drop_invalid_combinations(settings: Settings) -> tuple[Settings, list[FieldError]]:
    """The settings without combinations that say nothing, or that say a price twice, and their errors."""
    wrongs, models, workers = [], dict(settings.models), settings.workers
    for name, model in settings.models.items():
        fault = ""
        if (model.input_cents is None) != (model.output_cents is None):
            fault = "needs both input_cents and output_cents, or neither; it has no price"
        elif model.input_cents is not None and model.model in settings.price:
            fault = f'its price is that of [price."{model.model}"] too: name it once; that one is in force'
        if fault:
            wrongs.append(FieldError(("models", name), fault))
            models[name] = replace(model, input_cents=None, output_cents=None)
    if workers.backend == "command" and not workers.command:
        wrongs.append(FieldError(("workers", "backend"), 'needs workers.command; "auto" is in force'))
        workers = replace(workers, backend="auto")
    phases = dict(settings.governance.phase)
    for phase, rules in phases.items():
        if rules.default_mode not in rules.modes:
            fault = f'"{rules.default_mode}" is none of its modes; "{rules.modes[0]}" is in force'
            wrongs.append(FieldError(("governance", "phase", phase, "default_mode"), fault))
            phases[phase] = replace(rules, default_mode=rules.modes[0])
    governance = replace(settings.governance, phase=phases)
    return replace(settings, models=models, workers=workers, governance=governance), wrongs


def _stop_seconds_error(settings: Settings) -> FieldError | None:
    """Every timeout must be shorter than the one around it: judging includes each gate and model call."""
    held = {
        "gates.seconds": settings.gates.seconds,
        "gates.advisory_seconds": settings.gates.advisory_seconds,
        "judge.seconds": settings.judge.seconds,
        **{f"gate.{name}.seconds": gate.seconds or 0 for name, gate in settings.gate.items()},
    }
    longest = max(held, key=lambda name: held[name])
    if settings.stop_seconds > held[longest]:
        return None
    default = Settings().stop_seconds
    said = f"must be greater than {longest}, {held[longest]}; the default {default} is in force"
    return FieldError(("stop_seconds",), said)
