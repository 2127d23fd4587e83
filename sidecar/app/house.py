"""The ports that the use cases share."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.ports import (
    Clock,
    Configuration,
    GateCatalog,
    GateRunner,
    Inspector,
    Judge,
    Phrasebook,
    Record,
    Rubrics,
    SessionStore,
    Switches,
    Transcripts,
    Workspace,
)


@dataclass(frozen=True, kw_only=True)
class House:
    """One adapter per port."""

    catalog: GateCatalog
    clock: Clock
    configuration: Configuration
    gates: GateRunner
    inspector: Inspector
    judge: Judge
    phrasebook: Phrasebook
    record: Record
    rubrics: Rubrics
    store: SessionStore
    switches: Switches
    transcripts: Transcripts
    workspace: Workspace
