"""What governed phases offer: the toolset `governance`; for people, the phases, the audit and the locks."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import SystemOffer, Verb

OFFER: Final = SystemOffer(
    tools=("governance",),
    verbs=(
        ("govern", Verb("sidecar.cli.govern:govern", "Let agents solve a problem in governed phases.")),
        ("governance", Verb("sidecar.cli.govern:governance", "What governed phases ask, and your answer.")),
        ("audit", Verb("sidecar.cli.audit:audit", "Show, verify or export what was done under a lock.")),
        ("lock", Verb("sidecar.cli.lock:lock", "Say who may change a project under governance.")),
    ),
)
