"""A turn as the rules see it: what was asked for, what was done, and how the message ends.

The user's prompt is read for its kind only: an order, a question, or not clear. What a rule makes of it is
not known here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.model.turn import CallOutcome, Doing, Turn
from sidecar.policy.claims.edits import edits
from sidecar.policy.claims.wording import BLOCKS, Utterance, utterances
from sidecar.policy.rules.message import PLAIN, SENTENCE, Message, asks, message, plain
from sidecar.policy.rules.overlap import topics
from sidecar.policy.rules.words.book import Tongues, alternatives, finds, has, opens, tongues, words
from sidecar.policy.rules.worked import Failure, changed_nothing, checked, last_failure

READ: Final = 6_000
"""Characters of the prompts that are read: as many of their beginning as of their end."""
DELICATE: Final = ("choice", "unclear", "rights", "outside", "cannot")
"""Signs of what is the user's, besides what is risky."""
CLAUSE: Final = r"[.,;:()\n\u2013\u2014\u3002\u3001]"
SENTENCES: Final = 150
"""Sentences of the prompts that are read."""


class Asked(StrEnum):
    """What the user wants: a change, an answer, or what cannot be told."""

    WORK = "work"
    ANSWER = "answer"
    UNCLEAR = "unclear"


class Request(Struct, frozen=True):
    """What the user asked for.

    `spoken`: the languages to read it in. `topics` are what it speaks of and does not
    take out. `holds`: the agent is to ask or to
    stop before it goes on. `every`: it asks for several things or all of something. `red`: it speaks of
    failures that are wanted or known.
    """

    text: str
    spoken: Tongues
    asked: Asked
    topics: frozenset[str]
    holds: bool
    every: bool
    red: bool


class Look(Struct, frozen=True):
    """One turn.

    `said` are the claims of the message that evidence can show or contradict.
    `worked`: files were edited, or work was handed on. `idle`: nothing can have changed. `checked`: a check
    passed after the last edit. `failure`: the last thing that ran, where it failed. `goal`: one is set.
    """

    turn: Turn
    message: Message
    request: Request
    said: tuple[Utterance, ...]
    worked: bool
    idle: bool
    checked: bool
    failure: Failure | None
    goal: bool

    @property
    def wanted(self) -> bool:
        """Whether work was asked for, by the words of the user or by what the agent took them for."""
        if self.request.asked is Asked.ANSWER:
            return self.goal and self.worked
        return self.request.asked is Asked.WORK or self.worked or self.goal

    @property
    def free(self) -> bool:
        """Whether the turn is known, and the user neither asked to be asked nor to be told only."""
        return self.turn.readable and self.wanted and not self.request.holds

    def says(self, text: str, *fields: str) -> bool:
        """Whether a text of the message has such wording."""
        return has(text, self.message.spoken, *fields)

    def adds(self, text: str, *fields: str) -> bool:
        """Whether a text of the message has such wording that the user did not use: theirs is no sign."""
        used = self.request.text.lower()
        return any(hit not in used for hit in finds(plain(text), self.message.spoken, *fields))

    def risks(self, text: str) -> bool:
        """Whether it speaks of a dangerous step; one that can be undone counts where the user named none."""
        used, spoken = self.request.text.lower(), self.message.spoken
        hits = finds(plain(text), spoken, "risky")
        return any(hit not in used or not has(hit, spoken, "mild") for hit in hits)

    def holds_up(self, text: str) -> bool:
        """Whether a text has a sign of what is the user's to decide, to give or to allow."""
        return self.risks(text) or self.adds(text, *DELICATE)

    def topics(self, text: str) -> frozenset[str]:
        """What a text of the message speaks of."""
        return topics(text, self.message.spoken)


def look_at(turn: Turn, *, goal: bool) -> Look:
    """Read a turn."""
    handed = any(
        call.doing is Doing.DELEGATE and call.outcome is not CallOutcome.FAILED for call in turn.calls
    )
    return Look(
        turn=turn,
        message=message(turn.last_message, "\n".join(turn.prompts)[-READ:]),
        request=request(turn.prompts, turn.last_message),
        said=utterances(turn.last_message),
        worked=handed or bool(edits(turn)),
        idle=changed_nothing(turn),
        checked=checked(turn),
        failure=last_failure(turn),
        goal=goal,
    )


def request(prompts: tuple[str, ...], answer: str = "") -> Request:
    """Read what the user asked for; `answer` tells the language where the prompts do not."""
    whole = "\n".join(prompts)
    cut = whole if len(whole) <= READ else f"{whole[: READ // 2]}\n{whole[-READ // 2 :]}"
    text = cut.translate(PLAIN)
    said = BLOCKS.sub(" ", text)
    spoken = tongues(said, answer[-READ:])
    return Request(
        text=text,
        spoken=spoken,
        asked=_asked(said, spoken),
        topics=topics(_asked_for(text, spoken), spoken),
        holds=has(said, spoken, "holds"),
        every=has(said, spoken, "every"),
        red=has(said, spoken, "red"),
    )


def _asked_for(text: str, spoken: Tongues) -> str:
    """The request without the clauses that take something out of it."""
    clauses = re.split(CLAUSE, text)
    return " ".join(each for each in clauses if not has(each, spoken, "spares"))


def _asked(text: str, spoken: Tongues) -> Asked:
    kinds = {_kind(sentence, spoken) for sentence in re.split(SENTENCE, text)[:SENTENCES] if sentence.strip()}
    return next((kind for kind in (Asked.WORK, Asked.ANSWER) if kind in kinds), Asked.UNCLEAR)


def _kind(sentence: str, spoken: Tongues) -> Asked:
    wonders = opens(sentence, spoken, "wonder")
    if wonders and asks(sentence):
        return Asked.ANSWER
    told = sentence[wonders.end() :] if wonders else sentence
    if any(_orders(tongue).search(told) for tongue in spoken) or has(told, spoken, "work"):
        return Asked.WORK
    polite = any(_wonders(tongue).search(sentence) for tongue in spoken)
    return Asked.ANSWER if wonders or polite or asks(sentence) else Asked.UNCLEAR


@cache
def _orders(tongue: str) -> re.Pattern[str]:
    return _after_polite(tongue, "verbs")


@cache
def _wonders(tongue: str) -> re.Pattern[str]:
    return _after_polite(tongue, "wonder")


def _after_polite(tongue: str, field: str) -> re.Pattern[str]:
    """Such a word where it opens a sentence or a clause, or follows a polite one."""
    said, polite = alternatives(tongue, field), alternatives(tongue, "polite")
    if not said:
        return re.compile(r"(?!)")
    if not words(tongue).spaced:
        return re.compile(said, re.IGNORECASE)
    before = rf"|(?<!\w)(?:{polite})[ ,:]{{1,3}}" if polite else ""
    return re.compile(rf"(?:(?:^|[,;:(]\s?)[\W\d_]{{0,8}}{before})(?:{said})", re.IGNORECASE)
