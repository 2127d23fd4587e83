"""Whoever connects to a sidecar whose queue of connections is full waits for a place, for a bounded time."""

from __future__ import annotations

import ast
import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from hooks.relaying import LIMIT_S, RELAY, answer
from sidecar.platform import client
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.platform.rpc import HelloRequest
from sidecar.servers.mcp import pipe

pytestmark = pytest.mark.proves("crashes and bad input")


class FullQueue:
    """A socket with a full queue. It is emptied, if at all, for a caller that waits in the kernel."""

    def __init__(self) -> None:
        self.stays_full = False
        self.links: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("sidecar.sock")
        Path("sidecar.lock").write_text(f"{os.getpid()}\n", encoding="utf-8")
        self._listener.listen(0)
        self.first = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.first.connect("sidecar.sock")

    def make_socket(self, family: int, kind: int, proto: int = 0, fileno: int | None = None) -> socket.socket:
        made = ObservedSocket(family, kind, proto, fileno)
        made.queue = self
        if fileno is None:  # else the standard library makes it, of a connection that was accepted
            self.links.append(made)
        return made

    def serve(self) -> None:
        self.first.close()
        while True:
            link = self._listener.accept()[0]
            link.settimeout(LIMIT_S)
            with link, link.makefile("rb") as lines:
                if lines.readline():
                    link.sendall(answer(b"{}"))
                    return

    def close(self) -> None:
        for link in (self.first, *self.links):
            link.close()
        self._listener.close()


class ObservedSocket(socket.socket):
    queue: FullQueue

    def connect(self, address: Any) -> None:
        if self.gettimeout() is None and not self.queue.stays_full:
            threading.Thread(target=self.queue.serve, daemon=True).start()
        super().connect(address)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullQueue]:
    paths = user_paths()
    paths.prepare()
    monkeypatch.chdir(paths.run)
    with closing(FullQueue()) as full:
        yield full


def through_the_relay(queue: FullQueue, seconds: float) -> bytes:
    tree = ast.parse(RELAY.read_text(encoding="utf-8"))
    assert isinstance(tree.body.pop(), ast.Try)  # it runs the relay
    names: dict[str, Any] = {}
    exec(compile(tree, str(RELAY), "exec"), names)  # noqa: S102 - our own file
    names["sys"] = SimpleNamespace(
        argv=["", "", "", "", "", "h"], platform=sys.platform, byteorder=sys.byteorder
    )
    names["socket"] = queue.make_socket
    said: bytes = names["_ask"](b"{}", os.fsencode(user_paths().state), seconds, time.monotonic() + seconds)
    return said


def through_the_pipe(queue: FullQueue, seconds: float) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipe, "SidecarSocket", queue.make_socket)
        patch.setattr(pipe, "SILENCE_S", max(seconds, 1))
        link = pipe.connect_to_sidecar(str(user_paths().run), "1", resumed=False)
    assert link is not None
    assert not any(link.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16))
    return b"{}"


def through_the_client(queue: FullQueue, seconds: float) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", queue.make_socket)
        link = client._SidecarConnection(user_paths(), seconds)  # noqa: SLF001 - its callers start processes
    return bytes(link.ask("hello", HelloRequest("1"), Raw, silence_s=LIMIT_S, seconds=LIMIT_S))


def through_a_peer(queue: FullQueue, _seconds: float) -> bytes:
    really = client.connect_to_sidecar

    def connect(seconds: float) -> socket.socket:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "socket", queue.make_socket)
            return really(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "connect_to_sidecar", connect)
        return asyncio.run(client.request_sidecar("hello", HelloRequest("1")))


ASK = [through_the_relay, through_the_pipe, through_the_client, through_a_peer]


@pytest.mark.parametrize("ask", ASK)
def test_a_full_queue_is_waited_for(queue: FullQueue, ask: Callable[[FullQueue, float], bytes]) -> None:
    assert ask(queue, LIMIT_S) == b"{}"


@pytest.mark.parametrize("ask", ASK[:3])
def test_a_queue_that_stays_full_is_an_error_in_the_end(
    queue: FullQueue, ask: Callable[[FullQueue, float], bytes]
) -> None:
    queue.stays_full = True
    with pytest.raises(BlockingIOError):
        ask(queue, 0.01)


def test_a_sidecar_that_takes_nobody_is_killed_when_it_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_seconds: float) -> socket.socket:
        raise BlockingIOError

    paths = user_paths()
    paths.prepare()
    monkeypatch.setattr(client, "connect_to_sidecar", refuse)
    (paths.run / client.SIDECAR_LOCK_FILE).touch()
    assert SidecarClient(paths).stop() is client.StopOutcome.ENDED
