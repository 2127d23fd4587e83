"""Skills: what a headless agent does under a discipline, and Supervisor checks itself."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    tools=("tdd",),
    verbs=(
        Verb("tdd", "tdd", "Let agents write a behaviour: test, code, structure.", Section.ALONE),
        Verb("skill", "tdd", "Let an agent do a review, or another skill.", Section.ALONE),
    ),
)
