"""The last thing that ran failed, nothing was run after it, and the message passes over it.

Certain where the message claims completion or reports edits without a word on the command, the failure is
surely that command's own, and the user spoke of no failure that is wanted. A message that mentions a failure
in any way is a report, and a report is good.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.policy.lack import Lack
from sidecar.policy.rules.claimed import claim, sentences
from sidecar.policy.rules.found import Finding
from sidecar.policy.rules.look import Look
from sidecar.policy.rules.message import plain
from sidecar.policy.rules.narration import narration
from sidecar.policy.rules.promised_next_step import promised_next_step
from sidecar.policy.rules.words.book import without
from sidecar.policy.rules.worked import Failure

KIND: Final = "error-walked-away"
TOOL: Final = r"[a-zA-Z][\w-]+"
TOOLS: Final = 3
"""Words of a line that name its command."""
SHORTEST: Final = 4
ASKS: Final = ("unclear", "rights", "cannot")
CHECK: Final = (
    r"(?i)tests?\b|build|lint|suite|spec|compil|check|prueba|teste|tester|essai|pr\u00fcf"
    r"|\u6d4b\u8bd5|\u6784\u5efa|\u7f16\u8bd1|\u30c6\u30b9\u30c8|\u30d3\u30eb\u30c9|\ud14c\uc2a4\ud2b8|\ube4c\ub4dc"
    r"|\u0442\u0435\u0441\u0442|\u0441\u0431\u043e\u0440\u043a"
)
"""What a sentence about a check is known by, in all languages."""


def error_walked_away(look: Look) -> Finding | None:
    """Walk away from a failure."""
    failure = look.failure
    if failure is None or not look.wanted or not look.turn.last_message.strip():
        return None
    if _mentions(look) or "?" in look.message.end or look.says(look.message.end, *ASKS):
        return None
    told = bool(claim(look)) or _tells_of_work(look, failure)
    certain = look.free and not look.request.red and _plain(look, failure) and told
    code = "" if not failure.exit_code else f" with exit code {failure.exit_code}"
    since = "; you edited since and did not run it again" if failure.edited else ""
    said = f"the last command failed{code} and your message passes over it: {failure.line}{since}"
    then = "Find out why it failed, repair it and run it again, or say plainly that it fails and why."
    lack = Lack(kind=KIND, missing=(said,), next_step=then)
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.97 if certain else 0.75)


def _plain(look: Look, failure: Failure) -> bool:
    """Whether the failure speaks for itself."""
    if not failure.sure:
        return False
    return failure.check or not (look.checked or failure.unfound or failure.edited)


def _tells_of_work(look: Look, failure: Failure) -> bool:
    """Whether the turn edited, the failure bears on what was asked, and the message is a report of the work.

    What changed can be told in any words ("the cache is dropped on a write"), so the structure decides. A
    message that names the command may tell of its failure in words that we do not know.
    """
    if not look.worked or promised_next_step(look) or narration(look):
        return False
    named = {word for word in re.findall(TOOL, failure.line)[:TOOLS] if len(word) >= SHORTEST}
    said = look.message.text.lower()
    if any(word.lower() in said for word in named - look.request.topics):
        return False
    return failure.check or bool(look.topics(failure.line) & look.request.topics)


def _mentions(look: Look) -> bool:
    """Whether the message says, in any way, that something is not as it should be."""
    told = without(plain(look.message.text), look.message.spoken, "mended")
    if look.says(told, "amiss"):
        return True
    return any(re.search(CHECK, each) and look.says(each, "denies") for each in sentences(look))
