"""The services that the platform offers to the rooms above it."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.platform.incidents import Incidents
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
