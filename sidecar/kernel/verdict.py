"""The judge's answer about one stop: a tagged union that cannot contradict itself."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Confidence = Annotated[float, Meta(ge=0, le=1, description="0 to 1: how sure you are of this verdict")]
OneLine = Annotated[str, Meta(min_length=1, max_length=1000)]
EvidenceId = Annotated[str, Meta(pattern=r"^E[0-9]{1,4}$", description="the id of an evidence line")]


class Met(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of what was asked that holds, with the evidence that shows it."""

    criterion: OneLine
    evidence: Annotated[tuple[EvidenceId, ...], Meta(min_length=1, max_length=50)]


class Gap(Struct, frozen=True, forbid_unknown_fields=True):
    """One point that is missing.

    `criterion` is "goal", "request", or the id of a criterion of the rubric. `evidence` is what shows that it
    is missing; it may be empty, for often nothing shows what was not done.
    """

    point: OneLine
    criterion: Annotated[
        str, Meta(min_length=1, max_length=64, description='"goal", "request" or the id of a criterion')
    ]
    evidence: Annotated[tuple[EvidenceId, ...], Meta(max_length=50)]


class Complete(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="complete"):
    """Every criterion is met, each citing evidence."""

    criteria: Annotated[tuple[Met, ...], Meta(min_length=1, max_length=50)]
    confidence: Confidence


class Incomplete(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="incomplete"):
    """At least one point is missing."""

    missing: Annotated[tuple[Gap, ...], Meta(min_length=1, max_length=20)]
    next_step: OneLine
    confidence: Confidence


class Waiting(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="waiting"):
    """Only the user can answer."""

    question: OneLine
    confidence: Confidence


class Impossible(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="impossible"):
    """The condition cannot be met by any work in this project."""

    reason: OneLine
    evidence: Annotated[tuple[EvidenceId, ...], Meta(min_length=1, max_length=50)]
    confidence: Confidence


class Abstain(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="abstain"):
    """The evidence does not allow a verdict."""

    reason: OneLine
    confidence: Confidence


Verdict = Complete | Incomplete | Waiting | Impossible | Abstain


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The envelope a model fills in: a schema's root must be an object."""

    answer: Verdict


class Judgement(Struct, frozen=True, kw_only=True):
    """A verdict and its cost.

    `backend` and `model` are who gave it. `tokens` counts uncached input plus output, `calls` the requests
    that were made. `cents` is None where neither the backend nor the settings name a price.
    """

    verdict: Verdict
    backend: str
    model: str = ""
    tokens: int = 0
    calls: int = 1
    cents: float | None = None
