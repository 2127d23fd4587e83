"""Where Supervisor keeps its things, as the XDG base directories say on every POSIX system.

hooks/claude_code.py and hooks/bootstrap.py repeat the rule for the state folder without a library, and a test
compares.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from msgspec import Struct
from platformdirs.unix import Unix

from sidecar.adapters import files

NAME: Final = "supervisor"
README: Final = """\
This folder belongs to Supervisor, which stands beside a coding agent. No project needs it. It may be removed
while no sidecar runs (`supervisor stop`); goals of open sessions are lost then.

  run/           the socket and the lock of the sidecar, the background process
  log/           what the sidecar did; no prompts and no transcripts
  sessions/      one state, one journal and one record per session of a host
  trees/         how projects looked when work in them began; renewed when needed, so it may go at any time
  inbox/         stops that agents without hooks put there as files, and what was decided (docs/markers.md)
  rubrics/       which rubric of which project is in force, and what an agent made of it meanwhile
  stops/         the last judged stops of each project, to try rubrics on
  trust.json     which commands of which project the user approved
  measured.json  how often criteria were right when `supervisor eval` measured them last
  mcp-token      the secret that lets clients in over HTTP; remove it to take back every token
  mcp-port       where MCP was served over HTTP last
  runtime        the `supervisor` command that hosts start, as an install recorded it
"""
PATH_LIMIT: Final = 4096
"""Bytes of the file that names the runtime."""


class Paths(Struct, frozen=True):
    """Supervisor's folders of one user. Nothing is there until `prepare`."""

    state: Path
    config: Path

    @property
    def run(self) -> Path:
        """The folder of the socket and the lock. Go there to use them: a socket's path may have 108 bytes."""
        return self.state / "run"

    @property
    def log(self) -> Path:
        """The sidecar's log; errors of the command line are in `error.log` beside it."""
        return self.state / "log" / "sidecar.log"

    @property
    def inbox(self) -> Path:
        """The folder of markers; `supervisor inbox` makes it."""
        return self.state / "inbox"

    @property
    def runtime(self) -> Path:
        """The file whose one line is the absolute path of the `supervisor` command."""
        return self.state / "runtime"

    def prepare(self) -> None:
        """Make the state folders, for their owner alone; raises OSError."""
        for folder in (self.state, self.run, self.log.parent):
            files.ensure_folder(folder)
        files.explain(self.state, README)

    def record_runtime(self, command: Path) -> None:
        """Let hosts start this command; raises OSError."""
        self.prepare()
        files.write_whole(self.runtime, os.fsencode(command) + b"\n")

    def recorded_runtime(self) -> Path | None:
        """The command that hosts start, None where none was recorded; raises OSError."""
        try:
            line = files.read_whole(self.runtime, PATH_LIMIT)
        except (FileNotFoundError, files.UnfitError):
            return None
        path = Path(os.fsdecode(line).strip())
        return path if path.is_absolute() else None

    def forget_runtime(self) -> None:
        """Let hosts find no recorded command; raises OSError."""
        self.runtime.unlink(missing_ok=True)


def mark_of(project: str) -> str:
    """What files about a project are called: the same for whatever path leads to it. 32 hexadecimal digits.

    "" for what is no absolute path, or has no name in UTF-8.
    """
    try:
        real = os.path.realpath(project).encode()
    except (ValueError, OSError):
        return ""
    return hashlib.sha256(real).hexdigest()[:32] if Path(project).is_absolute() else ""


def of_user() -> Paths:
    """The folders of the user who runs this process."""
    dirs = Unix(NAME, ensure_exists=False)
    return Paths(
        state=_absolute(dirs.user_state_dir, ".local/state"),
        config=_absolute(dirs.user_config_dir, ".config"),
    )


def _absolute(found: str, fallback: str) -> Path:
    """XDG says that a relative path is to be ignored; old versions of platformdirs do not."""
    path = Path(found)
    return path if path.is_absolute() else Path.home() / fallback / NAME
