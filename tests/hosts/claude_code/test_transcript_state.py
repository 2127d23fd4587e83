"""What a transcript says beside prompts and calls: continuations, to-dos, the queue, goals, tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hosts.claude_code.writing import FIXTURES, Pauses, read, stop
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.turn import Todo

if TYPE_CHECKING:
    from pathlib import Path

    from hosts.claude_code.writing import Transcript


async def test_a_continuation_arrived_when_the_host_delivered_its_context(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("ls", "a", "call-1")
    transcript.says("Done.")
    transcript.context("[supervisor a1b2c3] Two tests fail.")
    transcript.runs("ls", "b", "call-2")
    transcript.runs("ls", "c", "call-3")
    turn = await read(transcript.path)
    assert turn.arrived == ("a1b2c3",)
    assert turn.calls_since_arrival == 2
    assert len(turn.calls) == 3


async def test_a_continuation_that_blocked_arrives_as_feedback(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.prompt("Stop hook feedback:\n[supervisor a1b2c3] go on", isMeta=True)
    assert (await read(transcript.path)).arrived == ("a1b2c3",)


async def test_an_id_in_anything_but_a_delivered_context_shows_nothing(transcript: Transcript) -> None:
    text = "[supervisor a1b2c3] go on"
    transcript.prompt(text)
    transcript.says(text)
    transcript.runs(f"echo '{text}'", text, "call-1")
    transcript.prompt(text, isMeta=True)
    transcript.prompt(f"a skill that says Stop hook feedback: {text}", isMeta=True)
    transcript.prompt("Stop hook feedback: " + text)
    transcript.context(text, event="UserPromptSubmit")
    transcript.attachment(type="hook_success", stdout=text, content=text, hookEvent="Stop")
    transcript.attachment(type="hook_system_message", content=text, hookEvent="Stop")
    transcript.record("system", subtype="stop_hook_summary", hookAdditionalContext=[text], content=text)
    transcript.line(
        type="api-request-blob",
        message={"role": "user", "content": f"Stop hook feedback: {text}"},
        isMeta=True,
    )
    assert (await read(transcript.path)).arrived == ()


async def test_a_delivered_context_shows_its_own_id_and_none_that_it_quotes(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.context("[supervisor a1b2c3] The agent wrote: [supervisor ffffff]")
    assert (await read(transcript.path)).arrived == ("a1b2c3",)


async def test_a_continuation_that_arrived_before_a_new_prompt_still_shows(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.says("Done.")
    before = transcript.path.stat().st_size
    transcript.context("[supervisor a1b2c3] go on")
    transcript.prompt("no, stop that")
    transcript.runs("ls", "", "call-1")
    turn = await read(transcript.path, counted_to=before)
    assert turn.arrived == ("a1b2c3",)
    assert turn.calls_since_arrival == 1


async def test_all_continuations_of_the_turn_show_however_far_the_caller_was(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.context("[supervisor a1b2c3] go on")
    transcript.says("Done.")
    told = transcript.path.stat().st_size
    transcript.context("[supervisor d4e5f6] go on")
    assert (await read(transcript.path, counted_to=told)).arrived == ("a1b2c3", "d4e5f6")


async def test_a_continuation_of_a_turn_that_was_told_of_long_ago_shows_no_more(
    transcript: Transcript,
) -> None:
    transcript.prompt("ask")
    transcript.context("[supervisor a1b2c3] go on")
    told = transcript.path.stat().st_size
    transcript.prompt("next")
    transcript.says("Done.")
    assert (await read(transcript.path, counted_to=told)).arrived == ()


async def test_todos_follow_the_list_that_was_written_last(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.calls("TodoWrite", "call-first", {"todos": [{"content": str(n)} for n in range(5)]})
    transcript.result("call-first", "Todos have been modified successfully")
    for n, status in enumerate(("pending", "completed")):
        todos = [{"content": "A", "status": status}, {"content": "B", "status": "in_progress"}]
        transcript.calls("TodoWrite", f"call-{n}", {"todos": todos})
        transcript.result(f"call-{n}", "Todos have been modified successfully")
    assert (await read(transcript.path)).todos == (Todo("A", done=True), Todo("B", done=False))


async def test_a_todo_list_that_was_refused_is_no_list(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.calls("TodoWrite", "call-1", {"todos": [{"content": "A", "status": "pending"}]})
    transcript.result("call-1", "<tool_use_error>not enabled</tool_use_error>", is_error=True)
    transcript.calls("TodoWrite", "call-2", {"todos": [{"content": "A", "status": "pending"}]})
    assert (await read(transcript.path)).todos == ()


async def test_tasks_are_created_renamed_done_and_deleted(transcript: Transcript) -> None:
    transcript.prompt("ask")
    for n, subject in enumerate(("A", "B", "C")):
        transcript.calls("TaskCreate", f"new-{n}", {"subject": subject})
        transcript.result(f"new-{n}", f"Task #{n} created successfully: {subject}")
    changes = (
        {"taskId": "0", "status": "completed"},
        {"taskId": "1", "subject": "B2"},
        {"taskId": "2", "status": "deleted"},
    )
    for n, change in enumerate((*changes, {"taskId": "9", "status": "in_progress"})):
        transcript.calls("TaskUpdate", f"set-{n}", change)
        transcript.result(f"set-{n}", "Updated", structured={"success": True})
    assert (await read(transcript.path)).todos == (
        Todo("A", done=True),
        Todo("B2", done=False),
        Todo("task 9", done=False),
    )


async def test_a_listing_of_tasks_is_what_holds(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.calls("TaskList", "call-1")
    tasks = [
        {"id": "1", "subject": "A", "status": "completed"},
        {"id": "2", "subject": "B", "status": "pending"},
    ]
    transcript.result("call-1", "...", structured={"tasks": tasks})
    transcript.calls("TaskUpdate", "call-2", {"taskId": "2", "status": "completed"})
    transcript.result("call-2", "no such task", structured={"success": False})
    assert (await read(transcript.path)).todos == (Todo("A", done=True), Todo("B", done=False))


async def test_todos_of_an_earlier_turn_are_not_this_turns(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.calls("TodoWrite", "call-1", {"todos": [{"content": "A", "status": "pending"}]})
    transcript.result("call-1", "ok")
    transcript.prompt("next")
    assert (await read(transcript.path)).todos == ()


@pytest.mark.parametrize(
    ("operations", "waiting"),
    [
        ([("enqueue", "a")], True),
        ([("enqueue", "a"), ("dequeue", None)], False),
        ([("enqueue", "a"), ("popAll", "a")], False),
        ([("enqueue", "a"), ("remove", "a")], False),
        ([("enqueue", "a"), ("remove", None)], False),
        ([("enqueue", "a"), ("enqueue", "b"), ("remove", None)], True),
        ([("enqueue", "a"), ("enqueue", "b"), ("remove", "b")], True),
        ([("enqueue", "a"), ("enqueue", "a"), ("dequeue", None)], True),
        ([("enqueue", "<task-notification>x")], False),
        ([("enqueue", "<task-notification>x"), ("enqueue", "a"), ("dequeue", None)], True),
        ([("enqueue", None)], True),
        ([("dequeue", None), ("remove", "x"), ("popAll", None)], False),
        ([("of-a-later-version", "a")], False),
    ],
)
async def test_a_prompt_waits_until_the_host_took_it_or_the_user_took_it_back(
    transcript: Transcript,
    operations: list[tuple[str, str | None]],
    waiting: bool,  # noqa: FBT001 - a table
) -> None:
    transcript.prompt("ask")
    for operation, text in operations:
        transcript.queue(operation, text)
    assert (await read(transcript.path)).queued is waiting


@pytest.mark.parametrize(
    ("status", "goal"),
    [
        ({"met": False, "sentinel": True, "condition": "all green"}, "all green"),
        ({"met": False, "condition": "all green", "reason": "not yet"}, "all green"),
        ({"met": True, "condition": "all green", "reason": "yes"}, ""),
        ({"met": True, "sentinel": True, "condition": "all green"}, ""),
        ({"met": False, "failed": True, "condition": "all green"}, ""),
    ],
)
async def test_the_hosts_own_goal_is_active_until_met_cleared_or_failed(
    transcript: Transcript, status: dict[str, object], goal: str
) -> None:
    transcript.attachment(type="goal_status", met=False, sentinel=True, condition="older")
    transcript.attachment(type="goal_status", **status)
    transcript.prompt("<command-name>/goal</command-name>\n<command-args>all green</command-args>")
    turn = await read(transcript.path)
    assert turn.native_goal == goal
    assert turn.prompts == ("/goal all green",)


async def test_tokens_are_counted_once_per_request_without_what_came_from_the_cache(
    transcript: Transcript,
) -> None:
    transcript.prompt("ask")
    transcript.says("One", message="msg-1")
    transcript.calls("Bash", "call-1", message="msg-1")
    transcript.result("call-1", "x")
    transcript.says("Two", message="msg-2")
    assert (await read(transcript.path)).tokens == 240


async def test_a_request_whose_usage_grows_line_by_line_is_counted_at_its_largest(
    transcript: Transcript,
) -> None:
    transcript.prompt("ask")
    transcript.says("One", message="msg-1", output=1)
    transcript.says("Two", message="msg-1", output=50)
    transcript.says("Three", message="msg-1", output=50)
    assert (await read(transcript.path)).tokens == 150


async def test_tokens_of_earlier_turns_and_of_branches_left_behind_count_from_where_the_caller_was(
    transcript: Transcript,
) -> None:
    transcript.prompt("first")
    transcript.says("Done.")
    counted_to = transcript.path.stat().st_size
    transcript.says("More.")
    transcript.leaf = None
    transcript.prompt("second")
    transcript.says("Sub.", isSidechain=True)
    turn = await read(transcript.path, counted_to=counted_to)
    assert turn.tokens == 240
    assert turn.position == transcript.path.stat().st_size


ENDED = 1764390730.5
GOES_ON = {
    "a prompt": {"content": "next"},
    "a result": {"content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "a"}]},
    "an interrupt": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]},
    "what a hook of the user's sends back": {"content": "Stop hook feedback:\ngo on"},
    "the end of background work": {"content": "<task-notification>done</task-notification>"},
    "a local command": {"content": "<command-name>/cost</command-name>"},
    "a subagent": {"content": "look"},
}


@pytest.mark.parametrize("then", GOES_ON)
def test_a_turn_ends_with_an_answer_that_calls_nothing_until_the_agent_is_set_to_work(
    transcript: Transcript, then: str
) -> None:
    transcripts, stamp = RecordFiles(RECORD, Pauses()), "2025-11-29T04:32:10.500Z"
    transcript.prompt("ask")
    for kind, reason in (("text", "tool_use"), ("tool_use", "tool_use"), ("text", None)):
        block = {"type": kind, "text": "x", "id": "call-1", "name": "Bash"}
        message = {"id": "m", "content": [block], "stop_reason": reason}
        transcript.record("assistant", message=message, timestamp=stamp)
        assert transcripts.ended(stop(transcript.path).key, str(transcript.path)) == 0.0
    transcript.record("assistant", message={"id": "m", "stop_reason": "end_turn"}, timestamp=stamp)
    transcript.context("the answer of a hook")
    assert transcripts.ended(stop(transcript.path).key, str(transcript.path)) == ENDED
    transcript.record("user", message=GOES_ON[then], isSidechain=then == "a subagent")
    still = then in ("a local command", "a subagent")
    assert transcripts.ended(stop(transcript.path).key, str(transcript.path)) == (ENDED if still else 0.0)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*-2*.jsonl")), ids=lambda path: path.stem)
def test_recorded_sessions_show_that_their_last_turn_ended(path: Path) -> None:
    interrupted = path.stem.startswith("native-goal")
    assert (RecordFiles(RECORD, Pauses()).ended(stop(path).key, str(path)) > 0) is not interrupted
