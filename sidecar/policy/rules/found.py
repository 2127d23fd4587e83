"""What the rules answer with."""

from __future__ import annotations

from msgspec import Struct

from sidecar.policy.lack import Lack


class Finding(Struct, frozen=True, kw_only=True):
    """What a rule saw, and whether that alone is enough to send the agent back.

    `rule` is the id of the rule. `confidence`, 0 to 1: the chance that the stop is premature where this
    rule fires so.
    """

    certain: bool
    lack: Lack
    rule: str = ""
    confidence: float = 0.5


class Legitimate(Struct, frozen=True, kw_only=True):
    """A sign that the agent may rest.

    `kind` is a word for the record ("decision", "credentials", "destructive", "ambiguous", "waiting-outside",
    "question-answered", "impossible", "failure-reported", "done-and-offer"), `why` says it in one line.
    `certain`: the structure of the turn agrees with the wording.
    """

    kind: str
    why: str
    certain: bool


class Weighed(Struct, frozen=True, kw_only=True):
    """What all rules make of a turn.

    `findings`: the certain ones first. `confidence`, 0 to 1: how likely the stop is premature, also where no
    rule fires; it orders stops and is not calibrated.
    """

    findings: tuple[Finding, ...] = ()
    legitimate: Legitimate | None = None
    confidence: float = 0.0
