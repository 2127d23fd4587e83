"""What a host's format decides of a record that is a file of JSON lines; each host's tests show the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from hosts.claude_code.writing import Pauses
from sidecar.hosts.record_files import PAUSES, RecordFiles, RecordFormat, RecordState
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import ToolCall, Turn

if TYPE_CHECKING:
    from pathlib import Path

STOP: Final = AgentStopped(key=SessionKey("other", "s"), project="/p", transcript="")


class Lines:
    """A state that is the number of lines, and whether the newest one is an end."""

    def __init__(self) -> None:
        self.fed: list[bytes] = []
        self.last_text, self.last_at, self.ended_at = "", -1, 0.0

    def feed(self, at: int, raw: bytes) -> None:
        self.last_at = at
        self.fed.append(raw)

    def turn(self, counted_to: int, position: int) -> Turn:  # noqa: ARG002 - the port's
        return Turn(prompts=tuple(raw.decode() for raw in self.fed), position=position)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return ()

    @property
    def waiting(self) -> bool:
        return bool(self.fed)


def is_ended(state: RecordState, said: str, since: int) -> bool:
    assert isinstance(state, Lines)
    return not said and state.last_at >= since and state.fed[-1:] == [b"end"]


def records(pauses: Pauses, **more: Any) -> RecordFiles:
    return RecordFiles(RecordFormat(Lines, lambda raw: raw == b"ask", complete=is_ended, **more), pauses)


@pytest.mark.parametrize(("marks", "queued"), [((), False), ((b"a",), True), ((b"z",), False)])
def test_only_lines_with_a_mark_show_that_a_prompt_is_queued(
    tmp_path: Path,
    marks: tuple[bytes, ...],
    queued: bool,  # noqa: FBT001 - a table
) -> None:
    (tmp_path / "r").write_bytes(b"ask\n")
    stop = AgentStopped(key=STOP.key, project="/p", transcript=str(tmp_path / "r"))
    assert records(Pauses(), queue_marks=marks).queued(stop, 0) is queued


async def test_the_host_says_when_its_record_of_a_turn_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(b"before\n" * 20_000 + b"ask\nsaid\n")
    stop = AgentStopped(key=STOP.key, project="/p", transcript=str(path))
    pauses = Pauses(lambda: None, lambda: path.write_bytes(path.read_bytes() + b"end\n"))
    turn = await records(pauses).read(stop, -1)
    assert (turn.prompts[-3:], turn.current, pauses.count) == (("ask", "said", "end"), True, 2)
    path.write_bytes(b"ask\n")
    late = Pauses()
    assert not (await records(late).read(stop, -1)).current
    assert late.count == PAUSES
