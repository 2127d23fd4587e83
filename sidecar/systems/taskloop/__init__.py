"""The task loop: an agent works through tasks, and gates decide what is done."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    tools=("loop",),
    verbs=(Verb("loop", "loop", "Let agents work on tasks until the checks pass.", Section.ALONE),),
)
