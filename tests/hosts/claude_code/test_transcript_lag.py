"""Transcripts that lag behind, are not there, or are read by two."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hosts.claude_code.writing import Pauses, Transcript, stop
from sidecar.hosts import record_files as module
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.turn import Turn

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_message_that_comes_late_is_waited_for(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.says("Working.", message="msg-1")
    pauses = Pauses(
        lambda: None,
        lambda: transcript.runs("ls", "a", "call-1"),
        lambda: transcript.says("Done.", message="msg-2"),
    )
    turn = await RecordFiles(RECORD, pauses).read(stop(transcript.path, "Done."), 0)
    assert (turn.last_message, turn.last_message_id, pauses.count) == ("Done.", "msg-2", 3)
    assert len(turn.calls) == 1
    assert turn.current
    assert turn.position == transcript.path.stat().st_size


async def test_a_message_that_never_comes_is_the_one_that_was_told_and_has_no_id(
    transcript: Transcript,
) -> None:
    pauses = Pauses()
    transcript.prompt("ask")
    transcript.says("Working.", message="msg-1")
    turn = await RecordFiles(RECORD, pauses).read(stop(transcript.path, "Done."), 0)
    assert (turn.last_message, turn.last_message_id) == ("Done.", "")
    assert turn.readable
    assert not turn.current
    assert pauses.count * module.PAUSE == pytest.approx(3.0)


async def test_the_same_words_again_are_waited_for_and_not_taken_for_the_message_before(
    transcript: Transcript,
) -> None:
    transcript.prompt("ask")
    transcript.says("Done.", message="msg-1")
    pauses = Pauses(
        lambda: transcript.context("[supervisor a1b2c3] no"),
        lambda: transcript.says("Done.", message="msg-2"),
    )
    transcripts = RecordFiles(RECORD, pauses)
    first, second = stop(transcript.path, "Done."), stop(transcript.path, "Done.", continued=True)
    assert (await transcripts.read(first, 0)).last_message_id == "msg-1"
    assert (await transcripts.read(first, 0)).last_message_id == "msg-1"
    assert pauses.count == 0
    turn = await transcripts.read(second, 0)
    assert (turn.last_message_id, turn.arrived, pauses.count) == ("msg-2", ("a1b2c3",), 2)


async def test_a_transcript_that_appears_late_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    pauses = Pauses(lambda: None, lambda: Transcript(path).prompt("ask"))
    turn = await RecordFiles(RECORD, pauses).read(stop(path), 0)
    assert turn.readable
    assert (turn.prompts, pauses.count) == (("ask",), 2)


@pytest.mark.parametrize("path", ["", "relative.jsonl", "/nul\x00", "/dev/null", "/dev/zero", "/"])
async def test_what_is_no_file_is_no_transcript(path: str) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    assert await transcripts.read(stop(path, "Done."), 0) == Turn(last_message="Done.", readable=False)
    assert module.regular_file_size(path) == 0
    assert not transcripts.queued(stop(path), 0)


async def test_a_reader_that_was_cancelled_leaves_the_next_one_a_whole_turn(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("ls", "a", "call-1")
    reached = asyncio.Event()

    async def forever(_seconds: float) -> None:
        reached.set()
        await asyncio.Event().wait()

    transcripts = RecordFiles(RECORD, forever)
    reader = asyncio.create_task(transcripts.read(stop(transcript.path, "Done."), 0))
    await asyncio.wait_for(reached.wait(), timeout=60)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    transcript.says("Done.")
    turn = await transcripts.read(stop(transcript.path, "Done."), 0)
    assert (turn.last_message, len(turn.calls), turn.tokens) == ("Done.", 1, 240)
