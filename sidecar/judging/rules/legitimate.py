"""Finds signs of a legitimate stop: one that a user would call right.

A sign is certain if the structure agrees: the question itself names the choice, the danger or the key; the
closing sentences say what is missing and a call was blocked from outside; a question of the user was answered
and nothing was changed. A sentence that reports finished work is no sign. If a goal is set, an offer of more
and an honest report of a failure do not end the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sidecar.judging.rules.false_complete import find_work_claim, is_work_claim
from sidecar.judging.rules.found import LegitimateStop
from sidecar.judging.rules.look import RequestKind, TurnFacts
from sidecar.judging.rules.message import ends_in_question
from sidecar.judging.rules.permission_seeking import find_permission_question
from sidecar.judging.rules.promised_next_step import find_promised_next_step
from sidecar.judging.wording.book import opens, without
from sidecar.kernel.turn import CallOutcome

CLOSING_SENTENCES: Final = 6
"""Sentences at the end of a message that say why the agent stops."""
EXTERNAL_BLOCK: Final = (
    r"(?i)\b(?:40[137]|407|50[0234]|511)\b|unauthori[sz]|forbidden|permission denied|access denied"
    r"|not permitted|authenticat|credential|not logged in|log ?in (?:first|required|failed)"
    r"|invalid (?:token|key|password)"
    r"|e401|e403|no such host|could not resolve|resolve host|connection (?:refused|reset|timed out)"
    r"|econnrefused|enotfound|etimedout|network is unreachable|no route to host|timed? ?out|expired"
    r"|rate limit|quota|service unavailable|api[_ -]?key|(?:token|secret|password|key|variable)\w* "
    r"(?:is |was )?(?:not set|required|missing|unset)|missing (?:\w+ )?(?:token|secret|password|key|variable)"
    r"|certificate|host key verification|protected branch|no space left|no (?:\w+-?\w* )?device"
)
"""Tool output of a call blocked from outside: permissions, network, a service, missing equipment."""
RECENT_CALLS: Final = 60
"""Number of the last calls that are searched for an external block."""


def is_blocked_externally(look: TurnFacts) -> bool:
    """Whether a call of the turn failed for a cause outside of the project."""
    failed = (
        call
        for call in look.turn.calls[-RECENT_CALLS:]
        if call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
    )
    return any(re.search(EXTERNAL_BLOCK, call.output) for call in failed)


def find_legitimate_stop(look: TurnFacts) -> LegitimateStop | None:
    """Return the first certain sign, otherwise the first sign, in the order of LEGITIMATE_SIGNS."""
    found = [
        LegitimateStop(kind=kind, why=why, certain=bool(certain))
        for kind, why, sign, any_time in LEGITIMATE_SIGNS
        if (any_time or not look.goal) and (certain := sign(look)) is not None
    ]
    return next((each for each in found if each.certain), found[0] if found else None)


def ending_question(look: TurnFacts) -> str:
    """Return the question that the message ends with, "" if there is none."""
    ending = [each for each in look.message.sentences[-3:] if ends_in_question(each)]
    return " ".join(ending) or (find_permission_question(look) or "")


def closing_sentences(look: TurnFacts) -> tuple[str, ...]:
    """Return the last sentences, without those that report finished work."""
    return tuple(
        each for each in look.message.sentences[-CLOSING_SENTENCES:] if not is_work_claim(look, each)
    )


def _waits_for_user(look: TurnFacts) -> bool:
    """Whether the message ends with something that the user has to say or do."""
    return bool(ending_question(look)) or look.says(look.message.paragraph, "hinges", "yours", "leave")


def _only_offers_more(look: TurnFacts, said: str) -> bool:
    """Whether a question only offers more, after finished work."""
    return bool(find_work_claim(look)) and (look.checked or look.adds(said, "extra"))


def _destructive_sign(look: TurnFacts) -> bool | None:
    said = ending_question(look)
    near = closing_sentences(look)[-3:]
    if not _waits_for_user(look) or not look.risks("\n".join((look.message.paragraph, *near))):
        return None
    if look.risks(said):
        return not _only_offers_more(look, said) or look.adds(said, "risky")
    risky = any(look.risks(each) and not look.says(each, "extra") for each in near)
    risky = risky and look.request.asked is not RequestKind.ANSWER
    return risky and (bool(said) or look.says("\n".join(near), "yours")) and not _only_offers_more(look, said)


def _credentials_sign(look: TurnFacts) -> bool | None:
    near = closing_sentences(look)
    lacking = [each for each in near if look.says(each, "rights") and _says_access_missing(look, each)]
    if not lacking:
        return False if _waits_for_user(look) and look.adds(look.message.paragraph, "rights") else None
    last = "\n".join(near[-3:])
    asks_for_it = bool(ending_question(look)) or look.says(last, "yours") or is_blocked_externally(look)
    return asks_for_it and any(each in last for each in lacking)


def _says_access_missing(look: TurnFacts, sentence: str) -> bool:
    """Whether a sentence says that access is missing.

    If the user mentioned that access already, the sentence must address the user, or a call must be blocked.
    """
    if look.adds(sentence, "rights"):
        return look.says(sentence, "lacks", "yours")
    return look.says(sentence, "yours") or (is_blocked_externally(look) and look.adds(sentence, "lacks"))


def _ambiguous_sign(look: TurnFacts) -> bool | None:
    said = ending_question(look)
    if not said or not look.says(look.message.end, "unclear"):
        return None
    return look.adds(look.message.paragraph, "unclear") and not look.says(said, "onward")


def _decision_sign(look: TurnFacts) -> bool | None:
    """A question that offers a choice, or a non-permission question that more work cannot answer."""
    said = ending_question(look)
    if not said:
        told, end = "\n".join(closing_sentences(look)[-4:]), look.message.end
        lacks = look.says(told, "yours") and look.says(told, "lacks")
        return False if lacks and look.adds(end, "choice") else None
    leave = find_permission_question(look) is not None
    if leave and not look.says(look.message.end, "choice") and not look.says(said, "either"):
        return None
    if look.says(said, "onward") or _only_offers_more(look, said):
        return False
    new = bool(look.topics(said) - look.request.topics)
    open_question = new and not leave and not find_work_claim(look)
    return open_question or look.says(said, "either") or look.adds(said, "choice")


def _waiting_outside_sign(look: TurnFacts) -> bool | None:
    spoken = look.message.spoken
    near = [
        each
        for each in closing_sentences(look)[-4:]
        if look.says(each, "outside") and not opens(each, spoken, "filler")
    ]
    if not near or ends_in_question(look.message.last):
        return None
    failed = look.failure is not None and look.failure.check and not is_blocked_externally(look)
    if look.turn.open_todos or failed:
        return False
    told = "\n".join(closing_sentences(look)[-4:])
    waits = look.says(told, "hinges", "yours") or is_blocked_externally(look)
    return waits or (not find_work_claim(look) and look.says("\n".join(near), "lacks", "rest"))


def _impossible_sign(look: TurnFacts) -> bool | None:
    near = [each for each in closing_sentences(look) if look.says(each, "cannot")]
    if not near:
        return None
    shown = look.failure is not None or not look.worked
    return bool(look.turn.calls) and shown and not find_promised_next_step(look)


def _question_answered_sign(look: TurnFacts) -> bool | None:
    if look.request.asked is not RequestKind.ANSWER or look.worked or look.goal:
        return None
    return find_promised_next_step(look) is None and look.turn.readable


def _failure_reported_sign(look: TurnFacts) -> bool | None:
    left = without(look.message.text, look.message.spoken, "mended")
    return (
        False
        if look.says(left, "amiss") and (look.failure is not None or not find_work_claim(look))
        else None
    )


def _done_and_offer_sign(look: TurnFacts) -> bool | None:
    said = find_permission_question(look)
    if said is None or not look.worked:
        return None
    beyond = look.says(said, "extra") or bool(look.topics(said) - look.request.topics)
    return look.checked and bool(find_work_claim(look)) if beyond else None


LegitimateSign = Callable[[TurnFacts], bool | None]
LEGITIMATE_SIGNS: Final[tuple[tuple[str, str, LegitimateSign, bool], ...]] = (
    ("credentials", "it lacks a login, a key or a right", _credentials_sign, True),
    (
        "destructive",
        "it asks before a step that deletes, publishes, deploys or costs",
        _destructive_sign,
        True,
    ),
    ("ambiguous", "it asks which of several readings is meant", _ambiguous_sign, True),
    ("decision", "it asks for a choice that is the user's", _decision_sign, True),
    ("waiting-outside", "it waits for something outside", _waiting_outside_sign, True),
    ("impossible", "it says that it cannot be done", _impossible_sign, True),
    ("question-answered", "a question was answered and nothing was changed", _question_answered_sign, False),
    ("failure-reported", "it reports a failure as it is", _failure_reported_sign, False),
    ("done-and-offer", "what was asked for is done, and more is offered", _done_and_offer_sign, False),
)
"""Kind, reason, sign, and whether the sign counts even if a goal is set."""
