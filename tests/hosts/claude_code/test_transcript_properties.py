"""Whatever a transcript says, and however it grows."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_code.writing import FIXTURES, Pauses, Transcript, read, stop
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from support.loops import run

if TYPE_CHECKING:
    from sidecar.kernel.turn import Turn

TEXTS = st.sampled_from(
    ["a", "b", "[supervisor a1b2c3] go on", "Stop hook feedback:\n[supervisor ffffff] x", "😀 ä"]
)
CALLS = st.integers(0, 5).map("call-{}".format)
DEEDS = st.one_of(
    st.tuples(st.just("prompt"), TEXTS),
    st.tuples(st.just("says"), TEXTS),
    st.tuples(st.just("runs"), st.just("ls"), TEXTS, CALLS),
    st.tuples(st.just("calls"), st.sampled_from(["Bash", "AskUserQuestion"]), CALLS),
    st.tuples(st.just("context"), TEXTS),
    st.tuples(
        st.just("queue"), st.sampled_from(["enqueue", "dequeue", "remove", "popAll"]), TEXTS | st.none()
    ),
    st.tuples(st.just("todo"), TEXTS, CALLS),
    st.tuples(st.just("goal"), st.booleans()),
    st.tuples(st.just("rewind"), st.integers(1, 30)),
    st.tuples(
        st.just("raw"),
        st.sampled_from([b"\n", b"{\n", b"\xff\n", b'{"type":"user"}\n', b"x" * 70_000 + b"\n"]),
    ),
)
"""What a host may write, in any order: calls without results, results that come twice, going back."""


def do(transcript: Transcript, deed: tuple[Any, ...]) -> None:
    match deed:
        case ("todo", text, call):
            transcript.calls("TodoWrite", call, {"todos": [{"content": text, "status": "pending"}]})
            transcript.result(call, "ok")
        case ("goal", met):
            transcript.attachment(type="goal_status", met=met, condition="all green")
        case ("rewind", record):
            transcript.leaf = f"uuid-{record}"
        case (name, *given_arguments):
            getattr(transcript, name)(*given_arguments)
        case _:
            pass


async def in_pieces(whole: bytes, cuts: list[int], pieces: Transcript) -> Turn:
    transcripts = RecordFiles(RECORD, Pauses())
    bounds = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    turn = await transcripts.read(stop(pieces.path), 0)
    for start, end in pairwise(bounds):
        pieces.raw(whole[start:end])
        turn = await transcripts.read(stop(pieces.path), 0)
    return turn


@given(st.lists(DEEDS, max_size=40), st.lists(st.integers(0, 1_000_000), max_size=12))
def test_read_in_pieces_a_transcript_says_the_same_as_read_at_once(
    deeds: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        transcript = Transcript(Path(folder) / "whole.jsonl")
        for deed in deeds:
            do(transcript, deed)
        whole = transcript.path.read_bytes()
        pieces = run(in_pieces(whole, cuts, Transcript(Path(folder) / "pieces.jsonl")))
        assert pieces == run(read(transcript.path))
        assert pieces.position == len(whole)


@given(st.lists(DEEDS, max_size=40), st.integers(0, 40))
def test_tokens_counted_in_two_goes_are_those_counted_in_one(deeds: list[tuple[Any, ...]], part: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, transcripts = Path(folder) / "t.jsonl", RecordFiles(RECORD, Pauses())
        transcript = Transcript(path)
        for deed in deeds[:part]:
            do(transcript, deed)
        first = run(transcripts.read(stop(path), 0))
        for deed in deeds[part:]:
            do(transcript, deed)
        second = run(transcripts.read(stop(path), first.position))
        whole = run(read(path))
        assert first.tokens + second.tokens == whole.tokens
        assert (second.prompts, second.calls, second.todos) == (whole.prompts, whole.calls, whole.todos)


@given(st.data())
def test_a_damaged_transcript_raises_nothing_and_stays_within_bounds(data: st.DataObject) -> None:
    whole = bytearray(
        (
            FIXTURES / data.draw(st.sampled_from(["bg-2.1.197.jsonl", "edit-write-tasks-2.1.197.jsonl"]))
        ).read_bytes()
    )
    for _ in range(data.draw(st.integers(1, 20))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes(whole)
        turn = run(read(path, "Done."))
        assert turn.readable
        assert turn.position <= len(whole)
        assert all(len(call.output) <= 2000 for call in turn.calls)
        RecordFiles(RECORD, Pauses()).queued(stop(path), 0)
