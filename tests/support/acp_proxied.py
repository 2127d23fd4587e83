"""A proxy in memory, between an editor and an agent that say what a test lets them say.

    async with Proxied() as room:
        session = await room.open()
        await room.editor(prompt(7, "Repair it."))
        await room.agent(ended(7))
        assert not room.to_editor()         # it is held
        await room.judged(AcpAnswer())
        assert room.to_editor() == [ended(7)]

The sidecar answers prompts and openings with nothing, and everything else when the test says so.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Final, Self

from sidecar.hosts.acp.codec import AcpAnswer, AcpEvent, PromptSent, SessionOpened
from sidecar.hosts.acp.proxy import AcpProxy, Patience, Working

Message = dict[str, Any]
FOLDER: Final = "/home/user/project"
SESSION: Final = "ses_1"
OURS: Final = ({"name": "supervisor:goal", "description": "Set a goal", "input": {"hint": "CONDITION"}},)
SETTLED: Final = 50
"""Turns of the loop after which nothing goes on in memory."""


def request(number: object, method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def prompt(number: object, text: str, session: str = SESSION) -> Message:
    return request(number, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


def cancel(session: str = SESSION) -> Message:
    return {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}


def result(number: object, **fields: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": fields}


def ended(number: object, reason: str = "end_turn", **fields: Any) -> Message:
    return result(number, stopReason=reason, **fields)


def update(update_kind: str, session: str = SESSION, /, **fields: Any) -> Message:
    params = {"sessionId": session, "update": {"sessionUpdate": update_kind, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def says(text: str, session: str = SESSION) -> Message:
    return update("agent_message_chunk", session, content={"type": "text", "text": text})


def quoted(text: str, session: str = SESSION) -> Message:
    """How the person is shown a line of ours."""
    return says(f"\n\n> {text}\n\n", session)


class FakeWire:
    """Implements proxy.Wire."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.sent: list[bytes] = []

    async def say(self, line: bytes) -> None:
        self.sent.append(line)

    async def hear(self) -> bytes | None:
        return await self.lines.get()

    def taken(self) -> list[Message]:
        found, self.sent = [json.loads(line) for line in self.sent], []
        return found


class FakeSidecar:
    """`tell` is a proxy.Tell. `told`: every event; `let_go`: those that the proxy no longer waits for.

    `patient`: stops and commands wait until the test answers.
    """

    def __init__(self) -> None:
        self.told: list[AcpEvent] = []
        self.let_go: list[AcpEvent] = []
        self.waiting: list[tuple[asyncio.Future[AcpAnswer], Working]] = []
        self.at_once: AcpAnswer | Exception = AcpAnswer()
        self.patient = True

    async def tell(self, event: AcpEvent, _patience: Patience, working: Working) -> AcpAnswer:
        self.told.append(event)
        if isinstance(self.at_once, Exception):
            raise self.at_once
        if not self.patient or isinstance(event, PromptSent | SessionOpened):
            return self.at_once
        self.waiting.append((asyncio.get_running_loop().create_future(), working))
        try:
            return await self.waiting[-1][0]
        except asyncio.CancelledError:
            self.let_go.append(event)
            raise


class Proxied:
    """The proxy, and both ends of it."""

    def __init__(self) -> None:
        self.sidecar = FakeSidecar()

    async def __aenter__(self) -> Self:
        self.editors, self.agents = FakeWire(), FakeWire()
        proxy = AcpProxy(self.editors, self.agents, self.sidecar.tell, OURS, FOLDER)
        self.running = asyncio.create_task(proxy.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.running.cancel()
        with suppress(asyncio.CancelledError):
            await self.running

    async def open(self, session: str = SESSION, method: str = "session/new", **opened: Any) -> str:
        """Open a session, and forget what was said of it."""
        told = {} if method == "session/new" else {"sessionId": session}
        await self.editor(request("open", method, cwd=FOLDER, mcpServers=[], **told))
        await self.agent(result("open", sessionId=session, **opened))
        self.editors.taken(), self.agents.taken()
        return session

    async def editor(self, *messages: Message | bytes) -> None:
        await self._say(self.editors, *messages)

    async def agent(self, *messages: Message | bytes) -> None:
        await self._say(self.agents, *messages)

    async def judged(self, answer: AcpAnswer) -> None:
        """Let the sidecar answer what it was told first, of what waits."""
        futures = [future for future, _ in self.sidecar.waiting if not future.done()]
        futures[0].set_result(answer)
        await self.settle()

    def to_editor(self) -> list[Message]:
        """What the editor was told since this was asked last."""
        return self.editors.taken()

    def to_agent(self) -> list[Message]:
        return self.agents.taken()

    async def settle(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(SETTLED):
            loop.call_soon((turned := loop.create_future()).set_result, None)
            await turned

    async def _say(self, wire: FakeWire, *messages: Message | bytes) -> None:
        for message in messages:
            wire.lines.put_nowait(message if isinstance(message, bytes) else json.dumps(message).encode())
        await self.settle()
