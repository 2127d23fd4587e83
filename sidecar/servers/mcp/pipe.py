"""What a host starts as its MCP server: a pipe to the one sidecar of the user.

The laws of this file:

- It reads no message but the answer to its announcement, and imports next to nothing: every start of a host
  waits for it.
- It lives as long as the host. Hosts do not start a server again that has ended, so when the sidecar has
  hung up, the next line of the host goes to the next sidecar, after the line with which the host began.
- What a sidecar was working on when it ended is not answered: the host's own patience ends that.
- It may lie in a plugin and run on any Python from 3.8 on (see hooks/mcp.py).

What it does not know: how a sidecar is started, and what is said.
"""

from __future__ import annotations

import os
from _signal import SIG_DFL, SIGINT, signal  # type: ignore[import-not-found]
from _thread import allocate_lock, start_new_thread

try:  # private names of CPython, at a fraction of the public ones' cost
    import _socket as sockets
    from _json import encode_basestring_ascii as quoted
except ImportError:
    import socket as sockets  # type: ignore[no-redef]
    from json.encoder import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:  # to import these costs more than all the rest
    from collections.abc import Callable, Mapping
    from typing import Final

    Connect = Callable[[bool], sockets.socket]
    """Connects to a sidecar, started where needed: to BEGIN a conversation, or to RESUME one."""

Link = sockets.socket

CHUNK: Final = 1 << 16
"""Bytes of one copy."""
SILENCE_S: Final = 20.0
"""Longest wait for a sign of life, which a working sidecar gives every 2 s: its first client waits longer."""
ANSWER_LIMIT: Final = 1 << 16
"""Bytes within which the answer must come."""
OPENING_LIMIT: Final = 1 << 16
"""Bytes of a host's first line; with a longer one its conversation cannot be taken up again."""
ANNOUNCEMENT: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"mcp","params":{"version":%s,"resumed":%s,"project":%s,"token":%s}}\n'
)
ANSWERED: Final = b'{"jsonrpc":"2.0","id":1,"result":'
NOTICE: Final = b'{"jsonrpc":"2.0","method":'
BEGIN: Final = False
RESUME: Final = True


class PipeError(Exception):
    """The sidecar does not let us speak. The message says why."""


def live(version: str, start: Callable[[str], None]) -> None:
    """Be the pipe until the host leaves. Raises OSError and PipeError.

    `start` starts a sidecar and waits until it listens in the folder that it is told; it may raise the same.
    """
    signal(SIGINT, SIG_DFL)  # a host's terminal sends it to all of its children
    Pipe(connecting(version, start)).run()


def connecting(version: str, start: Callable[[str], None]) -> Connect:
    """Give the way to a sidecar of this user, for a host that works where this process is now."""
    run, project = run_folder(os.environ), project_folder(os.environ)
    token = os.environ.get("SUPERVISOR_MCP_TOKEN", "")

    def connect(resumed: bool) -> Link:  # noqa: FBT001 - it is handed over as a Connect
        try:
            link = reach(run, version, resumed=resumed, project=project, token=token)
        except (ConnectionRefusedError, ConnectionResetError, FileNotFoundError):
            link = None
        if link is None:
            start(run)
            link = reach(run, version, resumed=resumed, project=project, token=token)
        if link is None:
            raise PipeError("it makes room for another one, which does not come")
        return link

    return connect


def run_folder(environment: Mapping[str, str]) -> str:
    """Where the socket is: the rule of sidecar/adapters/paths.py without its libraries; a test compares."""
    state = environment.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = os.path.expanduser("~/.local/state")  # noqa: PTH111 - pathlib takes longer than all the rest
    return state + "/supervisor/run"


def project_folder(environment: Mapping[str, str]) -> str:
    """What the host works on: what it says, else where it started us; "" where that folder is gone."""
    try:
        return environment.get("CLAUDE_PROJECT_DIR") or os.getcwd()  # noqa: PTH109 - as above
    except OSError:
        return ""


def reach(run: str, version: str, *, resumed: bool, project: str = "", token: str = "") -> Link | None:
    """Connect to a sidecar that serves us from the next byte on; None where it makes room for another one.

    `token` is that of the one session that the host works for, "" where its plugin names one in each call.
    Raises OSError where there is none or it does not answer, PipeError where it refuses.
    """
    os.chdir(run)  # from here the name is short: a socket's path may have 108 bytes
    words = quoted(version), "true" if resumed else "false", quoted(_whole(project)), quoted(_whole(token))
    link = Link(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        link.settimeout(SILENCE_S)
        link.connect("sidecar.sock")
        link.sendall((ANNOUNCEMENT % words).encode())
        if _answer(link) == b"{}":
            link.settimeout(None)
            return link
    except BaseException:
        link.close()
        raise
    link.close()
    return None


class Pipe:
    """Copies between standard input and output and one sidecar after the other."""

    def __init__(self, connect: Connect) -> None:
        """Connect at once; raises what `connect` raises."""
        self._connect = connect
        self._opening = b""
        self._between_lines = True
        self._skipping = False
        self._side = _Side(connect(BEGIN))

    def run(self) -> None:
        """Copy until the host leaves. Raises PipeError, and what connecting anew raises."""
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
        """Let another sidecar have what this one did not take; what was sent of it.

        The rest of a line whose beginning is lost goes nowhere.
        """
        self._side.wait()
        if len(self._opening) > OPENING_LIMIT:
            raise PipeError("it has ended, and the host began with too long a line to begin anew")
        begun = self._opening.endswith(b"\n")
        if begun and not self._between_lines:
            chunk = self._after_line(chunk)
        if not self._side.between_lines:
            _written(b"\n")
        self._side = _Side(self._connect(RESUME if begun else BEGIN))
        self._side.link.sendall(self._opening + chunk)
        return chunk

    def _after_line(self, chunk: bytes) -> bytes:
        _, end, rest = chunk.partition(b"\n")
        self._skipping, self._between_lines = not end, True
        return rest


class _Side:
    """One connection, and the thread that copies what it says to standard output."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.between_lines = True
        self._ended = allocate_lock()
        self._ended.acquire()
        start_new_thread(self._copy_out, ())

    def wait(self) -> None:
        """Wait until all that it said is copied."""
        with self._ended:
            self.link.close()

    def leave(self) -> None:
        """Tell it that the host has left; it hangs up then."""
        try:  # noqa: SIM105 - importing contextlib takes 6 ms
            self.link.shutdown(sockets.SHUT_WR)
        except OSError:
            pass  # it has left before; what it said last is still copied
        self._ended.acquire(timeout=SILENCE_S)

    def _copy_out(self) -> None:
        try:
            while chunk := self.link.recv(CHUNK):
                if not _written(chunk):
                    os._exit(0)  # the host has left, and the other thread waits for it
                self.between_lines = chunk.endswith(b"\n")
        except OSError:
            pass  # it has ended
        self._ended.release()


def _read_host() -> bytes:
    try:
        return os.read(0, CHUNK)
    except OSError:
        return b""


def _written(chunk: bytes) -> bool:
    """Whether the host still takes what we say."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except OSError:
        return False
    return True


def _whole(path: str) -> str:
    """A path as UTF-8 can hold it: as the relay tells it of a session."""
    return os.fsencode(path).decode("utf-8", "replace")


def _answer(link: Link) -> bytes:
    """The result of the announcement. Nothing follows it, as nothing else was asked yet."""
    heard = b""
    while len(heard) < ANSWER_LIMIT:
        line, found, rest = heard.partition(b"\n")
        if not found:
            chunk = link.recv(CHUNK)
            if not chunk:
                raise ConnectionResetError("the sidecar hung up")
            heard += chunk
            continue
        if line.startswith(ANSWERED):
            return line[len(ANSWERED) : -1]
        if not line.startswith(NOTICE):
            raise PipeError(_complaint(line))
        heard = rest
    raise PipeError("the sidecar's answer makes no sense")


def _complaint(line: bytes) -> str:
    """What a sidecar says against us, in its own words."""
    import json  # noqa: PLC0415 - only trouble has to pay for it

    try:
        return str(json.loads(line)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return "the sidecar's answer makes no sense"
