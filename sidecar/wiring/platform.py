"""Builds the platform services: clock, state files, settings, secrets."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.platform.clock import SystemClock
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.ports import PlatformServices
from sidecar.platform.secrets import SecretForms
from sidecar.platform.session_store import JournalFiles, RecordFiles, SessionFiles
from sidecar.platform.stop_history import StopHistoryFiles
from sidecar.platform.user_state import SpendingFile, SwitchFile


def build_platform(state: Path) -> PlatformServices:
    """Build the real adapters. `state`: the user's state folder."""
    clock = SystemClock()
    return PlatformServices(
        clock=clock,
        configuration=ConfigurationFile(os.environ),
        journals=JournalFiles(state),
        record=RecordFiles(state),
        secrets=SecretForms(),
        spending=SpendingFile(state, clock),
        stop_history=StopHistoryFiles(state),
        store=SessionFiles(state),
        switches=SwitchFile(state),
    )
