"""Two rules about the end of a message: it promises a next step, or it breaks off in the middle of an action.

A promised next step is certain if work was requested and the promise does not depend on anybody or anything;
reading files first makes no difference. Narration describes an action that does not follow. It is certain if
the last sentence opens such an action or ends in a colon,
work was requested, and nothing waits for the user. A message that breaks off within a sentence waits for
nobody.
"""

from __future__ import annotations

from typing import Final

from sidecar.evidence.message import drop_backtick_names, ends_in_question
from sidecar.evidence.wording import has, opens, pattern
from sidecar.judging.rules.found import RuleFinding, rule_finding
from sidecar.judging.rules.look import BLOCKING_FIELDS, TurnFacts

PROMISED_NEXT_STEP: Final = "promised-next-step"
NARRATION: Final = "narration"
FILLER_SENTENCES: Final = 2
"""Sentences after a promise that may only say how long it takes."""
EXCLAMATION_LENGTH: Final = 40
"""Characters up to which a sentence that ends in an exclamation mark says nothing."""
PROMISE_HEAD_LENGTH: Final = 14
"""Characters after the opening of a promise in which its verb begins."""


def find_promised_next_step(look: TurnFacts) -> RuleFinding | None:
    """Find a promise in the last sentence."""
    sentence = _last_meaningful_sentence(look)
    hit = opens(sentence, "promise") or pattern("promise_within").search(sentence)
    if hit is None and not look.worked and look.wanted:
        hit = pattern("ahead").search(sentence)
    if hit is None or _ends_otherwise(look, sentence) or _is_idle(sentence, hit.end()):
        return None
    certain = look.free and not _waits(look, sentence)
    certain = certain and not has(sentence, "later", "postponed") and not look.risks(sentence)
    missing, then = f"your message ends: {sentence[-300:]}", "Do now what you said you would do next."
    return rule_finding(PROMISED_NEXT_STEP, missing, then, certain=certain)


def find_narration(look: TurnFacts) -> RuleFinding | None:
    """Find the description of an action that does not follow."""
    sentence = look.message.last
    if not sentence or _ends_otherwise(look, sentence):
        return None
    if sentence[0].isalpha() and has(sentence, "broken_off"):
        return _narration(sentence, certain=look.free)
    hit = opens(sentence, "action")
    if hit is None and not (look.message.colon_last and look.wanted):
        return None
    if hit is not None and _is_idle(sentence, hit.end()):
        return None
    certain = look.free and not (
        _turns_to_user(sentence) if look.message.colon_last else _waits(look, sentence)
    )
    return _narration(sentence, certain=certain and not has(sentence, "later", "postponed"))


def _narration(sentence: str, *, certain: bool) -> RuleFinding:
    missing, then = f"your message ends: {sentence[-300:]}", "Carry out the action that you announced."
    return rule_finding(NARRATION, missing, then, certain=certain)


def _ends_otherwise(look: TurnFacts, sentence: str) -> bool:
    """Whether the message ends in code or in a question."""
    return look.message.code_last or ends_in_question(sentence)


def _is_idle(sentence: str, begun: int) -> bool:
    """Whether a promise whose opening ends at `begun` promises no work."""
    verb = pattern("idle").search(sentence[begun:])
    return verb is not None and verb.start() <= PROMISE_HEAD_LENGTH


def _waits(look: TurnFacts, sentence: str) -> bool:
    """Whether the end of the message waits for somebody, or asks.

    A condition in the sentence itself counts in any words. A condition in the sentences before it counts only
    if the user did not mention it, since there it may describe what the program does.
    """
    near = look.message.paragraph.replace(sentence, " ")
    for each in look.message.sentences[-FILLER_SENTENCES:]:
        if each != sentence and opens(each, "filler"):
            near = near.replace(each, " ")
    return (
        any(map(_turns_to_user, (each for each in look.message.sentences if "?" in each)))
        or has(drop_backtick_names(sentence), "condition", "users_turn")
        or look.adds(sentence, *BLOCKING_FIELDS)
        or look.adds(near, *BLOCKING_FIELDS, "condition")
        or has(look.message.end, "unclear", "users_turn")
    )


def _turns_to_user(sentence: str) -> bool:
    asked = ends_in_question(sentence) and has(sentence, "choice", "condition")
    return asked or has(sentence, "leave", "users_turn")


def _last_meaningful_sentence(look: TurnFacts) -> str:
    """Return the last sentence, skipping sentences such as "this won't take long"."""
    sentences = look.message.sentences
    kept = [
        each
        for each in sentences[-FILLER_SENTENCES - 1 :]
        if not opens(each, "filler") and not (each.endswith("!") and len(each) <= EXCLAMATION_LENGTH)
    ]
    return kept[-1] if kept else look.message.last
