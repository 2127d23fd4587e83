"""The proxy's way to the sidecar: it waits while there are signs of life, and starts one where none is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.hosts.acp.codec import AcpAnswer, SessionOpened
from sidecar.hosts.acp.sidecar_link import SidecarLink
from sidecar.kernel.errors import BadInputError
from sidecar.platform.client import SidecarError

EVENT = SessionOpened(session="ses_1", directory="/p")
LONG = (60.0, 60.0)
Message = dict[str, Any]
Say = Callable[[Message], Awaitable[None]]
Answer = Callable[[Message, Say], Awaitable[None]]


class Sidecar:
    """Is a sidecar in the working folder, which answers each call so."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._served: list[asyncio.Task[Any] | None] = []

    async def listen(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, "sidecar.sock")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(message: Message) -> None:
            writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await writer.drain()

        self._served.append(asyncio.current_task())
        await self._answer(json.loads(await reader.readline()), say)
        await reader.read()
        writer.close()
        await writer.wait_closed()

    async def close(self) -> None:
        self._server.close()
        await asyncio.gather(*filter(None, self._served))


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[None]:
    sidecar = Sidecar(answer)
    await sidecar.listen()
    try:
        yield
    finally:
        await sidecar.close()


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder is that of the socket."""
    monkeypatch.chdir(tmp_path)


def never() -> None:
    raise SidecarError("it cannot be started")


async def test_an_event_is_answered_and_its_work_is_shown() -> None:
    heard: list[dict[str, str]] = []

    async def answer(call: Message, say: Say) -> None:
        assert (call["method"], call["params"]["host"]) == ("hook", "acp")
        assert call["params"]["environment"] == {"PATH": "/bin"}
        assert call["params"]["event"] == {
            "type": "opened",
            "session": "ses_1",
            "directory": "/p",
            "fresh": True,
        }
        await say({"method": "working", "params": {"judging": {"ses_1": "running pytest, 2 s"}}})
        await say({"method": "working"})
        await say({"id": call["id"], "result": {"notice": "Supervisor: on"}})

    async with serving(answer):
        told = await SidecarLink({"PATH": "/bin"}, never).tell(EVENT, LONG, heard.append)
    assert (told, heard) == (AcpAnswer(notice="Supervisor: on"), [{"ses_1": "running pytest, 2 s"}, {}])


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"error": {"code": -32602, "message": "no such command"}}, BadInputError("no such command")),
        ({"error": {"code": -32603, "message": "internal error"}}, ConnectionError("internal error")),
        ({"result": []}, ConnectionError("its answer makes no sense")),
        (None, ConnectionError("it took too long")),
    ],
)
async def test_what_is_no_answer_is_an_error(reply: Message | None, error: Exception) -> None:
    async def answer(call: Message, say: Say) -> None:
        if reply is not None:
            await say({"id": call["id"], **reply})

    patience = LONG if reply else (0.05, 60.0)
    async with serving(answer):
        with pytest.raises(type(error), match=str(error)):
            await SidecarLink({}, never).tell(EVENT, patience, lambda _: None)


async def test_a_sidecar_is_started_where_none_listens() -> None:
    async def answer(call: Message, say: Say) -> None:
        await say({"id": call["id"], "result": {}})

    sidecar, loop = Sidecar(answer), asyncio.get_running_loop()

    def start() -> None:
        asyncio.run_coroutine_threadsafe(sidecar.listen(), loop).result()

    assert await SidecarLink({}, start).tell(EVENT, LONG, lambda _: None) == AcpAnswer()
    await sidecar.close()


async def test_a_sidecar_that_cannot_be_started_is_told() -> None:
    with pytest.raises(ConnectionError, match="it cannot be started"):
        await SidecarLink({}, never).tell(EVENT, LONG, lambda _: None)
