"""What is in force where several speak of a gate: the project's signs, its own file, the user's file.

The laws of this file:

- The user wins, value by value. Where the user names the command, the project's file has no say in that gate.
- A command that the project's file names or changes is the project's word; one that stays as it was detected
  is still a detected one, whatever else of it the file changes.
- What cannot be done as it is said (a change to a gate that is not there) is told. The user's file speaks of
  all projects, so there it is no fault.

Nothing here looks at a disk or knows what is approved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.settings.gate_words import PROJECT_FILE, GateWords
from sidecar.adapters.settings.toml_fields import Wrong, dotted, meant, worded
from sidecar.adapters.settings.toml_file import Key
from sidecar.model.gate import Gate, Kind, Origin
from sidecar.model.settings import Gates, OwnGate, Settings

KINDS: Final = {kind.value: kind for kind in Kind if kind not in (Kind.PR, Kind.CI)}
"""Kinds that a file may name. The ID of a new gate may name one too: `lint:web`."""
USER_FILE: Final = "your config.toml"
WAITS: Final = frozenset(("seconds", "advisory_seconds"))
USERS_OWN: Final = "without_goal"
"""Whether stops without a goal are looked at is the user's to say."""
TAKEN: Final = ("kind", "folder", "required", "seconds", "counts", "alone", "least")
"""Values that a file gives to a gate as they are."""


class Merged(Struct, frozen=True):
    """The gates that a file speaks of, the others as detected, and what could not be done."""

    configured: tuple[Gate, ...]
    others: tuple[Gate, ...]
    problems: tuple[str, ...]


class _Word(Struct, frozen=True):
    """What one file says of one gate, and where."""

    gate: OwnGate
    origin: Origin
    place: str
    said: frozenset[str]


def within(project: GateWords, limits: Settings) -> tuple[GateWords, tuple[str, ...]]:
    """What the project's file says, without waits that the user's stop_seconds does not hold; and these."""
    file, limit = project.file, limits.stop_seconds
    waits: dict[Key, int | None] = {
        ("gates", name): getattr(project.gates, name) for name in project.said & WAITS
    }
    waits |= {("gate", name, "seconds"): gate.seconds for name, gate in project.gate.items()}
    long = {key for key, seconds in waits.items() if (seconds or 0) >= limit}
    said = project.said - {key[1] for key in long if key[0] == "gates"}
    gate = {
        name: replace(gate, seconds=None) if ("gate", name, "seconds") in long else gate
        for name, gate in project.gate.items()
    }
    why = f"must be less than the user's stop_seconds, {limit}; it is ignored"
    return replace(project, said=said, gate=gate), worded(file, [Wrong(key, why) for key in long])


def settings_in_force(user: GateWords, project: GateWords) -> Gates:
    """Take each value of `[gates]` from the user, else from the project, else by default."""
    theirs = project.said - {USERS_OWN}
    words = {**dict.fromkeys(theirs, project.gates), **dict.fromkeys(user.said, user.gates)}
    return replace(Gates(), **{name: getattr(gates, name) for name, gates in words.items()})


def overstepped(project: GateWords) -> tuple[str, ...]:
    """What the project's file says and may not."""
    if USERS_OWN not in project.said:
        return ()
    place = project.file.place(("gates", USERS_OWN))
    return (f"{place}: gates.{USERS_OWN}: only the user's own file may say this; it is ignored",)


def merged(detected: Sequence[Gate], user: GateWords, project: GateWords) -> Merged:
    """Lay the project's words over what was detected, and the user's over both."""
    known = {gate.id: gate for gate in reversed(detected)}
    configured, problems = [], []
    named = dict.fromkeys((*user.gate, *project.gate))
    for name in named:
        gate, problem = _in_force(name, known, user, project)
        configured += [gate] if gate else []
        problems += [problem] if problem else []
    others = tuple(known[name] for name in dict.fromkeys(gate.id for gate in detected) if name not in named)
    return Merged(tuple(configured), others, tuple(problems))


def _in_force(
    name: str, known: Mapping[str, Gate], user: GateWords, project: GateWords
) -> tuple[Gate | None, str]:
    """The gate as both files leave it, None where one takes it away or none names a command."""
    gate, enabled = known.get(name), True
    for word in _words(name, user, project):
        if gate is None and word.gate.command is None:
            return None, _missing(name, known, project) if word.origin is Origin.PROJECT else ""
        gate = _changed(gate or _new(name, word), word)
        enabled = word.gate.enabled if "enabled" in word.said else enabled
    return (gate if enabled else None), ""


def _words(name: str, user: GateWords, project: GateWords) -> Iterator[_Word]:
    """What is said of it, the last word last."""
    users = user.gate.get(name)
    theirs = project.gate.get(name)
    if theirs and not (users and users.command is not None):
        yield _word(name, theirs, project, Origin.PROJECT)
    if users:
        yield _word(name, users, user, Origin.USER)


def _word(name: str, gate: OwnGate, words: GateWords, origin: Origin) -> _Word:
    line = words.file.line(("gate", name))
    place = f"{PROJECT_FILE if origin is Origin.PROJECT else USER_FILE}{f':{line}' if line else ''}"
    return _Word(gate, origin, place, frozenset(words.file.table["gate"][name]))


def _missing(name: str, known: Mapping[str, Gate], project: GateWords) -> str:
    key = ("gate", name)
    said = "no such gate is detected here, and a new one needs a command"
    return f"{project.file.place(key)}: {dotted(key)}: {said}{meant(name, known)}"


def _new(name: str, word: _Word) -> Gate:
    """A gate that nothing in the project suggests."""
    kind = KINDS.get(word.gate.kind or name.partition(":")[0], Kind.CHECK)
    return Gate(
        id=name,
        command=word.gate.command or "",
        why=f"named in {word.place}",
        kind=kind,
        origin=word.origin,
        counts=kind is Kind.TESTS,
    )


def _changed(gate: Gate, word: _Word) -> Gate:
    """The gate with what one file says of it."""
    values = {name: value for name in TAKEN if (value := getattr(word.gate, name)) is not None}
    if "kind" in values:
        values["kind"] = KINDS[values["kind"]]
    command = word.gate.command
    if command is not None and (command != gate.command or word.origin is Origin.USER):
        values |= {"command": command, "origin": word.origin, "behind": ""}
    changed = replace(gate, **values)
    if changed == gate or gate.why.endswith(word.place):
        return changed
    return replace(changed, why=f"{gate.why}; changed in {word.place}")
