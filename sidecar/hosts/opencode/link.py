"""Sends requests to the OpenCode whose event we are handling, while it waits for our answer.

The plugin in the host passes the requests on to the host's own API, over the connection on which it sent the
event; so no address, password or port is needed. The host to ask belongs to the task that handles the event,
and to the tasks that it starts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextvars import ContextVar
from typing import Any, Final, Protocol

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.shared import NOTHING, try_decode
from sidecar.kernel.text import clean_text
from sidecar.platform.ports import remember_newest
from sidecar.platform.rpc import PeerError

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
    last: Raw = NOTHING
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


def take_newest_messages() -> bytes:
    """Return the messages that the event carried, once; a later look asks for what is there then."""
    now = get_session_context()
    if now is None or not now.newest:
        return b""
    _SESSION_CONTEXT.set(replace(now, newest=b""))
    return now.newest


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
