"""The services that the platform offers to the rooms above it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from sidecar.kernel.log import EventData, LoggedEvent
from sidecar.kernel.session import SessionKey
from sidecar.platform.log_readings import DailySpending, StopHistory
from sidecar.platform.ports import (
    Clock,
    Configuration,
    EventLog,
    JournalStore,
    LoopStore,
    Processes,
    SecretDetector,
    SessionStore,
    Steering,
    SwitchStore,
)
from sidecar.platform.state import Incidents

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PlatformServices:
    """The adapters of the platform's interfaces, and two readings of the log."""

    clock: Clock
    configuration: Configuration
    incidents: Incidents
    journals: JournalStore
    log: EventLog
    loops: LoopStore
    processes: Processes
    secrets: SecretDetector
    spending: DailySpending
    steering: Steering
    stop_history: StopHistory
    store: SessionStore
    switches: SwitchStore


def note_event(  # noqa: PLR0913, PLR0917 - the fields of an event
    log: EventLog,
    clock: Clock,
    system: str,
    data: EventData,
    session: SessionKey | None = None,
    project: str = "",
    origin: str = "",
) -> None:
    """Append what happened now. A log that cannot be written stops nobody."""
    event = LoggedEvent(
        at=clock.now(), system=system, session=session, project=project, origin=origin, data=data
    )
    try:
        log.append(event)
    except (OSError, ValueError) as error:
        logger.warning("%s could not be written to the log: %s", event.kind, error)
