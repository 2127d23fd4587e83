"""Any program that takes a prompt and ends when it is through.

The laws of this file are those of `processes`, which starts and kills it, and:

- What it prints is heard while it comes; the first and the last bytes are kept, however much it is.
- The address of its tools is a secret: it stands in its environment, and in a file for its owner alone that
  goes with it.
"""

from __future__ import annotations

import asyncio
import codecs
import tempfile
from contextlib import ExitStack, closing, contextmanager
from typing import IO, TYPE_CHECKING, Final

from sidecar.adapters import processes
from sidecar.adapters.agents.known import Outfit, mcp_config, outfit, program
from sidecar.adapters.files import write_whole
from sidecar.adapters.text import plain, tail
from sidecar.ports import AgentRest

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sidecar.ports import Access, Errand

KEEP: Final = 131_072
"""Bytes of its output that are kept: the first and the last half."""
ERRORS: Final = 8_192
"""Bytes of its standard error that are kept."""
SAID: Final = 20_000
"""Characters of what it said: the end."""
COMPLAINT: Final = 2_000
"""Characters of its standard error that count as said, where it failed or said nothing else."""


class CommandAgent:
    """Implements ports.AgentRunner for a command."""

    def __init__(self, command: Sequence[str], config: Path, tools: Sequence[str] = ()) -> None:
        """`command`: a program and its arguments. `config`: where the file with the tools' address is put.

        `tools`: names of ours that need nobody's leave.
        """
        self._command = tuple(command)
        self._config = config
        self._tools = tuple(tools)

    async def run(self, errand: Errand, hear: Callable[[str], None]) -> AgentRest:
        """Run it once; `hear` gets what it prints, piece by piece. Cancelling kills it and all it started."""
        try:
            with _written(self._config, errand.access):
                worn = outfit(self._command, errand, str(self._config), self._tools)
                return await self._run(worn, errand, hear)
        except (OSError, ValueError) as error:
            return AgentRest(trouble=f"it could not be started: {processes.why(error)}")

    async def _run(self, worn: Outfit, errand: Errand, hear: Callable[[str], None]) -> AgentRest:
        with ExitStack() as files:
            output = files.enter_context(closing(_Heard(KEEP, hear)))
            errors = files.enter_context(closing(processes.Pipe(ERRORS)))
            fed = files.enter_context(_fed(worn.stdin))
            streams = (fed.fileno(), output.write_end, errors.write_end)
            process = await processes.launch(worn.command, errand.project, worn.environment, streams)
            output.release_write_end()
            errors.release_write_end()
            in_time = await _ended(process, (output, errors), errand.seconds)
            printed, complaint = (_text(pipe.finish()) for pipe in (output, errors))
        said = program(self._command).said(printed)
        if process.returncode != 0 or not said.strip():
            said = "\n".join(filter(None, (said.strip(), tail(complaint, COMPLAINT).strip())))
        return AgentRest(
            said=tail(said, SAID),
            exit_code=process.returncode if in_time else None,
            trouble="" if in_time else f"it did not end within {errand.seconds:g} s",
        )


class _Heard(processes.Pipe):
    """A pipe whose text is heard while it comes."""

    def __init__(self, keep: int, hear: Callable[[str], None]) -> None:
        super().__init__(keep)
        self._ends = _Aloud(keep, hear)


class _Aloud(processes.Ends):
    """The ends of a stream that is heard."""

    def __init__(self, keep: int, hear: Callable[[str], None]) -> None:
        super().__init__(keep)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._hear = hear

    def add(self, data: bytes) -> None:
        super().add(data)
        if text := self._decoder.decode(data):
            self._hear(text)


async def _ended(process: Process, pipes: Sequence[processes.Pipe], seconds: float) -> bool:
    """Wait for the end, then kill what is left of its group; whether it came in time."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except (TimeoutError, asyncio.CancelledError) as over:
        await processes.end(process, pipes)
        if isinstance(over, asyncio.CancelledError):
            raise
        return False
    else:
        return True
    finally:
        await processes.kill(process)


def _text(data: bytes) -> str:
    return plain(data.decode("utf-8", "replace"))


def _fed(stdin: bytes) -> IO[bytes]:
    """What it will read: an unnamed file, which can neither block nor break as a pipe does."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(stdin)
    file.seek(0)
    return file


@contextmanager
def _written(config: Path, access: Access | None) -> Iterator[None]:
    """The tools' address in a file, while the agent works. Raises OSError."""
    if access is None:
        yield
        return
    write_whole(config, mcp_config(access))
    try:
        yield
    finally:
        config.unlink(missing_ok=True)
