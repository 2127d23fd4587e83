"""Finds signs of a legitimate stop: one that a user would call right.

A sign is certain if the structure agrees: the question itself names the choice, the danger or the key; the
closing sentences say what is missing and a call was blocked from outside; a question of the user was answered
and nothing was changed. A sentence that reports finished work is no sign. If a goal is set, an offer of more
does not end the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sidecar.evidence.message import ends_in_question
from sidecar.evidence.wording import has, opens
from sidecar.judging.rules.found import LegitimateStop
from sidecar.judging.rules.look import RequestKind, TurnFacts, topic_stems
from sidecar.judging.rules.permission_seeking import (
    asks_for_the_rest,
    find_permission_question,
    repeats_order,
)
from sidecar.judging.rules.promised_next_step import find_narration, find_promised_next_step
from sidecar.judging.rules.reported_work import find_work_claim, is_work_claim
from sidecar.kernel.turn import CallOutcome, ToolAction

CLOSING_SENTENCES: Final = 6
"""Sentences at the end of a message that say why the agent stops."""
UNSURE_FIELDS: Final = ("impossible", "outside", "access", "users_turn")
BLOCKING_SENTENCES: Final = 4
"""Sentences at the end of a message that say what it waits for."""


def find_legitimate_stop(look: TurnFacts) -> LegitimateStop | None:
    """Return the first certain sign, otherwise the first sign, in the order of LEGITIMATE_SIGNS."""
    cut = find_narration(look)
    if cut is not None and cut.certain:
        return None
    found = [
        LegitimateStop(kind=kind, why=why, certain=bool(certain))
        for kind, why, sign, any_time in LEGITIMATE_SIGNS
        if (any_time or not look.goal) and (certain := sign(look)) is not None
    ]
    return next((each for each in found if each.certain), found[0] if found else None)


def _ending_question(look: TurnFacts) -> str:
    """Return the question that the message ends with, "" if there is none."""
    ending = [each for each in look.message.sentences[-3:] if ends_in_question(each)]
    return " ".join(ending) or find_permission_question(look)


def _closing_sentences(look: TurnFacts, number: int = CLOSING_SENTENCES) -> list[str]:
    """Return the last sentences, without those that report finished work."""
    closing = [each for each in look.message.sentences[-CLOSING_SENTENCES:] if not is_work_claim(each)]
    return closing[-number:]


def _waits_for_user(look: TurnFacts) -> bool:
    """Whether the message ends with something that the user has to say or do."""
    return bool(_ending_question(look)) or has(look.message.paragraph, "condition", "users_turn", "leave")


def _only_offers_more(look: TurnFacts, said: str) -> bool:
    """Whether a question only offers more, after finished work."""
    return bool(find_work_claim(look)) and (look.checked or look.adds(said, "extra"))


def _destructive_sign(look: TurnFacts) -> bool | None:
    said, near = _ending_question(look), _closing_sentences(look, 3)
    told = "\n".join((look.message.paragraph, *near))
    if not _waits_for_user(look) or repeats_order(look) or not look.risks(told):
        return None
    if look.risks(said):
        return not _only_offers_more(look, said) or look.adds(said, "risky")
    risky = any(look.risks(each) and not has(each, "extra") for each in near)
    asks = bool(said) or has("\n".join(near), "users_turn")
    work = look.request.asked is not RequestKind.ANSWER
    return risky and work and asks and not _only_offers_more(look, said)


def _credentials_sign(look: TurnFacts) -> bool | None:
    """Access is missing: a call was blocked and the message says so, or its last sentences turn to the user.

    With a goal the agent would be sent back to the same closed door by the check that fails for it.
    """
    near = _closing_sentences(look)
    turns = has("\n".join(near[-3:]), "users_turn")
    told = turns or (look.goal and has("\n".join(near), "access", "refused"))
    if look.blocked and told and not find_permission_question(look):
        return True
    lacks = any(look.adds(each, "access") and has(each, "users_turn", "denial") for each in near[-3:])
    return True if lacks and (turns or look.blocked or _ending_question(look)) else None


def _decision_sign(look: TurnFacts) -> bool | None:
    """A question that offers a choice, or a non-permission question that more work cannot answer."""
    said, leave = _ending_question(look), bool(find_permission_question(look))
    if not said and not look.worked and "?" in look.message.text:  # an alternative, asked in a list
        return True if has(look.message.last, "choice") else None
    if not said or (leave and not has(look.message.end, "choice")):
        return None
    asks_anew = bool(topic_stems(said) - look.request.topics) and not leave
    if asks_anew and look.adds(look.message.end, "choice"):
        return True
    if has(said, "onward", "plan") or _only_offers_more(look, said):
        return False
    return (asks_anew and not find_work_claim(look)) or look.adds(said, "choice")


def _waiting_outside_sign(look: TurnFacts) -> bool | None:
    closing = _closing_sentences(look, BLOCKING_SENTENCES)
    waits = ("outside", "condition") if look.queued else ("outside",)
    near = [each for each in closing if has(each, *waits) and not opens(each, "filler")]
    if not near or find_permission_question(look) or ends_in_question(look.message.last):
        return None
    failed = look.failure is not None and look.failure.check and not look.blocked
    if look.turn.open_todos or failed:
        return False
    return has("\n".join(closing), "condition", "users_turn") or look.blocked or look.queued


def _impossible_sign(look: TurnFacts) -> bool | None:
    """It says so where it closes or, with a goal that something tried speaks against, anywhere."""
    runs = [call for call in look.turn.calls if call.doing is ToolAction.RUN]
    failed = any(call.outcome is CallOutcome.FAILED for call in look.turn.calls)
    tried = look.goal and (failed or (not look.worked and len(runs) > 1))
    told = look.message.text if tried else "\n".join(_closing_sentences(look))
    if not (has(told, "impossible") or (look.goal and look.given_up)):
        return None
    shown = look.failure is not None or look.given_up or tried or not look.worked
    return bool(look.turn.calls) and shown and not find_promised_next_step(look)


def _question_answered_sign(look: TurnFacts) -> bool | None:
    if look.request.asked is not RequestKind.ANSWER or look.worked:
        return None
    return find_promised_next_step(look) is None and look.turn.readable


def _done_and_offer_sign(look: TurnFacts) -> bool | None:
    said = find_permission_question(look)
    if not said or not look.worked or asks_for_the_rest(look, said):
        return None
    beyond = has(said, "extra") or bool(topic_stems(said) - look.request.topics)
    return look.checked and bool(find_work_claim(look)) if beyond else None


def _unsure_sign(look: TurnFacts) -> bool | None:
    """Closing words of waiting, missing access or impossibility; with a goal a condition or a question."""
    closing = "\n".join(look.message.sentences[-CLOSING_SENTENCES:])
    asks = look.goal and ("?" in look.message.end or has(closing, "condition", "unclear"))
    return False if asks or has(closing, *UNSURE_FIELDS) else None


LegitimateSign = Callable[[TurnFacts], bool | None]
LEGITIMATE_SIGNS: Final[tuple[tuple[str, str, LegitimateSign, bool], ...]] = (
    ("credentials", "it lacks a login, a key or a right", _credentials_sign, True),
    ("destructive", "it asks before a step that deletes, publishes or costs", _destructive_sign, True),
    ("decision", "it asks for a choice that is the user's", _decision_sign, True),
    ("waiting-outside", "it waits for something outside", _waiting_outside_sign, True),
    ("impossible", "it says that it cannot be done", _impossible_sign, True),
    ("unsure", "its closing words may say that others must go on", _unsure_sign, True),
    ("question-answered", "a question was answered and nothing was changed", _question_answered_sign, False),
    ("done-and-offer", "what was asked for is done, and more is offered", _done_and_offer_sign, False),
)
"""Kind, reason, sign, and whether the sign counts even if a goal is set."""
