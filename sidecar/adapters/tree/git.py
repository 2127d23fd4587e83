"""Git, called so that it asks nobody, waits for nobody and runs nothing that a repository names."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from sidecar.adapters import processes
from sidecar.adapters.processes import Finished

CALL_S: Final = 30.0
"""Seconds of one call."""
KEEP: Final = 64 << 20
"""Bytes that one call may say; of more nothing is used. Half a million names of the usual length."""
QUIET: Final = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Variables of every call. Those of git's that the session has are dropped: they would lead it elsewhere."""

T = TypeVar("T")


class UnseenError(Exception):
    """A part of the content could not be seen. The message says why, for a person."""


class Git(Struct, frozen=True):
    """How git is called: the program with its settings, the folder, the whole environment."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]

    async def ask(self, *arguments: str, stdin: bytes = b"") -> Finished:
        """Run git, whatever its exit code."""
        return await processes.run(
            (*self.argv, *arguments),
            cwd=str(self.folder),
            environment=self.environment,
            seconds=CALL_S,
            stdin=stdin,
            keep=KEEP,
            separate=True,
        )

    async def told(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git; its output. Raises UnseenError where it failed, or said more than `KEEP`."""
        return checked(await self.ask(*arguments, stdin=stdin), arguments[0])

    async def names(self, *arguments: str) -> list[str]:
        """Run git; what it said, divided by NUL. Raises UnseenError."""
        return parts(await self.told(*arguments))


def checked(finished: Finished, command: str) -> bytes:
    """What a call said. Raises UnseenError where it failed, or said more than `KEEP`."""
    if finished.exit_code != 0:
        said = finished.reason or text(finished.errors).strip().partition("\n")[0]
        raise UnseenError(f"git {command}: {said or 'it failed'}"[:300])
    if len(finished.output) > KEEP:
        raise UnseenError(f"git {command} said more than {KEEP >> 20} MiB")
    return finished.output


def own(environment: Mapping[str, str]) -> dict[str, str]:
    """The session's environment without git's variables, and with ours."""
    return {name: value for name, value in environment.items() if not name.startswith("GIT_")} | QUIET


def settings(*pairs: str) -> tuple[str, ...]:
    """Arguments that set these for one call."""
    return tuple(part for pair in pairs for part in ("-c", pair))


def text(said: bytes) -> str:
    """Paths and words of git's as Python names files: bytes that are no UTF-8 as surrogates."""
    return said.decode("utf-8", "surrogateescape")


def raw(name: str) -> bytes:
    """The bytes of a path."""
    return name.encode("utf-8", "surrogateescape")


def parts(said: bytes) -> list[str]:
    """Divide by NUL."""
    return text(said).split("\0")[:-1]


def listed(names: Iterable[str]) -> bytes:
    """Join names as git reads them with `-z`."""
    return b"".join(raw(name) + b"\0" for name in names)


async def together(*work: Coroutine[object, object, T]) -> list[T]:
    """Do all of it side by side. The first fault is raised, and the rest is cancelled and over by then."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
