"""`supervisor run --jobs`: small agents at once, on real git, a real sidecar and signals."""

from __future__ import annotations

import fcntl
import os
import random
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest

from support.git_projects import commit_all, git
from support.run_agents import LIMIT_S, Runs, completions, events, hangs, verdicts
from support.scene import staged

pytestmark = [pytest.mark.process, pytest.mark.proves("runs and the journal")]

PLAN: Final = """
import fcntl, re
lock = open(os.environ["HOME"] + "/agents", "a")
fcntl.flock(lock, fcntl.LOCK_SH)  # held as long as an agent lives
found = re.search(r"The task that is ready:\\n```text\\n(T\\d+): ", prompt)
task = found[1] if found else ""
if not task and "T1 [" not in prompt:
    names = [f"write part {number}" for number in range(1, 12)]
    tool("task_batch_add", tasks=[{"content": name} for name in names])
    tool("task_add", content="publish it", status="blocked")
    for one, other in ((2, 1), (3, 1), (4, 2), (5, 3), (9, 8), (11, 10)):
        tool("task_depends", id=f"T{one}", depends_on=f"T{other}")
"""
"""The first agent plans: twelve tasks, some after others, and one that only a person can do."""
PART: Final = """
elif task:
    part = pathlib.Path(task)
    if not part.exists():
        part.write_text("one line\\n")
    tool("task_status", id=task, status="completed")
    tool("iteration_summary", summary=f"{task} is done.")
print(f"{task or 'plan'} ended.")
"""
SHARED: Final = """
elif task in ("T1", "T6"):
    shared = pathlib.Path("shared")
    begun, meeting = (pathlib.Path(os.environ["HOME"], name) for name in (f"{task}-began", "both-began"))
    if not begun.exists():  # the second time it runs alone
        begun.touch()
        open(meeting, "w" if task == "T1" else "r").close()  # a FIFO: both have begun before one ends
    lines = shared.read_text().split("\\n") if shared.exists() else []
    if any(line.startswith("<<<<<<< ") for line in lines):  # its own work is there, and the other's
        assert "git's marks" in prompt
        lines = [line for line in lines if line in ("T1", "T6")]
    shared.write_text("\\n".join(sorted({*lines, task} - {""})) + "\\n")
    tool("task_status", id=task, status="completed")
"""


@pytest.fixture
async def runs(tmp_path: Path) -> AsyncIterator[Runs]:
    async with staged(tmp_path) as stage:
        made = Runs(stage, tmp_path)
        project = stage.scene.project
        for name in ("user.name", "user.email"):
            git(project, "config", name, "a@b")
        commit_all(project, "begin") if git(project, "status", "--porcelain") else None
        (tmp_path / "spec.md").write_text("Eleven parts.", encoding="utf-8")
        yield made


def built(runs: Runs, *options: str) -> tuple[str, ...]:
    spec = str(runs.program.parent / "spec.md")
    return ("--json", "--spec", spec, "--check", "true", "--no-limit", *options)


def nothing_is_left(runs: Runs) -> None:
    """No agent lives, no worktree is there, and the user's tree is clean."""
    with (runs.home / "agents").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    project = runs.stage.scene.project
    assert len(git(project, "worktree", "list").splitlines()) == 1
    assert not list((runs.home / ".cache" / "supervisor" / "worktrees").glob("*"))
    assert git(project, "status", "--porcelain") == ""


async def test_agents_work_at_once_and_what_conflicts_goes_on_on_what_was_merged(runs: Runs) -> None:
    runs.agent(PLAN, SHARED, PART)
    (runs.stage.scene.project / "mine").touch()
    os.mkfifo(runs.home / "both-began")
    done = runs.run(*built(runs), "--jobs", "4", "--commit-mine", goal=False)
    told, project = events(done), runs.stage.scene.project
    assert git(project, "log", "--format=%s", "mine") == "What was changed before agents began\n"
    assert (done.returncode, verdicts(told)[-1]) == (2, "unjudged"), (told, done.stderr)  # T12 is blocked
    assert sorted(completions(runs.stage.sessions.parent)) == sorted(f"T{number}" for number in range(1, 12))
    assert sorted((project / "shared").read_text().split()) == ["T1", "T6"]
    assert all((project / f"T{number}").read_text() == "one line\n" for number in (2, *range(7, 12)))
    (warned,) = [
        event["text"] for event in told if event["event"] == "warning" and "conflict" in event["text"]
    ]
    found = re.match(
        r"(T[16])-(\d): not merged: it is in conflict with what was merged before, in shared", warned
    )
    assert found
    note = f"{found[1]}: not merged: it is in conflict with what was merged before, in shared. What was"
    assert any(note in prompt and "a git worktree" in prompt for prompt in runs.prompts())
    assert git(project, "branch", "--list", "supervisor/*") == ""
    nothing_is_left(runs)


@pytest.mark.parametrize(
    ("jobs", "seed"),
    [
        (4, 1),
        pytest.param(0, 1, marks=pytest.mark.long),
        *(pytest.param(4, seed, marks=pytest.mark.long) for seed in (2, 3)),
    ],
)
async def test_a_run_killed_at_ten_random_moments_does_each_task_once(
    runs: Runs, jobs: int, seed: int
) -> None:
    runs.agent(PLAN, PART)
    chance = random.Random(seed)  # noqa: S311 - moments, no secrets
    options = (*built(runs), *(("--jobs", str(jobs)) if jobs else ()))
    kills = 0
    while True:
        with runs.started(*options, goal=False) as run:
            assert run.stdout is not None
            lines = [run.stdout.readline() for _ in range(chance.randint(2, 8) if kills < 10 else 10_000)]
            if lines[-1]:
                run.send_signal(signal.SIGKILL)
                kills += 1
            _, error = run.communicate(timeout=LIMIT_S)
        if not lines[-1] or '"end"' in lines[-1]:
            break
    assert kills == 10, (kills, error)
    done = completions(runs.stage.sessions.parent)
    assert sorted(done) == sorted(f"T{number}" for number in range(1, 12)), (lines[-3:], error)
    project = runs.stage.scene.project
    assert all((project / f"T{number}").read_text() == "one line\n" for number in range(1, 12))
    if jobs:
        merged = git(project, "log", "--no-merges", "--format=%s").splitlines()
        assert sorted(line for line in merged if line.startswith("write part")) == sorted(
            f"write part {number}" for number in range(1, 12)
        )
        nothing_is_left(runs)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
async def test_an_ended_run_leaves_no_agent_and_what_its_agents_did_is_kept_on_their_branches(
    runs: Runs, number: signal.Signals
) -> None:
    project = runs.stage.scene.project
    runs.agent(PLAN, "elif task: pathlib.Path(task).write_text('half a li'); hang()", 'print("Planned.")')
    with runs.wire() as wire, runs.started(*built(runs), "--jobs", "2", goal=False) as run:
        hangs(wire)
        hangs(wire)
        run.send_signal(number)
        out, error = run.communicate(timeout=LIMIT_S)
        wire.communicate(timeout=LIMIT_S)  # no agent is left
    assert run.returncode == (130 if number == signal.SIGINT else -9), (out, error)
    if number == signal.SIGINT:
        nothing_is_left(runs)
    runs.agent(PLAN, PART)
    if number == signal.SIGKILL:
        refused = runs.run(goal=False)
        assert (refused.returncode, "type --jobs too" in refused.stderr) == (1, True), refused
    again = runs.run(*built(runs), "--jobs", "2", goal=False)
    assert verdicts(events(again))[-1] == "unjudged", again.stderr
    assert all((project / f"T{one}").read_text() == "one line\n" for one in range(1, 12))
    assert any("T1: not merged: it was interrupted" in prompt for prompt in runs.prompts())
    assert git(project, "branch", "--list", "supervisor/*") == ""  # the tasks are merged now
    nothing_is_left(runs)


@pytest.mark.long
async def test_a_second_ctrl_c_cuts_the_ending_short_and_the_next_run_puts_things_right(runs: Runs) -> None:
    stubborn = """
import signal
def up(*_):
    wire = os.open(os.environ["HOME"] + "/wire", os.O_WRONLY)
    os.write(wire, b"up")
signal.signal(signal.SIGTERM, up)  # it does not end by it
"""
    runs.agent(PLAN, "elif task:", "    pathlib.Path(task).touch()", "    exec(stubborn)", "    hang()")
    text = runs.program.read_text().replace(
        "import fcntl, re", f"import fcntl, re\nstubborn = {stubborn!r}", 1
    )
    runs.program.write_text(text)
    with runs.wire() as wire, runs.started(*built(runs), "--jobs", "1", goal=False) as run:
        hangs(wire)
        run.send_signal(signal.SIGINT)
        hangs(wire)  # the agent was asked to end, and is waited for
        run.send_signal(signal.SIGINT)
        out, error = run.communicate(timeout=LIMIT_S)
        wire.communicate(timeout=LIMIT_S)  # no agent is left
    assert run.returncode == 130, (out, error)
    runs.agent(PLAN, PART)
    assert verdicts(events(runs.run(*built(runs), "--jobs", "4", goal=False)))[-1] == "unjudged"
    nothing_is_left(runs)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda project: (project / "mine").touch(), "clean work tree"),
        (lambda project: shutil.rmtree(project / ".git"), "git init"),
    ],
)
async def test_what_is_not_committed_is_refused_with_what_to_type(
    runs: Runs, spoil: Callable[[Path], object], why: str
) -> None:
    runs.agent(PLAN)
    spoil(runs.stage.scene.project)
    done = runs.run(*built(runs), "--jobs", "2", goal=False)
    assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    assert runs.prompts() == []


async def test_a_branch_that_an_agent_moved_by_itself_is_told(runs: Runs) -> None:
    two = PLAN.replace("range(1, 12)", "range(1, 3)").partition('    tool("task_add"')[0]
    at = runs.stage.scene.project
    move = f"git commit -q --allow-empty -m x && git -C {at} merge -q $(git rev-parse HEAD)"
    runs.agent(two, f'if task == "T1":\n    os.system("{move}")\nif False:\n    pass', PART)
    told = events(runs.run(*built(runs), "--jobs", "2", goal=False))
    warned = [event["text"] for event in told if event["event"] == "warning"]
    assert any("your branch moved without this run" in text for text in warned), warned
