"""A line-based dialogue with a program: lines to its standard input, lines from its standard output.

The rules of `processes`, which starts and kills the program, hold here too, and:

- A line has a maximum length. Reading stops beyond it, so memory holds at most two lines of that length.
- When the program has ended, other processes that hold its output open are not waited for.
- Standard error is read while it arrives; its first and last bytes are kept.

This module does not know what the lines mean.
"""

from __future__ import annotations

import asyncio
import os
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from typing import IO, TYPE_CHECKING, Final

from sidecar.platform.processes import (
    GRACE_S,
    OutputPipe,
    kill_group,
    kill_group_if_we_die,
    launch_failure_reason,
    launch_process,
    terminate_group,
)

if TYPE_CHECKING:
    from asyncio.subprocess import Process


STDERR_KEPT: Final = 16_384
"""Bytes of standard error that are kept."""


class NotLaunchedError(Exception):
    """The program could not be started. The message says why, in one line."""


class LineTooLongError(Exception):
    """A line is longer than the limit."""


class LineDialogue:
    """Lines in both directions."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, line: bytes) -> None:
        """Send a line. Does nothing if nobody reads any more; `hear` reports the end."""
        with suppress(ConnectionError):
            self._writer.write(line + b"\n")
            await self._writer.drain()

    async def hear(self) -> bytes | None:
        """The next line without the line end, None after the last. Raises LineTooLongError."""
        try:
            return (await self._reader.readuntil())[:-1]
        except asyncio.IncompleteReadError as last:
            return last.partial or None
        except asyncio.LimitOverrunError as error:
            raise LineTooLongError from error

    def end(self) -> None:
        """Send no more lines."""
        self._writer.close()


class ProcessDialogue(LineDialogue):
    """An open dialogue with a running program; see `open_dialogue`."""

    def __init__(
        self, process: Process, reader: StreamReader, writer: StreamWriter, errors: OutputPipe
    ) -> None:
        super().__init__(reader, writer)
        self._process = process
        self._errors = errors

    async def exit_code(self) -> int | None:
        """The exit code, -9 for signal 9; None if the program does not end within GRACE_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self._process.wait()
        return self._process.returncode

    def errors(self) -> bytes:
        """Standard error so far."""
        return self._errors.finish()


@asynccontextmanager
async def open_dialogue(
    command: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    longest: int,
    hear_errors: Callable[[str], object] | None = None,
) -> AsyncIterator[ProcessDialogue]:
    """Start a program, and kill it with everything it started when the block ends.

    The program is looked up on the PATH of `environment`, which is its complete environment. `longest` is the
    maximum length of an output line in bytes. `hear_errors` gets what it writes to its standard error, while
    that arrives. Raises NotLaunchedError.
    """
    with ExitStack() as files:
        errors = files.enter_context(closing(OutputPipe(STDERR_KEPT, hear_errors)))
        its_input, ours_out = _open_pipe(files)
        ours_in, its_output = _open_pipe(files)
        reader, incoming = await _connect_reader(ours_in, longest)
        files.callback(incoming.close)
        writer = await _connect_writer(ours_out)
        files.callback(_abort_writer, writer.transport)
        streams = (its_input.fileno(), its_output.fileno(), errors.write_end)
        try:
            process = await launch_process(command, cwd, environment, streams)
        except (OSError, ValueError) as error:
            raise NotLaunchedError(launch_failure_reason(error)) from error
        its_input.close()
        its_output.close()
        errors.release_write_end()
        files.enter_context(kill_group_if_we_die(process.pid))
        watch = asyncio.create_task(_close_after_exit(process, incoming))
        try:
            yield ProcessDialogue(process, reader, writer, errors)
        finally:
            watch.cancel()
            await _end_and_kill(process, errors)


@asynccontextmanager
async def own_dialogue(longest: int) -> AsyncIterator[LineDialogue]:
    """Speak with whoever started this process, by our standard input and output, while the block lasts."""
    with ExitStack() as files:
        ends = [os.fdopen(os.dup(number), mode, buffering=0) for number, mode in ((0, "rb"), (1, "wb"))]
        reader, incoming = await _connect_reader(files.enter_context(ends[0]), longest)
        files.callback(incoming.close)
        writer = await _connect_writer(files.enter_context(ends[1]))
        try:
            yield LineDialogue(reader, writer)
            with suppress(ConnectionError):
                await writer.drain()
        finally:
            writer.close()


async def _close_after_exit(process: Process, incoming: asyncio.ReadTransport) -> None:
    """Close the output soon after the program has ended, even if other processes hold it open."""
    await process.wait()
    asyncio.get_running_loop().call_later(GRACE_S, incoming.close)


async def _end_and_kill(process: Process, errors: OutputPipe) -> None:
    try:
        await terminate_group(process, (errors,))
    finally:
        await kill_group(process)


def _open_pipe(files: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Return the read end and the write end of a new pipe."""
    reading, writing = os.pipe()
    return (
        files.enter_context(os.fdopen(reading, "rb", buffering=0)),
        files.enter_context(os.fdopen(writing, "wb", buffering=0)),
    )


async def _connect_reader(pipe: IO[bytes], longest: int) -> tuple[StreamReader, asyncio.ReadTransport]:
    reader = StreamReader(longest)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: StreamReaderProtocol(reader), pipe
    )
    return reader, transport


def _abort_writer(outgoing: asyncio.WriteTransport) -> None:
    """Close the transport without waiting for data that nobody read."""
    if not outgoing.is_closing():
        outgoing.abort()


async def _connect_writer(pipe: IO[bytes]) -> StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(lambda: StreamReaderProtocol(StreamReader()), pipe)
    return StreamWriter(transport, protocol, None, loop)
