"""Lists the gates of a project: detected, configured, and those of its code host, with their approval.

A command from the project, configured or detected, runs only after the user approved it (law 12). A command
in the user's own file is approved by being there. Gates that only read from a code host need no approval:
their commands are fixed in our code.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.approvals import (
    Approval,
    TrustFile,
    approval_covers,
    find_approval,
    list_instruction_gates,
)
from sidecar.evidence.ports import RemoteGates
from sidecar.kernel.gate import REMOTE_GATE_KINDS, AvailableGates, Gate, GateOrigin, Kind
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import ConfiguredGate, GateSettings, Settings
from sidecar.platform.configuration import ConfigurationFile, GateFileSettings, read_project_gates
from sidecar.platform.git import find_checkout
from sidecar.platform.steering import PROJECT_CONFIGURATION, UNHELD, FilesInForce
from sidecar.platform.toml import (
    USER_FILE_ONLY_FAULT,
    FieldError,
    TomlKey,
    field_error_lines,
    suggest_nearest_name,
)

# --- Merging what was detected, the project's file and the user's file --------------------------------------
# Rules:
#
# - The user's file wins, value by value. If it names a gate's command, the project's file is ignored for that
#   gate.
# - A command that the project's file sets or changes has the origin PROJECT; an unchanged detected command
#   stays DETECTED, whatever else the file changes about the gate.
# - A change to a gate that does not exist is reported as a problem, but not for the user's file, because it
#   applies to all projects.
#
# Nothing here reads files or knows about approvals.


NAMEABLE_GATE_KINDS: Final = {kind.value: kind for kind in Kind if kind not in (Kind.PR, Kind.CI)}
"""Kinds that a file may name. The ID of a new gate may name one too: `lint:web`."""
USER_FILE: Final = "your config.toml"
WAIT_SETTINGS: Final = frozenset(("seconds", "advisory_seconds"))
USER_ONLY_SETTINGS: Final = frozenset(("at_once", "trial_seconds", "without_goal"))
"""Only the user may decide how many checks run and are tried, and whether stops without a goal are judged."""
COPIED_GATE_FIELDS: Final = ("kind", "folder", "python", "required", "seconds", "counts", "alone", "least")
"""Values that are copied unchanged from a file to a gate."""


class MergedGates(Struct, frozen=True):
    """The gates that a file mentions, the other detected gates, and the problems found."""

    configured: tuple[Gate, ...]
    others: tuple[Gate, ...]
    problems: tuple[str, ...]


class _GateLayer(Struct, frozen=True):
    """What one file sets for one gate, and where."""

    gate: ConfiguredGate
    origin: GateOrigin
    place: str
    said: frozenset[str]


def limit_project_settings(
    project: GateFileSettings, limits: Settings
) -> tuple[GateFileSettings, tuple[str, ...]]:
    """Drop and report what only the user may set, and waits not less than the user's stop_seconds."""
    limit = limits.stop_seconds
    waits: dict[TomlKey, int | None] = {
        ("gates", name): getattr(project.gates, name) for name in project.said & WAIT_SETTINGS
    }
    waits |= {("gate", name, "seconds"): gate.seconds for name, gate in project.gate.items()}
    long = {key for key, seconds in waits.items() if (seconds or 0) >= limit}
    said = project.said - {key[1] for key in long if key[0] == "gates"}
    gate = {
        name: replace(gate, seconds=None) if ("gate", name, "seconds") in long else gate
        for name, gate in project.gate.items()
    }
    why = f"must be less than the user's stop_seconds, {limit}; it is ignored"
    wrongs = [FieldError(key, why) for key in long]
    fault = f"{USER_FILE_ONLY_FAULT}; it is ignored"
    wrongs += [FieldError(("gates", name), fault) for name in USER_ONLY_SETTINGS & said]
    limited = replace(project, said=said - USER_ONLY_SETTINGS, gate=gate)
    return limited, field_error_lines(project.file, wrongs)


def gate_settings_in_force(user: GateFileSettings, project: GateFileSettings) -> GateSettings:
    """Take each value of `[gates]` from the user's file, else the project's file, else the default."""
    words = {**dict.fromkeys(project.said, project.gates), **dict.fromkeys(user.said, user.gates)}
    return replace(GateSettings(), **{name: getattr(gates, name) for name, gates in words.items()})


def merge_gates(detected: Sequence[Gate], user: GateFileSettings, project: GateFileSettings) -> MergedGates:
    """Apply the project's file to the detected gates, then the user's file to both."""
    known = {gate.id: gate for gate in reversed(detected)}
    configured, problems = [], []
    named = dict.fromkeys((*user.gate, *project.gate))
    for name in named:
        gate, problem = _merge_gate(name, known, user, project)
        configured += [gate] if gate else []
        problems += [problem] if problem else []
    others = tuple(known[name] for name in dict.fromkeys(gate.id for gate in detected) if name not in named)
    return MergedGates(tuple(configured), others, tuple(problems))


def _merge_gate(
    name: str, known: Mapping[str, Gate], user: GateFileSettings, project: GateFileSettings
) -> tuple[Gate | None, str]:
    """Merge one gate; None where a file disables it, or where no command is known."""
    gate, enabled = known.get(name), True
    for word in _gate_layers(name, user, project):
        if gate is None and word.gate.command is None:
            of_project = word.origin is GateOrigin.PROJECT
            return None, _missing_gate_message(name, known, project) if of_project else ""
        gate = _apply_gate_layer(gate or _new_gate(name, word), word)
        enabled = word.gate.enabled if "enabled" in word.said else enabled
    return (gate if enabled else None), ""


def _gate_layers(name: str, user: GateFileSettings, project: GateFileSettings) -> Iterator[_GateLayer]:
    """Yield what the files set for this gate; the later layer wins."""
    users = user.gate.get(name)
    theirs = project.gate.get(name)
    if theirs and not (users and users.command is not None):
        yield _make_gate_layer(name, theirs, project, GateOrigin.PROJECT)
    if users:
        yield _make_gate_layer(name, users, user, GateOrigin.USER)


def _make_gate_layer(
    name: str, gate: ConfiguredGate, words: GateFileSettings, origin: GateOrigin
) -> _GateLayer:
    line = words.file.line(("gate", name))
    file = PROJECT_CONFIGURATION if origin is GateOrigin.PROJECT else USER_FILE
    place = f"{file}{f':{line}' if line else ''}"
    return _GateLayer(gate, origin, place, frozenset(words.file.table["gate"][name]))


def _missing_gate_message(name: str, known: Mapping[str, Gate], project: GateFileSettings) -> str:
    said = "no such check is detected here, and a new one needs a command"
    wrong = FieldError(("gate", name), f"{said}{suggest_nearest_name(name, known)}")
    return field_error_lines(project.file, (wrong,))[0]


def _new_gate(name: str, word: _GateLayer) -> Gate:
    """Create a gate that was not detected in the project."""
    kind = NAMEABLE_GATE_KINDS.get(word.gate.kind or name.partition(":")[0], Kind.CHECK)
    return Gate(
        id=name,
        command=word.gate.command or "",
        why=f"named in {word.place}",
        kind=kind,
        origin=word.origin,
        counts=kind is Kind.TESTS,
    )


def _apply_gate_layer(gate: Gate, word: _GateLayer) -> Gate:
    """Apply one file's values to a gate."""
    values = {name: value for name in COPIED_GATE_FIELDS if (value := getattr(word.gate, name)) is not None}
    if "kind" in values:
        values["kind"] = NAMEABLE_GATE_KINDS[values["kind"]]
    command = word.gate.command
    if command is not None and (command != gate.command or word.origin is GateOrigin.USER):
        values |= {"command": command, "origin": word.origin, "behind": ""}
    changed = replace(gate, **values)
    if changed == gate or gate.why.endswith(word.place):
        return changed
    return replace(changed, why=f"{gate.why}; changed in {word.place}")


# --- The catalog: all gates of a project, with approvals ----------------------------------------------------


GATE_LIMIT: Final = 100
"""Gates listed per project, the configured ones first."""

DetectGates = Callable[[Path, Environment], tuple[Gate, ...]]


class ProjectCatalog:
    """Implements `GateCatalog`."""

    def __init__(
        self,
        user: Environment,
        trust: TrustFile,
        detect: DetectGates,
        code_host: RemoteGates | None = None,
        files: FilesInForce = UNHELD,
    ) -> None:
        """`user`: environment that locates the user's folders. Without `code_host`: no PR and CI gates."""
        self._configuration = ConfigurationFile(user, files)
        self._files = files
        self._trust = trust
        self._detect = detect
        self._code_host = code_host

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:
        limits, user = self._configuration.read()
        own, wrong = limit_project_settings(read_project_gates(project, self._files), limits)
        settings = gate_settings_in_force(user, own)
        detected, failed = (
            await self._detected(place or project, environment) if settings.detect else ((), ())
        )
        found = merge_gates(detected, user, own)
        wanted = {Kind.PR: settings.pr, Kind.CI: settings.ci}
        remote = await self._code_host.offer(project, environment, wanted) if self._code_host else ()
        required = [gate for gate in remote if gate.required]
        offered = [gate for gate in remote if not gate.required]
        members = tuple(gate for gate in found.others if gate.covered)
        others = (gate for gate in found.others if not gate.covered)
        gates = (*found.configured, *required, *others, *offered)
        surplus = f"{len(gates)} checks; only the first {GATE_LIMIT} are looked at"
        last = (surplus if len(gates) > GATE_LIMIT else "", self._trust.fault())
        problems = (*user.problems, *own.problems, *wrong, *failed, *found.problems, *filter(None, last))
        return AvailableGates(
            gates=(approved := self._approved(project, gates[:GATE_LIMIT])),
            members=_approved_with_above(members[:GATE_LIMIT], approved),
            problems=problems,
            settings=settings,
            instructions=self._approved(project, list_instruction_gates(project)),
        )

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        """Approve exactly these gates, for the user saw and wants them. Raises BadInputError, OSError."""
        self._trust.approve(project, gates)

    async def _detected(
        self, project: str, environment: Environment
    ) -> tuple[tuple[Gate, ...], tuple[str, ...]]:
        try:
            return await asyncio.to_thread(self._detected_around, Path(project), environment), ()
        except Exception as error:  # noqa: BLE001 - it reads what hostile projects wrote; a stop must not fail
            return (), (f"checks could not be detected: {type(error).__name__}: {error}"[:300],)

    def _detected_around(self, folder: Path, environment: Environment) -> tuple[Gate, ...]:
        """Detect in a folder, or at the top of its repository where the folder has no check of its own."""
        checkout = find_checkout(folder)
        found = self._detect(folder, environment)
        if found or checkout is None or checkout.top in (folder.resolve(), Path.home()):
            return found
        above = os.path.relpath(checkout.top, folder.resolve())
        return tuple(
            replace(gate, folder=os.path.normpath(os.path.join(above, gate.folder)))  # noqa: PTH118 - "..", too
            for gate in self._detect(checkout.top, environment)
        )

    def _approved(self, project: str, gates: Iterable[Gate]) -> tuple[Gate, ...]:
        approvals = self._trust.approvals(project)
        return tuple(_with_approval(gate, find_approval(approvals, gate)) for gate in gates)


def _with_approval(gate: Gate, approval: Approval | None) -> Gate:
    needless = gate.origin is GateOrigin.USER or gate.kind in REMOTE_GATE_KINDS
    approved = needless or approval_covers(approval, gate)
    return replace(gate, approved=approved, changed=approval is not None and not approved)


def _approved_with_above(members: Iterable[Gate], gates: Sequence[Gate]) -> tuple[Gate, ...]:
    """Approve the tests of packages that an approved gate runs, too."""
    above = [gate.folder for gate in gates if gate.kind is Kind.TESTS and gate.approved]
    return tuple(
        replace(gate, approved=any(not folder or gate.folder.startswith(f"{folder}/") for folder in above))
        for gate in members
    )
