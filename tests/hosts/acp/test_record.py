"""What the proxy sees of a turn, from updates as agents sent them: each call, message, plan and token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest

from sidecar.hosts.acp.link import SessionUpdate
from sidecar.hosts.acp.record import AcpTranscript, AcpTurns, SessionRecord, remember_transcript
from sidecar.kernel.events import AgentStopped, CommandTyped
from sidecar.kernel.orders import Order
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall, Turn
from support.table import over_table

Update = dict[str, Any]
KEY: Final = SessionKey("acp", "ses_1")
TYPED: Final = CommandTyped(key=KEY, project="/p", order=Order(name="goal"), prompt_id="")
STOP: Final = AgentStopped(key=KEY, project="/p", transcript="")


def feed(record: SessionRecord, *updates: Update) -> None:
    for one in updates:
        record.feed(msgspec.json.decode(msgspec.json.encode(one), type=SessionUpdate))


def call(**fields: Any) -> Update:
    return {"sessionUpdate": "tool_call", "toolCallId": "c1", **fields}


def then(**fields: Any) -> Update:
    return {**call(**fields), "sessionUpdate": "tool_call_update"}


def says(text: str, message: str | None = None) -> Update:
    content = {"type": "text", "text": text}
    return {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": message}


def text(*texts: str) -> list[Update]:
    return [{"type": "content", "content": {"type": "text", "text": one}} for one in texts]


def diff(path: str) -> Update:
    return {"type": "diff", "path": path, "oldText": "x = 1\n", "newText": "x = 2\n"}


def only_call(*updates: Update) -> ToolCall:
    record = SessionRecord(lambda: 1.0)
    record.begin("Go.")
    feed(record, *updates)
    (found,) = record.transcript().turn.calls
    return found


OPENCODE_RUN = (
    call(title="bash", kind="execute", status="pending", rawInput={"cwd": "/p"}),
    then(title="pytest -q", status="in_progress", rawInput={"command": "pytest -q", "cwd": "/p"}),
    then(
        title="pytest -q",
        status="completed",
        content=text("1 failed"),
        rawOutput={"output": "1 failed", "metadata": {"exit": 1, "truncated": False}},
    ),
)
COPILOT_RUN = (
    call(title="Run it", kind="execute", status="pending", rawInput={"command": "ls x", "description": "x"}),
    then(content=text("ls: no x")),
    then(
        status="completed",
        content=text("ls: no x\n<shellId: 0 completed with exit code 2>"),
        rawOutput={"content": "ls: no x", "contents": [{"type": "shell_exit", "exitCode": 2}]},
    ),
)
GEMINI_RUN = (
    call(title="ls x", kind="execute", status="in_progress", content=text("[folder /p] (x)"), locations=[]),
    then(title="ls x", kind="execute", status="completed", content=[], locations=[]),
)
LISTED_RUN = (
    call(title="`make all`", kind="execute", rawInput={"command": ["bash", "-lc", "make all"]}),
    then(status="failed", rawOutput={"exit_code": 2, "output": "no rule"}),
)
GEMINI_EDIT = (
    then(
        title="a.py: x = 1 => x = 2",
        kind="edit",
        status="completed",
        content=[diff("/p/a.py")],
        locations=[{"path": "/p/a.py"}],
    ),
)


def expected(tool: str, doing: str, outcome: str = "PENDING", **more: Any) -> ToolCall:
    return ToolCall(id="c1", tool=tool, doing=ToolAction[doing], outcome=CallOutcome[outcome], **more)


EXITED = "ls: no x\n<shellId: 0 completed with exit code 2>"
LOOKS = {"subagent_type": "explore"}
STRANGE = call(title="x", kind="execute", rawInput=7, rawOutput=[])


@over_table(
    ("updates", "found"),
    [
        (
            OPENCODE_RUN,
            expected("bash", "RUN", "FAILED", command="pytest -q", exit_code=1, output="1 failed"),
        ),
        (COPILOT_RUN, expected("Run it", "RUN", "FAILED", command="ls x", exit_code=2, output=EXITED)),
        (GEMINI_RUN, expected("ls x", "RUN", "OK", command="ls x")),
        (
            LISTED_RUN,
            expected(
                "`make all`", "RUN", "FAILED", command="bash -lc 'make all'", exit_code=2, output="no rule"
            ),
        ),
        (GEMINI_EDIT, expected("a.py: x = 1 => x = 2", "EDIT", "OK", paths=("/p/a.py",))),
        ([call(title="w", kind="edit", content=[diff("b")])], expected("w", "EDIT", paths=("b",))),
        ([call(title="rm", kind="delete", rawInput={"path": "c"})], expected("rm", "EDIT", paths=("c",))),
        ([call(title="Read a.py", kind="read")], expected("Read a.py", "READ")),
        ([call(title="task", kind="other")], expected("task", "DELEGATE")),
        ([call(title="Look", kind="think", rawInput=LOOKS)], expected("Look", "DELEGATE")),
        ([call(title="supervisor_status", kind="other")], expected("supervisor_status", "READ")),
        ([call(title="anything", kind="new")], expected("anything", "OTHER")),
        ([STRANGE], expected("x", "RUN", command="x")),
    ],
)
def test_a_call_is_read_as_its_agent_tells_it(updates: Sequence[Update], found: ToolCall) -> None:
    assert only_call(*updates) == found


def test_the_last_message_is_what_was_said_after_the_last_call() -> None:
    record = SessionRecord(lambda: 1.0)
    record.begin("Go.")
    feed(record, says("I look. ", "m1"), *OPENCODE_RUN, says("Do", "m2"), says("ne.", "m2"))
    assert record.transcript().turn.last_message == "Done."
    feed(record, says("Really done.", "m3"))
    first, second = record.transcript().turn, record.transcript().turn
    assert (first.last_message, second.last_message) == ("Really done.", "Really done.")
    assert first.last_message_id != second.last_message_id
    record.begin("Again.")
    assert record.transcript().turn.last_message == ""


def test_a_plan_and_a_list_of_to_dos_are_the_same() -> None:
    entries = [{"content": "a", "status": "completed", "priority": "high"}, {"content": "b"}]
    todos = [*entries, {"content": "c", "status": "cancelled"}]
    for updates in (
        [{"sessionUpdate": "plan", "entries": entries}],
        [call(title="todowrite", kind="other", status="completed", rawInput={"todos": todos})],
    ):
        record = SessionRecord(lambda: 1.0)
        record.begin("Go.")
        feed(record, *updates)
        assert record.transcript().turn.todos == (Todo("a", done=True), Todo("b", done=False))


def test_a_continuation_has_arrived_when_the_agent_reacts() -> None:
    record = SessionRecord(lambda: 1.0)
    record.begin("Go.")
    feed(record, *OPENCODE_RUN)
    record.send_back("a1b2c3")
    before = record.transcript().turn
    assert (before.arrived, before.calls_since_arrival) == ((), 1)
    feed(record, says("I see."))
    after = record.transcript().turn
    assert (after.arrived, after.calls_since_arrival) == (("a1b2c3",), 0)
    record.begin("Something else.")
    assert record.transcript().turn.arrived == ("a1b2c3",)


def test_long_turns_are_cut_at_their_beginning() -> None:
    record = SessionRecord(lambda: 1.0)
    record.begin("x" * 10_000)
    feed(record, *(call(title=f"{at}{'x' * 900}", toolCallId=str(at), kind="read") for at in range(500)))
    for at in range(500, 900):
        done = {
            "status": "completed",
            "rawInput": {"command": "\U0001f600" * 9000},
            "content": text("\U0001f600" * 9000),
        }
        feed(record, call(title="bash", toolCallId=str(at), kind="execute", **done))
    told = record.transcript()
    assert len(msgspec.json.encode(told)) < 4 * 1024 * 1024
    assert (told.turn.calls[-1].id, len(told.turn.calls)) == ("899", 200)
    assert len(told.turn.prompts[0]) <= 4000


@pytest.mark.parametrize(("counted_to", "tokens"), [(-1, 30), (0, 60), (2000, 30), (9000, 0)])
async def test_tokens_are_counted_from_where_the_sidecar_had_counted_to(counted_to: int, tokens: int) -> None:
    line = ToolCall(
        id="c", tool="bash", doing=ToolAction.RUN, outcome=CallOutcome.OK, command="cd /p && make"
    )
    spent = ((1000, 10), (2000, 20), (3000, 30))
    remember_transcript(AcpTranscript(Turn(calls=(line,)), spent, begun=2500))
    turn = await AcpTurns(lambda: 4.0).read(STOP, counted_to)
    assert (turn.tokens, turn.position) == (tokens, 3000)
    assert [run.argv for run in turn.calls[0].runs] == [("cd", "/p"), ("make",)]


async def test_a_stop_without_a_record_is_not_readable() -> None:
    turns = AcpTurns(lambda: 4.0)
    assert (await turns.read(STOP, 7)).readable is False
    assert turns.position(TYPED) == 4000
