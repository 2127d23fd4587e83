"""Applies all rules to one turn.

- Precision first: users forgive a missed early stop, but not nagging.
- A finding is certain only if the structure of the turn supports it and the wording agrees. Wording alone
  makes a suspicion, which is left to a judge.
- A sign of a legitimate stop turns a certainty into a suspicion, except a failure that a call of a known kind
  shows; one that is certain ends a suspicion.
- If the host keeps no transcript or is late with it, or the turn is not in English, nothing is certain.
- A rule set to "ask" is never certain; a rule set to "off" never fires.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.judging.rules.error_walked_away import find_error_walked_away
from sidecar.judging.rules.found import LegitimateStop, RuleAssessment, RuleFinding
from sidecar.judging.rules.legitimate import find_legitimate_stop
from sidecar.judging.rules.look import TurnFacts, read_turn_facts
from sidecar.judging.rules.permission_seeking import find_permission_seeking
from sidecar.judging.rules.promised_next_step import find_narration, find_promised_next_step
from sidecar.judging.rules.stopped_with_todos import find_stopped_with_todos
from sidecar.judging.rules.unread import find_unread_suspicions, find_unread_wait
from sidecar.kernel.settings import RULE_MODE, RuleSettings
from sidecar.kernel.turn import Turn

Find = Callable[[TurnFacts], RuleFinding | None]


class StopRule(Struct, frozen=True):
    """One rule.

    `find` is None for what is decided elsewhere: claims, and legitimate stops, which find nothing wrong.
    docs/judging.md has the share of the certain findings of each that were right.
    """

    id: str
    reason: str
    find: Find | None

    def switch(self, rules: RuleSettings) -> RULE_MODE:
        """Return the user's setting for this rule."""
        mode: RULE_MODE = getattr(rules, self.id.replace("-", "_"))
        return mode


STOP_RULES: Final[tuple[StopRule, ...]] = (
    StopRule("false-complete", "it claims what git, the files or a run contradict", None),
    StopRule("error-walked-away", "it passes over a command that failed", find_error_walked_away),
    StopRule("stopped-with-todos", "work that the agent itself lists is open", find_stopped_with_todos),
    StopRule("permission-seeking", "it asks leave for what was asked for", find_permission_seeking),
    StopRule("narration", "it ends in the middle of an action", find_narration),
    StopRule("promised-next-step", "it ends with what it will do next", find_promised_next_step),
    StopRule("legitimate-stop", "the agent may rest", None),
)
LEGITIMATE_STOP: Final = STOP_RULES[-1]
SUFFICIENT_STOP_KINDS: Final = frozenset({"destructive", "credentials", "waiting-outside", "impossible"})
"""Legitimate stops that outweigh a finding by wording alone; others must be certain to do so."""


@lru_cache(maxsize=1)  # they are applied to a turn when it was read, and when the project was
def apply_stop_rules(turn: Turn, rules: RuleSettings, *, goal: bool) -> RuleAssessment:
    """Apply all rules to a turn. `goal`: whether a goal is set."""
    look = read_turn_facts(turn, goal=goal)
    sign = _find_sign(look, LEGITIMATE_STOP.switch(rules))
    if look.english:
        found = [each for rule in STOP_RULES if rule.find and (each := rule.find(look)) is not None]
    else:
        found = [*find_unread_suspicions(look)]
    switched = [each for finding in found if (each := _apply_switch(finding, rules, sign)) is not None]
    if not turn.current:
        switched = [replace(finding, certain=False) for finding in switched]
    return RuleAssessment(
        findings=tuple(sorted(switched, key=lambda finding: not finding.certain)), legitimate=sign
    )


def _find_sign(look: TurnFacts, mode: RULE_MODE) -> LegitimateStop | None:
    if mode == "off":
        return None
    sign = find_legitimate_stop(look) if look.english else find_unread_wait(look)
    return replace(sign, certain=False) if sign and mode == "ask" else sign


def _apply_switch(
    finding: RuleFinding, rules: RuleSettings, sign: LegitimateStop | None
) -> RuleFinding | None:
    mode = next(each for each in STOP_RULES if each.id == finding.rule).switch(rules)
    if mode == "off":
        return None
    if finding.fact or sign is None:
        return replace(finding, certain=finding.certain and mode == "on")
    if sign.certain and not finding.certain:
        return None
    outweighed = sign.certain or sign.kind in SUFFICIENT_STOP_KINDS
    return replace(finding, certain=finding.certain and mode == "on" and not outweighed)
