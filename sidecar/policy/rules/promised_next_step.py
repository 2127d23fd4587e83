"""The message ends with what the agent will do next, and the turn ends there.

Certain where work was asked for and nothing makes the promise wait for somebody or something.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.policy.lack import Lack
from sidecar.policy.rules.found import Finding
from sidecar.policy.rules.look import Look
from sidecar.policy.rules.message import asks, plain
from sidecar.policy.rules.words.book import find, opens

KIND: Final = "promised-next-step"
WAITS: Final = ("unclear", "rights", "outside", "cannot")
FILLERS: Final = 2
"""Sentences after a promise that may only say how long it takes."""
HEAD: Final = 14
"""Characters after the opening of a promise in which its verb begins, where it does not stand at the end."""
LATE: Final = frozenset({"de", "zh", "ja", "ko"})
"""Languages whose verb may stand anywhere in the sentence."""


def promised_next_step(look: Look) -> Finding | None:
    """Promise, in the last sentence."""
    sentence = last_but_filler(look)
    hit = _promise(look, sentence)
    if hit is None or look.message.code_last or asks(sentence):
        return None
    if idle(look, sentence, hit.end()):
        return None
    certain = look.free and not held_back(look, sentence)
    certain = certain and not look.says(sentence, "later") and not look.risks(sentence)
    then = "Do now what you said you would do next."
    lack = Lack(kind=KIND, missing=(f"your message ends: {sentence[-300:]}",), next_step=then)
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.97 if certain else 0.35)


def idle(look: Look, sentence: str, begun: int) -> bool:
    """Whether a promise that opens so far is one of no work."""
    late = look.message.spoken[0] in LATE
    verb = find(sentence if late else sentence[begun:], look.message.spoken, "idle")
    return verb is not None and (late or verb.start() <= HEAD)


def held_back(look: Look, sentence: str) -> bool:
    """Whether the end of the message waits for somebody, or asks.

    What the sentence itself makes conditional counts in any words, what stands before it where the user did
    not speak of it: there it may tell of what the program does.
    """
    near = look.message.paragraph.replace(sentence, " ")
    for each in look.message.sentences[-FILLERS:]:
        if each != sentence and opens(each, look.message.spoken, "filler"):
            near = near.replace(each, " ")
    return (
        "?" in look.message.end
        or look.says(plain(sentence), "hinges", "yours")
        or look.adds(sentence, *WAITS)
        or look.adds(near, *WAITS, "hinges")
        or look.says(look.message.end, "unclear", "yours")
    )


def last_but_filler(look: Look) -> str:
    """The last sentence; where it only says that it will not take long or be reported, the one before."""
    sentences = look.message.sentences
    kept = [each for each in sentences[-FILLERS - 1 :] if not opens(each, look.message.spoken, "filler")]
    return kept[-1] if kept and sentences[-1] != kept[-1] else look.message.last


def _promise(look: Look, sentence: str) -> re.Match[str] | None:
    return opens(sentence, look.message.spoken, "promise") or find(sentence, look.message.spoken, "nexts")
