"""What a turn shows if its request or its message is not English: suspicions, and nothing certain.

The structure alone raises one: open to-dos, a last command that failed, a message that ends in a colon. So
does wording, for a language with a file in `data/wording`. Whether the stop waits for the user is told from
its structure too: it ends in a question, a call was blocked from outside, or calls changed nothing.
"""

from __future__ import annotations

from typing import Final

from sidecar.evidence.wording import suspicious_fields
from sidecar.judging.rules.found import UNREAD, LegitimateStop, RuleFinding, rule_finding
from sidecar.judging.rules.look import TurnFacts
from sidecar.judging.rules.stopped_with_todos import STOPPED_WITH_TODOS, journal_finding

RULES: Final = {
    "leave": "permission-seeking",
    "promise": "promised-next-step",
    "narration": "narration",
    "rest": STOPPED_WITH_TODOS,
}
"""The rule that each field of another language's wording stands for."""


def find_unread_suspicions(look: TurnFacts) -> tuple[RuleFinding, ...]:
    """Return the suspicions; none is certain."""
    if not look.turn.calls:
        return ()
    message = look.message
    ending = "\n".join(message.sentences[-2:])
    rules = [RULES[field] for field in suspicious_fields(message.text, ending)]
    if message.colon_last:
        rules.append("narration")
    found = [_suspicion(rule, f"your message ends: {message.last[-300:]}") for rule in dict.fromkeys(rules)]
    if look.failure is not None and look.failure.sure:
        found.append(_suspicion("error-walked-away", f"the last command failed: {look.failure.line}"))
    if look.turn.open_todos and look.turn.changed:
        found.append(_suspicion(STOPPED_WITH_TODOS, look.turn.open_todos[:10]))
    return (*found, *filter(None, [journal_finding(look)]))


def find_unread_wait(look: TurnFacts) -> LegitimateStop | None:
    """Return the sign that the agent may wait for the user: never certain, none where nobody saw the turn."""
    if not look.turn.readable:
        return None
    tried = look.turn.calls and not look.worked
    if not (tried or look.blocked or look.given_up or "?" in look.message.end):
        return None
    return LegitimateStop(kind=UNREAD, why="it may wait for the user, in a language not read", certain=False)


def _suspicion(rule: str, missing: str | tuple[str, ...]) -> RuleFinding:
    return rule_finding(rule, missing, "Go on, or say what keeps you from it.", certain=False)
