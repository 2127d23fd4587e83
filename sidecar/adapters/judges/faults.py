"""What goes wrong between us and a model service, in one line for a person; what of it may pass.

Pure: it reads what came back, and asks nobody.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.adapters.judges.answer import NoVerdictError, line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.ports import Mask

PASSING: Final = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
"""Statuses after which a request is worth a second try."""
STATUSES: Final = {
    400: "the model service does not take the request (400)",
    401: "the key was refused (401)",
    403: "the model service forbids the request (403)",
    404: "the model service does not know the model or the address (404): see judge.*.model and .endpoint",
    408: "the model service waited too long for the request (408)",
    413: "the request is too big for the model service (413)",
    429: "the limit of the model service is reached (429)",
    503: "the model service is not available (503)",
    529: "the model service is overloaded (529)",
}
REDIRECTS: Final = range(300, 400)
LONGEST_S: Final = 1e6
"""Seconds; no service is believed that asks for more."""
CAUSES: Final = 10
"""Links of a chain of causes that are looked at."""


class FaultError(NoVerdictError):
    """A request without a good answer.

    `status` is 0 where none came, `said` what the service said, bounded. `passing`: another try may help,
    `after` so many seconds where the service said so.
    """

    def __init__(
        self, text: str, *, status: int = 0, said: str = "", passing: bool = False, after: float | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.said = said
        self.passing = passing
        self.after = after


def refused(status: int, headers: Mapping[str, str], body: bytes, mask: Mask) -> FaultError:
    """The fault in an answer that is no good one."""
    if status in REDIRECTS:
        where = line(mask(headers.get("location", "nowhere")))
        return FaultError(
            f"the model service redirects ({status}) to {where}: mend the endpoint", status=status
        )
    said = line(mask(complaint(body)))
    known = STATUSES.get(status, f"the model service failed ({status})")
    return FaultError(
        f"{known}: {said}" if said else known,
        status=status,
        said=said,
        passing=status in PASSING,
        after=wait_asked(headers) if status in PASSING else None,
    )


def unreachable(error: Exception, where: str, mask: Mask) -> FaultError:
    """The fault where a connection broke, or never was."""
    why = line(mask(str(error))) or type(error).__name__
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            return FaultError(f"no secure connection to {where} could be made: {why}")
    return FaultError(f"the model service at {where} cannot be reached: {why}", passing=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After asks for, None where it asks for nothing.

    A date is counted from the answer's own Date, so no clock needs to agree with another.
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
    """What services wrap an error into; each of these is a text, or an object with a `message`, or absent."""

    error: object = None
    message: object = None
    detail: object = None


def complaint(body: bytes) -> str:
    """What an answer says of an error, "" where it says nothing; a page or plain text as it is."""
    try:
        found = msgspec.json.decode(body, type=_Complaint)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return body[:2000].decode("utf-8", "replace")
    for part in (found.error, found.message, found.detail):
        said = part.get("message") if isinstance(part, dict) else part
        if isinstance(said, str) and said:
            return said
    return ""
