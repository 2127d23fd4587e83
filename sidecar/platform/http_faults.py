"""Turns failures of a model service into one line for a person, and says which of them are transient.

Pure: it reads responses and sends nothing.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.kernel.errors import ServiceError
from sidecar.kernel.structs import read_json
from sidecar.kernel.text import one_printable_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.kernel.masking import SecretMask


TRANSIENT_STATUSES: Final = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
"""Statuses after which another try may succeed."""
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
    return FaultError(
        f"{known}: {said}" if said else known,
        status=status,
        said=said,
        passing=status in TRANSIENT_STATUSES,
        after=parse_retry_after(headers) if status in TRANSIENT_STATUSES else None,
    )


def connection_fault(error: Exception, where: str, mask: SecretMask) -> FaultError:
    """Return the fault if a connection broke or could not be made."""
    why = one_printable_line(mask(str(error))) or type(error).__name__
    for cause in _exception_chain(error):
        if isinstance(cause, ssl.SSLError):
            return FaultError(f"no secure connection to {where} could be made: {why}")
    return FaultError(f"the model service at {where} cannot be reached: {why}", passing=True)


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
