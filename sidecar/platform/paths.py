"""Where Supervisor stores its files, following the XDG base directories on every POSIX system.

hooks/relay.py and hooks/bootstrap.py repeat the rule for the state folder without a library; a test
compares them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform import files

APPLICATION_NAME: Final = "supervisor"
UNFINISHED_FOLDER: Final = "applying"
"""Folder in the state folder with a note of each change that is being applied (apply.py)."""
TEAM_FILE: Final = "team.json"
TEAM_PASSWORD_FILE: Final = "team-password"  # noqa: S105 - a file's name
SECRET_FILES: Final = ("mcp-token", TEAM_PASSWORD_FILE)
"""In the state folder: what an agent's tools may not even read."""
TEAM_FOLDER: Final = "team"
"""In the state folder: the organisation's files, and what the team is still to forget."""
ORGANISATION_FILES: Final = ("rubric.md", "config.toml", "trust.json")
"""What of the organisation is in force on each machine of a team, in TEAM_FOLDER."""
LOCKS_FILE: Final = "governance/locks/held.json"
"""Where the context locks are, in the state folder; there is no file while none is held."""
REFUSED_PATH_LENGTH: Final = 40
"""Characters of a refused path that the error message repeats."""
SHARE_FILE: Final = "team-share.json"
"""What is reserved for this machine of its team's limits, in the state folder; see platform/team/money.py."""
README: Final = """\
This folder belongs to Supervisor, which stands beside a coding agent. No project needs it. It may be removed
while no sidecar runs (`supervisor stop`); goals of open sessions are lost then.

  run/           the socket and the lock of the sidecar, the background process; the queue of checks
  log/           what the sidecar did; no prompts and no transcripts
  events.sqlite3 what was decided and done, and the last judged stops of each project; `supervisor events`
                 shows it, `supervisor forget` removes of it
  sessions/      one state and one journal per session of a host
  plans/         each plan of `supervisor loop PLAN.md` as it is in force
  trees/         how projects looked when work in them began; renewed when needed, so it may go at any time
  governance/    who holds a context lock, changes that wait, and the last entry of the audit (events.sqlite3)
  inbox/         stops that agents without hooks put there as files, and what was decided (docs/markers.md)
  held-edits.json  which text of each file that steers is in force, and where an edit of it waits
  in-force/      copies of these texts where an edit waits
  trust.json     which commands of which project the user approved
  measured.json  what `supervisor eval` counted the last times
  mcp-token      the secret that lets clients in over HTTP; remove it to take back every token
  mcp-port       where MCP was served over HTTP last
  bootstrap.lock held while /supervisor:install makes a runtime
  team.json      which team this machine joined; team-password beside it. `supervisor team leave` removes both
  team/          the organisation's rubric, settings and approvals, as the team's database has them
  team-share.json  what is reserved for this machine of its team's limits
  team-server/   the PostgreSQL that `supervisor team up` made for trying
  runtime        the `supervisor` command that hosts start, as an install recorded it
"""
FULL_DISK: Final = (errno.ENOSPC, errno.EDQUOT)
PATH_LIMIT: Final = 4096
"""Maximum size in bytes of the file that names the runtime."""


class Paths(Struct, frozen=True):
    """Supervisor's folders for one user. They do not exist until `prepare` is called."""

    state: Path
    config: Path

    @property
    def run(self) -> Path:
        """The folder of the socket and the lock.

        Change into it to use the socket: a socket's path may have at most 108 bytes.
        """
        return self.state / "run"

    @property
    def log(self) -> Path:
        """The sidecar's log. The command line logs its errors to `error.log` next to it."""
        return self.state / "log" / "sidecar.log"

    @property
    def inbox(self) -> Path:
        """The folder of marker files; `supervisor inbox` creates it."""
        return self.state / "inbox"

    @property
    def runtime(self) -> Path:
        """The file whose one line is the absolute path of the `supervisor` command."""
        return self.state / "runtime"

    def prepare(self) -> None:
        """Create the state folders, accessible only to their owner. Raises OSError."""
        for folder in (self.state, self.run, self.log.parent):
            files.ensure_folder(folder)
        files.write_readme(self.state, README)

    def record_runtime(self, command: Path) -> None:
        """Record the command that hosts start. Raises OSError."""
        self.prepare()
        files.write_whole(self.runtime, os.fsencode(command) + b"\n")

    def recorded_runtime(self) -> Path | None:
        """The recorded command that hosts start, or None. Raises OSError."""
        try:
            line = files.read_whole(self.runtime, PATH_LIMIT)
        except (FileNotFoundError, files.UnusableFileError):
            return None
        path = Path(os.fsdecode(line).strip())
        return path if path.is_absolute() else None

    def forget_runtime(self) -> None:
        """Remove the recorded command. Raises OSError."""
        self.runtime.unlink(missing_ok=True)


def unblocking_command(place: Path, error: OSError) -> str:
    """What to type where a folder of ours cannot be made or written to."""
    there = next(one for one in (place, *place.parents) if os.path.lexists(one))
    name = shlex.quote(str(there))
    if error.errno in FULL_DISK:
        return f"df -h {name} (make room on this disk)"
    if not there.is_dir():
        return f"mv {name} {shlex.quote(f'{there}.aside')}"
    if there.stat().st_uid == os.getuid() and not os.statvfs(there).f_flag & os.ST_RDONLY:
        return f"chmod u+rwx {name}"
    return 'export XDG_STATE_HOME="$(mktemp -d)" (or a folder that lasts), then start the host in that shell'


def project_digest(project: str) -> str:
    """The name for files about a project: 32 hexadecimal digits, equal for all paths that lead to it.

    "" if the path is not absolute or cannot be encoded in UTF-8.
    """
    try:
        return hashlib.sha256(real_project_path(project).encode()).hexdigest()[:32]
    except BadInputError:
        return ""


def user_paths() -> Paths:
    """The folders of the user who runs this process."""
    state = _xdg_folder("XDG_STATE_HOME", ".local/state")
    return Paths(state=state, config=_xdg_folder("XDG_CONFIG_HOME", ".config"))


def organisation_file(name: str) -> Path:
    """Return where a file of the organisation is kept: its text in force, also while the team is away."""
    return user_paths().state / TEAM_FOLDER / name


def cache_folder() -> Path:
    """Our folder for what may go at any time. Hosts let their agents work there, unlike in `Paths`."""
    return _xdg_folder("XDG_CACHE_HOME", ".cache")


def _xdg_folder(variable: str, default: str) -> Path:
    """Return our folder in the one that the variable names. XDG requires relative paths to be ignored."""
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / default) / APPLICATION_NAME


def real_project_path(project: str) -> str:
    """Return the one path of a project, links resolved. Raises BadInputError for what is no absolute path."""
    try:
        real = os.path.realpath(project)
        real.encode()
    except (ValueError, OSError) as error:
        raise BadInputError(f"{project[:REFUSED_PATH_LENGTH]!r} is no path of a project: {error}") from error
    if not Path(project).is_absolute():
        raise BadInputError(f"{project[:REFUSED_PATH_LENGTH]!r} is no absolute path of a project")
    return real


def link_leads_out(path: str, target: str) -> bool:
    """Whether a link at a path within a folder leads out of the folder."""
    place = os.path.normpath(Path(path).parent / target)
    return f"{place}/".startswith(("/", "../"))


def lies_inside(path: Path, *folders: Path) -> bool:
    """Whether a path leads into one of these folders, links resolved; what is no path does not."""
    try:
        real = path.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, RuntimeError, ValueError):
        return False
