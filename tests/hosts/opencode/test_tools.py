"""What a call of OpenCode did, and how it ended."""

from __future__ import annotations

from hosts.opencode.writing import Fields, answer, bash, one_call, read, text, tool, user
from sidecar.hosts import turns
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction
from support.table import over_table


@over_table(
    ("name", "doing"),
    [
        ("bash", ToolAction.RUN),
        ("edit", ToolAction.EDIT),
        ("write", ToolAction.EDIT),
        ("patch", ToolAction.EDIT),
        ("apply_patch", ToolAction.EDIT),
        ("read", ToolAction.READ),
        ("grep", ToolAction.READ),
        ("glob", ToolAction.READ),
        ("list", ToolAction.READ),
        ("webfetch", ToolAction.READ),
        ("task", ToolAction.DELEGATE),
        ("todowrite", ToolAction.TODO),
        ("question", ToolAction.ASK),
        ("weather_forecast", ToolAction.OTHER),
    ],
)
def test_every_tool_is_known_by_what_it_does(name: str, doing: ToolAction) -> None:
    assert one_call(tool(name, {}, output="ok")).doing is doing


@over_table(
    ("part", "outcome", "code"),
    [
        (bash("make", 0), CallOutcome.OK, 0),
        (bash("make", 2), CallOutcome.FAILED, 2),
        (
            bash("sleep 999", None, "<bash_metadata>\nterminated after exceeding timeout"),
            CallOutcome.FAILED,
            None,
        ),
        (
            bash("sleep 9", None, "x\n<bash_metadata>\nUser aborted the command"),
            CallOutcome.INTERRUPTED,
            None,
        ),
        (tool("bash", {"command": "ls"}, output="old form"), CallOutcome.OK, None),
        (tool("bash", {"command": "ls"}, output="", metadata={"exit": "0"}), CallOutcome.OK, None),
        (tool("bash", {"command": "ls"}, "running"), CallOutcome.PENDING, None),
        (tool("question", {"questions": []}, "pending"), CallOutcome.PENDING, None),
        (tool("edit", {}, "error", error="oldString not found"), CallOutcome.FAILED, None),
        (tool("edit", {}, "error", error="Tool execution aborted"), CallOutcome.INTERRUPTED, None),
        (
            tool("bash", {}, "error", error="The user rejected permission to use this specific tool call."),
            CallOutcome.INTERRUPTED,
            None,
        ),
        (tool("invalid", {"tool": "x"}, output="no such tool"), CallOutcome.FAILED, None),
        ({"type": "tool", "tool": "bash", "callID": "c", "state": "gone"}, CallOutcome.PENDING, None),
    ],
)
def test_a_call_ends_as_its_state_says(part: Fields, outcome: CallOutcome, code: int | None) -> None:
    call = one_call(part)

    assert (call.outcome, call.exit_code) == (outcome, code)


def test_the_paths_of_an_edit_are_those_of_the_file_or_of_every_file_of_a_patch() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** Add File: c.py\n+z\n"

    assert one_call(tool("edit", {"filePath": "/p/a.py", "oldString": "x"})).paths == ("/p/a.py",)
    assert one_call(tool("apply_patch", {"patchText": patch})).paths == ("a.py", "b.py", "c.py")
    assert one_call(tool("read", {"filePath": "/p/a.py"})).paths == ()


def test_colours_go_and_a_long_output_keeps_its_end() -> None:
    call = one_call(bash("make", 0, "\x1b[31mred\x1b[0m" + "x" * 200_000 + "end"))

    assert len(call.output) == turns.OUTPUT_LIMIT
    assert call.output.endswith("xend")
    assert one_call(bash("make", 0, "\x1b[31mred\x1b[0m")).output == "red"


def test_todos_are_those_of_the_last_call_that_succeeded() -> None:
    listed = [
        {"content": "write", "status": "completed", "priority": "high"},
        {"content": "test", "status": "in_progress", "priority": "low"},
        {"content": "sing", "status": "cancelled"},
        {"content": 5},
    ]
    turn = read(
        user("u", text("go")),
        answer(
            "a",
            tool("todowrite", {"todos": [{"content": "write", "status": "pending"}]}),
            finish="tool-calls",
        ),
        answer("b", tool("todowrite", {"todos": listed}, output="[]")),
        answer("c", tool("todowrite", {"todos": []}, "error", error="no")),
    )

    assert turn.todos == (Todo("write", done=True), Todo("test", done=False))
