"""Reads TOML files that people write: values, the line of each value, and conversion to a Struct.

Values come from tomllib alone. Lines are for messages only, and found line by line: what looks like a key in
a string of several lines counts as one. A file that cannot be used gives one error of one line. Which
settings exist is not known here.
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, TypeGuard, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from sidecar.kernel.decoding import allowed_values
from sidecar.platform.files import (
    OWNER_FILE,
    OWNER_FOLDER,
    UnusableFileError,
    read_whole,
    write_whole,
)

FILE_LIMIT: Final = 64 * 1024
"""Maximum size of a file in bytes."""
KEY_DEPTH_LIMIT: Final = 4
"""Parts of a key whose line is stored. No setting has more; a hostile key may have thousands."""
LINE_DOTS_LIMIT: Final = 200
"""Maximum dots in one line. tomllib takes seconds for a key of thousands of parts: its time is quadratic."""
KEY_PART: Final = re.compile(r"""[A-Za-z0-9_-]++|"(?:[^"\\]|\\.)*+"|'[^']*+'""")
KEY_LINE: Final = re.compile(
    rf"\s*+(\[?\[?)\s*+((?:{KEY_PART.pattern})(?:\s*+\.\s*+(?:{KEY_PART.pattern}))*+)\s*+(?:=|\]\]?\s*+(?:#.*)?$)"
)
"""A table's header, or the beginning of a pair."""
STRING: Final = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
VALUE: Final = re.compile(rf"""[ \t]*(?:{STRING}|\[(?:[^]"'#]|{STRING})*+\])""")
"""A string, or a list without comments in it."""

TomlKey = tuple[str, ...]


class UnusableError(Exception):
    """The file cannot be read field by field. The message is one line."""


class TomlFile:
    """The content of a file. `name` is its name in messages."""

    def __init__(self, name: str, source: str = "") -> None:
        """Raise ValueError if the source is not TOML, RecursionError if it is nested too deep."""
        if any(line.count(".") > LINE_DOTS_LIMIT for line in source.split("\n")):
            raise RecursionError
        self.name = name
        self.table: Mapping[str, Any] = tomllib.loads(source)
        self._source = source

    def line(self, key: TomlKey) -> int:
        """The first line that sets the key, from 1; else the line of the table that contains it; else 0."""
        return next((self._lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in self._lines), 0)

    def place(self, key: TomlKey) -> str:
        """The location of a key, as `file:12`."""
        line = self.line(key)
        return f"{self.name}:{line}" if line else self.name

    @cached_property
    def _lines(self) -> dict[TomlKey, int]:
        return _key_lines(self._source)


def read_toml(path: Path, name: str = "", *, follow: bool) -> TomlFile:
    """Read a file; a missing file counts as empty. Raises UnusableError.

    `follow`: a symbolic link is followed; otherwise it is refused.
    """
    name = name or str(path)
    try:
        return TomlFile(name, read_whole(path, FILE_LIMIT, follow=follow).decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return TomlFile(name)
    except UnicodeDecodeError as error:
        raise UnusableError(f"not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise UnusableError("nested too deep") from error
    except (OSError, UnusableFileError) as error:
        raise UnusableError(str(error)) from error
    except ValueError as error:  # a TOMLDecodeError, or a number or date that Python refuses
        raise UnusableError(f"no TOML: {error}") from error


def _key_lines(source: str) -> dict[TomlKey, int]:
    """The first line of every key, and of every table that a dotted key names on its way."""
    lines: dict[TomlKey, int] = {}
    table: TomlKey = ()
    for number, line in enumerate(source.split("\n"), 1):
        if found := KEY_LINE.match(line):
            key = tuple(part[1:-1] if part[0] in "\"'" else part for part in KEY_PART.findall(found[2]))
            if found[1]:
                table = key
            else:
                key = (*table, *key)
            for end in range(1, len(key[:KEY_DEPTH_LIMIT]) + 1):
                lines.setdefault(key[:end], number)
    return lines


# --- Changing one value of a file, and no other byte --------------------------------------------------------


def write_toml_value(path: Path, key: str, wanted: str | list[str]) -> None:
    """Write a string or list at the root of the file, which is created if missing. A link is followed.

    Raises UnusableError for a file that is not TOML or cannot be changed safely, OSError.
    """
    read_toml(path, follow=True)
    path = path.resolve()
    try:
        raw, mode = read_whole(path, FILE_LIMIT), path.stat().st_mode
    except FileNotFoundError:
        raw, mode = b"", OWNER_FILE
    path.parent.mkdir(mode=OWNER_FOLDER, parents=True, exist_ok=True)
    lead = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    edited = edit_toml_value(raw.removeprefix(lead).decode(), key, wanted)
    write_whole(path, lead + edited.encode(), durable=True)
    path.chmod(mode & 0o777)


def edit_toml_value(source: str, key: str, wanted: str | list[str]) -> str:
    """Return the source with a string or list set under a key at its root. Raises UnusableError.

    A list with a comment in it is not changed, because the comment would be lost.
    """
    line = f"{key} = {msgspec.json.format(msgspec.json.encode(wanted), indent=0).decode()}"
    meant = {**tomllib.loads(source), key: wanted}
    if meant == tomllib.loads(source):
        return source
    values = re.finditer(rf"^[\"']?{re.escape(key)}[\"']?[ \t]*={VALUE.pattern}", source, re.MULTILINE)
    end = "\r\n" if "\r\n" in source else "\n"
    for start, stop, text in (*((*one.span(), line) for one in values), (0, 0, line + end)):
        made = source[:start] + text + source[stop:]
        with suppress(ValueError):
            if tomllib.loads(made) == meant:
                return made
    raise UnusableError(f"it cannot be changed safely. Write this into it: {line}")


# --- Conversion to a Struct, field by field: a wrong value is reported and falls back -----------------------
# Each field is converted separately, so that one wrong value does not hide the next one.


SHOWN_VALUE_LENGTH: Final = 40
"""Maximum characters of a wrong value or name that its message repeats."""
USER_FILE_ONLY_FAULT: Final = "only the user's own file may say this"
UNKNOWN_NAMES_LIMIT: Final = 20
"""Maximum unknown names of one table that are reported individually."""
BARE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""A name that messages show without quotes."""

S = TypeVar("S", bound=Struct)


class FieldError(Struct, frozen=True):
    """An error in one field."""

    key: TomlKey
    said: str


def fit_toml_fields(
    kind: type[S], table: Mapping[str, Any], elsewhere: Collection[str] = ()
) -> tuple[S, list[FieldError]]:
    """Convert the valid values of `table`; return the Struct and the errors in the rest.

    `elsewhere`: names that another file may set, and this one may not.
    """
    return _fit_struct(kind(), table, (), elsewhere)


def field_error_lines(file: TomlFile, wrongs: Collection[FieldError]) -> tuple[str, ...]:
    """One line per error, with file and line number, in the order of the file."""
    ordered = sorted(wrongs, key=lambda wrong: file.line(wrong.key))
    return tuple(f"{file.place(wrong.key)}: {dotted_toml_key(wrong.key)}: {wrong.said}" for wrong in ordered)


def dotted_toml_key(key: TomlKey) -> str:
    """A key as written in TOML, on one line."""
    return ".".join(name if BARE_NAME.fullmatch(name) else _quoted_key_part(name) for name in key)


def _quoted_key_part(name: str) -> str:
    return '"' + short_value_repr(name)[1:].rstrip("'\"") + '"'


def _fit_struct(
    default: S, table: Mapping[str, Any], at: TomlKey, elsewhere: Collection[str] = ()
) -> tuple[S, list[FieldError]]:
    """The default with every valid value in its place, and the errors."""
    values, wrongs = _fit_values(type(default), table, at, elsewhere)
    return msgspec.structs.replace(default, **values), wrongs


def _fit_values(
    kind: type[Struct], table: Mapping[str, Any], at: TomlKey, elsewhere: Collection[str] = ()
) -> tuple[dict[str, Any], list[FieldError]]:
    fields = _fields_by_name(kind)
    wrongs = _unknown_name_errors([name for name in table if name not in fields], at, fields, elsewhere)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in fields:
            continue
        found, wrong = _fit_value(fields[name], value, (*at, name))
        wrongs += wrong
        if not isinstance(found, msgspec.UnsetType):
            values[fields[name].name] = found
    return values, wrongs


@cache
def _fields_by_name(kind: type[Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a Struct by their TOML names, cached: this is half the time of loading the settings."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _unknown_name_errors(
    names: list[str], at: TomlKey, known: Collection[str], elsewhere: Collection[str]
) -> list[FieldError]:
    """One error per unknown name up to UNKNOWN_NAMES_LIMIT, and one for the rest."""
    wrongs = []
    for name in names[:UNKNOWN_NAMES_LIMIT]:
        near = suggest_nearest_name(name, known, lambda near: dotted_toml_key((*at, near)))
        said = USER_FILE_ONLY_FAULT if name in elsewhere else f"there is no such setting{near}"
        wrongs.append(FieldError((*at, name), said))
    if rest := names[UNKNOWN_NAMES_LIMIT:]:
        wrongs.append(FieldError((*at, rest[0]), f"and {len(rest) - 1} more: there are no such settings"))
    return wrongs


def _fit_value(
    field: msgspec.structs.FieldInfo, value: object, key: TomlKey
) -> tuple[object, list[FieldError]]:
    """The value of one field, UNSET if it is wrong, and the errors."""
    if isinstance(value, dict):
        if _is_table(field.type):
            default = field.type() if field.default is msgspec.NODEFAULT else field.default
            return _fit_struct(default, value, key)
        if get_origin(field.type) is dict:
            names, kind = get_args(field.type)
            known = get_args(names) or value  # any, where the user chooses them
            wrongs = _unknown_name_errors([name for name in value if name not in known], key, known, ())
            entries, more = _fit_entries(kind, {name: value[name] for name in value if name in known}, key)
            return entries, [*wrongs, *more]
    try:
        return msgspec.convert(value, field.type), []
    except msgspec.ValidationError as error:
        said = _misfit_text(error, field.type, value)
        return msgspec.UNSET, [FieldError(key, f"{said}; {_fallback_text(field.default)}")]


def _misfit_text(error: msgspec.ValidationError, kind: object, value: object) -> str:
    """What is wrong with a value: the value itself, and where it must be one of several, which they are."""
    said = str(error).replace(" | null", "")
    allowed = allowed_values(said, msgspec.json.schema(kind))
    return f"{said}{allowed}" if allowed else f"{said} (got {short_value_repr(value)})"


def _fit_entries(kind: object, table: dict[str, Any], at: TomlKey) -> tuple[object, list[FieldError]]:
    """Entries whose names the user chooses; those of a wrong form are left out."""
    entries: dict[str, Any] = {}
    wrongs: list[FieldError] = []
    for name, value in table.items():
        key = (*at, name)
        if not _is_table(kind):
            try:
                entries[name] = msgspec.convert(value, type=kind)
            except msgspec.ValidationError as error:
                wrongs.append(FieldError(key, f"{_misfit_text(error, kind, value)}; it is ignored"))
        elif isinstance(value, dict):
            values, wrong = _fit_values(kind, value, key)
            wrongs += wrong
            required = (one.name for one in msgspec.structs.fields(kind) if one.required)
            if lacking := [name for name in required if name not in values]:
                wrongs.append(FieldError(key, f"needs {', '.join(lacking)}; it is ignored"))
            else:
                entries[name] = kind(**values)
        else:
            said = f"Expected a table `[{dotted_toml_key(key)}]` (got {short_value_repr(value)})"
            wrongs.append(FieldError(key, f"{said}; it is ignored"))
    return entries, wrongs


def _is_table(kind: object) -> TypeGuard[type[Struct]]:
    return isinstance(kind, type) and issubclass(kind, Struct)


def suggest_nearest_name(name: str, known: Collection[str], worded: Callable[[str], str] = str) -> str:
    """A question that suggests the nearest known name, "" if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - for a misspelling only

    near = get_close_matches(name[:SHOWN_VALUE_LENGTH], known, n=1)
    return f"; did you mean {worded(near[0])}?" if near else ""


def _fallback_text(default: object) -> str:
    if default is None or isinstance(default, dict | msgspec.NODEFAULT.__class__):
        return "it is ignored"
    is_table = isinstance(default, Struct)
    return "its defaults are in force" if is_table else f"the default {default!r} is in force"


def short_value_repr(value: object) -> str:
    """The value on one line, shortened."""
    try:
        shown = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        shown = "a very long number"
    except RecursionError:
        shown = "a very deep table"
    return shown if len(shown) <= SHOWN_VALUE_LENGTH else f"{shown[: SHOWN_VALUE_LENGTH - 1]}…"
