"""The turn ends by asking for permission to do what the user has already asked for.

Certain if work was requested, nothing near the question or in another is the user's to decide, and it asks:

- anything, before anything was changed or committed;
- only to go on;
- to run the checks, if none has run since the last edit;
- to do a part that the user named and that was not touched;

and git has not refused what meets the work of others.

Anything beyond the request is an offer; anything that deletes, publishes, costs or decides is up to the user.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.passed_over import refused_by_git
from sidecar.evidence.commands.kinds import command
from sidecar.evidence.message import BACKTICK_NAME, SENTENCE_BREAK, ends_in_question
from sidecar.evidence.wording import clause_opening, has, mentions_trouble, pattern
from sidecar.judging.rules.found import RuleFinding, rule_finding
from sidecar.judging.rules.look import RequestKind, TurnFacts, topic_stems
from sidecar.judging.rules.reported_work import is_work_claim
from sidecar.judging.rules.stopped_with_todos import remaining_work, untouched_parts

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
    sentences = re.split(SENTENCE_BREAK, "\n".join(look.message.paragraphs))
    asked = "\n".join((look.message.paragraph, *filter(ends_in_question, sentences)))
    if look.is_for_user(asked) or _tells_what_git_refused(look) or _asks_which(look, question):
        return False
    begun = look.worked or _committed(look)
    ordered = _asks_to_go_on(look, question) if begun else look.request.asked is RequestKind.WORK
    return _asks_to_run_checks(look, question) or (ordered and not look.adds(question, "extra"))


def _committed(look: TurnFacts) -> bool:
    passed = (run for call in look.turn.calls if call.exit_code == 0 for run in call.runs)
    return any(command(run)[:2] == ("git", "commit") for run in passed)


def _asks_which(look: TurnFacts, question: str) -> bool:
    """Whether a question offers an alternative, or names what the prompt does not."""
    names = re.findall(BACKTICK_NAME, question)
    return has(question, "alternative") or any(name.strip("`") not in look.request.text for name in names)


def _tells_what_git_refused(look: TurnFacts) -> bool:
    """Whether git refused a push or a merge and the message says so: how to go on may cost others' work."""
    return refused_by_git(look.turn) and mentions_trouble("\n".join(look.message.sentences))


def _asks_to_go_on(look: TurnFacts, question: str) -> bool:
    """Whether it only asks to go on with what was ordered."""
    if asks_for_the_rest(look, question):
        return True
    if not has(question, "onward") or look.is_for_user("\n".join(look.message.paragraphs[-2:])):
        return False
    return not topic_stems(question) - look.request.topics


def asks_for_the_rest(look: TurnFacts, question: str) -> bool:
    """Whether it asks to go on with what the message lists as remaining."""
    left = has(question, "onward") and bool(remaining_work(look))
    return left or _asks_for_untouched_part(look, question)


def _asks_to_run_checks(look: TurnFacts, question: str) -> bool:
    """Whether it asks, before anything else, to run the checks."""
    hit = pattern("checks").search(question) if look.worked and not look.checked else None
    return hit is not None and hit.start() <= CHECKS_WITHIN


def _asks_for_untouched_part(look: TurnFacts, question: str) -> bool:
    """Whether it is about a part that the user named, and the turn has not touched.

    What leads up to the question may name the part, where the user enumerated it.
    """
    led = "\n".join(each for each in look.message.paragraph.split("\n") if not is_work_claim(each))
    if topic_stems(led) & untouched_parts(look) and not look.adds(led, "extra"):
        return True
    told = topic_stems(question)
    named = told & look.request.topics
    about = len(told - named) <= NEW_TOPIC_LIMIT or 2 * len(named) >= len(told)
    return about and bool(named - _touched_topics(look, question))


def _touched_topics(look: TurnFacts, question: str) -> frozenset[str]:
    """What the message mentions before the question, and what the edits and commands were about."""
    above = look.message.text.rsplit(question[:80], 1)[0]
    calls = look.turn.calls[-COMPARED_CALLS:]
    did = "\n".join("\n".join((*call.paths[:20], call.command[:300])) for call in calls)
    return topic_stems(above) | topic_stems(did)
