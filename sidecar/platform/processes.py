"""The only module that starts processes.

Rules of this module:

- A command runs in a session of its own. Everything it started there is killed with it, however it ended.
- Every wait is bounded: a deadline, then SIGTERM, a short grace, then SIGKILL, each to the whole group.
- Output is read while it arrives and bounded in memory: the first and the last bytes are kept.
- A grandchild that holds the output open after the command exited is not waited for.
- A command may be `tied` to this process: its group is killed, too, when this process is killed.
- A failed launch is reported as a result, like a failed run. Only cancellation raises, after the group was
  killed.

This module does not know what the command means, or whether its exit code is good or bad.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import subprocess
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Iterator, Mapping, Sequence

OUTPUT_KEPT: Final = 65_536
"""Bytes of each output stream that are kept by default."""
GRACE_S: Final = 2.0
"""Seconds from SIGTERM to SIGKILL, and the longest wait for a killed process to end."""
READ_CHUNK: Final = 65_536
"""Bytes per read: the capacity of a pipe on Linux."""
DRAIN_READS: Final = 64
"""Maximum reads of a pipe after the command ended, as a process that left the group could write forever."""


class ProcessEnding(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    TIMED_OUT = "timed-out"
    NOT_LAUNCHED = "not-launched"


class ProcessResult(Struct, frozen=True, kw_only=True):
    """The result of a command.

    `exit_code` is set when it exited by itself; -9 stands for signal 9. `output` is standard output and
    standard error combined, or standard output alone with standard error in `errors`, each bounded. `seconds`
    is wall time. `reason` says in one line why it was not launched or did not exit.
    """

    ending: ProcessEnding
    exit_code: int | None = None
    output: bytes = b""
    errors: bytes = b""
    seconds: float = 0.0
    reason: str = ""


class HeadAndTail:
    """Keeps the first and the last bytes of a stream, `keep` bytes in total."""

    def __init__(self, keep: int) -> None:
        self._half = keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Add the next bytes of the stream."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._half + READ_CHUNK:
            self._trim()

    def kept(self) -> bytes:
        """The kept bytes; a line in the middle counts the bytes left out, if any were."""
        self._trim()
        gap = b"\n[... %d bytes left out ...]\n" % self._dropped if self._dropped else b""
        return bytes(self._head + gap + self._tail)

    def _trim(self) -> None:
        surplus = max(0, len(self._tail) - self._half)
        del self._tail[:surplus]
        self._dropped += surplus


class OutputPipe:
    """One output stream of a running command. `closed` is set when nothing can write to it any more."""

    def __init__(self, keep: int, hear: Callable[[str], object] | None = None) -> None:
        """`hear` gets the text of the stream while it arrives."""
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._ends = HeadAndTail(keep)
        self._hear = hear
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._loop = asyncio.get_running_loop()
        self.closed = asyncio.Event()
        self._loop.add_reader(self._read_end, self._read)

    def release_write_end(self) -> None:
        """Close our copy of the write end, so that the stream ends when the command's copies are closed."""
        os.close(self.write_end)
        self.write_end = -1

    def finish(self) -> bytes:
        """Read what is available without waiting, and return the kept bytes."""
        for _ in range(DRAIN_READS):
            if self.closed.is_set() or not self._read():
                break
        return self._ends.kept()

    def close(self) -> None:
        """Close both ends. Unread data is lost."""
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        if self.write_end >= 0:
            os.close(self.write_end)

    def _read(self) -> bool:
        try:
            data = os.read(self._read_end, READ_CHUNK)
        except BlockingIOError:
            return False
        self._ends.add(data)
        if self._hear is not None and (text := self._decoder.decode(data)):
            self._hear(text)
        if not data:
            self._loop.remove_reader(self._read_end)
            self.closed.set()
        return bool(data)


async def run_process(  # noqa: PLR0913 - each is one fact about the command, and all but two have a name at the call
    command: str | Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    seconds: float,
    stdin: bytes = b"",
    keep: int = OUTPUT_KEPT,
    separate: bool = False,
    hear: Callable[[str], None] | None = None,
    tied: bool = False,
) -> ProcessResult:
    """Run a command to its end, at most `seconds`.

    A string is a line for `/bin/sh`; a sequence is a program, looked up on the PATH of `environment`, and its
    arguments. `environment` is the complete environment. The command reads `stdin`, or nothing. `keep` limits
    the bytes kept of each stream; `separate` keeps standard error apart. `hear` gets the text of
    the (first) stream while it arrives. `tied`: it must not outlive this process. Raises only CancelledError.
    """
    started = asyncio.get_running_loop().time()
    argv = ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
    with ExitStack() as cleanup:
        try:
            hearers = (hear, None) if separate else (hear,)
            pipes = [cleanup.enter_context(closing(OutputPipe(keep, one))) for one in hearers]
            fed = cleanup.enter_context(_open_stdin(stdin))
            streams = (fed.fileno(), pipes[0].write_end, pipes[-1].write_end)
            process = await launch_process(argv, cwd, environment, streams)
        except (OSError, ValueError) as error:
            return ProcessResult(ending=ProcessEnding.NOT_LAUNCHED, reason=launch_failure_reason(error))
        for pipe in pipes:
            pipe.release_write_end()
        in_time = await _wait_and_kill(process, pipes, seconds, tied=tied)
        output, errors = (*(pipe.finish() for pipe in pipes), b"")[:2]
        return ProcessResult(
            ending=ProcessEnding.EXITED if in_time else ProcessEnding.TIMED_OUT,
            exit_code=process.returncode if in_time else None,
            output=output,
            errors=errors,
            seconds=asyncio.get_running_loop().time() - started,
            reason="" if in_time else f"it did not end within {seconds:g} s",
        )


def find_program(name: str, environment: Mapping[str, str], project: str) -> str:
    """The absolute path of a program on the PATH of `environment`, "" if there is none.

    Relative folders and everything inside `project` are skipped, because a repository does not speak for its
    user. A project that contains the user's home is exempt, or else `~/.local/bin` would be skipped.
    """
    forbidden = guarded_project(project, environment)
    import shutil  # noqa: PLC0415 - a cold stop that starts no program does without

    for folder in environment.get("PATH", "").split(os.pathsep):
        found = shutil.which(name, path=folder) if Path(folder).is_absolute() else None
        if found and not (forbidden and leads_inside(Path(found), forbidden)):
            return found
    return ""


def resolve_path(path: str) -> Path | None:
    """The real path; None if it is empty or invalid."""
    with suppress(OSError, RuntimeError, ValueError):
        return Path(path).resolve() if path else None
    return None


def guarded_project(project: str, environment: Mapping[str, str]) -> Path | None:
    """The real path of a project, whose files speak for nobody; None where it contains the user's home."""
    home, place = resolve_path(environment.get("HOME", "")), resolve_path(project)
    return None if home and place and home.is_relative_to(place) else place


def leads_inside(path: Path, folder: Path) -> bool:
    """Whether a path or its target lies in a folder."""
    return any(one.is_relative_to(folder) for one in (path, path.parent.resolve(), path.resolve()))


def _open_stdin(stdin: bytes) -> IO[bytes]:
    """Open an unnamed file with the command's input: unlike a pipe, it can neither block nor break."""
    if not stdin:
        return Path(os.devnull).open("rb")
    import tempfile  # noqa: PLC0415 - as in find_program

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(stdin)
    file.seek(0)
    return file


async def launch_process(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], streams: tuple[int, int, int]
) -> Process:
    """Start a program in a session of its own. Raises OSError or ValueError.

    `streams` are the descriptors of its standard input, output and error, which stay open here. The caller
    must end the program: `terminate_group`, then `kill_group`. If the launch is cancelled, no process is left
    behind.
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
            await kill_group(await starting)
        raise


async def _wait_and_kill(
    process: Process, pipes: Sequence[OutputPipe], seconds: float, *, tied: bool
) -> bool:
    """Wait for a command to end, then kill the rest of its group; whether it ended in time."""
    try:
        with kill_group_if_we_die(process.pid) if tied else nullcontext():
            async with asyncio.timeout(seconds):
                await process.wait()
    except TimeoutError:
        await terminate_group(process, pipes)
        return False
    except asyncio.CancelledError:
        await terminate_group(process, pipes)
        raise
    else:
        return True
    finally:
        await kill_group(process)


@contextmanager
def kill_group_if_we_die(group: int) -> Iterator[None]:
    """While the block lasts, kill the group when this process is killed.

    A shell waits for the end of a pipe that only this process holds.
    """
    line = f"read _; kill -s KILL -- -{group}"
    nowhere = subprocess.DEVNULL
    with ExitStack() as cleanup:
        with suppress(OSError):  # without it, the command runs all the same
            guard = subprocess.Popen(
                ("/bin/sh", "-c", line),
                stdin=subprocess.PIPE,
                stdout=nowhere,
                stderr=nowhere,
                start_new_session=True,
            )
            cleanup.enter_context(guard)
            cleanup.callback(guard.kill)
        yield


async def terminate_group(process: Process, pipes: Sequence[OutputPipe]) -> None:
    """Send SIGTERM to the group and wait, bounded, until no process in it holds the output open.

    `kill_group` must follow, whatever happens.
    """
    _signal_group(process, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()
            for pipe in pipes:
                await pipe.closed.wait()


async def kill_group(process: Process) -> None:
    """Kill the group and wait, bounded, for its leader to end."""
    _signal_group(process, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()


def _signal_group(process: Process, number: signal.Signals) -> None:
    """Signal the whole group. A group that has no members, or only those of other users, is left alone."""
    with suppress(OSError):
        os.killpg(process.pid, number)


def launch_failure_reason(error: OSError | ValueError) -> str:
    """Why a program could not be launched, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the command'}: {error.strerror}"
    return str(error)
