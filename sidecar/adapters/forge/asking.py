"""One question to a forge's program. See `forge` for the laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from sidecar.adapters import processes
from sidecar.adapters.forge.findings import LINE, one_line

KEEP: Final = 1 << 20
"""Bytes of an answer that are read: some thousand checks."""
SHOWN: Final = 80
"""Characters that are repeated of an answer that cannot be read."""

T = TypeVar("T")


class UnansweredError(Exception):
    """The forge gave no answer that could be used. The message says why, in one line."""


class Asking(Struct, frozen=True, kw_only=True):
    """How to ask: program and its name, in which project, with which environment, at most how long."""

    program: str
    name: str
    project: str
    environment: Mapping[str, str]
    seconds: float

    async def ask(self, *arguments: str) -> processes.Finished:
        """Whatever the exit code. Raises UnansweredError where there was none."""
        done = await processes.run(
            (self.program, *arguments),
            cwd=self.project,
            environment=self.environment,
            seconds=self.seconds,
            keep=KEEP,
            separate=True,
        )
        if done.exit_code is None:
            raise UnansweredError(f"{self.name}: {done.reason}")
        return done

    def read(self, done: processes.Finished, kind: type[T]) -> T:
        """Read the answer as it is documented. Raises UnansweredError for a failure and for anything else."""
        if done.exit_code != 0:
            raise UnansweredError(f"{self.name}: {said(done)}")
        try:
            return msgspec.json.decode(done.output, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            began = one_line(done.output[:LINE].decode("utf-8", "replace"))[:SHOWN]
            raise UnansweredError(f"{self.name} gave an unreadable answer ({error}): {began}") from error


class _Trouble(Struct, frozen=True):
    message: str = ""


class _Troubled(Struct, frozen=True):
    """How newer versions of glab tell an error when JSON is asked for."""

    error: _Trouble = _Trouble()


def said(done: processes.Finished) -> str:
    """The first line with which a program says why it failed."""
    for text in (done.errors, done.output):
        lines = map(one_line, text[: 10 * LINE].decode("utf-8", "replace").splitlines())
        if line := next((line for line in lines if line not in ("", "ERROR")), ""):
            return _message(line)
    return f"exit code {done.exit_code}"


def _message(line: str) -> str:
    try:
        return one_line(msgspec.json.decode(line.encode(), type=_Troubled).error.message) or line
    except (msgspec.DecodeError, RecursionError):
        return line
