"""Client of the sidecar for `supervisor run`; the working folder must be that of the socket.

A sidecar may end or be killed at any time without losing anything that matters, so a broken request is
repeated once, to the next sidecar. A stop has an id, so it is judged only once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.hosts.ports import AccessRequest, AgentResult, HookCall, McpAccess
from sidecar.hosts.unrecorded import RunBegunEvent, RunEndedEvent, RunEvent, RunStoppedEvent, RunTypedEvent
from sidecar.kernel import runs
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import RunHistoryEvent
from sidecar.kernel.orders import Order
from sidecar.platform import client
from sidecar.platform.client import SidecarError
from sidecar.platform.rpc import LINE_LIMIT
from sidecar.systems.iteration.journals import RunChecks, RunNote

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


ANSWER_S: Final = 60.0
"""Seconds to wait for an answer that needs no judging."""
JUDGING_S: Final = 900.0
"""Seconds to wait for a ruling: longer than any `stop_seconds`."""

RESTARTS_LIMIT: Final = 20
"""How often a lost sidecar is started again while agents work."""

T = TypeVar("T")


class SidecarOverseer:
    """Implements systems.iteration.loop.SidecarSession."""

    def __init__(
        self,
        session: str,
        project: str,
        environment: Environment,
        wake: Callable[[], object],
        cwd: str = "",
    ) -> None:
        """`wake` starts a sidecar where none answers; it may block. `cwd`: where agents work, "" for here."""
        self._session = session
        self._project = project
        self._about = {"session": session, "project": project, "cwd": cwd}
        self._environment = dict(environment)
        self._wake = wake

    async def look(self, *, iterate: bool = False, judge: bool = False) -> runs.RunStatus:
        environment = self._environment if judge else {}
        query = runs.RunStatusQuery(session=self._session, iterate=iterate, environment=environment)
        return await self._ask("run_status", query, runs.RunStatus)

    async def order(self, order: Order) -> CommandReply:
        event = RunTypedEvent(**self._about, order=order)
        return await self._tell(event, CommandReply)

    async def begin(self) -> None:
        await self._tell(RunBegunEvent(**self._about), Raw)

    async def stopped(self, ident: str, arrived: str, rest: AgentResult) -> runs.StopDecision:
        told = {"said": rest.said, "tokens": rest.tokens, "waited": rest.waited}
        about: dict[str, Any] = {**self._about, **told}
        event = RunStoppedEvent(id=ident, arrived=arrived, **about)
        return await self._tell(event, runs.StopDecision, JUDGING_S)

    async def note(self, event: RunHistoryEvent) -> None:
        await self._ask("run_note", RunNote(self._session, self._project, event), Raw)

    async def end(self, why: str) -> None:
        await self._tell(RunEndedEvent(**self._about, why=why), Raw)

    async def access(self, worker: int = 0) -> McpAccess:
        return await self._ask("mcp_access", AccessRequest(runs.RUN_HOST, self._session, worker), McpAccess)

    async def workers(self, change: runs.WorkerChange) -> runs.StartedWorker | None:
        return (await self._ask("run_workers", change, runs.WorkerAnswer)).started

    async def checks(
        self, folder: str, environment: Environment, only: tuple[str, ...] = (), asked: str = ""
    ) -> runs.MergeChecks:
        trial = RunChecks(self._session, folder, dict(environment), only, asked)
        return await self._ask("run_checks", trial, runs.MergeChecks, JUDGING_S)

    async def stand_by(self) -> None:
        """Stay connected: a sidecar without connections ends, and agents could not reach their tools."""
        with suppress(BadInputError, OSError):
            for _ in range(RESTARTS_LIMIT):
                with suppress(OSError):
                    await _stay_connected()
                await self._woken()
                await self.access()

    async def _tell(self, event: RunEvent, kind: type[T], seconds: float = ANSWER_S) -> T:
        raw = Raw(msgspec.json.encode(event))
        call = HookCall(host=runs.RUN_HOST, event=raw, environment=self._environment)
        return await self._ask("hook", call, kind, seconds)

    async def _ask(self, method: str, params: Struct, kind: type[T], seconds: float = ANSWER_S) -> T:
        try:
            answer = await self._once(method, params, seconds)
        except (ConnectionRefusedError, ConnectionResetError):
            await self._woken()
            answer = await self._once(method, params, seconds)
        return _decode_answer(answer, kind)

    async def _woken(self) -> None:
        try:
            await asyncio.to_thread(self._wake)
        except SidecarError as error:
            raise ConnectionError(str(error)) from error

    async def _once(self, method: str, params: Struct, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                return await client.request_sidecar(method, params)
        except TimeoutError as error:
            raise ConnectionError(f"the sidecar did not answer within {seconds:g} s") from error


async def _stay_connected() -> None:
    """Stay connected until the sidecar hangs up. Raises OSError."""
    reader, writer = await client.open_connection()
    try:
        while await reader.read(LINE_LIMIT):
            pass
    finally:
        writer.close()


def _decode_answer(answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConnectionError(f"the sidecar's answer makes no sense ({error})") from error
