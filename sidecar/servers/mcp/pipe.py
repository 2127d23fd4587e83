"""The MCP server that a host starts: a pipe to the user's only sidecar.

Rules of this module:

- It parses no message but the answer to its announcement, and imports next to nothing: every start of a host
  waits for it.
- It lives as long as the host, because hosts do not restart a server that has ended. If the sidecar has hung
  up, the host's next line goes to the next sidecar, after the line with which the host began.
- Requests that were pending when a sidecar ended are not answered; the host's own timeout ends them.
- It may be part of a plugin and run on any Python from 3.8 on (see hooks/mcp.py).

It does not know how a sidecar is started, nor what the messages mean.
"""

from __future__ import annotations

import os
from _signal import SIG_DFL, SIGINT, signal  # type: ignore[import-not-found]
from _thread import allocate_lock, start_new_thread
from sys import byteorder

try:  # private modules of CPython, which import in a fraction of the time of the public ones
    import _socket as sockets
    from _json import encode_basestring_ascii as quoted
except ImportError:
    import socket as sockets  # type: ignore[no-redef]
    from json.encoder import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these would take longer than everything else
    from collections.abc import Callable, Mapping
    from typing import Final

    Connect = Callable[[bool], sockets.socket]
    """Connects to a sidecar, started if needed, to BEGIN a conversation or to RESUME one."""

SidecarSocket = sockets.socket

COPY_BYTES: Final = 1 << 16
"""Bytes that are copied at once."""
SILENCE_S: Final = 20.0
"""Longest wait for a sign of life. A working sidecar sends one every 2 s; its first client waits longer."""
ANSWER_LIMIT: Final = 1 << 16
"""Bytes within which the answer must be complete."""
OPENING_LIMIT: Final = 1 << 16
"""Maximum bytes of a host's first line; a conversation that began with a longer one cannot be resumed."""
ANNOUNCEMENT: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"mcp","params":{"version":%s,"resumed":%s,"project":%s,"token":%s}}\n'
)
ANSWER_START: Final = b'{"jsonrpc":"2.0","id":1,"result":'
NOTICE_START: Final = b'{"jsonrpc":"2.0","method":'
BEGIN: Final = False
RESUME: Final = True


class PipeError(Exception):
    """The sidecar refuses the connection. The message says why."""


def live(version: str, start: Callable[[str], None]) -> None:
    """Run the pipe until the host leaves. Raises OSError and PipeError.

    `start` starts a sidecar and waits until it listens in the given folder; it may raise the same errors.
    """
    signal(SIGINT, SIG_DFL)  # a terminal sends it to all children of the host
    Pipe(make_connect(version, start)).run()


def make_connect(version: str, start: Callable[[str], None]) -> Connect:
    """Return a function that connects to this user's sidecar, for a host that works in the current folder."""
    run, project = run_folder(os.environ), project_folder(os.environ)
    token = os.environ.get("SUPERVISOR_MCP_TOKEN", "")

    def connect(resumed: bool) -> SidecarSocket:  # noqa: FBT001 - it is handed over as a Connect
        try:
            link = connect_to_sidecar(run, version, resumed=resumed, project=project, token=token)
        except (ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
            link = None
        if link is None:
            start(run)
            link = connect_to_sidecar(run, version, resumed=resumed, project=project, token=token)
        if link is None:
            raise PipeError("it makes room for another one, which does not come")
        return link

    return connect


def run_folder(environment: Mapping[str, str]) -> str:
    """Return the socket's folder, by the rule of sidecar/platform/paths.py; a test keeps both in step."""
    state = environment.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = os.path.expanduser("~/.local/state")  # noqa: PTH111 - pathlib takes longer than all the rest
    return state + "/supervisor/run"


def project_folder(environment: Mapping[str, str]) -> str:
    """Return the folder that the host names, else the current one; "" if that was deleted."""
    try:
        return environment.get("CLAUDE_PROJECT_DIR") or os.getcwd()  # noqa: PTH109 - as above
    except OSError:
        return ""


def connect_to_sidecar(
    run: str, version: str, *, resumed: bool, project: str = "", token: str = ""
) -> SidecarSocket | None:
    """Connect to a sidecar, which serves us from the next byte on; None if it is making room for another one.

    `token` is that of the one session that the host works for, "" if its plugin names a session in each call.
    Raises OSError if there is no sidecar or it does not answer, PipeError if it refuses.
    """
    os.chdir(run)  # keeps the name short: a socket's path may have at most 108 bytes
    words = (
        quoted(version),
        "true" if resumed else "false",
        quoted(_path_as_utf8(project)),
        quoted(_path_as_utf8(token)),
    )
    link = SidecarSocket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        # As in the relay: the kernel waits for a place in a full queue of connections.
        link.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDTIMEO, _timeval(SILENCE_S))
        link.connect("sidecar.sock")
        link.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDTIMEO, _timeval(0))
        link.settimeout(SILENCE_S)
        link.sendall((ANNOUNCEMENT % words).encode())
        if _announcement_answer(link) == b"{}":
            link.settimeout(None)
            return link
    except BaseException:
        link.close()
        raise
    link.close()
    return None


def _timeval(seconds: float) -> bytes:
    return int(seconds).to_bytes(8, byteorder) + bytes(8)


class Pipe:
    """Copies between standard input and output and the current sidecar."""

    def __init__(self, connect: Connect) -> None:
        """Connect immediately; raises what `connect` raises."""
        self._connect = connect
        self._opening = b""
        self._between_lines = True
        self._skipping = False
        self._side = _SidecarConnection(connect(BEGIN))

    def run(self) -> None:
        """Copy until the host leaves. Raises PipeError, and what `connect` raises on reconnecting."""
        while chunk := _read_host():
            self._send(self._after_line(chunk) if self._skipping else chunk)
        self._side.leave()

    def _send(self, chunk: bytes) -> None:
        try:
            self._side.link.sendall(chunk)
        except OSError:
            chunk = self._take_up(chunk)
        if not self._opening.endswith(b"\n") and len(self._opening) <= OPENING_LIMIT:
            self._opening += b"".join(chunk.partition(b"\n")[:2])
        self._between_lines = chunk.endswith(b"\n") if chunk else self._between_lines

    def _take_up(self, chunk: bytes) -> bytes:
        """Send another sidecar what this one did not receive; return what was sent of the chunk.

        If the beginning of a line is lost, the rest of that line is dropped.
        """
        self._side.wait()
        if len(self._opening) > OPENING_LIMIT:
            raise PipeError("it has ended, and the host began with too long a line to begin anew")
        begun = self._opening.endswith(b"\n")
        if begun and not self._between_lines:
            chunk = self._after_line(chunk)
        if not self._side.between_lines:
            _write_to_host(b"\n")
        self._side = _SidecarConnection(self._connect(RESUME if begun else BEGIN))
        self._side.link.sendall(self._opening + chunk)
        return chunk

    def _after_line(self, chunk: bytes) -> bytes:
        _, end, rest = chunk.partition(b"\n")
        self._skipping, self._between_lines = not end, True
        return rest


class _SidecarConnection:
    """One connection, and the thread that copies its output to standard output."""

    def __init__(self, link: SidecarSocket) -> None:
        self.link = link
        self.between_lines = True
        self._ended = allocate_lock()
        self._ended.acquire()
        start_new_thread(self._copy_out, ())

    def wait(self) -> None:
        """Wait until all output is copied."""
        with self._ended:
            self.link.close()

    def leave(self) -> None:
        """Tell the sidecar that the host has left; it then closes the connection."""
        try:  # noqa: SIM105 - importing contextlib takes 6 ms
            self.link.shutdown(sockets.SHUT_WR)
        except OSError:
            pass  # it has already closed the connection; its last output is still copied
        self._ended.acquire(timeout=SILENCE_S)

    def _copy_out(self) -> None:
        try:
            while chunk := self.link.recv(COPY_BYTES):
                if not _write_to_host(chunk):
                    os._exit(0)  # the host has left, while the main thread still waits for its input
                self.between_lines = chunk.endswith(b"\n")
        except OSError:
            pass  # the sidecar has ended
        self._ended.release()


def _read_host() -> bytes:
    try:
        return os.read(0, COPY_BYTES)
    except OSError:
        return b""


def _write_to_host(chunk: bytes) -> bool:
    """Write to the host; return whether it still reads."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except OSError:
        return False
    return True


def _path_as_utf8(path: str) -> str:
    """Return a path as valid UTF-8, in the same form as the relay reports a session's folder."""
    return os.fsencode(path).decode("utf-8", "replace")


def _announcement_answer(link: SidecarSocket) -> bytes:
    """Return the result of the announcement. Nothing follows it, as nothing else was requested yet."""
    heard = b""
    while len(heard) < ANSWER_LIMIT:
        line, found, rest = heard.partition(b"\n")
        if not found:
            chunk = link.recv(COPY_BYTES)
            if not chunk:
                raise ConnectionResetError("the sidecar hung up")
            heard += chunk
            continue
        if line.startswith(ANSWER_START):
            return line[len(ANSWER_START) : -1]
        if not line.startswith(NOTICE_START):
            raise PipeError(_refusal_message(line))
        heard = rest
    raise PipeError("the sidecar's answer makes no sense")


def _refusal_message(line: bytes) -> str:
    """Return the error message of a sidecar that refuses."""
    import json  # noqa: PLC0415 - only trouble has to pay for it

    try:
        return str(json.loads(line)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return "the sidecar's answer makes no sense"
