"""The sidecar's event loop: accepts peers, answers their requests, and decides when to end.

Rules of this module:

- It listens before it can answer: early requests wait until the methods are built.
- Every request of a peer gets an answer; internal errors are in the log and never in the answer.
- It ends when a newer sidecar asks for its place, when it is told to, and when nobody has come for a while.
- Where nothing is at work it ends for a caller of other code, and where its own code has changed on disk;
  that is looked at in a thread after a request, seldom: no event waits for it.
- Background work may fail: that is logged, and everything else goes on.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.installation import is_newer_version, read_code_digest
from sidecar.platform.rpc import (
    BAD_INPUT,
    INTERNAL_FAULT,
    LINE_LIMIT,
    UNKNOWN_METHOD,
    HelloAnswer,
    HelloRequest,
    RpcMessage,
    encode_fault,
    encode_result,
    read_params,
)
from sidecar.servers import SOCKET_BACKLOG
from sidecar.servers.connection import Connection
from sidecar.servers.control import BackgroundWork, Methods, Peer, SidecarControl

CANCEL_S: Final = 5.0
"""Seconds that cancelled requests have to release what they hold, such as processes."""
SLOW_S: Final = 0.1
"""Seconds from which an answer is named in the log."""
INTERNAL_ERROR: Final = 70
WAITING: Final = frozenset({"events", "inbox"})
"""Methods that wait for what others do, so that they may be asked again of the next sidecar."""
WORK: Final = {"hook": "an event of a host", "tool": "a tool", "run_checks": "the checks of a run"}
"""Methods in words for people."""

BuildMethods = Callable[[SidecarControl], Methods]

log = logging.getLogger(__name__)


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancel the callback."""


CallLater = Callable[[float, Callable[[], None]], Timer]


class SidecarIntervals(Struct, frozen=True, kw_only=True):
    """Seconds between two "working" notifications, two renewal requests to one version, two looks at code."""

    beat_s: float = 2.0
    renew_s: float = 600.0
    code_s: float = 20.0


class Sidecar:
    """Serves from one listening socket."""

    def __init__(
        self,
        control: SidecarControl,
        build: BuildMethods,
        *,
        pace: SidecarIntervals | None = None,
        later: CallLater | None = None,
        read_code: Callable[[], str] = read_code_digest,
    ) -> None:
        """Serve the methods that `build` makes in a thread; `later` schedules a callback after seconds.

        `read_code` returns the digest of our code on disk.
        """
        self._read_code = read_code
        self._code: asyncio.Task[str] | None = None
        self._looked = 0.0
        self._requests: list[str] = []
        self._control = control
        self._build = build
        self._pace = pace or SidecarIntervals()
        self._later = later
        self._idle: Timer | None = None
        self._servers: list[asyncio.Server] = []
        self._methods: asyncio.Future[Methods] | None = None
        self._open: dict[Connection, asyncio.Task[None]] = {}
        self._renewals: dict[str, float] = {}
        self._beside: set[asyncio.Task[Any]] = set()
        self._own: Methods = {"hello": self._hello, "shutdown": self._shutdown}

    async def run(self, listener: socket.socket) -> int:
        """Serve until the control says that it ends; return the exit code. Removes the socket's file."""
        loop = asyncio.get_running_loop()
        self._later = self._later or loop.call_later
        self._control.stirred = self._await_visitors
        self._methods = loop.run_in_executor(None, self._build, self._control)
        self._methods.add_done_callback(self._built)
        self._looked = loop.time()
        await self.listen(listener)
        await self._control.ending.wait()
        Path(listener.getsockname()).unlink(missing_ok=True)  # noqa: ASYNC240 - one system call
        for server in self._servers:
            server.close()
        await self._see_off()
        for task in self._beside:
            task.cancel()
        if self._beside:
            await asyncio.wait(self._beside, timeout=CANCEL_S)
        return self._control.exit_code

    async def listen(self, listener: socket.socket) -> None:
        """Accept connections at this socket, too."""
        self._servers.append(
            await asyncio.start_unix_server(
                self._accept, sock=listener, limit=LINE_LIMIT, backlog=SOCKET_BACKLOG
            )
        )

    async def _see_off(self) -> None:
        """Let requests finish within the control's patience, then cancel the rest."""
        for connection in self._open:
            connection.finish()
        for limit in (self._control.patience_s, CANCEL_S):
            if self._open:
                _, late = await asyncio.wait(self._open.values(), timeout=limit)
                for task in late:
                    task.cancel()

    def _built(self, methods: asyncio.Future[Methods]) -> None:
        if methods.cancelled():
            return
        if error := methods.exception():
            log.error("the methods could not be built", exc_info=error)
            self._control.exit_code = INTERNAL_ERROR
            self._control.drain()
            return
        if not self._control.ending.is_set():
            self._beside |= {asyncio.create_task(_run_background(work)) for work in self._control.beside}
        self._own_code()
        if not self._open:
            self._await_visitors()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, self._answer, self._pace.beat_s, self._control.working)
        task = asyncio.current_task()
        if task is None or self._control.ending.is_set():
            writer.close()
            return
        self._open[connection] = task
        self._control.connections = len(self._open)
        if self._idle is not None:
            self._idle.cancel()
        try:
            # Only `_see_off` cancels this task; Python 3.11's streams would log that as an error.
            with suppress(asyncio.CancelledError):
                await connection.run()
        finally:
            del self._open[connection]
            self._control.connections = len(self._open)
            if not self._open:
                self._await_visitors()

    def _await_visitors(self) -> None:
        """End when nobody has come for `idle_s` seconds."""
        if self._idle is not None:
            self._idle.cancel()
        if self._later is not None and not self._open and not self._control.visitors:
            self._idle = self._later(self._control.idle_s, self._control.drain)

    async def _answer(self, message: RpcMessage, peer: Peer) -> bytes:
        """Answer a request; raises nothing but CancelledError."""
        ident, method = None if message.id is UNSET else message.id, str(message.method)
        try:
            answer = await self._carry_out(method, message.params, peer)
            if answer is None:
                return encode_fault(ident, UNKNOWN_METHOD, "there is no such method")
            return encode_result(ident, answer)
        except BadInputError as error:
            return encode_fault(ident, BAD_INPUT, str(error))
        except Exception:
            log.exception("a request failed")
            return encode_fault(ident, INTERNAL_FAULT, f"internal error, see {self._control.log}")

    async def _carry_out(self, method: str, params: Raw, peer: Peer) -> Raw | bytes | None:
        """Return what a method answers, None where there is none of this name."""
        handler = self._own.get(method)
        if handler is None and self._methods is not None:
            handler = (await asyncio.shield(self._methods)).get(method)
        if handler is None:
            return None
        if method == "hook":
            self._suggest_renewal(read_params(params, HelloRequest).version, peer)
        clock = asyncio.get_running_loop().time
        started = clock()
        if works := method not in self._own and method not in WAITING:
            self._requests.append(method)
        try:
            return await handler(params, peer)
        finally:
            if (took := clock() - started) > SLOW_S:
                log.info("%s took %.3f s", method, took)
            if works:
                self._requests.remove(method)
                self._consider_code(clock())

    def _busy(self) -> str:
        """Name what would be cut off if this process ended now; "" for nothing."""
        runs = ["a run" for connection in self._open if not connection.heard]
        calls = ["a tool"] * self._control.tool_calls()
        return ", ".join([*(WORK.get(method, "a command") for method in self._requests), *calls, *runs])

    def _consider_code(self, now: float) -> None:
        if now - self._looked >= self._pace.code_s and not self._busy():
            self._looked = now
            task = asyncio.create_task(self._end_where_code_changed())
            self._beside.add(task)
            task.add_done_callback(self._beside.discard)

    async def _end_where_code_changed(self) -> None:
        found = await asyncio.to_thread(self._read_code)
        if found not in ("", await self._own_code()) and not self._busy():
            log.info("the code has changed, so the next event starts another process")
            self._control.drain()

    def _own_code(self) -> asyncio.Future[str]:
        """Return the digest of the code that runs here, read when the methods are built or somebody asks."""
        if self._code is None:
            self._code = asyncio.create_task(asyncio.to_thread(self._read_code))
            self._beside.add(self._code)
        return asyncio.shield(self._code)

    def _suggest_renewal(self, version: str, peer: Peer) -> None:
        """Ask a newer relay to start its own sidecar: seldom, because it may have none."""
        now = asyncio.get_running_loop().time()
        if is_newer_version(version, self._control.version) and now >= self._renewals.get(version, now):
            self._renewals[version] = now + self._pace.renew_s
            peer.notify("replace")

    async def _hello(self, params: Raw, peer: Peer) -> bytes:
        asked, control = read_params(params, HelloRequest), self._control
        code, busy = await self._own_code(), self._busy()
        other = asked.code not in ("", code) and not busy
        if (other or is_newer_version(asked.version, control.version)) and not control.is_agent(peer.pid):
            control.drain()
        return msgspec.json.encode(
            HelloAnswer(control.version, control.pid, control.ending.is_set(), code, busy)
        )

    async def _shutdown(self, _params: Raw, peer: Peer) -> bytes:
        if why := self._control.refuses_order("stop", peer.pid):
            raise BadInputError(why)
        self._control.stop()
        return b"{}"


async def _run_background(work: BackgroundWork) -> None:
    try:
        await work()
    except Exception:
        log.exception("what runs beside the serving failed")
