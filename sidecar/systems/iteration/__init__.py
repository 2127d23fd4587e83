"""The journal of a session, and the loop of fresh agents (`supervisor run`)."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    tools=("journal",),
    verbs=(Verb("run", "run_loop", "Let an agent work in iterations until its goal holds.", Section.ALONE),),
)
