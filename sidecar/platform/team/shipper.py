"""Ships the local log to the team. The log is the outbox: each event is in it first, and stays.

How far it is shipped is asked of the team each time, and an event is named by machine and sequence. So what
a cut connection swallowed is sent again and counts once. A sequence number is the event's position in the
local log and what `ahead` of the membership adds; gaps are fine.
"""

from __future__ import annotations

from typing import Final, get_args

import msgspec
from msgspec.structs import replace

from sidecar.kernel.log import (
    EventData,
    EventFilter,
    LoggedEvent,
    RunIterationBegan,
    StopKept,
    UnreadableEvent,
    encode_event_data,
    event_kind,
)
from sidecar.kernel.masking import SecretMask, mask_texts
from sidecar.kernel.text import encode_json
from sidecar.platform.event_log import decode_event_data
from sidecar.platform.ports import EventLog
from sidecar.platform.secrets import SecretForms
from sidecar.platform.team.ports import TeamLog

SHIPPED: Final = EventFilter(
    kinds=tuple(event_kind(kind) for kind in get_args(EventData) if kind not in (StopKept, UnreadableEvent))
)
"""All but kept stops: they hold what people typed, and only a replay on this machine reads them."""
BATCH_EVENTS: Final = 500
BATCH_BYTES: Final = 1024 * 1024
"""Events, and bytes of their data, after which a batch ends."""
COMPARED: Final = 200
"""Events by which it is found out whether the team has this log."""


def ship_all(team: TeamLog, log: EventLog, ahead: int = 0) -> int:
    """Ship what the team has not; return how many events that were. Raises OSError.

    What is appended meanwhile is left for the next time, or a busy machine would ship event by event.
    """
    shipped, last = 0, log.last()
    while (after := shipped_position(team, ahead)) < last and (number := ship_batch(team, log, ahead, after)):
        shipped += number
    return shipped


def ship_batch(team: TeamLog, log: EventLog, ahead: int, after: int) -> int:
    """Ship the next events after a position; return how many. Raises OSError."""
    mask, batch, size = SecretForms().masker({}), list[LoggedEvent](), 0
    for event in log.read(SHIPPED, after=after, limit=BATCH_EVENTS):
        if size > BATCH_BYTES:
            break
        size += len(encode_event_data(event.data))
        batch.append(replace(_for_others(event, mask), position=event.position + ahead))
    team.append(batch)
    return len(batch)


def shipped_position(team: TeamLog, ahead: int) -> int:
    """Return the position up to which the team has this machine's log. Raises OSError."""
    return next((newest.sequence for newest in team.shipped(1)), 0) - ahead


def agreed_position(team: TeamLog, log: EventLog, ahead: int) -> int:
    """Return the position up to which the team has this very log, 0 for nothing of it. Raises OSError.

    It is `shipped_position` unless the log was lost, or an older copy of it was put back.
    """
    shipped, last = shipped_position(team, ahead), log.last()
    same = last >= shipped or not last
    for told in team.shipped(COMPARED, last + ahead):
        position = told.sequence - ahead
        here = log.read(EventFilter(), after=position - 1, limit=1)
        if not here or here[0].position != position:
            continue  # it was trimmed or forgotten
        if here[0].at == told.event.at:
            return shipped if same else position
        same = False
    return shipped if same else 0


def _for_others(event: LoggedEvent, mask: SecretMask) -> LoggedEvent:
    """Mask an event once more, by the forms of secrets alone. The whole prompt of an agent stays here."""
    data = event.data
    if isinstance(data, RunIterationBegan):
        data = replace(data, prompt="")
    plain = msgspec.json.decode(encode_event_data(data))
    if (masked := mask_texts(plain, mask)) != plain:  # else it stays as it is: the audit chains its bytes
        data = decode_event_data(event.kind, encode_json(masked))
    return replace(event, data=data, origin=mask(event.origin))
