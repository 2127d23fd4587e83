"""How long the relay waits: seen from inside, with a clock and a socket that move when they are told."""

from __future__ import annotations

import ast
import posix
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hooks.relaying import RELAY, answer

NOW = 1000.0
SILENCE = 20.0
WORKING = b'{"jsonrpc":"2.0","method":"working"}\n'


class Line:
    """A connection on which each sentence comes after so many seconds."""

    def __init__(self, *sentences: tuple[float, bytes]) -> None:
        self.now = NOW
        self.waits: list[float] = []
        self.closed = False
        self._sentences = list(sentences)
        self._patience = 0.0

    def getsockopt(self, *_asked: int) -> bytes:
        """Who listens: this very process."""
        return posix.getpid().to_bytes(4, sys.byteorder) + bytes(8)

    def settimeout(self, seconds: float) -> None:
        self._patience = seconds

    def setsockopt(self, *_: object) -> None:
        pass

    def connect(self, name: str) -> None:
        assert name == "sidecar.sock"

    def sendall(self, _line: bytes) -> None:
        self.waits.append(self._patience)

    def recv(self, _size: int) -> bytes:
        self.waits.append(self._patience)
        after, said = self._sentences.pop(0)
        if after > self._patience:
            raise TimeoutError
        self.now += after
        return said


Ask = Callable[[float], bytes]


def asking(line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Load the relay without its last statement, which runs it, and put the line in the socket's place."""
    (folder / "run").mkdir()
    (folder / "run" / "sidecar.lock").write_text(str(posix.getpid()), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(posix, "environ", {})
    tree = ast.parse(RELAY.read_text(encoding="utf-8"))
    assert isinstance(tree.body.pop(), ast.Try)
    names: dict[str, Any] = {}
    exec(compile(tree, str(RELAY), "exec"), names)  # noqa: S102 - our own file
    names["sys"] = SimpleNamespace(
        argv=["", "", "", "", "", "h"], platform=sys.platform, byteorder=sys.byteorder
    )
    names["socket"] = lambda *_: line
    names["monotonic"] = lambda: line.now

    def ask(total: float) -> bytes:
        said: bytes = names["_ask"](b"{}", bytes(folder), SILENCE, NOW + total)
        return said

    return ask


def test_each_sign_of_work_grants_another_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(*[(19.0, WORKING)] * 5, (19.0, answer(b'{"a":1}')))
    assert asking(line, tmp_path, monkeypatch)(880.0) == b'{"a":1}'
    assert line.waits == [SILENCE] * 7


def test_a_silence_ends_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line((19.0, WORKING), (21.0, answer(b"{}")))
    with pytest.raises(TimeoutError):
        asking(line, tmp_path, monkeypatch)(880.0)


def test_all_signs_of_work_together_do_not_stretch_the_longest_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line(*[(19.0, WORKING)] * 10)
    with pytest.raises(TimeoutError):
        asking(line, tmp_path, monkeypatch)(50.0)
    assert line.waits == [SILENCE, SILENCE, SILENCE, 12.0]


def test_a_wait_that_is_over_is_short_and_not_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line((5.0, WORKING))
    with pytest.raises(TimeoutError):
        asking(line, tmp_path, monkeypatch)(-1.0)
    assert line.waits == [0.001, 0.001]
