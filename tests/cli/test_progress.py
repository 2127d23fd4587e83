"""What a run looks like: everything that others wrote stands on one line and is obeyed by nothing."""

from __future__ import annotations

import functools
import io
import json
import operator
import re
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from sidecar.cli.progress import LINE_LENGTH, SAID_LENGTH, JsonLines, TerminalView
from sidecar.work.progress import (
    AgentEnded,
    AgentPrinted,
    BudgetUsed,
    HookRan,
    IterationJudged,
    IterationStarted,
    Limited,
    Progress,
    RunFinished,
    RunStarted,
    RunWarning,
    Step,
    TaskCompleted,
)

NOON = time.mktime((2026, 11, 24, 12, 0, 0, 0, 0, -1))
EVIL = "a\x1b[2J\n[bold]b[/]\r\x07" + "x" * 10_000
PAGE = Path(__file__).resolve().parents[2] / "docs" / "run.md"
EVENTS: tuple[Progress, ...] = (
    RunStarted(session="demo", project="/shop", goal=EVIL, most=3, resumed=True),
    IterationStarted(iteration=1, most=3, task=EVIL),
    HookRan(name="before_iteration", command=EVIL, exit_code=1),
    HookRan(name="before_iteration", command="true", exit_code=0),
    RunWarning(text=EVIL),
    Limited(account="claude 1a2b3c4d", until=NOON, text=EVIL),
    BudgetUsed(what="tokens", used=8.0, limit=10.0),
    AgentPrinted(iteration=1, text=EVIL),
    AgentEnded(iteration=1, seconds=2.0, exit_code=1, said=EVIL, trouble="", tokens=1200, cents=0.5),
    AgentEnded(iteration=1, seconds=2.0, exit_code=None, said="", trouble=EVIL),
    TaskCompleted(iteration=1, id="T1", content=EVIL),
    IterationJudged(
        iteration=1, decision="rest", reason="stalled", detail=EVIL, note="", continuations=1, budget=2
    ),
    Step(
        kind="check",
        text=EVIL,
        task="T1",
        attempt=2,
        gate="tests",
        outcome="fail",
        tokens=7,
        cents=0.1,
        output=EVIL,
    ),
    RunFinished(outcome="stalled", detail=EVIL, exit_code=1, then=EVIL, iterations=1, tokens=1200, cents=0.5),
)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_story_obeys_nothing_that_is_written_in_it(terminal: bool) -> None:  # noqa: FBT001 - a parameter
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, color_system=None, width=100, soft_wrap=True)
    with closing(TerminalView(console)) as story:
        for event in EVENTS:
            story.tell(event)
            story.hear(EVIL, 1)
    text = output.getvalue()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    if not terminal:
        assert all(len(line) < LINE_LENGTH + 80 for line in text.splitlines())
        assert "[bold]b[/]" in text


def test_a_story_says_where_the_run_stands() -> None:
    output = io.StringIO()
    with closing(TerminalView(Console(file=output, width=100), lambda: NOON)) as story:
        story.tell(
            RunStarted(
                session="demo", project="/shop", goal="all tests pass", most=3, resumed=True,
                decides="Decided by: `make`.",
            )
        )  # fmt: skip
        story.tell(IterationStarted(iteration=2, most=3, task="write the lexer"))
        story.tell(AgentPrinted(iteration=2, text="[Bash] make /supervisor:goal"))
        story.tell(
            AgentEnded(iteration=2, seconds=2.0, exit_code=0, said="x", trouble="", tokens=1200, cents=0.5)
        )
        story.tell(
            IterationJudged(
                iteration=2, decision="continue", reason="", detail="", continuations=1, budget=2,
                note="Supervisor: sent back 1/2: make fails\nEnd it: /supervisor:goal clear\nSupervisor: so",
            )
        )  # fmt: skip
        end = RunFinished(
            outcome="paused",
            detail="type /supervisor:retry 3",
            exit_code=1,
            iterations=2,
            tokens=2400,
            cents=1.0,
        )
        story.tell(end)
    assert output.getvalue().splitlines() == [
        "12:00:00 session   demo goes on (at most 3 iterations)",
        "12:00:00 goal      all tests pass",
        "12:00:00           Decided by: `make`.",
        "12:00:00 iteration 2/3: write the lexer",
        "12:00:00 │         [Bash] make /supervisor:goal",
        "12:00:00 agent     2 s, 1,200 tokens, 0.50 cents",
        "12:00:00 verdict   sent back 1/2: make fails",
        "12:00:00           End it: supervisor goal clear",
        "12:00:00           so",
        "12:00:00 ✘ end     paused after 2 iterations, 2,400 tokens, 1.00 cents: type supervisor retry 3",
    ]


@pytest.mark.parametrize(
    ("outcome", "code", "line"),
    [
        ("achieved", 0, "✔ end     achieved after 2 iterations"),
        ("judged", 4, "? end     judged after 2 iterations: no check shows it"),
        ("exhausted", 1, "✘ end     exhausted after 2 iterations: no check shows it"),
    ],
)
def test_only_what_was_proved_ends_with_a_tick(outcome: str, code: int, line: str) -> None:
    output = io.StringIO()
    with closing(TerminalView(Console(file=output, width=100), lambda: NOON)) as story:
        story.tell(RunFinished(outcome=outcome, detail="no check shows it", exit_code=code, iterations=2))
    assert output.getvalue() == f"12:00:00 {line}\n"


@pytest.mark.proves("runs and the journal")
def test_each_event_is_one_line_of_json_with_the_fields_that_the_page_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(JsonLines(lambda: NOON)) as lines:
        for event in EVENTS:
            lines.tell(event)
            lines.hear("not told", 1)
    told: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(told) == len(EVENTS)
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text("utf-8").partition("## Events")[2], re.MULTILINE
        )
    )
    del rows["event"]  # the table's head
    assert {line["event"] for line in told} == set(rows)
    for line in told:
        named = set(re.findall(r"`(\w+)`", rows[line["event"]]))
        assert set(line) - {"event", "at"} <= named, line["event"]
    assert {line["at"] for line in told} == {NOON}
    assert all(len(line.get("said", "")) <= SAID_LENGTH for line in told)


def test_a_step_is_told_on_lines_of_its_own_and_with_its_task_where_several_work() -> None:
    check = Step(kind="check", text="tests fails\n- 1 is not 2", task="T2", output="| a\n| b")
    shown = []
    for jobs in (0, 2):
        output = io.StringIO()
        with closing(TerminalView(Console(file=output, width=100), lambda: NOON)) as view:
            view.tell(RunStarted(session="shop", project="/p", goal="x", most=0, resumed=False, jobs=jobs))
            view.tell(check)
        shown.append([line.removeprefix("12:00:00 ") for line in output.getvalue().splitlines()[2:]])
    alone = ["check     tests fails", "          - 1 is not 2", "  | a", "  | b"]
    assert shown == [alone, ["check T2  tests fails", *alone[1:]]]


def test_on_a_terminal_long_text_goes_on_below_itself() -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, color_system=None, width=40)
    TerminalView(console, lambda: NOON).tell(Step(kind="worker", text="one two three four five six"))
    first, second = output.getvalue().splitlines()
    assert (first.rstrip(), second.strip()) == ("12:00:00 worker    one two three four", "five six")


def test_events_are_read_back_as_they_were() -> None:
    union: Any = functools.reduce(operator.or_, Progress.__subclasses__())
    for event in EVENTS:
        assert msgspec.json.decode(msgspec.json.encode(event), type=union) == event
