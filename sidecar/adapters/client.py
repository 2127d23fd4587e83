"""The way of the command line to the sidecar: start it where needed, ask, wait within bounds.

What it does not know: what is asked. Every error offers the next moves of a person.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import sys
import time
from contextlib import chdir, closing, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sidecar import __version__
from sidecar.adapters import plugin, processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sidecar.adapters.paths import Paths

SOCKET: Final = "sidecar.sock"
LOCK: Final = "sidecar.lock"
SILENCE_S: Final = 20.0
"""Longest wait for a sign of life, which a working sidecar gives every 2 s."""
GREETING_S: Final = 2.0
"""Longest wait for a hello, which waits for nothing."""
START_S: Final = 40.0
"""Longest start: it may have to wait until an older sidecar has finished what it does (30 s)."""
BAD_INPUT: Final = -32602

T = TypeVar("T")

DOCTOR: Final = "see what is wrong: supervisor doctor"
STOP: Final = "end it, the next command starts a new one: supervisor stop"


class SidecarError(Exception):
    """The sidecar could not do what was asked. `moves` are what a person can do next, one line each."""

    def __init__(self, message: str, *moves: str) -> None:
        """Say what is wrong, and what can be done."""
        super().__init__(message)
        self.moves = moves


class RefusedError(SidecarError):
    """The sidecar works, and refuses this."""


class Stopped(StrEnum):
    """What became of the sidecar when it was to stop."""

    ABSENT = "it was not running"
    ENDED = "it has ended"
    KILLED = "it did not answer and was killed"


class Greeting(Struct, frozen=True):
    """Who calls."""

    version: str


class Hello(Struct, frozen=True):
    """Who answers; `leaving`: it makes room for us, as we are newer."""

    version: str
    pid: int
    leaving: bool = False


class Call(Struct, frozen=True, kw_only=True):
    """Our one request."""

    method: str
    params: Struct | dict[str, str]
    id: int = 1
    jsonrpc: Literal["2.0"] = "2.0"


class Fault(Struct, frozen=True):
    """Why it is refused."""

    code: int
    message: str


class Line(Struct, frozen=True):
    """What the sidecar says: a notification, or the answer to our one call."""

    id: int | UnsetType = UNSET
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: Fault | UnsetType = UNSET


class _Link:
    """One connection. Everything raises OSError where it breaks, TimeoutError among them."""

    def __init__(self, paths: Paths) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._heard = bytearray()
        self._socket.settimeout(GREETING_S)
        try:
            with chdir(paths.run):
                self._socket.connect(SOCKET)
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def ask(
        self, method: str, params: Struct | None, kind: type[T], *, silence_s: float, seconds: float
    ) -> T:
        """Call a method; also raises SidecarError."""
        self._socket.settimeout(silence_s)
        self._socket.sendall(msgspec.json.encode(Call(method=method, params=params or {})) + b"\n")
        end = time.monotonic() + seconds
        while True:
            self._socket.settimeout(max(0.001, min(silence_s, end - time.monotonic())))
            answer = _understand(self._line(), Line)
            if answer.error:
                raise _refusal(answer.error)
            if answer.result is not UNSET:
                return _understand(answer.result, kind)

    def await_end(self, seconds: float) -> None:
        """Wait until the sidecar hangs up."""
        self._socket.settimeout(seconds)
        with suppress(ConnectionError):
            while True:
                self._line()

    def _line(self) -> bytes:
        while (end := self._heard.find(b"\n")) < 0:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise ConnectionResetError("the sidecar hung up")
            self._heard += chunk
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return line


class Client:
    """Asks the sidecar of one user."""

    def __init__(
        self,
        paths: Paths,
        *,
        version: str = __version__,
        command: Sequence[str] = (),
        silence_s: float = SILENCE_S,
    ) -> None:
        """`command` starts the sidecar: the one of this very installation where empty."""
        self._paths = paths
        self._version = version
        self._command = tuple(command) or (sys.executable, "-P", "-m", "sidecar", "serve")
        self._silence_s = silence_s

    def call(self, method: str, params: Struct | None, kind: type[T], *, seconds: float = 60.0) -> T:
        """Ask, at most `seconds`; starts the sidecar where there is none and replaces an older one.

        Raises SidecarError, RefusedError where the sidecar says no.
        """
        try:
            with closing(self._reach()) as link:
                return link.ask(method, params, kind, silence_s=self._silence_s, seconds=seconds)
        except OSError as error:
            raise SidecarError(f"the sidecar did not answer ({error})", DOCTOR, STOP) from error

    def greet(self) -> Hello | None:
        """Say hello to a running sidecar, which makes an older one leave; None where none answers in 2 s."""
        try:
            with closing(_Link(self._paths)) as link:
                return self._hello(link)
        except (OSError, SidecarError):
            return None

    def start(self) -> None:
        """Start a sidecar that outlives us, and wait until it listens; raises SidecarError."""
        starter = plugin.plugin_root() / "hooks" / "cold.py"
        ended = asyncio.run(
            processes.run(
                (sys.executable, "-I", "-S", str(starter), f"{START_S}", *self._command),
                cwd="/",
                environment=os.environ,
                seconds=START_S + GREETING_S,
            )
        )
        if ended.exit_code != 0:
            said = ended.reason or ended.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise SidecarError(f"the sidecar cannot be started ({said})", DOCTOR)

    def stop(self) -> Stopped:
        """End the sidecar, by force where it does not answer; raises SidecarError."""
        try:
            with closing(_Link(self._paths)) as link:
                link.ask("shutdown", None, Raw, silence_s=GREETING_S, seconds=GREETING_S)
                link.await_end(self._silence_s)
        except TimeoutError:
            return self._kill()
        except (ConnectionRefusedError, FileNotFoundError):
            return Stopped.ABSENT
        except OSError as error:
            raise SidecarError(f"the sidecar could not be told to end ({error})", DOCTOR) from error
        return Stopped.ENDED

    def _reach(self) -> _Link:
        """Connect to a sidecar that is not older than we are."""
        for attempt in range(2):
            with suppress(ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
                link = _Link(self._paths)
                try:
                    if not self._hello(link).leaving:
                        return link
                except BaseException:
                    link.close()
                    raise
                link.close()
            if attempt == 0:
                self.start()
        raise SidecarError("the sidecar was started, but does not listen", DOCTOR)

    def _hello(self, link: _Link) -> Hello:
        return link.ask("hello", Greeting(self._version), Hello, silence_s=GREETING_S, seconds=GREETING_S)

    def _kill(self) -> Stopped:
        """Kill the process that holds the lock and does not answer. It signed the lock before it listened."""
        with (self._paths.run / LOCK).open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.kill(int(lock.read()), signal.SIGKILL)
                fcntl.flock(lock, fcntl.LOCK_EX)  # it is gone when the kernel lets its lock go
                return Stopped.KILLED
            return Stopped.ENDED


def _understand(line: Raw | bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SidecarError(f"the sidecar's answer makes no sense ({error})", STOP) from error


def _refusal(fault: Fault) -> SidecarError:
    return RefusedError(fault.message) if fault.code == BAD_INPUT else SidecarError(fault.message, DOCTOR)
