"""What a run looks like: everything that others wrote stands on one line and is obeyed by nothing."""

from __future__ import annotations

import io
import json
import re
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from sidecar.cli.run_show import REASON_LENGTH, SAID_LENGTH, RunJsonLines, RunTerminalView
from sidecar.kernel.runs import (
    AgentEnded,
    AgentPrinted,
    HookRan,
    IterationJudged,
    IterationStarted,
    RunFinished,
    RunProgressEvent,
    RunStarted,
    RunWarning,
    TaskCompleted,
)

NOON = time.mktime((2026, 11, 24, 12, 0, 0, 0, 0, -1))
EVIL = "a\x1b[2J\n[bold]b[/]\r\x07" + "x" * 10_000
PAGE = Path(__file__).resolve().parents[2] / "docs" / "run.md"
EVENTS: tuple[RunProgressEvent, ...] = (
    RunStarted(session="demo", project="/shop", goal=EVIL, most=3, resumed=True),
    IterationStarted(iteration=1, most=3, task=EVIL),
    HookRan(name="before_iteration", command=EVIL, exit_code=1),
    HookRan(name="before_iteration", command="true", exit_code=0),
    RunWarning(text=EVIL),
    AgentPrinted(iteration=1, text=EVIL),
    AgentEnded(iteration=1, seconds=2.0, exit_code=1, said=EVIL, trouble="", tokens=1200, cents=0.5),
    AgentEnded(iteration=1, seconds=2.0, exit_code=None, said="", trouble=EVIL),
    TaskCompleted(iteration=1, id="T1", content=EVIL),
    IterationJudged(
        iteration=1, decision="rest", reason="stalled", detail=EVIL, note="", continuations=1, budget=2
    ),
    RunFinished(outcome="stalled", detail=EVIL, exit_code=1, iterations=1),
)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_story_obeys_nothing_that_is_written_in_it(terminal: bool) -> None:  # noqa: FBT001 - a parameter
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, color_system=None, width=100, soft_wrap=True)
    with closing(RunTerminalView(console)) as story:
        for event in EVENTS:
            story.tell(event)
            story.hear(EVIL, 1)
    text = output.getvalue()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    if not terminal:
        assert all(len(line) < REASON_LENGTH + 80 for line in text.splitlines())
        assert "[bold]b[/]" in text


def test_a_story_says_where_the_run_stands() -> None:
    output = io.StringIO()
    with closing(RunTerminalView(Console(file=output, width=100), lambda: NOON)) as story:
        story.tell(
            RunStarted(
                session="demo", project="/shop", goal="all tests pass", most=3, resumed=True,
                decides="Decided by: `make`.",
            )
        )  # fmt: skip
        story.tell(IterationStarted(iteration=2, most=3, task="write the lexer"))
        story.tell(AgentPrinted(iteration=2, text="[Bash] make"))
        story.tell(
            AgentEnded(iteration=2, seconds=2.0, exit_code=0, said="x", trouble="", tokens=1200, cents=0.5)
        )
        story.tell(
            IterationJudged(
                iteration=2, decision="continue", reason="", detail="", continuations=1, budget=2,
                note="Supervisor: sent back 1/2: make fails\nStop it: Ctrl-C\nSupervisor: another thing",
            )
        )  # fmt: skip
        story.tell(RunFinished(outcome="achieved", detail="", exit_code=0, iterations=2))
    assert output.getvalue().splitlines() == [
        "12:00:00 session demo goes on (at most 3 iterations)",
        "12:00:00   goal: all tests pass",
        "12:00:00   Decided by: `make`.",
        "12:00:00 iteration 2/3: write the lexer",
        "12:00:00   │ [Bash] make",
        "12:00:00   agent (2 s, 1,200 tokens, 0.50 cents)",
        "12:00:00   supervisor sent back 1/2: make fails",
        "12:00:00   Stop it: Ctrl-C",
        "12:00:00   another thing",
        "12:00:00 ✔ achieved after 2 iterations",
    ]


@pytest.mark.parametrize(
    ("outcome", "code", "line"),
    [
        ("achieved", 0, "✔ achieved after 2 iterations"),
        ("judged", 4, "? judged after 2 iterations: no check shows it"),
        ("exhausted", 1, "✘ exhausted after 2 iterations: no check shows it"),
    ],
)
def test_only_what_was_proved_ends_with_a_tick(outcome: str, code: int, line: str) -> None:
    output = io.StringIO()
    with closing(RunTerminalView(Console(file=output, width=100), lambda: NOON)) as story:
        story.tell(RunFinished(outcome=outcome, detail="no check shows it", exit_code=code, iterations=2))
    assert output.getvalue() == f"12:00:00 {line}\n"


@pytest.mark.proves("runs and the journal")
def test_each_event_is_one_line_of_json_with_the_fields_that_the_page_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(RunJsonLines(lambda: NOON)) as lines:
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


def test_events_are_read_back_as_they_were() -> None:
    for event in EVENTS:
        assert msgspec.json.decode(msgspec.json.encode(event), type=RunProgressEvent) == event
