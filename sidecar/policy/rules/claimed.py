"""Whether a message says that the work is done, sentence by sentence; one that takes it back says nothing."""

from __future__ import annotations

import re
from typing import Final

from sidecar.policy.rules.look import Look
from sidecar.policy.rules.message import SENTENCE, asks, plain
from sidecar.policy.rules.words.book import without

WORK: Final = ("made", "done", "passes")
SENTENCES: Final = 60
"""Sentences of a message that are looked at, the last ones."""


def sentences(look: Look) -> list[str]:
    """The last sentences of the message."""
    return [each.strip() for each in re.split(SENTENCE, look.message.text) if each.strip()][-SENTENCES:]


def claim(look: Look) -> str:
    """The first sentence that says that the work is done or passes, "" where none does."""
    if look.said:
        return look.said[0].text
    return next((each for each in sentences(look) if claims(look, each, *WORK)), "")


def claim_of_change(look: Look, *, any_way: bool) -> str:
    """The first sentence that says that the agent made a change; `any_way`: or that the work is done."""
    fields = ("made", "done") if any_way else ("made",)
    return next((each for each in sentences(look) if claims(look, each, *fields)), "")


def claims_tests_pass(look: Look) -> str:
    """The sentence that says that tests pass, other than `utterances` finds it; "" where none does."""
    return next((each for each in sentences(look) if claims(look, each, "passes")), "")


def claims(look: Look, sentence: str, *fields: str) -> bool:
    """Whether a sentence says one of these of the work, or any of them where none is named."""
    fields = fields or WORK
    if asks(sentence) or not look.says(sentence, *fields):
        return False
    left = without(plain(sentence), look.message.spoken, "mended")
    return not look.says(left, "amiss", "denies")
