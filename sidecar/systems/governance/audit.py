"""The audit: entries of the event log, chained by digest, and their lines for others.

Processes append at once: one lock of the folder orders them. The head, a file, is written after each entry
and shows what was cut off at the end; after a kill between the two it is one entry behind.
"""

from __future__ import annotations

import datetime as dt
import errno
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw
from msgspec.structs import asdict, replace

from sidecar.kernel.log import AUDIT_KIND, AuditEntry, EventFilter, LoggedEvent
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import escape_unencodable, json_escape, repair_json
from sidecar.platform.files import ensure_folder, exclusively, write_whole
from sidecar.platform.ports import Clock, EventLog
from sidecar.platform.state import read_usable_state
from sidecar.systems.governance.policy.chain import (
    Head,
    Seal,
    Verification,
    line_digest,
    verify_lines,
)

SYSTEM: Final = "governance"
"""The system of the events, and the folder in the state folder."""
HEAD_FILE: Final = "head.json"
HEAD_LIMIT: Final = 4096
PAGE: Final = 200
"""Events that are read at a time; one may have some 100 KB."""
CLOCK_SLACK_S: Final = 86_400.0
"""Seconds before the head's time in which the last entry is looked for, where the clock was set back."""
NOT_PLAIN: Final = re.compile(r"[^\x20-\x7e]")


class Audit:
    """Appends to the audit and reads it. Methods raise OSError."""

    def __init__(self, log: EventLog, clock: Clock, state: Path) -> None:
        """`state`: the user's state folder."""
        self._log = log
        self._clock = clock
        self._folder = state / SYSTEM

    def append(
        self, entry: AuditEntry, *, session: SessionKey | None = None, project: str = "", origin: str = ""
    ) -> AuditEntry:
        """Append an entry whose secrets are masked, and return it with its number and digests."""
        ensure_folder(self._folder)
        with exclusively(self._folder):
            at = self._clock.now()
            event = LoggedEvent(
                at=at, system=SYSTEM, session=session, project=project, origin=origin, data=entry
            )
            entry = chain_entry(entry, event, self._last())
            self._log.append(replace(event, data=entry))
            head = Head(number=entry.number, digest=entry.digest, at=at)
            write_whole(self._folder / HEAD_FILE, msgspec.json.encode(head) + b"\n")
        return entry

    def events(self, lock: str = "", wanted: EventFilter | None = None) -> Iterator[LoggedEvent]:
        """Yield the events of the audit, or of one lock, in their order.

        One that cannot be read is an UnreadableEvent, and may be of any lock.
        """
        wanted, after = replace(wanted or EventFilter(), kinds=(AUDIT_KIND,)), 0
        while page := self._log.read(wanted, after=after, limit=PAGE):
            for event in page:
                if not isinstance(event.data, AuditEntry) or lock in {"", event.data.lock}:
                    yield event
            after = page[-1].position

    def of(self, lock: str, project: str = "") -> tuple[AuditEntry, ...]:
        """Return a lock's entries. The project, where it is given, makes it quicker.

        Raises OSError where an event after the first entry cannot be read.
        """
        found: list[AuditEntry] = []
        for event in self.events(lock, EventFilter(project=project)):
            if isinstance(event.data, AuditEntry):
                found.append(event.data)
            elif found:
                raise OSError(errno.EIO, "the audit is damaged; `supervisor audit verify` says where")
        return tuple(found)

    def export(self, lock: str = "") -> bytes:
        """Return all lines, or a lock's, with the seal."""
        return seal_lines(tuple(map(audit_line, self.events(lock))), self._clock.now(), lock)

    def verify(self) -> Verification:
        """Verify all that is in the log."""
        head, last = Head(), self._log.last()
        if self._folder.exists():
            with exclusively(self._folder):  # what is appended from here on is left out
                head, last = self._head(), self._log.last()
        events = takewhile(lambda event: event.position <= last, self.events())
        return verify_lines(map(audit_line, events), head)

    def _last(self) -> Head:
        """Return what the next entry follows: the head, or what was appended after it."""
        head = self._head()
        since = head.at - CLOCK_SLACK_S if head.number else None
        for event in self._log.newest(EventFilter(kinds=(AUDIT_KIND,), since=since), 1):
            if isinstance(event.data, AuditEntry) and event.data.number > head.number:
                return Head(number=event.data.number, digest=event.data.digest, at=event.at)
        return head

    def _head(self) -> Head:
        return read_usable_state(self._folder / HEAD_FILE, Head, HEAD_LIMIT)


# --- lines --------------------------------------------------------------------------------------------------


def chain_entry(entry: AuditEntry, event: LoggedEvent, last: Head) -> AuditEntry:
    """Return the entry of an event as the one that follows `last`, with its number and digests.

    Its texts become such as the log stores and gives back, so that the line remains the same.
    """
    entry = replace(
        entry,
        **{name: escape_unencodable(getattr(entry, name)) for name in ("agent", "result", "error")},
        number=last.number + 1,
        previous=last.digest,
        input=_one_line(entry.input),
        output=_one_line(entry.output),
        digest="0" * 64,
    )
    return replace(entry, digest=line_digest(audit_line(replace(event, data=entry))))


def audit_line(event: LoggedEvent) -> bytes:
    """Return the line of an event: one JSON object, in ASCII, so that nothing on its way changes it.

    Number and previous come first, the entry's digest last: see policy.chain.
    """
    entry = event.data
    if not isinstance(entry, AuditEntry):
        return msgspec.json.encode({"unreadable": event.position})
    key = event.session
    fields = asdict(entry)
    line = {
        "number": fields.pop("number"),
        "previous": fields.pop("previous"),
        "timestamp": dt.datetime.fromtimestamp(event.at, tz=dt.UTC).isoformat(timespec="microseconds"),
        "session": escape_unencodable(f"{key.host}:{key.id}") if key else "",
        "project": escape_unencodable(event.project),
        "origin": escape_unencodable(event.origin),
        **fields,
    }
    return NOT_PLAIN.sub(json_escape, msgspec.json.encode(line).decode()).encode()


def seal_lines(lines: tuple[bytes, ...], now: float, lock: str = "") -> bytes:
    """Return the lines of the whole audit, or of a lock's part of it, as a file with its seal."""
    first, last = (
        msgspec.json.decode(line, type=Head) for line in ((lines or (b"{}",))[at] for at in (0, -1))
    )
    seal = Seal(
        entries=len(lines),
        first=first.number,
        last=last.number,
        head=last.digest,
        exported_at=dt.datetime.fromtimestamp(now, tz=dt.UTC).isoformat(timespec="seconds"),
        lock=lock,
    )
    return b"".join(line + b"\n" for line in (*lines, msgspec.json.encode(seal)))


def _one_line(value: Raw) -> Raw:
    """Return JSON on one line. Raises DecodeError for what is none."""
    return Raw(msgspec.json.format(repair_json(bytes(value)), indent=-1))
