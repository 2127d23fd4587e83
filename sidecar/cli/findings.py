"""What `supervisor doctor` finds: one line each, with what to type where something is broken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Line(Struct, frozen=True):
    """One finding. `remedy` is what to type, empty where all is well."""

    level: Level
    what: str
    remedy: str = ""


class Host(Struct, frozen=True):
    """What was found of a host. `probe` tries it; None without our plugin: a model would answer.

    `tools` asks the server that this host would start for the agent's tools; None where it would start none.
    """

    lines: tuple[Line, ...]
    probe: Callable[[], Awaitable[Line]] | None = None
    tools: Callable[[], Awaitable[Line]] | None = None


def ok(what: str) -> Line:
    """All is well."""
    return Line(Level.OK, what)


def warning(what: str, remedy: str) -> Line:
    """It works, but not as it should."""
    return Line(Level.WARNING, what, remedy)


def error(what: str, remedy: str) -> Line:
    """It does not work."""
    return Line(Level.ERROR, what, remedy)


def amiss(what: str, remedy: str, *, needed: bool) -> Line:
    """It does not work, which is an error only where it is needed."""
    return Line(Level.ERROR if needed else Level.WARNING, what, remedy)


def version(host: str, said: bytes, tested: str, update: str) -> Line:
    """Which version a host says it is, and whether it is older than the oldest `tested` one."""
    last = said.decode(errors="replace").strip().rpartition("\n")[2]
    number = last.split(" ")[0][:40]
    if _as_numbers(number) >= _as_numbers(tested):
        return ok(f"{host} {number}")
    return warning(f"{host} {number or '?'} is older than what is tested ({tested})", update)


def _as_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())
