"""Results of the rules."""

from __future__ import annotations

from msgspec import Struct

from sidecar.kernel.evidence import MissingWork


class RuleFinding(Struct, frozen=True, kw_only=True):
    """What a rule found, and whether that alone is enough to send the agent back.

    `rule` is the id of the rule. `confidence`, 0 to 1, is the probability that the stop is premature if the
    rule fires like this.
    """

    certain: bool
    lack: MissingWork
    rule: str = ""
    confidence: float = 0.5


class LegitimateStop(Struct, frozen=True, kw_only=True):
    """A sign that the agent may stop here.

    `kind` is a word for the record ("decision", "credentials", "destructive", "ambiguous", "waiting-outside",
    "question-answered", "impossible", "failure-reported", "done-and-offer"), `why` is the reason in one line.
    `certain`: the structure of the turn agrees with the wording.
    """

    kind: str
    why: str
    certain: bool


class RuleAssessment(Struct, frozen=True, kw_only=True):
    """The combined result of all rules for a turn.

    `findings`: the certain ones first. `confidence`, 0 to 1: how likely the stop is premature, also if no
    rule fires; it ranks stops and is not calibrated.
    """

    findings: tuple[RuleFinding, ...] = ()
    legitimate: LegitimateStop | None = None
    confidence: float = 0.0
