"""Two rules about the end of a message: it promises a next step, or it breaks off in the middle of an action.

A promised next step is certain if work was requested and the promise does not depend on anybody or anything.

Narration describes an action that does not follow. It is certain if the last sentence opens such an action,
or breaks off at a word that cannot end a sentence, work was requested, and nothing waits for the user. A bare
colon at the end is only a suspicion.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.judging.rules.found import RuleFinding
from sidecar.judging.rules.look import TurnFacts
from sidecar.judging.rules.message import drop_backtick_names, ends_in_question, strip_end_decoration
from sidecar.judging.wording.book import find, opens, unfinished
from sidecar.kernel.evidence import MissingWork
from sidecar.kernel.turn import ToolAction

PROMISED_NEXT_STEP: Final = "promised-next-step"
WAITING_FIELDS: Final = ("unclear", "rights", "outside", "cannot")
FILLER_SENTENCES: Final = 2
"""Sentences after a promise that may only say how long it takes."""
PROMISE_HEAD_LENGTH: Final = 14
"""Characters after the opening of a promise in which its verb begins, unless verbs may come late."""
LATE_VERB_LANGUAGES: Final = frozenset({"de", "zh", "ja", "ko"})
"""Languages in which the verb may stand anywhere in the sentence."""


def find_promised_next_step(look: TurnFacts) -> RuleFinding | None:
    """Find a promise in the last sentence."""
    sentence = last_meaningful_sentence(look)
    hit = _match_promise(look, sentence)
    if hit is None or look.message.code_last or ends_in_question(sentence):
        return None
    if is_idle_promise(look, sentence, hit.end()):
        return None
    certain = look.free and not ending_waits_or_asks(look, sentence)
    certain = certain and not look.says(sentence, "later") and not look.risks(sentence)
    then = "Do now what you said you would do next."
    lack = MissingWork(
        kind=PROMISED_NEXT_STEP, missing=(f"your message ends: {sentence[-300:]}",), next_step=then
    )
    return RuleFinding(
        rule=PROMISED_NEXT_STEP, certain=certain, lack=lack, confidence=0.97 if certain else 0.35
    )


def is_idle_promise(look: TurnFacts, sentence: str, begun: int) -> bool:
    """Whether a promise whose opening ends at `begun` promises no work."""
    late = look.message.spoken[0] in LATE_VERB_LANGUAGES
    verb = find(sentence if late else sentence[begun:], look.message.spoken, "idle")
    return verb is not None and (late or verb.start() <= PROMISE_HEAD_LENGTH)


def ending_waits_or_asks(look: TurnFacts, sentence: str) -> bool:
    """Whether the end of the message waits for somebody, or asks.

    A condition in the sentence itself counts in any words. A condition in the sentences before it counts only
    if the user did not mention it, since there it may describe what the program does.
    """
    near = look.message.paragraph.replace(sentence, " ")
    for each in look.message.sentences[-FILLER_SENTENCES:]:
        if each != sentence and opens(each, look.message.spoken, "filler"):
            near = near.replace(each, " ")
    return (
        "?" in look.message.end
        or look.says(drop_backtick_names(sentence), "hinges", "yours")
        or look.adds(sentence, *WAITING_FIELDS)
        or look.adds(near, *WAITING_FIELDS, "hinges")
        or look.says(look.message.end, "unclear", "yours")
    )


def last_meaningful_sentence(look: TurnFacts) -> str:
    """Return the last sentence, skipping sentences such as "this won't take long"."""
    sentences = look.message.sentences
    kept = [
        each for each in sentences[-FILLER_SENTENCES - 1 :] if not opens(each, look.message.spoken, "filler")
    ]
    return kept[-1] if kept and sentences[-1] != kept[-1] else look.message.last


def _match_promise(look: TurnFacts, sentence: str) -> re.Match[str] | None:
    return opens(sentence, look.message.spoken, "promise") or find(sentence, look.message.spoken, "nexts")


# --- Narration: the message ends in the middle of an action -------------------------------------------------


NARRATION: Final = "narration"
SHORTEST_CUT_SENTENCE: Final = 3
"""Words of the shortest sentence that counts as broken off."""


def find_narration(look: TurnFacts) -> RuleFinding | None:
    """Find the description of an action that does not follow."""
    sentence = look.message.last
    if not sentence or look.message.code_last or ends_in_question(sentence):
        return None
    breaks_off = strip_end_decoration(look.message.text).endswith((":", "..."))
    if _is_cut_off(look, sentence):
        return _narration_finding(sentence, certain=look.free and "?" not in look.message.end)
    hit = opens(sentence, look.message.spoken, "doing")
    if hit is None and breaks_off:
        hit = opens(sentence, look.message.spoken, "promise") or find(sentence, look.message.spoken, "acts")
    if hit is not None and is_idle_promise(look, sentence, hit.end()):
        return None
    acted = any(
        call.doing in {ToolAction.EDIT, ToolAction.RUN, ToolAction.DELEGATE} for call in look.turn.calls
    )
    if hit is None and not (strip_end_decoration(look.message.text).endswith(":") and acted and look.wanted):
        return None
    certain = hit is not None and look.free and not ending_waits_or_asks(look, sentence)
    certain = certain and not look.says(sentence, "later")
    return _narration_finding(sentence, certain=certain)


def _is_cut_off(look: TurnFacts, sentence: str) -> bool:
    """Whether the message breaks off within a sentence; headings and table rows do not count."""
    if not look.turn.calls or re.match(r"[\W\d]", sentence) or len(sentence.split()) < SHORTEST_CUT_SENTENCE:
        return False
    return unfinished(look.message.spoken[0]).search(look.message.text) is not None


def _narration_finding(sentence: str, *, certain: bool) -> RuleFinding:
    then = "Carry out the action that you announced."
    lack = MissingWork(kind=NARRATION, missing=(f"your message ends: {sentence[-300:]}",), next_step=then)
    return RuleFinding(rule=NARRATION, certain=certain, lack=lack, confidence=0.97 if certain else 0.7)
