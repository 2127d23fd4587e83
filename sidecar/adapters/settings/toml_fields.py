"""Fits what a TOML file says into a Struct, field by field: a wrong value is named and falls back.

The first value that is out of range must not hide the second, so each field is converted by itself.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Final, TypeGuard, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from sidecar.adapters.settings.toml_file import Key, TomlFile

SHOWN: Final = 40
"""Characters of a wrong value or name that its message repeats."""
USERS_ALONE: Final = "only the user's own file may say this"
UNKNOWN: Final = 20
"""Unknown names of one table that are told one by one."""
BARE: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""A name that messages show as it is."""

S = TypeVar("S", bound=Struct)


class Wrong(Struct, frozen=True):
    """What is wrong with one field."""

    key: Key
    said: str


def fit(kind: type[S], table: Mapping[str, Any], elsewhere: Collection[str] = ()) -> tuple[S, list[Wrong]]:
    """Everything in `table` that fits, and what is wrong with the rest.

    `elsewhere`: names that another file may say, and this one may not.
    """
    return _struct(kind(), table, (), elsewhere)


def worded(file: TomlFile, wrongs: Collection[Wrong]) -> tuple[str, ...]:
    """One line for each, with file and line number, in the order of the file."""
    ordered = sorted(wrongs, key=lambda wrong: file.line(wrong.key))
    return tuple(f"{file.place(wrong.key)}: {dotted(wrong.key)}: {wrong.said}" for wrong in ordered)


def dotted(key: Key) -> str:
    """A key as one writes it, on one line."""
    return ".".join(name if BARE.fullmatch(name) else _quoted(name) for name in key)


def _quoted(name: str) -> str:
    return '"' + short(name)[1:].rstrip("'\"") + '"'


def _struct(
    default: S, table: Mapping[str, Any], at: Key, elsewhere: Collection[str] = ()
) -> tuple[S, list[Wrong]]:
    """The default with everything that fits in its place."""
    values, wrongs = _values(type(default), table, at, elsewhere)
    return msgspec.structs.replace(default, **values), wrongs


def _values(
    kind: type[Struct], table: Mapping[str, Any], at: Key, elsewhere: Collection[str] = ()
) -> tuple[dict[str, Any], list[Wrong]]:
    fields = _fields(kind)
    wrongs = _unknown([name for name in table if name not in fields], at, fields, elsewhere)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in fields:
            continue
        found, wrong = _value(fields[name], value, (*at, name))
        wrongs += wrong
        if not isinstance(found, msgspec.UnsetType):
            values[fields[name].name] = found
    return values, wrongs


@cache
def _fields(kind: type[Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """The settings of a table by their names; half of what a load of the settings takes."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _unknown(names: list[str], at: Key, known: Collection[str], elsewhere: Collection[str]) -> list[Wrong]:
    """Name each of them, up to a number, and the rest in one."""
    wrongs = [
        Wrong(
            (*at, name),
            USERS_ALONE
            if name in elsewhere
            else "there is no such setting" + meant(name, known, lambda near: dotted((*at, near))),
        )
        for name in names[:UNKNOWN]
    ]
    rest = names[UNKNOWN:]
    return (
        [*wrongs, Wrong((*at, rest[0]), f"and {len(rest) - 1} more: there are no such settings")]
        if rest
        else wrongs
    )


def _value(field: msgspec.structs.FieldInfo, value: object, key: Key) -> tuple[object, list[Wrong]]:
    """The value of one field, UNSET where it does not fit."""
    if isinstance(value, dict):
        if _is_table(field.type):
            default = field.type() if field.default is msgspec.NODEFAULT else field.default
            return _struct(default, value, key)
        if get_origin(field.type) is dict:
            return _entries(get_args(field.type)[1], value, key)
    try:
        return msgspec.convert(value, field.type), []
    except msgspec.ValidationError as error:
        said = str(error).replace(" | null", "")
        return msgspec.UNSET, [Wrong(key, f"{said} (got {short(value)}); {_instead(field.default)}")]


def _entries(kind: type[Struct], table: dict[str, Any], at: Key) -> tuple[object, list[Wrong]]:
    """Tables that the person names; what is no table is left out."""
    entries: dict[str, Struct] = {}
    wrongs: list[Wrong] = []
    for name, value in table.items():
        key = (*at, name)
        if isinstance(value, dict):
            values, wrong = _values(kind, value, key)
            wrongs += wrong
            if lacking := [
                one.name for one in msgspec.structs.fields(kind) if one.required and one.name not in values
            ]:
                wrongs.append(Wrong(key, f"needs {', '.join(lacking)}; it is ignored"))
            else:
                entries[name] = kind(**values)
        else:
            said = f"Expected a table `[{dotted(key)}]` (got {short(value)}); it is ignored"
            wrongs.append(Wrong(key, said))
    return entries, wrongs


def _is_table(kind: object) -> TypeGuard[type[Struct]]:
    return isinstance(kind, type) and issubclass(kind, Struct)


def meant(name: str, known: Collection[str], worded: Callable[[str], str] = str) -> str:
    """A question about the nearest known name, "" where none is near."""
    near = difflib.get_close_matches(name[:SHOWN], known, n=1)
    return f"; did you mean {worded(near[0])}?" if near else ""


def _instead(default: object) -> str:
    if default is None or isinstance(default, dict | msgspec.NODEFAULT.__class__):
        return "it is ignored"
    return (
        "its defaults are in force" if isinstance(default, Struct) else f"the default {default!r} is in force"
    )


def short(value: object) -> str:
    """The value on one line, cut."""
    try:
        shown = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        shown = "a very long number"
    except RecursionError:
        shown = "a very deep table"
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
