"""The sidecar, as a run asks it. For a process that stands in the folder of the socket.

A sidecar may end or be killed at any time, and keeps nothing that it could not lose: a request that broke is
made once more, to the next one. A stop has an id, so it is judged once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters.client import SOCKET, SidecarError
from sidecar.adapters.markers import peer
from sidecar.adapters.runs.codec import Begins, Ends, RunEvent, Stops, Types
from sidecar.app.standings import Look
from sidecar.model.effects import Reply
from sidecar.model.iterations import HOST, Ruled, Standing
from sidecar.ports import Access, BadInputError

if TYPE_CHECKING:
    from sidecar.ports import Environment

ANSWER_S: Final = 60.0
"""Seconds until an answer that needs no judging."""
JUDGING_S: Final = 900.0
"""Seconds until a ruling: longer than any `stop_seconds`."""

RESTARTS: Final = 20
"""How often a sidecar that is gone is started while agents work."""

T = TypeVar("T")


class HookCall(Struct, frozen=True, kw_only=True):
    """What the sidecar's method `hook` takes."""

    event: RunEvent
    environment: dict[str, str]
    host: str = HOST


class Asks(Struct, frozen=True):
    """Whose tools are asked for."""

    session: str
    host: str = HOST


class SidecarOverseer:
    """Implements app.iterations.Overseer."""

    def __init__(
        self, session: str, project: str, environment: Environment, wake: Callable[[], object]
    ) -> None:
        """`wake` starts a sidecar where none answers; it may block."""
        self._session = session
        self._project = project
        self._environment = dict(environment)
        self._wake = wake

    async def look(self, *, iterate: bool = False) -> Standing:
        return await self._ask("standing", Look(session=self._session, iterate=iterate), Standing)

    async def typed(self, name: str, arguments: str) -> Reply:
        event = Types(session=self._session, project=self._project, name=name, arguments=arguments)
        return await self._tell(event, Reply)

    async def begin(self) -> None:
        await self._tell(Begins(session=self._session, project=self._project), Raw)

    async def stopped(self, ident: str, said: str, arrived: str) -> Ruled:
        event = Stops(session=self._session, project=self._project, id=ident, said=said, arrived=arrived)
        return await self._tell(event, Ruled, JUDGING_S)

    async def end(self, why: str) -> None:
        await self._tell(Ends(session=self._session, project=self._project, why=why), Raw)

    async def access(self) -> Access:
        return await self._ask("mcp_access", Asks(self._session), Access)

    async def stand_by(self) -> None:
        """Stay connected: a sidecar with nobody connected ends, and agents could not reach their tools."""
        with suppress(BadInputError, OSError):
            for _ in range(RESTARTS):
                with suppress(OSError):
                    await _connected()
                await self._woken()
                await self.access()

    async def _tell(self, event: RunEvent, kind: type[T], seconds: float = ANSWER_S) -> T:
        return await self._ask("hook", HookCall(event=event, environment=self._environment), kind, seconds)

    async def _ask(self, method: str, params: Struct, kind: type[T], seconds: float = ANSWER_S) -> T:
        try:
            answer = await self._once(method, params, seconds)
        except (ConnectionRefusedError, ConnectionResetError):
            await self._woken()
            answer = await self._once(method, params, seconds)
        return _understood(answer, kind)

    async def _woken(self) -> None:
        try:
            await asyncio.to_thread(self._wake)
        except SidecarError as error:
            raise ConnectionError(str(error)) from error

    async def _once(self, method: str, params: Struct, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                return await peer.ask(method, params)
        except TimeoutError as error:
            raise ConnectionError(f"the sidecar did not answer within {seconds:g} s") from error


async def _connected() -> None:
    """Be connected until the sidecar hangs up. Raises OSError."""
    reader, writer = await asyncio.open_unix_connection(SOCKET)
    try:
        while await reader.read(peer.LINE_LIMIT):
            pass
    finally:
        writer.close()


def _understood(answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConnectionError(f"the sidecar's answer makes no sense ({error})") from error
