"""Ports held in memory: they move only when told, for the demo and for tests."""

from sidecar.adapters.memory.clock import ManualClock
from sidecar.adapters.memory.configuration import FixedConfiguration
from sidecar.adapters.memory.journals import MemoryJournals
from sidecar.adapters.memory.kept import MemoryKeptStops
from sidecar.adapters.memory.purse import MemoryPurse, ValueSecrets
from sidecar.adapters.memory.record import MemoryRecord
from sidecar.adapters.memory.sessions import MemoryStore
from sidecar.adapters.memory.switches import MemorySwitches
from sidecar.adapters.memory.texts import FixedRubrics, PlainPhrasebook

__all__ = [
    "FixedConfiguration",
    "FixedRubrics",
    "ManualClock",
    "MemoryJournals",
    "MemoryKeptStops",
    "MemoryPurse",
    "MemoryRecord",
    "MemoryStore",
    "MemorySwitches",
    "PlainPhrasebook",
    "ValueSecrets",
]
