"""`supervisor loop` as a person types it: real projects, real checks, scripted workers in place of agents."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import Struct

from sidecar.cli.loop import loop
from sidecar.kernel.settings import Settings
from sidecar.platform.paths import user_paths
from sidecar.systems.iteration.run_files import hold_run_lock
from sidecar.workers.ports import WorkerError, WorkerFailure, WorkerRun, WorkerTask
from sidecar.workers.service import WorkerService
from support.loop_projects import LOOP_PROJECTS, LoopProject
from support.scripted_workers import ScriptedWorkers, Step, writes
from support.table import often
from support.tdd_projects import lay_out

pytestmark = pytest.mark.process

PROPOSAL = {"findings": ["mul divides"], "hypothesis": "it divides", "suggested_fix": "multiply"}
PROPOSES: Step = lambda _: {**PROPOSAL, "confidence": 80}  # noqa: E731 - one step
TASKS = ("add sub(a, b)", "add mul(a, b)", "add mod(a, b)")


def interrupts(_: Path) -> dict[str, Any]:
    """What Ctrl-C does to the command while a worker is at work."""
    os.kill(os.getpid(), signal.SIGINT)
    raise InterruptedError


def times_out(_: Path) -> dict[str, Any]:
    raise WorkerError(WorkerFailure.TIMED_OUT, "no answer came")


class Shell:
    """A person's shell in a project, with workers that follow a script."""

    def __init__(self, project: Path, patches: pytest.MonkeyPatch) -> None:
        self.project = project
        self.workers = ScriptedWorkers(())
        patches.chdir(project)
        patches.setattr(WorkerService, "run", self._run)

    async def _run(
        self, task: WorkerTask[Struct], settings: Settings, hear: Callable[[str], None]
    ) -> WorkerRun[Struct]:
        try:
            return await self.workers.run(task, settings, hear)
        except InterruptedError:
            await asyncio.Event().wait()
            raise

    def types(self, *arguments: str, steps: tuple[Step, ...] = ()) -> Result:
        self.workers.steps[:] = steps
        self.workers.tasks.clear()
        return CliRunner().invoke(loop, arguments)

    @property
    def models(self) -> list[str]:
        return [str(task.model) for task in self.workers.tasks]

    @property
    def prompts(self) -> list[str]:
        return [task.prompt for task in self.workers.tasks]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    lay_out(tmp_path, LOOP_PROJECTS["Make"].files)
    return Shell(tmp_path, monkeypatch)


def configure(text: str) -> None:
    lay_out(Path(os.environ["HOME"]), {".config/supervisor/config.toml": text})


def reports(project: LoopProject, *names: str, wrong: str = "") -> Step:
    return writes(project.with_behaviour(*names, wrong=wrong), summary=f"{names[-1]} is there")


MAKE = LOOP_PROJECTS["Make"]
SUB = reports(MAKE, "sub")
WRONG = reports(MAKE, "sub", wrong="+")


@pytest.mark.proves("the loop")
@pytest.mark.parametrize("kind", often(LOOP_PROJECTS, 1))
def test_three_tasks_fail_escalate_come_before_the_council_and_are_completed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = LOOP_PROJECTS[kind]
    lay_out(tmp_path, project.files)
    shell = Shell(tmp_path, monkeypatch)
    done = shell.types(
        *TASKS,
        "--session",
        "shop",
        steps=(
            reports(project, "sub"),
            *(reports(project, "sub", "mul", wrong=sign) for sign in "-+/%"),
            *[PROPOSES] * 5,
            reports(project, "sub", "mul"),
            reports(project, "sub", "mul", "mod"),
        ),
    )
    assert done.exit_code == 0, done.output
    decided = [line.split()[0] for line in done.output.splitlines()]
    ruled = [word for word in decided if word in {"complete", "iterate", "escalate"}]
    assert ruled == ["complete", "iterate", "escalate", "escalate", "complete", "complete"]
    assert shell.models == ["small"] * 3 + ["medium", "large"] + ["large"] * 5 + ["large", "small"]
    assert "The report was refused" in shell.prompts[2]
    assert max(prompt.count("Tried before") for prompt in shell.prompts) == 1
    assert "The council decided" in shell.prompts[10]
    assert "(1,200 tokens, 6.00 cents)" in done.output
    status = json.loads(shell.types("status", "--json").output)
    assert [task["status"] for task in status["tasks"]] == ["completed"] * 3
    assert status["status"] == "completed"


@pytest.mark.proves("the loop")
def test_a_critical_finding_halts_and_a_person_must_look(shell: Shell) -> None:
    configure("""[gate.security]\nkind = "security"\ncommand = "echo 'critical: 1'; exit 1"\n""")
    said = (
        "T1 is halted: a security check reports a critical finding. Look at it before anything goes on. "
        "Then: supervisor loop --session shop --give-back\n"
    )
    for typed in (("add sub(a, b)",), ()):
        done = shell.types(*typed, "--session", "shop", steps=(SUB,))
        assert (done.exit_code, done.stderr, len(shell.prompts)) == (2, said, len(typed)), done.output
        assert "T1   blocked" in shell.types("status").output
    other = shell.types("add mul(a, b)", "--session", "shop", steps=(reports(MAKE, "sub", "mul"),))
    assert "T2 is halted" in other.stderr
    configure("")
    back = shell.types("--session", "shop", "--give-back", steps=(reports(MAKE, "sub", "mul"),))
    assert (back.exit_code, back.output.count("complete  T")) == (0, 2), back.output


def test_ctrl_c_pauses_and_the_session_goes_on_where_it_was(shell: Shell) -> None:
    stopped = shell.types(*TASKS[:2], "--session", "shop", steps=(SUB, WRONG, interrupts))
    assert stopped.exit_code == 130
    assert stopped.stderr == "interrupted; go on with it: supervisor loop --session shop\n"
    assert "shop: paused, T2 at work on the tier small" in shell.types("status").output
    done = shell.types("--session", "shop", steps=(reports(MAKE, "sub", "mul"),))
    assert "task      T2: add mul(a, b)\n" in done.output
    assert "T1" not in done.output
    assert "haiku works on T2, report 2 of 10" in done.output
    assert "1. (haiku) sub is there: tests" in shell.prompts[0]
    assert done.exit_code == 0


def crashes(_: Path) -> dict[str, Any]:
    raise RuntimeError


def test_after_a_crash_the_session_goes_on_where_it_was_saved(shell: Shell) -> None:
    crashed = shell.types("add sub(a, b)", "--session", "shop", steps=(WRONG, crashes))
    assert isinstance(crashed.exception, RuntimeError)
    assert "shop: running, T1 at work" in shell.types("status").output
    done = shell.types("--session", "shop", steps=(SUB,))
    assert (done.exit_code, "report 2 of 10" in done.output) == (0, True)


def test_scope_criteria_model_and_kind_are_what_was_typed(shell: Shell) -> None:
    done = shell.types(
        *("--bug", "--eco", "--model", "mine", "--scope", "calc.sh", "--scope", "check.sh"),
        *("--done-when", "30 - 13 is 17", "sub is missing"),
        steps=(writes({"other.sh": "x"}, summary=""), writes({"other.sh": None}, summary=""), SUB),
    )
    assert "outside   other.sh" in done.output
    assert "- 30 - 13 is 17\nMay be changed: calc.sh, check.sh" in shell.prompts[0]
    assert set(shell.models) == {"mine"}
    assert "agent     debugger" in done.output


def test_the_users_own_agent_does_what_it_fits_best(shell: Shell) -> None:
    head = "id: subtractor\nname: Subtractor\ncategory: implementation\npurpose: Subtracts.\n"
    more = "role: You subtract.\noutputs: {format: text, fields: [summary]}\nkeywords: [add, sub]\n"
    agent = f"---\n{head}{more}---\nMind the sign.\n"
    lay_out(Path(os.environ["HOME"]), {".config/supervisor/agents/subtractor.md": agent})
    done = shell.types("add sub(a, b)", steps=(SUB,))
    assert "agent     subtractor; complexity 1: tier small; keywords 40" in done.output
    assert "Mind the sign." in shell.prompts[0]


def test_one_session_is_played_once_at_a_time_and_in_its_project(shell: Shell, tmp_path: Path) -> None:
    assert shell.types("add sub(a, b)", "--session", "shop", steps=(SUB,)).exit_code == 0
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = shell.types("more", "--session", "shop", "--project", str(other))
    assert "session shop is of" in str(elsewhere.exception)
    assert "has no task that could be begun" in str(shell.types("--session", "shop").exception)
    with hold_run_lock(user_paths().run, "shop", "loop"):
        assert "is being run already" in str(shell.types("--session", "shop").exception)


def test_without_a_task_it_says_what_to_type(shell: Shell) -> None:
    done = shell.types("run")
    assert (done.exit_code, "say what is to be done" in done.output) == (2, True)


def test_a_check_that_a_worker_puts_in_place_of_the_typed_one_does_not_run(shell: Shell) -> None:
    own = writes({"Makefile": "test:\n\t@true\n"}, summary="It passes now.")
    done = shell.types("add sub(a, b)", steps=(WRONG, own))
    assert done.exit_code == 2, done.output
    assert "they changed after you typed the command" in done.stderr


def test_a_worker_without_an_answer_completes_nothing_though_the_checks_pass(shell: Shell) -> None:
    unable = writes({}, summary="I found no calculator", done=False)
    done = shell.types("add sub(a, b)", steps=(times_out, unable, SUB))
    assert (done.exit_code, len(shell.prompts)) == (0, 3), done.output
    assert "check     worker, fail: - I found no calculator" in done.output
