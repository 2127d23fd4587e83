"""One decision as a chain, for a person: what happened, what was found out, what decided, what came of it.

How sure the judge was is left out: an agent can type the command, too (law 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ledger import gather_evidence
from sidecar.evidence.proof.policy import describe_finding
from sidecar.judging.rules.every import STOP_RULES, apply_stop_rules
from sidecar.kernel.effects import Continue, Inquiry, RestReason, Ruling
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import (
    ClaimStatus,
    Complete,
    Evidence,
    Impossible,
    Incomplete,
    Source,
    Verdict,
    Waiting,
)
from sidecar.kernel.gate import CheckComparison, GateRun
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import StopJudged
from sidecar.kernel.session import Session, active_goal, continuation_budget, goalless_budget
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import CONTINUE_DECISION, TimedFact
from sidecar.kernel.text import clean_line, counted
from sidecar.systems.supervision.policy.history import Decision, FollowUp

LINE: Final = 300
"""Characters of what others wrote on a line."""
FAILURES: Final = 3
"""Failures that are quoted of a check."""
FILES: Final = 5
"""Files that are named."""
NOT_KEPT: Final = "only this line of the record is left: the last 20 judged stops of a project are kept whole"
FOLLOW_UPS: Final = {
    FollowUp.REPAIRED: "then a check that had failed passed",
    FollowUp.CHANGED: "then files changed",
    FollowUp.NOTHING: "then nothing changed",
    FollowUp.UNKNOWN: "no later stop shows what it led to",
}
RULING_WORDING: Final = {
    CONTINUE_DECISION: "sent back",
    RestReason.SHADOW: "would have been sent back",
    RestReason.HELD: "not sent back, as a person took it back",
    RestReason.UNJUDGED: "not judged",
}
"""Rulings whose own word does not say it."""
STAGE_WORDING: Final = {"gates": "checks"}
DECIDED_BY: Final = frozenset({CONTINUE_DECISION, RestReason.SHADOW, RestReason.ACHIEVED})
"""Rulings of which it is said what decided them."""


class StoryStep(Struct, frozen=True):
    """One link of the chain: what it is about, and its lines."""

    about: str
    lines: tuple[str, ...]


class Story(Struct, frozen=True):
    """A decision, a line that sums it up, and the steps that led to it that have something to say."""

    decision: Decision
    summary: str
    steps: tuple[StoryStep, ...]


class ReplayedInquiry(Struct, frozen=True, kw_only=True):
    """A replayed stop: what policy knew at its end, its ruling, and the facts that it received."""

    inquiry: Inquiry
    ruling: Ruling
    facts: tuple[TimedFact, ...]


def tell_decision(decision: Decision, known: ReplayedInquiry | None) -> Story:
    """Tell how a stop was decided. `known`: None where only the record is left."""
    steps = (*(_known_steps(known) if known else _record_steps(decision)), *_last_steps(decision, known))
    return Story(decision, summarize_decision(decision), tuple(step for step in steps if step.lines))


def summarize_decision(decision: Decision) -> str:
    """Say in a few words what was decided about, for other things than stops, and how."""
    about = f"{decision.what}: " if decision.what else ""
    return about + summarize_stop(decision.stop)


def summarize_stop(stop: StopJudged) -> str:
    """Say in a few words how a stop was decided; by what, where an agent was sent back or a goal achieved."""
    words = RULING_WORDING.get(stop.decided) or stop.decided.replace("-", " ")
    by = stop.rule or STAGE_WORDING.get(stop.stage, stop.stage)
    return f"{words} by {by}" if by and stop.decided in DECIDED_BY else words


def _record_steps(decision: Decision) -> Iterable[StoryStep]:
    stop = decision.stop
    yield StoryStep("checks", stop.gates)
    yield StoryStep("old checks on new code", stop.findings)
    yield StoryStep("claims", stop.claims)
    yield StoryStep("not known", () if decision.what else (NOT_KEPT,))


def _known_steps(known: ReplayedInquiry) -> Iterable[StoryStep]:
    inquiry = known.inquiry
    turn, goal = inquiry.turn, inquiry.session.goal
    changed = inquiry.project_state.changed
    files = "unknown" if changed is None else _names(changed)
    prompt = (f'you typed: "{clean_line(turn.prompts[-1], LINE)}"',) if turn.prompts else ()
    yield StoryStep(
        "asked", (f"goal: {clean_line(goal.condition, LINE)}" if goal else "no goal is set", *prompt)
    )
    yield StoryStep(
        "the agent",
        (
            f'it said: "{clean_line(turn.last_message, LINE)}"',
            f"{counted(len(turn.calls), 'tool call')}, changed: {files}",
        ),
    )
    yield StoryStep("rules tried", _rule_lines(inquiry))
    yield StoryStep("checks", tuple(line for run in inquiry.runs for line in _run_lines(run)))
    findings = map(describe_finding, inquiry.project_state.findings)
    compared = (line for one in inquiry.comparisons for line in _comparison_lines(one))
    yield StoryStep("old checks on new code", (*compared, *findings))
    yield StoryStep("evidence", tuple(map(_evidence_line, stop_evidence(inquiry))))
    yield StoryStep(
        "claims",
        tuple(f'"{clean_line(one.text, LINE)}": {one.status} ({one.because})' for one in inquiry.claims),
    )
    yield StoryStep("judge", _judge_lines(known))


def _rule_lines(inquiry: Inquiry) -> tuple[str, ...]:
    goal = active_goal(inquiry.session) is not None
    found = apply_stop_rules(inquiry.turn, inquiry.settings.rules, goal=goal)
    hits = {one.rule for one in found.findings}
    lines = [
        f"{one.rule}: {one.missing_work.reason} ({'certain' if one.certain else 'suspected only'})"
        for one in found.findings
    ]
    if found.legitimate:
        certain = "certain" if found.legitimate.certain else "by its wording only"
        lines.append(f"may rest, {found.legitimate.kind}: {found.legitimate.why} ({certain})")
    quiet = [rule.id for rule in STOP_RULES if rule.find and rule.id not in hits]
    return (*lines, f"nothing found by: {', '.join(quiet)}")


def _run_lines(run: GateRun) -> Iterable[str]:
    marks = [
        word
        for word, holds in (("from memory", run.cached), ("flaky", run.flaky), ("files moved", run.moved))
        if holds
    ]
    tests = "" if run.executed is None else f", {counted(run.executed, 'test')}"
    took = f" in {run.seconds:.1f} s" if run.seconds and not run.cached else ""
    where = f" in {run.gate.folder}" if run.gate.folder else ""
    why = f"{'required' if run.gate.required else 'advice'}: {run.gate.why}"
    yield f"{run.gate.id}: {run.outcome}{took}{tests}{''.join(f', {mark}' for mark in marks)} ({why})"
    environment = f", with {run.environment}" if run.environment else ""
    yield f"  ran: {clean_line(run.gate.command, LINE)}{where}{environment}"
    if run.reason:
        yield f"  {clean_line(run.reason, LINE)}"
    yield from (f"  {clean_line(failure, LINE)}" for failure in run.failures[:FAILURES])


def _comparison_lines(one: CheckComparison) -> Iterable[str]:
    yield f"{one.now.gate.id}, for {_names(one.files)} changed" + (
        f": not compared, {one.unseen}" if one.unseen else ""
    )
    runs = (
        ("the old checks on the new code", one.old),
        ("the old checks on the old code", one.base),
        ("the new checks on the new code, in a copy", one.copy),
        ("the new checks on the old code", one.fresh),
    )
    for what, run in runs:
        if run is not None:
            failure = f": {clean_line(run.failures[0], LINE)}" if run.failures else ""
            yield f"  {what}: {run.outcome}{failure}"


def _evidence_line(one: Evidence) -> str:
    marks = [
        word for word, holds in (("against it", one.bad), ("stale: files changed since", one.stale)) if holds
    ]
    return f"{one.id} {one.source}: {clean_line(one.fact, LINE)}" + (
        f" ({', '.join(marks)})" if marks else ""
    )


def _judge_lines(known: ReplayedInquiry) -> tuple[str, ...]:
    lines: list[str] = []
    if case := known.inquiry.case:
        criteria = len(case.rubric.patterns) + len(case.rubric.antipatterns)
        rubric = f"{criteria} {'criterion' if criteria == 1 else 'criteria'}"
        lines.append(
            f"it saw {counted(len(case.evidence), 'fact')}, {rubric}, "
            f"{counted(len(case.edits), 'changed file')} and the agent's last message"
        )
    for fact in (one.fact for one in known.facts):
        if isinstance(fact, JudgeAnswered):
            said = fact.judgement
            who = " ".join(filter(None, (said.backend, said.model)))
            lines += [f"{who}: {line}" for line in _verdict_lines(said.verdict)]
        elif isinstance(fact, JudgeFailed):
            lines.append(f"no verdict: {clean_line(fact.reason, LINE)}")
    return tuple(lines)


def _verdict_lines(verdict: Verdict) -> Sequence[str]:
    match verdict:
        case Complete():
            return [f"complete: {_proof(one.criterion, one.evidence)}" for one in verdict.criteria]
        case Incomplete():
            return [f"missing: {_proof(gap.point, gap.evidence)}" for gap in verdict.missing]
        case Waiting():
            return [f"waiting for you: {verdict.question}"]
        case Impossible():
            return [f"impossible: {verdict.reason}"]
        case _:
            return [f"no opinion: {verdict.reason}"]


def _proof(what: str, evidence: tuple[str, ...]) -> str:
    return f"{clean_line(what, LINE)} ({', '.join(evidence) or 'no evidence named'})"


def _last_steps(decision: Decision, known: ReplayedInquiry | None) -> Iterable[StoryStep]:
    stop = decision.stop
    yield StoryStep(
        "decided", (f"{summarize_stop(stop)}{f': {clean_line(stop.detail, LINE)}' if stop.detail else ''}",)
    )
    if known and isinstance(known.ruling, Continue):
        said = known.ruling.feedback
        points = counted(len(said.missing), "point")
        sent = f"continuation {said.number} of {said.budget}: the agent was told {points}"
        missing = (f"  {clean_line(point, LINE)}" for point in said.missing)
        yield StoryStep("effect", (sent, *missing, f"next step: {clean_line(said.next_step, LINE)}"))
    elif known and known.ruling.note:
        yield StoryStep("effect", (f"you were told: {clean_line(known.ruling.note, LINE)}",))
    if decision.followed:
        yield StoryStep("afterwards", (FOLLOW_UPS[decision.followed],))
    cents = "no known price" if stop.judge_cents is None else f"{stop.judge_cents:.2f} cents"
    asked = f"{stop.judge}: {stop.judge_tokens} tokens, {cents}" if stop.judge else "no model was asked"
    yield StoryStep("cost", () if decision.what else (f"{stop.seconds:.1f} s; {asked}",))


def _names(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - FILES} more" if len(paths) > FILES else ""
    return clean_line(", ".join(paths[:FILES]) or "nothing", LINE) + more


# --- What may be reported of a judged stop: what was missing, what was known, what is left ------------------
# The agent sees it too, so nothing here reveals how close a verdict was: the judge's confidence and the
# thresholds it is compared with are withheld from the agent that is judged (law 9).


FACT_DETAIL_LIMIT: Final = 400
"""Characters at the end of a fact's detail that are reported, where the fact speaks against being done."""
FACT_OVERHEAD: Final = 60
"""Bytes that a fact takes in addition to its text: its id, its source, its flags."""


class Point(Struct, frozen=True):
    """One missing point. `criterion`: "goal", "request", the id of a criterion of the rubric, or ""."""

    text: str
    criterion: str = ""


class Next(StrEnum):
    """How the session's next stop is handled."""

    OFF = "off"
    PAUSED = "paused"
    SHADOW = "shadow"
    GOAL = "goal"
    FREE = "free"
    """No goal is judged: only clear cases are sent back."""


class Left(Struct, frozen=True, kw_only=True):
    """Spending and its limits. Without an active goal only continuations since the last prompt count."""

    continuations: int
    continuations_of: int
    tokens: int = 0
    tokens_of: int = 0
    seconds: int = 0
    seconds_of: int = 0


def missing_points(ruling: Ruling, facts: Iterable[TimedFact]) -> tuple[Point, ...]:
    """Return what was missing when an agent was sent back; () where it was not."""
    if not isinstance(ruling, Continue):
        return ()
    verdicts = (one.fact.judgement.verdict for one in facts if isinstance(one.fact, JudgeAnswered))
    criteria = {
        gap.point: gap.criterion
        for verdict in verdicts
        if isinstance(verdict, Incomplete)
        for gap in verdict.missing
    }
    return tuple(Point(text, criteria.get(text, "")) for text in ruling.feedback.missing)


def contradicted_claims(inquiry: Inquiry) -> tuple[str, ...]:
    """Return the agent's claims that the evidence contradicts, and by what."""
    wrong = (claim for claim in inquiry.claims if claim.status is ClaimStatus.CONTRADICTED)
    return tuple(f"\u201c{claim.text}\u201d: {claim.because}" for claim in wrong)


def stop_evidence(inquiry: Inquiry) -> tuple[Evidence, ...]:
    """Return the facts that were numbered for this stop; where it needed none, those that there would be."""
    return inquiry.evidence or gather_evidence(inquiry.turn, inquiry.runs, inquiry.project_state).evidence


def evidence_from_record(
    gates: Iterable[str], findings: Iterable[str], claims: Iterable[str]
) -> tuple[Evidence, ...]:
    """Return the same as far as a record's lines contain it: R1, R2, ..."""
    lines = (
        *((Source.GATE, line) for line in gates),
        *((Source.CHANGE, line) for line in findings),
        *((Source.CLAIM, line) for line in claims),
    )
    return tuple(
        Evidence(id=f"R{number}", source=source, fact=line) for number, (source, line) in enumerate(lines, 1)
    )


def evidence_within_size(evidence: Iterable[Evidence], room: int) -> tuple[tuple[Evidence, ...], int]:
    """Return as many facts as `room` bytes hold, and the number of those left out.

    Facts that speak against being done are chosen first, then what Supervisor ran itself, then the others in
    the order of their numbers. The result is in the order of the numbers.
    """
    every = [replace(fact, detail=fact.detail[-FACT_DETAIL_LIMIT:] if fact.bad else "") for fact in evidence]
    chosen: list[Evidence] = []
    for fact in sorted(every, key=_evidence_rank):
        size = FACT_OVERHEAD + len(f"{fact.fact}{fact.detail}".encode("utf-8", "replace"))
        if size > room:
            break
        room -= size
        chosen.append(fact)
    kept = {fact.id for fact in chosen}
    return tuple(fact for fact in every if fact.id in kept), len(every) - len(chosen)


def _evidence_rank(fact: Evidence) -> int:
    if fact.bad and not fact.stale:
        return 0
    return 1 if fact.source is Source.GATE else 2


def budget_left(session: Session, settings: Settings) -> Left:
    """Return what the session has spent of its budget."""
    goal = active_goal(session)
    if goal is None:
        return Left(continuations=session.unasked, continuations_of=goalless_budget(session))
    return Left(
        continuations=goal.spent.continuations,
        continuations_of=continuation_budget(session, settings),
        tokens=goal.spent.tokens,
        tokens_of=goal.max_tokens or settings.goal_max_tokens,
        seconds=int(goal.spent.seconds),
        seconds_of=goal.max_seconds or settings.goal_max_seconds,
    )


def next_stop_handling(session: Session, settings: Settings, off: str) -> Next:
    """Return how the next stop is handled. `off`: see SwitchStore."""
    goal = session.goal
    if off:
        return Next.OFF
    if goal is not None and goal.status is GoalStatus.PAUSED:
        return Next.PAUSED
    if settings.mode == "shadow":
        return Next.SHADOW
    return Next.GOAL if active_goal(session) else Next.FREE
