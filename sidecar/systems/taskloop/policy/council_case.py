"""What a bug council is told, what it may cost, and what is known when it decides: readings of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.kernel.loop import GateVerdict, Loop
from sidecar.kernel.models import TokenUsage, answer_price_cents, model_prices, resolve_model
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import quote_as_code_block, truncate_middle
from sidecar.systems.taskloop.policy.council import CouncilFacts

SECTION_LENGTH: Final = 6_000
"""Characters of each part of a case."""
READ_TOKENS: Final = 60_000
"""Allowance for what one member reads beside its prompt: files, and the output of its commands."""
WRITTEN_TOKENS: Final = 5_000
"""Allowance for what one member writes."""


class CouncilAnswer(Struct, frozen=True, kw_only=True):
    """What a member answers.

    `findings`: each is one fact that was observed, with the file and line, the test or the error that shows
    it. `confidence`: how sure it is that the hypothesis is the cause.
    """

    findings: Annotated[tuple[str, ...], Meta(min_length=1, max_length=12)]
    hypothesis: Annotated[str, Meta(min_length=1)]
    suggested_fix: Annotated[str, Meta(min_length=1)]
    confidence: Annotated[int, Meta(ge=0, le=100)]


class CouncilEstimate(Struct, frozen=True, kw_only=True):
    """What a council may cost, with a line for a person. `cents`: None without a known price."""

    tokens: int
    cents: float | None
    text: str


def quote_case(**parts: str) -> dict[str, str]:
    """Return what every member is told, each part as a code block that its content cannot close."""
    return {name: quote_as_code_block(truncate_middle(text, SECTION_LENGTH)) for name, text in parts.items()}


def council_facts(loop: Loop) -> CouncilFacts:
    """Return what the loop knows of the task at work."""
    mine = loop.own_failures
    bad = [gate for gate in loop.gates if gate.verdict is not GateVerdict.PASS]
    return CouncilFacts(
        failing=_distinct([gate.failing for gate in bad] or [one.failing for one in mine[-1:]]),
        errors=_distinct([*(gate.errors for gate in bad), *(failure.errors for failure in mine)]),
        changed=_distinct([failure.files for failure in mine]),
    )


def estimate_council(asked: Sequence[tuple[str, str]], settings: Settings) -> CouncilEstimate:
    """Estimate what members cost, each by its prompt and its model, as `[models]` and `[price]` price it."""
    prices, models = model_prices(settings), [resolve_model(model, settings) for _, model in asked]
    read = [estimate_tokens(prompt) + READ_TOKENS for prompt, _ in asked]
    priced = [
        answer_price_cents(model, TokenUsage(input=tokens, output=WRITTEN_TOKENS), prices)
        for model, tokens in zip(models, read, strict=True)
    ]
    cents = None if None in priced else sum(filter(None, priced))
    written = WRITTEN_TOKENS * len(asked)
    price = "the settings name no price for it" if cents is None else f"about {cents:.1f} cents"
    text = (
        f"{len(asked)} agents on {' and '.join(dict.fromkeys(models))}, "
        f"about {sum(read):,} tokens read and {written:,} written: {price}"
    )
    return CouncilEstimate(tokens=sum(read) + written, cents=cents, text=text)


def _distinct(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts if text))
