"""Turns for the tests of the rules: what was asked, what was done, how the message ends."""

from __future__ import annotations

from typing import TypeAlias

from sidecar.model.settings import Rules
from sidecar.model.turn import ToolCall, Turn
from sidecar.policy.rules import Weighed, weigh
from support.cases import edited, ran

Calls: TypeAlias = tuple[ToolCall, ...]
EDITED = (edited("src/parser.py"),)
FOUND = (ran("grep -rn total src"),)
CHECKED = (edited("src/parser.py"), ran("pytest -q", output="12 passed in 0.4s"))
FAILED = (edited("src/parser.py"), ran("pytest -q", 1, output="1 failed, 11 passed in 0.4s"))


def weighed(prompt: str, message: str, calls: Calls = EDITED, *, goal: bool = False) -> Weighed:
    """Weigh a turn in which these calls were made."""
    seen = Turn(prompts=(prompt,), calls=calls, last_message=message, last_message_id="m1")
    return weigh(seen, Rules(), goal=goal)


def certain(found: Weighed) -> tuple[str, ...]:
    """The rules that would send the agent back."""
    return tuple(finding.rule for finding in found.findings if finding.certain)
