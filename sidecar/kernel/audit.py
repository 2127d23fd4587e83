"""The entries of the audit of governed phases."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Raw, Struct


class Mode(StrEnum):
    """How strictly the phases are governed; see systems/governance/policy/table.py."""

    FULL = "full"
    LIGHT = "light"
    SAFE = "safe"
    FAST = "fast"
    CUSTOM = "custom"


class AuditEntry(Struct, frozen=True, kw_only=True, tag="governed"):
    """One thing that was done under a lock, as an event of the log.

    `tool` is "phase_NAME", "lock" or "answer". `input` and `output` are JSON with secrets masked.
    `agent` did the work: "worker MODEL", "caller", "person" or "supervisor". `subject` names the
    change that it is about. `number` counts all entries from 1; `previous` and `digest` chain them.
    """

    number: int = 0
    previous: str = ""
    tool: str
    lock: str
    mode: Mode
    iteration: int = 0
    agent: str = ""
    input: Raw = Raw(b"null")
    output: Raw = Raw(b"null")
    result: str = ""
    error: str = ""
    duration_ms: int = 0
    subject: str = ""
    digest: str = ""
