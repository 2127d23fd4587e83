"""Whether a rubric that was just saved counts, by whatever way it was saved, and when that is decided."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.kernel.session import Session, SessionKey
from sidecar.rubric import files as settling
from sidecar.systems.supervision.steering import AT_WORK_S, MAX_WORK_SECONDS, SteeringWatch
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY, ran, turn
from support.fakes import prompt
from support.saved import (
    CHANGE,
    COUNTS,
    IDLE,
    LONG_AGO,
    NEW,
    OLD,
    OTHER,
    UNDECIDED,
    WROTE,
    Scene,
    overwrite,
    replace,
    swap,
)

pytestmark = pytest.mark.proves("crashes and bad input")


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(settling, "YOUNG_S", 3600.0)  # however slow this machine is
    return Scene.at_rest(tmp_path)


saves = pytest.mark.parametrize("save", [overwrite, replace, swap])


@saves
def test_an_edit_at_rest_is_told_once_and_counts_at_the_next_stop(
    scene: Scene, save: Callable[[Path, str], None]
) -> None:
    save(scene.file, NEW)
    assert scene.looks() == COUNTS
    assert scene.looks() == ""
    scene.speak()
    assert scene.stop() == "NEW"
    assert scene.looks() == ""
    scene.speak()
    assert scene.stop() == "NEW"
    assert "\n".join(scene.watch.take_lines(KEY)) == ""


@saves
def test_an_edit_that_no_watch_saw_counts_once_too(scene: Scene, save: Callable[[Path, str], None]) -> None:
    save(scene.file, NEW)
    scene.speak()
    assert scene.stop() == "NEW"
    assert "\n".join(scene.watch.take_lines(KEY)) == COUNTS
    assert scene.looks() == ""


@saves
def test_an_edit_while_the_agent_works_is_decided_at_its_stop(
    scene: Scene, save: Callable[[Path, str], None]
) -> None:
    scene.speak()
    save(scene.file, NEW)
    assert scene.looks() == UNDECIDED
    assert scene.stop() == "NEW"
    assert "\n".join(scene.watch.take_lines(KEY)) == (
        f"Supervisor: the rubric in force changed: {scene.file}: {CHANGE}"
    )
    assert scene.looks() == ""


@saves
def test_an_edit_right_before_a_stop_is_told_by_the_stop_alone(
    scene: Scene, save: Callable[[Path, str], None]
) -> None:
    scene.speak()
    save(scene.file, NEW)
    assert scene.stop() == "NEW"
    assert "\n".join(scene.watch.take_lines(KEY)).startswith("Supervisor: the rubric in force changed: ")
    assert scene.looks() == ""


def emptied(path: Path) -> None:
    path.write_text("")


def backed_up(path: Path) -> None:
    path.rename(path.with_name("rubric.md~"))


moments = pytest.mark.parametrize("moment", [emptied, backed_up])


@moments
def test_a_stop_in_the_middle_of_a_save_goes_by_the_text_from_before(
    scene: Scene, moment: Callable[[Path], None]
) -> None:
    scene.speak()
    moment(scene.file)
    assert scene.stop() == "OLD"
    assert scene.saved.look(), "it is worth to look again"
    assert "\n".join(scene.watch.take_lines(KEY)) == ""
    scene.file.write_text(NEW)
    assert scene.looks() == COUNTS
    scene.speak()
    assert scene.stop() == "NEW"
    assert scene.looks() == ""


@moments
def test_what_stays_empty_or_gone_was_meant(scene: Scene, moment: Callable[[Path], None]) -> None:
    moment(scene.file)
    for path in scene.file.parent.iterdir():
        os.utime(path, (LONG_AGO, LONG_AGO))
    os.utime(scene.file.parent, (LONG_AGO, LONG_AGO))
    assert "DEFAULT" in (told := scene.looks()) or "default.md" in told
    scene.speak()
    assert scene.stop() == "DEFAULT"


def test_an_agent_that_empties_the_file_right_before_its_stop_is_held(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text("")
    assert scene.stop(turn(calls=(ran(": > .supervisor/rubric.md"),))) == "OLD"
    assert "/supervisor:accept" in "\n".join(scene.watch.take_lines(KEY))


def test_an_edit_by_the_agent_is_told_as_undecided_and_then_held(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.looks() == UNDECIDED
    assert scene.stop(WROTE) == "OLD"
    assert "It does not count until you type" in "\n".join(scene.watch.take_lines(KEY))
    assert scene.looks() == ""
    scene.speak()
    assert scene.stop() == "OLD"


def test_a_stop_whose_prompt_nobody_saw_goes_by_what_the_agent_did(scene: Scene) -> None:
    scene.file.write_text(NEW)
    assert scene.stop(WROTE) == "OLD"
    assert "/supervisor:accept" in "\n".join(scene.watch.take_lines(KEY))


def test_an_edit_that_says_nothing_else_is_not_told(scene: Scene) -> None:
    scene.file.write_text(f"<!-- a note -->\n\n{OLD}")
    assert scene.looks() == ""


def test_an_agent_that_works_for_long_is_still_at_work(scene: Scene) -> None:
    scene.speak()
    scene.fakes.clock.advance(AT_WORK_S * 3)
    scene.file.write_text(NEW)
    assert scene.looks() == UNDECIDED
    assert scene.stop(WROTE) == "OLD"


def test_who_was_at_work_before_the_sidecar_began_is_still_at_work(scene: Scene) -> None:
    now = scene.fakes.clock.now()
    for number, since in enumerate((None, now - MAX_WORK_SECONDS - 1, now - 60)):
        key = SessionKey(host=KEY.host, id=f"before-{number}")
        scene.fakes.store.save(Session(key=key, project=str(scene.project), active_since=since))
        scene.watch.recall()
        assert scene.watch.at_rest(str(scene.project)) is (number < 2)
    scene.fakes.store.unreadable = True
    scene.watch.recall()
    scene.file.write_text(NEW)
    assert scene.looks() == UNDECIDED
    late = SessionKey(host=KEY.host, id="before-2")
    assert scene.stop(WROTE, late) == "OLD"
    assert not scene.watch.at_rest(str(scene.project))
    scene.speak(late)
    assert scene.stop(IDLE, late) == "OLD"
    assert scene.watch.at_rest(str(scene.project))


@pytest.mark.parametrize("recalled", [True, False])
def test_a_prompt_to_an_agent_that_was_at_work_before_the_sidecar_began_decides_nothing(
    scene: Scene, *, recalled: bool
) -> None:
    """An agent that ends the sidecar gets nothing of its own counted by that."""
    now = scene.fakes.clock.now()
    scene.fakes.store.save(Session(key=KEY, project=str(scene.project), active_since=now))
    scene.restart()
    if recalled:
        scene.watch.recall()
    scene.file.write_text(NEW)
    scene.speak()
    assert scene.stop(IDLE) == "OLD"
    assert "/supervisor:accept" in "\n".join(scene.watch.take_lines(KEY))


def test_who_came_to_rest_just_before_that_was_looked_up_is_at_rest(tmp_path: Path) -> None:
    """The state of a session is saved after its stop is judged."""
    scene = Scene(tmp_path)
    scene.watch = SteeringWatch(scene.services)
    scene.speak()
    now = scene.fakes.clock.now()
    scene.fakes.store.save(Session(key=KEY, project=str(scene.project), active_since=now))
    scene.stop(IDLE)
    scene.watch.recall()
    assert scene.watch.at_rest(str(scene.project))


def test_a_session_from_before_the_sidecar_began_that_ends_leaves_its_edit_undecided(scene: Scene) -> None:
    """An agent that ends the sidecar and then its host gets nothing of its own counted by that."""
    now = scene.fakes.clock.now()
    scene.fakes.store.save(Session(key=KEY, project=str(scene.project), active_since=now))
    scene.restart()
    scene.file.write_text(NEW)
    scene.watch.end(KEY)
    scene.watch.recall()
    assert not scene.watch.at_rest(str(scene.project))
    scene.speak(OTHER)
    assert scene.stop(IDLE, OTHER) == "OLD"


def test_an_agent_of_a_host_that_tells_of_stops_alone_is_never_taken_to_rest(scene: Scene) -> None:
    """It may be at work again at any time, so nothing is decided before its next stop."""
    assert scene.stop(IDLE, OTHER) == "OLD"
    scene.file.write_text(NEW)
    assert scene.looks() == UNDECIDED
    assert scene.stop(turn(calls=(), readable=False), OTHER) == "OLD"
    assert "/supervisor:accept" in "\n".join(scene.watch.take_lines(OTHER))


def test_before_it_is_known_who_was_at_work_nothing_is_decided(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.watch = SteeringWatch(scene.services)
    assert not scene.watch.at_rest(str(scene.project))


def test_an_agent_that_was_set_to_work_while_we_were_off_is_not_taken_to_rest(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    supervisor = Supervisor(scene.services, scene.guides)
    assert supervisor.saved is not None
    supervisor.saved._rubrics.recall()  # noqa: SLF001 - what `run` does first
    scene.fakes.switches.turn(on=False, project=None)
    asyncio.run(supervisor.tell(prompt(**scene.about())))
    scene.fakes.switches.turn(on=True, project=None)
    assert not supervisor.saved._rubrics.at_rest(str(scene.project))  # noqa: SLF001 - as above
