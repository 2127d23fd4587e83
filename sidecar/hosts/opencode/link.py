"""Sends requests to the OpenCode whose event we are handling, while it waits for our answer.

The plugin in the host passes the requests on to the host's own API, over the connection on which it sent the
event; so no address, password or port is needed. The host to ask belongs to the task that handles the event,
and to the tasks that it starts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.opencode import wire
from sidecar.hosts.opencode.messages import read_last_turn, read_whole_turn
from sidecar.hosts.shared import try_decode
from sidecar.kernel.text import clean_text
from sidecar.kernel.turn import Turn
from sidecar.platform.ports import remember_newest
from sidecar.platform.rpc import PeerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar.kernel.events import AgentStopped


T = TypeVar("T")

JUDGE_AGENT: Final = "supervisor-judge"
"""The hidden agent without tools that the plugin adds to the host, so that the host's model can judge."""
PLUGIN_METHOD: Final = "opencode"
"""The method that the plugin answers."""
REACHED: Final = 200
"""Sessions whose host is remembered."""
TOAST_S: Final = 2.0
"""Seconds within which a host must show a toast."""


class HostConnection(Protocol):
    """The connection to a host that sent an event."""

    async def ask(self, method: str, params: Struct) -> Raw:
        """Send a request and return the answer. Raises PeerError."""


class OpenCodeModel(Struct, frozen=True, rename={"provider": "providerID", "name": "modelID"}):
    """A model as OpenCode identifies it."""

    provider: str = ""
    name: str = ""


class SessionContext(Struct, frozen=True):
    """The session that an event is about, its host, and the model that answered in it last.

    `newest`: the first step of its messages, where the event carried it and nobody has read it yet.
    """

    host: HostConnection
    session: str
    directory: str
    model: OpenCodeModel
    newest: bytes = b""


class _Session(Struct, frozen=True):
    id: str = ""
    directory: str = ""


class _EventHead(Struct, frozen=True):
    session: _Session = _Session()
    last: Raw = wire.NOTHING
    messages: Raw = Raw(b"")


class _ApiCall(Struct, frozen=True):
    directory: str
    call: str
    given: dict[str, Any]


_SESSION_CONTEXT: ContextVar[SessionContext | None] = ContextVar("about", default=None)


def set_session_context(host: HostConnection, event: bytes) -> None:
    """From here on, this task's requests go to `host` and concern the session of `event`.

    Changes nothing if the event cannot be decoded.
    """
    told = try_decode(event, _EventHead)
    if told is None:
        return
    model = try_decode(told.last, OpenCodeModel) or OpenCodeModel()
    newest = bytes(told.messages)
    _SESSION_CONTEXT.set(SessionContext(host, told.session.id, told.session.directory, model, newest))


def get_session_context() -> SessionContext | None:
    """Return the session that this task is about, None if no OpenCode sent an event of one."""
    return _SESSION_CONTEXT.get()


async def call_host_api(call: str, given: dict[str, Any], seconds: float) -> Raw:
    """Call the host's API; return the answer's JSON. Raises PeerError.

    `call` is the name of the call in the host's own client; `given` has `path`, `query` and `body`, as that
    client takes them.
    """
    now = get_session_context()
    if now is None:
        raise PeerError("no OpenCode is connected")
    try:
        async with asyncio.timeout(seconds):
            return await now.host.ask(PLUGIN_METHOD, _ApiCall(now.directory, call, given))
    except TimeoutError:
        raise PeerError(f"OpenCode did not answer {call} within {seconds:g} s") from None


class Toasts:
    """Shows people messages that answer no event, as long as their host still listens."""

    def __init__(self) -> None:
        self._reached: OrderedDict[str, SessionContext] = OrderedDict()

    def remember(self) -> None:
        """Remember the session that this task is about, and its host."""
        now = get_session_context()
        if now is not None and now.session:
            remember_newest(self._reached, now.session, replace(now, newest=b""), REACHED)

    async def show(self, session: str, text: str) -> bool:
        """Show a text in a session's terminal; return whether the host says that it did."""
        host = self._reached.get(session)
        if host is None:
            return False
        body = {"title": "Supervisor", "message": clean_text(text), "variant": "info", "duration": 8000}
        asked = _ApiCall(host.directory, "tui.showToast", {"body": body})
        try:
            async with asyncio.timeout(TOAST_S):
                return bytes(await host.host.ask(PLUGIN_METHOD, asked)) == b"true"
        except (PeerError, TimeoutError):
            return False


# --- Reading turns from a session's messages ----------------------------------------------------------------
# The host returns the newest messages, as many as are asked for. The number grows in few steps, until the
# turn's own prompt is among them.


FETCH_STEPS: Final = (64, 512, 4096)
"""Messages requested, step by step; a turn with more is read without its beginning."""
SMALLER_STEPS: Final = (16, 4, 1)
"""Fewer messages, requested if already the first step is too long for one answer.

Pictures in a prompt may make it too long.
"""
TOO_LONG: Final = "the answer is too long"
"""The plugin's error for an answer that does not fit into a line."""
SHORT_ANSWER: Final = 64 << 10
"""Bytes of messages that are read without a thread, in about a millisecond."""
FETCH_SECONDS: Final = 30.0
"""Longest wait for one step, in seconds."""


class OpenCodeHistory:
    """The part of hosts.ports.Transcripts that concerns OpenCode."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns seconds since the epoch."""
        self._now = now

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see hosts.ports.Transcripts.

        If it cannot be read, `unfinished` says why.
        """
        try:
            return await self._read(stop.key.id, counted_to)
        except PeerError as error:
            return Turn(position=max(counted_to, 0), readable=False, unfinished=str(error))

    def position(self) -> int:
        """Return where the messages end now, in milliseconds since the epoch."""
        return int(self._now() * 1000)

    async def _read(self, session: str, counted_to: int) -> Turn:
        raw = await _fetch_first_messages(session)
        for limit, more in pairwise(FETCH_STEPS):
            if (turn := await _work(read_whole_turn, raw, counted_to, limit)) is not None:
                return turn
            try:
                raw = await _fetch_newest_messages(session, more)
            except PeerError:  # too long for one answer: the fewer messages of the step before must do
                break
        return await _work(read_last_turn, raw, counted_to)


async def _work(read: Callable[..., T], raw: bytes, *given: int) -> T:
    """Read messages, in a thread where that may take longer than to begin one."""
    return read(raw, *given) if len(raw) <= SHORT_ANSWER else await asyncio.to_thread(read, raw, *given)


async def _fetch_first_messages(session: str) -> bytes:
    """Return the first step, or as many messages as one answer holds. Raises PeerError."""
    now = get_session_context()
    if now is not None and now.newest:
        _SESSION_CONTEXT.set(replace(now, newest=b""))  # a later look asks for what is there then
        return now.newest
    for limit in (FETCH_STEPS[0], *SMALLER_STEPS[:-1]):
        try:
            return await _fetch_newest_messages(session, limit)
        except PeerError as error:
            if TOO_LONG not in str(error):
                raise
    return await _fetch_newest_messages(session, SMALLER_STEPS[-1])


async def _fetch_newest_messages(session: str, limit: int) -> bytes:
    given = {"path": {"id": session}, "query": {"limit": limit}}
    return bytes(await call_host_api("session.messages", given, FETCH_SECONDS))
