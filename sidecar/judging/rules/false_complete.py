"""The message claims that the work is done or that checks pass, but the tool results contradict it.

Certain if the exit code of the last such run shows a failure, or if nothing at all was changed, run or
delegated in a turn that asked for a change. A claim that nothing proves is only a suspicion, except if no
command ran after the last edit, and the user asked for the check by name or the message reports a run.

Claims are found sentence by sentence; a sentence that takes its claim back counts as none.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.edits import edit_places
from sidecar.evidence.claims.proof import (
    CHECK_RUN_NAMES,
    CheckProof,
    CheckRunOutcome,
    ObservedCheckRun,
    find_check_proof,
)
from sidecar.hosts.own_tools import saw_tests_pass
from sidecar.judging.rules.found import RuleFinding
from sidecar.judging.rules.look import RequestKind, TurnFacts
from sidecar.judging.rules.message import SENTENCE_BREAK, drop_backtick_names, ends_in_question
from sidecar.judging.rules.worked import is_incidental_command
from sidecar.judging.wording.book import without
from sidecar.kernel.evidence import ClaimKind, ClaimStatus, MissingWork
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import FailureHandling, ToolAction, ToolCall, Turn

# --- Claims in the message ----------------------------------------------------------------------------------


WORK_FIELDS: Final = ("made", "done", "passes")
CLAIM_SENTENCES: Final = 60
"""Sentences of a message that are examined, counted from its end."""


def last_sentences(look: TurnFacts) -> list[str]:
    """Return the last sentences of the message."""
    return [each.strip() for each in re.split(SENTENCE_BREAK, look.message.text) if each.strip()][
        -CLAIM_SENTENCES:
    ]


def find_work_claim(look: TurnFacts) -> str:
    """Return the first sentence that says that the work is done or passes, "" if there is none."""
    if look.said:
        return look.said[0].text
    return next((each for each in last_sentences(look) if is_work_claim(look, each, *WORK_FIELDS)), "")


def find_change_claim(look: TurnFacts, *, any_way: bool) -> str:
    """Return the first sentence that claims a change by the agent, "" if there is none.

    `any_way`: a sentence that says that the work is done counts too.
    """
    fields = ("made", "done") if any_way else ("made",)
    return next((each for each in last_sentences(look) if is_work_claim(look, each, *fields)), "")


def find_tests_pass_claim(look: TurnFacts) -> str:
    """Return a sentence saying that tests pass that `utterances` does not find; "" if none."""
    return next((each for each in last_sentences(look) if is_work_claim(look, each, "passes")), "")


def is_work_claim(look: TurnFacts, sentence: str, *fields: str) -> bool:
    """Whether a sentence makes one of these claims about the work, or any of them if none is named."""
    fields = fields or WORK_FIELDS
    if ends_in_question(sentence) or not look.says(sentence, *fields):
        return False
    left = without(drop_backtick_names(sentence), look.message.spoken, "mended")
    return not look.says(left, "amiss", "denies")


# --- The rule -----------------------------------------------------------------------------------------------


FALSE_COMPLETE: Final = "false-complete"
DOCUMENT_PATH: Final = r"(?i)(?:^|/)(?:docs?|documentation|man)/|\.(?:mdx?|rst|adoc|txt)$"
"""Paths of texts for people, which no test covers."""
CHECK_KIND_OF_CLAIM: Final[dict[ClaimKind, Kind]] = {
    ClaimKind.TESTS_PASS: Kind.TESTS,
    ClaimKind.BUILD_CLEAN: Kind.BUILD,
    ClaimKind.TYPES_CLEAN: Kind.TYPES,
    ClaimKind.LINT_CLEAN: Kind.LINT,
}


def find_false_complete(look: TurnFacts) -> RuleFinding | None:
    """Find a false claim: the first certain finding, otherwise the first one."""
    found = [
        each
        for each in (_tests_pass_finding(look), *_other_check_findings(look), _no_change_finding(look))
        if each is not None
    ]
    return next((each for each in found if each.certain), found[0] if found else None)


def _tests_pass_finding(look: TurnFacts) -> RuleFinding | None:
    """The message says that tests pass. Certain if the exit code of the last test run shows a failure.

    There is no finding for a run whose end is hidden but whose summary says that tests passed, for a partial
    run if the message does not claim all tests, and for a run made stale only by changes to texts for people.
    """
    turn = look.turn
    said = next((each for each in look.said if each.said is ClaimKind.TESTS_PASS), None)
    text, whole = (said.text, said.whole) if said else (find_tests_pass_claim(look), False)
    if not text:
        return None
    found = find_check_proof(turn, Kind.TESTS, text)
    showing = found.showing
    if showing is None:
        if _supervisor_tests_passed(turn):
            return None
        sure = _skipped_requested_check(look) or _invents_test_run(look)
        return _unproved_finding("you say that tests pass, and this turn ran none", certain=sure)
    if found.standing is ClaimStatus.CONTRADICTED:
        return _contradiction_finding(f"you say that tests pass; {found.because}", certain=showing.certain)
    if found.standing is ClaimStatus.CONFIRMED or _is_harmless_doubt(turn, found, showing, whole=whole):
        return None
    return _unproved_finding(found.because, certain=found.stale and _invents_test_run(look))


def _supervisor_tests_passed(turn: Turn) -> bool:
    """Whether Supervisor ran tests for the agent after the last relevant edit, and they passed."""
    code = edit_places(turn, documents=False)
    after = turn.calls[code[-1][0] + 1 :] if code else turn.calls
    return any(map(saw_tests_pass, after))


def _other_check_findings(look: TurnFacts) -> tuple[RuleFinding, ...]:
    """The same for builds, types and lint, if the last such run certainly failed."""
    found = []
    for said in look.said:
        kind = CHECK_KIND_OF_CLAIM.get(said.said, Kind.TESTS)
        if kind is Kind.TESTS:
            continue
        shown = find_check_proof(look.turn, kind, said.text)
        if shown.standing is ClaimStatus.CONTRADICTED and shown.showing and shown.showing.certain:
            told = f"you say that the {CHECK_RUN_NAMES[kind]} passes; {shown.because}"
            found.append(_contradiction_finding(told, certain=True))
    return tuple(found)


def _no_change_finding(look: TurnFacts) -> RuleFinding | None:
    """The message says that the work is done, but nothing can have changed in the turn."""
    if not look.idle or look.request.asked is not RequestKind.WORK or not look.request.topics:
        return None
    said = _claimed_change(look)
    if not said:
        return None
    lack = MissingWork(
        kind=FALSE_COMPLETE,
        missing=(f"nothing was changed in this turn, and you say: {said[:300]}",),
        next_step="Make the change and check it, or say that it was there before and show where.",
    )
    certain = look.free and "?" not in look.message.end
    return RuleFinding(rule=FALSE_COMPLETE, certain=certain, lack=lack, confidence=0.97 if certain else 0.5)


def _claimed_change(look: TurnFacts) -> str:
    """The sentence that claims a change; "" if the message denies one or reports an obstacle."""
    left = without(look.message.text, look.message.spoken, "mended")
    if look.says(left, "amiss", "denies", "cannot", "rights", "unclear"):
        return ""
    ran = any(call.doing is ToolAction.RUN for call in look.turn.calls)
    return find_change_claim(look, any_way=not ran)


def _skipped_requested_check(look: TurnFacts) -> bool:
    """Whether the user asked for the tests by name, and nothing ran after the last edit."""
    code = edit_places(look.turn, documents=False)
    if not code or not look.free or not look.request.topics & look.topics("tests pytest passing specs"):
        return False
    after = look.turn.calls[code[-1][0] :]
    return not any(call.doing in {ToolAction.RUN, ToolAction.DELEGATE, ToolAction.OTHER} for call in after)


def _invents_test_run(look: TurnFacts) -> bool:
    """Whether the message reports a passing run, but no call after the edits can be one."""
    calls = look.turn.calls
    code = [at for at, _ in edit_places(look.turn, documents=False) if _is_agent_code_edit(calls[at])]
    if not code or not look.free:
        return False
    after = calls[code[-1] + 1 :]
    return not any(map(_may_run_tests, after)) and any(
        look.says(each, "told") and is_work_claim(look, each) for each in last_sentences(look)
    )


def _is_agent_code_edit(call: ToolCall) -> bool:
    """Whether a call edits something other than documents; a formatter's edit does not count."""
    return call.doing is ToolAction.EDIT and not all(re.search(DOCUMENT_PATH, path) for path in call.paths)


def _may_run_tests(call: ToolCall) -> bool:
    """Whether a call may have run tests, as far as can be determined."""
    if call.doing is ToolAction.RUN:
        return not call.runs or not all(is_incidental_command(run) for run in call.runs)
    return call.doing in {ToolAction.DELEGATE, ToolAction.OTHER}


def _is_harmless_doubt(turn: Turn, found: CheckProof, showing: ObservedCheckRun, *, whole: bool) -> bool:
    if found.stale:
        return not any(place > showing.at for place in edit_places(turn, documents=False))
    return (
        showing.shown is CheckRunOutcome.STOPPED
        or (showing.shown is CheckRunOutcome.PART and not whole)
        or (showing.shown is CheckRunOutcome.HIDDEN and (showing.looks_good or _is_only_silenced(showing)))
    )


def _is_only_silenced(showing: ObservedCheckRun) -> bool:
    """Whether the only problem with a run is that its output cannot be seen."""
    run, call = showing.run, showing.call
    return run.silenced and run.implied and run.fate is FailureHandling.DECIDES and call.exit_code == 0


def _contradiction_finding(said: str, *, certain: bool) -> RuleFinding:
    then = "Make that run pass, then run it again."
    lack = MissingWork(kind=FALSE_COMPLETE, missing=(said,), next_step=then)
    return RuleFinding(rule=FALSE_COMPLETE, certain=certain, lack=lack, confidence=0.98 if certain else 0.75)


def _unproved_finding(point: str, *, certain: bool = False) -> RuleFinding:
    lack = MissingWork(kind=FALSE_COMPLETE, missing=(point,), next_step="Run the tests and show the result.")
    return RuleFinding(rule=FALSE_COMPLETE, certain=certain, lack=lack, confidence=0.95 if certain else 0.5)
