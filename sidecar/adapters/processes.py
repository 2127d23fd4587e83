"""The one place that starts processes.

The laws of this file:

- A command gets a session of its own. Whatever it started in it dies with it, however it ended.
- Every wait has a bound: a deadline, then SIGTERM, a short grace, then SIGKILL, each to the whole group.
- Output is read while it comes and bounded in memory: the first and the last bytes are kept.
- A grandchild that holds the output open after the command exited is not waited for.
- Failing to launch has the shape of failing to run. Only cancelling raises, after the group was killed.

What it does not know: what the command means, and whether its exit code is good or bad.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import ExitStack, closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping, Sequence

KEEP: Final = 65_536
"""Bytes of each output stream that are kept where the caller names no number."""
GRACE_S: Final = 2.0
"""Seconds from SIGTERM to SIGKILL, and the longest wait for a killed process to be gone."""
CHUNK: Final = 65_536
"""Bytes of one read: what a pipe holds on Linux."""
DRAIN_READS: Final = 64
"""Reads of a pipe after the command has ended. A process that left the group could write for ever."""


class Ending(StrEnum):
    """How a command came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed-out"
    NOT_LAUNCHED = "not-launched"


class Finished(Struct, frozen=True, kw_only=True):
    """What became of a command.

    `exit_code` is set when it exited by itself; -9 stands for signal 9. `output` is standard output and
    standard error together, or alone with the other in `errors`, each bounded. `seconds` is wall time.
    `reason` says in one line why it was not launched or did not exit.
    """

    ending: Ending
    exit_code: int | None = None
    output: bytes = b""
    errors: bytes = b""
    seconds: float = 0.0
    reason: str = ""


class Ends:
    """The first and the last bytes of a stream: `keep` together, however long it is."""

    def __init__(self, keep: int) -> None:
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._half + CHUNK:
            self._trim()

    def kept(self) -> bytes:
        """What was kept, with a line in the middle that counts the bytes left out, if any were."""
        self._trim()
        gap = b"\n[... %d bytes left out ...]\n" % self._dropped if self._dropped else b""
        return bytes(self._head + gap + self._tail)

    def _trim(self) -> None:
        surplus = max(0, len(self._tail) - self._half)
        del self._tail[:surplus]
        self._dropped += surplus


class Pipe:
    """One output stream of a running command. `closed` is set when nobody can write to it any more."""

    def __init__(self, keep: int) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._ends = Ends(keep)
        self._loop = asyncio.get_running_loop()
        self.closed = asyncio.Event()
        self._loop.add_reader(self._read_end, self._read)

    def release_write_end(self) -> None:
        """Leave writing to the command alone, so that its end is the end of the stream."""
        os.close(self.write_end)
        self.write_end = -1

    def finish(self) -> bytes:
        """Read what is there without waiting, and close."""
        for _ in range(DRAIN_READS):
            if self.closed.is_set() or not self._read():
                break
        return self._ends.kept()

    def close(self) -> None:
        """Give both ends back. What was not read is lost."""
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        if self.write_end >= 0:
            os.close(self.write_end)

    def _read(self) -> bool:
        try:
            data = os.read(self._read_end, CHUNK)
        except BlockingIOError:
            return False
        self._ends.add(data)
        if not data:
            self._loop.remove_reader(self._read_end)
            self.closed.set()
        return bool(data)


async def run(  # noqa: PLR0913 - each is one fact about the command, and all but two have a name at the call
    command: str | Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    seconds: float,
    stdin: bytes = b"",
    keep: int = KEEP,
    separate: bool = False,
) -> Finished:
    """Run a command to its end, at most `seconds`.

    A text is a line for `/bin/sh`; a sequence is a program, looked up on the PATH of `environment`, and its
    arguments. `environment` is the whole of it. The command reads `stdin`, or nothing. `keep` bounds the
    bytes kept of each stream; `separate` keeps standard error apart. Raises only CancelledError.
    """
    started = asyncio.get_running_loop().time()
    argv = ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
    with ExitStack() as cleanup:
        try:
            pipes = [cleanup.enter_context(closing(Pipe(keep))) for _ in range(2 if separate else 1)]
            fed = cleanup.enter_context(_fed(stdin))
            streams = (fed.fileno(), pipes[0].write_end, pipes[-1].write_end)
            process = await launch(argv, cwd, environment, streams)
        except (OSError, ValueError) as error:
            return Finished(ending=Ending.NOT_LAUNCHED, reason=why(error))
        for pipe in pipes:
            pipe.release_write_end()
        in_time = await _ended(process, pipes, seconds)
        output, errors = (*(pipe.finish() for pipe in pipes), b"")[:2]
        return Finished(
            ending=Ending.EXITED if in_time else Ending.TIMED_OUT,
            exit_code=process.returncode if in_time else None,
            output=output,
            errors=errors,
            seconds=asyncio.get_running_loop().time() - started,
            reason="" if in_time else f"it did not end within {seconds:g} s",
        )


def find(name: str, environment: Mapping[str, str], project: str) -> str:
    """Look a program up on the PATH of `environment`; its absolute path, "" where there is none.

    Relative folders and everything inside `project` are skipped: a repository is not its owner's word. A
    project that holds the user's home is none in this sense, else `~/.local/bin` would be skipped.
    """
    home, forbidden = _resolved(environment.get("HOME", "")), _resolved(project)
    if home and forbidden and home.is_relative_to(forbidden):
        forbidden = None
    for folder in environment.get("PATH", "").split(os.pathsep):
        found = shutil.which(name, path=folder) if Path(folder).is_absolute() else None
        if found and not (forbidden and _touches(Path(found), forbidden)):
            return found
    return ""


def _resolved(path: str) -> Path | None:
    """The real path; None for none, and for what cannot be one."""
    with suppress(OSError, RuntimeError, ValueError):
        return Path(path).resolve() if path else None
    return None


def _touches(program: Path, folder: Path) -> bool:
    return any(path.is_relative_to(folder) for path in (program, program.parent.resolve(), program.resolve()))


def _fed(stdin: bytes) -> IO[bytes]:
    """Hold what a command will read: an unnamed file, which can neither block nor break as a pipe does."""
    if not stdin:
        return Path(os.devnull).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(stdin)
    file.seek(0)
    return file


async def launch(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], streams: tuple[int, int, int]
) -> Process:
    """Start a program in a session of its own; raises OSError or ValueError.

    `streams` are the descriptors of its standard input, output and error, which stay open here. Who launches
    it sees to its end: `end`, then `kill`. Cancelled in between, it leaves no process behind.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environment,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await kill(await starting)
        raise


async def _ended(process: Process, pipes: Sequence[Pipe], seconds: float) -> bool:
    """Wait for the end of a command, then kill what is left of its group; whether it came in time."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        await end(process, pipes)
        return False
    except asyncio.CancelledError:
        await end(process, pipes)
        raise
    else:
        return True
    finally:
        await kill(process)


async def end(process: Process, pipes: Sequence[Pipe]) -> None:
    """Send SIGTERM to the group and wait, bounded, until nobody in it holds the output any more.

    `kill` must follow, whatever happens.
    """
    _signal(process, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()
            for pipe in pipes:
                await pipe.closed.wait()


async def kill(process: Process) -> None:
    """Kill the group and wait, bounded, for its leader."""
    _signal(process, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    """Signal the whole group. A group without members, or with others' processes only, is left alone."""
    with suppress(OSError):
        os.killpg(process.pid, number)


def why(error: OSError | ValueError) -> str:
    """Why a program could not be launched, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the command'}: {error.strerror}"
    return str(error)
