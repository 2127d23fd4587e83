"""Rollouts that real hosts wrote, in both forms, and what their lines may lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from sidecar.hosts.codex.record import RECORD, RolloutState, newest_session, opens_task, read_recorded
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, ToolAction, Turn

FIXTURES: Final = Path(__file__).parent / "fixtures"
VERSIONS: Final = ("0.144.0", "0.171.0")


async def no_pause(_seconds: float) -> None:
    raise AssertionError("everything is there")


async def read(name: str, said: str) -> Turn:
    stop = AgentStopped(
        key=SessionKey("codex", "s"), project="/p", transcript=str(FIXTURES / name), last_message=said
    )
    return await RecordFiles(RECORD, no_pause).read(stop, -1)


def fold(*lines: dict[str, Any]) -> RolloutState:
    state = RolloutState()
    for at, line in enumerate(lines):
        state.feed(at, json.dumps(line).encode())
    return state


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


def message(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **fields}}


def called(name: str, call: str, **arguments: Any) -> dict[str, Any]:
    return message("function_call", name=name, call_id=call, arguments=json.dumps(arguments))


def returned(call: str, output: str) -> dict[str, Any]:
    return message("function_call_output", call_id=call, output=output)


BEGUN: Final = (event("task_started", turn_id="t1"), event("user_message", message="Go."))


@pytest.mark.parametrize(("version", "tokens"), [("0.144.0", 360), ("0.171.0", 30_156)])
async def test_an_agent_that_was_sent_back_is_read_in_both_forms(version: str, tokens: int) -> None:
    said = "Repaired and tested." if version == "0.144.0" else "Really done."
    turn = await read(f"sent-back-{version}.jsonl", said)
    assert (turn.arrived, turn.last_message, turn.tokens) == (("a1b2c3",), said, tokens)
    assert (turn.current, turn.interrupted, turn.native_goal, turn.read_only) == (True, False, "", False)
    (edit,) = (call for call in turn.calls if call.doing is ToolAction.EDIT)
    assert edit.outcome is CallOutcome.OK
    assert all(path.startswith("/home/user/project/") for path in edit.paths)
    assert turn.prompts == ("$supervisor:goal all tests pass" if version == "0.144.0" else "Fix a.py",)


async def test_what_programs_of_a_model_did_is_read_from_items() -> None:
    turn = await read("programs-0.171.0.jsonl", "Really done.")
    assert [(call.doing, call.command or call.paths, call.exit_code) for call in turn.calls] == [
        (ToolAction.READ, (), None),
        (ToolAction.RUN, "echo '2 failed'; exit 1", 1),
        (ToolAction.READ, (), None),
        (ToolAction.EDIT, ("/home/user/project/c.py",), None),
    ]
    assert (turn.arrived, turn.calls_since_arrival) == (("a1b2c3",), 0)


@pytest.mark.parametrize(("version", "late"), [("0.144.0", None), ("0.171.0", 3)])
async def test_a_command_in_the_background_has_an_exit_code_where_the_host_records_its_end(
    version: str, late: int | None
) -> None:
    turn = await read(f"failed-{version}.jsonl", "half")
    assert [(call.command, call.exit_code) for call in turn.calls] == [
        ("sleep 1; echo late; exit 3", late),
        ("sleep 2.5", 0),
        ("true", 0),
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_turn_that_the_service_ended_has_no_end_at_which_a_stop_was_missed(version: str) -> None:
    state = RolloutState()
    for line in (FIXTURES / f"failed-{version}.jsonl").read_bytes().splitlines():
        state.feed(0, line)
    assert state.ended_at == 0.0
    for line in (FIXTURES / f"sent-back-{version}.jsonl").read_bytes().splitlines():
        state.feed(0, line)
    assert state.ended_at > 1_700_000_000


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_turn_of_the_hosts_own_goal_is_told_from_a_persons(version: str) -> None:
    lines = (FIXTURES / f"native-goal-{version}.jsonl").read_bytes().splitlines()
    starts = [number for number, line in enumerate(lines) if opens_task(line)]
    state, goals = RolloutState(), []
    for number, line in enumerate(lines):
        if number == starts[1]:
            goals.append(state.turn(-1, 0).native_goal)
        state.feed(number, line)
    assert [*goals, state.turn(-1, 0).native_goal] == ["", "its own /goal"]
    assert state.turn(-1, 0).interrupted


def test_a_process_that_goes_on_behind_its_call_has_no_exit_code_whatever_it_prints() -> None:
    said = "Wall time: 9 seconds\nProcess running with session ID 7\nOutput:\nProcess exited with code 0\n"
    (call,) = fold(*BEGUN, called("exec_command", "c1", cmd="pytest"), returned("c1", said)).calls
    assert (call.outcome, call.exit_code) == (CallOutcome.OK, None)


@pytest.mark.parametrize(
    ("name", "arguments", "output", "doing", "outcome", "code"),
    [
        ("shell", {"command": ["bash", "-lc", "make"]}, "Exit code: 2\nOutput:\n", "run", "failed", 2),
        ("exec_command", {"cmd": "make"}, "rejected by the user", "run", "failed", None),
        ("apply_patch", {}, "apply_patch verification failed: no", "edit", "failed", None),
        ("exec", {}, "Script completed\nOutput:\n{}", "run", "ok", None),
        ("spawn_agent", {"message": "x"}, "{}", "delegate", "ok", None),
        ("mcp__supervisor__status", {}, "active", "read", "ok", None),
        ("mcp__other__do", {}, "done", "other", "ok", None),
    ],
)
def test_a_call_has_the_result_that_the_model_was_told(  # noqa: PLR0913, PLR0917 - a row has as many
    name: str, arguments: dict[str, Any], output: str, doing: str, outcome: str, code: int | None
) -> None:
    state = fold(*BEGUN, called(name, "c1", **arguments))
    assert [call.outcome for call in state.calls] == [CallOutcome.PENDING]
    (call,) = fold(*BEGUN, called(name, "c1", **arguments), returned("c1", output)).calls
    assert (call.doing, call.outcome, call.exit_code) == (doing, outcome, code)
    assert call.command == ("make" if name in ("shell", "exec_command") else "")


def test_a_call_of_a_server_that_runs_is_known_by_the_servers_name() -> None:
    line = message("function_call", name="status", namespace="mcp__supervisor", call_id="c1", arguments="{}")
    (call,) = fold(*BEGUN, line).calls
    assert (call.tool, call.doing) == ("mcp__supervisor__status", ToolAction.READ)


def test_a_prompt_typed_while_the_agent_works_joins_the_turn_and_a_sandbox_may_forbid_writing() -> None:
    context = {"type": "turn_context", "payload": {"sandbox_policy": {"type": "read-only"}}}
    state = fold(
        *BEGUN, context, called("exec_command", "c1", cmd="ls"), event("user_message", message="And x.")
    )
    turn = state.turn(-1, 0)
    assert (turn.prompts, len(turn.calls), turn.read_only) == (("Go.", "And x."), 1, True)
    again = fold(*BEGUN, context, event("task_started", turn_id="t2"), event("user_message", message="Next."))
    assert again.turn(-1, 0) == replace(Turn(prompts=("Next.",), prompt_id="t2"), read_only=True)


def test_damage_changes_nothing() -> None:
    state = fold(*BEGUN, called("exec_command", "c1", cmd="ls"))
    before = state.turn(-1, 0)
    for spoiled in (b"", b"[]", b'{"type":7}', b'{"type":"event_msg","payload":[]}', b"\xff"):
        state.feed(9, spoiled)
    for line in (
        event("token_count", info=None),
        event("item_completed", item={"type": 1}),
        message("message", role="assistant"),
    ):
        state.feed(9, json.dumps(line).encode())
    assert state.turn(-1, 0) == before


def test_the_newest_session_of_a_folder_is_found_and_that_of_a_subagent_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "2026" / "11" / "29"
    folder.mkdir(parents=True)

    def record(name: str, **meta: Any) -> Path:
        first = {"timestamp": "2026-11-29T10:00:00Z", "type": "session_meta", "payload": {"id": name, **meta}}
        path = folder / f"rollout-2026-{name}.jsonl"
        path.write_text(f"{json.dumps(first)}\n")
        return path

    here = record("a1", cwd="/p")
    record("b1", cwd="/other")
    helper = record("c1", cwd="/p", thread_source="subagent")
    found = newest_session("/p", {"CODEX_HOME": str(tmp_path)})
    assert found is not None
    assert (found.key, found.project, found.transcript) == (SessionKey("codex", "a1"), "/p", str(here))
    assert newest_session("/p", {"CODEX_HOME": str(tmp_path)}, "b") is None
    for path in (helper, FIXTURES / "payloads-0.171.0.jsonl"):
        with pytest.raises(BadInputError):
            read_recorded(path)
