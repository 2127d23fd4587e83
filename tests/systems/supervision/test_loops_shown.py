"""Loops that `supervisor loop` plays, as `status`, `watch` and the page show them while they go on."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.cli.status import other_sessions
from sidecar.cli.watch import report_lines, session_line
from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.loop import LoopStatus
from sidecar.kernel.work import Standing
from sidecar.systems.supervision.people import SessionSelector
from sidecar.systems.supervision.policy.sessions import answer_way, needs_person, standing, way_on
from support.cases import KEY, PROJECT, session
from support.fakes import Fakes
from support.played_loops import DOES, SHOP, TASKS, playing

pytestmark = pytest.mark.proves("seeing and asking back")


def test_a_loop_at_work_is_shown_with_its_task_report_model_and_cents(fakes: Fakes) -> None:
    people = playing(fakes)
    fakes.clock.advance(5)
    report = people.report(SessionSelector(project=PROJECT))
    assert report.text == f"goal active: add sub; add mul\nworking: {DOES}, 5 s"
    shown = [line.text for line in report_lines(report, fakes.clock.now())]
    assert "tasks: 1 of 2 completed" in shown
    line = session_line(report.sessions[0], fakes.clock.now())
    assert line == f"loop:shop · working ({DOES}), 5 s · goal active: add sub; add mul"


def test_beside_a_session_of_a_host_it_is_another_one(fakes: Fakes) -> None:
    fakes.store.save(session())
    report = playing(fakes).report(SessionSelector(project=PROJECT))
    assert report.session == KEY.id
    (other,) = other_sessions(report)
    assert other.startswith(f"  loop:shop in {PROJECT}: working (1 of 2 done; T2: report 3")


ENDS = {
    "all by checks": (LoopStatus.COMPLETED, TASKS[:1], "achieved", "closed", ""),
    "one by nobody": (
        *(LoopStatus.COMPLETED, (TASKS[0], replace(TASKS[0], id="T2", shown=Standing.NOT_JUDGED))),
        *("judged", "closed", ""),
    ),
    "failed": (LoopStatus.FAILED, TASKS, "stalled", "resting", "supervisor loop --session shop"),
    "halted": (
        *(LoopStatus.PAUSED, (replace(TASKS[1], status=TaskStatus.BLOCKED),), "paused", "waiting"),
        "To let an agent go on, type: supervisor loop --session shop --give-back",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_how_a_loop_ended_is_shown_and_what_to_type_where_a_person_must(case: str, fakes: Fakes) -> None:
    status, tasks, goal, state, types = ENDS[case]
    seen = playing(fakes, status, *tasks).describe(SHOP)
    assert seen is not None
    (shown, does), settings = seen, fakes.services.configuration.load()[0]
    assert (shown.goal and shown.goal.status, does.state) == (goal, state)
    needed = needs_person(*standing(shown, does))
    assert needed is bool(types)
    if needed:
        assert (answer_way(shown) if state == "waiting" else way_on(shown, settings)) == types
