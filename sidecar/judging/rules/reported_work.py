"""What the message says of the work, sentence by sentence; one that takes its claim back makes none."""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.message import CLAUSE, SENTENCE_BREAK, ends_in_question
from sidecar.evidence.wording import has, mentions_trouble
from sidecar.judging.rules.look import TurnFacts

WORK_FIELDS: Final = ("changed", "done", "passes")
CLAIM_SENTENCES: Final = 60
"""Sentences of a message that are examined, counted from its end."""


def last_sentences(look: TurnFacts) -> list[str]:
    """Return the last sentences of the message."""
    sentences = (each.strip() for each in re.split(SENTENCE_BREAK, look.message.text))
    return [each for each in sentences if each][-CLAIM_SENTENCES:]


def is_work_claim(sentence: str, *fields: str) -> bool:
    """Whether a sentence makes one of these claims about the work, or any of them if none is named."""
    if ends_in_question(sentence):
        return False
    clauses = CLAUSE.split(sentence)
    denied = (at for at, clause in enumerate(clauses, 1) if mentions_trouble(clause, "denial"))
    return has("; ".join(clauses[max(denied, default=0) :]), *(fields or WORK_FIELDS))


def find_work_claim(look: TurnFacts) -> str:
    """Return the first sentence that makes such a claim, "" if there is none."""
    return look.said[0].text if look.said else next(filter(is_work_claim, last_sentences(look)), "")
