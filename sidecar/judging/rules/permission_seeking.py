"""The turn ends by asking for permission to do what the user has already asked for.

Certain in seven cases, if work was requested and nothing near the question is for the user to decide. The
question asks:

- only to go on, in a turn that did work;
- only to begin, if the user requested work and nothing has been changed yet;
- to run the checks, if none has run since the last edit;
- to make the change, if nothing has been changed yet;
- to do what is open on the agent's own list and was requested;
- to do a part that the user named and that was not touched;
- to do what the user named and nothing else, before any check has passed.

Anything beyond the request is an offer; anything that deletes, publishes, costs or decides is up to the user.
"""

from __future__ import annotations

from typing import Final

from sidecar.judging.rules.found import RuleFinding
from sidecar.judging.rules.look import RequestKind, TurnFacts
from sidecar.judging.rules.message import ends_in_question
from sidecar.judging.wording.book import find
from sidecar.kernel.evidence import MissingWork

PERMISSION_SEEKING: Final = "permission-seeking"
COMPARED_TODOS: Final = 20
"""Open entries of the agent's list that are compared."""
NEW_TOPIC_LIMIT: Final = 2
"""Words that the user did not use and that a question about a part of the request may add."""


def find_permission_seeking(look: TurnFacts) -> RuleFinding | None:
    """Find a request for permission in the last paragraph."""
    question = find_permission_question(look)
    if question is None or not look.turn.calls:
        return None
    certain = _is_certain_permission_case(look, question)
    then = "Go on with it; you need no leave for what can be undone."
    lack = MissingWork(kind=PERMISSION_SEEKING, missing=(question[-300:],), next_step=then)
    return RuleFinding(
        rule=PERMISSION_SEEKING,
        certain=certain,
        lack=lack,
        confidence=0.97 if certain else _uncertain_confidence(look),
    )


def find_permission_question(look: TurnFacts) -> str | None:
    """Return the last request for permission in the last paragraph, from where it begins."""
    last = look.message.paragraph
    for sentence in reversed(look.message.sentences):
        if sentence in last and (hit := find(sentence, look.message.spoken, "leave")):
            begun = sentence[hit.start() :]
            return begun if hit.end() < len(sentence) - 2 and ends_in_question(sentence) else sentence
    return None


def _is_certain_permission_case(look: TurnFacts, question: str) -> bool:
    at_end = question[-60:] in "\n".join(look.message.sentences[-2:])
    if not (look.free and at_end) or look.message.code_last:
        return False
    near = look.message.paragraph
    if look.holds_up(near) or look.says(question, "either") or look.adds(question, "extra"):
        return False
    kinds = (
        _asks_to_continue,
        _asks_to_begin,
        _asks_to_run_checks,
        _asks_for_listed_todo,
        _asks_for_named_work,
    )
    return any(kind(look, question) for kind in kinds)


def _asks_to_continue(look: TurnFacts, question: str) -> bool:
    if not look.worked or not look.says(question, "onward"):
        return False
    above = "\n".join(look.message.paragraphs[-2:])
    if look.holds_up(above):
        return False
    new = look.topics(question) - look.request.topics
    return not new or (look.request.every and len(new) <= 1)


def _asks_to_begin(look: TurnFacts, question: str) -> bool:
    """Whether it only asks to begin, although work was requested and nothing was changed yet."""
    if look.worked or look.request.asked is not RequestKind.WORK or not look.says(question, "onward"):
        return False
    return not look.topics(question) - look.request.topics and not look.holds_up(look.message.end)


def _asks_to_run_checks(look: TurnFacts, question: str) -> bool:
    return (
        look.worked
        and not look.checked
        and look.says(question, "checks")
        and _adds_few_topics(look, question, 1)
    )


def _asks_for_listed_todo(look: TurnFacts, question: str) -> bool:
    """Whether it is about an open entry of the agent's own list that the user asked for."""
    told = look.topics(question)
    asked_for = look.request.topics
    return any(
        told & listed and told <= listed | asked_for and listed & asked_for
        for listed in map(look.topics, look.turn.open_todos[:COMPARED_TODOS])
    )


def _asks_for_named_work(look: TurnFacts, question: str) -> bool:
    """Whether it is about what the user named."""
    told = look.topics(question)
    shared = told & look.request.topics
    if not look.worked:
        most = NEW_TOPIC_LIMIT if look.says(question, "applies") else 0
        named = most > 0 or bool(shared)
        return named and not look.holds_up(look.message.end) and _adds_few_topics(look, question, most)
    if shared - _touched_topics(look, question) and _adds_few_topics(look, question, NEW_TOPIC_LIMIT):
        return True
    return bool(shared) and told <= look.request.topics and not look.checked


def _adds_few_topics(look: TurnFacts, question: str, most: int) -> bool:
    """Whether the user named nearly everything that the question is about."""
    told = look.topics(question)
    shared = told & look.request.topics
    return len(told - shared) <= most or (most > 0 and 2 * len(shared) >= len(told))


def _touched_topics(look: TurnFacts, question: str) -> frozenset[str]:
    """What the message mentions before the question, and what the edits and commands were about."""
    above = look.message.text.rsplit(question[:80], 1)[0]
    calls = look.turn.calls[-60:]
    did = "\n".join("\n".join((*call.paths[:20], call.command[:300])) for call in calls)
    return look.topics(above) | look.topics(did)


def _uncertain_confidence(look: TurnFacts) -> float:
    near = look.message.end
    if look.holds_up(near):
        return 0.12
    return 0.25 if look.checked else 0.65
