"""The journal of a session, and the loop of fresh agents (`supervisor run`)."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    methods=("run_checks", "run_note", "run_status", "run_workers"),
    tools=("journal",),
    verbs=(
        ("run", Verb("run_loop:run", "Let an agent work in iterations until its goal holds.", Section.ALONE)),
    ),
)
