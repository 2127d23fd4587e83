"""Whose edit of the user's own rubric it was, which agents at any project can write."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.kernel.turn import Turn
from sidecar.rubric import files as settling
from support.cases import KEY, edited, turn
from support.saved import IDLE, NEW, OLD, OTHER, Scene

COUNTS = "It counts from the next stop"
UNDECIDED = "Whether it counts is told at the next stop"


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A project without a rubric, at rest, and another at which an agent is at work."""
    monkeypatch.setattr(settling, "YOUNG_S", 0.0)
    made = Scene(tmp_path)
    made.file.unlink()
    own(made).parent.mkdir(parents=True)
    own(made).write_text(OLD)
    elsewhere(made).mkdir()
    made.speak()
    assert made.stop() == "OLD"
    made.speak(OTHER, elsewhere(made))
    return made


def own(scene: Scene) -> Path:
    return scene.folder / ".config" / "supervisor" / "rubric.md"


def elsewhere(scene: Scene) -> Path:
    return scene.folder / "elsewhere"


def wrote(scene: Scene) -> Turn:
    return turn(calls=(edited(str(own(scene))),))


@pytest.mark.parametrize("looked", [True, False])
def test_an_agents_edit_of_the_users_rubric_is_held_in_every_project(scene: Scene, *, looked: bool) -> None:
    own(scene).write_text(NEW)
    if looked:
        assert scene.looks().endswith(UNDECIDED)
    assert scene.stop(wrote(scene), OTHER, elsewhere(scene)) == "OLD"
    assert "/supervisor:accept" in scene.looks()
    scene.speak()
    assert scene.stop() == "OLD"


def test_the_users_edit_beside_an_agent_elsewhere_counts_once_that_has_stopped(scene: Scene) -> None:
    own(scene).write_text(NEW)
    assert scene.looks().endswith(UNDECIDED)
    assert scene.stop(IDLE, OTHER, elsewhere(scene)) == "NEW"
    assert "the rubric in force changed" in scene.looks()
    scene.speak()
    assert scene.stop() == "NEW"


def test_what_an_agent_elsewhere_may_have_written_is_not_counted_by_a_prompt_before_its_stop(
    scene: Scene,
) -> None:
    own(scene).write_text(NEW)
    scene.speak()
    assert scene.stop() == "OLD"
    assert "/supervisor:accept" in "\n".join(scene.watch.take_lines(KEY))
    assert scene.stop(wrote(scene), OTHER, elsewhere(scene)) == "OLD"


def test_an_agent_elsewhere_leaves_the_projects_own_rubric_to_the_project(scene: Scene) -> None:
    scene.file.write_text(NEW)
    assert scene.looks().endswith(COUNTS)
    scene.speak()
    assert scene.stop() == "NEW"
