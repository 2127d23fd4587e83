"""The only door to HTTP: one client for one judgement, every request bounded, one policy of trying again.

The laws of this file:

- Nothing is followed: a redirect is a fault, for it could take the key elsewhere.
- An answer is read as a stream and bounded; one in an encoding that was not asked for is not unpacked.
- A fault that may pass is met by trying again, `TRIES` requests at most and never beyond the deadline; what
  the service asks to wait is waited, or it is given up at once.
- A proxy and certificates come from the session's environment. A proxy is used for https alone, which it
  cannot read; certificates that lie in the project count for nothing. Nothing else is read from there.
- What a service said is quoted masked and cut. The key is in no error.

What it does not know: what is asked and answered.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from sidecar.adapters.judges import faults
from sidecar.adapters.judges.answer import NoVerdictError, line
from sidecar.adapters.judges.faults import FaultError
from sidecar.adapters.judges.trusted import outside

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

    import httpx2

    from sidecar.adapters.judges.answer import Hearing
    from sidecar.ports import Mask

CONNECT_S: Final = 10.0
"""Seconds that a connection may take, TLS included; what comes after is bounded by the deadline alone."""
RESPONSE_LIMIT: Final = 1 << 20
"""Bytes of an answer."""
TRIES: Final = 3
"""Requests for one answer."""
WAIT_S: Final = 0.5
"""Seconds before the second try where the service names none, doubled before the third, plus chance."""
LONGEST_WAIT_S: Final = 8.0
HEADERS: Final = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": "supervisor",
}


class Address(Struct, frozen=True):
    """Where a service is: its base URL, parsed."""

    url: str
    scheme: str
    host: str
    port: int | None

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine."""
        from ipaddress import ip_address  # noqa: PLC0415 - not at start

        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def authority(self) -> str:
        """Host and port, for a person."""
        return self.host if self.port is None else f"{self.host}:{self.port}"


def address(url: str) -> Address:
    """Read a base URL. Raises NoVerdictError, without quoting what may hold a password."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise NoVerdictError("the endpoint in the settings is no URL") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable():
        raise NoVerdictError("the endpoint in the settings is no http or https URL")
    if parts.username is not None or parts.query or parts.fragment:
        raise NoVerdictError(f"the endpoint at {host} must be a plain URL: a key goes where the settings say")
    return Address(url.strip().rstrip("/"), parts.scheme, host, port)


class Line:
    """A client that is open to one service."""

    def __init__(self, client: httpx2.AsyncClient, to: Address, hearing: Hearing, mask: Mask) -> None:
        self._client = client
        self._to = to
        self._hearing = hearing
        self._mask = mask

    async def post(self, url: str, content: bytes) -> bytes:
        """The body of a good answer. Raises FaultError, which names the status where there was one."""
        import stamina  # noqa: PLC0415 - nothing of HTTP is loaded before the first question
        from stamina.instrumentation import set_on_retry_hooks  # noqa: PLC0415

        set_on_retry_hooks(())  # what failed is told in the reason, and only there
        tries = stamina.retry_context(
            self._again,
            attempts=TRIES,
            timeout=max(0.001, self._hearing.left),
            wait_initial=WAIT_S,
            wait_max=LONGEST_WAIT_S,
            wait_jitter=WAIT_S,
        )
        async for attempt in tries:
            with attempt:
                return await self._request(url, content)
        raise AssertionError("stamina ends in an answer or an error")  # pragma: no cover

    def _again(self, error: Exception) -> bool | float:
        """Whether to try again, and after how many seconds where the service said so."""
        if not isinstance(error, FaultError) or not error.passing:
            return False
        if error.after is None:
            self._hearing.trouble = str(error)
            return True
        if error.after >= self._hearing.left:
            error.args = (f"{error}; it asks to wait {error.after:.0f} s, longer than the judge may take",)
            return False
        self._hearing.trouble = str(error)
        return error.after

    async def _request(self, url: str, content: bytes) -> bytes:
        import httpx2  # noqa: PLC0415 - as above

        self._hearing.begin()
        try:
            async with self._client.stream("POST", url, content=content) as response:
                body = await _bounded(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
            if isinstance(error, httpx2.ConnectError):
                self._hearing.refused()
            raise faults.unreachable(error, self._to.authority, self._mask) from None
        if response.is_success:
            return body
        self._hearing.refused()
        raise faults.refused(response.status_code, response.headers, body, self._mask)


async def _bounded(response: httpx2.Response) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise FaultError("the model service answered in an encoding that was not asked for")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > RESPONSE_LIMIT:
            raise FaultError(f"the model service answered more than {RESPONSE_LIMIT >> 10} KiB")
    return bytes(body)


@asynccontextmanager
async def opened(
    to: Address, environment: Mapping[str, str], headers: Mapping[str, str], hearing: Hearing, mask: Mask
) -> AsyncIterator[Line]:
    """A line to a service for one judgement. Raises NoVerdictError where the environment makes it impossible.

    `headers` identify us there, with the key among them; `mask` takes it out of whatever is quoted.
    """
    import httpx2  # noqa: PLC0415 - as above

    try:
        client = httpx2.AsyncClient(
            verify=_certificates(to, environment),
            proxy=_proxy(to, environment),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_S),
            headers={**HEADERS, **headers},
        )
    except (OSError, ValueError, httpx2.InvalidURL) as error:
        why = line(mask(str(error)))
        raise NoVerdictError(f"no connection to {to.authority} can be made: {why}") from None
    async with client:
        yield Line(client, to, hearing, mask)


def _proxy(to: Address, environment: Mapping[str, str]) -> str | None:
    """The session's proxy for this service, None for none. Raises NoVerdictError for a kind we cannot use."""
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined] # noqa: PLC0415

    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    value = next(filter(None, (environment.get(name) for name in names)), "")
    exempt = environment.get("no_proxy") or environment.get("NO_PROXY", "")
    if not value or to.scheme != "https" or to.loopback:
        return None
    if proxy_bypass_environment(to.authority, {"no": exempt}):
        return None
    scheme, mark, _ = value.partition("://")
    if mark and scheme not in ("http", "https"):
        raise NoVerdictError(
            f"the session's proxy is of the kind {line(scheme, 20)}: only http and https work"
        )
    return value if mark else f"http://{value}"


def _certificates(to: Address, environment: Mapping[str, str]) -> ssl.SSLContext:
    """Whom to trust. Raises OSError where certificates are named and cannot be read."""
    import ssl  # noqa: PLC0415 - as above

    import httpx2  # noqa: PLC0415 - as above

    if to.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file, folder = (
        place if outside(place := environment.get(name, ""), environment) else None
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")
    )
    if file or folder:
        return ssl.create_default_context(cafile=file, capath=folder)
    return httpx2.create_ssl_context(trust_env=False)
