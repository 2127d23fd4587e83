"""Access control of MCP: tokens, the session that each one admits to, and the caller of a request.

The user's own token is random and stored in a file. A session's token, `svs.SESSION.SEAL`, names the session
and is signed with the user's token, which verifies it without a list. Deleting the file revokes all tokens.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol

from sidecar.kernel.session import SessionKey
from sidecar.servers.tools.tool import Caller

MCP_PATH: Final = "/mcp"
SESSION_MARK: Final = "svs"
TOKEN_LIMIT: Final = 4096
"""Maximum length in characters of a token that is checked."""


class McpAccessStore(Protocol):
    """Stores what outlives a sidecar: the user's token, and the port that was used last."""

    def token(self) -> str:
        """Return the user's token, which is created on first use. Raises OSError."""

    def port(self) -> int:
        """Return the port used last, 0 if none. Never raises."""

    def remember(self, port: int) -> None:
        """Store the port for the next start. Raises OSError."""


class McpTokens:
    """Creates and verifies tokens. `secret` returns the user's own token."""

    def __init__(self, secret: Callable[[], str]) -> None:
        self._secret = secret

    def of_user(self) -> str:
        """Return the token that is valid for any session; each call must then name its session."""
        return self._secret()

    def of_session(self, key: SessionKey, worker: int = 0) -> str:
        """Return the token of one session, and of the agent that is known as `worker`, 0 for any."""
        named = base64.urlsafe_b64encode(f"{key.host}/{key.id}".encode()).decode().rstrip("=")
        named += f"~{worker}" if worker else ""
        return f"{SESSION_MARK}.{named}.{self._seal(named)}"

    def caller(self, token: str) -> Caller | None:
        """Return the caller that the token admits, None if it is invalid."""
        if not token or len(token) > TOKEN_LIMIT:
            return None
        if _equal_in_constant_time(token, self._secret()):
            return Caller()
        mark, _, rest = token.partition(".")
        named, _, seal = rest.partition(".")
        if mark != SESSION_MARK or not _equal_in_constant_time(seal, self._seal(named)):
            return None
        names, _, worker = named.partition("~")
        host, _, ident = base64.urlsafe_b64decode(f"{names}==").decode().partition("/")
        return Caller(bound=SessionKey(host, ident), worker=int(worker or 0))

    def _seal(self, named: str) -> str:
        return hmac.digest(self._secret().encode(), f"{SESSION_MARK}.{named}".encode(), "sha256").hex()


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
