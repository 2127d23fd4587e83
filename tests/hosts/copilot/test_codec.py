"""What the hooks of Copilot CLI tell, in our words, where the scenes of all hosts do not show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from hosts.copilot.writing import command_prompt
from sidecar.hosts.copilot.codec import CopilotCodec
from sidecar.hosts.steering import COPILOT_STEERING
from sidecar.kernel.effects import NoReply, ToolCallReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    CommandTyped,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
)
from sidecar.kernel.orders import parse_order
from support.table import over_table

if TYPE_CHECKING:
    from sidecar.kernel.events import AnyHostEvent

ROWS: Final = (Path(__file__).parent / "fixtures" / "hook-payloads.jsonl").read_bytes().splitlines()
SESSION: Final = json.loads(ROWS[0])["session_id"]
KINDS: Final = {
    "SessionStart": SessionStarted,
    "UserPromptSubmit": PromptSubmitted,
    "PreToolUse": ToolCalled,
    "Stop": AgentStopped,
    "SessionEnd": SessionEnded,
}


def decode(raw: bytes, **environment: str) -> AnyHostEvent:
    return CopilotCodec().decode(raw, environment, 42)


def prompted(prompt: str, **environment: str) -> AnyHostEvent:
    return decode(json.dumps({**json.loads(ROWS[1]), "prompt": prompt}).encode(), **environment)


@over_table("row", ROWS)
def test_every_real_payload_is_of_the_session_whose_agent_it_tells_of(row: bytes) -> None:
    fields = json.loads(row)
    told = decode(row)
    assert type(told) is KINDS[fields["hook_event_name"]]
    assert (told.key.host, told.key.id, told.project) == ("copilot", SESSION, "/home/user/project")
    assert told.subagent is ("agent_id" in fields)


@over_table(
    ("name", "typed"),
    [
        ("goal", "all tests pass"),
        ("goal", 'the page says\n</goal>\nand "more" --check "pytest -q"'),
        ("goal", ""),
        ("retry", "5"),
        ("retry", ""),
        ("trust", "pytest ruff"),
    ],
)
def test_a_command_is_read_from_its_skill_and_as_it_was_typed(name: Any, typed: str) -> None:
    filled, raw = prompted(command_prompt(name, typed)), prompted(f" /supervisor:{name} {typed}")
    assert isinstance(filled, CommandTyped)
    assert isinstance(raw, CommandTyped)
    assert filled.order == raw.order == parse_order(name, typed)
    assert (filled.expanded, raw.expanded) == (True, False)


@over_table("prompt", ["Say /supervisor:retry 5", command_prompt("install", ""), "/supervisor:retry5"])
def test_another_prompt_is_no_command(prompt: str) -> None:
    assert isinstance(prompted(prompt), PromptSubmitted)


@over_table(
    ("environment", "record"),
    [({"HOME": "/h"}, "/h/.copilot"), ({"HOME": "/h", "COPILOT_HOME": "/other"}, "/other")],
)
def test_an_event_that_names_no_record_is_of_the_one_in_the_users_folder(
    environment: dict[str, str], record: str
) -> None:
    told = prompted("Hello.", **environment)
    assert isinstance(told, PromptSubmitted)
    assert told.transcript == f"{record}/session-state/{SESSION}/events.jsonl"


@over_table(("prompt", "read_only"), [("[[PLAN]] Plan it.", True), ("Do it.", False)])
def test_a_prompt_in_plan_mode_says_so(prompt: str, *, read_only: bool) -> None:
    told = prompted(prompt)
    assert isinstance(told, PromptSubmitted)
    assert told.read_only is read_only


def test_a_call_keeps_its_arguments_and_is_spared_the_question_where_it_may_be() -> None:
    answer = CopilotCodec().encode(ROWS[3], ToolCallReply(session="s", spared=True), "")
    assert json.loads(answer)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"session": "s"},
        "permissionDecision": "allow",
    }


def test_another_servers_tool_and_a_misplaced_answer_are_refused() -> None:
    with pytest.raises(BadInputError, match="no tool of ours"):
        decode(ROWS[3].replace(b"supervisor-status", b"other-status"))
    with pytest.raises(ValueError, match="ToolCallReply cannot answer Stop"):
        CopilotCodec().encode(ROWS[6], ToolCallReply(session="s", spared=True), "")
    assert CopilotCodec().encode(ROWS[6], NoReply(), "") == b"{}"


def test_the_files_that_decide_which_hooks_run_are_known(tmp_path: Path) -> None:
    moved = {"COPILOT_HOME": str(tmp_path)}
    user = COPILOT_STEERING.user(moved)
    assert user["copilot/settings.json"] == tmp_path / "settings.json"
    assert user["copilot/hooks/*.json"] == tmp_path / "hooks" / "*.json"
    project = COPILOT_STEERING.project(Path("/p"), moved)
    assert Path("/p/.github/hooks/*.json") in project
    assert tmp_path / "settings.json" in project
    assert COPILOT_STEERING.project(Path("/p"), {}) == project[:-1]
