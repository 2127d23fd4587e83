"""The task loop on the real hosts: as workers of `supervisor loop`, and with agents that call its tools.

The model is scripted, the project's checks are real.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from real_hosts.agent_session import agent_session, reply_that_writes
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.worker_processes import nobody_is_left
from support.git_projects import commit_all, git
from support.loop_projects import LOOP_PROJECTS, LoopProject
from support.model_script import (
    EndlessReply,
    ReplyRule,
    RequestMatch,
    ScriptedReply,
    reply_structured,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.tdd_projects import contents, lay_out

pytestmark = pytest.mark.proves("the loop")

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LIMIT_S: Final = 240.0
"""Bound of every wait here, in seconds."""
BRIEFED: Final = "Acceptance criteria:"
WORKER: Final = RequestMatch(tools="some", any=BRIEFED)
"""Requests of a worker: not those for a title."""


SETTINGS: Final = '[judge]\nbackend = "rules"\n[loop]\n'


class Room(Struct, frozen=True):
    """A person's home with one host, a project, and the model that the host asks."""

    host: Host | OpenCode
    model: ScriptedModel
    project: LoopProject

    def plays(self, *turns: Mapping[str, str]) -> None:
        """In each turn the model lets a worker write these files and then answer that all is well."""
        self.model.add(*(ReplyRule(reply, WORKER) for files in turns for reply in self.turn(files)))

    def turn(self, files: Mapping[str, str]) -> list[ScriptedReply]:
        said = {"summary": "It is there.", "files_changed": list(files), "done": True}
        return [reply_that_writes(self.host, files), self.ends(said)]

    def ends(self, said: Mapping[str, object]) -> ScriptedReply:
        """The model ends a worker with this answer."""
        return reply_structured(said) if isinstance(self.host, Host) else reply_with_text(json.dumps(said))

    @contextmanager
    def typed(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        path = os.pathsep.join((str(self.host.binary.parent), self.host.env["PATH"]))
        with subprocess.Popen(
            [str(SUPERVISOR), "loop", *arguments],
            cwd=self.host.project,
            env={**self.host.env, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def loop(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor loop ARGUMENTS`."""
        with self.typed(*arguments) as process:
            stdout, stderr = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    @property
    def prompts(self) -> list[str]:
        """What each worker was told first, oldest first."""
        return [request.last for request in self.model.requests if BRIEFED in request.last]


def make_room(host: Host | OpenCode, model: ScriptedModel, project: LoopProject) -> Room:
    lay_out(host.project, project.files)
    lay_out(host.home, {".config/supervisor/config.toml": f"{SETTINGS}threshold = 3\n"})
    return Room(host, model, project)


@pytest.fixture
def claude_room(host: Host, model: ScriptedModel) -> Room:
    return make_room(host, model, LOOP_PROJECTS["Python"])


@pytest.fixture
def opencode_room(opencode_host: OpenCode, model: ScriptedModel) -> Room:
    return make_room(opencode_host, model, LOOP_PROJECTS["Node"])


@pytest.fixture(params=["claude", pytest.param("opencode", marks=pytest.mark.long)])
def room(request: pytest.FixtureRequest, claude_room: Room, opencode_room: Room) -> Room:
    return claude_room if request.param == "claude" else opencode_room


def test_a_wrong_attempt_goes_back_and_the_right_one_completes_the_task(room: Room) -> None:
    right = room.project.with_behaviour("sub")
    room.plays(room.project.with_behaviour("sub", wrong="+"), right)
    done = room.loop("add sub(a, b)", "--done-when", "30 - 13 is 17")
    assert (done.returncode, "Judged by nobody: T1\n" in done.stdout) == (4, True), done.stdout
    before, ended, _ = done.stdout.partition(" ? end ")
    begun = (line.split()[1] for line in before.splitlines()[:-1])
    steps = [word for word in begun if word != "-"]  # a line that goes on
    assert ended
    assert steps == [
        *("session", "goal", "task", "agent", "check"),
        *("worker", "worker", "check", "check", "missing", "iterate"),
        *("worker", "worker", "check", "check", "done"),
    ]
    first, second = room.prompts
    assert "30 - 13 is 17" in first
    assert "The report was refused" in second
    held = contents(room.host.project)
    assert {name: held[name] for name in right} == right
    assert "T1   completed" in room.loop("status").stdout


def test_after_kill_9_the_worker_is_gone_and_the_session_goes_on_where_it_was_saved(
    claude_room: Room,
) -> None:
    wrong, right = (claude_room.project.with_behaviour("sub", wrong=sign) for sign in ("+", ""))
    claude_room.plays(wrong)
    claude_room.model.add(
        ReplyRule(reply_that_writes(claude_room.host, right), WORKER), ReplyRule(EndlessReply(), WORKER, 1)
    )
    claude_room.plays(right)
    with claude_room.typed("add sub(a, b)", "--session", "shop") as process:
        claude_room.model.wait_for(lambda request: request.rule == 3, timeout=LIMIT_S)
        process.kill()
        process.wait(LIMIT_S)
    assert nobody_is_left(claude_room.host.home)
    held = contents(claude_room.host.project)
    assert {name: held[name] for name in right} == right
    killed = json.loads(claude_room.loop("status", "--json").stdout)
    assert (killed["status"], killed["task"], killed["tasks"][0]["iteration"]) == ("running", "T1", 1)
    done = json.loads(claude_room.loop("--session", "shop", "--json").stdout)
    assert (done["status"], done["tasks"][0]["iteration"]) == ("completed", 2)
    assert (done["input_tokens"], done["cents"]) == (2 * killed["input_tokens"], 2 * killed["cents"])
    told = [
        json.loads(line)["data"]["type"] for line in claude_room.loop("history", "--json").stdout.splitlines()
    ]
    assert told == ["loop-session", "loop-task", "loop-report", "loop-task", "loop-report", "loop-session"]


PLAN: Final = """# Calculator

- [ ] add one
- [ ] add two
  - after: add one
- [ ] add three
  - after: add one
- [ ] add four
- [ ] add five
  - after: add two, add three
- [ ] add six
  - after: add four
- [ ] prove that one is two
  - after: add five
- [ ] celebrate it
  - after: prove that one is two
"""
MAKEFILE: Final = "test:\n\tfor one in *.check; do sh $$one || exit 1; done\n"
DONE: Final = ("one", "two", "three", "four", "five", "six")
KILLS: Final = (
    "task T1",
    "worker T1 .*It is there",
    "done T1",
    "task T2",
    "iterate T3 .*report 1 of",
    "worker T3 .*report 2 of",
    "iterate T3 .*report 2 of",
    "done T3",
    "done T5",
    "fail T7",
)
"""The line after which it is killed, time after time; the other tasks are then wherever they came to."""


def part(name: str, *, wrong: bool = False) -> dict[str, str]:
    text = "wrong" if wrong else name
    return {f"{name}.txt": f"{text}\n", f"{name}.check": f"grep -qx {name} {name}.txt\n"}


def scripts_plan(room: Room) -> None:
    """What the model says depends on task and report alone: "three" is right at the third, T7 at none."""
    for number, name in enumerate(DONE, 1):
        for report in (1, 2, 3):
            asked = f"Task T{number}: .*Report {report} of"
            write, end = room.turn(part(name, wrong=name == "three" and report < 3))
            room.model.add(ReplyRule(write, RequestMatch(tools="some", last=asked), None))
            room.model.add(ReplyRule(end, RequestMatch(tools="some", any=asked), None))
    unable = room.ends({"summary": "One is not two.", "files_changed": [], "done": False})
    room.model.add(ReplyRule(unable, RequestMatch(tools="some", any="Task T7: "), None))


def ticked(project: Path) -> set[str]:
    lines = (project / "plan.md").read_text().splitlines()
    assert [line.replace("[x]", "[ ]") for line in lines] == PLAN.splitlines()
    return {line.removeprefix("- [x] ") for line in lines if line.startswith("- [x] ")}


def test_a_plan_that_is_killed_at_ten_places_loses_nothing_and_completes_nothing_that_is_not(
    room: Room,
) -> None:
    project, done = room.host.project, set[str]()
    settings = f"{SETTINGS}max_iterations = 3\nthreshold = 9\n"
    lay_out(room.host.home, {".config/supervisor/config.toml": settings})
    for path in room.project.files:
        (project / path).unlink()
    lay_out(project, {"Makefile": MAKEFILE, "first.check": "true\n", "plan.md": PLAN})
    git(project, "init", "--quiet", "--initial-branch=main")
    for name in ("user.name", "user.email"):
        git(project, "config", name, "a@b")
    commit_all(project, "first")
    scripts_plan(room)
    for killed in KILLS:
        with room.typed("plan.md", "--jobs", "3") as process:
            assert process.stdout is not None
            assert any(re.search(killed, line) for line in process.stdout), killed
        assert nobody_is_left(room.host.home)
        tasks = json.loads(room.loop("status", "--json").stdout)["tasks"]
        now = {task["content"] for task in tasks if task.get("status") == "completed"}
        assert done <= now
        assert ticked(project) <= (done := now)
        committed = set(git(project, "log", "--no-merges", "--format=%s").splitlines())
        assert done <= committed <= {"first", *(f"add {name}" for name in DONE)}
    last = room.loop("plan.md", "--jobs", "3")
    assert last.returncode == 1, last.stdout
    assert ticked(project) == {f"add {name}" for name in DONE}
    assert "T8 celebrate it (waits for T7)" in last.stdout
    events = [json.loads(line)["data"] for line in room.loop("history", "--json").stdout.splitlines()]
    ruled = [(one["task"], one["iteration"]) for one in events if one["type"] == "loop-report"]
    expected = [(f"T{number}", 1) for number in range(1, 7)] + [("T3", 2), ("T3", 3)]
    assert sorted(one for one in ruled if one[0] != "T7") == sorted(expected)
    held = contents(project, (".git",))
    right = {path: text for name in DONE for path, text in part(name).items()}
    assert {name: held[name] for name in right} == right
    assert git(project, "status", "--porcelain") == " M plan.md\n"
    branches = git(project, "branch", "--format=%(refname:short)").split()
    assert [one.rpartition("/")[2] for one in branches] == ["main", "T7-1"]


# --- the toolset, as the agent of a session calls it --------------------------------------------------------


@pytest.mark.parametrize("kind", ["claude", pytest.param("opencode", marks=pytest.mark.long)])
def test_an_agent_is_refused_repairs_it_completes_the_loop_stops_and_is_judged(
    kind: str, host: Host, opencode_host: OpenCode, model: ScriptedModel
) -> None:
    project = LOOP_PROJECTS["Python"]
    wrong, right = (project.with_behaviour("sub", wrong=sign) for sign in ("+", ""))
    chosen = host if kind == "claude" else opencode_host
    with agent_session(chosen, model, project.files, "loop") as session:
        session.calls("session_start", command="add sub", command_type="implement")
        session.calls(
            "task_start",
            task_id="adhoc",
            description="add sub(a, b)",
            acceptance_criteria=["30 - 13 is 17"],
            scope_files=list(right),
        )
        for files in (wrong, right):
            session.writes(files)
            session.calls("report_completion", files_changed=list(files), summary="sub is there.")
        session.calls("session_end", status="completed")
        session.says("sub is there, and tested.")
        session.goal("all tests pass --check 'python -m pytest -q'")
        _, begun, _, refused, _, done, ended = session.told
        for said in ("30 - 13 is 17", "Look up first which Python versions", "call report_completion"):
            assert said in begun
        for said in ("report 1 of 10", "test_sub", "Tried before", "Repair the cause"):
            assert said in refused
        assert "T1 is done, not judged" in done
        assert "completed" in ended
        assert (session.under.report().status, session.under.continuations()) == ("achieved", [])
        tasks = session.under.supervisor("loop", "status").stdout
        assert "T1   completed   not judged, implementer-python, 2 reports" in tasks
