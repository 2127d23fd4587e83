"""What the passes of a stop are worth for its goal."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.policy import build_gate_baseline
from sidecar.evidence.proof.worth import WorthOfPasses, weigh_passes
from sidecar.kernel.events import ProjectState
from sidecar.kernel.gate import CheckComparison, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import Goal
from support.cases import PYTEST, RUBRIC, TREE, gate_run, goal
from support.table import over_table

RED, BROKEN = (gate_run(outcome=one) for one in (Outcome.FAILED, Outcome.COULD_NOT_RUN))
GREEN = gate_run()
MUST = gate_run(replace(PYTEST, required=True))
TYPED = gate_run(replace(PYTEST, id="check:1", required=True, origin=GateOrigin.TYPED))
TEST_PATH = gate_run(replace(PYTEST, id="named-tests", required=True))
LINT = gate_run(replace(PYTEST, id="lint", command="ruff check", kind=Kind.LINT, counts=False))
KNOWN_RED = goal(baseline=build_gate_baseline([RED]))
SEEN_RED = goal(seen_red=(PYTEST.named,))


def compared(**runs: Any) -> CheckComparison:
    return CheckComparison(now=GREEN, **runs)


class Weighed(Struct, frozen=True, kw_only=True):
    """A row: what is weighed, and the names of what the pass counts as."""

    counts: str = ""
    run: GateRun = GREEN
    goal: Goal = goal()
    seen: CheckComparison | None = None
    checks_changed: bool = False
    alone: bool = False


ROWS: Final = {
    "nothing is known of before": Weighed(),
    "it passed when the goal was set": Weighed(goal=goal(baseline=build_gate_baseline([GREEN]))),
    "it failed when the goal was set": Weighed(goal=KNOWN_RED, counts="turned_green noticed"),
    "it failed then, and checks changed, with no replay": Weighed(
        goal=KNOWN_RED, checks_changed=True, counts="noticed"
    ),
    "another command failed then": Weighed(
        goal=goal(baseline=build_gate_baseline([gate_run(replace(PYTEST, command="tox"), Outcome.FAILED)]))
    ),
    "it could not run when the goal was set": Weighed(goal=goal(baseline=build_gate_baseline([BROKEN]))),
    "the product alone turned it green": Weighed(
        seen=compared(base=RED, product=GREEN), counts="turned_green"
    ),
    "the same, and checks changed": Weighed(
        seen=compared(base=RED, product=GREEN), checks_changed=True, counts="turned_green"
    ),
    "red on the base, and with the product alone": Weighed(seen=compared(base=RED, product=RED)),
    "red on the base, and nothing replayed": Weighed(seen=compared(base=RED)),
    "green on the base": Weighed(seen=compared(base=GREEN, product=GREEN)),
    "the base could not run": Weighed(seen=compared(base=BROKEN, product=GREEN)),
    "the replay outweighs what was known": Weighed(
        goal=KNOWN_RED, seen=compared(base=RED, product=RED), counts="noticed"
    ),
    "today's checks fail on the old code": Weighed(seen=compared(fresh=RED), counts="noticed"),
    "today's checks cannot even start there": Weighed(seen=compared(fresh=BROKEN), counts="noticed"),
    "today's checks pass there, too": Weighed(seen=compared(fresh=GREEN)),
    "it failed at an earlier stop of the goal": Weighed(goal=SEEN_RED, counts="noticed"),
    "the goal says nothing else": Weighed(run=MUST, alone=True, counts="named"),
    "the goal says more": Weighed(run=MUST),
    "not required, and the goal says nothing else": Weighed(alone=True),
    "typed": Weighed(run=TYPED, counts="named"),
    "required by the configuration": Weighed(
        run=gate_run(replace(PYTEST, required=True, origin=GateOrigin.TYPED))
    ),
    "the goal names the tests": Weighed(run=TEST_PATH, counts="named"),
    "typed, and seen red": Weighed(run=TYPED, goal=SEEN_RED, counts="noticed named"),
    "on another tree": Weighed(run=replace(TYPED, tree="another"), goal=SEEN_RED),
    "flaky": Weighed(run=replace(TYPED, flaky=True), goal=SEEN_RED),
    "files moved meanwhile": Weighed(run=replace(TYPED, moved=True), goal=KNOWN_RED),
    "it fails": Weighed(run=replace(TYPED, outcome=Outcome.FAILED), goal=SEEN_RED),
    "no test gate, and not required": Weighed(run=LINT, goal=goal(seen_red=(LINT.gate.named,)), alone=True),
}


@over_table("row", ROWS.values(), ids=ROWS)
def test_a_pass_is_worth_what_it_would_have_noticed(row: Weighed) -> None:
    worth = weighed(
        [row.run],
        row.goal,
        [row.seen] if row.seen else [],
        alone=row.alone,
        checks_changed=row.checks_changed,
    )
    held = {
        name: [run.gate.id for run in runs]
        for name in ("turned_green", "noticed", "named")
        if (runs := getattr(worth, name))
    }
    assert held == {name: [row.run.gate.id] for name in row.counts.split()}
    assert bool(worth.proof) is bool(row.counts)


def test_all_is_green_where_every_check_that_bears_on_the_goal_passed() -> None:
    other = gate_run(replace(PYTEST, id="tests:api", folder="api"), Outcome.FAILED)
    assert weighed([GREEN]).green
    assert weighed([GREEN, replace(LINT, outcome=Outcome.FAILED)]).green
    assert not weighed([GREEN, other]).green
    assert not weighed([GREEN, replace(other, outcome=Outcome.PASSED, flaky=True)]).green
    assert not weighed([]).green


def test_the_proof_is_a_line_for_each_check_with_its_strongest_words() -> None:
    make = gate_run(replace(LINT.gate, id="check:2", command="make", origin=GateOrigin.TYPED, required=True))
    assert weighed([TYPED, make], SEEN_RED).proof == (
        "`pytest -q` would have failed without the work, and passes (5 tests)",
        "`make` passed",
    )
    assert weighed([GREEN], KNOWN_RED).proof == (
        "`pytest -q` failed before, and passes by the change of the product (5 tests)",
    )
    assert weighed([GREEN]).proof == ()
    part = replace(RED, noticed=("test_b",))
    assert weighed([part]).proof == ("`pytest -q`: test_b would have failed without the work",)
    assert weighed([replace(part, moved=True)]).proof == ()


def weighed(
    runs: list[GateRun],
    of: Goal = goal(),  # noqa: B008 - frozen
    seen: list[CheckComparison] | None = None,
    *,
    alone: bool = False,
    **state: Any,
) -> WorthOfPasses:
    known = ProjectState(**{"tree": TREE, "rubric": RUBRIC, **state})
    return weigh_passes(of, runs, seen or [], known, alone=alone)
