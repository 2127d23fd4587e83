"""Turns for the tests of the rules: what was asked, what was done, how the message ends."""

from __future__ import annotations

from typing import TypeAlias

from sidecar.judging.rules.every import apply_stop_rules
from sidecar.judging.rules.found import RuleAssessment
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import ToolCall, Turn
from support.cases import edited, ran

Calls: TypeAlias = tuple[ToolCall, ...]
EDITED = (edited("src/parser.py"),)
FOUND = (ran("grep -rn total src"),)
CHECKED = (edited("src/parser.py"), ran("pytest -q", output="12 passed in 0.4s"))
FAILED = (edited("src/parser.py"), ran("pytest -q", 1, output="1 failed, 11 passed in 0.4s"))


def weighed(prompt: str, message: str, calls: Calls = EDITED, *, goal: bool = False) -> RuleAssessment:
    """Weigh a turn in which these calls were made."""
    seen = Turn(prompts=(prompt,), calls=calls, last_message=message, last_message_id="m1")
    return apply_stop_rules(seen, RuleSettings(), goal=goal)


def certain(found: RuleAssessment) -> tuple[str, ...]:
    """The rules that would send the agent back."""
    return tuple(finding.rule for finding in found.findings if finding.certain)
