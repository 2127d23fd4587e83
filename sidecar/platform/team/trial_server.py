"""A PostgreSQL for trying a team on one machine: the system's own programs, in a folder of this user.

It listens on a socket in that folder alone, and every login needs its password. PostgreSQL refuses to run as
root: root's runs as the system's user `postgres`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import shutil
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sidecar.kernel.errors import BadInputError
from sidecar.platform.files import ensure_folder, write_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.processes import find_program, run_process

ROOT_FOLDER: Final = Path("/var/lib/supervisor-team")
"""Where root's is: the state folder of root is closed to `postgres`."""
DEBIAN_PROGRAMS: Final = Path("/usr/lib/postgresql")
SYSTEM_USER: Final = "postgres"
AS_SYSTEM_USER: Final = (f"--reuid={SYSTEM_USER}", f"--regid={SYSTEM_USER}", "--init-groups")
ADMINISTRATOR: Final = "supervisor"
START_S: Final = 60.0
"""Seconds within which a program of PostgreSQL must end, which starting and stopping the server is."""


class TrialServer:
    """The server of a folder. Every method but `exists` raises BadInputError and OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._data = folder, folder / "data"

    def exists(self) -> bool:
        return self._data.exists()

    def make(self) -> str:
        """Make it; return the password of its administrator, which is kept nowhere."""
        ensure_folder(self._folder)
        given, password = self._folder / "password", secrets.token_urlsafe(24)
        try:
            write_whole(given, password.encode())
            for path in (self._folder, given) if os.geteuid() == 0 else ():
                shutil.chown(path, SYSTEM_USER, SYSTEM_USER)
            how = ("-A", "scram-sha-256", "-U", ADMINISTRATOR, "--pwfile", str(given))
            self._run("initdb", *how, "-E", "UTF8", "--locale=C")
        except LookupError:
            raise BadInputError(f"PostgreSQL refuses root, and here is no user {SYSTEM_USER}") from None
        finally:
            given.unlink(missing_ok=True)
        return password

    def start(self) -> str:
        """Start it, again if it runs; return its URL without the password."""
        options = f"-c listen_addresses= -c unix_socket_directories={shlex.quote(str(self._folder))}"
        self._run("pg_ctl", "-l", f"{self._folder}/log", "-o", options, "-w", "restart")
        return f"postgresql://{ADMINISTRATOR}@/postgres?host={quote(str(self._folder))}"

    def stop(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "-m", "fast", "-w", "stop")

    def remove(self) -> None:
        """End it, and remove its data, if it is there."""
        self.stop()
        if self.exists():
            shutil.rmtree(self._data)

    def _run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL on the data, as whom it may be run."""
        command = (str(_find_programs() / program), "-D", str(self._data), *arguments)
        if os.geteuid() == 0:
            command = ("setpriv", *AS_SYSTEM_USER, *command)
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        ended = asyncio.run(run_process(command, cwd=str(self._folder), environment=path, seconds=START_S))
        if ended.exit_code != 0:
            said = ended.reason or ended.output.decode(errors="replace").strip()
            log = self._folder / "log"
            raise BadInputError(f"{program} failed: {said}\n  - look into {log}, or try --folder DIR")


def default_folder() -> Path:
    """Return where this user's is made."""
    return ROOT_FOLDER if os.geteuid() == 0 else user_paths().state / "team-server"


def _find_programs() -> Path:
    """Return the folder of the newest PostgreSQL's programs."""
    newest = max(DEBIAN_PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]), default=None)
    found = newest or find_program("initdb", os.environ, os.getcwd())  # noqa: PTH109 - as text
    if not found:
        raise BadInputError("there is no PostgreSQL (15 or newer)\n  - in Debian: apt-get install postgresql")
    return Path(found).resolve().parent
