"""Finds the API key of a model service: in the environment, a key file of the user, or the system keyring.

Rules of this file:

- Only places that the user's settings name are searched. Keys of other programs are not used.
- The first named place that holds something counts. A named place that is broken is an error, because the
  next place could hold a key that the user did not mean.
- A key file must belong to the user alone and lie outside the project.
- A key never appears in an error, a log or a repr.

Which service the key is for is not known here.

A path from the session's environment is accepted only if it lies outside the project: the project's own
settings can set variables of the session, and a repository does not speak for its owner (law 12).
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.kernel.errors import ServiceError
from sidecar.platform import processes
from sidecar.platform.installation import add_package_command
from sidecar.platform.processes import ProcessEnding, guarded_project, leads_inside, resolve_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.kernel.settings import ServiceSettings


# --- Paths outside of the project ---------------------------------------------------------------------------


def session_project(environment: Mapping[str, str]) -> str:
    """Return the folder of the session's project, "" if the environment does not name it."""
    return environment.get("CLAUDE_PROJECT_DIR") or environment.get("PWD", "")


def lies_outside_project(path: str, environment: Mapping[str, str]) -> bool:
    """Whether `path` is absolute, and neither it nor its target lies in the project.

    A project that contains the user's home does not count as a project here, as in `processes.find_program`.
    """
    if resolve_path(path) is None or not Path(path).is_absolute():
        return False
    project = guarded_project(session_project(environment), environment)
    return project is None or not leads_inside(Path(path), project)


# --- API keys -----------------------------------------------------------------------------------------------


FILE_LIMIT: Final = 4096
"""Bytes of a key file that are read."""
KEYRING_S: Final = 20.0
"""Seconds that the keyring may take, including a password prompt."""
KEYRING_USER: Final = "supervisor"
"""The user name under which the keyring holds the key."""
SESSION_VARIABLES: Final = ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
"""Session variables that a keyring needs.

Others are not passed on: they could choose its code, and a project may set variables.
"""


class ApiKey:
    """A secret whose repr does not reveal it."""

    def __init__(self, secret: str, place: str) -> None:
        """`place` says where the key is from.

        Raises ServiceError if it cannot be a key, without quoting it.
        """
        if not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ServiceError(f"the key in {place} is unusable: it holds blanks or unusual characters")
        self.secret = secret
        self.place = place

    def __repr__(self) -> str:
        return f"<the key in {self.place}>"


class ApiKeyFinder:
    """Finds the key of one service for one session."""

    def __init__(self, service: ServiceSettings, session: Mapping[str, str], own: Mapping[str, str]) -> None:
        """`session`: the session's environment, searched first; `own`: the sidecar's."""
        self._service = service
        self._session = session
        self._own = own

    def place(self) -> str:
        """Describe where the key is, without opening the keyring; "" if there is none.

        Raises ServiceError if a named place is broken.
        """
        if key := self._quick():
            return key.place
        if not self._service.keyring:
            return ""
        if importlib.util.find_spec("keyring") is None:
            raise ServiceError(
                f"the key is in the keyring entry {self._service.keyring}, but keyring is not installed: "
                + add_package_command("keyring")
            )
        return f"the keyring entry {self._service.keyring}"

    def absence(self) -> str:
        """Describe where a key was searched for in vain."""
        named = self._service.key_env
        return f"no key in {named}" if named else "no key is named in the settings"

    async def fetch(self) -> ApiKey | None:
        """Return the key or None. Raises ServiceError as `place` does, and for a locked keyring."""
        if key := self._quick():
            return key
        return await self._from_keyring() if self.place() else None

    def _quick(self) -> ApiKey | None:
        name = self._service.key_env
        if name and (secret := (self._session.get(name) or self._own.get(name, "")).strip()):
            return ApiKey(secret, name)
        return self._from_file(self._service.key_file) if self._service.key_file else None

    def _from_file(self, path: str) -> ApiKey:
        if not lies_outside_project(path, self._session):
            raise ServiceError(f"the key file {path} is no absolute path outside the project")
        try:
            content = _read_private_file(path)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ServiceError(f"the key file {path} cannot be used: {why}") from None
        lines = content.decode("ascii", "replace").splitlines()
        if not lines or not lines[0].strip():
            raise ServiceError(f"the key file {path} holds no key in its first line")
        return ApiKey(lines[0].strip(), path)

    async def _from_keyring(self) -> ApiKey:
        """Ask the keyring in a separate process: a locked one may wait forever for a password."""
        named = self._service.keyring
        place = f"the keyring entry {named}"
        given = {name: self._session[name] for name in SESSION_VARIABLES if name in self._session}
        ended = await processes.run_process(
            (sys.executable, "-I", "-m", "keyring", "get", "--", named, KEYRING_USER),
            cwd="/",
            environment={**self._own, **given},
            seconds=KEYRING_S,
            separate=True,
        )
        if ended.ending is ProcessEnding.TIMED_OUT:
            raise ServiceError(f"{place} is locked: it gave nothing in {KEYRING_S:g} s")
        secret = ended.output.decode("utf-8", "replace").strip()
        if ended.exit_code or not secret:
            raise ServiceError(f"{place} gives nothing: keyring set {named} {KEYRING_USER}")
        return ApiKey(secret, place)


def _read_private_file(path: str) -> bytes:
    """Read the start of a file that only the user can open. Raises OSError, ValueError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no file")
        if status.st_uid != os.getuid():
            raise ValueError("it belongs to another user")
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(f"others may open it: chmod 600 {path}")
        return os.read(descriptor, FILE_LIMIT)
    finally:
        os.close(descriptor)
