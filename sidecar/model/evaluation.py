"""What became of a stop of which the truth is known."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sidecar.model.labelled import Truth

CONTINUE = "continue"
"""How a stop ended that was sent back; all others end with a Reason."""


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One labelled stop and its ruling.

    The first fields are the label's. `ended` is "continue" or a Reason, `kind` what the agent was told about,
    `detail` why, in one line. `stage` is where it was decided, `rule` which rule decided or was suspicious.
    `criteria` are the ids that the judge named as missing.
    `confidence` is how likely it seemed, 0 to 1, that the stop is premature; None where nobody said.
    `asked`: rules and gates did not decide, so that the case went to the judge; `failed` says why that gave
    no verdict. `calls`, `tokens` and `cents` are what this cost, `cents` None where a call had no price.
    `completed`: the goal ended as achieved.
    """

    id: str
    family: str
    truth: Truth
    origin: Literal["by-hand", "generated", "executed"]
    language: str
    host: str
    ended: str
    stage: str
    blind: bool = False
    fabricated: bool = False
    complete: bool | None = None
    kind: str = ""
    detail: str = ""
    rule: str = ""
    criteria: tuple[str, ...] = ()
    confidence: float | None = None
    asked: bool = False
    failed: str = ""
    calls: int = 0
    tokens: int = 0
    cents: float | None = 0.0
    completed: bool = False

    @property
    def sent_back(self) -> bool:
        """Whether the agent was sent back."""
        return self.ended == CONTINUE

    @property
    def premature(self) -> bool:
        """Whether it should have been."""
        return self.truth is Truth.PREMATURE

    @property
    def false_complete(self) -> bool:
        """Whether a goal was called achieved that does not hold: the worst of all faults."""
        return self.completed and self.complete is not True

    @property
    def wrong(self) -> bool:
        """Whether the agent was sent back, let rest, or its goal called achieved against the truth."""
        return self.sent_back != self.premature or self.false_complete


class Flip(Struct, frozen=True):
    """One stop that ends differently under two rubrics."""

    before: Outcome
    after: Outcome
