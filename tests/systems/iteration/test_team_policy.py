"""What becomes of a team's task after its run, and when a list is done."""

from __future__ import annotations

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.runs import RunRequest
from sidecar.platform.team.ports import TeamTask, TeamTaskState
from sidecar.systems.iteration.policy.team import (
    describe_open_tasks,
    describe_waiting,
    earlier_name,
    end_after_run,
    task_request,
    tasks_left,
)
from sidecar.work.progress import RunFinished
from support.table import over_table

ASKED = RunRequest(
    session="team-sprint",
    project="/shop",
    goal=GoalTerms(condition="", checks=("make",), max_seconds=60),
    jobs=4,
    team="sprint",
    options=(("--team", "sprint"), ("--jobs", "4")),
)


def task(ident: str = "T1", state: str = "open", **more: object) -> TeamTask:
    about = {"list": "sprint", "id": ident, "content": f"part {ident}", "state": TeamTaskState(state), **more}
    return TeamTask(**about)  # type: ignore[arg-type]


def test_a_tasks_run_has_its_words_its_checks_and_those_of_all() -> None:
    asked = task_request(ASKED, task(checks=("test -f a",), attempts=2))
    assert (asked.session, asked.jobs, asked.team) == ("sprint-T1-2", 0, "sprint")
    assert asked.goal == GoalTerms(condition="part T1", checks=("test -f a", "make"), max_seconds=60)
    assert asked.again() == "supervisor run --team sprint --jobs 4 -- AGENT"
    with pytest.raises(BadInputError, match="session id"):
        task_request(ASKED, task("../T1"))


@over_table(
    "outcome, code, spent, failures, follows",
    [
        ("achieved", 0, False, 0, ("merge", "")),
        ("judged", 4, False, 0, ("held", "")),
        ("unverified", 2, False, 0, ("held", "")),
        ("stalled", 1, False, 0, ("held", "")),
        ("exhausted", 1, False, 0, ("held", "")),
        ("exhausted", 1, True, 0, ("open", "exhausted")),
        ("achieved", 0, True, 0, ("merge", "")),
        ("agent-failed", 1, False, 0, ("open", "agent-failed")),
        ("agent-failed", 1, False, 2, ("held", "agent-failed")),
        ("broken", 1, False, 1, ("open", "broken")),
        ("cleared", 3, False, 0, ("held", "")),
    ],
)
def test_what_follows_from_a_run(
    *, outcome: str, code: int, spent: bool, failures: int, follows: tuple[str, str]
) -> None:
    ended = RunFinished(outcome=outcome, detail="why", exit_code=code)
    end = end_after_run(task(failures=failures, attempts=9), ended, code, spent=spent)
    assert (end.state, end.stops) == follows
    assert end.note == ("" if end.state == "merge" else f"{outcome}: why")


@over_table(
    "tasks, left",
    [
        ((task("T1", "merged"),), False),
        ((task("T1", "merged"), task("T2", needs=("T1",))), True),
        ((task("T1", "claimed"), task("T2", needs=("T1",))), True),
        ((task("T1", "held"), task("T2", needs=("T1",)), task("T3", needs=("T2",))), False),
        ((task("T1", "dropped"), task("T2", needs=("T1",))), True),
        ((task("T1", needs=("T9",)),), False),
        ((task("T1", needs=("T2",)), task("T2", needs=("T1",))), False),
    ],
)
def test_a_list_is_over_when_nothing_is_at_work_or_can_begin(tasks: tuple[TeamTask, ...], left: bool) -> None:  # noqa: FBT001 - a row
    assert tasks_left(tasks) is left


def test_what_is_left_at_the_end_says_what_to_type() -> None:
    held = (task("T2", "held", note="stalled"), task("T4", "held", note="unjudged"))
    left = (task("T1", "merged"), *held, task("T3", needs=("T2",)))
    assert describe_open_tasks(left) == (
        "T2 is held: stalled\nT4 is held: unjudged\nT3 waits for tasks that are not merged\n"
        "To try again: supervisor team give-back sprint T2 T4"
    )
    assert describe_open_tasks(left[:1]) == ""


def test_what_is_waited_for_is_named() -> None:
    held = tuple(task(f"T{number}", "claimed", machine="m1") for number in range(7))
    said = "waits for T0 on node, T1 on node, T2 on node, T3 on node, T4 on node and 2 more"
    assert describe_waiting(held, {"m1": "node"}, paused=False) == said
    assert "supervisor team resume sprint" in describe_waiting(held, {}, paused=True)


def test_an_attempt_goes_on_with_the_last_one_before_it() -> None:
    known = ("T1-1", "T1-2", "T1-5")
    assert earlier_name(task(attempts=3), known) == "T1-2"
    assert earlier_name(task(attempts=1), known) == ""
