"""`supervisor run` against a real sidecar: real prompts, tools, checks and signals, and small agents."""

from __future__ import annotations

import json
import re
import shlex
import signal
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.at_terminal import AtTerminal
from support.git_projects import git
from support.model_server import ScriptedModel
from support.run_agents import (
    COMPLETE,
    FINISHES,
    INCOMPLETE,
    LIMIT_S,
    Runs,
    answer,
    events,
    hangs,
    verdicts,
)
from support.scene import staged
from support.table import often

pytestmark = [pytest.mark.process, pytest.mark.proves("runs and the journal")]


@pytest.fixture
async def runs(tmp_path: Path) -> AsyncIterator[Runs]:
    async with staged(tmp_path) as stage:
        yield Runs(stage, tmp_path)


async def test_agents_are_started_afresh_until_the_check_passes_and_a_person_can_follow(runs: Runs) -> None:
    runs.agent("if number == 0: print('Done: all checks pass.')", f"else: {FINISHES}")
    done = runs.run("--max-iterations", "5")
    assert done.returncode == 0, (done.stdout, done.stderr)
    for line in (
        "iteration 1/5",
        "agent     ",
        "sent back 1/4",
        "iteration 2/5",
        "✔ end     achieved after 2 iterations",
    ):
        assert line in done.stdout
    first, second = runs.prompts()
    assert "What Supervisor said" not in first
    assert "the build is 1" in first
    assert "Be brief." in first
    assert "`test -e done` fails" in second
    assert "the build is 2" in second


async def test_a_specification_alone_is_built_without_a_judge_and_each_iteration_is_committed(
    runs: Runs, tmp_path: Path
) -> None:
    runs.agent(
        "if number == 0:",
        "    tool('task_batch_add', tasks=[{'content': 'write the lexer'}, {'content': 'write the parser'}])",
        "    tool('task_depends', id='T2', depends_on='T1')",
        "pathlib.Path(f'part-{number}').touch()",
        "tool('task_status', id=f'T{number + 1}', status='completed')",
        "if number == 1:",
        "    pathlib.Path('done').touch()",
        "    tool('session_complete')",
        "print('Part done.')",
    )
    (tmp_path / "spec.md").write_text("A parser.", encoding="utf-8")
    project = runs.stage.scene.project
    for name in ("user.name", "user.email"):
        git(project, "config", name, "a@b")
    options = ("--spec", str(tmp_path / "spec.md"), "--prompt", "Build it.", "--extra", "Be kind.")
    done = runs.run("--json", *options, "--check", "true", "--commit", "--no-limit", goal=False)
    told = events(done)
    assert (done.returncode, verdicts(told)) == (0, ["tasks-open", "completed"]), (told, done.stderr)
    assert (told[0]["goal"], told[0]["minutes"]) == ("spec.md is built and its tasks are done", 525_600)
    first, second = runs.prompts()
    for part in ("Build it.\n\nA parser.", "Be brief.\n\nBe kind."):
        assert part in first
    assert "The task that is ready:\n```text\nT2: write the parser\n```" in second
    assert "1 open task that can be done now" in second
    assert git(project, "log", "--format=%s", "-2").splitlines() == [
        "write the parser", "supervisor run demo, iteration 1",
    ]  # fmt: skip
    anew = events(runs.run("--json", "--reset", "--check", "true", goal=False))
    assert (anew[0]["resumed"], anew[0]["goal"]) == (False, "all checks pass")
    assert "write the lexer" not in runs.prompts()[2]


async def test_open_tasks_are_evidence_for_the_judge_and_the_next_agents_work(runs: Runs) -> None:
    runs.agent(
        "pathlib.Path('done').touch()",
        "if number == 0: tool('task_add', content='write the changelog')",
        "else:",
        "    pathlib.Path('CHANGES').touch()",
        "    tool('task_status', id='T1', status='completed')",
        "tool('iteration_summary', summary=f'I was number {number}.')",
        "print('Stopped.')",
    )
    with ScriptedModel((answer(INCOMPLETE), answer(COMPLETE))) as judge:
        runs.judged_by(judge)
        done = runs.run("--json", "--goal", "the work is complete", "--check", "test -e done", goal=False)
        first, second = (request.text for request in judge.requests)
    assert "write the changelog" in first
    assert "write the changelog" not in second
    told = events(done)
    assert (done.returncode, verdicts(told)) == (0, ["incomplete", "achieved"]), (told, done.stderr)
    assert [event["id"] for event in told if event["event"] == "task"] == ["T1"]
    assert (runs.home / "completed").read_text() == "T1\n"
    prompt = runs.prompts()[1]
    assert "T1 [remaining, medium] by agent: write the changelog" in prompt
    assert "The task that is ready:\n```text\nT1: write the changelog\n```" in prompt
    assert "1: I was number 0." in prompt
    status = runs.stage.supervisor("status", "--session", "demo").stdout
    assert "tasks: 1 of 1 completed" in status
    listed = runs.stage.supervisor("run", "log").stdout.splitlines()
    assert re.fullmatch(r"1 .{19}, after \d\d:\d\d; T1 remaining; continue: .*", listed[1])
    assert re.fullmatch(r"2 .{19}, after \d\d:\d\d; T1 completed; achieved.*", listed[2])
    second_log = runs.stage.supervisor("run", "log", "demo", "2").stdout
    assert f"--- prompt ---\n{prompt}" in second_log
    assert "--- output ---\nStopped.\n" in second_log
    refused = runs.stage.supervisor("run", "log", "demo", "3")
    assert (refused.returncode, "no iteration 3" in refused.stderr) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_run_leaves_no_agent_and_goes_on_with_what_was_spent(
    runs: Runs, number: signal.Signals
) -> None:
    runs.agent(
        "if number == 0: tool('note_add', type='tip', content='mind the gap')",
        "elif number == 1: hang()",
        f"else: {FINISHES}",
    )
    with runs.wire() as wire, runs.started() as first:
        hangs(wire)
        first.send_signal(number)
        out, error = first.communicate(timeout=LIMIT_S)
        wire.communicate(timeout=LIMIT_S)  # no agent is left
    assert first.returncode == 130, (out, error)
    last = json.loads(out.splitlines()[-1])
    assert (last["outcome"], last["iterations"]) == ("interrupted", 2)
    report = json.loads(runs.stage.supervisor("status", "--session", "demo", "--json").stdout)
    assert (report["host"], report["status"]) == ("run", "active")

    again = runs.run("--json", goal=False)
    told = events(again)
    assert again.returncode == 0, (told, again.stderr)
    assert told[0]["resumed"]
    assert [event["iteration"] for event in told if event["event"] == "iteration"] == [2]
    assert "`test -e done` fails" in runs.prompts()[2]
    assert "mind the gap" in runs.prompts()[2]
    text = runs.stage.supervisor("status", "--session", "demo").stdout
    assert "continuations 1/16" in text


async def test_a_killed_run_goes_on_as_its_report_says_and_two_at_once_are_refused(
    runs: Runs, tmp_path: Path
) -> None:
    runs.agent("if number == 0: hang()", f"else: {FINISHES}")
    page = tmp_path / "it's.html"
    with runs.wire() as wire, runs.started("--report", str(page)) as first:
        hangs(wire)
        refused = runs.run()
        assert (refused.returncode, "being run already" in refused.stderr) == (1, True)
        first.kill()
        first.communicate(timeout=LIMIT_S)
        wire.communicate(timeout=LIMIT_S)  # its agent ends with it
    (way,) = json.loads(runs.stage.supervisor("run", "report", "--json").stdout)["go_on"]
    again = runs.types(*shlex.split(way))
    assert again.returncode == 0, again.stderr
    assert (events(again)[0]["resumed"], events(again)[0]["then"]) == (True, way)
    assert "<h1>Run demo: achieved</h1>" in page.read_text(encoding="utf-8")
    assert "\nverdicts  1 " in runs.stage.supervisor("run", "report").stdout


async def test_a_person_at_a_terminal_sees_the_run_adds_a_task_and_lets_it_pause(runs: Runs) -> None:
    runs.agent("print('I begin.', flush=True); hang(); print('Stopped.')")
    scene = runs.stage.scene
    with runs.wire() as wire, AtTerminal(runs.command(), scene.project, scene.environment) as terminal:
        hangs(wire)
        terminal.wait_for("│ .*I begin.")
        terminal.press("abuild it\n")
        terminal.wait_for("T1 remaining, by user, .*: build it")
        terminal.press("p")
        terminal.wait_for("PAUSES after this iteration")
        with (runs.home / "go").open("w") as go:
            go.write("g")
        terminal.wait_for("paused after 1 iteration")
        assert terminal.code() == 1
        assert terminal.modes[3] & (termios.ICANON | termios.ECHO) == termios.ICANON | termios.ECHO


async def test_a_sidecar_that_ends_while_an_agent_works_is_started_again_with_the_same_way_to_it(
    runs: Runs,
) -> None:
    lock = runs.home / ".local" / "state" / "supervisor" / "run" / "sidecar.lock"
    stop = f"import os, pathlib; os.kill(int(pathlib.Path({str(lock)!r}).read_text()), 15)"
    patience = """
until = time.time() + 100
while True:
    try:
        tool("task_list")
        break
    except OSError:  # nobody listens
        if time.time() > until:
            raise
"""
    runs.agent(stop, patience, "tool('note_add', type='tip', content='still here')", FINISHES)
    done = runs.run("--json")
    assert done.returncode == 0, (done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("options", "why"),
    often(
        [
            ((), "has no goal"),
            (("--goal", "pause"), "a goal is a condition"),
            (("--goal", "x", "--spec", "/no/such/file"), "No such file"),
            (("--session", "../x", "--goal", "x"), "session id"),
            (("--goal", "x", "--template", "/dev/null"), "cannot be read"),
        ],
        2,
    ),
)
async def test_what_cannot_begin_is_refused_with_what_to_do(
    runs: Runs, options: tuple[str, ...], why: str
) -> None:
    done = runs.stage.supervisor("run", *options, "--", "true")
    assert (done.returncode, why in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE", "SUPERVISOR_WORKER"])
async def test_no_agents_shell_starts_a_run(runs: Runs, marker: str) -> None:
    done = runs.stage.supervisor("run", "--goal", "x", "--", "true", **{marker: "1"})
    assert (done.returncode, "only the user" in done.stderr) == (1, True)
