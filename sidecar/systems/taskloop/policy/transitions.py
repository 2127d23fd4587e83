"""Which step of the loop may follow which. docs/loop.md draws this table.

A crash leaves the state as it was saved last: while gates ran, that is `awaiting_quality_gates`, from which
a report may be given, or a task begun, again.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.loop import Loop, LoopState, Tier


class Step(StrEnum):
    """What happens in a loop."""

    START = "session_start"
    BEGIN = "begin"
    TASK = "task_start"
    REPORT = "report_completion"
    GATES_RAN = "gates_ran"
    COMPLETE = "complete"
    ITERATE = "iterate"
    ESCALATE = "escalate"
    ESCALATED = "escalated"
    COUNCIL = "council"
    DECIDED = "council_submit"
    BLOCK = "block"
    FAIL = "fail"
    END = "session_end"


S = LoopState
TRANSITIONS: Final[Mapping[LoopState, Mapping[Step, LoopState]]] = {
    S.IDLE: {Step.START: S.INITIALIZING},
    S.INITIALIZING: {Step.BEGIN: S.SELECTING_AGENT},
    S.SELECTING_AGENT: {Step.TASK: S.EXECUTING, Step.END: S.COMPLETED, Step.FAIL: S.FAILED},
    S.EXECUTING: {
        Step.REPORT: S.AWAITING_QUALITY_GATES,
        Step.ESCALATE: S.ESCALATING,
        Step.TASK: S.EXECUTING,
        Step.BLOCK: S.SELECTING_AGENT,
        Step.FAIL: S.FAILED,
    },
    S.AWAITING_QUALITY_GATES: {
        Step.REPORT: S.AWAITING_QUALITY_GATES,
        Step.GATES_RAN: S.EVALUATING_RESULTS,
        Step.TASK: S.EXECUTING,
        Step.FAIL: S.FAILED,
    },
    S.EVALUATING_RESULTS: {
        Step.COMPLETE: S.SELECTING_AGENT,
        Step.ITERATE: S.EXECUTING,
        Step.ESCALATE: S.ESCALATING,
        Step.BLOCK: S.SELECTING_AGENT,
        Step.FAIL: S.FAILED,
    },
    S.ESCALATING: {
        Step.ESCALATED: S.EXECUTING,
        Step.COUNCIL: S.ACTIVATING_BUG_COUNCIL,
        Step.BLOCK: S.SELECTING_AGENT,
        Step.FAIL: S.FAILED,
    },
    S.ACTIVATING_BUG_COUNCIL: {Step.DECIDED: S.EXECUTING, Step.FAIL: S.FAILED},
    S.COMPLETED: {Step.START: S.INITIALIZING},
    S.FAILED: {Step.START: S.INITIALIZING},
}
"""The next state, by state and step. What is not here may not happen."""

_CALLS: Final = {
    "session_start": (S.IDLE, S.COMPLETED, S.FAILED),
    "task_start": (S.INITIALIZING, S.SELECTING_AGENT),
    "report_completion": (S.EXECUTING, S.AWAITING_QUALITY_GATES, S.EVALUATING_RESULTS),
    "escalate": (S.ESCALATING,),
    "council_submit": (S.ACTIVATING_BUG_COUNCIL,),
}
CALL_FIRST: Final[Mapping[LoopState, str]] = {
    state: tool for tool, states in _CALLS.items() for state in states
}
"""The tool that goes on from a state."""


class LoopOrderError(ToolRuleError):
    """A tool was called out of order, and nothing changed."""


def take_step(loop: Loop, step: Step, tool: str = "") -> Loop:
    """Return the loop after a step. Raises LoopOrderError, which names the tool to call first.

    `tool`: what was called, where that is not the step's own name.
    """
    after = TRANSITIONS[loop.state].get(step)
    if after is None:
        opened = step is Step.START
        rule, first = ("loop-opened", "") if opened else ("loop-order", CALL_FIRST[loop.state])
        raise LoopOrderError(rule, state=loop.state, step=tool or step, first=first)
    return replace(loop, state=after)


def next_rung(tier: Tier, models: Mapping[str, str]) -> Tier:
    """Return the next tier on which another model runs than on this one; above all is the council.

    `models`: see TaskWork. Where it is empty, each tier is a rung.
    """
    above = tuple(Tier)[tuple(Tier).index(tier) + 1 :]
    own = models.get(tier, "")
    others = (one for one in above if not models or models.get(one, own) != own)
    return next(others, Tier.COUNCIL)
