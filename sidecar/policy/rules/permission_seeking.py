"""The turn ends by asking leave for what the user has asked for already.

Certain in seven cases, each with work asked for and nothing delicate near the question: it asks
- only to go on, in a turn that worked;
- only to begin, where the user ordered work and nothing is changed yet;
- to run the checks, where none ran since the last edit;
- to make the change, where nothing is changed yet;
- to do what is open on its own list, and asked for;
- to do a part that the user named and that was not touched;
- to do what the user named and nothing else, before any check has passed.
What goes beyond the request is an offer, and what deletes, publishes, costs or decides is the user's.
"""

from __future__ import annotations

from typing import Final

from sidecar.policy.lack import Lack
from sidecar.policy.rules.found import Finding
from sidecar.policy.rules.look import Asked, Look
from sidecar.policy.rules.message import asks
from sidecar.policy.rules.words.book import find

KIND: Final = "permission-seeking"
TODOS: Final = 20
"""Open entries of the agent's list that are compared."""
NEW: Final = 2
"""Words that the user did not use and that may stand in a question about a part of the request."""


def permission_seeking(look: Look) -> Finding | None:
    """Ask for leave, at the end of the last paragraph."""
    question = asked(look)
    if question is None or not look.turn.calls:
        return None
    certain = _certain(look, question)
    then = "Go on with it; you need no leave for what can be undone."
    lack = Lack(kind=KIND, missing=(question[-300:],), next_step=then)
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.97 if certain else _doubt(look))


def asked(look: Look) -> str | None:
    """The sentence of the last paragraph that asks for leave, from where it does; the last such."""
    last = look.message.paragraph
    for sentence in reversed(look.message.sentences):
        if sentence in last and (hit := find(sentence, look.message.spoken, "leave")):
            begun = sentence[hit.start() :]
            return begun if hit.end() < len(sentence) - 2 and asks(sentence) else sentence
    return None


def _certain(look: Look, question: str) -> bool:
    at_end = question[-60:] in "\n".join(look.message.sentences[-2:])
    if not (look.free and at_end) or look.message.code_last:
        return False
    near = look.message.paragraph
    if look.holds_up(near) or look.says(question, "either") or look.adds(question, "extra"):
        return False
    kinds = (_goes_on, _begins, _checks, _listed, _names)
    return any(kind(look, question) for kind in kinds)


def _goes_on(look: Look, question: str) -> bool:
    if not look.worked or not look.says(question, "onward"):
        return False
    above = "\n".join(look.message.paragraphs[-2:])
    if look.holds_up(above):
        return False
    new = look.topics(question) - look.request.topics
    return not new or (look.request.every and len(new) <= 1)


def _begins(look: Look, question: str) -> bool:
    """Whether it asks only to begin, where the user ordered work and nothing was changed yet."""
    if look.worked or look.request.asked is not Asked.WORK or not look.says(question, "onward"):
        return False
    return not look.topics(question) - look.request.topics and not look.holds_up(look.message.end)


def _checks(look: Look, question: str) -> bool:
    return look.worked and not look.checked and look.says(question, "checks") and _few_new(look, question, 1)


def _listed(look: Look, question: str) -> bool:
    """Whether it is about an entry that is open on the agent's own list, and that the user asked for."""
    told = look.topics(question)
    asked_for = look.request.topics
    return any(
        told & listed and told <= listed | asked_for and listed & asked_for
        for listed in map(look.topics, look.turn.open_todos[:TODOS])
    )


def _names(look: Look, question: str) -> bool:
    """Whether it is about what the user named."""
    told = look.topics(question)
    shared = told & look.request.topics
    if not look.worked:
        most = NEW if look.says(question, "applies") else 0
        named = most > 0 or bool(shared)
        return named and not look.holds_up(look.message.end) and _few_new(look, question, most)
    if shared - _touched(look, question) and _few_new(look, question, NEW):
        return True
    return bool(shared) and told <= look.request.topics and not look.checked


def _few_new(look: Look, question: str, most: int) -> bool:
    """Whether the user named nearly all that the question is about."""
    told = look.topics(question)
    shared = told & look.request.topics
    return len(told - shared) <= most or (most > 0 and 2 * len(shared) >= len(told))


def _touched(look: Look, question: str) -> frozenset[str]:
    """What the message told of before it asked, and what the edits and commands were about."""
    above = look.message.text.rsplit(question[:80], 1)[0]
    calls = look.turn.calls[-60:]
    did = "\n".join("\n".join((*call.paths[:20], call.command[:300])) for call in calls)
    return look.topics(above) | look.topics(did)


def _doubt(look: Look) -> float:
    near = look.message.end
    if look.holds_up(near):
        return 0.12
    return 0.25 if look.checked else 0.65
