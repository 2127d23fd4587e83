"""What is missing at a stop."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.evidence import Evidence


class Lack(Struct, frozen=True, kw_only=True):
    """What is missing, and what to do about it. `kind` names a section of rubric/continuation.md."""

    kind: str
    missing: tuple[str, ...]
    next_step: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def reason(self) -> str:
        """In one line."""
        return "; ".join(self.missing)[:500]
