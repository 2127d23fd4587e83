"""`supervisor govern` and `supervisor governance` as a person types them; the agents follow a script."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
import pytest
from click.testing import CliRunner, Result

from sidecar.cli.govern import govern, governance
from support.governed import ANALYSIS, APPROVED, MADE, PASSED, PLAN, PROBLEM, implemented
from support.tdd_projects import PYTHON, contents, lay_out
from support.typed import typed

pytestmark = [pytest.mark.process, pytest.mark.proves("governed phases")]

AGENT: Final = """\
import json, os, pathlib, signal, sys
turn = min(pathlib.Path(sys.argv[1]).iterdir())
written, answer, interrupt = json.loads(turn.read_text())
turn.unlink()
sys.stdin.read()
for name, text in written.items():
    pathlib.Path(name).write_text(text)
if interrupt:
    os.kill(interrupt, signal.SIGINT)
    signal.pause()
print(json.dumps(answer))
"""
"""An agent whose turns lie in a folder: it writes files and answers, or its user types Ctrl-C."""
DONE: Final = PYTHON | MADE

Turn = tuple[Mapping[str, str], Mapping[str, Any], int]


def says(answer: Mapping[str, Any], files: Mapping[str, str] | None = None) -> Turn:
    return files or {}, answer, 0


MAKES: Final = says(implemented(*MADE), MADE)
GOOD: Final = (says(ANALYSIS), says(PLAN), MAKES, says(APPROVED), says(PASSED))


class Shell:
    """A person's shell in a project."""

    def __init__(self, folder: Path, patches: pytest.MonkeyPatch) -> None:
        self.project, self.turns = folder / "project", folder / "turns"
        lay_out(self.project, PYTHON)
        lay_out(folder, {"agent.py": AGENT})
        command = [sys.executable, str(folder / "agent.py"), str(self.turns)]
        settings = f'[workers]\nbackend = "command"\ncommand = {json.dumps(command)}\n'
        lay_out(Path(os.environ["HOME"]), {".config/supervisor/config.toml": settings})
        patches.chdir(self.project)
        patches.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patches.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def plays(self, *turns: Turn) -> None:
        lay_out(self.turns, {f"{number:03}": json.dumps(turn) for number, turn in enumerate(turns)})

    def types(self, *words: str, verb: click.Command = govern) -> Result:
        return CliRunner().invoke(verb, words)

    def lock(self) -> str:
        """The lock that is held."""
        (work,) = json.loads(self.types("status", "--json", verb=governance).output)
        return str(work["lock"])

    def holds(self, files: Mapping[str, str]) -> bool:
        return contents(self.project, but=(".git",)) == files


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path, monkeypatch)


def test_a_delivery_is_shown_phase_by_phase_and_reported(shell: Shell, tmp_path: Path) -> None:
    shell.plays(*GOOD)
    report = tmp_path / "report.md"
    done = shell.types(PROBLEM, "--mode", "fast", "--report", str(report))
    assert done.exit_code == 0, done.output
    phases = [line.split()[1] for line in done.output.splitlines() if line.endswith(" ok")]
    assert phases == ["analyze", "plan", "implement", "review", "test", "conduct"]
    assert (
        "  1. todo: add sub; done_when: sub(3, 2) is 1; verify_by: text: calc.py contains def sub"
        in done.output
    )
    assert "+def sub(a, b):" in done.output
    assert "  decision: DELIVER" in done.output
    assert "Delivered. supervisor audit show --lock gov-" in done.output
    told = report.read_text()
    assert told.startswith("# Governed change gov-")
    assert [line for line in told.splitlines() if line.startswith("## ")] == [
        *("## [ANALYSIS] OK", "## [TASKS] OK", "## [IMPLEMENTATION] OK"),
        *("## [REVIEW] APPROVED", "## [TEST] PASSED", "## [FINAL] DELIVER"),
    ]
    assert shell.holds(DONE)
    assert shell.types("status", verb=governance).output == "No project is under governance.\n"


def test_where_nobody_is_there_the_question_waits_for_an_answer_and_then_it_goes_on(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.plays(*GOOD)
    configuration = Path(os.environ["HOME"], ".config/supervisor/config.toml")
    configuration.write_text(f"{configuration.read_text()}[governance.phase.nope]\nenabled = false\n")
    waits = shell.types(PROBLEM, "--mode", "light")
    assert "governance.phase.nope: there is no such setting\n" in waits.stderr
    lock = shell.lock()
    assert waits.exit_code == 3, waits.output
    assert f'  - supervisor governance answer {lock} yes (or: no "why"), then\n' in waits.output
    asked = shell.types("status", verb=governance).output
    assert f"{lock}  reviewed, iteration 1, mode light: {PROBLEM}\n  asks: The review found nothing" in asked
    assert shell.types("--lock", lock).exit_code == 3
    answered = shell.types("answer", lock, "yes", "it reads well", verb=governance)
    assert answered.output == "Answered yes. The work is reviewed now.\n"
    assert typed("governance", "answer", lock, "yes") == 1
    assert capsys.readouterr().err == f"supervisor: Nothing is asked under the lock {lock}.\n"
    assert shell.holds(PYTHON)
    report = tmp_path / "report.md"
    done = shell.types("--lock", lock, "--report", str(report))
    assert (done.exit_code, shell.holds(DONE)) == (0, True), done.output
    told = report.read_text().partition("A person answered yes: it reads well.\n")[2]
    assert "R004; passed: True; why: a person said yes\n" in told


def test_what_breaks_a_rule_is_stopped_and_as_json_it_is_one_object_per_phase(shell: Shell) -> None:
    shell.plays(*GOOD)
    done = shell.types(PROBLEM, "--mode", "fast", "--rule", "never tests", "--json")
    assert done.exit_code == 1
    decoder, text, outcomes = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        outcome, end = decoder.raw_decode(text)
        outcomes.append((outcome["section"], (outcome.get("error") or {}).get("type")))
        text = text[end:].strip()
    assert outcomes == [
        *(("[ANALYSIS]", None), ("[TASKS]", None)),
        ("[IMPLEMENTATION]", "RULE_VIOLATION"),
    ]
    assert shell.holds(PYTHON)


def test_ctrl_c_ends_the_agent_and_the_work_goes_on_where_it_was(shell: Shell) -> None:
    shell.plays(*GOOD[:2], ({}, {}, os.getpid()))
    stopped = shell.types(PROBLEM, "--mode", "fast")
    assert stopped.exit_code == 130, stopped.output
    lock = shell.lock()
    assert stopped.stderr == (
        f"Interrupted; the project is as it was. Go on: supervisor govern --lock {lock}\n"
    )
    assert shell.holds(PYTHON)
    shell.plays(*GOOD[2:])
    done = shell.types("--lock", lock)
    assert (done.exit_code, shell.holds(DONE)) == (0, True), done.output
    assert " analyze " not in done.output


def test_what_an_agent_writes_into_the_project_itself_is_told(shell: Shell) -> None:
    """The project lies in the temporary folder, where nothing keeps it out."""
    evil = str(shell.project / "evil.py")
    shell.plays(*GOOD[:2], says(implemented(*MADE), {**MADE, evil: "evil"}), *GOOD[3:])
    done = shell.types(PROBLEM, "--mode", "fast")
    assert " implement PROJECT_CHANGED: While the agent worked in a copy, these files" in done.output
    assert "itself changed: evil.py. " in done.output


def test_where_nothing_runs_that_decides_nothing_is_changed_and_the_ways_out_are_named(shell: Shell) -> None:
    for name in ("pyproject.toml", "tests/test_calc.py"):
        (shell.project / name).unlink()
    shell.plays(*GOOD[:2], *GOOD[1:2])
    done = shell.types(PROBLEM, "--mode", "fast")
    assert (done.exit_code, "R002 does not hold: nothing runs" in done.output) == (1, True)
    assert "plan a task with `run: COMMAND`" in done.output
    assert not list(shell.turns.iterdir()), "the plan is made again, as it can name a command"
    assert f"  - try again: supervisor govern --lock {shell.lock()}\n" in done.output


def test_an_agents_shell_neither_conducts_nor_answers(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.plays(*GOOD)
    assert shell.types(PROBLEM, "--mode", "light").exit_code == 3
    lock = shell.lock()
    monkeypatch.setenv("CLAUDECODE", "1")
    for words, verb in ((("--lock", lock), govern), (("answer", lock, "yes"), governance)):
        refused = shell.types(*words, verb=verb)
        assert (refused.exit_code, "only the user may do this" in refused.output) == (1, True)
    assert "asks: The review" in shell.types("status", verb=governance).output
