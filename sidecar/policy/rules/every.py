"""All rules over one turn.

Laws. Precision first: users forgive a missed early stop, not nagging. A finding is certain only when the
structure of the turn carries it and the wording agrees; wording alone makes a suspicion, which a judge may
look at. A sign of a legitimate stop turns a certainty that rests on wording into a suspicion. Where the host
keeps no transcript nothing is certain. A rule that is switched to "ask" is never certain, and one that is
switched off never fires.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.settings import RULE, Rules
from sidecar.model.turn import Turn
from sidecar.policy.rules.error_walked_away import error_walked_away
from sidecar.policy.rules.false_complete import false_complete
from sidecar.policy.rules.found import Finding, Legitimate, Weighed
from sidecar.policy.rules.legitimate import legitimate
from sidecar.policy.rules.likely import likely
from sidecar.policy.rules.look import Look, look_at
from sidecar.policy.rules.narration import narration
from sidecar.policy.rules.permission_seeking import permission_seeking
from sidecar.policy.rules.promised_next_step import promised_next_step
from sidecar.policy.rules.stopped_with_todos import stopped_with_todos

__all__ = ["RULES", "Finding", "Legitimate", "Rule", "Weighed", "weigh"]

DOUBT: Final = 0.4
"""Confidence of a finding that a legitimate stop, or its switch, takes the certainty from."""


class Rule(Struct, frozen=True, kw_only=True):
    """One rule.

    `precision`: the share of its certain findings that were right, on 2,000 fresh seeds of the corpus and the
    365 stops written by hand or executed (2026-11-22, docs/judging.md). `switch` gives its setting. `find` is
    None for the legitimate stops, which find nothing amiss. `worded`: its certainty rests on the ending's
    wording too, so that a sign of a legitimate stop weighs against it.
    """

    id: str
    reason: str
    switch: Callable[[Rules], RULE]
    find: Callable[[Look], Finding | None] | None = None
    worded: bool = True
    precision: float | None = None


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="false-complete",
        reason="the message claims what the tools' results contradict",
        switch=lambda rules: rules.false_complete,
        find=false_complete,
        worded=False,
        precision=47 / 47,
    ),
    Rule(
        id="error-walked-away",
        reason="the last command failed and the message passes over it",
        switch=lambda rules: rules.error_walked_away,
        find=error_walked_away,
        precision=50 / 51,
    ),
    Rule(
        id="stopped-with-todos",
        reason="work that the agent itself lists is open",
        switch=lambda rules: rules.stopped_with_todos,
        find=stopped_with_todos,
        precision=102 / 102,
    ),
    Rule(
        id="permission-seeking",
        reason="it asks leave for what was asked for",
        switch=lambda rules: rules.permission_seeking,
        find=permission_seeking,
        precision=57 / 57,
    ),
    Rule(
        id="narration",
        reason="it ends in the middle of an action",
        switch=lambda rules: rules.narration,
        find=narration,
        precision=27 / 27,
    ),
    Rule(
        id="promised-next-step",
        reason="it ends with what it will do next",
        switch=lambda rules: rules.promised_next_step,
        find=promised_next_step,
        precision=38 / 38,
    ),
    Rule(
        id="legitimate-stop",
        reason="the agent may rest",
        switch=lambda rules: rules.legitimate_stop,
        precision=83 / 87,
    ),
)
SPEAKS: Final = frozenset({"destructive", "credentials", "ambiguous", "waiting-outside", "impossible"})
"""Legitimate stops that any wording of them speaks for; the others do where they are certain."""


def weigh(turn: Turn, rules: Rules, *, goal: bool) -> Weighed:
    """What all rules make of a turn. `goal`: whether one is set."""
    look = look_at(turn, goal=goal)
    sign = _sign(look, rules)
    found = (
        _switched(rule, finding, rules, sign)
        for rule in RULES
        if rule.find and rule.switch(rules) != "off" and (finding := rule.find(look))
    )
    findings = tuple(sorted(found, key=lambda finding: not finding.certain))
    return Weighed(findings=findings, legitimate=sign, confidence=likely(look, findings, sign))


def _sign(look: Look, rules: Rules) -> Legitimate | None:
    if rules.legitimate_stop == "off":
        return None
    sign = legitimate(look)
    return replace(sign, certain=False) if sign and rules.legitimate_stop == "ask" else sign


def _switched(rule: Rule, finding: Finding, rules: Rules, sign: Legitimate | None) -> Finding:
    spoken_for = sign is not None and rule.worded and (sign.certain or sign.kind in SPEAKS)
    if finding.certain and (spoken_for or rule.switch(rules) == "ask"):
        return replace(finding, certain=False, confidence=DOUBT if spoken_for else finding.confidence)
    return finding
