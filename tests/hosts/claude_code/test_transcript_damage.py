"""Transcripts that are broken, cut off or replaced."""

from __future__ import annotations

import msgspec
import pytest

from hosts.claude_code.writing import KIB, MIB, Pauses, Transcript, filler, read, stop
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles


async def test_half_a_line_is_left_until_it_is_whole(transcript: Transcript) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    transcript.prompt("ask")
    transcript.says("Done.")
    whole = transcript.path.read_bytes()
    transcript.path.write_bytes(whole[:-10])
    turn = await transcripts.read(stop(transcript.path), 0)
    assert (turn.last_message, turn.tokens) == ("", 0)
    assert turn.position == whole.find(b"\n") + 1
    transcript.raw(whole[-10:])
    turn = await transcripts.read(stop(transcript.path), turn.position)
    assert (turn.last_message, turn.tokens, turn.position) == ("Done.", 120, len(whole))


@pytest.mark.parametrize("change", ["shorter", "replaced", "rewritten"])
async def test_a_file_that_is_no_longer_the_same_is_read_anew(transcript: Transcript, change: str) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    transcript.prompt("ask")
    for n in range(20):
        transcript.runs("ls", "a", f"call-{n}")
    before = await transcripts.read(stop(transcript.path), 0)
    assert len(before.calls) == 20
    path = transcript.path if change != "replaced" else transcript.path.with_suffix(".new")
    after = Transcript(path)
    after.prompt("another")
    if change == "rewritten":
        filler(after, before.position, line=KIB)
    path.replace(transcript.path)
    turn = await transcripts.read(stop(transcript.path), 0)
    assert (turn.prompts, turn.calls) == (("another",), ())
    assert turn.position == transcript.path.stat().st_size


async def test_a_transcript_that_vanished_is_unreadable_and_read_anew_when_it_is_back(
    transcript: Transcript,
) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    transcript.prompt("ask")
    await transcripts.read(stop(transcript.path), 0)
    content = transcript.path.read_bytes()
    transcript.path.unlink()
    assert not (await transcripts.read(stop(transcript.path), 0)).readable
    transcript.path.write_bytes(content)
    assert (await transcripts.read(stop(transcript.path), 0)).prompts == ("ask",)


async def test_lines_that_are_no_records_are_passed_over(transcript: Transcript) -> None:
    transcript.prompt("ask")
    for junk in (
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b'{"type":7}',
        b"\xff\xfe",
        b'{"type":"user"}',
        b"[" * 100_000,
    ):
        transcript.raw(junk + b"\n")
    transcript.line(type="assistant", message={"content": 7, "id": "x"})
    transcript.line(type="user", message={"content": {"a": 1}})
    transcript.line(type="attachment", attachment=7)
    transcript.line(
        type="attachment", attachment={"type": "hook_additional_context", "hookEvent": "Stop", "content": 7}
    )
    transcript.line(type="queue-operation", operation="enqueue", content={"a": 1})
    transcript.line(type="of-a-later-version", message={"content": "x"}, uuid="u")
    transcript.leaf = "uuid-1"
    transcript.says("Done.")
    turn = await read(transcript.path, "Done.")
    assert (turn.prompts, turn.last_message) == (("ask",), "Done.")


async def test_blocks_of_unknown_types_and_shapes_are_passed_over_one_by_one(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.assistant(
        {"type": "of-a-later-version", "text": {"deep": 1}, "id": 7},
        7,
        {"type": "text", "text": "Done."},
        {"type": "tool_use", "id": "call-1", "name": "Bash", "input": {"command": ["no", "string"]}},
    )
    transcript.result("call-1", {"no": "text"}, structured={"interrupted": "perhaps"})
    turn = await read(transcript.path, "Done.")
    assert turn.last_message_id != ""
    assert [(call.id, call.command, call.output) for call in turn.calls] == [("call-1", "", "")]


async def test_a_line_beyond_the_limit_is_passed_over_and_the_rest_is_read(transcript: Transcript) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    transcript.prompt("ask")
    await transcripts.read(stop(transcript.path), 0)
    transcript.says("x" * (9 * MIB), message="msg-huge")
    transcript.leaf = "uuid-1"
    transcript.says("Done.", message="msg-1")
    turn = await transcripts.read(stop(transcript.path, "Done."), 0)
    assert (turn.prompts, turn.last_message, turn.tokens) == (("ask",), "Done.", 120)
    assert turn.position == transcript.path.stat().st_size
    assert msgspec.structs.replace(
        await read(transcript.path, "Done."), position=0
    ) == msgspec.structs.replace(turn, position=0)


async def test_a_file_of_one_endless_line_is_an_empty_turn(transcript: Transcript) -> None:
    transcript.raw(b"x" * (18 * MIB))
    turn = await read(transcript.path)
    assert (turn.readable, turn.prompts, turn.calls) == (True, (), ())
    assert turn.position <= 18 * MIB


async def test_half_characters_and_bytes_that_are_no_text_are_replaced(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.raw(
        rb'{"type":"assistant","uuid":"u","parentUuid":"uuid-1","message":{"id":"m","content":'
        rb'[{"type":"text","text":"\ud83d cut \\ud83d ' + b'\xff"}]}}\n'
    )
    assert (await read(transcript.path, "� cut \\ud83d �")).last_message_id == "m"
