"""What a bug council is told, what it may cost, and what is known when it decides: readings of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.kernel.loop import GateResult, GateVerdict, Loop, LoopFailure
from sidecar.kernel.models import TokenUsage, answer_price_cents, model_prices, resolve_model
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import quote_as_code_block, truncate_middle
from sidecar.systems.taskloop.policy.council import CouncilFacts

SECTION_LENGTH: Final = 6_000
"""Characters of each part of a case."""
FAILURES_TOLD: Final = 6
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


class CouncilCase(Struct, frozen=True, kw_only=True):
    """What every member is told: the placeholders of rubric/council.md; "" where there is nothing to tell."""

    task: str
    tried: str = ""
    failures: str = ""
    errors: str = ""
    gates: str = ""


class CouncilEstimate(Struct, frozen=True, kw_only=True):
    """What a council of `members` may cost, with a line for a person. `cents`: None without a known price."""

    members: int
    tokens: int
    cents: float | None
    text: str


def describe_case(loop: Loop, task: str) -> CouncilCase:
    """Describe the task at work. `task`: its description with its acceptance criteria."""
    facts = council_facts(loop)
    return CouncilCase(
        task=_quote(task),
        tried=_quote("\n".join(map(_say_failure, _own_failures(loop)[-FAILURES_TOLD:]))),
        failures=_quote("\n".join(facts.failing)),
        errors=_quote("\n".join(facts.errors)),
        gates=_quote("\n".join(map(_say_gate, loop.gates))),
    )


def council_facts(loop: Loop, files: Sequence[str] = ()) -> CouncilFacts:
    """Return what the loop knows of the task at work; `files` are known to be in the project."""
    mine = _own_failures(loop)
    bad = [gate for gate in loop.gates if gate.verdict is not GateVerdict.PASS]
    return CouncilFacts(
        failing=_distinct([gate.failing for gate in bad] or [mine[-1].failing if mine else ()]),
        errors=_distinct([*(gate.errors for gate in bad), *(failure.errors for failure in mine)]),
        changed=_distinct([failure.files for failure in mine]),
        files=tuple(files),
    )


def estimate_council(asked: Sequence[tuple[str, str]], settings: Settings) -> CouncilEstimate:
    """Estimate what members cost, each by its prompt and its model, as `[models]` and `[price]` price it."""
    prices, models = model_prices(settings), [resolve_model(model, settings) for _, model in asked]
    read = [estimate_tokens(prompt) + READ_TOKENS for prompt, _ in asked]
    priced = [
        answer_price_cents(model, TokenUsage(input=tokens, output=WRITTEN_TOKENS), prices)
        for model, tokens in zip(models, read, strict=True)
    ]
    known = [cents for cents in priced if cents is not None]
    cents = sum(known) if len(known) == len(asked) else None
    written = WRITTEN_TOKENS * len(asked)
    price = "the settings name no price for it" if cents is None else f"about {cents:.1f} cents"
    text = (
        f"{len(asked)} agents on {' and '.join(dict.fromkeys(models))}, "
        f"about {sum(read):,} tokens read and {written:,} written: {price}"
    )
    return CouncilEstimate(members=len(asked), tokens=sum(read) + written, cents=cents, text=text)


def _own_failures(loop: Loop) -> list[LoopFailure]:
    return [failure for failure in loop.failures if failure.task == loop.task]


def _distinct(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts if text))


def _say_failure(failure: LoopFailure) -> str:
    changed = ", ".join(failure.files) or "nothing"
    failed = ", ".join(failure.gates_failed) or "no gate"
    return f"{failure.iteration}. {failure.model}: {failure.summary} (changed: {changed}; failed: {failed})"


def _say_gate(gate: GateResult) -> str:
    more = f" and {gate.more} more errors" if gate.more else ""
    lines = (f"{gate.id}: {gate.verdict}{more}", gate.reason, *gate.errors)
    return "\n  ".join(filter(None, lines))


def _quote(text: str) -> str:
    return quote_as_code_block(truncate_middle(text, SECTION_LENGTH))
