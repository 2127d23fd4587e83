"""The only HTTP client: one client per judgement or worker, bounded requests, one retry policy.

Rules of this file:

- Redirects are not followed but are a fault, because they could send the key elsewhere.
- A response is read as a stream up to a limit; one in an encoding that was not requested is not decoded.
- A transient fault is retried: at most `TRIES` requests, never beyond the deadline. If the service asks for a
  delay, it is honoured, or the request is given up at once.
- The proxy and certificates come from the session's environment, and nothing else does. A proxy is used only
  for https, which it cannot read; certificates inside the project are ignored.
- Text of a service is quoted masked and shortened. No error contains the key.

What is asked and answered is not known here.
"""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from sidecar.kernel.decoding import read_json
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.text import one_printable_line
from sidecar.platform.api_keys import lies_outside_project

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    import httpx2

    from sidecar.kernel.masking import SecretMask
    from sidecar.platform.concurrency import Deadline

CONNECT_S: Final = 10.0
"""Seconds that a connection may take, TLS included; only the deadline bounds the rest."""
RESPONSE_LIMIT: Final = 1 << 20
"""Maximum size of a response, in bytes."""
TRIES: Final = 3
"""Maximum number of requests for one answer."""
WAIT_S: Final = 0.5
"""Seconds before the second try if the service names none, doubled before the third, plus jitter."""
LONGEST_WAIT_S: Final = 8.0
HEADERS: Final = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": "supervisor",
}


class ServiceAddress(Struct, frozen=True):
    """The base URL of a service, parsed."""

    url: str
    scheme: str
    host: str
    port: int | None

    @property
    def loopback(self) -> bool:
        """Whether the service is on this machine."""
        from ipaddress import ip_address  # noqa: PLC0415 - not at start

        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def authority(self) -> str:
        """Host and port, for a person."""
        return self.host if self.port is None else f"{self.host}:{self.port}"


def parse_service_address(url: str) -> ServiceAddress:
    """Parse a base URL. Raises ServiceError, without quoting what may contain a password."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ServiceError("the endpoint in the settings is no URL") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable():
        raise ServiceError("the endpoint in the settings is no http or https URL")
    if parts.username is not None or parts.query or parts.fragment:
        raise ServiceError(f"the endpoint at {host} must be a plain URL: a key goes where the settings say")
    return ServiceAddress(url.strip().rstrip("/"), parts.scheme, host, port)


class ServiceConnection:
    """A client connected to one service."""

    def __init__(
        self, client: httpx2.AsyncClient, to: ServiceAddress, hearing: Deadline, mask: SecretMask
    ) -> None:
        self._client = client
        self._to = to
        self._hearing = hearing
        self._mask = mask

    async def post(self, url: str, content: bytes) -> bytes:
        """Return the body of a successful response. Raises FaultError, with the status if there is one."""
        import stamina  # noqa: PLC0415 - nothing of HTTP is loaded before the first question
        from stamina.instrumentation import set_on_retry_hooks  # noqa: PLC0415

        set_on_retry_hooks(())  # failures are reported in the reason only
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
        """Whether to try again, and after how many seconds if the service named a time."""
        if not isinstance(error, FaultError) or not error.passing:
            return False
        if error.after is None:
            self._hearing.trouble = str(error)
            return True
        if error.after >= self._hearing.left:
            error.args = (f"{error}; it asks to wait {error.after:.0f} s, longer than it may take",)
            return False
        self._hearing.trouble = str(error)
        return error.after

    async def _request(self, url: str, content: bytes) -> bytes:
        import httpx2  # noqa: PLC0415 - as above

        self._hearing.begin()
        try:
            async with self._client.stream("POST", url, content=content) as response:
                body = await _read_bounded_body(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
            if isinstance(error, httpx2.ConnectError):
                self._hearing.refused()
            raise connection_fault(error, self._to.authority, self._mask) from None
        if response.is_success:
            return body
        self._hearing.refused()
        raise response_fault(response.status_code, response.headers, body, self._mask)


async def _read_bounded_body(response: httpx2.Response) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise FaultError("the model service answered in an encoding that was not asked for")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > RESPONSE_LIMIT:
            raise FaultError(f"the model service answered more than {RESPONSE_LIMIT >> 10} KiB")
    return bytes(body)


@asynccontextmanager
async def open_service_connection(
    to: ServiceAddress,
    environment: Mapping[str, str],
    headers: Mapping[str, str],
    hearing: Deadline,
    mask: SecretMask,
) -> AsyncIterator[ServiceConnection]:
    """Open a client for one judgement or worker.

    Raises ServiceError if the environment makes that impossible. `headers` identify us to the service and
    contain the key; `mask` removes it from whatever is quoted.
    """
    import httpx2  # noqa: PLC0415 - as above

    try:
        client = httpx2.AsyncClient(
            verify=_build_ssl_context(to, environment),
            proxy=_choose_proxy(to, environment),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_S),
            headers={**HEADERS, **headers},
        )
    except (OSError, ValueError, httpx2.InvalidURL) as error:
        why = one_printable_line(mask(str(error)))
        raise ServiceError(f"no connection to {to.authority} can be made: {why}") from None
    async with client:
        yield ServiceConnection(client, to, hearing, mask)


def _choose_proxy(to: ServiceAddress, environment: Mapping[str, str]) -> str | None:
    """Return the session's proxy for this service, or None. Raises ServiceError for other than http(s)."""
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined] # noqa: PLC0415

    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    value = next(filter(None, (environment.get(name) for name in names)), "")
    exempt = environment.get("no_proxy") or environment.get("NO_PROXY", "")
    direct = not value or to.scheme != "https" or to.loopback
    if direct or proxy_bypass_environment(to.authority, {"no": exempt}):
        return None
    scheme, mark, _ = value.partition("://")
    if mark and scheme not in ("http", "https"):
        raise ServiceError(
            f"the session's proxy is of the kind {one_printable_line(scheme, 20)}: only http and https work"
        )
    return value if mark else f"http://{value}"


def _build_ssl_context(to: ServiceAddress, environment: Mapping[str, str]) -> ssl.SSLContext:
    """Return the trusted certificates. Raises OSError if named ones cannot be read."""
    import httpx2  # noqa: PLC0415 - as above

    if to.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file, folder = (
        place if lies_outside_project(place := environment.get(name, ""), environment) else None
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")
    )
    if file or folder:
        return ssl.create_default_context(cafile=file, capath=folder)
    return httpx2.create_ssl_context(trust_env=False)


# --- failures in one line for a person, and which of them are transient -------------------------------------
# Pure: it reads responses and sends nothing.


TRANSIENT_STATUSES: Final = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
"""Statuses after which another try may succeed."""
FORM_FIELDS: Final = ("response_format", "output_config")
"""Request fields that ask for a form of the answer. A failure (500) whose text names one is a refusal of that
form: llama-cpp-python's server answers so where it does not know a value."""
STATUSES: Final = {
    400: "the model service does not take the request (400)",
    401: "the key was refused (401)",
    403: "the model service forbids the request (403)",
    404: "the model service does not know the model or the address (404): see both in the settings",
    408: "the model service waited too long for the request (408)",
    413: "the request is too big for the model service (413)",
    429: "the limit of the model service is reached (429)",
    503: "the model service is not available (503)",
    529: "the model service is overloaded (529)",
}
REDIRECTS: Final = range(300, 400)
LONGEST_S: Final = 1e6
"""Seconds; a longer Retry-After is cut to this."""
CAUSES_LIMIT: Final = 10
"""Links of a chain of exceptions that are examined."""


class FaultError(ServiceError):
    """A request without a good answer.

    `status` is 0 if there was no response; `said` is the error text of the service, bounded. `passing`:
    another try may help, after `after` seconds if the service named a time.
    """

    def __init__(
        self, text: str, *, status: int = 0, said: str = "", passing: bool = False, after: float | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.said = said
        self.passing = passing
        self.after = after


def response_fault(status: int, headers: Mapping[str, str], body: bytes, mask: SecretMask) -> FaultError:
    """Return the fault of an unsuccessful response."""
    if status in REDIRECTS:
        where = one_printable_line(mask(headers.get("location", "nowhere")))
        return FaultError(
            f"the model service redirects ({status}) to {where}: mend the endpoint", status=status
        )
    said = one_printable_line(mask(extract_error_text(body)))
    known = STATUSES.get(status, f"the model service failed ({status})")
    refused = status == HTTPStatus.INTERNAL_SERVER_ERROR and any(name in said for name in FORM_FIELDS)
    passing = status in TRANSIENT_STATUSES and not refused
    return FaultError(
        f"{known}: {said}" if said else known,
        status=status,
        said=said,
        passing=passing,
        after=parse_retry_after(headers) if passing else None,
    )


def connection_fault(error: Exception, where: str, mask: SecretMask) -> FaultError:
    """Return the fault if a connection broke or could not be made."""
    why = one_printable_line(mask(str(error))) or type(error).__name__
    for cause in _exception_chain(error):
        if isinstance(cause, ssl.SSLError):
            return FaultError(f"no secure connection to {where} could be made: {why}")
    return FaultError(f"the service at {where} cannot be reached: {why}", passing=True)


def _exception_chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(CAUSES_LIMIT):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that Retry-After asks for, or None.

    A date is compared with the response's own Date header, so the clocks need not agree.
    """
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - not before the first fault

    asked = headers.get("retry-after", "").strip()[:100]
    if asked.replace(".", "", 1).isdecimal() and asked.isascii():
        return min(float(asked), LONGEST_S)
    try:
        later = parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(0.0, later.total_seconds()), LONGEST_S)


class _Complaint(Struct, frozen=True):
    """Error formats of services; each field is a text, an object with a `message`, or absent."""

    error: object = None
    message: object = None
    detail: object = None


def extract_error_text(body: bytes) -> str:
    """Return the error text of a response, "" if there is none; a body other than JSON as it is."""
    if (found := read_json(body, _Complaint)) is None:
        return body[:2000].decode("utf-8", "replace")
    for part in (found.error, found.message, found.detail):
        said = part.get("message") if isinstance(part, dict) else part
        if isinstance(said, str) and said:
            return said
    return ""
