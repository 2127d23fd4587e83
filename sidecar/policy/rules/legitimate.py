"""Signs that the agent may rest: the stops that a user would call right.

A sign is certain where the structure agrees: the question itself names the choice, the danger or the key; the
closing sentences say what is lacking and a call met a closed door; a question of the user was answered and
nothing was changed. A sentence that tells of work that is done is no sign. With a goal set, an offer of more
and an honest failure are no end of the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sidecar.model.turn import CallOutcome
from sidecar.policy.rules.claimed import claim, claims
from sidecar.policy.rules.found import Legitimate
from sidecar.policy.rules.look import Asked, Look
from sidecar.policy.rules.message import asks
from sidecar.policy.rules.permission_seeking import asked
from sidecar.policy.rules.promised_next_step import promised_next_step
from sidecar.policy.rules.words.book import opens, without

CLOSING: Final = 6
"""Sentences at the end of a message that say why it stops."""
WALL: Final = (
    r"(?i)\b(?:40[137]|407|50[0234]|511)\b|unauthori[sz]|forbidden|permission denied|access denied"
    r"|not permitted|authenticat|credential|not logged in|log ?in (?:first|required|failed)"
    r"|invalid (?:token|key|password)"
    r"|e401|e403|no such host|could not resolve|resolve host|connection (?:refused|reset|timed out)"
    r"|econnrefused|enotfound|etimedout|network is unreachable|no route to host|timed? ?out|expired"
    r"|rate limit|quota|service unavailable|api[_ -]?key|(?:token|secret|password|key|variable)\w* "
    r"(?:is |was )?(?:not set|required|missing|unset)|missing (?:\w+ )?(?:token|secret|password|key|variable)"
    r"|certificate|host key verification|protected branch|no space left|no (?:\w+-?\w* )?device"
)
"""What a tool says that met a closed door: rights, the network, a service, what the machine lacks."""
CALLS: Final = 60
"""Calls, the last ones, that are looked through for one."""


def tried(look: Look) -> bool:
    """Whether a call of the turn met a closed door."""
    failed = (
        call
        for call in look.turn.calls[-CALLS:]
        if call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
    )
    return any(re.search(WALL, call.output) for call in failed)


def legitimate(look: Look) -> Legitimate | None:
    """The first sign that is certain, else the first that holds, in the order of the table."""
    found = [
        Legitimate(kind=kind, why=why, certain=bool(certain))
        for kind, why, sign, any_time in SIGNS
        if (any_time or not look.goal) and (certain := sign(look)) is not None
    ]
    return next((each for each in found if each.certain), found[0] if found else None)


def question(look: Look) -> str:
    """The question that the message ends with, "" where it ends with none."""
    ending = [each for each in look.message.sentences[-3:] if asks(each)]
    return " ".join(ending) or (asked(look) or "")


def closing(look: Look) -> tuple[str, ...]:
    """The last sentences that do not tell of work that is done."""
    return tuple(each for each in look.message.sentences[-CLOSING:] if not claims(look, each))


def _waits(look: Look) -> bool:
    """Whether the message ends with something that the user is to say or do."""
    return bool(question(look)) or look.says(look.message.paragraph, "hinges", "yours", "leave")


def _offer(look: Look, said: str) -> bool:
    """Whether a question only offers more, after work that is done."""
    return bool(claim(look)) and (look.checked or look.adds(said, "extra"))


def _destructive(look: Look) -> bool | None:
    said = question(look)
    near = closing(look)[-3:]
    if not _waits(look) or not look.risks("\n".join((look.message.paragraph, *near))):
        return None
    if look.risks(said):
        return not _offer(look, said) or look.adds(said, "risky")
    risky = any(look.risks(each) and not look.says(each, "extra") for each in near)
    risky = risky and look.request.asked is not Asked.ANSWER
    return risky and (bool(said) or look.says("\n".join(near), "yours")) and not _offer(look, said)


def _credentials(look: Look) -> bool | None:
    near = closing(look)
    lacking = [each for each in near if look.says(each, "rights") and _lacks(look, each)]
    if not lacking:
        return False if _waits(look) and look.adds(look.message.paragraph, "rights") else None
    last = "\n".join(near[-3:])
    asks_for_it = bool(question(look)) or look.says(last, "yours") or tried(look)
    return asks_for_it and any(each in last for each in lacking)


def _lacks(look: Look, sentence: str) -> bool:
    """Whether it says that something is not there; what the user spoke of needs an address to the user."""
    if look.adds(sentence, "rights"):
        return look.says(sentence, "lacks", "yours")
    return look.says(sentence, "yours") or (tried(look) and look.adds(sentence, "lacks"))


def _ambiguous(look: Look) -> bool | None:
    said = question(look)
    if not said or not look.says(look.message.end, "unclear"):
        return None
    return look.adds(look.message.paragraph, "unclear") and not look.says(said, "onward")


def _decision(look: Look) -> bool | None:
    """A question with a choice, or one that asks for no leave and cannot be answered by working on."""
    said = question(look)
    if not said:
        told, end = "\n".join(closing(look)[-4:]), look.message.end
        lacks = look.says(told, "yours") and look.says(told, "lacks")
        return False if lacks and look.adds(end, "choice") else None
    leave = asked(look) is not None
    if leave and not look.says(look.message.end, "choice") and not look.says(said, "either"):
        return None
    if look.says(said, "onward") or _offer(look, said):
        return False
    new = bool(look.topics(said) - look.request.topics)
    open_question = new and not leave and not claim(look)
    return open_question or look.says(said, "either") or look.adds(said, "choice")


def _outside(look: Look) -> bool | None:
    spoken = look.message.spoken
    near = [
        each
        for each in closing(look)[-4:]
        if look.says(each, "outside") and not opens(each, spoken, "filler")
    ]
    if not near or asks(look.message.last):
        return None
    failed = look.failure is not None and look.failure.check and not tried(look)
    if look.turn.open_todos or failed:
        return False
    told = "\n".join(closing(look)[-4:])
    waits = look.says(told, "hinges", "yours") or tried(look)
    return waits or (not claim(look) and look.says("\n".join(near), "lacks", "rest"))


def _impossible(look: Look) -> bool | None:
    near = [each for each in closing(look) if look.says(each, "cannot")]
    if not near:
        return None
    shown = look.failure is not None or not look.worked
    return bool(look.turn.calls) and shown and not promised_next_step(look)


def _answered(look: Look) -> bool | None:
    if look.request.asked is not Asked.ANSWER or look.worked or look.goal:
        return None
    return promised_next_step(look) is None and look.turn.readable


def _reported(look: Look) -> bool | None:
    left = without(look.message.text, look.message.spoken, "mended")
    return False if look.says(left, "amiss") and (look.failure is not None or not claim(look)) else None


def _offers(look: Look) -> bool | None:
    said = asked(look)
    if said is None or not look.worked:
        return None
    beyond = look.says(said, "extra") or bool(look.topics(said) - look.request.topics)
    return look.checked and bool(claim(look)) if beyond else None


Sign = Callable[[Look], bool | None]
SIGNS: Final[tuple[tuple[str, str, Sign, bool], ...]] = (
    ("credentials", "it lacks a login, a key or a right", _credentials, True),
    ("destructive", "it asks before a step that deletes, publishes, deploys or costs", _destructive, True),
    ("ambiguous", "it asks which of several readings is meant", _ambiguous, True),
    ("decision", "it asks for a choice that is the user's", _decision, True),
    ("waiting-outside", "it waits for something outside", _outside, True),
    ("impossible", "it says that it cannot be done", _impossible, True),
    ("question-answered", "a question was answered and nothing was changed", _answered, False),
    ("failure-reported", "it reports a failure as it is", _reported, False),
    ("done-and-offer", "what was asked for is done, and more is offered", _offers, False),
)
"""Kind, reason, sign, and whether it counts with a goal too."""
