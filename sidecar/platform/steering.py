"""The files that steer Supervisor, which edits of them count (law 9), and what their readers ask.

One rule: what changed while an agent of this user was at work waits until the user accepts it; anything else
counts at once. A file of which an edit waits waits as a whole, because its text may be the agent's. What an
order of the user wrote is vouched for and counts.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Environment
from sidecar.platform.files import read_whole

PROJECT_CONFIGURATION: Final = ".supervisor/config.toml"
TEXT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a file; a longer one is refused by whoever reads it."""
SECRET_NAMES: Final = ("notify.webhook", "notify.body")
"""Settings that let in whoever knows them."""
VALUES_NAMED: Final = 3
"""Changed values that a summary names."""
VALUE_LENGTH: Final = 60
"""Characters of a value in a summary."""
DEPTH: Final = 8
"""Tables in tables that are looked at."""


# --- The rule -----------------------------------------------------------------------------------------------


class Kept(Struct, frozen=True, omit_defaults=True):
    """What is known of a file.

    `force` is the text in force, "" for no file. `seen` is the digest of another text that the file had when
    it was looked at last, "" where it had none; `held`: that one waits. `project`: "" for the user's files.
    """

    force: str = ""
    seen: str = ""
    held: bool = False
    project: str = ""


def settle_edit(before: Kept, now: str, *, at_rest: Callable[[], bool], usable: Callable[[], bool]) -> Kept:
    """Return what is known after a look that found the text `now`.

    At rest a text that is not `usable` leaves in force what was, and nothing waits.
    """
    digest = text_digest(now)
    if now == before.force:
        return replace(before, seen="", held=False)
    if digest == before.seen:
        return before
    if before.held or not at_rest():
        return replace(before, seen=digest, held=True)
    if not usable():
        return replace(before, seen=digest)
    return replace(before, force=now, seen="")


def text_digest(text: str) -> str:
    """Return 16 hexadecimal digits by which a text is told from another one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe_edit(before: str, now: str, *, values: bool = True) -> str:
    """Describe in one line what differs between two texts of a file, which may be TOML or JSON.

    By the names alone where values may be secrets: where not `values`, and of the SECRET_NAMES.
    """
    was, would = dict(_values(_parsed(before))), dict(_values(_parsed(now)))
    changed = [name for name in sorted(was.keys() | would.keys()) if was.get(name) != would.get(name)]
    if not changed:
        return "no value changes" if now and before else "removed" if before else "created"
    said = [f"{name}: {was.get(name, 'not set')} -> {would.get(name, 'not set')}" for name in changed]
    said = [name if name.startswith(SECRET_NAMES) else one for name, one in zip(changed, said, strict=True)]
    said = said if values else changed
    more = f"; and {len(said) - VALUES_NAMED} more" if said[VALUES_NAMED:] else ""
    return "; ".join(said[:VALUES_NAMED]) + more


def _parsed(text: str) -> object:
    for parse in (tomllib.loads, json.loads):
        try:
            return parse(text)
        except (ValueError, RecursionError):
            continue
    return {"its text": text}


def _values(table: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the values of a table by their dotted names."""
    if isinstance(table, dict) and depth < DEPTH:
        for key, value in table.items():
            yield from _values(value, f"{name}.{key}".lstrip("."), depth + 1)
    else:
        said: Any = json.dumps(table, ensure_ascii=False, default=str)
        yield name, said if len(said) <= VALUE_LENGTH else f"{said[: VALUE_LENGTH - 1]}…"


# --- What is known of a kind of file, and what readers ask --------------------------------------------------


def read_text(path: Path) -> str:
    """Return the text of a file. Raises OSError, UnusableFileError, ValueError."""
    return read_whole(path, TEXT_LIMIT, follow=True).decode("utf-8", "replace")


class SteeringKind(Struct, frozen=True, kw_only=True):
    """How the files of one name steer.

    `read` gives the part of the present file that steers; raising ValueError, OSError or UnusableFileError,
    it says that there is none. `describe` says in one line what differs between two of them. `faults` are
    lines about what is wrong with the file; where it `must_serve`, one with faults counts only if accepted.
    `restore` makes of the present text and the part in force the text that undoes an edit which would wait:
    for files whose readers do not ask for the path in force. `live`: such a reader is a host.
    """

    read: Callable[[Path], str] = read_text
    describe: Callable[[str, str], str] = describe_edit
    faults: Callable[[Path], Sequence[str]] = lambda _: ()
    must_serve: bool = False
    restore: Callable[[str, str], str] | None = None
    live: bool = False


PLAIN: Final = SteeringKind()
Places = Callable[[str, Environment], Sequence[Path]]
"""Where files may be that steer in a project, for a session with this environment. `*` in a file's name: all
such files of the folder."""


class FilesInForce(Protocol):
    """Tells which file to read, and takes note of our own writes."""

    def path_in_force(self, path: Path) -> Path:
        """Return the path to read instead of `path`. Never raises."""

    def vouch(self, path: Path) -> None:
        """Note that what `path` contains now was ordered by the user.

        In the sidecar it never raises; beside it, it raises SidecarError where the sidecar refuses.
        """

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return the edits that wait, of the user's files and of this project's. Never raises."""


class UnheldFiles:
    """Implements FilesInForce where every edit counts at once."""

    def path_in_force(self, path: Path) -> Path:
        return path

    def vouch(self, path: Path) -> None:
        """Do nothing, because nothing is held."""

    def held(self, project: str) -> tuple[HeldEdit, ...]:  # noqa: ARG002 - the port's
        return ()


UNHELD: Final = UnheldFiles()
