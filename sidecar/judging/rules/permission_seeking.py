"""The turn ends by asking for permission to do what the user has already asked for.

Certain if work was requested, nothing near the question is for the user to decide, and the question asks:

- only to go on or to begin;
- to approve the agent's own plan, if nothing has been changed yet;
- to run the checks, if none has run since the last edit;
- to make the change, if nothing has been changed yet;
- to do a part that the user named and that was not touched;
- to do what the user named and nothing else, before any check has passed.

Anything beyond the request is an offer; anything that deletes, publishes, costs or decides is up to the user.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.judging.rules.found import RuleFinding, rule_finding
from sidecar.judging.rules.look import RequestKind, TurnFacts, topic_stems
from sidecar.judging.rules.message import SENTENCE_BREAK, ends_in_question
from sidecar.judging.rules.stopped_with_todos import remaining_work
from sidecar.judging.wording import clause_opening, has, pattern

PERMISSION_SEEKING: Final = "permission-seeking"
COMPARED_CALLS: Final = 60
"""Calls whose subjects are compared."""
CHECKS_WITHIN: Final = 30
"""Characters from the beginning of a question in which it names the checks."""
NEW_TOPIC_LIMIT: Final = 2
"""Words that the user did not use and that a question about a part of the request may add."""


def find_permission_seeking(look: TurnFacts) -> RuleFinding | None:
    """Find a request for permission in the last paragraph."""
    question = find_permission_question(look)
    if not question or not look.turn.calls:
        return None
    certain = _is_certain(look, question)
    then = "Go on with it; you need no leave for what can be undone."
    return rule_finding(PERMISSION_SEEKING, question[-300:], then, certain=certain)


def find_permission_question(look: TurnFacts) -> str:
    """Return the last request for permission in the last paragraph, from where it begins; "" if none."""
    for sentence in reversed(look.message.sentences):
        if sentence in look.message.paragraph and (hit := pattern("leave").search(sentence)):
            begun = sentence[hit.start() :]
            return begun if hit.end() < len(sentence) - 2 and ends_in_question(sentence) else sentence
    return look.message.last if repeats_order(look) else ""


def repeats_order(look: TurnFacts) -> bool:
    """Whether the last sentence asks, without a subject, for what the prompt orders: "Fix it?"."""
    last, order = look.message.last, clause_opening("orders")
    hit = order.match(last) if ends_in_question(last) else None
    if hit is None or look.risks(look.request.text):
        return False
    sentences = re.split(SENTENCE_BREAK, look.request.text)
    verbs = {each[0].strip(" ,;:(").lower() for one in sentences for each in order.finditer(one)}
    return hit[0].strip(" *_").lower() in verbs and not topic_stems(last) - look.request.topics


def _is_certain(look: TurnFacts, question: str) -> bool:
    at_end = question[-60:] in "\n".join(look.message.sentences[-2:])
    if not (look.free and at_end) or look.message.code_last:
        return False
    if repeats_order(look):
        return True
    if look.is_for_user(look.message.paragraph):
        return False
    if _asks_to_run_checks(look, question):
        return True
    if look.adds(question, "extra"):
        return False
    kinds = (_asks_to_go_on, _asks_about_plan, _asks_for_named_work)
    return any(kind(look, question) for kind in kinds)


def _asks_to_go_on(look: TurnFacts, question: str) -> bool:
    """Whether it only asks to go on, or to begin with requested work."""
    begun = look.worked or look.request.asked is RequestKind.WORK
    if begun and asks_for_the_rest(look, question):
        return True
    if not begun or not has(question, "onward") or look.is_for_user("\n".join(look.message.paragraphs[-2:])):
        return False
    return not topic_stems(question) - look.request.topics


def asks_for_the_rest(look: TurnFacts, question: str) -> bool:
    """Whether it asks to go on with what the message lists as remaining."""
    return (has(question, "onward") and bool(remaining_work(look))) or _asks_for_untouched_part(
        look, question
    )


def _asks_about_plan(look: TurnFacts, question: str) -> bool:
    return not look.worked and look.request.asked is RequestKind.WORK and has(question, "plan")


def _asks_to_run_checks(look: TurnFacts, question: str) -> bool:
    """Whether it asks, before anything else, to run the checks."""
    hit = pattern("checks").search(question) if look.worked and not look.checked else None
    return hit is not None and hit.start() <= CHECKS_WITHIN


def _asks_for_named_work(look: TurnFacts, question: str) -> bool:
    """Whether it is about what the user named."""
    told = topic_stems(question)
    shared = told & look.request.topics
    if not look.worked:
        most = NEW_TOPIC_LIMIT if has(question, "applies") else 0
        named = (most > 0 or bool(shared)) and not look.is_for_user(look.message.end)
        return named and _adds_few_topics(look, question, most)
    if _asks_for_untouched_part(look, question):
        return True
    return bool(shared) and told <= look.request.topics and not look.checked


def _asks_for_untouched_part(look: TurnFacts, question: str) -> bool:
    """Whether it is about a part that the user named, and the turn has not touched."""
    named = topic_stems(question) & look.request.topics
    return bool(named - _touched_topics(look, question)) and _adds_few_topics(look, question, NEW_TOPIC_LIMIT)


def _adds_few_topics(look: TurnFacts, question: str, most: int) -> bool:
    """Whether the user named nearly everything that the question is about."""
    told = topic_stems(question)
    shared = told & look.request.topics
    return len(told - shared) <= most or (most > 0 and 2 * len(shared) >= len(told))


def _touched_topics(look: TurnFacts, question: str) -> frozenset[str]:
    """What the message mentions before the question, and what the edits and commands were about."""
    above = look.message.text.rsplit(question[:80], 1)[0]
    calls = look.turn.calls[-COMPARED_CALLS:]
    did = "\n".join("\n".join((*call.paths[:20], call.command[:300])) for call in calls)
    return topic_stems(above) | topic_stems(did)
