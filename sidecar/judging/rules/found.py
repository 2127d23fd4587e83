"""Results of the rules."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import MissingWork

UNREAD: Final = "unread"
"""The kind of a stop that may wait for the user, by its structure alone, in a language that is not read."""


class RuleFinding(Struct, frozen=True, kw_only=True):
    """What a rule found, and whether that alone is enough to send the agent back.

    `fact`: a call shows it, so that no sign of a legitimate stop outweighs it.
    """

    certain: bool
    fact: bool = False
    missing_work: MissingWork
    rule: str = ""


class LegitimateStop(Struct, frozen=True, kw_only=True):
    """A sign that the agent may stop here.

    `kind` is a word for the record ("decision", "credentials", "destructive", "waiting-outside",
    "question-answered", "impossible", "done-and-offer", "unread"), `why` is the reason in
    one line. `certain`: the structure of the turn agrees with the wording.
    """

    kind: str
    why: str
    certain: bool


class RuleAssessment(Struct, frozen=True, kw_only=True):
    """The combined result of all rules for a turn; the certain findings come first."""

    findings: tuple[RuleFinding, ...] = ()
    legitimate: LegitimateStop | None = None

    @property
    def rests(self) -> bool:
        """Whether it is certain that the agent may stop here."""
        return self.legitimate is not None and self.legitimate.certain

    @property
    def doubtful(self) -> bool:
        """Whether the agent may be right to stop, and no rule is certain of the contrary."""
        return self.legitimate is not None and not any(finding.certain for finding in self.findings)

    @property
    def unread(self) -> bool:
        """Whether the message may ask the user something in a language that is not read."""
        return self.legitimate is not None and self.legitimate.kind == UNREAD

    @property
    def confidence(self) -> float:
        """A coarse probability that the stop is premature, for the record."""
        if any(finding.certain for finding in self.findings):
            return 0.97
        return 0.03 if self.rests else 0.5 if self.findings else 0.1


def rule_finding(rule: str, missing: str | tuple[str, ...], next_step: str, *, certain: bool) -> RuleFinding:
    """Build a finding; `missing` says what is missing, in one point or several."""
    points = (missing,) if isinstance(missing, str) else missing
    missing_work = MissingWork(kind=rule, missing=points, next_step=next_step)
    return RuleFinding(rule=rule, certain=certain, missing_work=missing_work)
