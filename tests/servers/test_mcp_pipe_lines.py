"""What the pipe sends to a sidecar, byte for byte: the test is the sidecar."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest

from servers.mcp_pipes import INITIALIZE, LIMIT_S, WAYS, Home, Pipe
from sidecar import __version__
from support.table import often

OPENING = b'{"jsonrpc":"2.0","id":"a","method":"initialize"}\n'
GRANTED = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
CALL = b'{"jsonrpc":"2.0","id":"b","method":"tools/call"}\n'
RESULT = b'{"jsonrpc":"2.0","id":"b","result":{}}\n'


class Taken:
    """One connection of a pipe."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.file = link.makefile("rb")

    def announcement(self) -> Any:
        return json.loads(self.file.readline())

    def line(self) -> bytes:
        return self.file.readline()

    def say(self, text: bytes) -> None:
        self.link.sendall(text)

    def hang_up(self) -> None:
        self.file.close()
        self.link.close()


class Listener:
    """A sidecar's place, taken by the test."""

    def __init__(self, home: Home) -> None:
        run = home.state / "run"
        run.mkdir(mode=0o700)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(LIMIT_S)
        with chdir(run):
            self.socket.bind("sidecar.sock")
        self.socket.listen()

    def take(self, *, resumed: bool = False) -> Taken:
        """Accept a pipe, look at its announcement and let it speak."""
        taken = self.accept()
        params = {"version": __version__, "resumed": resumed, "token": ""}
        assert taken.announcement() == {"jsonrpc": "2.0", "id": 1, "method": "mcp", "params": params}
        taken.say(GRANTED)
        return taken

    def accept(self) -> Taken:
        link, _ = self.socket.accept()
        link.settimeout(LIMIT_S)
        return Taken(link)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "user")


@pytest.fixture
def listener(home: Home) -> Iterator[Listener]:
    listener = Listener(home)
    with closing(listener.socket):
        yield listener


@pytest.fixture(params=WAYS.values(), ids=list(WAYS))
def pipe(
    home: Home,
    listener: Listener,  # noqa: ARG001 - it listens before
    request: pytest.FixtureRequest,
) -> Iterator[Pipe]:
    with home.pipe(request.param) as pipe:
        yield pipe


def test_lines_go_both_ways_as_they_are(listener: Listener, pipe: Pipe) -> None:
    taken = listener.take()
    strange = b"\xff no JSON \x00\n"
    pipe.say(OPENING + strange)
    assert [taken.line(), taken.line()] == [OPENING, strange]
    taken.say(RESULT)
    assert pipe.hear() == json.loads(RESULT)
    taken.hang_up()


def test_signs_of_work_before_the_answer_are_not_for_the_host(listener: Listener, pipe: Pipe) -> None:
    taken = listener.accept()
    working = b'{"jsonrpc":"2.0","method":"working"}\n'
    taken.say(working)
    taken.say(working + GRANTED[:7])
    taken.say(GRANTED[7:])
    pipe.say(OPENING)
    assert taken.announcement()["method"] == "mcp"
    assert taken.line() == OPENING
    taken.say(RESULT)
    assert pipe.hear() == json.loads(RESULT)
    taken.hang_up()


def test_the_end_of_the_host_is_told_and_what_was_said_before_still_arrives(
    listener: Listener, pipe: Pipe
) -> None:
    taken = listener.take()
    assert pipe.process.stdin is not None
    pipe.process.stdin.close()
    assert taken.line() == b""
    taken.say(RESULT)
    taken.hang_up()
    assert pipe.process.stdout is not None
    assert pipe.process.stdout.read() == RESULT
    assert pipe.ended() == (0, b"")


@pytest.mark.proves("runs and the journal")
def test_the_next_sidecar_hears_the_first_line_again_and_then_the_next(
    listener: Listener, pipe: Pipe
) -> None:
    taken = listener.take()
    pipe.say(OPENING + CALL)
    assert [taken.line(), taken.line()] == [OPENING, CALL]
    taken.hang_up()
    pipe.say(CALL)
    taken = listener.take(resumed=True)
    assert [taken.line(), taken.line()] == [OPENING, CALL]
    taken.hang_up()


@pytest.mark.proves("runs and the journal")
def test_what_a_sidecar_leaves_unanswered_is_an_error_and_is_not_sent_again(
    listener: Listener, pipe: Pipe
) -> None:
    cancelled = (
        b'{"method":"tools/call","id":4}\n{"method":"notifications/cancelled","params":{"requestId":4}}\n'
    )
    taken = listener.take()
    pipe.say(OPENING + CALL + cancelled)
    assert [taken.line() for _ in range(4)][1] == CALL
    taken.say(RESULT.replace(b'"b"', b'"a"'))
    assert pipe.hear()["id"] == "a"
    taken.say(RESULT[:9])
    taken.hang_up()
    told = pipe.hear()
    assert told["id"] == "b"
    assert "call again" in told["error"]["message"]
    pipe.say(b'{"method":"ping","id":5}\n')
    taken = listener.take(resumed=True)
    assert [taken.line(), taken.line()] == [OPENING, b'{"method":"ping","id":5}\n']
    taken.hang_up()
    assert pipe.hear()["id"] == 5


def test_a_host_that_had_said_nothing_yet_begins_with_the_next_sidecar(
    listener: Listener, pipe: Pipe
) -> None:
    listener.take().hang_up()
    pipe.say(OPENING)
    taken = listener.take()
    assert taken.line() == OPENING
    taken.hang_up()


def test_a_first_line_that_was_cut_is_sent_whole(listener: Listener, pipe: Pipe) -> None:
    taken = listener.take()
    pipe.say(OPENING[:9])
    taken.hang_up()
    pipe.say(OPENING[9:])
    taken = listener.take()
    assert taken.line() == OPENING
    taken.hang_up()


@pytest.mark.parametrize(
    ("answer", "said"),
    often(
        [
            (
                b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}\n',
                b"no such method",
            ),
            (b"garbage\n", b"makes no sense"),
            (b"x" * 70_000, b"makes no sense"),
            (b'{"jsonrpc":"2.0","method":"working"}\n' * 2_000, b"makes no sense"),
        ],
        3,
    ),
)
def test_a_sidecar_that_does_not_let_it_speak_is_told_in_a_line(
    listener: Listener, pipe: Pipe, answer: bytes, said: bytes
) -> None:
    taken = listener.accept()
    assert taken.announcement()["method"] == "mcp"
    taken.say(answer)
    code, error = pipe.ended()
    assert code == 1
    assert said in error
    assert b"supervisor doctor" in error
    assert b"Traceback" not in error
    taken.hang_up()


def test_a_sidecar_that_makes_room_is_followed_by_another_one(
    listener: Listener, pipe: Pipe, home: Home
) -> None:
    """The test does not hold the lock: the sidecar that the pipe starts takes its place at once."""
    taken = listener.accept()
    assert taken.announcement()["method"] == "mcp"
    taken.say(b'{"jsonrpc":"2.0","id":1,"result":{"leaving":true}}\n')
    try:
        assert pipe.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "supervisor"
        assert pipe.end() == (0, b"", b"")
    finally:
        home.supervisor("stop")
        taken.hang_up()
