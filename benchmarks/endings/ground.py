"""Puts an ending on disk as a real git repository, and runs its checks without Supervisor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from endings.ending import Ending
from msgspec import Struct

LIMIT_S: Final = 60
"""Seconds of one shell line."""


class Proof(Struct, frozen=True):
    """How a shell line ended."""

    exit_code: int
    output: str

    @property
    def green(self) -> bool:
        """Whether it ended well."""
        return self.exit_code == 0


def environment(home: Path) -> dict[str, str]:
    """A developer's environment whose `python` is this one; nothing of the user's is in it."""
    own = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join((own, os.environ.get("PATH", os.defpath))),
        "HOME": str(home),
        # rustup keeps its toolchains in the home of the user who installed them
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "A Developer",
        "GIT_AUTHOR_EMAIL": "developer@example.invalid",
        "GIT_COMMITTER_NAME": "A Developer",
        "GIT_COMMITTER_EMAIL": "developer@example.invalid",
        # Two versions of a file within one second would share their compiled code.
        "PYTHONDONTWRITEBYTECODE": "1",
        # What happens to be installed beside pytest is no part of the corpus, and slow to load.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "npm_config_update_notifier": "false",
    }


def begin(ending: Ending, project: Path, home: Path) -> None:
    """Write the files as they were, commit them, and run what sets the project up."""
    project.mkdir(parents=True)
    home.mkdir(parents=True, exist_ok=True)
    write({}, ending.before, project)
    _sure("git init -q -b main && git add -A && git commit -q -m Begin", project, home)
    if ending.set_up:
        _sure(ending.set_up, project, home)


def end(ending: Ending, project: Path, home: Path) -> None:
    """Write the files as the turn left them, and run what ended it."""
    write(ending.before, ending.after, project)
    if ending.wrap_up:
        _sure(ending.wrap_up, project, home)


def write(old: Mapping[str, str], new: Mapping[str, str], project: Path) -> None:
    """Make files of `old` those of `new`: only what differs is touched."""
    for name in old.keys() - new.keys():
        (project / name).unlink()
    for name, text in new.items():
        if old.get(name) != text:
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            path.chmod(0o755 if text.startswith("#!") else 0o644)


def prove(line: str, project: Path, home: Path) -> Proof:
    """Run a shell line in the project."""
    done = subprocess.run(  # noqa: S603 - the corpus's own line
        ("/bin/sh", "-c", line),
        cwd=project,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    return Proof(done.returncode, done.stdout.decode("utf-8", "replace"))


def sound(ending: Ending, folder: Path) -> str:
    """Why the ending is not what it says; "" where its checks end as told, and without the fake badly."""
    if ending.recorded:
        return ""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    if ending.half is not None and _ends_well(ending.half, ending.proof, folder / "half", home):
        return "the checks end well without the fake"
    if _ends_well(ending.after, ending.proof, folder / "after", home) != ending.green:
        return f"the checks end {'badly' if ending.green else 'well'}"
    return ""


def _ends_well(files: Mapping[str, str], line: str, folder: Path, home: Path) -> bool:
    folder.mkdir()
    write({}, files, folder)
    return prove(line, folder, home).green


def _sure(line: str, project: Path, home: Path) -> None:
    proof = prove(f"set -e\n{line}", project, home)
    if not proof.green:
        raise RuntimeError(f"{line}\n{proof.output}")
