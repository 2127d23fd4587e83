"""What MCP over HTTP keeps in the state folder: the user's token, and the port that was used last.

A file that cannot be used is set aside and made anew: then addresses that were given out before are void.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Final

from sidecar.adapters.files import Fault, UnfitError, ensure_folder, read_whole, set_aside, write_whole

TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{32,200}")
PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
LIMIT: Final = 400
"""Bytes of a file that is read."""
STRENGTH: Final = 32
"""Random bytes of a token."""
HIGHEST: Final = 65535


class McpFiles:
    """The files `mcp-token` and `mcp-port` of a state folder."""

    def __init__(self, state: Path) -> None:
        self._token, self._port = state / "mcp-token", state / "mcp-port"

    def token(self) -> str:
        """Give the user's token, made when it is first asked for. Raises OSError."""
        try:
            return self._read(self._token, TOKEN)
        except FileNotFoundError:
            ensure_folder(self._token.parent)
            token = secrets.token_urlsafe(STRENGTH)
            write_whole(self._token, f"{token}\n".encode(), durable=True)
            return token

    def port(self) -> int:
        """Give the port used last, 0 for none. Never raises."""
        try:
            return min(int(self._read(self._port, PORT)), HIGHEST)
        except OSError:
            return 0

    def remember(self, port: int) -> None:
        """Use this one again next time. Raises OSError."""
        ensure_folder(self._port.parent)
        write_whole(self._port, b"%d\n" % port)

    def _read(self, path: Path, form: re.Pattern[str]) -> str:
        """Raises OSError, FileNotFoundError where what lies there is no use and was set aside."""
        try:
            found = read_whole(path, LIMIT).decode("ascii", "replace").strip()
        except UnfitError as error:
            set_aside(path, Fault.UNREADABLE, str(error))
            raise FileNotFoundError(str(path)) from error
        if not form.fullmatch(found):
            set_aside(path, Fault.CORRUPT, "not what was written there")
            raise FileNotFoundError(str(path))
        return found


def port_of(text: str, fallback: int) -> int:
    """The port that the environment names, else `fallback`."""
    return int(text) if PORT.fullmatch(text) and int(text) <= HIGHEST else fallback
