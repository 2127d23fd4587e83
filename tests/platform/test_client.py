"""The command line's way to the sidecar, with real sidecars."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir, closing
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

import sidecar
from sidecar.platform import client, installation
from sidecar.platform.client import SidecarClient, SidecarError, SidecarRefusedError, StopOutcome
from sidecar.platform.installation import is_newer_version
from sidecar.platform.paths import Paths, user_paths
from sidecar.platform.rpc import HelloAnswer

pytestmark = pytest.mark.process

SERVER: Final = Path(__file__).with_name("client_server.py")
LIMIT_S: Final = 60.0


class Text(Struct):
    text: str = ""


class Pid(Struct):
    pid: int


Make = Callable[..., SidecarClient]


@pytest.fixture
def paths() -> Paths:
    return user_paths()


@pytest.fixture
def make(paths: Paths, tmp_path: Path) -> Iterator[Make]:
    """Make a client of a version and of code, whose sidecar has these too."""

    def make(version: str = "1.0", code: str = "c0de") -> SidecarClient:
        start = tmp_path / f"start-{version}-{code}"
        home = Path(sidecar.__file__).parents[1]
        start.write_text(
            f"#!/bin/sh\nPYTHONPATH={home} exec {sys.executable} {SERVER} {version} {code}\n",
            encoding="utf-8",
        )
        start.chmod(0o755)
        return SidecarClient(paths, version=version, command=(str(start),), read_code=lambda: code)

    yield make
    make().stop()


def test_a_call_starts_the_sidecar_and_the_next_one_finds_it(make: Make) -> None:
    first = make().call("pid", None, Pid)
    assert first.pid != os.getpid()
    assert make().call("pid", None, Pid) == first


def test_parameters_and_results_are_structs(make: Make) -> None:
    assert make().call("echo", Text("ü\n"), Text) == Text("ü\n")


def test_a_sidecar_of_other_code_is_replaced_when_it_is_idle(make: Make) -> None:
    old = make(code="old").call("pid", None, Pid)
    new = make(code="new").call("pid", None, Pid)
    assert new != old
    assert make(code="new").call("pid", None, Pid) == new
    assert make("0.9", code="old").call("pid", None, Pid) != new  # whatever its version


def test_a_sidecar_of_other_code_that_is_at_work_is_left_alone_and_named(make: Make, paths: Paths) -> None:
    pid = make(code="old").call("pid", None, Pid)
    with chdir(paths.run), closing(client.connect_to_sidecar(LIMIT_S)):  # as a run stays connected
        with pytest.raises(
            SidecarError, match=r"other code than this command, and is at work \(a run\)"
        ) as caught:
            make(code="new").call("pid", None, Pid)
        assert caught.value.moves == (client.WAIT_ADVICE, client.STOP_ADVICE)
    assert make(code="old").call("pid", None, Pid) == pid


def test_a_command_whose_own_code_was_replaced_meanwhile_ends_nobody(make: Make, paths: Paths) -> None:
    pid = make(code="new").call("pid", None, Pid)
    found = ["old", "new"]
    command = SidecarClient(paths, version="1.0", read_code=lambda: found.pop(0))
    with pytest.raises(SidecarError, match="was upgraded while this command ran"):
        command.call("pid", None, Pid)
    assert make(code="new").call("pid", None, Pid) == pid


def test_a_sidecar_from_before_the_digest_is_asked_for_its_place_as_a_newer_version_would(
    paths: Paths,
) -> None:
    old = {"version": "0.2.0", "pid": 1, "leaving": False}
    heard: list[bytes] = []
    thread = serve_lines(paths, answer_line(old), answer_line({**old, "leaving": True}), heard=heard)
    hello = SidecarClient(paths, version="0.2.0").greet()
    assert hello is not None
    assert hello.leaving
    thread.join(LIMIT_S)
    assert is_newer_version(json.loads(heard[1])["params"]["version"], "0.2.0")


def test_a_refusal_has_the_sidecars_own_words(make: Make) -> None:
    with pytest.raises(SidecarRefusedError, match=r"^no session is known$"):
        make().call("refuse", None, Text)


def test_another_error_offers_the_next_moves(make: Make) -> None:
    with pytest.raises(SidecarError, match="no such method") as caught:
        make().call("nowhere", None, Text)
    assert not isinstance(caught.value, SidecarRefusedError)
    assert caught.value.moves == (client.DOCTOR_ADVICE,)


def test_a_result_of_another_shape_is_an_error(make: Make) -> None:
    with pytest.raises(SidecarError, match="makes no sense"):
        make().call("echo", Text("x"), Pid)


def test_a_result_larger_than_one_read_arrives_whole(make: Make) -> None:
    assert len(make().call("echo", Text("x" * 500_000), Text).text) == 500_000


def test_a_sidecar_that_cannot_be_started_is_an_error_with_the_next_moves(paths: Paths) -> None:
    with pytest.raises(SidecarError, match="No such file or directory") as caught:
        SidecarClient(paths, command=("/nowhere/supervisor",)).call("pid", None, Pid)
    assert caught.value.moves


def test_a_greeting_finds_who_is_there_and_starts_nobody(make: Make) -> None:
    assert make().greet() is None
    pid = make().call("pid", None, Pid).pid
    assert make().greet() == HelloAnswer("1.0", pid, code="c0de")


def test_a_stop_ends_it_once(make: Make) -> None:
    make().call("pid", None, Pid)
    assert [make().stop(), make().stop()] == [StopOutcome.ENDED, StopOutcome.ABSENT]
    assert make().greet() is None


def test_a_sidecar_that_does_not_answer_is_killed_by_a_stop(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = make().call("pid", None, Pid).pid
    os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(client, "GREETING_S", 0.2)
        assert make().stop() is StopOutcome.KILLED
    assert make().call("pid", None, Pid).pid != pid


def test_a_sidecar_that_does_not_answer_is_an_error_with_the_next_moves(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = make().call("pid", None, Pid).pid
    os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(client, "GREETING_S", 0.2)
        assert make().greet() is None
        with pytest.raises(SidecarError, match="did not answer") as caught:
            make().call("pid", None, Pid)
    os.kill(pid, signal.SIGCONT)
    assert caught.value.moves == (client.DOCTOR_ADVICE, client.STOP_ADVICE)


def serve_lines(paths: Paths, *lines: bytes, heard: list[bytes] | None = None) -> threading.Thread:
    """Answer every line of one caller with the next of `lines`, in this process; note what was `heard`."""
    heard = [] if heard is None else heard
    paths.prepare()
    listener = socket.socket(socket.AF_UNIX)
    with chdir(paths.run):
        listener.bind("sidecar.sock")
    listener.listen()

    def serve() -> None:
        with closing(listener), listener.accept()[0] as link, link.makefile("rb") as asked:
            for line in lines:
                heard.append(asked.readline())
                link.sendall(line)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def answer_line(result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"


HELLO = answer_line({"version": "1.0", "pid": 1, "code": installation.read_code_digest()})


def test_signs_of_work_and_pieces_of_lines_are_waited_out(paths: Paths) -> None:
    note = b'{"jsonrpc":"2.0","method":"working"}\n'
    thread = serve_lines(paths, HELLO, note * 3 + b'{"jsonrpc":"2.0","id":1,"result":{"pid":5}}\n')
    assert SidecarClient(paths, version="1.0").call("pid", None, Pid) == Pid(5)
    thread.join(LIMIT_S)


@pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b'{"id":"x"}\n', b"\xff\n"])
def test_an_answer_that_makes_no_sense_is_an_error(paths: Paths, line: bytes) -> None:
    thread = serve_lines(paths, HELLO, line)
    with pytest.raises(SidecarError, match="makes no sense"):
        SidecarClient(paths, version="1.0").call("pid", None, Pid)
    thread.join(LIMIT_S)
