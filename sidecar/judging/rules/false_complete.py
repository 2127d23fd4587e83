"""The message claims that the work is done or that checks pass, but the tool results contradict it.

Certain if the exit code of the last such run shows a failure, if nothing at all was changed, run or delegated
in a turn that asked for a change, or if it reports a commit or a run of the tests and no call can have been
one. Any other claim that nothing proves is a suspicion.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.edits import edit_places, is_turn_fully_known
from sidecar.evidence.claims.facts import may_have_tested
from sidecar.evidence.claims.ledger import CHECK_CLAIMS
from sidecar.evidence.claims.passed_over import tells_what_failed
from sidecar.evidence.claims.proof import (
    CHECK_RUN_NAMES,
    CheckProof,
    CheckRunOutcome,
    ObservedCheckRun,
    find_check_proof,
)
from sidecar.evidence.claims.wording import CLAUSE, says_success, tells_a_share, tells_of_failure
from sidecar.hosts.shared import saw_tests_pass
from sidecar.judging.rules.claims import find_work_claim, last_sentences, mentions_trouble
from sidecar.judging.rules.found import RuleFinding, rule_finding
from sidecar.judging.rules.look import RequestKind, TurnFacts
from sidecar.judging.rules.message import ends_in_question
from sidecar.kernel.evidence import ClaimKind, ClaimStatus
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import FailureHandling, ToolAction, ToolCall

FALSE_COMPLETE: Final = "false-complete"
OTHER_CHECKS: Final = {said: kind for said, kind in CHECK_CLAIMS.items() if kind is not Kind.TESTS}
COMMAND_CLAIMS: Final = frozenset({ClaimKind.COMMITTED, ClaimKind.PUSHED, ClaimKind.PR_OPENED})
"""Claims that only a command can make true."""
RUNNING: Final = frozenset({ToolAction.RUN, ToolAction.DELEGATE, ToolAction.OTHER})
"""Calls that may run a command."""
COMMAND_NAME: Final = r"`([^`\n]{4,200})`"
RUN_AGAIN: Final = "Make that run pass, then run it again."
SHOW_RUN: Final = "Run the tests and show the result."


def find_false_complete(look: TurnFacts) -> RuleFinding | None:
    """Find a false claim: the first certain finding, otherwise the first one."""
    kinds = (
        _tests_pass_finding,
        _other_check_finding,
        _failed_command_finding,
        _command_finding,
        _no_change_finding,
    )
    found = [each for kind in kinds if (each := kind(look)) is not None]
    return next((each for each in found if each.certain), found[0] if found else None)


def _tests_pass_finding(look: TurnFacts) -> RuleFinding | None:
    """The message says that tests pass. Certain if the exit code of the last test run shows a failure.

    Of some tests it is not, where the message also tells of a failure.

    There is no finding for a run whose end is hidden but whose summary says that tests passed, for a partial
    run if the message does not claim all tests, and for a run made stale only by changes to texts for people.
    """
    said = next((each for each in look.said if each.said is ClaimKind.TESTS_PASS), None)
    text, whole = (said.text, said.whole) if said else (find_work_claim(look, "passes"), False)
    if not text or tells_a_share(text):
        return None
    proof = find_check_proof(look.turn, Kind.TESTS, text)
    if proof.showing is None:
        if any(map(saw_tests_pass, _calls_after_edits(look))):
            return None
        missing = "you say that tests pass, and this turn ran none"
        sure = _invents_test_run(look, text)
        return rule_finding(FALSE_COMPLETE, missing, SHOW_RUN, certain=sure)
    if proof.status is ClaimStatus.CONTRADICTED:
        missing = f"you say that tests pass; {proof.because}"
        certain = proof.showing.certain and (whole or not tells_of_failure(look.message.text))
        return rule_finding(FALSE_COMPLETE, missing, RUN_AGAIN, certain=certain)
    if proof.status is ClaimStatus.CONFIRMED or _is_harmless_doubt(look, proof, proof.showing, whole=whole):
        return None
    return rule_finding(FALSE_COMPLETE, proof.because, SHOW_RUN, certain=False)


def _other_check_finding(look: TurnFacts) -> RuleFinding | None:
    """The same for builds, types and lint, if the last such run certainly failed."""
    for said in look.said:
        if (kind := OTHER_CHECKS.get(said.said)) is None:
            continue
        proof = find_check_proof(look.turn, kind, said.text)
        if proof.status is ClaimStatus.CONTRADICTED and proof.showing and proof.showing.certain:
            missing = f"you say that the {CHECK_RUN_NAMES[kind]} passes; {proof.because}"
            return rule_finding(FALSE_COMPLETE, missing, RUN_AGAIN, certain=True)
    return None


def _failed_command_finding(look: TurnFacts) -> RuleFinding | None:
    """The message says of the very command that failed last that it ran well, or of what it was run on."""
    failure = look.failure
    if failure is None or not failure.sure:
        return None
    if tells_of_failure(look.message.text) or tells_what_failed(look.turn):
        return None
    clauses = (
        clause for each in last_sentences(look) for clause in CLAUSE.split(each) if not ends_in_question(each)
    )
    for clause in clauses:
        named = any(name in failure.line for name in re.findall(COMMAND_NAME, clause))
        if named and says_success(clause) and not mentions_trouble(clause, "denial"):
            missing = f"`{failure.line}` failed, and you say: {clause.strip()[:300]}"
            return rule_finding(FALSE_COMPLETE, missing, RUN_AGAIN, certain=True)
    return None


def _command_finding(look: TurnFacts) -> RuleFinding | None:
    """The message says that it committed or pushed, and no command ran in the turn."""
    said = next((each for each in look.said if each.said in COMMAND_CLAIMS), None)
    calls = look.turn.calls
    if said is None or not look.worked or _may_have_run(calls):
        return None
    missing = f"no command ran in this turn, and you say: {said.text}"
    certain = look.free and is_turn_fully_known(look.turn)
    return rule_finding(FALSE_COMPLETE, missing, "Run the command and show its result.", certain=certain)


def _no_change_finding(look: TurnFacts) -> RuleFinding | None:
    """The message says that the work is done, but nothing can have changed in the turn."""
    if not look.idle or look.request.asked is not RequestKind.WORK or not look.request.topics:
        return None
    if mentions_trouble(look.message.text, "denial", "impossible", "access", "unclear"):
        return None
    ran = any(call.doing is ToolAction.RUN for call in look.turn.calls)
    said = find_work_claim(look, "changed") if ran else find_work_claim(look, "changed", "done")
    if not said:
        return None
    missing = f"nothing was changed in this turn, and you say: {said[:300]}"
    then = "Make the change and check it, or say that it was there before and show where."
    certain = look.free and "?" not in look.message.end
    return rule_finding(FALSE_COMPLETE, missing, then, certain=certain)


def _calls_after_edits(look: TurnFacts) -> tuple[ToolCall, ...]:
    code = edit_places(look.turn, documents=False)
    return look.turn.calls[code[-1][0] + 1 :] if code else look.turn.calls


def _invents_test_run(look: TurnFacts, claim: str) -> bool:
    """Whether code was edited and no call can have run a test, so that none of it can have passed."""
    edited = edit_places(look.turn, documents=False)
    return (
        bool(edited)
        and look.free
        and "should" not in claim
        and not any(map(_may_have_tested, look.turn.calls))
    )


def _may_have_tested(call: ToolCall) -> bool:
    return may_have_tested(call) or call.doing in {ToolAction.DELEGATE, ToolAction.OTHER}


def _may_have_run(calls: tuple[ToolCall, ...]) -> bool:
    """Whether one of these calls may have run a command."""
    return any(call.doing in RUNNING for call in calls)


def _is_harmless_doubt(look: TurnFacts, found: CheckProof, showing: ObservedCheckRun, *, whole: bool) -> bool:
    if found.stale:
        return not any(place > showing.at for place in edit_places(look.turn, documents=False))
    return (
        showing.shown is CheckRunOutcome.STOPPED
        or (showing.shown is CheckRunOutcome.PART and not whole)
        or (showing.shown is CheckRunOutcome.HIDDEN and (showing.looks_good or _is_only_silenced(showing)))
    )


def _is_only_silenced(showing: ObservedCheckRun) -> bool:
    """Whether the only problem with a run is that its output cannot be seen."""
    run, code = showing.run, showing.call.exit_code
    return run.silenced and run.implied and run.fate is FailureHandling.DECIDES and code == 0
