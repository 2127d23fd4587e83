"""What governed phases offer: for people, the audit and the context locks."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import SystemOffer, Verb

OFFER: Final = SystemOffer(
    verbs=(
        ("audit", Verb("sidecar.cli.audit:audit", "Show, verify or export what was done under a lock.")),
        ("lock", Verb("sidecar.cli.lock:lock", "Say who may change a project under governance.")),
    ),
)
