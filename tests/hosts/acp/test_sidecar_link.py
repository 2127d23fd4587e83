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


@contextlib.asynccontextmanager
async def serving(folder: Path, answer: Answer) -> AsyncIterator[None]:
    """Be a sidecar in this folder, which answers each call so."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(message: Message) -> None:
            writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await writer.drain()

        with contextlib.suppress(asyncio.CancelledError):
            await answer(json.loads(await reader.readline()), say)
            await reader.read()
        writer.close()

    with contextlib.chdir(folder):
        async with await asyncio.start_unix_server(serve, "sidecar.sock"):
            yield


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder is that of the socket."""
    monkeypatch.chdir(tmp_path)


def never() -> None:
    raise SidecarError("it cannot be started")


async def test_an_event_is_answered_and_its_work_is_shown(tmp_path: Path) -> None:
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

    async with serving(tmp_path, answer):
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
async def test_what_is_no_answer_is_an_error(tmp_path: Path, reply: Message | None, error: Exception) -> None:
    async def answer(call: Message, say: Say) -> None:
        if reply is not None:
            await say({"id": call["id"], **reply})

    patience = LONG if reply else (0.05, 60.0)
    async with serving(tmp_path, answer):
        with pytest.raises(type(error), match=str(error)):
            await SidecarLink({}, never).tell(EVENT, patience, lambda _: None)


@pytest.mark.usefixtures("there")
async def test_a_sidecar_is_started_once_for_all_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    started: list[asyncio.AbstractServer] = []
    loop = asyncio.get_running_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = json.loads(await reader.readline())
        writer.write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {}}).encode() + b"\n")
        await reader.read()
        writer.close()

    def start() -> None:
        server = asyncio.run_coroutine_threadsafe(asyncio.start_unix_server(serve, "sidecar.sock"), loop)
        started.append(server.result())

    link = SidecarLink({}, start)
    both = await asyncio.gather(*(link.tell(EVENT, LONG, lambda _: None) for _ in range(2)))
    (server,) = started
    async with server:
        assert both == [AcpAnswer(), AcpAnswer()]


@pytest.mark.usefixtures("there")
async def test_a_sidecar_that_cannot_be_started_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConnectionError, match="it cannot be started"):
        await SidecarLink({}, never).tell(EVENT, LONG, lambda _: None)
