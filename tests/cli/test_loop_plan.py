"""`supervisor loop plan.md`: the file of tasks that a person keeps, and what agents may do to it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from cli.test_loop import MAKE, SUB, Shell, crashes, interrupts, reports, shell
from support.scripted_workers import Step, writes

__all__ = ["shell"]

pytestmark = [pytest.mark.process, pytest.mark.proves("the loop")]

PLAN = """\
# Calculator\r
\r
- [ ] add sub(a, b)\r
  - 30 - 13 is 17\r
- [ ] add mul(a, b)\r
  after: add sub(a, b)\r
  check: grep -q mul calc.sh\r
- [ ] write a poem\r
\r
My own words."""
SUB_MUL = reports(MAKE, "sub", "mul")


def first_then(step: Step, edit: dict[str, str]) -> Step:
    """A worker that does this, and writes these files, too."""

    def run(folder: Path) -> dict[str, Any]:
        writes(edit)(folder)
        return step(folder)

    return run


def write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def test_a_plan_is_ticked_and_goes_on_as_its_person_changes_it(shell: Shell) -> None:
    plan = shell.project / "plan.md"
    write(plan, PLAN)
    plan.chmod(0o640)
    crashed = shell.types("plan.md", steps=(SUB, crashes))
    assert isinstance(crashed.exception, RuntimeError)
    assert "- 30 - 13 is 17\n" in shell.prompts[0]
    ticked = PLAN.replace("[ ] add sub", "[x] add sub")
    assert (plan.read_bytes().decode(), plan.stat().st_mode & 0o777) == (ticked, 0o640)

    edited = ticked.replace("write a poem", "add mod(a, b)").replace(
        "  after", "  - it multiplies\r\n  after"
    )
    write(plan, edited)
    all_three = reports(MAKE, "sub", "mul", "mod")
    again = shell.types("plan.md", "--yes", steps=(SUB_MUL, all_three))
    assert again.exit_code == 4, again.output
    assert "plan      1 of 3 tasks done; left out, not in it any more: write a poem\n" in again.output
    assert "- it multiplies\n" in shell.prompts[0]
    assert "Judged by nobody: T1, T4\n" in again.stdout  # T2 by its own check
    ticked = edited.replace("[ ]", "[x]")
    assert plan.read_bytes().decode() == ticked

    write(plan, ticked.replace("[x] add sub", "[ ] add sub"))
    replayed = shell.types("plan.md", steps=(first_then(all_three, {"README": "sub(a, b)"}),))
    assert "plan      2 of 3 tasks done\n" in replayed.output
    assert [prompt.split("\n")[0] for prompt in shell.prompts] == ["Task T1: add sub(a, b)"]
    assert plan.read_bytes().decode() == ticked


def test_a_box_that_is_ticked_by_hand_is_done_and_an_agents_tick_is_not(shell: Shell) -> None:
    plan, boxes = shell.project / "plan.md", "- [x] write a poem\n- [ ] add sub(a, b)\n"
    write(plan, boxes)
    ticks = {"plan.md": boxes.replace("[ ]", "[x]")}
    cheat = shell.types("plan.md", steps=(first_then(writes({}, summary="ticked", done=False), ticks), SUB))
    assert cheat.exit_code == 4, cheat.output
    assert "plan      a box was changed while agents worked" in cheat.output
    assert [prompt.split("\n")[0] for prompt in shell.prompts] == ["Task T2: add sub(a, b)"] * 2
    assert plan.read_text() == ticks["plan.md"]


def test_the_command_that_goes_on_with_a_plan_is_the_one_that_was_typed(shell: Shell) -> None:
    write(shell.project / "plan.md", "- [ ] add sub(a, b)\n")
    typed = ["plan.md", "--done-when", "it's there", "--check", "make test", "--complexity", "3", "--eco"]
    stopped = shell.types(*typed, "--yes", steps=(interrupts,))
    told = stopped.stdout.splitlines()[-1].partition(" go on ")[2]
    assert shlex.split(told) == ["supervisor", "loop", *typed]


def test_what_changed_in_a_plan_while_an_agent_worked_counts_once_its_person_says_so(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, text = shell.project / "plan.md", "- [ ] add sub(a, b)\n  - 30 - 13 is 17\n"
    write(plan, text)
    easier = {"plan.md": text.replace("30 - 13 is 17", "it is there") + "- [x] another\u200b one\n"}
    done = shell.types("plan.md", steps=(first_then(SUB, easier),))
    assert "Supervisor asks whether that is your edit" in done.output
    assert plan.read_text() == easier["plan.md"].replace("[ ]", "[x]")

    unasked = shell.types("plan.md")
    assert (unasked.exit_code, "add --yes" in unasked.output) == (2, True), unasked.output
    assert "+- [x] another\\u200b one" in unasked.stderr
    monkeypatch.setattr("sidecar.cli.plan.confirm_at_terminal", lambda _: False)
    assert shell.types("plan.md").exit_code == 4
    assert plan.read_text() == text.replace("[ ]", "[x]")


def test_an_agent_proposes_a_plan_and_a_person_accepts_it(shell: Shell) -> None:
    write(shell.project / "wishes.md", "It should subtract.\n")
    write(shell.project / "my wishes.md", "It should subtract.\n")
    for typed, told in (
        (("my wishes.md",), "no task is in it"),
        (("no.md",), "there is no plan no.md"),
        (("wishes.md", "more"), "give it alone"),
    ):
        refused = shell.types(*typed)
        assert told in f"{refused.exception}{refused.stderr}"
    answers = (lambda _: {"plan": "- add sub"}, lambda _: {"plan": "- [ ] add \u200bsub(a, b)"})
    shown = shell.types("wishes.md", "--propose", steps=answers)
    assert (shown.exit_code, "+- [ ] add sub(a, b)\n" in shown.stdout) == (2, True), shown.output
    assert "It should subtract.\n" in shell.prompts[0]
    assert "no task is in it" in shell.prompts[1]
    assert "to accept it: mv plan.md.proposed plan.md && supervisor loop plan.md\n" in shown.stderr
    assert not (shell.project / "plan.md").exists()
    assert (shell.project / "plan.md.proposed").read_text() == "- [ ] add sub(a, b)\n"
    taken = shell.types("It should subtract", "--propose", "--yes", steps=answers[1:])
    assert (taken.exit_code, (shell.project / "plan.md").read_text()) == (0, "- [ ] add sub(a, b)\n")
