"""The address of the page, and who may see it: a one-time token is exchanged for a cookie.

- A port is opened when a person asks for the page, and closed when the sidecar ends. Until then nothing is
  imported.
- Only the newest token is valid, once, and for `TOKEN_S`.
- Whoever enters gets a path of random letters, and a cookie for this path alone. Browsers send the cookies of
  an address to all of its ports, so without that path another user's server on this machine could get one.
- Names of this machine alone are served, and no page of another origin is answered.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.ports import Clock, remember_newest
from sidecar.servers.control import Peer
from sidecar.servers.loopback import LOOPBACK, LoopbackPort, bind_port, serve_until_cancelled

# --- access -------------------------------------------------------------------------------------------------


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
        remember_newest(self._visits, visit.room, _digest(visit.cookie), MOST_VISITS)
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


# --- the address --------------------------------------------------------------------------------------------


ServePage = Callable[[PageAccess, socket.socket], Coroutine[Any, Any, None]]
"""Serves the page at a socket until the sidecar ends."""


class PageRequest(Struct, frozen=True):
    """Asks for the page's address. `port`: 0 for any, or for the one where it is open."""

    port: Annotated[int, Meta(ge=0, le=65535)] = 0


class PageAddress(Struct, frozen=True):
    """An address that can be opened once."""

    url: str


class PageEndpoint:
    """The port of the page."""

    def __init__(self, access: PageAccess, serve: ServePage, check: Callable[[int], None]) -> None:
        """`serve` imports what it needs when it is called. `check` raises BadInputError for an agent."""
        self._access, self._check = access, check
        self._port = LoopbackPort("the page", lambda door: serve_until_cancelled(serve(access, door)))
        self.run = self._port.run

    async def address(self, asked: PageRequest, peer: Peer) -> PageAddress:
        """Return an address with a token; opens the port if it is closed. Raises BadInputError."""
        self._check(peer.pid)
        wanted = asked.port
        try:
            port = self._port.open(lambda: bind_port(wanted))
        except OSError as error:
            raise BadInputError(
                f"port {wanted} of {LOOPBACK} cannot be used ({error.strerror}). "
                "Name another one, or none for any that is free"
            ) from error
        if wanted not in (0, port):
            raise BadInputError(
                f"the page is open at port {port} already. To move it: supervisor stop, then the same again"
            )
        return PageAddress(f"http://{LOOPBACK}:{port}/?token={self._access.new_token()}")
