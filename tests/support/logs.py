"""The real log, in a folder of a test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.platform.event_log import EventLogFile
from sidecar.platform.log_readings import StopHistory
from support.memory_stores import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

    from sidecar.platform.state import Incidents


def event_log(state: Path, incidents: Incidents | None = None) -> EventLogFile:
    """The log of a state folder, as a process finds it that begins now."""
    return EventLogFile(state, ManualClock(), incidents=incidents)


def stops_in(state: Path) -> StopHistory:
    """The stops that are kept there."""
    return StopHistory(event_log(state))
