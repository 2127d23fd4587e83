"""The toolset `loop` as an agent calls it, on a real project whose test fails, and files that are real."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from servers.tools.core_room import GOOD, CoreRoom
from servers.tools.desk import as_json
from sidecar.kernel.journal import Task
from sidecar.servers.tools.loop_forms import LoopReport
from sidecar.servers.tools.tool import RefusalError
from sidecar.systems.taskloop.policy.loop import Report
from sidecar.systems.taskloop.service import Completion

pytestmark = [pytest.mark.process, pytest.mark.proves("the loop")]

ADHOC: Final[dict[str, Any]] = {
    "task_id": "adhoc",
    "description": "double must double",
    "acceptance_criteria": ["double(2) is 4"],
    "scope_files": ["doubling.py"],
}
DONE: Final[dict[str, Any]] = {"files_changed": ["doubling.py"], "summary": "doubled it"}


@pytest.fixture
def room(tmp_path: Path) -> CoreRoom:
    return CoreRoom(tmp_path)


async def begun(room: CoreRoom, **more: Any) -> tuple[Task, str]:
    await room.meet()
    await room.approve()
    await room.ask("session_start", command="double", command_type="bug")
    answer = await room.ask("task_start", **ADHOC | more)
    assert isinstance(answer.data, Task)
    return answer.data, answer.text


async def ruled(room: CoreRoom, **more: Any) -> tuple[Completion, Report]:
    answer = await room.ask("report_completion", **DONE | more)
    assert isinstance(answer.data, Completion)
    assert answer.data.report is not None
    return answer.data, answer.data.report


async def test_a_task_from_its_first_report_to_its_completion(room: CoreRoom) -> None:
    await room.meet()
    assert "session_start begins one" in (await room.ask("session_status")).text
    with pytest.raises(RefusalError, match="Call `session_start` first"):
        await room.ask("task_start", **ADHOC)
    task, told = await begun(room)
    assert task.agent == "debugger"
    assert "haiku" in told
    assert "call report_completion" in told

    first, report = await ruled(room)
    assert (first.action, first.exit_signal, report.missing[0][:15]) == ("iterate", False, "nothing changed")
    assert report.unchanged == ("doubling.py",)
    assert "test_two" in first.text
    assert "test_two" in (await room.ask("task_context")).text.partition("Tried before")[2]

    room.write("doubling.py", GOOD)
    room.write("notes.txt", "hunter2-and-more")
    outside, report = await ruled(room)
    assert (outside.action, report.outside) == ("escalate", ("notes.txt",))
    assert "sonnet" in outside.text

    (room.project / "notes.txt").unlink()
    done, report = await ruled(room, summary="my token is hunter2-and-more")
    assert (done.action, done.exit_signal, report.files) == ("complete", True, ("doubling.py",))
    assert "exit_signal: true" in done.text
    assert "hunter2" not in report.summary
    status = await room.ask("session_status")
    assert isinstance(status.data, LoopReport)
    assert [one.kind for one in status.data.events] == [
        "loop-session", "loop-task", "loop-report", "loop-report", "loop-escalated", "loop-report"
    ]  # fmt: skip
    assert "hunter2" not in status.text
    ended = await room.ask("session_end", status="completed")
    assert isinstance(ended.data, LoopReport)
    assert ended.data.status == "completed"


async def test_what_does_not_fit_is_answered_by_what_was_called(room: CoreRoom) -> None:
    await begun(room)
    with pytest.raises(RefusalError, match="session_end"):
        await room.ask("session_start", command="c", command_type="bug")
    with pytest.raises(RefusalError, match="`council_analyze` does not fit"):
        await room.ask("council_analyze")
    saved = (await room.ask("checkpoint_save")).data
    wrong = await room.ask("checkpoint_restore", checkpoint_id=as_json(saved)["id"], confirm="yes")
    assert '"yes" is not the word' in wrong.text
    outside = await room.ask("scope_check", files=["../../etc/passwd", "doubling.py"])
    assert as_json(outside.data)["outside"] == ["../../etc/passwd"]


async def test_a_check_that_was_typed_for_the_sessions_goal_counts_for_its_tasks(room: CoreRoom) -> None:
    await room.meet()
    await room.goal('double doubles --check "python3 -m pytest"')
    await room.ask("session_start", command="double", command_type="bug")
    await room.ask("task_start", **ADHOC)
    refused, _ = await ruled(room)
    assert (refused.action, refused.blocking) == ("iterate", ("check:1",))


async def test_the_status_is_the_whole_session_with_its_last_ten_events(room: CoreRoom) -> None:
    await begun(room)
    await ruled(room)
    for _ in range(10):
        await room.ask("task_start", task_id="T1")
    await room.ask("tokens_record", model="haiku", input=70, output=5)
    status = await room.ask("session_status")

    assert isinstance(status.data, LoopReport)
    told = as_json(status.data)
    events = told.pop("events")
    assert told == {
        "status": "running",
        "state": "executing",
        "command": "double",
        "command_type": "bug",
        "execution_mode": "normal",
        "task": "T1",
        "agent": "debugger",
        "tier": "small",
        "iteration": 1,
        "consecutive_failures": 1,
        "council_met": False,
        "decision": None,
        "input_tokens": 70,
        "output_tokens": 5,
        "cents": None,
        "end_reason": "",
        "waits_for_person": [],
    }
    assert [one["kind"] for one in events] == ["loop-task"] * 10
    assert "task T1, agent debugger, tier small, complexity" in events[-1]["text"], "its model is not known"
    assert "iteration 1" in events[-1]["text"]
    assert "report 1 of 10" in status.text
