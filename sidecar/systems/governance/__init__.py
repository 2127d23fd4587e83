"""Governed phases: a change is analyzed, planned, made, reviewed and tested under a lock, and audited."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    tools=("governance",),
    verbs=(
        Verb("govern", "govern", "Let agents solve a problem in governed phases.", Section.ALONE),
        Verb("governance", "govern", "What governed phases ask, and your answer.", Section.ALONE),
        Verb("audit", "audit", "Show, verify or export what was done under a lock.", Section.ALONE),
        Verb("lock", "audit", "Say who may change a project under governance.", Section.ALONE),
    ),
)
