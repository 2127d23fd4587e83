"""What Copilot CLI's event log says of a turn, where the scenes of all hosts do not show it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from hosts.copilot.writing import EventLog
from sidecar.hosts.copilot.record import EventLogState, newest_session, opens_turn, read_recorded
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.turn import CallOutcome, ToolAction

if TYPE_CHECKING:
    from sidecar.kernel.turn import Turn

FIXTURE: Final = Path(__file__).parent / "fixtures" / "events.jsonl"
PROJECT: Final = "/home/user/project"


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(tmp_path / "events.jsonl")


def state(path: Path) -> EventLogState:
    read, at = EventLogState(), 0
    for line in path.read_bytes().splitlines(keepends=True):
        read.feed(at, line)
        at += len(line)
    return read


def turn(path: Path) -> Turn:
    return state(path).turn(-1, path.stat().st_size)


def test_a_real_log_is_read_with_exit_codes_edits_and_tokens() -> None:
    read = turn(FIXTURE)
    assert read.prompts == ("Write the file",)  # the other hook's reason is no prompt of a person
    assert (read.last_message, read.tokens) == ("Really done.", 12336 + 12453 + 650 + 12614)
    ran, edited, created = read.calls
    assert (ran.command, ran.exit_code, ran.outcome) == ("echo '2 failed'; exit 1", 1, CallOutcome.FAILED)
    assert ran.output.startswith("2 failed")
    assert [edited.paths, created.paths] == [(f"{PROJECT}/a.py",), (f"{PROJECT}/b.py",)]
    assert {edited.outcome, created.outcome} == {CallOutcome.OK}
    assert state(FIXTURE).ended_at > 0
    assert [opens_turn(line) for line in FIXTURE.read_bytes().splitlines()].count(True) == 2


def test_of_what_a_subagent_does_only_the_tokens_count(log: EventLog) -> None:
    log.prompt("Delegate it.")
    call = log.calls("task", {"prompt": "Look."})
    log.event("session.usage_record", agent="a1", usage={"inputTokens": 70, "outputTokens": 7})
    log.event("user.message", agent="a1", content="Look.", source="agent-s-1", turnId="0")
    log.event("assistant.message", agent="a1", content="I looked.", turnId="0", toolRequests=[])
    log.event("assistant.turn_end", agent="a1", turnId="0")
    before = state(log.path)
    assert (before.ended_at, [one.outcome for one in before.calls]) == (0.0, [CallOutcome.PENDING])
    log.result(call, "I looked.")
    log.says("Done.")
    read = turn(log.path)
    assert (read.prompts, read.last_message, read.tokens) == (("Delegate it.",), "Done.", 77)
    assert [one.doing for one in read.calls] == [ToolAction.DELEGATE]


def test_autopilot_is_the_hosts_own_goal_and_its_prompts_are_nobodys(log: EventLog) -> None:
    log.mode("autopilot")
    log.prompt("Make it so.")
    log.says("I begin.")
    log.prompt("", source="autopilot")
    log.says("I go on.")
    read = turn(log.path)
    assert (read.native_goal, read.prompts) == ("its autopilot", ("Make it so.",))
    log.mode("interactive")
    assert not turn(log.path).native_goal


def test_a_prompt_that_a_hook_answered_opens_no_turn(log: EventLog) -> None:
    log.prompt("Repair it.")
    log.says("Done.")
    log.event("user.message", content="/supervisor:retry 5", messageId="u")
    log.event("assistant.message", content="Supervisor: budget of 5", messageId="a")
    read = turn(log.path)
    assert (read.prompts, read.last_message) == (("Repair it.",), "Done.")


def test_a_prompt_typed_into_a_running_turn_joins_it(log: EventLog) -> None:
    log.prompt("Repair it.")
    log.prompt("Quickly.", delivery="steering")
    assert turn(log.path).prompts == ("Repair it.", "Quickly.")
    log.prompt("Something else.", delivery="queued")
    assert turn(log.path).prompts == ("Something else.",)


def test_escape_ends_the_calls_that_ran(log: EventLog) -> None:
    log.prompt("Repair it.")
    log.calls("bash", {"command": "sleep 30"})
    log.event("assistant.turn_end", turnId="0")
    log.event("abort", reason="user_abort")
    read = state(log.path)
    assert (read.ended_at, [one.outcome for one in read.calls]) == (0.0, [CallOutcome.INTERRUPTED])


def test_a_call_that_failed_says_why(log: EventLog) -> None:
    log.prompt("Ask me.")
    call = log.calls("ask_user", {"message": "Which?"})
    assert turn(log.path).asking
    log.event("tool.execution_complete", toolCallId=call, success=False, error={"message": "no form"})
    (asked,) = turn(log.path).calls
    assert (asked.outcome, asked.output) == (CallOutcome.FAILED, "no form")


def test_the_newest_session_of_a_folder_is_found(tmp_path: Path) -> None:
    home = {"COPILOT_HOME": str(tmp_path)}
    assert newest_session(PROJECT, home) is None
    for number, (name, folder) in enumerate((("a1", PROJECT), ("a2", PROJECT), ("b1", "/home/user/other"))):
        path = tmp_path / "session-state" / name / "events.jsonl"
        path.parent.mkdir(parents=True)
        EventLog(path, folder)
        os.utime(path, (1000 + number, 1000 + number))
    found = newest_session(PROJECT, home)
    assert found is not None
    assert (Path(found.transcript).parent.name, found.project, found.changed) == ("a2", PROJECT, 1001)
    older = newest_session(PROJECT, home, "a1")
    assert older is not None
    assert Path(older.transcript).parent.name == "a1"


def test_another_file_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"type":"user","timestamp":"2026-11-28T15:00:00Z"}\n')
    with pytest.raises(BadInputError, match="no log of Copilot CLI"):
        read_recorded(path)
    assert read_recorded(FIXTURE).project == PROJECT
