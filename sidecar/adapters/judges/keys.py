"""The key of a model service: from the environment, a file of the user's, or the system's keyring.

The laws of this file:

- Only what the user's settings name is looked at. Another program's key is nobody's business here.
- The first place that is named and holds something counts; a place that is named and broken is told, for the
  next one would be a key that the user did not mean.
- A key file is its owner's alone, and lies outside the project.
- A key is never part of an error, a log or a repr.

What it does not know: who the key is for.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from typing import TYPE_CHECKING, Final

from sidecar.adapters import processes
from sidecar.adapters.judges.answer import NoVerdictError
from sidecar.adapters.judges.trusted import outside
from sidecar.adapters.processes import Ending

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.model.settings import Service

FILE_LIMIT: Final = 4096
"""Bytes of a key file that are read."""
KEYRING_S: Final = 20.0
"""Seconds that a keyring may take, its question for a password among them."""
KEYRING_USER: Final = "supervisor"
"""The user name under which the keyring holds the key."""
SESSION_VARIABLES: Final = ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
"""What a keyring needs of the session. Others could choose its code, and a project may set variables."""


class Key:
    """A secret that shows itself only when asked for by name."""

    def __init__(self, secret: str, place: str) -> None:
        """`place` says where it is from. Raises NoVerdictError where it can be no key, without quoting it."""
        if not secret.isascii() or not secret.isprintable() or " " in secret:
            raise NoVerdictError(f"the key in {place} is unusable: it holds blanks or unusual characters")
        self.secret = secret
        self.place = place

    def __repr__(self) -> str:
        return f"<the key in {self.place}>"


class Keys:
    """Finds the key of one service for one session."""

    def __init__(self, service: Service, session: Mapping[str, str], own: Mapping[str, str]) -> None:
        """`session`: the environment of the session, asked first; `own`: the sidecar's."""
        self._service = service
        self._session = session
        self._own = own

    def place(self) -> str:
        """Where the key is, in words, without a look into a keyring; "" where there is none.

        Raises NoVerdictError where a place is named and broken.
        """
        if key := self._quick():
            return key.place
        if not self._service.keyring:
            return ""
        if importlib.util.find_spec("keyring") is None:
            raise NoVerdictError(
                f"the key is in the keyring entry {self._service.keyring}, but keyring is not installed: "
                "pip install 'supervisor-sidecar[keyring]'"
            )
        return f"the keyring entry {self._service.keyring}"

    def absence(self) -> str:
        """Where a key was looked for in vain."""
        named = self._service.key_env
        return f"no key in {named}" if named else "no key is named in the settings"

    async def fetch(self) -> Key | None:
        """The key, None where there is none. Raises NoVerdictError as `place`, and for a locked keyring."""
        if key := self._quick():
            return key
        return await self._from_keyring() if self.place() else None

    def _quick(self) -> Key | None:
        name = self._service.key_env
        if name and (secret := (self._session.get(name) or self._own.get(name, "")).strip()):
            return Key(secret, name)
        return self._from_file(self._service.key_file) if self._service.key_file else None

    def _from_file(self, path: str) -> Key:
        if not outside(path, self._session):
            raise NoVerdictError(f"the key file {path} is no absolute path outside the project")
        try:
            content = _private(path)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise NoVerdictError(f"the key file {path} cannot be used: {why}") from None
        lines = content.decode("ascii", "replace").splitlines()
        if not lines or not lines[0].strip():
            raise NoVerdictError(f"the key file {path} holds no key in its first line")
        return Key(lines[0].strip(), path)

    async def _from_keyring(self) -> Key:
        """Ask the keyring in a process of its own: a locked one may wait for a password for ever."""
        named = self._service.keyring
        place = f"the keyring entry {named}"
        given = {name: self._session[name] for name in SESSION_VARIABLES if name in self._session}
        ended = await processes.run(
            (sys.executable, "-I", "-m", "keyring", "get", "--", named, KEYRING_USER),
            cwd="/",
            environment={**self._own, **given},
            seconds=KEYRING_S,
            separate=True,
        )
        if ended.ending is Ending.TIMED_OUT:
            raise NoVerdictError(f"{place} is locked: it gave nothing in {KEYRING_S:g} s")
        secret = ended.output.decode("utf-8", "replace").strip()
        if ended.exit_code or not secret:
            raise NoVerdictError(f"{place} gives nothing: keyring set {named} {KEYRING_USER}")
        return Key(secret, place)


def _private(path: str) -> bytes:
    """The beginning of a file that is ours alone. Raises OSError, ValueError."""
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
