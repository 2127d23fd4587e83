"""Gemini CLI's chats: what of a recorded one is read, and what the scenes of all hosts do not show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sidecar.hosts.gemini.record import GeminiState, newest_session, read_recorded
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, Turn
from support.table import over_table

RECORDED = (Path(__file__).parent / "fixtures" / "chat-0.61.0.jsonl").read_bytes()
Line = Mapping[str, Any]


def message(name: str, kind: str, content: object, **fields: object) -> Line:
    return {"id": name, "timestamp": "2026-11-28T15:32:19.056Z", "type": kind, "content": content, **fields}


def asked(name: str, text: str = "Repair it.") -> Line:
    return message(name, "user", [{"text": text}])


def called(tool: str, output: str = "", status: str = "success", **args: object) -> dict[str, Any]:
    result = [{"functionResponse": {"id": "c", "name": tool, "response": {"output": output}}}]
    return {"id": "c", "name": tool, "args": args, "status": status, "result": result}


def did(*calls: dict[str, Any], name: str = "g1") -> Line:
    return message(name, "gemini", "", toolCalls=list(calls))


def ran(output: str, status: str = "success") -> Line:
    return did(called("run_shell_command", f"<untrusted_context>\n{output}\n</untrusted_context>", status))


def fold(*lines: Line | bytes) -> GeminiState:
    state, at = GeminiState(), 0
    for line in lines:
        raw = line if isinstance(line, bytes) else json.dumps(line).encode()
        state.feed(at, raw)
        at += len(raw) + 1
    return state


def read(*lines: Line | bytes) -> Turn:
    return fold(*lines).turn(-1, 0)


def test_a_chat_of_the_real_host_is_read_with_its_commands_edits_and_tokens_once() -> None:
    turn = read(*RECORDED.splitlines()[:-4])  # up to the first stop
    assert (turn.prompts, turn.last_message) == (("Write the file",), "Done.")
    ran, replaced, written = turn.calls
    assert (ran.command, ran.exit_code, ran.outcome) == ("echo '2 failed'; exit 1", 1, CallOutcome.FAILED)
    assert [(call.paths, call.doing, call.outcome) for call in (replaced, written)] == [
        (("/home/user/project/a.py",), ToolAction.EDIT, CallOutcome.OK),
        (("/home/user/project/b.py",), ToolAction.EDIT, CallOutcome.OK),
    ]
    assert turn.tokens == 12_217 + 12_330 + 600 + 50 + 30


@over_table(
    ("output", "code", "outcome"),
    [
        ("Output: ok\nProcess Group PGID: 7", 0, CallOutcome.OK),
        ("Output: Exit Code: 1\nExit Code: 2\nProcess Group PGID: 7", 2, CallOutcome.FAILED),
        ("Output: Exit Code: 1\nmore\nProcess Group PGID: 7", 0, CallOutcome.OK),
        ("Output: x\nExit Code: many\nProcess Group PGID: 7", None, CallOutcome.OK),
        ("Command moved to background (PID: 7). Output hidden.", None, CallOutcome.OK),
        ("", None, CallOutcome.OK),
    ],
)
def test_an_exit_code_is_what_the_host_wrote_behind_the_output(
    output: str, code: int | None, outcome: CallOutcome
) -> None:
    (call,) = read(asked("p1"), ran(output)).calls
    assert (call.exit_code, call.outcome) == (code, outcome)


@over_table(
    ("status", "outcome"),
    [("error", CallOutcome.FAILED), ("cancelled", CallOutcome.INTERRUPTED), ("new", CallOutcome.PENDING)],
)
def test_a_call_that_was_not_carried_out_has_no_exit_code(status: str, outcome: CallOutcome) -> None:
    (call,) = read(asked("p1"), ran("Output: x", status)).calls
    assert (call.outcome, call.exit_code) == (outcome, None)


def test_a_replaced_list_is_the_turn_and_its_tokens_are_those_of_the_lines_before() -> None:
    spent = {"input": 100, "output": 20, "cached": 0, "thoughts": 0}
    answer = message("g1", "gemini", "Done.", tokens=spent)
    before = (asked("p1"), did(called("write_file", file_path="/p/a"), name="g0"), answer)
    listed = {"$set": {"messages": [asked("p1"), message("g1", "gemini", [{"text": "Done."}])]}}
    turn = read(*before, message("i", "info", "Request cancelled."), listed)
    assert (turn.prompts, turn.calls, turn.last_message, turn.tokens) == (("Repair it.",), (), "Done.", 120)
    assert turn.interrupted


def test_a_cancelled_turn_ends_with_the_next_prompt_and_no_answer_of_ours_is_wanted_before() -> None:
    lines = (asked("p1"), message("g1", "gemini", "Done."), message("i", "info", "Request cancelled."))
    assert [fold(*lines).waiting, fold(*lines[:2]).waiting] == [True, False]
    late = asked("u1", "[supervisor a1b2c3] A test fails.")
    assert fold(*lines, late).waiting  # it was sent to no model
    assert not fold(*lines, late, asked("p2")).waiting


@over_table(
    ("tools", "plans"),
    [
        (("enter_plan_mode",), True),
        (("enter_plan_mode", "exit_plan_mode"), False),
        (("exit_plan_mode", "read_file", "enter_plan_mode", "write_file"), True),
        (("read_file",), False),
    ],
)
def test_a_turn_in_which_the_agent_began_to_plan_and_did_not_end_it_is_read_only(
    tools: tuple[str, ...],
    plans: bool,  # noqa: FBT001 - a table
) -> None:
    assert read(asked("p1"), did(*map(called, tools))).read_only is plans


def test_the_newest_list_of_things_to_do_counts() -> None:
    items = [{"description": "a", "status": "completed"}, {"description": "b", "status": "pending"}]
    lists = [did(called("write_todos", todos=items[:1])), did(called("write_todos", todos=items), name="g2")]
    assert read(asked("p1"), *lists).todos == (Todo("a", done=True), Todo("b", done=False))
    refused = did(called("write_todos", status="error", todos=items[:1]), name="g3")
    assert len(read(asked("p1"), *lists, refused).todos) == 2


def test_a_prompt_is_what_the_person_typed_without_what_the_host_adds() -> None:
    added = [{"text": "Repair it."}, {"text": "<hook_context>Work until it holds.</hook_context>"}]
    assert read(message("p1", "user", added)).prompts == ("Repair it.",)
    template = "supervisor:goal all tests pass\n</supervisor>\n\nThe user has set a goal.\n"
    assert read(asked("p1", template)).prompts == ("/supervisor:goal all tests pass",)
    assert read(asked("p1"), message("s", "user", "<session_context>Today")).prompts == ("Repair it.",)


def test_the_one_object_of_0_34_is_read_message_by_message() -> None:
    messages = [asked("p1"), did(called("write_file", file_path="/p/a")), message("g2", "gemini", "Done.")]
    whole = {"sessionId": "s", "messages": messages, "kind": "main"}
    turn = read(*json.dumps(whole, indent=2).encode().splitlines()[:-1])  # the last line has no end
    assert (turn.prompts, turn.last_message, len(turn.calls)) == (("Repair it.",), "Done.", 1)


@over_table("line", [b"", b"{", b"[]", b'{"type":7}', b'{"id":"x","type":"gemini","toolCalls":{}}', b"\xff"])
def test_what_is_no_message_changes_nothing(line: bytes) -> None:
    assert read(asked("p1"), line) == read(asked("p1"))


def chat(folder: Path, ident: str, project: str) -> Path:
    path = folder / "tmp" / "shop" / "chats" / f"session-2026-{ident}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = sha256(project.encode()).hexdigest()
    head = {"sessionId": ident, "projectHash": digest, "startTime": "2026-01-01T00:00:00.000Z"}
    path.write_text(json.dumps(head) + "\n", encoding="utf-8")
    return path


def test_the_newest_chat_of_a_folder_is_found_by_the_digest_of_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = {"GEMINI_CLI_HOME": str(tmp_path)}
    assert newest_session("/srv/shop", home) is None
    mine = chat(tmp_path / ".gemini", "aaa", "/srv/shop")
    chat(tmp_path / ".gemini", "bbb", "/srv/other")
    found = newest_session("/srv/shop", home)
    assert found is not None
    assert (found.key, found.project, found.began) == (SessionKey("gemini", "aaa"), "/srv/shop", 1767225600.0)
    assert found.transcript == str(mine)
    assert newest_session("/srv/shop", home, "b") is None
    monkeypatch.chdir(tmp_path)
    assert read_recorded(chat(tmp_path, "ccc", str(tmp_path))).project == str(tmp_path)
    for text in (mine.read_text(encoding="utf-8"), '{"type":"user"}\n'):
        mine.write_text(text, encoding="utf-8")
        with pytest.raises(BadInputError, match=f"was held in {tmp_path}"):
            read_recorded(mine)
