"""How a goal comes to rest, and what the person is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates import policy as gates
from sidecar.evidence.injection import addresses_judge
from sidecar.evidence.proof.policy import describe_findings
from sidecar.judging.verdicts import describe_judgement
from sidecar.kernel.effects import Rest, RestReason, Ruling
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.session import active_goal
from sidecar.kernel.text import clean_line

GOAL_ENDINGS: dict[GoalStatus, tuple[RestReason, str]] = {
    GoalStatus.ACHIEVED: (RestReason.ACHIEVED, "goal achieved"),
    GoalStatus.COMPLETED: (RestReason.COMPLETED, "session completed"),
    GoalStatus.UNVERIFIED: (RestReason.UNVERIFIED, "goal unverified, please look"),
    GoalStatus.EXHAUSTED: (RestReason.EXHAUSTED, "budget spent, goal not achieved"),
    GoalStatus.STALLED: (RestReason.STALLED, "goal stalled, please look"),
    GoalStatus.IMPOSSIBLE: (RestReason.IMPOSSIBLE, "goal judged impossible"),
}
GO_ON: Final = {
    GoalStatus.UNVERIFIED: "/supervisor:goal resume, when it can run",
    GoalStatus.STALLED: "what may help the agent, then /supervisor:goal resume",
    GoalStatus.IMPOSSIBLE: "/supervisor:goal and another condition",
}
"""What the person types to go on after an ending, unless the caller of `end_goal` knows better."""
LINE_LIMIT: Final = 300
"""Characters of a line that a person is told at an ending."""
REWOUND_REASON: Final = "as the conversation went back to before it was set"
KNOWN_FINDINGS: Final = 3
"""Changes of checks that are told where nobody judged them."""
TOLD_LIMIT: Final = 3
"""Places with text addressed to the judge that are told with an achieved goal."""


def end_goal(
    inquiry: Inquiry, status: GoalStatus, why: str, *, missing: str = "", then: str = ""
) -> tuple[Inquiry, Ruling]:
    """Give the goal a terminal status and let the agent rest. `then`: what to type to go on."""
    reason, words = GOAL_ENDINGS[status]
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=reason, detail=why)
    told, then = why, then or GO_ON.get(status, "")
    why = f"{why}; still missing: {missing}" if missing else why
    if status is GoalStatus.ACHIEVED:
        how = (describe_judgement(inquiry.case),) if inquiry.case is not None else ()
        words = ", ".join((words, *how))
        told = "; ".join((*_text_for_judge(inquiry, goal), why))
        why = "; ".join((*how, told))
    ended = replace(goal, status=status, last_reason=why[:1000], unjudged="")
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=ended))
    lines = (
        f"Supervisor: {words}. {told}",
        missing and f"Still missing: {missing}",
        then and f"To go on, type: {then}",
    )
    return inquiry, Rest(reason=reason, detail=why[:1000], note=screen_lines(lines), alarm=True)


def screen_lines(lines: Iterable[str]) -> str:
    """Put what a person is told under one another, each cut to fit a host's screen."""
    return "\n".join(clean_line(line, LINE_LIMIT) for line in lines if line)


def waiting_note(question: str) -> str:
    """Tell the person that the agent waits for them."""
    return screen_lines(
        (f"Supervisor: waiting for you: {question}", "Type your answer, and the goal goes on.")
    )


def end_rewound_goal(inquiry: Inquiry) -> tuple[Inquiry, Ruling]:
    """End a goal whose prompt the user took back."""
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=RestReason.REWOUND)
    ended = replace(goal, status=GoalStatus.CLEARED, last_reason=REWOUND_REASON, unjudged="")
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=ended, pending=None))
    note = f"Supervisor: the goal ended, {REWOUND_REASON}: {goal.condition}"
    again = "To set it again, type: /supervisor:goal and the condition."
    return inquiry, Rest(
        reason=RestReason.REWOUND, detail=goal.condition[:1000], note=screen_lines((note, again))
    )


def _text_for_judge(inquiry: Inquiry, goal: Goal) -> Iterator[str]:
    """What is told with an achieved goal of text that was addressed to the judge."""
    found = [
        fact for fact in inquiry.evidence if addresses_judge(fact, (goal.condition, *inquiry.turn.prompts))
    ]
    return (f"please look: {fact.fact}" for fact in found[:TOLD_LIMIT])


def rest_unjudged(inquiry: Inquiry, why: str, remedy: str = "supervisor explain") -> tuple[Inquiry, Ruling]:
    """Rest without a verdict: the goal stays as it is, and everyone can see why (law 5), and what is known.

    `remedy`: what to type so that the next stop is judged.
    """
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=RestReason.UNJUDGED, detail=why)
    known = "; ".join(_describe_known(inquiry))
    said = f"{why} (known: {known})" if known else why
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=replace(goal, unjudged=said[:1000])))
    lines = (
        f"Supervisor: this stop was not judged: {why}. The goal stays active.",
        known and f"Known: {known}.",
        f"Type: {remedy}",
    )
    return inquiry, Rest(reason=RestReason.UNJUDGED, detail=why, note=screen_lines(lines))


def _describe_known(inquiry: Inquiry) -> tuple[str, ...]:
    """Say what was found without a judge: what ended how, and what changed in the checks."""
    runs = (
        f"`{run.gate.command}` {run.outcome.value.replace('-', ' ')}"
        for run in inquiry.runs
        if gates.bears_on_goal(run)
    )
    return (*runs, *describe_findings(inquiry.project_state.findings[:KNOWN_FINDINGS]))
