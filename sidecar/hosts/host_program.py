"""Runs a host's own program, for what only it can do: `claude plugin list`, `opencode export`."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from sidecar.platform import processes
from sidecar.platform.installation import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

HOST_LIMIT_S: Final = 120.0
"""Longest wait for one command of a host, in seconds; all it needs is on this machine."""
OUTPUT_LIMIT: Final = 1 << 20
"""Bytes of a command's output that are read."""


class HostProgram:
    """The program of one host, and how to run it."""

    def __init__(self, title: str, name: str, environment: Mapping[str, str], project: str) -> None:
        """Look the program `name` up on PATH, outside of `project`. `title` is the host's name for people."""
        self.title, self.name = title, name
        self.path = processes.find_program(name, environment, project)
        """"" where there is none."""
        self._environment = environment
        self._project = project

    async def result(
        self, *arguments: str, seconds: float = HOST_LIMIT_S, keep: int = OUTPUT_LIMIT, folder: str = ""
    ) -> processes.ProcessResult:
        """Run one command, in the project or another folder; keep at most `keep` bytes of each stream."""
        return await processes.run_process(
            (self.path, *arguments),
            cwd=folder or self._project,
            environment=self._environment,
            seconds=seconds,
            keep=keep,
            separate=True,
        )

    def run(self, *arguments: str, seconds: float = HOST_LIMIT_S, keep: int = OUTPUT_LIMIT) -> bytes:
        """Run one command; return at most `keep` bytes of what it printed. Raises HostError."""
        if not self.path:
            raise HostError(f"{self.title} is not on PATH", "add its folder to PATH")
        ended = asyncio.run(self.result(*arguments, seconds=seconds, keep=keep))
        if ended.exit_code == 0:
            return ended.output
        said = (ended.errors or ended.output).decode("utf-8", "replace").strip()
        raise HostError(
            f"{self.name} {' '.join(arguments)} failed: {ended.reason or said or ended.exit_code}",
            f"try it yourself: {shlex.join((self.path, *arguments))}",
        )

    def last_line(self, *arguments: str) -> str:
        """Run one command; return the last line it printed. Raises HostError."""
        return self.run(*arguments).decode("utf-8", "replace").strip().rpartition("\n")[2]

    def listed(self, kind: type[T], *arguments: str) -> T:
        """Run one command that prints JSON of this kind. Raises HostError."""
        try:
            return msgspec.json.decode(self.run(*arguments), type=kind)
        except msgspec.DecodeError as error:
            shown = " ".join(one for one in arguments if not one.startswith("-"))
            raise HostError(f"{self.name} {shown} said what is no list: {error}") from error
