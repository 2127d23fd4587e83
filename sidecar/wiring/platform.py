"""Builds the platform services: clock, state files, settings, secrets."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.evidence.gates.trust import TRUST_FILE
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.clock import SystemClock
from sidecar.platform.configuration import ConfigurationFile, ancestor_settings_file, user_config_file
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.incidents import Incidents
from sidecar.platform.log_readings import DailySpending, StopHistory
from sidecar.platform.paths import Paths
from sidecar.platform.process_table import ProcessTable
from sidecar.platform.secrets import SecretForms
from sidecar.platform.services import PlatformServices
from sidecar.platform.session_store import JournalFiles, LoopFiles, SessionFiles
from sidecar.platform.steering import STEERING_FOLDER, SteeringFiles
from sidecar.platform.user_state import SWITCH_FILE, SwitchFile


def build_steering(state: Path, incidents: Incidents | None) -> SteeringFiles:
    """Build what knows the files that steer. Without `incidents` another process writes there."""
    configuration, runtime = user_config_file(os.environ), Paths(state=state, config=state).runtime
    read = [path for path in (configuration, ancestor_settings_file(os.environ)) if path]
    folders = [configuration.with_name(kind.folder) for kind in InstructionKind] if configuration else ()
    own = (state / TRUST_FILE, state / SWITCH_FILE, runtime, *read)
    return SteeringFiles(state / STEERING_FOLDER, own, incidents, restored=(runtime,), folders=folders)


def build_platform(state: Path) -> PlatformServices:
    """Build the real adapters. `state`: the user's state folder."""
    clock, incidents = SystemClock(), Incidents()
    steering = build_steering(state, incidents)
    configuration = ConfigurationFile(os.environ, steering)
    log = EventLogFile(state, clock, lambda: configuration.load()[0].log, incidents)
    return PlatformServices(
        clock=clock,
        configuration=configuration,
        incidents=incidents,
        journals=JournalFiles(state, incidents),
        log=log,
        loops=LoopFiles(state, incidents),
        processes=ProcessTable(),
        secrets=SecretForms(),
        spending=DailySpending(log, clock, incidents),
        stop_history=StopHistory(log),
        store=SessionFiles(state, incidents),
        steering=steering,
        switches=SwitchFile(state, steering),
    )
