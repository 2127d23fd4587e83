"""The MCP server that a host starts: a pipe to the user's only sidecar.

Rules of this module:

- It imports next to nothing: every start of a host waits for it. Of messages it reads the ids alone.
- It lives as long as the host, because hosts do not restart a server that has ended. If the sidecar has hung
  up, the host's next line goes to the next sidecar, after the line with which the host began.
- Requests that were pending when a sidecar ended are answered with an error: hosts wait for hours. Not sent
  again: nobody knows what was done already.
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
    from _json import make_scanner
except ImportError:
    import json
    import socket as sockets  # type: ignore[no-redef]
    from json.encoder import encode_basestring_ascii as quoted

    def make_scanner(context: object) -> object:  # type: ignore[no-redef] # noqa: ARG001 - the fast one's
        """Return what scans JSON where there is no fast one."""
        return json.JSONDecoder().scan_once  # type: ignore[attr-defined]


TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these would take longer than everything else
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Final

    Connect = Callable[[bool], sockets.socket]
    """Connects to a sidecar, started if needed, to BEGIN a conversation or to RESUME one."""

SidecarSocket = sockets.socket

COPY_BYTES: Final = 1 << 16
"""Bytes that are copied at once."""
SILENCE_S: Final = 20.0
"""Longest wait for a sign of life. A working sidecar sends one every 2 s; its first client waits longer."""
ANSWER_LIMIT: Final = 1 << 16
"""Bytes within which the answer must be complete."""
UNANSWERED: Final = (
    '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":'
    '"the sidecar ended during this call, and nobody knows how far it came: look, then call again"}}\n'
)
CANCELLED: Final = "notifications/cancelled"
ANNOUNCEMENT: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"mcp","params":{"version":%s,"resumed":%s,"token":%s}}\n'
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
    """Return a function that connects to this user's sidecar."""
    run, token = run_folder(os.environ), os.environ.get("SUPERVISOR_MCP_TOKEN", "")

    def connect(resumed: bool) -> SidecarSocket:  # noqa: FBT001 - it is handed over as a Connect
        try:
            link = connect_to_sidecar(run, version, resumed=resumed, token=token)
        except (ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
            link = None
        if link is None:
            start(run)
            link = connect_to_sidecar(run, version, resumed=resumed, token=token)
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


def connect_to_sidecar(run: str, version: str, *, resumed: bool, token: str = "") -> SidecarSocket | None:
    """Connect to a sidecar, which serves us from the next byte on; None if it is making room for another one.

    `token` is that of the one session that the host works for, "" if its plugin names a session in each call.
    Raises OSError if there is no sidecar or it does not answer, PipeError if it refuses.
    """
    os.chdir(run)  # keeps the name short: a socket's path may have at most 108 bytes
    words = (quoted(version), "true" if resumed else "false", quoted(_text_as_utf8(token)))
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
    """Copies lines between standard input and output and the current sidecar."""

    def __init__(self, connect: Connect) -> None:
        """Connect immediately; raises what `connect` raises."""
        self._connect = connect
        self._opening = b""
        self._requests = _Requests()
        self._side = _SidecarConnection(connect(BEGIN), self._requests)

    def run(self) -> None:
        """Copy until the host leaves. Raises PipeError, and what `connect` raises on reconnecting."""
        for lines in _whole_lines(_read_host):
            self._send(lines)
        self._side.leave()

    def _send(self, lines: bytes) -> None:
        self._requests.begin(lines)
        try:
            self._side.link.sendall(lines)
        except OSError:  # another sidecar gets what this one did not receive
            self._side.wait()
            self._side = _SidecarConnection(self._connect(RESUME if self._opening else BEGIN), self._requests)
            self._side.link.sendall(self._opening + lines)
        self._requests.confirm()
        if self._side.over:
            self._side.answer_with_errors()
        self._opening = self._opening or b"".join(lines.partition(b"\n")[:2])


def _whole_lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield whole lines as they come, until nothing more is read. A last one that was cut is lost."""
    rest = bytearray()
    while chunk := read():
        rest += chunk
        end = rest.rfind(b"\n", len(rest) - len(chunk)) + 1
        if end:
            yield bytes(rest[:end])
            del rest[:end]


class _Scanning:
    """How the scanner of JSON makes values."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = make_scanner(_Scanning)  # type: ignore[arg-type] # it takes anything with these names


def _messages(lines: bytes) -> Iterator[dict[str, Any]]:
    """Yield the messages of these lines; what is no JSON is skipped."""
    for line in lines.split(b"\n"):
        try:
            found, _ = _scan(line.decode().strip(), 0)
        except (StopIteration, SystemError, ValueError, RecursionError):
            continue  # a SystemError says that the error of JSON has not been imported
        for message in found if isinstance(found, list) else [found]:
            if isinstance(message, dict):
                yield message


class _Requests:
    """The ids of the host's requests that have no answer yet."""

    def __init__(self) -> None:
        self._beginning: list[object] = []
        self._open: list[object] = []
        self._taking = allocate_lock()

    def begin(self, lines: bytes) -> None:
        """Note what is about to be sent: an answer may come before `confirm`."""
        for message in _messages(lines):
            if "method" in message and isinstance(message.get("id"), (int, str)):
                self._beginning.append(message["id"])
            elif message.get("method") == CANCELLED and isinstance(message.get("params"), dict):
                self._drop(message["params"].get("requestId"))  # nobody answers that

    def confirm(self) -> None:
        """It was sent."""
        with self._taking:
            self._open += self._beginning
            self._beginning.clear()

    def end(self, lines: bytes) -> None:
        """Note what a sidecar answers."""
        for message in _messages(lines):
            if "method" not in message:
                self._drop(message.get("id"))

    def take(self) -> list[object]:
        """Return those that were sent, and forget them."""
        with self._taking:
            taken = self._open[:]
            self._open.clear()
            return taken

    def _drop(self, ident: object) -> None:
        with self._taking:
            for ids in (self._beginning, self._open):
                if ident in ids:
                    ids.remove(ident)


class _SidecarConnection:
    """One connection, and the thread that copies its output to standard output.

    `over`: the sidecar has hung up, though the host is still there.
    """

    def __init__(self, link: SidecarSocket, requests: _Requests) -> None:
        self.link = link
        self.over = False
        self._requests = requests
        self._left = False
        self._ended = allocate_lock()
        self._ended.acquire()
        start_new_thread(self._copy_out, ())

    def wait(self) -> None:
        """Wait until all output is copied."""
        with self._ended:
            self.link.close()

    def leave(self) -> None:
        """Tell the sidecar that the host has left; it then closes the connection."""
        self._left = True
        try:  # noqa: SIM105 - importing contextlib takes 6 ms
            self.link.shutdown(sockets.SHUT_WR)
        except OSError:
            pass  # it has already closed the connection; its last output is still copied
        self._ended.acquire(timeout=SILENCE_S)

    def _copy_out(self) -> None:
        try:
            for lines in _whole_lines(lambda: self.link.recv(COPY_BYTES)):
                if not _write_to_host(lines):
                    os._exit(0)  # the host has left, while the main thread still waits for its input
                self._requests.end(lines)
        except OSError:
            pass  # the sidecar has ended
        self.over = not self._left
        if self.over:
            self.answer_with_errors()
        self._ended.release()

    def answer_with_errors(self) -> None:
        """Answer what no sidecar will answer any more."""
        for ident in self._requests.take():
            shown = quoted(ident) if isinstance(ident, str) else str(ident)
            _write_to_host((UNANSWERED % shown).encode())


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


def _text_as_utf8(text: str) -> str:
    """Return a text of the environment as valid UTF-8."""
    return os.fsencode(text).decode("utf-8", "replace")


def _announcement_answer(link: SidecarSocket) -> bytes:
    """Return the result of the announcement. Nothing follows it, as nothing else was requested yet."""
    received = b""
    while len(received) < ANSWER_LIMIT:
        line, found, rest = received.partition(b"\n")
        if not found:
            chunk = link.recv(COPY_BYTES)
            if not chunk:
                raise ConnectionResetError("the sidecar hung up")
            received += chunk
            continue
        if line.startswith(ANSWER_START):
            return line[len(ANSWER_START) : -1]
        if not line.startswith(NOTICE_START):
            raise PipeError(_refusal_message(line))
        received = rest
    raise PipeError("the sidecar's answer makes no sense")


def _refusal_message(line: bytes) -> str:
    """Return the error message of a sidecar that refuses."""
    import json  # noqa: PLC0415 - only trouble has to pay for it

    try:
        return str(json.loads(line)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return "the sidecar's answer makes no sense"
