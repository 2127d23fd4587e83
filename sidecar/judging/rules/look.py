"""The facts of a turn that the rules use: what was requested, what was done, and how the message ends.

The user's prompt is classified only by its kind: a request for work, a question, or unclear. How a rule uses
these facts is up to the rule.

Two texts are compared by the stems of their meaningful words. Endings are cut off roughly, so "tests" and
"test" are equal, and so are most forms of a word. In languages without spaces, pairs of characters stand for
words.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.edits import edit_places
from sidecar.evidence.claims.wording import BLOCKS, Utterance, utterances
from sidecar.judging.rules.message import (
    PLAIN_CHARACTERS,
    SENTENCE_BREAK,
    LastMessage,
    drop_backtick_names,
    ends_in_question,
    read_last_message,
)
from sidecar.judging.rules.worked import (
    CommandFailure,
    changed_nothing,
    check_passed_after_edits,
    last_command_failure,
)
from sidecar.judging.wording.book import Tongues, alternatives, finds, has, opens, stops, tongues, words
from sidecar.kernel.turn import CallOutcome, ToolAction, Turn

# --- Comparing two texts by their topics --------------------------------------------------------------------


TOPIC_TEXT_LIMIT: Final = 8_000
"""Characters of a text that are compared."""
TOPIC_WORD: Final = r"[a-z\u00df-\u024f\u0400-\u04ff]+|\d+|[\u4e00-\u9fff\u30a0-\u30ff]+|[\uac00-\ud7a3]+"
SPACED_LETTER: Final = r"[a-z\u00df-\u024f\u0400-\u04ff]"
HANGUL_LETTER: Final = r"[\uac00-\ud7a3]"
CAMEL_CASE_BREAK: Final = r"(?<=[a-z])(?=[A-Z])"
UNSPACED_LANGUAGES: Final = frozenset({"zh", "ja"})
"""Languages without spaces, in which a word may stand anywhere in a run of characters."""
STEM_LENGTH: Final = 5
"""Letters of a word that are compared."""
SHORTEST_TOPIC_WORD: Final = 3
"""Letters of the shortest word that is compared."""


def topic_stems(text: str, spoken: Tongues) -> frozenset[str]:
    """Return the stems of the meaningful words in a text."""
    spaced = re.sub(CAMEL_CASE_BREAK, " ", text[:TOPIC_TEXT_LIMIT]).lower().replace("n't", " ")
    for tongue in spoken:
        if tongue in UNSPACED_LANGUAGES:
            spaced = _stop_words_pattern(tongue).sub(" ", spaced)
    idle = frozenset[str]().union(*(stops(tongue) for tongue in spoken))
    return frozenset(stem for word in re.findall(TOPIC_WORD, spaced) for stem in _word_stems(word, idle))


@cache
def _stop_words_pattern(tongue: str) -> re.Pattern[str]:
    """Stop words, wherever they stand in a run of characters; the long ones first."""
    return re.compile("|".join(sorted(map(re.escape, stops(tongue)), key=len, reverse=True)))


def _word_stems(word: str, idle: frozenset[str]) -> tuple[str, ...]:
    if word in idle:
        return ()
    if word.isdigit():
        return (word,)
    if re.match(SPACED_LETTER, word):
        single = word[:-1] if word.endswith("s") and len(word) > SHORTEST_TOPIC_WORD else word
        return (single[:STEM_LENGTH],) if len(word) >= SHORTEST_TOPIC_WORD and single not in idle else ()
    if re.match(HANGUL_LETTER, word):
        return (word[:2],) if len(word) > 1 and word[:2] not in idle else ()
    pairs = (word[at : at + 2] for at in range(len(word) - 1))
    return tuple(pair for pair in pairs if pair not in idle)


# --- The facts of a turn ------------------------------------------------------------------------------------


PROMPT_READ_LIMIT: Final = 6_000
"""Characters of the prompts that are read, half from each end."""
DELICATE_FIELDS: Final = ("choice", "unclear", "rights", "outside", "cannot")
"""Wording about things that are the user's to decide, besides risky steps."""
CLAUSE_BREAK: Final = r"[.,;:()\n\u2013\u2014\u3002\u3001]"
PROMPT_SENTENCES: Final = 150
"""Sentences of the prompts that are read."""


class RequestKind(StrEnum):
    """What the user wants: a change, an answer, or not clear."""

    WORK = "work"
    ANSWER = "answer"
    UNCLEAR = "unclear"


class UserRequest(Struct, frozen=True):
    """What the user asked for.

    `spoken`: the languages to read it in. `topics`: the stems of what it mentions and does not exclude.
    `holds`: the agent is to ask or stop before it goes on. `every`: it asks for several things or all of
    something. `red`: it mentions failures that are expected or known.
    """

    text: str
    spoken: Tongues
    asked: RequestKind
    topics: frozenset[str]
    holds: bool
    every: bool
    red: bool


class TurnFacts(Struct, frozen=True):
    """The facts of one turn.

    `said`: the claims of the message that evidence can confirm or contradict. `worked`: files were edited, or
    work was delegated. `idle`: nothing can have changed. `checked`: a check passed after the last edit.
    `failure`: the last command, if it failed. `goal`: a goal is set.
    """

    turn: Turn
    message: LastMessage
    request: UserRequest
    said: tuple[Utterance, ...]
    worked: bool
    idle: bool
    checked: bool
    failure: CommandFailure | None
    goal: bool

    @property
    def wanted(self) -> bool:
        """Whether work was requested, by the user's words or as the agent understood them."""
        if self.request.asked is RequestKind.ANSWER:
            return self.goal and self.worked
        return self.request.asked is RequestKind.WORK or self.worked or self.goal

    @property
    def free(self) -> bool:
        """Whether the agent was free to go on.

        True if the transcript is readable, work was wanted, and the user did not tell the agent to ask or
        stop first.
        """
        return self.turn.readable and self.wanted and not self.request.holds

    def says(self, text: str, *fields: str) -> bool:
        """Whether a text of the message contains wording of these fields."""
        return has(text, self.message.spoken, *fields)

    def adds(self, text: str, *fields: str) -> bool:
        """Whether it contains such wording that the user did not use; wording of the user is no sign."""
        used = self.request.text.lower()
        return any(hit not in used for hit in finds(drop_backtick_names(text), self.message.spoken, *fields))

    def risks(self, text: str) -> bool:
        """Whether it mentions a dangerous step; a reversible one counts only if the user named none."""
        used, spoken = self.request.text.lower(), self.message.spoken
        hits = finds(drop_backtick_names(text), spoken, "risky")
        return any(hit not in used or not has(hit, spoken, "mild") for hit in hits)

    def holds_up(self, text: str) -> bool:
        """Whether a text mentions something that is for the user to decide, provide or allow."""
        return self.risks(text) or self.adds(text, *DELICATE_FIELDS)

    def topics(self, text: str) -> frozenset[str]:
        """Return the stems of what a text of the message mentions."""
        return topic_stems(text, self.message.spoken)


def read_turn_facts(turn: Turn, *, goal: bool) -> TurnFacts:
    """Collect the facts of a turn."""
    handed = any(
        call.doing is ToolAction.DELEGATE and call.outcome is not CallOutcome.FAILED for call in turn.calls
    )
    return TurnFacts(
        turn=turn,
        message=read_last_message(turn.last_message, "\n".join(turn.prompts)[-PROMPT_READ_LIMIT:]),
        request=read_user_request(turn.prompts, turn.last_message),
        said=utterances(turn.last_message),
        worked=handed or bool(edit_places(turn)),
        idle=changed_nothing(turn),
        checked=check_passed_after_edits(turn),
        failure=last_command_failure(turn),
        goal=goal,
    )


def read_user_request(prompts: tuple[str, ...], answer: str = "") -> UserRequest:
    """Read what the user asked for; `answer` sets the language if the prompts do not show one."""
    whole = "\n".join(prompts)
    cut = (
        whole
        if len(whole) <= PROMPT_READ_LIMIT
        else f"{whole[: PROMPT_READ_LIMIT // 2]}\n{whole[-PROMPT_READ_LIMIT // 2 :]}"
    )
    text = cut.translate(PLAIN_CHARACTERS)
    said = BLOCKS.sub(" ", text)
    spoken = tongues(said, answer[-PROMPT_READ_LIMIT:])
    return UserRequest(
        text=text,
        spoken=spoken,
        asked=_request_kind(said, spoken),
        topics=topic_stems(_without_exclusions(text, spoken), spoken),
        holds=has(said, spoken, "holds"),
        every=has(said, spoken, "every"),
        red=has(said, spoken, "red"),
    )


def _without_exclusions(text: str, spoken: Tongues) -> str:
    """The request without the clauses that exclude something from it."""
    clauses = re.split(CLAUSE_BREAK, text)
    return " ".join(each for each in clauses if not has(each, spoken, "spares"))


def _request_kind(text: str, spoken: Tongues) -> RequestKind:
    kinds = {
        _sentence_request_kind(sentence, spoken)
        for sentence in re.split(SENTENCE_BREAK, text)[:PROMPT_SENTENCES]
        if sentence.strip()
    }
    return next(
        (kind for kind in (RequestKind.WORK, RequestKind.ANSWER) if kind in kinds), RequestKind.UNCLEAR
    )


def _sentence_request_kind(sentence: str, spoken: Tongues) -> RequestKind:
    wonders = opens(sentence, spoken, "wonder")
    if wonders and ends_in_question(sentence):
        return RequestKind.ANSWER
    told = sentence[wonders.end() :] if wonders else sentence
    if any(_order_pattern(tongue).search(told) for tongue in spoken) or has(told, spoken, "work"):
        return RequestKind.WORK
    polite = any(_wonder_pattern(tongue).search(sentence) for tongue in spoken)
    return RequestKind.ANSWER if wonders or polite or ends_in_question(sentence) else RequestKind.UNCLEAR


@cache
def _order_pattern(tongue: str) -> re.Pattern[str]:
    return _opening_word_pattern(tongue, "verbs")


@cache
def _wonder_pattern(tongue: str) -> re.Pattern[str]:
    return _opening_word_pattern(tongue, "wonder")


def _opening_word_pattern(tongue: str, field: str) -> re.Pattern[str]:
    """Wording of this field where it opens a sentence or a clause, or follows a polite word."""
    said, polite = alternatives(tongue, field), alternatives(tongue, "polite")
    if not said:
        return re.compile(r"(?!)")
    if not words(tongue).spaced:
        return re.compile(said, re.IGNORECASE)
    before = rf"|(?<!\w)(?:{polite})[ ,:]{{1,3}}" if polite else ""
    return re.compile(rf"(?:(?:^|[,;:(]\s?)[\W\d_]{{0,8}}{before})(?:{said})", re.IGNORECASE)
