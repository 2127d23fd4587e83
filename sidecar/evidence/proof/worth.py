"""What passes are worth for a goal: the table "What a pass is worth" of the design, for the runs of one stop.

turned green   it failed when the goal was set, and with nothing but today's product files it passes: the
product was repaired, whatever happened to the checks
noticed        today's checks fail on the old code, or the same check failed at an earlier stop of the goal
in part        the check fails as it did when the goal was set, and tests of it that pass fail on the old code
named          the user typed it with --check, or the goal says nothing but that it passes
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sidecar.evidence.gates.policy import bears_on_goal, is_proven_pass
from sidecar.kernel.events import ProjectState
from sidecar.kernel.gate import CheckComparison, GateRun, Outcome
from sidecar.kernel.goal import Goal
from sidecar.kernel.text import counted

NAMED: Final = 3
"""Tests that a line of proof names."""


class WorthOfPasses(Struct, frozen=True, kw_only=True):
    """The gates that passed on this tree, by what that shows. `green`: all that bear on the goal passed.

    `in_part`: what is to be said of a gate of which only new tests show something.
    """

    turned_green: tuple[GateRun, ...] = ()
    noticed: tuple[GateRun, ...] = ()
    named: tuple[GateRun, ...] = ()
    in_part: tuple[str, ...] = ()
    green: bool = False

    @property
    def proof(self) -> tuple[str, ...]:
        """Say what was executed that bears on the goal, a line for each gate; empty where nothing was."""
        said = {
            run.gate.named: f"{run.gate.named} {words}{_tests_counted(run)}"
            for runs, words in (
                (self.named, "passed"),
                (self.noticed, "would have failed without the work, and passes"),
                (self.turned_green, "failed before, and passes by the change of the product"),
            )
            for run in runs
        }
        return (*said.values(), *self.in_part)


def weigh_passes(
    goal: Goal,
    runs: Iterable[GateRun],
    comparisons: Iterable[CheckComparison],
    state: ProjectState,
    *,
    alone: bool,
) -> WorthOfPasses:
    """Weigh the gates of a stop. `alone`: the goal says no more than that the gates it names pass."""
    bearing = [run for run in runs if bears_on_goal(run)]
    passed = tuple(run for run in bearing if is_proven_pass(run, state.tree))
    seen = {one.now.gate.id: one for one in comparisons}
    typed = ("check:", "named-tests")
    return WorthOfPasses(
        turned_green=tuple(run for run in passed if _turned_green(run, seen.get(run.gate.id), goal, state)),
        noticed=tuple(run for run in passed if _was_noticed(run, seen.get(run.gate.id), goal)),
        named=tuple(run for run in passed if run.gate.required and (alone or run.gate.id.startswith(typed))),
        in_part=tuple(
            f"{run.gate.named}: {', '.join(run.noticed[:NAMED])} would have failed without the work"
            for run in bearing
            if run.noticed and run.tree == state.tree and not (run.flaky or run.moved)
        ),
        green=bool(passed) and len(passed) == len(bearing),
    )


def _turned_green(run: GateRun, seen: CheckComparison | None, goal: Goal, state: ProjectState) -> bool:
    if seen is None or seen.base is None:
        return not state.checks_changed and _failed_at_first(run, goal)
    product = seen.product
    return seen.base.outcome is Outcome.FAILED and product is not None and product.outcome is Outcome.PASSED


def _was_noticed(run: GateRun, seen: CheckComparison | None, goal: Goal) -> bool:
    fresh = seen.fresh if seen is not None else None
    return (
        run.gate.named in goal.seen_red
        or _failed_at_first(run, goal)
        or (fresh is not None and fresh.outcome is not Outcome.PASSED)
    )


def _failed_at_first(run: GateRun, goal: Goal) -> bool:
    return any(
        (one.gate, one.command, one.outcome) == (run.gate.id, run.gate.command, Outcome.FAILED)
        for one in goal.baseline
    )


def _tests_counted(run: GateRun) -> str:
    return f" ({counted(run.executed, 'test')})" if run.executed else ""
