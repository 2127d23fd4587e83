"""A program that is spoken with: lines to its standard input, lines from its standard output.

The laws of this file are those of `processes`, which starts and kills it, and:

- A line has a bound. Beyond it nothing more is read, and memory holds two of the longest lines at most.
- When it has ended, nobody else who holds its output open is waited for.
- What it says on standard error is read while it comes; the first and the last bytes are kept.

What it does not know: what the lines mean.
"""

from __future__ import annotations

import asyncio
import os
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from typing import IO, TYPE_CHECKING, Final

from sidecar.adapters.processes import GRACE_S, Pipe, end, kill, launch, why

if TYPE_CHECKING:
    from asyncio.subprocess import Process

KEEP: Final = 16_384
"""Bytes of standard error that are kept."""


class NotLaunchedError(Exception):
    """The program could not be started. The message says why, in one line."""


class TooLongError(Exception):
    """A line is longer than the bound."""


class Dialogue:
    """What is open to a running program; see `dialogue`."""

    def __init__(self, process: Process, reader: StreamReader, writer: StreamWriter, errors: Pipe) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._errors = errors

    async def say(self, line: bytes) -> None:
        """Send a line. Nothing happens where nobody reads it any more: `hear` tells of the end."""
        with suppress(ConnectionError):
            self._writer.write(line + b"\n")
            await self._writer.drain()

    async def hear(self) -> bytes | None:
        """Its next line without the end of line; None after the last. Raises TooLongError."""
        try:
            return (await self._reader.readuntil())[:-1]
        except asyncio.IncompleteReadError as last:
            return last.partial or None
        except asyncio.LimitOverrunError as error:
            raise TooLongError from error

    async def exit_code(self) -> int | None:
        """Its exit code, -9 for signal 9; None where it does not end soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self._process.wait()
        return self._process.returncode

    def errors(self) -> bytes:
        """What it said so far on standard error."""
        return self._errors.finish()


@asynccontextmanager
async def dialogue(
    command: Sequence[str], *, cwd: str, environment: Mapping[str, str], longest: int
) -> AsyncIterator[Dialogue]:
    """Start a program with its arguments, and kill it with all that it started when the block ends.

    It is looked up on the PATH of `environment`, which is the whole of it. `longest` bounds one line of its
    output, in bytes. Raises NotLaunchedError.
    """
    with ExitStack() as files:
        errors = files.enter_context(closing(Pipe(KEEP)))
        its_input, ours_out = _pipe(files)
        ours_in, its_output = _pipe(files)
        reader, incoming = await _incoming(ours_in, longest)
        files.callback(incoming.close)
        writer = await _outgoing(ours_out)
        files.callback(_abandon, writer.transport)
        streams = (its_input.fileno(), its_output.fileno(), errors.write_end)
        try:
            process = await launch(command, cwd, environment, streams)
        except (OSError, ValueError) as error:
            raise NotLaunchedError(why(error)) from error
        its_input.close()
        its_output.close()
        errors.release_write_end()
        watch = asyncio.create_task(_watch(process, incoming))
        try:
            yield Dialogue(process, reader, writer, errors)
        finally:
            watch.cancel()
            await _ended(process, errors)


async def _watch(process: Process, incoming: asyncio.ReadTransport) -> None:
    """Let the output end soon after the program has, whoever else holds it open."""
    await process.wait()
    asyncio.get_running_loop().call_later(GRACE_S, incoming.close)


async def _ended(process: Process, errors: Pipe) -> None:
    try:
        await end(process, (errors,))
    finally:
        await kill(process)


def _pipe(files: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Give the reading and the writing end of a new pipe."""
    reading, writing = os.pipe()
    return (
        files.enter_context(os.fdopen(reading, "rb", buffering=0)),
        files.enter_context(os.fdopen(writing, "wb", buffering=0)),
    )


async def _incoming(pipe: IO[bytes], longest: int) -> tuple[StreamReader, asyncio.ReadTransport]:
    reader = StreamReader(longest)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: StreamReaderProtocol(reader), pipe
    )
    return reader, transport


def _abandon(outgoing: asyncio.WriteTransport) -> None:
    """Close it without waiting for what nobody read."""
    if not outgoing.is_closing():
        outgoing.abort()


async def _outgoing(pipe: IO[bytes]) -> StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(lambda: StreamReaderProtocol(StreamReader()), pipe)
    return StreamWriter(transport, protocol, None, loop)
