"""Who may see the page: a one-time token in its address is exchanged for a cookie.

Rules of this module:

- Only the newest token is valid, once, and for `TOKEN_S`.
- Whoever enters gets a path of random letters, and a cookie for this path alone. Browsers send the cookies of
  an address to all of its ports, so without that path another user's server on this machine could get one.
- Names of this machine alone are served, and no page of another origin is answered.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from sidecar.platform.ports import Clock

TOKEN_S: Final = 600.0
"""Seconds for which a token is valid."""
MOST_VISITS: Final = 16
"""Browsers that may be let in at once; the newest takes the place of the oldest."""
LOCAL_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
OWN_FETCHES: Final = frozenset({"", "none", "same-origin"})
"""Values of Sec-Fetch-Site with which a browser asks for the page itself, or types its address."""


class Visit(Struct, frozen=True):
    """What a browser gets in exchange for a token: its path, and the value of the cookie for it."""

    room: str
    cookie: str


class PageAccess:
    """Tokens and visits. Nothing of them is stored."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._token = ""
        self._until = 0.0
        self._visits: OrderedDict[str, bytes] = OrderedDict()

    def new_token(self) -> str:
        """Return a token; one that was made before is not valid any more."""
        self._token, self._until = _new_secret(32), self._clock.now() + TOKEN_S
        return self._token

    def enter(self, token: str) -> Visit | None:
        """Use a token; None where it is wrong, used or too old."""
        valid = self._token and self._clock.now() < self._until
        if not valid or not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        self._token = ""
        visit = Visit(_new_secret(12), _new_secret(32))
        self._visits[visit.room] = _digest(visit.cookie)
        while len(self._visits) > MOST_VISITS:
            self._visits.popitem(last=False)
        return visit

    def admits(self, room: str, cookie: str) -> bool:
        """Whether this cookie opens this path."""
        return hmac.compare_digest(self._visits.get(room, b""), _digest(cookie))


def is_own_request(host: str, origin: str, site: str) -> bool:
    """Whether a request is for this machine, and not from another origin's page.

    The arguments are the headers Host, Origin and Sec-Fetch-Site. The port may be any, for forwarded ones.
    """
    name, _, port = host.rpartition(":")
    named = host in LOCAL_NAMES or (name in LOCAL_NAMES and port.isdigit())
    return named and origin in ("", f"http://{host}") and site in OWN_FETCHES


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()


def _new_secret(length: int) -> str:
    """Return a text for URLs that nobody can guess, of so many random bytes."""
    import secrets  # noqa: PLC0415 - not at start

    return secrets.token_urlsafe(length)
