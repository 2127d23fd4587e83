"""Sessions that a host recorded by itself, for people who have not put Supervisor into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.hosts.claude_code import record as claude_record
from sidecar.hosts.claude_code.codec import HOST as CLAUDE_CODE
from sidecar.hosts.codex import record as codex_record
from sidecar.hosts.codex.codec import HOST as CODEX
from sidecar.hosts.copilot import record as copilot_record
from sidecar.hosts.gemini import record as gemini_record
from sidecar.hosts.gemini.codec import HOST as GEMINI
from sidecar.hosts.opencode import record as opencode_record
from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.shared import COPILOT, OPENCODE
from sidecar.kernel.errors import BadInputError


class SessionRecords(Struct, frozen=True):
    """Finds the sessions that one host recorded.

    `newest` takes a folder's real path, the environment, and how the session's id begins, "" for any; it
    returns None where there is none. `read` reads a file whose name ends in `suffix`. Both raise
    BadInputError, `newest` HostError and `read` OSError, too.
    """

    newest: Callable[[str, Mapping[str, str], str], RecordedSession | None]
    read: Callable[[Path], RecordedSession]
    suffix: str = ".jsonl"


RECORDS: Final = {
    CODEX: SessionRecords(codex_record.newest_session, codex_record.read_recorded),
    COPILOT: SessionRecords(copilot_record.newest_session, copilot_record.read_recorded),
    GEMINI: SessionRecords(gemini_record.newest_session, gemini_record.read_recorded),
    CLAUDE_CODE: SessionRecords(claude_record.newest_session, claude_record.read_recorded),
    OPENCODE: SessionRecords(opencode_record.newest_session, opencode_record.read_recorded, ""),
}
"""The records of each host. The first that can read a file does; Claude Code's takes any with a time."""


def newest_session(
    project: str, environment: Mapping[str, str], host: str = "", session: str = ""
) -> RecordedSession | None:
    """Return the newest session of a folder (its real path): of one host, or of all.

    `session` is how its id begins, "" for any. Raises BadInputError and HostError.
    """
    asked = [records for name, records in RECORDS.items() if host in ("", name)]
    found = [records.newest(project, environment, session) for records in asked]
    return max((one for one in found if one), key=lambda one: one.changed, default=None)


def read_recorded(path: Path) -> RecordedSession:
    """Return the session of a file that a host wrote. Raises BadInputError, OSError."""
    known = [records for records in RECORDS.values() if records.suffix == path.suffix]
    troubles = []
    for records in known or [records for records in RECORDS.values() if not records.suffix]:
        try:
            return records.read(path)
        except BadInputError as error:
            troubles.append(error)
    raise troubles[-1]
