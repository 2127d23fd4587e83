"""Access control of MCP: tokens, the session that each one admits to, and the caller of a request.

The user's own token is random and stored in a file. A session's token, `svs.SESSION.SEAL`, names the session
and is signed with the user's token, which verifies it without a list. Deleting the file revokes all tokens.
A person's token, `svp.SESSION.SEAL` or `svp..SEAL`, admits to the same, and its client may be asked for a
person's answer; only a person is given one.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final

from sidecar.kernel.session import SessionKey
from sidecar.platform.files import (
    FileFault,
    UnusableFileError,
    ensure_folder,
    read_whole,
    set_aside,
    write_whole,
)
from sidecar.servers.tools.tool import Caller

MCP_PATH: Final = "/mcp"
SESSION_MARK: Final = "svs"
PERSON_MARK: Final = "svp"
TOKEN_LIMIT: Final = 4096
"""Maximum length in characters of a token that is checked."""


class McpTokens:
    """Creates and verifies tokens. `secret` returns the user's own token."""

    def __init__(self, secret: Callable[[], str]) -> None:
        self._secret = secret

    def of_user(self, *, person: bool = False) -> str:
        """Return the token that is valid for any session; each call must then name its session."""
        return self._sealed(PERSON_MARK, "") if person else self._secret()

    def of_session(self, key: SessionKey, worker: int = 0, *, person: bool = False) -> str:
        """Return the token of one session, and of the agent that is known as `worker`, 0 for any."""
        named = base64.urlsafe_b64encode(f"{key.host}/{key.id}".encode()).decode().rstrip("=")
        named += f"~{worker}" if worker else ""
        return self._sealed(PERSON_MARK if person else SESSION_MARK, named)

    def caller(self, token: str) -> Caller | None:
        """Return the caller that the token admits, None if it is invalid."""
        if not token or len(token) > TOKEN_LIMIT:
            return None
        if _equal_in_constant_time(token, self._secret()):
            return Caller()
        mark, _, rest = token.partition(".")
        named, person = rest.partition(".")[0], mark == PERSON_MARK
        ours = person or mark == SESSION_MARK
        if not ours or not _equal_in_constant_time(token, self._sealed(mark, named)):
            return None
        names, _, worker = named.partition("~")
        host, _, ident = base64.urlsafe_b64decode(f"{names}==").decode().partition("/")
        bound = SessionKey(host, ident) if named else None
        return Caller(bound=bound, worker=int(worker or 0), person=person)

    def _sealed(self, mark: str, named: str) -> str:
        text = f"{mark}.{named}"
        return f"{text}.{hmac.digest(self._secret().encode(), text.encode(), 'sha256').hex()}"


def _equal_in_constant_time(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


# --- the caller of a request, independent of the protocol; http.py and lines.py pass it to session.py -------


REQUEST_KEY: Final = "supervisor.visit"
"""Key of the `McpRequest` in the ASGI scope of an HTTP request."""
CALL_LIMIT: Final = 32
"""Maximum number of concurrent calls of one client; further calls are refused."""


class McpRequest:
    """One request: its caller, its client, and how many concurrent calls that client may have."""

    def __init__(self, caller: Caller, client: Hashable, limit: int = CALL_LIMIT) -> None:
        """`client` identifies one connection or one MCP session; all its requests pass the same value."""
        self.caller = caller
        self.client = client
        self.limit = limit
        self._work: asyncio.Task[Any] | None = None
        self._over = False

    @staticmethod
    def of(request: Any) -> McpRequest:  # noqa: ANN401 - what the package hands through: ours, or an HTTP request
        """Return the `McpRequest` that belongs to a request of the MCP package."""
        found: McpRequest = request if isinstance(request, McpRequest) else request.scope[REQUEST_KEY]
        return found

    def begin(self, work: asyncio.Task[Any]) -> None:
        """Set the task that works on the request; it is cancelled if the request has already ended."""
        self._work = work
        if self._over:
            work.cancel()

    def end(self) -> None:
        """End the request: nobody waits for the answer any more, so its task is cancelled."""
        self._over = True
        if self._work is not None:
            self._work.cancel()


# --- files of MCP over HTTP in the state folder: the user's token, and the port that was used last ----------
# An unusable file is set aside and created anew; addresses that were given out before are then invalid.


TOKEN_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{32,200}")
PORT_PATTERN: Final = re.compile(r"[1-9][0-9]{0,4}")
LIMIT: Final = 400
"""Bytes that are read of a file."""
USER_TOKEN_MARK: Final = "svu_"  # noqa: S105 - no token
"""The beginning of a token, by which masking knows one (data/secrets/ours.toml)."""
TOKEN_BYTES: Final = 32
"""Random bytes in a token."""
HIGHEST_PORT: Final = 65535


class McpFiles:
    """The files `mcp-token` and `mcp-port` of a state folder."""

    def __init__(self, state: Path) -> None:
        self._token, self._port = state / "mcp-token", state / "mcp-port"

    def token(self) -> str:
        """Return the user's token, which is created on first use. Raises OSError."""
        try:
            return self._read(self._token, TOKEN_PATTERN)
        except FileNotFoundError:
            ensure_folder(self._token.parent)
            import secrets  # noqa: PLC0415 - made once for all time

            token = f"{USER_TOKEN_MARK}{secrets.token_urlsafe(TOKEN_BYTES)}"
            write_whole(self._token, f"{token}\n".encode(), durable=True)
            return token

    def port(self) -> int:
        """Return the port used last, 0 if none. Never raises."""
        try:
            return min(int(self._read(self._port, PORT_PATTERN)), HIGHEST_PORT)
        except OSError:
            return 0

    def remember(self, port: int) -> None:
        """Store the port for the next start. Raises OSError."""
        ensure_folder(self._port.parent)
        write_whole(self._port, b"%d\n" % port)

    def _read(self, path: Path, form: re.Pattern[str]) -> str:
        """Read a file. Raises OSError; FileNotFoundError also if the content was unusable and set aside."""
        try:
            found = read_whole(path, LIMIT).decode("ascii", "replace").strip()
        except UnusableFileError as error:
            set_aside(path, FileFault.UNREADABLE, str(error))
            raise FileNotFoundError(str(path)) from error
        if not form.fullmatch(found):
            set_aside(path, FileFault.CORRUPT, "not what was written there")
            raise FileNotFoundError(str(path))
        return found


def parse_mcp_port(text: str, fallback: int) -> int:
    """Return the port that the environment sets, else `fallback`."""
    return int(text) if PORT_PATTERN.fullmatch(text) and int(text) <= HIGHEST_PORT else fallback
