"""What a turn says survives the forms of both hosts, but for what a form is known not to hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from judge.blocks import load
from judge.claude_form import NEW, OLD, claude_lines, remark
from judge.opencode_form import opencode_messages
from judge.story import Story
from judge.wrapping import from_claude, through

from judge.by_hand import ENDINGS, INJECTIONS, told
from sidecar.hosts.opencode import messages
from sidecar.kernel.text import strip_control_codes
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn

BLOCKS = [
    block
    for path in (*sorted(ENDINGS.glob("*.txt")), *sorted(INJECTIONS.glob("*.txt")))
    for block in load(path)
]
FORMS = (OLD, NEW, "opencode")
CODE = re.compile(r"^Exit code \d+\n?")


def form(turn: Turn, name: str, kind: str) -> Turn:
    if kind == "opencode":
        return messages.read_last_turn(msgspec.json.encode(opencode_messages(turn, name)))
    return from_claude(claude_lines(turn, name, kind), turn.last_message)


def said(turn: Turn) -> dict[str, Any]:
    """All that a turn says, as the readers show it; how many calls a to-do list took is the host's affair."""
    return {
        "prompts": turn.prompts,
        "ids": (turn.prompt_id, turn.last_message_id),
        "message": strip_control_codes(turn.last_message),
        "calls": [call_said(call) for call in turn.calls if call.doing is not ToolAction.TODO],
        "todos": turn.todos,
        "state": (turn.arrived, turn.queued, turn.interrupted, turn.tokens, turn.readable),
    }


def call_said(call: ToolCall) -> tuple[object, ...]:
    """A code that is given as a remark is none, and the code before an output is no output."""
    spoken = remark(call) if call.outcome is CallOutcome.FAILED else ""
    ending = (CallOutcome.OK, None) if spoken else (call.outcome, call.exit_code)
    output = strip_control_codes(CODE.sub("", call.output, count=1))
    run = call.doing is ToolAction.RUN
    paths = call.paths if call.doing is ToolAction.EDIT else ()
    return (
        call.id,
        call.doing,
        *ending,
        strip_control_codes(call.command) if run else "",
        call.runs,
        paths,
        output,
    )


@pytest.mark.parametrize("kind", FORMS)
def test_every_story_written_by_hand_says_the_same_after_the_form_of_a_host(kind: str) -> None:
    assert len(BLOCKS) > 300
    for block in BLOCKS:
        turn = told(block).turn()

        assert said(form(turn, block.name, kind)) == said(turn), block.name


@pytest.mark.parametrize("kind", FORMS)
def test_the_state_of_a_turn_survives(kind: str) -> None:
    story = Story("state")
    for prompt in ("first", "second\nwith two lines", "third"):
        story.prompt(prompt)
    for number in range(5):
        story.run(f"echo {number}", str(number))
    story.list(("write", True), ("test", False))
    story.ask("Which one?", None)
    story.message = "It is so."
    turn = msgspec.structs.replace(
        story.turn(), arrived=("a1b2c3", "d4e5f6"), calls_since_arrival=3, queued=True, tokens=1234
    )

    back = form(turn, "state", kind)

    assert said(back) == said(turn)
    assert back.asking
    assert back.open_todos == ("test",)
    assert back.calls[-back.calls_since_arrival].doing is ToolAction.RUN


@pytest.mark.parametrize("kind", FORMS)
def test_prompts_without_a_call_between_them_stay_one_turn(kind: str) -> None:
    story = Story("talk")
    story.prompt("What is this?")
    story.prompt("And that?")
    story.message = "This is this, and that is that."

    assert said(form(story.turn(), "talk", kind)) == said(story.turn())


@pytest.mark.parametrize("kind", FORMS)
def test_an_interrupted_turn_is_one(kind: str) -> None:
    story = Story("esc")
    story.prompt("Go.")
    story.run("make", "half way")
    story.message = "I will"
    turn = msgspec.structs.replace(story.turn(), interrupted=True)

    assert form(turn, "esc", kind).interrupted


def test_a_goal_of_the_host_itself_is_held_by_claude_code_alone() -> None:
    story = Story("goal")
    story.prompt("Go.")
    story.message = "Done."
    turn = msgspec.structs.replace(story.turn(), native_goal="all green")

    assert [form(turn, "goal", kind).native_goal for kind in FORMS] == ["all green", "all green", ""]


def test_a_search_that_finds_nothing_keeps_its_code_in_opencode_alone() -> None:
    story = Story("grep")
    story.prompt("Is it used?")
    story.run("grep -rn unused src", "", 1)
    story.message = "No."

    back = [form(story.turn(), "grep", kind).calls[0] for kind in FORMS]

    assert [(call.outcome, call.exit_code) for call in back] == [
        (CallOutcome.OK, None),
        (CallOutcome.OK, None),
        (CallOutcome.FAILED, 1),
    ]


def test_a_call_that_changes_two_files_keeps_both_in_opencode_alone() -> None:
    story = Story("patch")
    story.prompt("Change both.")
    story.edit("a.py")
    story.message = "Changed."
    turn = story.turn()
    both = msgspec.structs.replace(turn.calls[0], paths=("/p/a.py", "/p/b.py"))
    turn = msgspec.structs.replace(turn, calls=(both,))

    assert [form(turn, "patch", kind).calls[0].paths for kind in FORMS] == [
        ("/p/a.py",),
        ("/p/a.py",),
        ("/p/a.py", "/p/b.py"),
    ]


def test_the_same_name_gives_the_same_form() -> None:
    turn = told(BLOCKS[0]).turn()

    assert claude_lines(turn, "one", OLD) == claude_lines(turn, "one", OLD)
    assert opencode_messages(turn, "one") == opencode_messages(turn, "one")
    assert through(turn, "claude-code", "one") == through(turn, "claude-code", "one")


words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=60).filter(
    str.strip
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("run"), words, words, st.integers(0, 255)),
        st.tuples(st.just("edit"), words),
        st.tuples(st.just("read"), words),
        st.tuples(st.just("delegate"), words, words),
        st.tuples(st.just("search"), st.sampled_from(("Grep", "Glob")), words),
    ),
    max_size=8,
)


@example(["x"], [("edit", "a ")], "y", "opencode")
@given(st.lists(words, min_size=1, max_size=3), steps, words, st.sampled_from(FORMS))
def test_any_story_says_the_same_after_the_form_of_a_host(
    prompts: list[str], deeds: list[tuple[Any, ...]], message: str, kind: str
) -> None:
    story = Story("drawn")
    for prompt in prompts:
        story.prompt(f"Do {prompt}")
    for deed, *arguments in deeds:
        getattr(story, deed)(*arguments)
    story.message = f"Said: {message}"

    assert said(form(story.turn(), "drawn", kind)) == said(story.turn())


def test_transcripts_have_the_fields_of_the_recorded_ones() -> None:
    """Every field that we write stands in a recorded line of the same type and version."""
    story = told(next(block for block in BLOCKS if any(part.kind == "todo" for part in block.parts)))
    for version in (OLD, NEW):
        recorded = fields_of_recorded(version)
        for line in claude_lines(story.turn(), "fields", version):
            kind = str(line["type"])
            extra = {key for key in line if key not in recorded.get(kind, set())}
            assert extra <= {"timestamp", "sessionId"}, f"{version}: {kind} has {extra}"


def fields_of_recorded(version: str) -> dict[str, set[str]]:
    folder = Path(__file__).parents[1] / "hosts" / "claude_code" / "fixtures"
    known: dict[str, set[str]] = {}
    for path in folder.glob(f"*-{version}.jsonl"):
        for raw in path.read_bytes().splitlines():
            line = msgspec.json.decode(raw)
            known.setdefault(line["type"], set()).update(line)
    return known
