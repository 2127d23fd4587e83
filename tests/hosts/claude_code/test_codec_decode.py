"""What the hooks of Claude Code tell, in our words."""

from __future__ import annotations

import json
from typing import Final

import pytest

from hosts.claude_code.payloads import decode, payload
from hosts.claude_code.writing import FIXTURES
from sidecar.hosts.claude_code.hook_messages import HOOK_EVENT_NAMES
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    BackgroundActivity,
    CommandTyped,
    FileSaved,
    PromptSubmitted,
    SessionEnded,
    SessionOrigin,
    SessionStarted,
    TurnFailed,
)
from sidecar.kernel.orders import CommandName, parse_order
from sidecar.kernel.session import SessionKey
from support.table import over_table

ROWS: Final = tuple((FIXTURES / "hook-payloads.jsonl").read_bytes().splitlines())
UNDERSTOOD: Final = {
    "SessionStart": SessionStarted,
    "UserPromptSubmit": PromptSubmitted,
    "UserPromptExpansion": CommandTyped,
    "Stop": AgentStopped,
    "StopFailure": TurnFailed,
    "FileChanged": FileSaved,
    "SessionEnd": SessionEnded,
}
MIB: Final = 1024 * 1024


@over_table("row", [row for row in ROWS if json.loads(row)["hook_event_name"] in UNDERSTOOD])
def test_every_real_payload_of_an_event_we_hook_is_understood(row: bytes) -> None:
    given_fields = json.loads(row)
    told = decode(row)
    assert type(told) is UNDERSTOOD[given_fields["hook_event_name"]]
    assert told.key == SessionKey("claude-code", given_fields["session_id"])
    assert told.project == "/home/user/project"
    assert told.host_pid == 42
    assert not told.subagent
    assert not told.ours


@over_table("row", [row for row in ROWS if json.loads(row)["hook_event_name"] not in HOOK_EVENT_NAMES])
def test_every_real_payload_of_another_event_is_refused_with_the_known_names(row: bytes) -> None:
    with pytest.raises(BadInputError, match=r"unknown hook event '\w+'; .*SessionStart.*SessionEnd"):
        decode(row)


def test_a_real_stop_says_what_runs_in_the_background() -> None:
    row = next(row for row in ROWS if json.loads(row)["hook_event_name"] == "Stop")
    told = decode(row)
    assert isinstance(told, AgentStopped)
    assert told.background == (BackgroundActivity("bv5mzy7i3", "bg"),)
    assert told.last_message == "All done, waiting for background"
    assert told.prompt_id == "12ea0a32-f729-4e64-927c-da3293c7dd42"
    assert told.transcript.endswith("4d8f5b7b-2033-4ade-a407-251a5cfea125.jsonl")
    assert (told.continued, told.read_only, told.headless) == (False, False, False)


def test_background_work_that_is_over_does_not_count() -> None:
    tasks = [
        {"id": str(n), "status": status}
        for n, status in enumerate(("running", "pending", "completed", "killed"))
    ]
    told = decode(payload("Stop", background_tasks=tasks))
    assert isinstance(told, AgentStopped)
    assert [work.id for work in told.background] == ["0", "1"]


def test_background_work_without_a_description_shows_its_command_or_kind_cut_short() -> None:
    tasks = [
        {"id": "a", "type": "shell", "status": "running", "command": "x" * 900},
        {"id": "b", "type": "monitor", "status": "running", "description": None},
    ]
    told = decode(payload("Stop", background_tasks=tasks))
    assert isinstance(told, AgentStopped)
    assert told.background == (BackgroundActivity("a", "x" * 200), BackgroundActivity("b", "monitor"))


def test_no_more_than_fifty_background_tasks_are_taken_in() -> None:
    tasks = [{"id": str(n), "status": "running"} for n in range(60)]
    told = decode(payload("Stop", background_tasks=tasks))
    assert isinstance(told, AgentStopped)
    assert len(told.background) == 50


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("startup", SessionOrigin.STARTUP),
        ("resume", SessionOrigin.RESUME),
        ("clear", SessionOrigin.CLEAR),
        ("compact", SessionOrigin.COMPACT),
        ("fork", SessionOrigin.RESUME),
        ("of-a-later-version", SessionOrigin.STARTUP),
    ],
)
def test_a_session_starts_for_the_reason_given_and_for_an_unknown_one_anew(
    source: str, origin: SessionOrigin
) -> None:
    told = decode(payload("SessionStart", source=source))
    assert isinstance(told, SessionStarted)
    assert told.origin is origin


@pytest.mark.parametrize("name", ["goal", "retry"])
def test_an_expanded_command_of_ours_is_typed_with_its_raw_arguments(name: CommandName) -> None:
    arguments = 'all "tests" `pass`\n$HOME  '
    told = decode(
        payload("UserPromptExpansion", command_name=f"supervisor:{name}", command_args=arguments, prompt="x")
    )
    assert isinstance(told, CommandTyped)
    assert told.order == parse_order(name, arguments)
    assert (told.prompt_id, told.transcript) == ("p-1", "/t.jsonl")


def test_an_expanded_command_of_others_is_a_prompt() -> None:
    told = decode(
        payload("UserPromptExpansion", command_name="other:goal", command_args="x", prompt="/other:goal x")
    )
    assert isinstance(told, PromptSubmitted)
    assert told.human


@pytest.mark.parametrize(
    ("prompt", "name", "arguments"),
    [
        ("/supervisor:goal all tests pass", "goal", "all tests pass"),
        ("/supervisor:goal", "goal", ""),
        ("/supervisor:retry 5", "retry", "5"),
        ("/supervisor:retry\n5", "retry", "5"),
        ('/supervisor:goal x  "y z" $HOME `id`', "goal", 'x  "y z" $HOME `id`'),
    ],
)
def test_a_submitted_prompt_that_is_a_command_of_ours_is_typed(
    prompt: str, name: CommandName, arguments: str
) -> None:
    told = decode(payload("UserPromptSubmit", prompt=prompt))
    assert isinstance(told, CommandTyped)
    assert (told.order, told.prompt_id) == (parse_order(name, arguments), "p-1")
    assert not told.expanded


@pytest.mark.parametrize(
    "prompt",
    [" /supervisor:goal x", "/supervisor:goals", "/supervisor:off", "see /supervisor:goal x", "/goal x", ""],
)
def test_a_submitted_prompt_that_only_resembles_a_command_is_a_prompt(prompt: str) -> None:
    told = decode(payload("UserPromptSubmit", prompt=prompt))
    assert isinstance(told, PromptSubmitted)
    assert told.human


def test_a_notice_about_background_work_is_no_persons_prompt() -> None:
    told = decode(payload("UserPromptSubmit", prompt="<task-notification>\n<task-id>b</task-id>"))
    assert isinstance(told, PromptSubmitted)
    assert not told.human


@pytest.mark.parametrize(
    ("source", "human"), [("user", True), ("sdk", True), ("system", False), ("loop_wakeup", False)]
)
def test_newer_hosts_say_who_wrote_a_prompt(source: str, human: bool) -> None:  # noqa: FBT001 - a table
    told = decode(payload("UserPromptSubmit", prompt="go on", source=source))
    assert isinstance(told, PromptSubmitted)
    assert told.human is human


def test_a_command_that_the_agent_scheduled_for_itself_is_not_typed() -> None:
    told = decode(payload("UserPromptSubmit", prompt="/supervisor:goal clear", source="schedule_wakeup"))
    assert isinstance(told, PromptSubmitted)
    assert not told.human


def test_plan_mode_is_read_only_and_a_continued_stop_says_so() -> None:
    told = decode(payload("Stop", permission_mode="plan", stop_hook_active=True))
    assert isinstance(told, AgentStopped)
    assert told.read_only
    assert told.continued


@pytest.mark.parametrize(
    ("entrypoint", "headless"), [("sdk-cli", True), ("sdk-py", True), ("cli", False), ("", False)]
)
def test_a_host_that_ends_after_the_stop_is_headless(entrypoint: str, headless: bool) -> None:  # noqa: FBT001 - a table
    for event in ("Stop", "SessionStart"):
        told = decode(payload(event), CLAUDE_CODE_ENTRYPOINT=entrypoint)
        assert isinstance(told, AgentStopped | SessionStarted)
        assert told.headless is headless


@pytest.mark.proves("Claude Code")
def test_our_own_worker_and_a_subagent_are_told_apart_from_the_session() -> None:
    assert decode(payload("Stop"), SUPERVISOR_WORKER="judge").ours
    assert not decode(payload("Stop"), SUPERVISOR_WORKER="").ours
    assert decode(payload("Stop", agent_id="a1")).subagent


def test_the_project_is_the_sessions_folder_and_not_where_the_agent_went() -> None:
    assert decode(payload("Stop", cwd="/p/deep/inside"), CLAUDE_PROJECT_DIR="/p").project == "/p"
    assert decode(payload("Stop", cwd="/p/deep/inside")).project == "/p/deep/inside"


def test_a_project_folder_loses_the_slash_that_some_versions_append() -> None:
    assert decode(payload("Stop"), CLAUDE_PROJECT_DIR="/p/").project == "/p"
    assert decode(payload("Stop", cwd="/")).project == "/"


@pytest.mark.parametrize("folder", ["", "relative/path", "C:\\x", "/p\x00"])
def test_a_project_folder_that_is_no_absolute_path_is_refused(folder: str) -> None:
    with pytest.raises(BadInputError, match="no absolute path"):
        decode(payload("Stop", cwd=folder))


@pytest.mark.proves("Claude Code")
def test_a_failed_turn_names_the_error_and_an_ended_session_the_reason() -> None:
    failed, ended = (
        decode(payload("StopFailure", error="rate_limit")),
        decode(payload("SessionEnd", reason="clear")),
    )
    assert isinstance(failed, TurnFailed)
    assert failed.error == "rate_limit"
    assert isinstance(ended, SessionEnded)
    assert ended.reason == "clear"


def test_fields_that_are_null_or_missing_are_empty() -> None:
    raw = b'{"hook_event_name":"Stop","session_id":"s","cwd":"/p",'
    raw += b'"last_assistant_message":null,"prompt_id":null}'
    told = decode(raw)
    assert isinstance(told, AgentStopped)
    assert (told.last_message, told.prompt_id, told.background, told.transcript) == ("", "", (), "")
