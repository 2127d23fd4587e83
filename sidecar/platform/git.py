"""Runs git so that it never prompts, never waits for others, and runs no program that a repository names."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from hashlib import sha1
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from sidecar.platform import processes
from sidecar.platform.processes import ProcessResult

GIT_CALL_S: Final = 30.0
"""Timeout of one call in seconds."""
GIT_OUTPUT_LIMIT: Final = 64 << 20
"""Maximum output of one call in bytes; larger output is not used at all. It holds half a million names of the
usual length."""
GIT_VARIABLES: Final = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Variables of every call. The session's own GIT_ variables are dropped, because they could redirect git."""

T = TypeVar("T")


class UnseenError(Exception):
    """A part of the content could not be read. The message tells a person why."""


class Git(Struct, frozen=True):
    """How git is called: the program with its settings, the working folder, the complete environment.

    `seconds` is the deadline of one call.
    """

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    seconds: float = GIT_CALL_S

    async def ask(self, *arguments: str, stdin: bytes = b"") -> ProcessResult:
        """Run git and return the result, whatever its exit code."""
        return await processes.run_process(
            (*self.argv, *arguments),
            cwd=str(self.folder),
            environment=self.environment,
            seconds=self.seconds,
            stdin=stdin,
            keep=GIT_OUTPUT_LIMIT,
            separate=True,
        )

    async def told(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises UnseenError if it failed or exceeded GIT_OUTPUT_LIMIT."""
        return checked_git_output(await self.ask(*arguments, stdin=stdin), arguments[0])

    async def names(self, *arguments: str) -> list[str]:
        """Run git and return its output split at NUL. Raises UnseenError."""
        return split_at_nul(await self.told(*arguments))


def checked_git_output(finished: ProcessResult, command: str) -> bytes:
    """The output of a call. Raises UnseenError if it failed or exceeded GIT_OUTPUT_LIMIT."""
    if finished.exit_code != 0:
        said = finished.reason or decode_git_text(finished.errors).strip().partition("\n")[0]
        raise UnseenError(f"git {command}: {said or 'it failed'}"[:300])
    if len(finished.output) > GIT_OUTPUT_LIMIT:
        raise UnseenError(f"git {command} said more than {GIT_OUTPUT_LIMIT >> 20} MiB")
    return finished.output


def clean_git_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The session's environment without its git variables, plus GIT_VARIABLES."""
    return {name: value for name, value in environment.items() if not name.startswith("GIT_")} | GIT_VARIABLES


def git_config_arguments(*pairs: str) -> tuple[str, ...]:
    """Arguments that set these configuration values for one call."""
    return tuple(part for pair in pairs for part in ("-c", pair))


def decode_git_text(said: bytes) -> str:
    """Decode git's output as Python decodes file names: bytes that are not UTF-8 become surrogates."""
    return said.decode("utf-8", "surrogateescape")


def encode_path(name: str) -> bytes:
    """Encode a path as Python encodes file names: surrogates become the original bytes."""
    return name.encode("utf-8", "surrogateescape")


def split_at_nul(said: bytes) -> list[str]:
    """Decode git's output and split it at NUL."""
    return decode_git_text(said).split("\0")[:-1]


def join_with_nul(names: Iterable[str]) -> bytes:
    """Encode names as git reads them with `-z`."""
    return b"".join(encode_path(name) + b"\0" for name in names)


async def gather_or_cancel(*work: Coroutine[object, object, T]) -> list[T]:
    """Run coroutines concurrently. The first exception is raised once the others are cancelled and over."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def git_blob_name(content: bytes) -> str:
    """Return git's object name of a content."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
