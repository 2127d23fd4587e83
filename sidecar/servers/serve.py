"""Life of the sidecar process: take the lock or leave it to another one, listen, serve, end.

Whoever started the process may wait for the end of its standard output: then the socket is open, another
sidecar has it, or there will be none.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.kernel.session import MemoryGap
from sidecar.platform.files import ensure_folder
from sidecar.platform.installation import read_code_digest
from sidecar.servers import SOCKET_BACKLOG

if TYPE_CHECKING:
    from sidecar.platform.rpc import HelloAnswer
    from sidecar.servers.control import SidecarControl
    from sidecar.servers.sidecar import BuildMethods, Sidecar, SidecarIntervals


# --- The sidecar's lock and socket --------------------------------------------------------------------------
# The lock is held for the process's life and released by the kernel, however that ends; its file is never
# removed. The holder may remove a stale socket. Names are relative to the working folder, because the path of
# a socket may have at most 108 bytes.


class SidecarLock:
    """The sidecar's lock. An instance belongs to one thread, except for its own waiting thread."""

    def __init__(self, name: str) -> None:
        """Open the lock file; raises OSError."""
        self._file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._ours = threading.Event()
        self._waiting: threading.Thread | None = None

    def take(self) -> bool:
        """Take the lock if it is free; return whether it is ours now."""
        with suppress(BlockingIOError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._ours.set()
        return self._ours.is_set()

    def wait(self, seconds: float) -> bool:
        """Return whether the lock became ours in that time; a thread goes on waiting until it does."""
        if self._waiting is None:
            self._waiting = threading.Thread(target=self._block, name="waiting for the lock", daemon=True)
            self._waiting.start()
        return self._ours.wait(seconds)

    def is_in_place(self, name: str) -> bool:
        """Whether the file at `name` is still the one that we hold."""
        try:
            return Path(name).stat().st_ino == os.fstat(self._file).st_ino
        except OSError:
            return False

    def sign(self) -> None:
        """Write our process id into the file, for diagnosis."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def _block(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._ours.set()


def open_socket(name: str) -> socket.socket:
    """Listen at `name`, for our own user only; raises OSError. Only for the holder of the lock."""
    Path(name).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(name)
    finally:
        os.umask(before)
    listener.listen(SOCKET_BACKLOG)
    return listener


# --- The log: events, never contents ------------------------------------------------------------------------
# Hosts send prompts and environments, and an exception's message may quote them. So the log has an
# exception's type and place; only errors of the system itself (files, imports) are logged with their message.


SIZE: Final = 1_000_000
"""Bytes after which a log file is rotated."""
KEPT_FILES: Final = 3
"""Rotated files that are kept."""
QUOTED_ERRORS: Final = (OSError, ImportError)

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def log_to_file(path: Path) -> None:
    """Send all logging of this process to a file; raises OSError. The umask sets the file's permissions."""
    handler = _RotatedFile(path, encoding="utf-8")
    handler.setFormatter(_MessageFreeFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # a full disk is no reason to fail
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class _RotatedFile(logging.FileHandler):
    """A file that is rotated when it is big; that of `logging.handlers` costs an idle sidecar 0.7 MiB."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # a full disk, also where the stream is asked for its size
            if self.stream is not None and self.stream.tell() >= SIZE:
                self.close()  # and open it again below
                for number in range(KEPT_FILES, 1, -1):
                    with suppress(FileNotFoundError):
                        Path(f"{self.baseFilename}.{number - 1}").replace(f"{self.baseFilename}.{number}")
                Path(self.baseFilename).replace(f"{self.baseFilename}.1")
        with suppress(OSError):
            super().emit(record)


class _MessageFreeFormatter(logging.Formatter):
    """Logs where an exception was raised, without its message."""

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - logging's name
        error = ei[1]
        return "" if error is None else "\n".join(_exception_lines(error))


def _exception_lines(error: BaseException) -> list[str]:
    said = f": {error}" if isinstance(error, QUOTED_ERRORS) else ""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [
        f"  {type(error).__qualname__}{said}",
        *(f"    {at.filename}:{at.lineno} in {at.name}" for at in traceback.extract_tb(error.__traceback__)),
        *(_exception_lines(cause) if cause is not None else ()),
    ]


# --- The process --------------------------------------------------------------------------------------------


LOCK_NAME: Final = "sidecar.lock"
SOCKET_NAME: Final = "sidecar.sock"
GUARD_S: Final = 1.0
"""Seconds between two looks at the socket while an agent is at work."""
ALIVE_NAME: Final = "alive"
"""A file that is there from the start of a sidecar until it ends by itself or by an order."""
SUCCESSION_S: Final = 45.0
"""Maximum seconds to wait for an older sidecar to make room: more than it may drain."""
RETRY_S: Final = 0.1
"""Seconds between two attempts to greet the holder of the lock, which may be about to listen."""
PLACE_HELD_CODE: Final = 1
COLLECTION_S: Final = 2.0
"""Seconds until garbage is looked for: at the start nearly all that is made stays, and looking takes long."""


GreetHolder = Callable[[], "HelloAnswer | None"]
"""Says hello, with our version, to the sidecar that holds the lock; None where none answers."""


class SidecarSetup(NamedTuple):
    """The folder of socket and lock, the log file, the version, what is served, and the code's digest."""

    run: Path
    log: Path
    version: str
    build: BuildMethods
    read_code: Callable[[], str] = read_code_digest


def serve_sidecar(life: SidecarSetup, greet: GreetHolder, pace: SidecarIntervals | None = None) -> int:
    """Run the sidecar until it ends; return the exit code.

    0: it ended normally, or another one is there that stays. 1: the lock is held by a process that does not
    answer. 70: an internal error, see the log. Raises OSError where a folder cannot be used.
    """
    os.umask(0o077)
    os.chdir(life.run)
    lock = SidecarLock(LOCK_NAME)
    if not lock.take() and (ending := _wait_for_place(lock, greet)) is not None:
        return ending
    lock.sign()
    with open_socket(SOCKET_NAME) as listener:
        _close_stdout()
        try:
            return _run_event_loop(listener, life, pace, lock)
        finally:
            Path(SOCKET_NAME).unlink(missing_ok=True)


def _wait_for_place(lock: SidecarLock, greet: GreetHolder) -> int | None:
    """Wait for a lock that is held; None when it became ours, else the exit code."""
    end = time.monotonic() + SUCCESSION_S
    while (left := end - time.monotonic()) > 0:
        holder = greet()
        if holder is not None and not holder.leaving:
            return 0
        if lock.wait(RETRY_S if holder is None else left):
            return None
    return PLACE_HELD_CODE


def _close_stdout() -> None:
    """Close standard output, but keep its number in use; a terminal is left alone."""
    if not os.isatty(1):
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, 1, inheritable=False)
        os.close(null)


class _SocketGuard:
    """Makes folder, lock and socket again that were removed while an agent is at work.

    Without that the hook of its next stop would find no sidecar, or a new one that knows nothing.
    """

    def __init__(self, life: SidecarSetup, lock: SidecarLock) -> None:
        self._life = life
        self._lock = lock
        self._ours = self._seen()

    async def watch(self, control: SidecarControl, sidecar: Sidecar) -> None:
        """Look every second, until cancelled; only while an agent is at work anything is made again."""
        from sidecar.platform.ports import SystemClock  # noqa: PLC0415 - as in _run_event_loop

        while True:
            await SystemClock().pause(GUARD_S)
            if not control.is_watched() or self._seen() == self._ours:
                continue
            try:
                door = self._reopened()
            except OSError as error:  # something else is in the place: it is tried again
                logging.getLogger(__name__).warning("the socket could not be made again: %s", error)
                continue
            if door is not None:
                await sidecar.listen(door)
                control.reopened()

    def _reopened(self) -> socket.socket | None:
        """Return a new socket in the old place; None where another sidecar has taken it. Raises OSError."""
        ensure_folder(self._life.run)
        os.chdir(self._life.run)
        if not self._lock.is_in_place(LOCK_NAME):
            lock = SidecarLock(LOCK_NAME)
            if not lock.take():
                return None
            self._lock = lock
            lock.sign()
        door = open_socket(SOCKET_NAME)
        ensure_folder(self._life.log.parent)
        log_to_file(self._life.log)
        logging.getLogger(__name__).warning("the socket was removed; it is made again")
        self._ours = self._seen()
        return door

    def _seen(self) -> int:
        """Return the number of the socket's file, 0 where there is none."""
        try:
            return (self._life.run / SOCKET_NAME).stat().st_ino
        except OSError:
            return 0


def _run_event_loop(
    listener: socket.socket, life: SidecarSetup, pace: SidecarIntervals | None, lock: SidecarLock
) -> int:
    """Serve. Imports here come after the socket is open, because the first caller already waits there."""
    gc.disable()
    import asyncio  # noqa: PLC0415

    from sidecar.servers.control import SidecarControl  # noqa: PLC0415
    from sidecar.servers.sidecar import INTERNAL_ERROR, Sidecar  # noqa: PLC0415

    control, alive = SidecarControl(life.version, life.log), Path(ALIVE_NAME)
    control.gap = MemoryGap.FORCE if alive.exists() else MemoryGap.PAST
    alive.touch(mode=0o600)

    async def live() -> int:
        asyncio.get_running_loop().call_later(COLLECTION_S, gc.enable)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, control.stop_by_signal)
        sidecar = Sidecar(control, life.build, pace=pace, read_code=life.read_code)
        control.beside.append(lambda: guard.watch(control, sidecar))
        return await sidecar.run(listener)

    guard = _SocketGuard(life, lock)
    log_to_file(life.log)
    journal = logging.getLogger(__name__)
    journal.info("listening, version %s", life.version)
    try:
        code = asyncio.run(live())
    except Exception:  # noqa: BLE001 - the last place that can log it
        journal.exception("ended by an internal error")
        return INTERNAL_ERROR
    finally:
        gc.enable()
    if not control.by_signal:
        alive.unlink(missing_ok=True)
    journal.info("ended")
    return code
