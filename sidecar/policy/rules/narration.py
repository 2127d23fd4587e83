"""The message ends in the middle of an action: it tells what is being done, and nothing is.

Certain where the last sentence opens such an action or breaks off at a word that ends none, work was asked
for and nothing waits for the user. A bare colon at the end is a suspicion.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.model.turn import Doing
from sidecar.policy.lack import Lack
from sidecar.policy.rules.found import Finding
from sidecar.policy.rules.look import Look
from sidecar.policy.rules.message import asks, bare
from sidecar.policy.rules.promised_next_step import held_back, idle
from sidecar.policy.rules.words.book import find, opens, unfinished

KIND: Final = "narration"
WORDS: Final = 3
"""Words of the shortest sentence that breaks off."""


def narration(look: Look) -> Finding | None:
    """Tell of an action that does not follow."""
    sentence = look.message.last
    if not sentence or look.message.code_last or asks(sentence):
        return None
    breaks_off = bare(look.message.text).endswith((":", "..."))
    if _cut_off(look, sentence):
        return _found(sentence, certain=look.free and "?" not in look.message.end)
    hit = opens(sentence, look.message.spoken, "doing")
    if hit is None and breaks_off:
        hit = opens(sentence, look.message.spoken, "promise") or find(sentence, look.message.spoken, "acts")
    if hit is not None and idle(look, sentence, hit.end()):
        return None
    acted = any(call.doing in {Doing.EDIT, Doing.RUN, Doing.DELEGATE} for call in look.turn.calls)
    if hit is None and not (bare(look.message.text).endswith(":") and acted and look.wanted):
        return None
    certain = hit is not None and look.free and not held_back(look, sentence)
    certain = certain and not look.says(sentence, "later")
    return _found(sentence, certain=certain)


def _cut_off(look: Look, sentence: str) -> bool:
    """Whether the message breaks off within a sentence, at a word that ends none; a heading or a row may."""
    if not look.turn.calls or re.match(r"[\W\d]", sentence) or len(sentence.split()) < WORDS:
        return False
    return unfinished(look.message.spoken[0]).search(look.message.text) is not None


def _found(sentence: str, *, certain: bool) -> Finding:
    then = "Carry out the action that you announced."
    lack = Lack(kind=KIND, missing=(f"your message ends: {sentence[-300:]}",), next_step=then)
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.97 if certain else 0.7)
