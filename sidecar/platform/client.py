"""The command line's client of the sidecar: starts it if needed, asks, and waits for a bounded time.

This module does not know what is asked. Every error offers the next steps for a person.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import chdir, closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from sidecar import __version__
from sidecar.kernel.errors import BadInputError
from sidecar.platform import installation, processes
from sidecar.platform.paths import unblocking_command
from sidecar.platform.rpc import BAD_INPUT, LINE_LIMIT, HelloAnswer, HelloRequest, RpcMessage, encode_call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sidecar.platform.paths import Paths

SIDECAR_SOCKET_FILE: Final = "sidecar.sock"
SIDECAR_LOCK_FILE: Final = "sidecar.lock"
SILENCE_S: Final = 20.0
"""Maximum seconds without a message; a working sidecar sends one every 2 s."""
GREETING_S: Final = 2.0
"""Maximum seconds to wait for a hello, which the sidecar answers without waiting for anything."""
START_S: Final = 40.0
"""Maximum seconds of a start: it may have to wait until an older sidecar has finished its work (30 s)."""
REQUEST_ID: Final = 1
"""The id of each request, as only one is pending at a time."""

SERVE: Final = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sidecar.__main__ import main; main()"
"""Starts the sidecar of the very code that runs here, which is in the folder that is named first."""

T = TypeVar("T")

DOCTOR_ADVICE: Final = "see what is wrong: supervisor doctor"
WAIT_ADVICE: Final = "wait until it is done, then type this again"
STOP_ADVICE: Final = "end it, the next command starts a new one: supervisor stop"


class SidecarError(Exception):
    """The sidecar could not do what was asked. `moves` are next steps for the user, one line each."""

    def __init__(self, message: str, *moves: str) -> None:
        """Store the message and the next steps."""
        super().__init__(message)
        self.moves = moves


class SidecarRefusedError(SidecarError):
    """The sidecar works but refuses the request."""


class StopOutcome(StrEnum):
    """What happened to the sidecar when it was asked to stop."""

    ABSENT = "it was not running"
    ENDED = "it has ended"
    KILLED = "it did not answer and was killed"


def connect_to_sidecar(seconds: float) -> socket.socket:
    """Connect to the socket in the current folder, whose queue of connections may be full for `seconds`.

    Raises OSError: BlockingIOError if it stays full.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:  # Python's own timeout would not wait for a full queue
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", math.ceil(seconds), 0))
        link.connect(SIDECAR_SOCKET_FILE)
        link.settimeout(GREETING_S)
    except BaseException:
        link.close()
        raise
    return link


class _SidecarConnection:
    """One connection. Methods raise OSError (TimeoutError included) when it breaks."""

    def __init__(self, paths: Paths, seconds: float = GREETING_S) -> None:
        self.on_notice: Callable[[str, Raw], None] | None = None
        with chdir(paths.run):
            self._socket = connect_to_sidecar(seconds)
        self._lines = self._socket.makefile("rb")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def ask(
        self, method: str, params: Struct | None, kind: type[T], *, silence_s: float, seconds: float
    ) -> T:
        """Call a method and return its result. Also raises SidecarError."""
        self._socket.settimeout(silence_s)
        self._socket.sendall(encode_call(method, params, REQUEST_ID))
        end = time.monotonic() + seconds
        while True:
            self._socket.settimeout(max(0.001, min(silence_s, end - time.monotonic())))
            answer = _decode_answer(self._line(), RpcMessage)
            if answer.error:
                if answer.error.code == BAD_INPUT:
                    raise SidecarRefusedError(answer.error.message)
                raise SidecarError(answer.error.message, DOCTOR_ADVICE)
            if answer.result is not UNSET:
                return _decode_answer(answer.result, kind)
            if answer.method is not UNSET and self.on_notice is not None:
                self.on_notice(answer.method, answer.params)

    def await_end(self, seconds: float) -> None:
        """Wait until the sidecar closes the connection."""
        self._socket.settimeout(seconds)
        with suppress(ConnectionError):
            while True:
                self._line()

    def _line(self) -> bytes:
        line = self._lines.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the sidecar hung up")
        return line


class SidecarClient:
    """Sends requests to the sidecar of one user."""

    def __init__(  # noqa: PLR0913 - what a test replaces one by one
        self,
        paths: Paths,
        *,
        version: str = __version__,
        command: Sequence[str] = (),
        silence_s: float = SILENCE_S,
        starts: bool = True,
        read_code: Callable[[], str] = installation.read_code_digest,
    ) -> None:
        """`command` starts the sidecar; if empty, the sidecar of this very installation is started.

        `starts`: whether `call` starts one where none runs, and replaces one of other code. `read_code`
        returns the digest of our code on disk.
        """
        self._read_code = read_code
        self._starts = starts
        self._paths = paths
        self._version = version
        served = (sys.executable, "-P", "-c", SERVE, installation.code_root(), "serve")
        self._command = tuple(command) or served
        self._silence_s = silence_s

    def call(
        self,
        method: str,
        params: Struct | None,
        kind: type[T],
        *,
        seconds: float = 60.0,
        on_notice: Callable[[str, Raw], None] | None = None,
    ) -> T:
        """Send a request; start the sidecar if none runs, and replace one of other code that is idle.

        Waits at most `seconds`; `on_notice` gets notifications that come meanwhile. Raises SidecarError, or
        SidecarRefusedError if the sidecar refuses.
        """
        try:
            with closing(self._reach()) as link:
                link.on_notice = on_notice
                return link.ask(method, params, kind, silence_s=self._silence_s, seconds=seconds)
        except OSError as error:
            raise SidecarError(f"the sidecar did not answer ({error})", DOCTOR_ADVICE, STOP_ADVICE) from error

    def greet(self) -> HelloAnswer | None:
        """Say hello to a running sidecar; an idle one of other code leaves. None if none answers within 2 s.

        Also None where this process runs code that is no longer on disk: it may replace nobody.
        """
        try:
            with closing(_SidecarConnection(self._paths)) as link:
                return self._hello(link)
        except (OSError, SidecarError):
            return None

    def start(self) -> None:
        """Start a sidecar that outlives this process, and wait until it listens. Raises SidecarError."""
        try:
            self._paths.prepare()
        except OSError as error:
            raise SidecarError(
                f"{error.filename or self._paths.state} cannot be used: {error.strerror or error}",
                unblocking_command(Path(error.filename or self._paths.state), error),
            ) from error
        starter = installation.plugin_root() / "hooks" / "cold.py"
        words = (sys.executable, "-I", "-S", str(starter), f"{START_S}", *self._command)
        seconds = START_S + GREETING_S
        run = processes.run_process(words, cwd="/", environment=os.environ, seconds=seconds)
        ended = asyncio.run(run)
        if ended.exit_code != 0:
            said = ended.reason or ended.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise SidecarError(f"the sidecar cannot be started ({said})", DOCTOR_ADVICE)

    def stop(self) -> StopOutcome:
        """End the sidecar, by force if it does not answer. Raises SidecarError."""
        try:
            with closing(_SidecarConnection(self._paths)) as link:
                link.ask("shutdown", None, Raw, silence_s=GREETING_S, seconds=GREETING_S)
                link.await_end(self._silence_s)
        except (TimeoutError, BlockingIOError):
            return self._kill()
        except (ConnectionRefusedError, FileNotFoundError):
            return StopOutcome.ABSENT
        except OSError as error:
            raise SidecarError(f"the sidecar could not be told to end ({error})", DOCTOR_ADVICE) from error
        return StopOutcome.ENDED

    def wait_until_gone(self) -> None:
        """Wait until no sidecar holds the lock; one that was told to end may write its files until then."""
        with suppress(FileNotFoundError), (self._paths.run / SIDECAR_LOCK_FILE).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def _reach(self) -> _SidecarConnection:
        """Connect to a sidecar of our code; start one if needed."""
        for attempt in range(2):
            with suppress(ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
                link = _SidecarConnection(self._paths, self._silence_s)
                try:
                    hello = self._hello(link)
                    if not hello.leaving:
                        self._refuse_other_code(hello)
                        return link
                except BaseException:
                    link.close()
                    raise
                link.close()
            if not self._starts:
                raise SidecarError("the sidecar does not run", DOCTOR_ADVICE)
            if attempt == 0:
                self.start()
        raise SidecarError("the sidecar was started, but does not listen", DOCTOR_ADVICE)

    def _hello(self, link: _SidecarConnection) -> HelloAnswer:
        """Say hello, and ask a sidecar of other code to make room."""
        answer = self._greeted(link, HelloRequest(self._version))
        if answer.leaving or not self._has_other_code(answer):
            return answer
        code = installation.first_reading(self._read_code)
        if self._read_code() != code:
            raise SidecarError("Supervisor was upgraded while this command ran", "type this again")
        # One from before there was a digest makes room for a newer version, and for nobody else.
        version = self._version if answer.code else f"{answer.version}.1"
        return self._greeted(link, HelloRequest(version, code))

    def _refuse_other_code(self, answer: HelloAnswer) -> None:
        """Raise SidecarError where the sidecar did not make room for our code."""
        if self._has_other_code(answer):
            doing = f"is at work ({answer.busy})" if answer.busy else "makes room for a person's command only"
            raise SidecarError(
                f"the sidecar runs other code than this command, and {doing}", WAIT_ADVICE, STOP_ADVICE
            )

    def _greeted(self, link: _SidecarConnection, words: HelloRequest) -> HelloAnswer:
        return link.ask("hello", words, HelloAnswer, silence_s=GREETING_S, seconds=GREETING_S)

    def _has_other_code(self, answer: HelloAnswer) -> bool:
        return self._starts and answer.code != installation.first_reading(self._read_code)

    def _kill(self) -> StopOutcome:
        """Kill the unresponsive process that holds the lock; it wrote its pid there before it listened."""
        with (self._paths.run / SIDECAR_LOCK_FILE).open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.kill(int(lock.read()), signal.SIGKILL)
                fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel releases the lock when the process is gone
                return StopOutcome.KILLED
            return StopOutcome.ENDED


def _decode_answer(line: Raw | bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SidecarError(f"the sidecar's answer makes no sense ({error})", STOP_ADVICE) from error


# --- one request that may take long, with its notifications -------------------------------------------------
# The process must have changed into the socket's folder, because a socket's path may have at most 108 bytes.
# Closing the connection cancels the request.


async def request_sidecar(
    method: str, params: Struct, hear: Callable[[str, Raw], None] = lambda *_: None
) -> bytes:
    """Send a request and return the result's JSON; `hear` receives every notification until then.

    Raises BadInputError if the sidecar refuses, ConnectionError if it does not answer.
    """
    try:
        reader, writer = await open_connection()
    except OSError as error:
        raise ConnectionRefusedError(f"no sidecar listens: {error}") from error
    try:
        writer.write(encode_call(method, params, REQUEST_ID))
        while True:
            line = await _read_line(reader)
            if line.error:
                kind = BadInputError if line.error.code == BAD_INPUT else ConnectionError
                raise kind(line.error.message)
            if line.result is not UNSET:
                return bytes(line.result)
            if line.method is not UNSET:
                hear(line.method, line.params)
    finally:
        writer.close()


async def open_connection() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the sidecar. Raises OSError."""
    # asyncio would take a full queue for a connection that is being made.
    link = await asyncio.to_thread(connect_to_sidecar, SILENCE_S)
    return await asyncio.open_unix_connection(sock=link, limit=LINE_LIMIT)


async def _read_line(reader: asyncio.StreamReader) -> RpcMessage:
    try:
        return msgspec.json.decode(await reader.readuntil(b"\n"), type=RpcMessage)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionResetError("the sidecar hung up") from error
