"""What may be asked of an OpenCode that tells us something, while it waits for the answer.

The plugin in the host carries the questions to the host's own API, over the connection by which it told us:
so there is no address, no password and no port to know. Which host that is belongs to the task that handles
what was told, and to the tasks that it starts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextvars import ContextVar
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters.opencode import wire
from sidecar.adapters.text import plain

AGENT: Final = "supervisor-judge"
"""The hidden agent without tools that the plugin adds to the host: its model judges."""
METHOD: Final = "opencode"
"""What the plugin answers to."""
LINE: Final = 300
"""Characters of a host's complaint."""
REACHED: Final = 200
"""Sessions whose host is remembered."""
TOAST_S: Final = 2.0
"""Seconds that a host gets to show a toast."""


class HostError(Exception):
    """The host did not do what it was asked. The text says why, in one line."""

    def __init__(self, why: str) -> None:
        """Keep the beginning of what it says, whatever it says."""
        super().__init__(" ".join(plain(why[: 10 * LINE]).split())[:LINE])


class Host(Protocol):
    """Whoever told us something, and can be asked."""

    async def ask(self, method: str, params: Struct) -> Raw:
        """Ask; raises HostError."""


class Model(Struct, frozen=True, rename={"provider": "providerID", "name": "modelID"}):
    """A model in OpenCode's words."""

    provider: str = ""
    name: str = ""


class About(Struct, frozen=True):
    """The session that something was told of, and the model that answered in it last."""

    host: Host
    session: str
    directory: str
    model: Model


class _Session(Struct, frozen=True):
    id: str = ""
    directory: str = ""


class _Told(Struct, frozen=True):
    session: _Session = _Session()
    last: Raw = wire.NOTHING


class _Asked(Struct, frozen=True):
    directory: str
    call: str
    given: dict[str, Any]


TOLD: Final = msgspec.json.Decoder(_Told)
MODEL: Final = msgspec.json.Decoder(Model)
_ABOUT: ContextVar[About | None] = ContextVar("about", default=None)


def reached(host: Host, event: bytes) -> None:
    """From here on this task asks `host` about the session of `event`; not where that cannot be read."""
    told = wire.decoded(event, TOLD)
    if told is None:
        return
    model = wire.decoded(told.last, MODEL) or Model()
    _ABOUT.set(About(host, told.session.id, told.session.directory, model))


def about() -> About | None:
    """The session that this task is about; None where no OpenCode told of one."""
    return _ABOUT.get()


async def ask(call: str, given: dict[str, Any], seconds: float) -> Raw:
    """Call the host's API, as its own client names it; the answer's JSON. Raises HostError.

    `given` has `path`, `query` and `body`, as the client takes them.
    """
    now = about()
    if now is None:
        raise HostError("no OpenCode is connected")
    try:
        async with asyncio.timeout(seconds):
            return await now.host.ask(METHOD, _Asked(now.directory, call, given))
    except TimeoutError:
        raise HostError(f"OpenCode did not answer {call} within {seconds:g} s") from None


class Toasts:
    """Shows people something outside any event of theirs, where their host still listens."""

    def __init__(self) -> None:
        self._reached: OrderedDict[str, About] = OrderedDict()

    def remember(self) -> None:
        """Remember whom this task is about."""
        now = about()
        if now is not None and now.session:
            self._reached[now.session] = now
            self._reached.move_to_end(now.session)
            while len(self._reached) > REACHED:
                self._reached.popitem(last=False)

    async def show(self, session: str, text: str) -> bool:
        """Show a text in a session's terminal; whether the host says that it did."""
        host = self._reached.get(session)
        if host is None:
            return False
        body = {"title": "Supervisor", "message": plain(text), "variant": "info", "duration": 8000}
        asked = _Asked(host.directory, "tui.showToast", {"body": body})
        try:
            async with asyncio.timeout(TOAST_S):
                return bytes(await host.host.ask(METHOD, asked)) == b"true"
        except (HostError, TimeoutError):
            return False
