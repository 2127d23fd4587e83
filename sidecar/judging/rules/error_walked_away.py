"""The last command failed, nothing was run after it, and the message does not mention the failure.

Certain if the message claims completion or reports edits without a word about the command, the failure is
clearly that command's own, and the user mentioned no expected failure. A message that mentions a failure in
any way counts as a report, and a report is good.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.judging.rules.false_complete import find_work_claim, last_sentences
from sidecar.judging.rules.found import RuleFinding
from sidecar.judging.rules.look import TurnFacts
from sidecar.judging.rules.message import drop_backtick_names
from sidecar.judging.rules.promised_next_step import find_narration, find_promised_next_step
from sidecar.judging.rules.worked import CommandFailure
from sidecar.judging.wording.book import without
from sidecar.kernel.evidence import MissingWork

ERROR_WALKED_AWAY: Final = "error-walked-away"
COMMAND_WORD: Final = r"[a-zA-Z][\w-]+"
COMMAND_WORD_LIMIT: Final = 3
"""Words of a shell line, from its start, that identify its command."""
SHORTEST_COMMAND_WORD: Final = 4
ASKING_FIELDS: Final = ("unclear", "rights", "cannot")
CHECK_PATTERN: Final = (
    r"(?i)tests?\b|build|lint|suite|spec|compil|check|prueba|teste|tester|essai|pr\u00fcf"
    r"|\u6d4b\u8bd5|\u6784\u5efa|\u7f16\u8bd1|\u30c6\u30b9\u30c8|\u30d3\u30eb\u30c9|\ud14c\uc2a4\ud2b8|\ube4c\ub4dc"
    r"|\u0442\u0435\u0441\u0442|\u0441\u0431\u043e\u0440\u043a"
)
"""Words that mark a sentence about a check, in all languages."""


def find_error_walked_away(look: TurnFacts) -> RuleFinding | None:
    """Find a failure that the message passes over."""
    failure = look.failure
    if failure is None or not look.wanted or not look.turn.last_message.strip():
        return None
    if _mentions_failure(look) or "?" in look.message.end or look.says(look.message.end, *ASKING_FIELDS):
        return None
    told = bool(find_work_claim(look)) or _reports_related_work(look, failure)
    certain = look.free and not look.request.red and _is_clear_failure(look, failure) and told
    code = "" if not failure.exit_code else f" with exit code {failure.exit_code}"
    since = "; you edited since and did not run it again" if failure.edited else ""
    said = f"the last command failed{code} and your message passes over it: {failure.line}{since}"
    then = "Find out why it failed, repair it and run it again, or say plainly that it fails and why."
    lack = MissingWork(kind=ERROR_WALKED_AWAY, missing=(said,), next_step=then)
    return RuleFinding(
        rule=ERROR_WALKED_AWAY, certain=certain, lack=lack, confidence=0.97 if certain else 0.75
    )


def _is_clear_failure(look: TurnFacts, failure: CommandFailure) -> bool:
    """Whether the failure is clear without further evidence."""
    if not failure.sure:
        return False
    return failure.check or not (look.checked or failure.unfound or failure.edited)


def _reports_related_work(look: TurnFacts, failure: CommandFailure) -> bool:
    """Whether the turn edited, the failure relates to the request, and the message reports the work.

    A change can be described in any words ("the cache is dropped on a write"), so the structure decides. A
    message that names the command is excluded: it may report the failure in words that are not known here.
    """
    if not look.worked or find_promised_next_step(look) or find_narration(look):
        return False
    named = {
        word
        for word in re.findall(COMMAND_WORD, failure.line)[:COMMAND_WORD_LIMIT]
        if len(word) >= SHORTEST_COMMAND_WORD
    }
    said = look.message.text.lower()
    if any(word.lower() in said for word in named - look.request.topics):
        return False
    return failure.check or bool(look.topics(failure.line) & look.request.topics)


def _mentions_failure(look: TurnFacts) -> bool:
    """Whether the message says, in any way, that something is wrong."""
    told = without(drop_backtick_names(look.message.text), look.message.spoken, "mended")
    if look.says(told, "amiss"):
        return True
    return any(re.search(CHECK_PATTERN, each) and look.says(each, "denies") for each in last_sentences(look))
