"""Transcripts that real hosts wrote, read whole and piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hosts.claude_code.writing import FIXTURES, Pauses, read, stop
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.claude_code.writing import Transcript

VERSIONS = ["2.1.197", "2.1.330"]
TRANSCRIPTS = sorted(FIXTURES.glob("*-2.1.*.jsonl"))


def whole_lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("version", VERSIONS)
async def test_parallel_calls_a_failure_and_a_continuation(version: str) -> None:
    turn = await read(FIXTURES / f"headless-mix-{version}.jsonl", "Second end.")
    assert turn.prompts == ("Do the mix.",)
    assert [(call.command, call.outcome, call.exit_code, call.output) for call in turn.calls] == [
        ("echo one", CallOutcome.OK, 0, "one"),
        ("echo two", CallOutcome.OK, 0, "two"),
        ("echo out; echo err >&2; exit 3", CallOutcome.FAILED, 3, "Exit code 3\nout\nerr"),
    ]
    assert (turn.arrived, turn.calls_since_arrival) == (("a1b2c3",), 0)
    assert turn.tokens == 4 * 120
    assert turn.last_message_id.startswith("msg_")
    assert not turn.queued


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_command_in_the_background_and_a_subagent(version: str) -> None:
    turn = await read(FIXTURES / f"bg-{version}.jsonl", "All over.")
    assert turn.prompts == ("run it",)
    assert [(call.doing, call.outcome, call.exit_code) for call in turn.calls] == [
        (ToolAction.RUN, CallOutcome.OK, 0),
        (ToolAction.RUN, CallOutcome.OK, None),
        (ToolAction.DELEGATE, CallOutcome.OK, None),
        (ToolAction.RUN, CallOutcome.OK, 0),
    ]
    assert turn.calls[0].output.startswith("Command running in background")
    assert not turn.queued


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_prompt_typed_while_a_tool_ran(version: str) -> None:
    path = FIXTURES / f"queue-during-tool-{version}.jsonl"
    turn = await read(path, "After tool.")
    assert turn.prompts == ("do q1", "typed while tool runs")
    assert len(turn.calls) == 1
    assert not turn.queued
    assert not RecordFiles(RECORD, Pauses()).queued(stop(path), 0)


async def test_a_prompt_typed_while_the_stop_was_judged_waits_until_the_host_takes_it(tmp_path: Path) -> None:
    lines = whole_lines(FIXTURES / "queued-during-stop-2.1.197.jsonl")
    taken = next(n for n, line in enumerate(lines) if b'"dequeue"' in line)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(lines[:taken]))
    turn = await read(path, "Second end.")
    assert (turn.prompts, turn.queued, turn.arrived) == (("do q1",), True, ("a1b2c3",))
    assert RecordFiles(RECORD, Pauses()).queued(stop(path), 0)
    path.write_bytes(b"".join(lines))
    turn = await read(path, "Third end.")
    assert (turn.prompts, turn.queued) == (("actually do q3 instead",), False)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_hosts_own_goal_from_setting_to_clearing(tmp_path: Path, version: str) -> None:
    lines = whole_lines(FIXTURES / f"native-goal-{version}.jsonl")
    path, goals = tmp_path / "t.jsonl", []
    for n in range(len(lines)):
        path.write_bytes(b"".join(lines[: n + 1]))
        goals.append((await read(path)).native_goal)
    changes = [goal for goal, before in zip(goals, ["", *goals], strict=False) if goal != before]
    assert changes == ["all green", "", "second goal", ""]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_rewind_leaves_the_prompt_that_was_asked_instead(version: str) -> None:
    turn = await read(FIXTURES / f"rewind-{version}.jsonl", "End three.")
    assert turn.prompts == ("do q2 differently",)
    assert turn.tokens == 3 * 120
    assert (len(turn.rewound), turn.prompt_id in turn.rewound) == (1, False)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_interrupted_tool_and_two_prompts_after_it(tmp_path: Path, version: str) -> None:
    lines = whole_lines(FIXTURES / f"esc-interrupt-{version}.jsonl")
    interrupt = next(n for n, line in enumerate(lines) if b'"interruptedMessageId"' in line)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(lines[: interrupt + 1]))
    turn = await read(path)
    assert turn.interrupted
    assert [call.outcome for call in turn.calls] == [CallOutcome.INTERRUPTED, CallOutcome.OK]
    path.write_bytes(b"".join(lines))
    turn = await read(path, "Third end.")
    assert (turn.prompts, turn.interrupted, turn.calls) == (("third prompt",), False, ())


async def test_a_compacted_session_goes_on_with_the_next_prompt() -> None:
    turn = await read(FIXTURES / "compact-2.1.197.jsonl", "End three.")
    assert (turn.prompts, turn.tokens) == (("do q3",), 3 * 120)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_command_of_ours_reads_as_it_was_typed(version: str) -> None:
    turn = await read(FIXTURES / f"b-pass-{version}.jsonl", "OK.")
    assert turn.prompts == ('/supervisor:retry x  "y z" $HOME `id`',)


async def test_edits_and_tasks() -> None:
    turn = await read(FIXTURES / "edit-write-tasks-2.1.197.jsonl", "Done.")
    edits = [(call.tool, call.outcome, call.paths) for call in turn.calls if call.doing is ToolAction.EDIT]
    assert edits == [
        ("Write", CallOutcome.OK, ("/home/user/project/a.txt",)),
        ("Edit", CallOutcome.OK, ("/home/user/project/a.txt",)),
        ("Edit", CallOutcome.FAILED, ("/home/user/project/a.txt",)),
        ("Write", CallOutcome.OK, ("/home/user/project/b.txt",)),
    ]
    assert turn.todos == (Todo("Task A", done=True),)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
async def test_read_line_by_line_it_says_the_same_as_read_at_once(transcript: Transcript, path: Path) -> None:
    transcripts = RecordFiles(RECORD, Pauses())
    for line in whole_lines(path):
        transcript.raw(line)
        turn = await transcripts.read(stop(transcript.path), 0)
    assert turn == await read(path)
