"""Each host's own record is asked for its sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from hosts.opencode.writing import answer, text, user
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.opencode.record import OpenCodeHistory
from sidecar.hosts.ports import HostTranscripts
from sidecar.hosts.record_files import RecordFiles
from sidecar.hosts.unrecorded import MarkerTurns
from sidecar.kernel.events import AgentStopped, CommandTyped
from sidecar.kernel.orders import Order
from sidecar.kernel.session import SessionKey
from support.fake_opencode import FOLDER, SESSION, FakeOpenCode
from support.memory_stores import ManualClock, MemorySessionStore
from support.scripted_ports import ScriptedWorkspace

if TYPE_CHECKING:
    from pathlib import Path

OPENCODE: Final = SessionKey("opencode", SESSION)
CLAUDE: Final = SessionKey("claude-code", "s1")
MARKER: Final = SessionKey("marker", "s1")
QUEUED: Final = (
    '{"type":"queue-operation","operation":"enqueue","content":"a","timestamp":"2025-11-29T04:32:10Z"}\n'
)


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    path = tmp_path / "t.jsonl"
    path.write_text(QUEUED)
    return str(path)


@pytest.fixture
def records() -> HostTranscripts:
    clock = ManualClock(1234.5)
    markers = MarkerTurns(ScriptedWorkspace(), MemorySessionStore())
    return HostTranscripts(
        {
            CLAUDE.host: RecordFiles(RECORD, clock.pause),
            OPENCODE.host: OpenCodeHistory(clock.now),
            MARKER.host: markers,
        }
    )


def stop(key: SessionKey, transcript: str) -> AgentStopped:
    return AgentStopped(key=key, project=FOLDER, transcript=transcript)


def typed(key: SessionKey, transcript: str) -> CommandTyped:
    return CommandTyped(
        key=key, project=FOLDER, order=Order(name="goal", word="status"), prompt_id="", transcript=transcript
    )


async def test_opencode_is_asked_for_its_own_session(records: HostTranscripts, transcript: str) -> None:
    host = FakeOpenCode()
    host.listed = [user("u", text("go")), answer("a", text("Done."))]
    turn = await host.told(records.read(stop(OPENCODE, transcript), -1))
    assert (turn.prompts, host.calls) == (("go",), ["session.messages"])


async def test_another_hosts_file_is_read_even_while_opencode_asks(
    records: HostTranscripts, transcript: str
) -> None:
    host = FakeOpenCode()
    turn = await host.told(records.read(stop(CLAUDE, transcript), -1))
    assert (turn.prompts, turn.position, host.calls) == ((), len(QUEUED), [])


async def test_a_marker_is_its_own_record(records: HostTranscripts) -> None:
    turn = await records.read(stop(MARKER, '{"id":"one","requests":["go"]}'), 7)
    assert (turn.prompts, turn.last_message_id, turn.position, turn.readable) == (("go",), "one", 7, False)
    assert records.position(typed(MARKER, "")) == 0


def test_a_position_is_in_the_hosts_own_measure(records: HostTranscripts, transcript: str) -> None:
    assert records.position(typed(OPENCODE, transcript)) == 1234500
    assert records.position(typed(CLAUDE, transcript)) == len(QUEUED)
    assert records.position(typed(CLAUDE, "")) == 0


def test_only_a_host_that_does_not_tell_of_a_waiting_prompt_is_looked_at(
    records: HostTranscripts, transcript: str
) -> None:
    assert records.queued(stop(CLAUDE, transcript), 0)
    assert not records.queued(stop(OPENCODE, transcript), 0)
    assert not records.queued(stop(MARKER, transcript), 0)
