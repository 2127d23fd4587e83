"""The user's config.toml. All its errors at once, each with its field; a wrong value falls back.

The first value that is out of range must not hide the second, so each field is converted by itself.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import msgspec
from msgspec import Struct

from sidecar.adapters.files import UnfitError, read_whole
from sidecar.model.settings import Settings

if TYPE_CHECKING:
    from sidecar.ports import Environment

CONFIG_LIMIT: Final = 64 * 1024
"""Bytes of a config.toml that is read."""
SHOWN: Final = 40
"""Characters of a wrong value or name that its message repeats."""


def user_folder(environment: Environment) -> Path | None:
    """Where the user's configuration lives, None where the environment names no home."""
    for variable, below in (("XDG_CONFIG_HOME", ()), ("HOME", (".config",))):
        place = Path(environment.get(variable, ""))
        if place.is_absolute():
            return place.joinpath(*below, "supervisor")
    return None


class ConfigurationFile:
    """The Configuration in the user's folder. A file that is not there says nothing."""

    def __init__(self, environment: Environment) -> None:
        folder = user_folder(environment)
        self._path = folder / "config.toml" if folder else None

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        try:
            table = _table(self._path) if self._path else {}
        except _UnusableError as error:
            return Settings(), (f"{self._path}: {error}; the defaults are in force",)
        values, errors = _fields(Settings, table, "")
        settings = Settings(**values)
        if too_long := _too_long(settings):
            errors.append(too_long)
            settings = msgspec.structs.replace(settings, stop_seconds=Settings().stop_seconds)
        return settings, tuple(f"{self._path}: {error}" for error in errors)


class _UnusableError(Exception):
    """The file says nothing that could be taken field by field."""


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_whole(path, CONFIG_LIMIT, follow=True).decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise _UnusableError(f"not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise _UnusableError("nested too deep") from error
    except (OSError, UnfitError) as error:
        raise _UnusableError(str(error)) from error
    except ValueError as error:  # a TOMLDecodeError, or a number or date that Python refuses
        raise _UnusableError(f"no TOML: {error}") from error


def _fields(kind: type[Struct], table: dict[str, Any], at: str) -> tuple[dict[str, Any], list[str]]:
    """The values of `table` that fit the Struct, and what is wrong with the others. `at` ends in a dot."""
    known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    errors = [_unknown(name, at, list(known)) for name in table if name not in known]
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name not in table:
            continue
        if _is_table(field.type) and isinstance(table[name], dict):
            inner, wrong = _fields(field.type, table[name], f"{at}{name}.")
            values[name] = field.type(**inner)
            errors += wrong
            continue
        try:
            values[name] = msgspec.convert(table[name], field.type)
        except msgspec.ValidationError as error:
            errors.append(f"{at}{name}: {error} (got {_short(table[name])}); {_default(field.default)}")
    return values, errors


def _is_table(kind: object) -> TypeGuard[type[Struct]]:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _unknown(name: str, at: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    shown = name if name.isidentifier() and len(name) <= SHOWN else _short(name)
    return f"{at}{shown}: there is no such setting" + (f"; did you mean {at}{near[0]}?" if near else "")


def _default(value: object) -> str:
    return "its defaults are in force" if isinstance(value, Struct) else f"the default {value!r} is in force"


def _short(value: object) -> str:
    try:
        shown = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        shown = "a very long number"
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"


def _too_long(settings: Settings) -> str:
    """Every wait is shorter than the one around it: judging holds one gate or one model call."""
    longest, field = max((settings.gates.seconds, "gates.seconds"), (settings.judge.seconds, "judge.seconds"))
    if settings.stop_seconds > longest:
        return ""
    default = Settings().stop_seconds
    return f"stop_seconds: must be greater than {field}, {longest}; the default {default} is in force"
