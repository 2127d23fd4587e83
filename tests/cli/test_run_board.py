"""What stays on the terminal while a run works, at the widths people have, and the keys that steer it.

The pictures in docs/run.md are made here: RENEW_SNAPSHOTS=1 writes them anew.
"""

from __future__ import annotations

import io
import os
import re
import time
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace
from rich.console import Console

from sidecar.cli.progress import RunBoard, TerminalView, format_duration
from sidecar.cli.run_keys import HELP, PAUSING, RunKeys
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Author, Journal, Note, NoteKind, Task, TaskStatus
from sidecar.kernel.runs import RunStatus
from sidecar.work.progress import (
    AgentEnded,
    AgentPrinted,
    IterationJudged,
    IterationStarted,
    RunStarted,
    Step,
)

NOON: Final = time.mktime((2026, 11, 24, 12, 0, 0, 0, 0, -1))
PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "run.md"


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


def task(number: int, content: str, status: TaskStatus = TaskStatus.REMAINING, **fields: object) -> Task:
    made = Task(id=f"T{number}", content=content, status=status, changed_at=NOON)
    return replace(made, **fields)


TASKS: Final = (
    task(1, "read the words of a line", TaskStatus.COMPLETED),
    task(2, "a comment ends a line", TaskStatus.IN_PROGRESS, changed_at=NOON + 240),
    task(3, "strings hold any character, line ends and quotes after a backslash included"),
    task(4, "numbers have a sign", depends_on=("T2",)),
    task(5, "publish the package", TaskStatus.BLOCKED),
    task(7, "name the line in every error", by=Author.USER, changed_at=NOON + 300),
)
NOTE: Final = Note(
    id="N6", kind=NoteKind.STUCK, content="there is no token for the package index", at=NOON + 200
)
STATUS: Final = RunStatus(
    project="/shop",
    budget=4,
    continuations=1,
    seconds_left=1500.0,
    journal=Journal(tasks=TASKS, notes=(NOTE,)),
)


def drawn(board: RunBoard, width: int, *, ruled: bool = False) -> str:
    output = io.StringIO()
    Console(file=output, width=width, height=24).print(board)
    rule, _, lines = output.getvalue().partition("\n")
    assert set(rule) == {"─"}
    assert max(map(len, (HELP, PAUSING))) < 80
    return output.getvalue() if ruled else lines


def picture(width: int) -> str:
    """A run in its second iteration."""
    at, output = Watch(), io.StringIO()
    board = RunBoard(at)
    with closing(TerminalView(Console(file=output, width=width, soft_wrap=False), at)) as view:

        def tell(*events: object, seconds: float = 0.0) -> None:
            at.now += seconds
            for event in events:
                view.tell(event)  # type: ignore[arg-type]
                board.tell(event)  # type: ignore[arg-type]

        tell(RunStarted(session="demo", project="/shop", goal="spec.md is built", most=5, resumed=False))
        tell(IterationStarted(iteration=1, most=5, task="read the words of a line"))
        tell(AgentPrinted(iteration=1, text="I begin with the words."), seconds=4)
        tell(AgentPrinted(iteration=1, text="[Write] words.py"), seconds=9)
        tell(
            AgentEnded(iteration=1, seconds=184, exit_code=0, said="", trouble="", tokens=41_203, cents=12.4),
            seconds=171,
        )
        note = "Supervisor: sent back 1/4: `make test` fails: test_comments"
        told = {"iteration": 1, "reason": "gates-failed", "detail": "", "continuations": 0, "budget": 4}
        tell(IterationJudged(decision="continue", note=note, **told), seconds=6)  # type: ignore[arg-type]
        tell(IterationStarted(iteration=2, most=5, task="a comment ends a line"))
        tell(AgentPrinted(iteration=2, text="[Bash] make test"), seconds=120)
    board.hear("One test fails: a comment behind a string is")
    board.status, board.keys = STATUS, lambda: HELP
    return output.getvalue() + drawn(board, width, ruled=True)


def test_the_view_is_as_the_page_shows_it_and_fits_a_wide_terminal_too() -> None:
    shown = "\n".join(f"    {line}".rstrip() for line in picture(80).splitlines())
    block = re.compile(r"(?<=<!-- 80 columns -->\n\n).*?(?=\n\n)", re.DOTALL)
    page = PAGE.read_text("utf-8")
    if os.environ.get("RENEW_SNAPSHOTS"):
        page = block.sub(lambda _found: shown, page)
        PAGE.write_text(page, "utf-8")
    found = block.search(page)
    assert found is not None
    assert found[0] == shown
    for width in (80, 120):
        assert all(len(line) <= width for line in picture(width).splitlines())


def test_an_agent_that_prints_nothing_for_ten_minutes_is_seen_to_be_silent() -> None:
    at = Watch()
    board = RunBoard(at)
    board.tell(RunStarted(session="demo", project="/shop", goal="x", most=5, resumed=False))
    at.now += 5
    board.tell(IterationStarted(iteration=1, most=5, task=""))
    board.status = replace(STATUS, journal=Journal())
    at.now += 600
    first, _, silent = drawn(board, 80).splitlines()
    assert first == "iteration 1/5: the agent works · 10:00 · run 10:05 · 15:00 left"
    assert silent == "no output for 10:00"
    board.hear("Here I am")
    assert drawn(board, 80).splitlines()[2] == "Here I am"
    board.tell(AgentEnded(iteration=1, seconds=600, exit_code=0, said="", trouble=""))
    at.now += 60
    assert len(drawn(board, 80).splitlines()) == 2


def test_of_agents_at_once_the_row_of_one_that_was_judged_goes() -> None:
    board, at = RunBoard(Watch()), {"reason": "", "detail": "", "note": "", "continuations": 0, "budget": 4}
    board.tell(RunStarted(session="demo", project="/shop", goal="x", most=5, resumed=False, jobs=2))
    rows = []
    for step in ("1", "2", "-1", "-2", "3"):
        number = abs(int(step))
        board.tell(
            IterationStarted(iteration=number, most=5, task=f"task {number}")
            if number == int(step)
            else IterationJudged(iteration=number, decision="continue", **at)  # type: ignore[arg-type]
        )
        rows.append([line[0] for line in drawn(board, 80).splitlines() if re.match(r"\d · ", line)])
    assert rows == [["1"], ["1", "2"], ["2"], [], ["3"]]


def test_of_tasks_of_a_loop_at_once_the_row_of_one_that_ended_goes() -> None:
    board, rows = RunBoard(Watch()), []
    board.tell(RunStarted(session="demo", project="/shop", goal="x", most=0, resumed=False, jobs=2))
    for ident, kind, outcome in (
        ("T1", "worker", ""), ("T2", "check", "fail"), ("T2", "complete", "complete"), ("", "merge", ""),
        ("T1", "halt", "halt"),
    ):  # fmt: skip
        board.tell(Step(kind=kind, text="x", task=ident, outcome=outcome, tokens=7))
        rows.append([line[:2] for line in drawn(board, 80).splitlines()[1:]])
    assert rows == [["T1"], ["T1", "T2"], ["T1"], ["T1"], []]


def test_nothing_that_others_wrote_is_obeyed_or_breaks_a_line() -> None:
    board = RunBoard(Watch())
    evil = "a\x1b[2J\n[bold]b[/]\r\x07" + "x" * 10_000
    board.status = replace(STATUS, journal=Journal(tasks=(task(1, evil),)))
    board.hear(evil)
    text = drawn(board, 80)
    assert all(len(line) < 80 for line in text.splitlines())
    assert not re.search("[\x00-\x09\x0b-\x1f]", text)
    assert "[bold]b[/]" in text


@pytest.mark.parametrize(("seconds", "shown"), [(-1, "00:00"), (61.9, "01:01"), (7261, "2:01:01")])
def test_a_duration_is_read_as_on_a_clock(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


# --- keys ---


class Desk:
    """Keys, and what they did."""

    def __init__(self) -> None:
        self.did: list[object] = []
        self.fails = False
        self._pausing = False
        self.keys = RunKeys(self._pause, lambda: self.did.append("stop"), self._write, self.did.append)

    def _pause(self) -> bool:
        self._pausing = not self._pausing
        return self._pausing

    async def _write(self, tool: str, text: str) -> None:
        if self.fails:
            raise BadInputError("too many")
        self.did.append((tool, text))


@pytest.mark.parametrize(
    ("pressed", "did"),
    [
        (["q"], ["stop"]),
        (["a", "rea", "d\x7f\x7f\x7fun it\r"], [("task_add", "run it")]),
        (["n", "\x1b[A", "mind q, p and a\n", "q"], [("note_add", "mind q, p and a"), "stop"]),
        (["a", "no", "\x1b", "x", "a \r", "ä"], []),
    ],
)
async def test_keys_stop_the_run_and_write_tasks_and_notes(pressed: list[str], did: list[object]) -> None:
    desk = Desk()
    for text in pressed:
        desk.keys.press(text)
    await desk.keys.finish()
    assert sorted(map(str, desk.did)) == sorted(map(str, did))
    assert desk.keys.line() == HELP


async def test_a_text_that_is_not_kept_is_shown_again() -> None:
    desk = Desk()
    desk.fails = True
    desk.keys.press("abuild it\r")
    await desk.keys.finish()
    assert desk.did == ["not kept (too many): build it"]
