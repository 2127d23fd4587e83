"""What a transcript says the agent did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hosts.claude_code.writing import Pauses, read
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.turn import CallOutcome, FailureHandling, ToolAction
from support.cases import KEY

if TYPE_CHECKING:
    from hosts.claude_code.writing import Transcript


async def test_a_command_that_succeeded_has_exit_code_zero(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("make", "ok", "call-1")
    (call,) = (await read(transcript.path)).calls
    assert (call.id, call.tool, call.doing, call.command) == ("call-1", "Bash", ToolAction.RUN, "make")
    assert (call.outcome, call.exit_code, call.output) == (CallOutcome.OK, 0, "ok")


async def test_a_command_that_failed_has_the_exit_code_the_host_names(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("make", "Exit code 2\nno rule", "call-1", error=True)
    (call,) = (await read(transcript.path)).calls
    assert (call.outcome, call.exit_code, call.output) == (CallOutcome.FAILED, 2, "Exit code 2\nno rule")


async def test_a_command_that_never_started_has_no_exit_code(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("make", "<tool_use_error>Blocked: Exit code 9</tool_use_error>", "call-1", error=True)
    (call,) = (await read(transcript.path)).calls
    assert (call.outcome, call.exit_code) == (CallOutcome.FAILED, None)


async def test_a_command_line_is_understood(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("cd app && pytest -q || true", "ok", "call-1")
    (call,) = (await read(transcript.path)).calls
    assert [(run.argv, run.fate) for run in call.runs] == [
        (("cd", "app"), FailureHandling.SWALLOWED),
        (("pytest", "-q"), FailureHandling.SWALLOWED),
        (("true",), FailureHandling.DECIDES),
    ]


async def test_a_line_that_is_cut_to_be_kept_is_understood_whole(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs(f"cat > a.py <<'EOF'\n{'x = 1' * 1000}\nEOF\npytest || true", "ok", "call-1")
    (call,) = (await read(transcript.path)).calls
    assert len(call.command) == 2000
    assert [run.argv[0] for run in call.runs] == ["cat", "pytest", "true"]


async def test_a_line_for_another_shell_is_not_read_as_bash(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.calls("PowerShell", "call-1", {"command": "pytest"})
    (call,) = (await read(transcript.path)).calls
    assert (call.command, call.runs) == ("pytest", ())


NOTICE = (
    "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>call-1</tool-use-id>\n"
    "<output-file>/x</output-file>\n<status>{}</status>\n<summary>{}</summary>\n</task-notification>"
)


@pytest.mark.parametrize(
    ("status", "summary", "outcome", "exit_code"),
    [
        ("completed", 'Background command "t" completed (exit code 0)', CallOutcome.OK, 0),
        ("failed", 'Background command "t" failed with exit code 1', CallOutcome.FAILED, 1),
        ("failed", 'Background command "exit code 0: t" failed with exit code 1', CallOutcome.FAILED, 1),
        ("completed", 'Background command "t" completed (exit code 1: no matches)', CallOutcome.OK, 1),
        ("killed", 'Background command "exit code 0: t" was stopped', CallOutcome.INTERRUPTED, None),
        ("completed", 'Agent "t" finished (exit code 0)', CallOutcome.OK, None),
        ("strange", 'Background command "t" completed (exit code 0)', CallOutcome.OK, None),
    ],
)
@pytest.mark.parametrize("absorbed", [False, True])
async def test_a_command_in_the_background_has_the_exit_code_of_the_hosts_notice(  # noqa: PLR0917, PLR0913 - a table
    transcript: Transcript,
    status: str,
    summary: str,
    outcome: CallOutcome,
    exit_code: int | None,
    absorbed: bool,  # noqa: FBT001 - a table
) -> None:
    transcript.prompt("ask")
    transcript.runs("pytest", "Command running in background with ID: b1", "call-1", backgroundTaskId="b1")
    before = (await read(transcript.path)).calls[0]
    assert (before.outcome, before.exit_code) == (CallOutcome.OK, None)
    notice, origin = NOTICE.format(status, summary), {"kind": "task-notification"}
    if absorbed:
        transcript.attachment(
            type="queued_command", prompt=notice, commandMode="task-notification", origin=origin
        )
    else:
        transcript.prompt(notice, origin=origin)
    turn = await read(transcript.path)
    assert (turn.calls[0].outcome, turn.calls[0].exit_code) == (outcome, exit_code)
    assert turn.prompts == ("ask",)


async def test_a_notice_that_a_person_or_an_agent_wrote_changes_no_exit_code(transcript: Transcript) -> None:
    notice = NOTICE.format("completed", 'Background command "t" completed (exit code 0)')
    transcript.prompt("ask")
    transcript.runs("pytest", "Exit code 1", "call-1", error=True)
    transcript.says(notice)
    transcript.runs("echo", notice, "call-2")
    transcript.attachment(type="queued_command", prompt=notice, origin={"kind": "human"})
    call = (await read(transcript.path)).calls[0]
    assert (call.outcome, call.exit_code) == (CallOutcome.FAILED, 1)


async def test_a_call_that_the_user_stopped_is_interrupted(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.calls("Bash", "call-1", {"command": "sleep 60"})
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    transcript.result("call-1", refusal, structured="User rejected tool use", is_error=True)
    transcript.runs("sleep 9", "", "call-2", interrupted=True)
    outcomes = [(call.outcome, call.exit_code) for call in (await read(transcript.path)).calls]
    assert outcomes == [(CallOutcome.INTERRUPTED, None), (CallOutcome.INTERRUPTED, None)]


async def test_a_call_without_a_result_is_pending_and_a_question_holds_the_turn(
    transcript: Transcript,
) -> None:
    transcript.prompt("ask")
    transcript.calls("AskUserQuestion", "call-1", {"questions": []})
    turn = await read(transcript.path)
    assert turn.calls[0].outcome is CallOutcome.PENDING
    assert turn.asking


@pytest.mark.parametrize(
    ("tool", "doing"),
    [
        ("Bash", ToolAction.RUN),
        ("Write", ToolAction.EDIT),
        ("MultiEdit", ToolAction.EDIT),
        ("Read", ToolAction.READ),
        ("WebFetch", ToolAction.READ),
        ("TodoWrite", ToolAction.TODO),
        ("ExitPlanMode", ToolAction.ASK),
        ("Task", ToolAction.DELEGATE),
        ("Agent", ToolAction.DELEGATE),
        ("mcp__db__query", ToolAction.OTHER),
        ("OfALaterVersion", ToolAction.OTHER),
    ],
)
async def test_tools_are_known_by_what_they_do(transcript: Transcript, tool: str, doing: ToolAction) -> None:
    transcript.prompt("ask")
    transcript.calls(tool, "call-1", {"command": "x", "file_path": "/p/a"})
    (call,) = (await read(transcript.path)).calls
    assert call.doing is doing
    assert call.command == ("x" if doing is ToolAction.RUN else "")
    assert call.paths == (("/p/a",) if doing is ToolAction.EDIT else ())


async def test_output_keeps_its_end_without_colours(transcript: Transcript) -> None:
    transcript.prompt("ask")
    text = [
        {"type": "text", "text": "x" * 90_000},
        {"type": "image"},
        {"type": "text", "text": "\x1b[31mred\x1b[0m\x07"},
    ]
    transcript.calls("mcp__x__y", "call-1")
    transcript.result("call-1", text)
    output = (await read(transcript.path)).calls[0].output
    assert len(output) == 2000
    assert output.endswith("xxx\nred")


async def test_only_the_last_four_hundred_calls_stay(transcript: Transcript) -> None:
    transcript.prompt("ask")
    for n in range(450):
        transcript.runs("ls", "", f"call-{n}")
    calls = (await read(transcript.path)).calls
    assert [call.id for call in calls] == [f"call-{n}" for n in range(50, 450)]


async def test_parallel_calls_and_their_results_all_count(transcript: Transcript) -> None:
    transcript.prompt("ask")
    first = transcript.calls("Bash", "call-1", {"command": "one"}, message="msg-1")
    second = transcript.calls("Bash", "call-2", {"command": "two"}, message="msg-1")
    transcript.result("call-2", "two", parent=second)
    transcript.result("call-1", "one", parent=first)
    transcript.says("Done.")
    calls = (await read(transcript.path)).calls
    assert [(call.id, call.output) for call in calls] == [("call-1", "one"), ("call-2", "two")]


def test_a_call_that_has_no_result_runs_and_may_be_the_one_that_asks(transcript: Transcript) -> None:
    reader, asking = RecordFiles(RECORD, Pauses()), "phase_plan"

    def seen() -> tuple[bool, bool]:
        """Whether a call runs that an event may come from, and whether one beside the asking one does."""
        path = str(transcript.path)
        return reader.unanswered(KEY, path), reader.unanswered(KEY, path, but=asking)

    transcript.prompt("ask")
    assert seen() == (False, False)
    transcript.calls(f"mcp__plugin_supervisor_supervisor__{asking}", "call-1")
    assert seen() == (True, False)
    transcript.calls("Bash", "call-2")
    assert seen() == (True, True)
    transcript.calls("Read", "call-3")
    transcript.result("call-3", "text")
    assert seen() == (False, True)
    transcript.result("call-2", "text")
    assert seen() == (False, False)
