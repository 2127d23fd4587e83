"""What reading a transcript costs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hosts.claude_code.writing import KIB, MIB, Pauses, Transcript, filler, read, stop
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles, regular_file_size
from sidecar.kernel.session import THIS_TURN

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Returns the bytes that were read since it was called last."""
    pread, total = os.pread, [0]

    def counted(fd: int, length: int, offset: int) -> bytes:
        data = pread(fd, length, offset)
        total[0] += len(data)
        return data

    def since() -> int:
        result, total[0] = total[0], 0
        return result

    monkeypatch.setattr(os, "pread", counted)
    return since


async def test_a_thousand_stops_read_little_more_than_what_was_added(
    transcript: Transcript, bytes_read: Callable[[], int]
) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    transcript.prompt("ask")
    session = stop(transcript.path, "").key
    for n in range(1000):
        assert not transcripts.unanswered(session, str(transcript.path))
        assert not transcripts.ended(session, str(transcript.path))
        transcript.runs("ls", "x" * 500, f"call-{n}")
        transcript.says(f"Stop {n}.")
        turn = await transcripts.read(stop(transcript.path, f"Stop {n}."), 0)
        assert turn.last_message == f"Stop {n}."
    size = transcript.path.stat().st_size
    assert turn.position == size
    assert len(turn.calls) == 400
    assert bytes_read() < size + 1000 * 3 * 64 + 64 * KIB


async def test_a_huge_transcript_is_read_from_its_end_to_the_last_prompt(
    transcript: Transcript, bytes_read: Callable[[], int]
) -> None:
    transcript.prompt("long ago")
    filler(transcript, 50 * MIB)
    transcript.prompt("ask")
    transcript.runs("ls", "a", "call-1")
    transcript.says("Done.")
    turn = await read(transcript.path, "Done.")
    assert turn.prompts == ("ask",)
    assert len(turn.calls) == 1
    assert turn.position == transcript.path.stat().st_size
    assert bytes_read() < 512 * KIB


async def test_tokens_before_the_last_prompt_are_counted_from_where_the_caller_was(
    transcript: Transcript, bytes_read: Callable[[], int]
) -> None:
    filler(transcript, 20 * MIB)
    counted_to = transcript.path.stat().st_size
    filler(transcript, MIB)
    transcript.prompt("ask")
    transcript.says("Done.")
    known = RecordFiles(RECORD, Pauses())
    turn = await known.read(stop(transcript.path, "Done."), counted_to)
    assert turn.tokens == 12 * 120
    assert bytes_read() < 5 * MIB
    assert (await known.read(stop(transcript.path, "Done."), turn.position)).tokens == 0


def test_a_prompt_queued_after_a_place_is_seen_and_one_before_is_not(transcript: Transcript) -> None:
    transcripts, path = RecordFiles(RECORD, Pauses()), str(transcript.path)
    transcript.queue("enqueue", "before")
    position = regular_file_size(path)
    assert not transcripts.queued(stop(path), position)
    transcript.queue("enqueue", "<task-notification>x")
    assert not transcripts.queued(stop(path), position)
    transcript.queue("enqueue", "/supervisor:goal clear")
    assert transcripts.queued(stop(path), position)
    assert not transcripts.queued(stop(path), regular_file_size(path))
    transcript.queue("popAll", "/supervisor:goal clear")
    assert not transcripts.queued(stop(path), position)


def test_a_place_beyond_the_end_has_nothing_queued(transcript: Transcript) -> None:
    transcript.queue("enqueue", "x")
    assert not RecordFiles(RECORD, Pauses()).queued(stop(transcript.path), 10_000)


async def test_tokens_of_a_turn_in_a_copied_transcript_are_those_of_this_turn(transcript: Transcript) -> None:
    transcript.prompt("asked in the session that this one was forked from")
    transcript.says("Done there.")
    transcript.prompt("ask")
    transcript.says("Done.")
    turn = await RecordFiles(RECORD, Pauses()).read(stop(transcript.path, "Done."), THIS_TURN)
    assert turn.tokens == 120
    assert not RecordFiles(RECORD, Pauses()).queued(stop(transcript.path), THIS_TURN)
