"""The facts of a turn that the rules use: what was requested, what was done, and how the message ends.

The user's prompt is classified only by its kind: a request for work, a question, or unclear. How a rule uses
these facts is up to the rule.

Two texts are compared by the stems of their meaningful words. Endings are cut off roughly, so "tests" and
"test" are equal, and so are most forms of a word.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.turn_effects import edit_places
from sidecar.evidence.claims.utterances import Utterance, utterances
from sidecar.evidence.claims.worked import (
    CommandFailure,
    changed_nothing,
    check_passed_after_edits,
    is_blocked_externally,
    is_queued_externally,
    last_command_failure,
    took_edits_back,
)
from sidecar.evidence.message import (
    BLOCKS,
    PLAIN_CHARACTERS,
    SENTENCE_BREAK,
    LastMessage,
    drop_backtick_names,
    ends_in_question,
    read_last_message,
)
from sidecar.evidence.wording import clause_opening, found, has, is_english, opens, pattern, words
from sidecar.kernel.turn import CallOutcome, ToolAction, Turn

# --- Comparing two texts by their topics --------------------------------------------------------------------


TOPIC_WORD: Final = r"[^\W\d_]+|\d+"
STEM_LENGTH: Final = 5
"""Letters of a word that are compared."""
SHORTEST_TOPIC_WORD: Final = 3
"""Letters of the shortest word that is compared."""


def topic_stems(text: str) -> frozenset[str]:
    """Return the stems of the meaningful words in a text."""
    spaced = text.lower().replace("n't", " ")
    return frozenset(stem for word in re.findall(TOPIC_WORD, spaced) if (stem := _word_stem(word)))


def _word_stem(word: str) -> str:
    if word.isdigit():
        return word
    single = word[:-1] if word.endswith("s") and len(word) > SHORTEST_TOPIC_WORD else word
    idle = len(word) < SHORTEST_TOPIC_WORD or not words("ignored").isdisjoint((word, single))
    return "" if idle else single[:STEM_LENGTH]


# --- The facts of a turn ------------------------------------------------------------------------------------


PROMPT_READ_LIMIT: Final = 6_000
"""Characters of the prompts that are read, half from each end."""
BLOCKING_FIELDS: Final = ("unclear", "access", "outside", "impossible")
DELICATE_FIELDS: Final = ("choice", *BLOCKING_FIELDS)
"""Wording about things that are the user's to decide, besides risky steps."""
CLAUSE_BREAK: Final = r"[.,;:()\n\u2013\u2014]"


class RequestKind(StrEnum):
    """What the user wants: a change, an answer, or not clear."""

    WORK = "work"
    ANSWER = "answer"
    UNCLEAR = "unclear"


class UserRequest(Struct, frozen=True):
    """What the user asked for.

    `topics`: the stems of what it mentions and does not exclude. `holds`: the agent is to ask or stop before
    it goes on. `failure_wanted`: it mentions failures that are expected or known.
    """

    text: str
    asked: RequestKind
    topics: frozenset[str]
    holds: bool
    failure_wanted: bool


class TurnFacts(Struct, frozen=True):
    """The facts of one turn.

    `english`: the request and the message are. `said`: the claims of the message that evidence can confirm or
    contradict. `worked`: files were edited, or work was delegated. `idle`: nothing can have changed.
    `checked`: a check passed after the last edit. `failure`: the last command, if it failed. `blocked`: a
    call failed for a cause outside of the project. `queued`: the work waits in a queue. `given_up`: the agent
    took its own edits back at last. `goal`: a goal is set.
    """

    turn: Turn
    english: bool
    message: LastMessage
    request: UserRequest
    said: tuple[Utterance, ...]
    worked: bool
    idle: bool
    checked: bool
    failure: CommandFailure | None
    blocked: bool
    queued: bool
    given_up: bool
    goal: bool

    @property
    def wanted(self) -> bool:
        """Whether work may be wanted: all but an answer is taken for work."""
        return self.request.asked is not RequestKind.ANSWER or (self.goal and self.worked)

    @property
    def free(self) -> bool:
        """Whether the agent was free to go on.

        True if the transcript is readable, work was wanted, and the user did not tell the agent to ask or
        stop first.
        """
        return self.turn.readable and self.wanted and not self.request.holds

    def adds(self, text: str, *fields: str) -> bool:
        """Whether a text has such wording that the user did not use; wording of the user is no sign."""
        used = self.request.text.lower()
        return any(hit not in used for hit in found(drop_backtick_names(text), *fields))

    def risks(self, text: str) -> bool:
        """Whether it mentions a risky step; one that can be undone counts only if the user named none."""
        used = self.request.text.lower()
        hits = found(drop_backtick_names(text), "risky")
        return any(hit not in used or not has(hit, "undoable") for hit in hits)

    def is_for_user(self, text: str) -> bool:
        """Whether a text mentions something that is for the user to decide, provide or allow."""
        return self.risks(text) or self.adds(text, *DELICATE_FIELDS)


def read_turn_facts(turn: Turn, *, goal: bool) -> TurnFacts:
    """Collect the facts of a turn."""
    handed = any(
        call.doing is ToolAction.DELEGATE and call.outcome is not CallOutcome.FAILED for call in turn.calls
    )
    message, request = read_last_message(turn.last_message), read_user_request(turn.prompts)
    return TurnFacts(
        turn=turn,
        english=is_english(message.text, request.text) and is_english(request.text, message.text),
        message=message,
        request=request,
        said=utterances(turn.last_message),
        worked=handed or bool(edit_places(turn)),
        idle=changed_nothing(turn),
        checked=check_passed_after_edits(turn),
        failure=last_command_failure(turn),
        blocked=is_blocked_externally(turn),
        queued=is_queued_externally(turn),
        given_up=took_edits_back(turn),
        goal=goal,
    )


def read_user_request(prompts: tuple[str, ...]) -> UserRequest:
    """Read what the user asked for."""
    whole, half = "\n".join(prompts), PROMPT_READ_LIMIT // 2
    cut = whole if len(whole) <= PROMPT_READ_LIMIT else f"{whole[:half]}\n{whole[-half:]}"
    plain = cut.translate(PLAIN_CHARACTERS)
    text = BLOCKS.sub(" ", plain)
    clauses = re.split(CLAUSE_BREAK, plain)
    return UserRequest(
        text=plain,
        asked=_request_kind(text),
        topics=topic_stems(" ".join(each for each in clauses if not has(each, "excluded"))),
        holds=has(text, "hold"),
        failure_wanted=has(text, "failure_wanted"),
    )


def _request_kind(text: str) -> RequestKind:
    sentences = [each for each in re.split(SENTENCE_BREAK, text) if each.strip()]
    kinds = set(map(_sentence_request_kind, sentences))
    clear = (RequestKind.WORK, RequestKind.ANSWER)
    return next((kind for kind in clear if kind in kinds), RequestKind.UNCLEAR)


def _sentence_request_kind(sentence: str) -> RequestKind:
    if pattern("wants_run").fullmatch(sentence.strip(" .?!")):
        return RequestKind.ANSWER
    wonders = opens(sentence, "wants_answer")
    if wonders and ends_in_question(sentence):
        return RequestKind.ANSWER
    begin = wonders.end() if wonders else 0
    told = " ".join(re.split(CLAUSE_BREAK, sentence[begin:])[1:]) if wonders else sentence
    masked = pattern("no_order").sub(lambda hit: "x" * len(hit[0]), sentence)
    ordered = clause_opening("orders").search(masked, begin)
    if ordered or has(told, "wants_change"):
        return RequestKind.WORK
    asks = wonders or clause_opening("wants_answer").search(sentence) or ends_in_question(sentence)
    return RequestKind.ANSWER if asks else RequestKind.UNCLEAR
