"""`supervisor run --team` on two machines, with a real PostgreSQL, git, sidecars and signals."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.platform.team.membership import Membership, save_membership
from sidecar.platform.team.ports import Member, TeamTask
from sidecar.platform.team.postgres import PostgresDatabase
from sidecar.platform.team.store import TeamStore
from support.git_projects import commit_all, git
from support.postgres import PostgresServer, as_login, postgres_cluster
from support.scene import SUPERVISOR, end_sidecar
from support.team_scene import LIST, merged_tasks, remote_of

pytestmark = [pytest.mark.process, pytest.mark.proves("a team")]

LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
LEASE_S: Final = "6"
CONFIG: Final = '[judge]\nbackend = "rules"\n[gates]\ndetect = false\n'
AGENT: Final = """\
import os, pathlib, re, sys

task = re.search(r"The task that is ready:\\n```text\\n(T\\d+): ", sys.stdin.read())[1]
meeting = pathlib.Path(os.environ["MEETING"])
begun = meeting / f"{task}-began"
again = begun.exists()
begun.touch()
pathlib.Path(f"{task}.txt").write_text("whole\\n" if again or task != "T1" else "half\\n")
if task == "T1" and not again:  # until its machine is killed
    os.write(os.open(meeting / "wire", os.O_WRONLY), b"up")
    os.read(os.open(meeting / "never", os.O_RDWR), 1)
if task in ("T5", "T6"):
    if not again:
        open(meeting / "both", "w" if task == "T5" else "r").close()  # both have begun before one ends
    lines = [one for one in pathlib.Path("shared").read_text().split("\\n") if one[:1] not in "<=>"]
    pathlib.Path("shared").write_text("\\n".join(sorted({*lines, task} - {""})) + "\\n")
"""


class Node:
    """A machine with a home, a clone and a membership of its own."""

    def __init__(self, folder: Path, name: str, url: str) -> None:
        self.home, self._folder = folder / name, folder
        self.state = self.home / ".local" / "state" / "supervisor"
        config = self.home / ".config" / "supervisor"
        for made in (self.state, config):
            made.mkdir(parents=True)
        (config / "config.toml").write_text(CONFIG)
        save_membership(self.state, Membership(url=url, machine=name, name=name, person="ann"))
        self.clone = self.home / "shop"
        git(folder, "clone", "--quiet", str(folder / "remote.git"), str(self.clone))
        for setting in ("user.name", "user.email"):
            git(self.clone, "config", setting, f"{name}@b")
        self._runs: list[subprocess.Popen[str]] = []

    def start(self, jobs: int) -> None:
        options = ("--team", LIST, "--jobs", str(jobs), "--lease", LEASE_S, "--json")
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "MEETING": str(self._folder)}
        run = subprocess.Popen(
            [str(SUPERVISOR), "run", *options, "--", str(self._folder / "agent")],
            cwd=self.clone,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._runs.append(run)

    @property
    def _run(self) -> subprocess.Popen[str]:
        return self._runs[-1]

    def kill(self) -> None:
        os.killpg(self._run.pid, signal.SIGKILL)
        self.ended()

    def events(self) -> Iterator[dict[str, Any]]:
        """What the run tells, until it has ended."""
        assert self._run.stdout is not None
        for line in self._run.stdout:
            yield json.loads(line)

    def ended(self) -> int:
        """The exit code of the run."""
        assert self._run.stdout is not None
        self._run.stdout.close()
        return self._run.wait(LIMIT_S)

    def close(self) -> None:
        if self._runs and self._run.poll() is None:
            self.kill()
        end_sidecar(self.state)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_cluster() as found:
        yield found


@pytest.fixture
def url(server: PostgresServer) -> str:
    """A database with a list of six tasks: one hangs, two write one file, and two need others."""
    url = server.url(server.new_database())
    store = TeamStore(PostgresDatabase(url), Member(machine="laptop", person="ann"))
    for number, needs in enumerate(((), (), ("T2",), ("T1", "T3"), (), ()), 1):
        checks = (f"grep whole T{number}.txt",)
        task = TeamTask(list=LIST, id=f"T{number}", content="all checks pass", checks=checks, needs=needs)
        assert store.add(task)
    store.close()
    return as_login(url, "agent1")


@pytest.fixture
def nodes(tmp_path: Path, url: str) -> Iterator[tuple[Node, Node]]:
    remote_of(tmp_path)
    agent = tmp_path / "agent"
    agent.write_text(f"#!{sys.executable}\n{AGENT}")
    agent.chmod(0o755)
    for pipe in ("wire", "never", "both"):
        os.mkfifo(tmp_path / pipe)
    made = Node(tmp_path, "one", url), Node(tmp_path, "two", url)
    try:
        yield made
    finally:
        for node in made:
            node.close()


def test_a_list_is_done_once_whatever_is_killed_stopped_or_pushed_meanwhile(
    nodes: tuple[Node, Node], url: str, server: PostgresServer, tmp_path: Path
) -> None:
    (one, two), remote, wire = nodes, tmp_path / "remote.git", os.open(tmp_path / "wire", os.O_RDWR)
    one.start(jobs=1)
    assert select.select([wire], [], [], LIMIT_S)[0]
    os.close(wire)
    one.kill()

    two.start(jobs=2)
    told, pushed = [], False
    for event in two.events():
        told.append(event)
        if event["event"] == "task" and not pushed:
            end_sidecar(two.state)  # the next task starts another one
            server.stop("immediate")
            push_by_hand(tmp_path / "seed", remote)
            pushed = True
        if event["event"] == "warning" and not server.runs:  # it was missed
            server.start()
    assert two.ended() == 0, told

    assert sorted(merged_tasks(remote)) == [f"T{number}" for number in range(1, 7)]
    assert git(remote, "show", "main:shared").split() == ["T5", "T6"]
    assert git(remote, "show", "main:by-hand") == ""
    first_parents = git(remote, "log", "--first-parent", "--format=%s", "main").splitlines()
    assert sorted(first_parents) == sorted(["first", "by hand", *["Merge: all checks pass"] * 6])
    tasks = {task.id: task for task in tasks_of(url)}
    assert {(task.state, task.machine) for task in tasks.values()} == {("merged", "two")}
    assert tasks["T1"].attempts == 2
    assert {tasks["T5"].attempts, tasks["T6"].attempts} == {1, 2}

    one.start(jobs=1)  # nothing is left to do, and what was killed is on its branch
    assert [event["outcome"] for event in one.events() if event["event"] == "end"] == ["completed"]
    assert one.ended() == 0
    assert git(one.clone, "show", "supervisor/sprint/T1-1:T1.txt") == "half\n"
    for node in nodes:
        assert len(git(node.clone, "worktree", "list").splitlines()) == 1
        assert git(node.clone, "status", "--porcelain") == ""


def push_by_hand(clone: Path, remote: Path) -> None:
    git(clone, "pull", "--quiet", str(remote), "main")
    (clone / "by-hand").touch()
    commit_all(clone, "by hand")
    git(clone, "push", "--quiet", str(remote), "HEAD:main")


def tasks_of(url: str) -> tuple[TeamTask, ...]:
    store = TeamStore(PostgresDatabase(url), Member(machine="laptop", person="ann"))
    try:
        return store.tasks(LIST)
    finally:
        store.close()
