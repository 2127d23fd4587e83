"""What an editor learns of a rubric beyond its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.rubric.policy import new_rubric_text
from sidecar.servers.rubric_language.desk import RubricEditorCheck
from support.kept_stops import asked
from support.logs import stops_in

SHIPPED = Path(__file__).parents[3] / "rubric" / "rubric.md"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    project.mkdir()
    return project


@pytest.fixture
def desk(shop: Path) -> RubricEditorCheck:
    stops = stops_in(shop.parent / "state")
    for at in (1.0, 2.0):
        stops.keep(asked(at=at, project=str(shop)))
    return RubricEditorCheck(SHIPPED, {"HOME": str(shop.parent)}, shop.parent / "state")


def rubric(project: Path) -> str:
    return str(project / ".supervisor" / "rubric.md")


def test_of_a_criterion_it_is_known_how_often_it_spoke_here(desk: RubricEditorCheck, shop: Path) -> None:
    history = desk.history(rubric(shop), "left-work")
    assert history is not None
    assert (history.fired, history.stops) == (2, 2)
    other = desk.history(rubric(shop.parent / "other"), "left-work")
    assert other is not None
    assert (other.fired, other.stops) == (0, 0)


def test_a_new_rubric_begins_as_init_makes_it(desk: RubricEditorCheck, shop: Path) -> None:
    assert desk.beginning(rubric(shop)) == new_rubric_text(SHIPPED.read_text(), "shop")
    assert desk.beginning(str(SHIPPED)) == new_rubric_text(SHIPPED.read_text())


def test_a_rubric_of_no_project_has_no_history_and_nothing_to_replay(desk: RubricEditorCheck) -> None:
    assert desk.history(str(SHIPPED), "left-work") is None
    assert "belongs to no project" in desk.replay(str(SHIPPED), "")


def test_a_replay_says_what_a_text_would_have_changed(desk: RubricEditorCheck, shop: Path) -> None:
    without = "## Patterns\n- **OTHER**: it is done\n## Antipatterns\n- **TALK**: only talk\n"
    assert desk.replay(rubric(shop), without).startswith("replay on the last 2 stops: 2 verdicts change")
    assert "## Antipatterns" in desk.replay(rubric(shop), "## Patterns\n- **A**: b\n")
    assert "none was kept" in desk.replay(rubric(shop.parent / "other"), without)
