"""A command failed, nothing made it good, and the message does not mention the failure.

A failure of a known kind (a check, an install, git) counts anywhere in the turn; another one where it is
that of the last command, or of a program that was not only probed. A message that mentions trouble in any way
is a report, and a report is good.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.claims.passed_over import PassedOver, find_passed_over
from sidecar.evidence.claims.utterances import claim_wording, compiled
from sidecar.evidence.message import BACKTICKED, CLAUSE
from sidecar.evidence.wording import has, mentions_trouble
from sidecar.judging.rules.found import RuleFinding, rule_finding
from sidecar.judging.rules.look import TurnFacts
from sidecar.judging.rules.reported_work import find_work_claim, last_sentences
from sidecar.judging.rules.stopped_with_todos import remaining_work

ERROR_WALKED_AWAY: Final = "error-walked-away"
SAY_OR_REPAIR: Final = (
    "Find out why it failed, repair it and run it again, or say plainly that it fails and why."
)
FAILURE_MARKS: Final = frozenset("\u274c\u2717\u2718")
"""Crosses that stand before what failed."""
CHECK_PATTERN: Final = r"tests?\b|build|lint|suite|spec|compil|check"
"""Words that mark a clause about a check."""


def find_error_walked_away(look: TurnFacts) -> RuleFinding | None:
    """Find a failure that the message passes over."""
    end = look.message.end
    if not (look.wanted and look.message.text) or _mentions_failure(look):
        return None
    if "?" in BACKTICKED.sub("", end) or has(end, "unclear", "impossible"):
        return None
    found = find_passed_over(look.turn)
    if found is not None and _is_told(look, re.escape(found.subject.rpartition(" ")[2])):
        return None
    return _passed_over(look, found) or _last_failure(look)


def _passed_over(look: TurnFacts, found: PassedOver | None) -> RuleFinding | None:
    if found is None or look.request.failure_wanted or not look.turn.readable:
        return None
    if not found.known and has(look.message.text, "denial"):  # it may be what the message tells of
        return None
    if look.request.holds and (found.is_check or not found.known):
        return None
    line = " ".join(found.call.command.split())[:200]
    missing = f"`{line}` failed, nothing made it good since, and your message passes over it"
    return replace(rule_finding(ERROR_WALKED_AWAY, missing, SAY_OR_REPAIR, certain=True), fact=found.known)


def _last_failure(look: TurnFacts) -> RuleFinding | None:
    failure = look.failure
    if failure is None:
        return None
    code = f" with exit code {failure.exit_code}" if failure.exit_code else ""
    since = "; you edited since and did not run it again" if failure.edited else ""
    missing = f"the last command failed{code} and your message passes over it: {failure.line}{since}"
    clear = failure.sure and (failure.check or not (look.checked or failure.unfound))
    certain = look.free and not look.request.failure_wanted and clear and bool(find_work_claim(look))
    return rule_finding(ERROR_WALKED_AWAY, missing, SAY_OR_REPAIR, certain=certain)


def _mentions_failure(look: TurnFacts) -> bool:
    """Whether the message says, in any way, that something is wrong."""
    text = look.message.text
    if mentions_trouble(text) or set(text) & FAILURE_MARKS or compiled(claim_wording().share).search(text):
        return True
    return _is_told(look, CHECK_PATTERN)


def _is_told(look: TurnFacts, subject: str) -> bool:
    """Whether a clause about the subject limits what it says, or the message lists it as left."""
    clauses = (clause for each in last_sentences(look) for clause in CLAUSE.split(each))
    denied = (clause for clause in clauses if has(clause, "denial"))
    return any(re.search(subject, each, re.IGNORECASE) for each in (*denied, *remaining_work(look)))
