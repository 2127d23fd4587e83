"""The ports that the use cases share."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.ports import (
    Clock,
    Configuration,
    GateCatalog,
    GateRunner,
    Inspector,
    JournalStore,
    Judge,
    KeptStops,
    Phrasebook,
    Purse,
    Record,
    Rubrics,
    Secrets,
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
    journals: JournalStore
    judge: Judge
    kept: KeptStops
    phrasebook: Phrasebook
    purse: Purse
    record: Record
    rubrics: Rubrics
    secrets: Secrets
    store: SessionStore
    switches: Switches
    transcripts: Transcripts
    workspace: Workspace
