"""What stands in a marker and in the decision about it: format 1, described in docs/markers.md.

A marker is written by the worker. It can only say that a stop happened and what the worker claims of it: it
has no field that could change a goal, a budget, a check or an environment, and an unknown field refuses it.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import Struct

from sidecar.adapters.host_words import project_folder, session_id
from sidecar.adapters.text import mended, middle_out, plain
from sidecar.ports import BadInputError

VERSION: Final = 1
REQUEST_LIMIT: Final = 4_000
"""Characters of one request."""
REQUESTS_LIMIT: Final = 20
"""The first one and the newest stay."""
MESSAGE_LIMIT: Final = 20_000
"""Characters of the last message, as of other hosts."""


class UnfinishedError(BadInputError):
    """It is no whole JSON: half of a marker that is still being written, or no marker at all."""


class Marker(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stop, as the worker tells it.

    `requests` is what the user asked for, oldest first. `edited` and `ran`: files and commands of the turn.
    """

    version: Literal[1]
    session: str
    project: str
    last_message: str
    requests: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()


class Decision(Struct, frozen=True, kw_only=True):
    """What becomes of a stop.

    `say` is for the agent and `continuation` its id; both are "" where it may rest. `reason` is one word,
    `detail` says more, `note` is for the person, in one line or few.
    """

    version: Literal[1] = VERSION
    decision: Literal["continue", "rest"]
    reason: str
    detail: str = ""
    note: str = ""
    say: str = ""
    continuation: str = ""


def parse(raw: bytes) -> Marker:
    """Read a marker, its texts cut to their limits. Raises UnfinishedError and BadInputError."""
    try:
        marker = msgspec.json.decode(mended(raw), type=Marker)
    except msgspec.ValidationError as error:
        raise BadInputError(f"it is no marker of format {VERSION}: {error}") from error
    except msgspec.DecodeError as error:
        raise UnfinishedError(f"it is no whole JSON: {error}") from error
    return Marker(
        version=VERSION,
        session=session_id(marker.session),
        project=project_folder(marker.project),
        last_message=middle_out(plain(marker.last_message), MESSAGE_LIMIT),
        requests=_shown(marker.requests),
        edited=marker.edited[:1],
        ran=marker.ran[:1],
    )


def _shown(requests: tuple[str, ...]) -> tuple[str, ...]:
    kept = (*requests[:1], *requests[1:][1 - REQUESTS_LIMIT :])
    return tuple(middle_out(plain(each), REQUEST_LIMIT) for each in kept)
