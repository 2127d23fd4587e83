"""What a program that may not write in a project can still do, and what it cannot."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from sidecar.platform import confine
from sidecar.platform.confine import can_close_folders, confined
from support.git_projects import everything, git, repository

pytestmark = [pytest.mark.process, pytest.mark.proves("workers")]

HARM: Final = (
    "echo evil > $P/evil.py",
    "echo evil >> $P/a.txt",
    "cd $P && echo evil > evil.py",
    "ln -s $P way; echo evil > way/evil.py",
    "ln $P/a.txt hard && echo evil > hard",
    "mv $P/a.txt a.txt",
    "mv $P $HOME/.cache/gone",
    "rm $P/a.txt",
    "mkdir $P/new",
    "mkfifo $P/pipe",
    "echo true > $P/.git/hooks/pre-commit",
    "git -C $P -c user.name=a -c user.email=b commit --allow-empty --quiet --message=evil",
    "setsid sh -c 'echo evil > $P/evil.py'",
    f'{sys.executable} -c \'import os; os.truncate(os.environ["P"] + "/a.txt", 0)\'',
    f"env -i P=$P {sys.executable} {confine.__file__} '[[],[\"/\"]]' sh -c 'echo evil > $P/evil.py'",
)
NEIGHBOURS: Final = (
    "echo x > new && mkdir -p a/b && mv new a/b/ && ln a/b/new hard && rm -r a hard",
    "echo x > $TMPDIR/x && mv $TMPDIR/x here && mktemp",
    "cat $P/a.txt && echo x > /dev/null",
    "mkdir -p $HOME/.cache/tool $HOME/.local/share/tool $HOME/.config/tool && echo x >> $HOME/.rc",
    "echo x > $HOME/src/other/file",
    "echo x > .venv/installed && echo x > $P/node_modules/cache",
    "sh -c 'kill -s PIPE $$'; test $? -gt 128",
)
IN_A_WORKTREE: Final = (
    "echo x > b.txt && git add --all && git commit --quiet --message=b && git stash list && git gc --auto",
)


class Place:
    """A project below the home, in a git repository, and a copy of it in the temporary folder."""

    def __init__(self, folder: Path) -> None:
        home = folder / "home"
        self.project = repository(home / "src" / "project")
        for path in (folder / "tmp" / "copy", home / "src" / "other", self.project / "node_modules"):
            path.mkdir(parents=True)
        (home / ".rc").touch()
        self.copy = folder / "tmp" / "copy"
        (self.project / ".venv").mkdir()
        (self.copy / ".venv").symlink_to(self.project / ".venv")
        self.environment = os.environ | {
            "HOME": str(home),
            "TMPDIR": str(folder / "tmp"),
            "P": str(self.project),
        }

    def run(self, line: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a shell line that may not write in the project."""
        place = folder or self.copy
        shell, env = ("sh", "-c", line), self.environment
        with confined(shell, str(place), str(self.project), env) as command:
            return subprocess.run(
                command, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=60
            )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    if not can_close_folders():  # a kernel without it; tests/workers/test_agents.py shows what is done then
        pytest.skip("this system closes no folders")
    return Place(tmp_path)


def test_a_worker_cannot_change_its_project(place: Place) -> None:
    before = everything(place.project)
    succeeded = [line for line in HARM if place.run(line).returncode == 0]
    assert (succeeded, everything(place.project)) == ([], before)


def test_a_worker_writes_in_its_place_and_wherever_its_tools_do(place: Place) -> None:
    failed = {line: done.stderr for line in NEIGHBOURS if (done := place.run(line)).returncode}
    assert failed == {}


def test_a_daemon_that_a_worker_left_serves_nobody_else(place: Place) -> None:
    wire = place.copy / "wire"
    os.mkfifo(wire)
    reading = os.open(wire, os.O_RDONLY | os.O_NONBLOCK)
    place.run("setsid sh -c 'exec 3>wire; echo up >&3; exec sleep 600' > /dev/null 2>&1 & read _ < wire")
    assert select.select([reading], [], [], 60)[0]
    assert os.read(reading, 10) == b""  # nobody holds it open
    os.close(reading)


def test_an_agent_in_a_worktree_commits_and_changes_no_hook(place: Place) -> None:
    other = Path(place.environment["HOME"], ".cache", "worktree")
    git(place.project, "worktree", "add", "--quiet", "-b", "supervisor/1", str(other))
    for line in IN_A_WORKTREE:
        assert (place.run(line, other).stderr, git(other, "status", "--porcelain")) == ("", "")
    assert place.run(HARM[-5], other).returncode != 0
    assert git(place.project, "log", "--format=%s", "supervisor/1").startswith("b\n")


def test_a_project_that_cannot_be_closed_is_left_as_it_is(tmp_path: Path) -> None:
    """It holds the home, lies in the temporary folder, or is none."""
    project = str(tmp_path)
    given = {"HOME": "/", "TMPDIR": "/var/tmp"}  # noqa: S108 - it is not written
    for folder, environment in (
        (project, given | {"HOME": str(tmp_path / "home")}),
        (project, given | {"TMPDIR": str(tmp_path.parent)}),
        ("", given),
    ):
        with confined(("true",), "/", folder, environment) as command:
            assert command == ("true",)
