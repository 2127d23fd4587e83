"""`supervisor inbox`, and the shell example of docs/markers.md, against a real sidecar and a real check."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE
from sidecar.cli.inbox import format_decision
from sidecar.hosts.marker_inbox import InboxDecision
from support import mortal_sidecar
from support.scene import SUPERVISOR, Stage, staged

LIMIT_S = 120.0
"""Bound of every wait here, in seconds."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "markers.md"
CHECK = f"{sys.executable} -m pytest -q"
AGENT = """#!/bin/sh
printf '%s\\n' "$1" >>"$LOG"
case $1 in
*'[supervisor '*) cp "$REPAIRED" shop.py; printf 'Repaired: a tenth is\\n\\ttaken off "now" \\\\o/\\n' ;;
*) echo 'Done: all tests pass.' ;;
esac
"""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


def example() -> str:
    """The shell script of the page."""
    return PAGE.read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[0]


def run_example(
    stage: Stage, folder: Path, project: Path, *, agent: str = AGENT, with_: tuple[str, ...] = ("sh",)
) -> subprocess.CompletedProcess[str]:
    """Run it in a project, with a scripted agent that lives in `folder`."""
    command, repaired = folder / "agent", folder / "repaired.py"
    (folder / "agent.sh").write_text(example(), encoding="utf-8")
    command.write_text(agent, encoding="utf-8")
    command.chmod(0o755)
    repaired.write_text(REPAIRED_SOURCE, encoding="utf-8")
    path = f"{SUPERVISOR.parent}:{stage.scene.environment['PATH']}"
    told = {"AGENT": str(command), "LOG": str(folder / "log"), "REPAIRED": str(repaired), "PATH": path}
    return subprocess.run(
        [*with_, str(folder / "agent.sh"), "demo", 'Repair the "shop".\nThoroughly.'],
        cwd=project,
        env={**stage.scene.environment, **told},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def inbox_of(stage: Stage) -> Path:
    return Path(stage.supervisor("inbox", "--path").stdout.strip())


def started(stage: Stage, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, cwd="/", env={**stage.scene.environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def drop(stage: Stage, inbox: Path, name: str, message: str = "Done: all tests pass.") -> None:
    marker = {"version": 1, "session": "demo", "project": str(stage.scene.project), "last_message": message}
    (inbox / f"{name}.new").write_text(json.dumps(marker), encoding="utf-8")
    (inbox / f"{name}.new").rename(inbox / f"{name}.stop.json")


def decision(inbox: Path, name: str) -> dict[str, str]:
    """Wait for it."""
    path = inbox / f"{name}.decision.json"
    script = 'until [ -e "$1" ]; do sleep 0.1; done; cat "$1"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(path)], capture_output=True, timeout=LIMIT_S, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def set_goal(stage: Stage) -> None:
    assert stage.supervisor("inbox", "--path", "--session", "demo").returncode == 0
    done = stage.supervisor("goal", "set", "--session", "demo", "--check", CHECK, "all checks pass")
    assert "goal set" in done.stdout, done.stderr


async def test_the_example_of_the_page_sends_an_agent_without_hooks_back_until_its_goal_is_achieved(
    stage: Stage, tmp_path: Path
) -> None:
    assert len(example().splitlines()) == 10
    set_goal(stage)
    done = run_example(stage, tmp_path, stage.scene.project)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reason"] == "achieved", done.stdout
    prompts = (tmp_path / "log").read_text(encoding="utf-8")
    assert prompts.startswith('Repair the "shop".\nThoroughly.\n[supervisor ')
    assert prompts.count("[supervisor ") == 1
    assert "test_a_tenth_is_taken_off" in prompts
    report = json.loads(stage.supervisor("status", "--session", "demo", "--json").stdout)
    assert (report["host"], report["status"]) == ("marker", "achieved")
    assert "continuations 1/16" in report["text"]


async def test_the_example_says_why_a_stop_was_refused(stage: Stage, tmp_path: Path) -> None:
    project = tmp_path / "a\ttab"  # which the example makes a blank
    project.mkdir()
    done = run_example(stage, tmp_path, project)
    assert done.returncode == 1
    assert "no folder of this machine" in done.stderr


async def test_who_looks_on_sees_each_decision_of_one_sidecar_after_the_other(stage: Stage) -> None:
    with started(stage, str(SUPERVISOR), "inbox") as looker:
        try:
            assert looker.stdout is not None
            for name in ("one", "two"):
                inbox = Path(looker.stdout.readline().strip())
                drop(stage, inbox, name)
                assert looker.stdout.readline().startswith(f"{name}.stop.json demo: rest: ")
                stage.supervisor("stop")
            assert looker.stdout.readline() == f"{inbox}\n"
            looker.send_signal(signal.SIGINT)
            assert looker.wait(LIMIT_S) == 0
        finally:
            looker.kill()


@pytest.mark.parametrize(
    "step",
    [pytest.param("before the gates", marks=pytest.mark.long), "after saving, before answering"],
)
async def test_a_stop_whose_sidecar_was_killed_is_judged_by_the_next_one_and_charged_once(
    stage: Stage, tmp_path: Path, step: str
) -> None:
    set_goal(stage)
    inbox = inbox_of(stage)
    stage.supervisor("stop")
    lives = tmp_path / "lives"
    lives.write_text("x", encoding="utf-8")
    with started(stage, sys.executable, mortal_sidecar.__file__, step, str(lives), "serve") as mortal:
        assert mortal.stdout is not None
        mortal.stdout.read()  # it listens
        drop(stage, inbox, "one")
        assert mortal.wait(LIMIT_S) == -signal.SIGKILL
    assert [path.name for path in inbox.glob("one.*")] == ["one.stop.json"]
    assert inbox_of(stage) == inbox
    first = decision(inbox, "one")
    assert (first["decision"], first["reason"]) == ("continue", "gates-failed")
    (stage.scene.project / "shop.py").write_text(REPAIRED_SOURCE, encoding="utf-8")
    drop(stage, inbox, "two", "Repaired.")
    assert decision(inbox, "two")["reason"] == "achieved"
    assert "continuations 1/16" in stage.supervisor("status", "--session", "demo").stdout


async def test_an_agents_shell_begins_no_work(stage: Stage) -> None:
    done = stage.supervisor("inbox", "--path", "--session", "demo", CLAUDECODE="1")
    assert (done.returncode, "only the user" in done.stderr) == (1, True)


async def test_a_bad_session_is_refused(stage: Stage) -> None:
    done = stage.supervisor("inbox", "--path", "--session", "../x")
    assert (done.returncode, "session id" in done.stderr) == (1, True)


async def test_a_link_in_the_inboxs_place_is_refused(stage: Stage, tmp_path: Path) -> None:
    (stage.sessions.parent / "inbox").symlink_to(tmp_path)
    done = stage.supervisor("inbox", "--path")
    assert (done.returncode, "a symbolic link" in done.stderr) == (1, True)


def test_a_line_obeys_nothing_that_is_written_in_it() -> None:
    shown = format_decision(InboxDecision(name="a\x1b[2J.stop.json", decision="refused", reason="no\nway"))
    assert shown == "a\\x1b[2J.stop.json: refused: no\\nway"
