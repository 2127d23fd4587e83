"""Applies all rules to one turn, and estimates how likely the stop is premature.

Principles:

- Precision first: users forgive a missed early stop, but not nagging.
- A finding is certain only if the structure of the turn supports it and the wording agrees. Wording alone
  makes a suspicion, which is left to a judge.
- A sign of a legitimate stop turns a certainty that rests on wording into a suspicion.
- If the host keeps no transcript, nothing is certain.
- A rule set to "ask" is never certain; a rule set to "off" never fires.

The likelihood sums weights of evidence in log odds. The weights were set by hand, from what users of agents
report and from the shares of a mix fixed beforehand. They rank stops and are not measured probabilities. Two
small terms refine the ranking: the number of tool calls and the length of the message.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.judging.rules.error_walked_away import find_error_walked_away
from sidecar.judging.rules.false_complete import find_false_complete, find_work_claim
from sidecar.judging.rules.found import LegitimateStop, RuleAssessment, RuleFinding
from sidecar.judging.rules.legitimate import find_legitimate_stop
from sidecar.judging.rules.look import RequestKind, TurnFacts, read_turn_facts
from sidecar.judging.rules.message import ends_in_question, strip_end_decoration
from sidecar.judging.rules.permission_seeking import find_permission_seeking
from sidecar.judging.rules.promised_next_step import find_narration, find_promised_next_step
from sidecar.judging.rules.stopped_with_todos import find_stopped_with_todos
from sidecar.kernel.settings import RULE_MODE, RuleSettings
from sidecar.kernel.turn import Turn

# --- Likelihood that a stop is premature --------------------------------------------------------------------


BASE_LOG_ODDS: Final = -1.6
"""Log odds of a stop about which nothing is known: one in six is premature."""
CALLS_SATURATION: Final = 60
LETTERS_SATURATION: Final = 3_000
"""Calls and characters beyond which more of them make no difference."""
SMALL_TERM_WEIGHT: Final = 0.35
"""Weight of a small term over its whole range."""

UNSURE_SIGN_WEIGHTS: Final = {"failure-reported": 0.2, "decision": 0.0, "done-and-offer": 0.2}
"""Weights of uncertain signs of a legitimate stop; kinds not listed weigh 0.8."""

LikelihoodSign = Callable[[TurnFacts], bool]
LIKELIHOOD_SIGNS: Final[tuple[tuple[float, LikelihoodSign], ...]] = (
    (-1.6, lambda look: look.request.asked is RequestKind.ANSWER and not look.worked),
    (0.5, lambda look: look.request.asked is RequestKind.WORK),
    (0.9, lambda look: look.request.asked is RequestKind.WORK and not look.worked),
    (-1.1, lambda look: look.checked),
    (0.6, lambda look: look.worked and not look.checked),
    (1.3, lambda look: look.failure is not None and not look.says(look.message.text, "amiss")),
    (-0.5, lambda look: look.failure is not None and look.says(look.message.text, "amiss")),
    (-0.9, lambda look: bool(find_work_claim(look))),
    (1.2, lambda look: bool(look.turn.open_todos)),
    (1.5, lambda look: strip_end_decoration(look.message.text).endswith((":", "..."))),
    (-0.4, lambda look: ends_in_question(look.message.last)),
    (0.6, lambda look: look.says(look.message.paragraph, "rest")),
    (-0.6, lambda look: look.says(look.message.paragraph, "later")),
    (-1.2, lambda look: look.request.holds),
    (0.8, lambda look: look.goal),
    (0.8, lambda look: not look.message.text),
)


def premature_likelihood(
    look: TurnFacts, findings: tuple[RuleFinding, ...], legitimate: LegitimateStop | None
) -> float:
    """Return 0 to 1; certain findings come out near their own confidence, all else below."""
    odds = (
        BASE_LOG_ODDS
        + sum(weight for weight, sign in LIKELIHOOD_SIGNS if sign(look))
        + _small_terms_weight(look)
    )
    for each in findings:
        odds += _log_odds(each.confidence) * (1.5 if each.certain else 0.5) + (3.0 if each.certain else 0.6)
    if legitimate is not None:
        odds -= 2.6 if legitimate.certain else UNSURE_SIGN_WEIGHTS.get(legitimate.kind, 0.8)
    return round(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), 6)


def _small_terms_weight(look: TurnFacts) -> float:
    calls = min(len(look.turn.calls), CALLS_SATURATION) / CALLS_SATURATION
    letters = min(len(look.message.text), LETTERS_SATURATION) / LETTERS_SATURATION
    return SMALL_TERM_WEIGHT * (0.5 - letters) - SMALL_TERM_WEIGHT * (calls - 0.5)


def _log_odds(chance: float) -> float:
    return math.log(chance / (1 - chance)) if 0 < chance < 1 else 0.0


# --- Applying all rules to one turn -------------------------------------------------------------------------


DOUBT_CONFIDENCE: Final = 0.4
"""Confidence of a finding that is no longer certain because of a sign of a legitimate stop."""


class StopRule(Struct, frozen=True, kw_only=True):
    """One rule.

    `precision`: the share of its certain findings that were right, on 2,000 fresh seeds of the corpus and the
    365 stops written by hand or executed (2026-11-22, docs/judging.md). `switch` returns its setting. `find`
    is None for the legitimate stops, which find nothing wrong. `worded`: its certainty also rests on the
    wording of the ending, so a sign of a legitimate stop weighs against it.
    """

    id: str
    reason: str
    switch: Callable[[RuleSettings], RULE_MODE]
    find: Callable[[TurnFacts], RuleFinding | None] | None = None
    worded: bool = True
    precision: float | None = None


STOP_RULES: Final[tuple[StopRule, ...]] = (
    StopRule(
        id="false-complete",
        reason="the message claims what the tools' results contradict",
        switch=lambda rules: rules.false_complete,
        find=find_false_complete,
        worded=False,
        precision=47 / 47,
    ),
    StopRule(
        id="error-walked-away",
        reason="the last command failed and the message passes over it",
        switch=lambda rules: rules.error_walked_away,
        find=find_error_walked_away,
        precision=50 / 51,
    ),
    StopRule(
        id="stopped-with-todos",
        reason="work that the agent itself lists is open",
        switch=lambda rules: rules.stopped_with_todos,
        find=find_stopped_with_todos,
        precision=102 / 102,
    ),
    StopRule(
        id="permission-seeking",
        reason="it asks leave for what was asked for",
        switch=lambda rules: rules.permission_seeking,
        find=find_permission_seeking,
        precision=57 / 57,
    ),
    StopRule(
        id="narration",
        reason="it ends in the middle of an action",
        switch=lambda rules: rules.narration,
        find=find_narration,
        precision=27 / 27,
    ),
    StopRule(
        id="promised-next-step",
        reason="it ends with what it will do next",
        switch=lambda rules: rules.promised_next_step,
        find=find_promised_next_step,
        precision=38 / 38,
    ),
    StopRule(
        id="legitimate-stop",
        reason="the agent may rest",
        switch=lambda rules: rules.legitimate_stop,
        precision=83 / 87,
    ),
)
SUFFICIENT_STOP_KINDS: Final = frozenset(
    {"destructive", "credentials", "ambiguous", "waiting-outside", "impossible"}
)
"""Legitimate stops that outweigh a finding by wording alone; others must be certain to do so."""


def apply_stop_rules(turn: Turn, rules: RuleSettings, *, goal: bool) -> RuleAssessment:
    """Apply all rules to a turn. `goal`: whether a goal is set."""
    look = read_turn_facts(turn, goal=goal)
    sign = _find_legitimate_sign(look, rules)
    found = (
        _apply_rule_switch(rule, finding, rules, sign)
        for rule in STOP_RULES
        if rule.find and rule.switch(rules) != "off" and (finding := rule.find(look))
    )
    findings = tuple(sorted(found, key=lambda finding: not finding.certain))
    return RuleAssessment(
        findings=findings, legitimate=sign, confidence=premature_likelihood(look, findings, sign)
    )


def _find_legitimate_sign(look: TurnFacts, rules: RuleSettings) -> LegitimateStop | None:
    if rules.legitimate_stop == "off":
        return None
    sign = find_legitimate_stop(look)
    return replace(sign, certain=False) if sign and rules.legitimate_stop == "ask" else sign


def _apply_rule_switch(
    rule: StopRule, finding: RuleFinding, rules: RuleSettings, sign: LegitimateStop | None
) -> RuleFinding:
    spoken_for = sign is not None and rule.worded and (sign.certain or sign.kind in SUFFICIENT_STOP_KINDS)
    if finding.certain and (spoken_for or rule.switch(rules) == "ask"):
        return replace(
            finding, certain=False, confidence=DOUBT_CONFIDENCE if spoken_for else finding.confidence
        )
    return finding
