"""Who may come in over HTTP, and whose session that is: tokens, without a list of them.

The user's own token is random and kept in a file. That of a session names the session and is sealed with the
user's, so whoever holds the file can check it: `svs.SESSION.SEAL`. Taking the file away takes all back.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable
from typing import Final, Protocol

from sidecar.model.session import SessionKey
from sidecar.servers.tools.tool import Caller

PATH: Final = "/mcp"
MARK: Final = "svs"
TOKEN_LIMIT: Final = 4096
"""Characters of a token that is looked at."""


class Kept(Protocol):
    """What outlives a sidecar: the user's token, and the port that was used last."""

    def token(self) -> str:
        """The user's token, made when it is first asked for. Raises OSError."""

    def port(self) -> int:
        """The port used last, 0 for none. Never raises."""

    def remember(self, port: int) -> None:
        """Use this one again next time. Raises OSError."""


class Tokens:
    """Makes tokens and knows them again. `secret` gives the user's own."""

    def __init__(self, secret: Callable[[], str]) -> None:
        self._secret = secret

    def of_user(self) -> str:
        """The token of whoever calls for any session, which each call then has to name."""
        return self._secret()

    def of_session(self, key: SessionKey) -> str:
        """The token of one session."""
        named = base64.urlsafe_b64encode(f"{key.host}/{key.id}".encode()).decode().rstrip("=")
        return f"{MARK}.{named}.{self._seal(named)}"

    def caller(self, token: str) -> Caller | None:
        """Whom this token lets in, None for nobody."""
        if not token or len(token) > TOKEN_LIMIT:
            return None
        if _same(token, self._secret()):
            return Caller()
        mark, _, rest = token.partition(".")
        named, _, seal = rest.partition(".")
        if mark != MARK or not _same(seal, self._seal(named)):
            return None
        host, _, ident = base64.urlsafe_b64decode(f"{named}==").decode().partition("/")
        return Caller(bound=SessionKey(host, ident))

    def _seal(self, named: str) -> str:
        return hmac.digest(self._secret().encode(), f"{MARK}.{named}".encode(), "sha256").hex()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
