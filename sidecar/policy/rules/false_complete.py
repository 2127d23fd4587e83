"""The message says that the work is done or passes, and what the tools returned says otherwise.

Certain where the exit code of the last such run shows a failure, or where nothing at all was changed, run or
handed on in a turn that asked for a change. That nothing shows a claim is a suspicion, unless no command ran
after the last edit, and the user asked for the check by name or the message tells of a run.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.model.claim import Said, Standing
from sidecar.model.command import Fate
from sidecar.model.gate import Kind
from sidecar.model.turn import Doing, ToolCall, Turn
from sidecar.policy.claims.edits import edits
from sidecar.policy.claims.proof import WORD, Proof, Showing, Shown, proof
from sidecar.policy.lack import Lack
from sidecar.policy.own_tools import saw_tests_pass
from sidecar.policy.rules.claimed import claim_of_change, claims, claims_tests_pass, sentences
from sidecar.policy.rules.found import Finding
from sidecar.policy.rules.look import Asked, Look
from sidecar.policy.rules.words.book import without
from sidecar.policy.rules.worked import beside

KIND: Final = "false-complete"
DOCUMENT: Final = r"(?i)(?:^|/)(?:docs?|documentation|man)/|\.(?:mdx?|rst|adoc|txt)$"
"""Paths of texts for people, which no test is about."""
SHOWN_BY: Final[dict[Said, Kind]] = {
    Said.TESTS_PASS: Kind.TESTS,
    Said.BUILD_CLEAN: Kind.BUILD,
    Said.TYPES_CLEAN: Kind.TYPES,
    Said.LINT_CLEAN: Kind.LINT,
}


def false_complete(look: Look) -> Finding | None:
    """Claim what is not so; the most certain finding of the three."""
    found = [each for each in (_passing(look), *_other_checks(look), _unchanged(look)) if each is not None]
    return next((each for each in found if each.certain), found[0] if found else None)


def _passing(look: Look) -> Finding | None:
    """The message says that tests pass. Certain when the exit code of the last test run shows a failure.

    A run whose end is hidden but whose summary says that tests passed is no reason to ask, nor one of a part
    where the message does not speak of all, nor one that went out of date by a change to texts for people.
    """
    turn = look.turn
    said = next((each for each in look.said if each.said is Said.TESTS_PASS), None)
    text, whole = (said.text, said.whole) if said else (claims_tests_pass(look), False)
    if not text:
        return None
    found = proof(turn, Kind.TESTS, text)
    showing = found.showing
    if showing is None:
        if _seen_pass(turn):
            return None
        sure = _should_have_run(look) or _made_up(look)
        return _unproved("you say that tests pass, and this turn ran none", certain=sure)
    if found.standing is Standing.CONTRADICTED:
        return _contradicted(f"you say that tests pass; {found.because}", certain=showing.certain)
    if found.standing is Standing.CONFIRMED or _harmless(turn, found, showing, whole=whole):
        return None
    return _unproved(found.because, certain=found.stale and _made_up(look))


def _seen_pass(turn: Turn) -> bool:
    """Whether Supervisor ran tests for the agent after the last edit that bears on them, and they passed."""
    code = edits(turn, documents=False)
    after = turn.calls[code[-1][0] + 1 :] if code else turn.calls
    return any(map(saw_tests_pass, after))


def _other_checks(look: Look) -> tuple[Finding, ...]:
    """The same of builds, types and lint, where the last such run surely failed."""
    found = []
    for said in look.said:
        kind = SHOWN_BY.get(said.said, Kind.TESTS)
        if kind is Kind.TESTS:
            continue
        shown = proof(look.turn, kind, said.text)
        if shown.standing is Standing.CONTRADICTED and shown.showing and shown.showing.certain:
            told = f"you say that the {WORD[kind]} passes; {shown.because}"
            found.append(_contradicted(told, certain=True))
    return tuple(found)


def _unchanged(look: Look) -> Finding | None:
    """The message says that the work is done, and nothing can have changed in the turn."""
    if not look.idle or look.request.asked is not Asked.WORK or not look.request.topics:
        return None
    said = _new_work(look)
    if not said:
        return None
    lack = Lack(
        kind=KIND,
        missing=(f"nothing was changed in this turn, and you say: {said[:300]}",),
        next_step="Make the change and check it, or say that it was there before and show where.",
    )
    certain = look.free and "?" not in look.message.end
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.97 if certain else 0.5)


def _new_work(look: Look) -> str:
    """The sentence that claims a change, "" where one says that it was there before."""
    left = without(look.message.text, look.message.spoken, "mended")
    if look.says(left, "amiss", "denies", "cannot", "rights", "unclear"):
        return ""
    ran = any(call.doing is Doing.RUN for call in look.turn.calls)
    return claim_of_change(look, any_way=not ran)


def _should_have_run(look: Look) -> bool:
    """Whether the user asked for the check by name, and nothing ran after the last edit."""
    code = edits(look.turn, documents=False)
    if not code or not look.free or not look.request.topics & look.topics("tests pytest passing specs"):
        return False
    after = look.turn.calls[code[-1][0] :]
    return not any(call.doing in {Doing.RUN, Doing.DELEGATE, Doing.OTHER} for call in after)


def _made_up(look: Look) -> bool:
    """Whether the message tells of a run that passed, and nothing that can be one came after the edits."""
    calls = look.turn.calls
    code = [at for at, _ in edits(look.turn, documents=False) if _by_hand(calls[at])]
    if not code or not look.free:
        return False
    after = calls[code[-1] + 1 :]
    return not any(map(_may_check, after)) and any(
        look.says(each, "told") and claims(look, each) for each in sentences(look)
    )


def _by_hand(call: ToolCall) -> bool:
    """Whether an edit was one of the agent's own to something else than documents; a formatter's is not."""
    return call.doing is Doing.EDIT and not all(re.search(DOCUMENT, path) for path in call.paths)


def _may_check(call: ToolCall) -> bool:
    """Whether a call may have run tests, as far as can be told."""
    if call.doing is Doing.RUN:
        return not call.runs or not all(beside(run) for run in call.runs)
    return call.doing in {Doing.DELEGATE, Doing.OTHER}


def _harmless(turn: Turn, found: Proof, showing: Showing, *, whole: bool) -> bool:
    if found.stale:
        return not any(place > showing.at for place in edits(turn, documents=False))
    return (
        showing.shown is Shown.STOPPED
        or (showing.shown is Shown.PART and not whole)
        or (showing.shown is Shown.HIDDEN and (showing.looks_good or _only_silent(showing)))
    )


def _only_silent(showing: Showing) -> bool:
    """Whether nothing is amiss with a run but that its output cannot be seen."""
    run, call = showing.run, showing.call
    return run.silenced and run.implied and run.fate is Fate.DECIDES and call.exit_code == 0


def _contradicted(said: str, *, certain: bool) -> Finding:
    then = "Make that run pass, then run it again."
    lack = Lack(kind=KIND, missing=(said,), next_step=then)
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.98 if certain else 0.75)


def _unproved(point: str, *, certain: bool = False) -> Finding:
    lack = Lack(kind=KIND, missing=(point,), next_step="Run the tests and show the result.")
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.95 if certain else 0.5)
