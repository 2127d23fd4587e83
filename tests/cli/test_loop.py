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
from support.table import sampled
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
        patches.setattr(WorkerService, "models", self.workers.models)

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
WRONG_MUL = reports(MAKE, "sub", "mul", wrong="+")


def test_what_earlier_calls_of_a_session_took_counts_and_the_command_that_goes_on_has_more(
    shell: Shell,
) -> None:
    shell.types(TASKS[0], "--session", "shop", "--model", "small", steps=(WRONG, interrupts))
    done = shell.types("--session", "shop", "--max-cents", "0.5", "--eco", steps=(SUB,))
    assert (done.exit_code, shell.models) == (2, []), done.output
    assert "✘ end     exhausted after 100 tokens, 0.50 cents: " in done.stdout
    assert "go on     supervisor loop --session shop --eco --max-cents 1\n" in done.stdout


@pytest.mark.proves("the loop")
@pytest.mark.parametrize("kind", sampled(LOOP_PROJECTS, "Make"))
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
            *(reports(project, "sub", "mul", wrong=sign) for sign in "-+/%-+"),
            *[PROPOSES] * 5,
            reports(project, "sub", "mul"),
            reports(project, "sub", "mul", "mod"),
        ),
    )
    assert done.exit_code == 4, done.output
    assert "? end     judged after 1,400 tokens, 7.00 cents: " in done.stdout
    assert "done      T1 add sub(a, b) (not judged)\n" in done.stdout
    decided = [line.split()[1] for line in done.stdout.partition("? end")[0].splitlines() if line[9:10] > " "]
    ruled = [word for word in decided if word in {"done", "complete", "iterate", "escalate"}]
    assert ruled == ["done", *["iterate", "escalate"] * 2, "iterate", "done", "done"]
    assert shell.models == ["small"] * 3 + ["medium"] * 2 + ["large"] * 8 + ["small"]
    assert "The report was refused" in shell.prompts[2]
    assert max(prompt.count("Tried before") for prompt in shell.prompts) == 1
    assert "The council decided" in shell.prompts[12]
    status = json.loads(shell.types("status", "--json").output)
    assert [task["status"] for task in status["tasks"]] == ["completed"] * 3
    assert (status["status"], status["input_tokens"], status["cents"]) == ("completed", 1_400, 7.0)


@pytest.mark.proves("the loop")
def test_a_critical_finding_halts_and_a_person_must_look(shell: Shell) -> None:
    configure("""[gate.security]\nkind = "security"\ncommand = "echo 'critical: 1'; exit 1"\n""")
    said = "T1 is halted: a security check reports a critical finding. Look at it before anything goes on."
    ways = "supervisor loop --session shop --give-back\n", "supervisor loop --session shop --accept T1\n"
    for typed, told in ((("add sub(a, b)",), said), ((), "none of them can be begun: T1. You look")):
        done = shell.types(*typed, "--session", "shop", steps=(SUB,))
        assert (done.exit_code, len(shell.prompts)) == (2, len(typed)), done.output
        assert all(words in done.stdout for words in (told, *ways)), done.stdout
        assert "T1   blocked" in shell.types("status").output
    other = shell.types("add mul(a, b)", "--session", "shop", steps=(reports(MAKE, "sub", "mul"),))
    assert "T2 is halted" in other.stdout
    configure("")
    back = shell.types("--session", "shop", "--give-back", steps=(reports(MAKE, "sub", "mul"),))
    assert (back.exit_code, back.output.count(" is done, not judged")) == (4, 2), back.output


def test_ctrl_c_pauses_and_the_session_goes_on_where_it_was(shell: Shell) -> None:
    file = user_paths().state.parent / "report.md"
    named = "--session", "shop", "--report", str(file)
    stopped = shell.types(*TASKS[:2], *named, steps=(SUB, WRONG, interrupts))
    assert stopped.exit_code == 130
    assert shell.types("report", "shop", "--md").output == file.read_text()
    assert file.read_text().startswith(
        f"# Loop shop: paused\n\n{'; '.join(TASKS[:2])}\n\ninterrupted\n\n## Done\n\n- T1 "
    )
    assert json.loads(shell.types("report", "--json").output)["files"][0]["path"] == "calc.sh"
    assert stopped.stdout.endswith(" go on     supervisor loop --session shop\n")
    assert "shop: paused, T2 at work on the tier small" in shell.types("status").output
    done = shell.types("--session", "shop", steps=(reports(MAKE, "sub", "mul"),))
    assert "task      T2: add mul(a, b)\n" in done.output
    assert "T1: " not in done.stdout
    assert "haiku works on T2, report 2 of 10" in done.output
    assert "1. (haiku) sub is there: tests" in shell.prompts[0]
    assert done.exit_code == 4


def crashes(folder: Path) -> dict[str, Any]:
    WRONG_MUL(folder)
    raise RuntimeError


def test_what_a_crash_left_half_done_is_not_how_the_task_began(shell: Shell) -> None:
    crashed = shell.types(*TASKS[:2], "--session", "shop", steps=(SUB, crashes))
    assert isinstance(crashed.exception, RuntimeError)
    assert "shop: running, T2 at work" in shell.types("status").output
    done = shell.types("--session", "shop", steps=(WRONG_MUL, reports(MAKE, "sub", "mul")))
    assert (done.exit_code, "report 2 of 10" in done.output, "T1: " in done.output) == (4, True, False)


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
    assert shell.types("add sub(a, b)", "--session", "shop", steps=(SUB,)).exit_code == 4
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
    assert "they changed after you typed the command" in done.stdout


def test_a_worker_without_an_answer_completes_nothing_though_the_checks_pass(shell: Shell) -> None:
    unable = writes({}, summary="I found no calculator", done=False)
    done = shell.types("add sub(a, b)", steps=(times_out, unable, SUB))
    assert (done.exit_code, len(shell.prompts)) == (4, 3), done.output
    assert "missing   I found no calculator; " in done.output
