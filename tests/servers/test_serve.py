"""The sidecar as a process: one place, one holder, and a clean end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any, Final

import pytest

import sidecar

pytestmark = pytest.mark.process

PROGRAM: Final = Path(__file__).with_name("sidecar_process.py")
LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""

Process = subprocess.Popen[bytes]
Start = Callable[..., Process]


class Link:
    """A peer with blocking calls."""

    def __init__(self, state: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(LIMIT_S)
        with chdir(state / "run"), ExitStack() as on_failure:
            on_failure.callback(self.socket.close)
            self.socket.connect("sidecar.sock")
            on_failure.pop_all()
        self.file = self.socket.makefile("rb")

    def send(self, method: str, ident: int = 1) -> None:
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        return json.loads(self.file.readline())

    def ask(self, method: str) -> Any:
        self.send(method)
        return self.hear()["result"]

    def is_hung_up_on(self) -> bool:
        try:
            return self.file.read() == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def start(state: Path) -> Iterator[Start]:
    started: list[Process] = []

    def start(version: str = "1.0", *more: str, state: Path = state) -> Process:
        command = [sys.executable, str(PROGRAM), str(state), version, *more]
        environment = {**os.environ, "PYTHONPATH": str(Path(sidecar.__file__).parents[1])}
        started.append(
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/", env=environment
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(LIMIT_S)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def link(state: Path) -> Iterator[Callable[[], Link]]:
    links: list[Link] = []

    def link() -> Link:
        links.append(Link(state))
        return links[-1]

    yield link
    for one in links:
        one.close()


Connect = Callable[[], Link]


def settled(process: Process) -> Process:
    """Wait until it listens or gives up: it closes its output then."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], LIMIT_S)[0]
    assert process.stdout.read() == b""
    return process


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_it_makes_is_for_its_owner_alone(start: Start, link: Connect, state: Path) -> None:
    settled(start())
    link().ask("hello")
    assert [mode(state / name) for name in ("run", "log")] == [0o700] * 2
    assert [mode(state / name) for name in ("run/sidecar.sock", "run/sidecar.lock", "log/sidecar.log")] == [
        0o600
    ] * 3


def test_many_started_at_once_leave_one(start: Start, link: Connect) -> None:
    processes = [start() for _ in range(6)]
    for process in processes:
        settled(process)
    holder = link().ask("hello")["pid"]
    assert [one.wait(LIMIT_S) for one in processes if one.pid != holder] == [0] * 5
    assert link().ask("hello")["pid"] == holder


def test_after_a_kill_the_next_one_takes_over_the_stale_socket_and_lock(
    start: Start, link: Connect, state: Path
) -> None:
    killed = settled(start())
    killed.kill()
    killed.wait(LIMIT_S)
    assert (state / "run" / "sidecar.sock").exists()
    with pytest.raises(ConnectionRefusedError):
        link()
    following = settled(start())
    assert link().ask("hello")["pid"] == following.pid


@pytest.mark.parametrize("version", ["1.0", "0.9"])
def test_one_that_is_not_newer_leaves_the_place_to_the_first(
    start: Start, link: Connect, version: str
) -> None:
    first = settled(start("1.0"))
    assert start(version).wait(LIMIT_S) == 0
    assert link().ask("hello")["pid"] == first.pid


def test_a_newer_one_takes_over_when_the_older_has_answered(start: Start, link: Connect, state: Path) -> None:
    older = settled(start("1.0"))
    busy, idle = link(), link()
    busy.send("wait", ident=7)
    assert busy.hear()["method"] == "begun"
    newer = start("1.1")
    assert idle.is_hung_up_on()
    assert not (state / "run" / "sidecar.sock").exists()
    assert older.poll() is None
    busy.send("release", ident=8)
    assert {busy.hear()["id"], busy.hear()["id"]} == {7, 8}
    assert older.wait(LIMIT_S) == 0
    settled(newer)
    answer = link().ask("hello")
    assert (answer["version"], answer["pid"], answer["leaving"]) == ("1.1", newer.pid, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(start: Start, link: Connect, state: Path, number: signal.Signals) -> None:
    process = settled(start())
    busy = link()
    busy.send("wait")
    assert busy.hear()["method"] == "begun"
    process.send_signal(number)
    assert busy.is_hung_up_on()
    assert process.wait(LIMIT_S) == 0
    assert not (state / "run" / "sidecar.sock").exists()


def test_a_path_longer_than_a_socket_may_have_is_no_hindrance(start: Start, state: Path) -> None:
    deep = state / ("d" * 100) / ("e" * 100)
    settled(start(state=deep))
    link = Link(deep)
    assert link.ask("hello")["version"] == "1.0"
    link.close()


def test_the_lock_is_signed_and_outlives_its_holder(start: Start, state: Path) -> None:
    process = settled(start())
    lock = state / "run" / "sidecar.lock"
    assert lock.read_text() == f"{process.pid}\n"
    before = lock.stat().st_ino
    process.terminate()
    process.wait(LIMIT_S)
    settled(start())
    assert lock.stat().st_ino == before
