"""What kept stops do on every EventLog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.session import SessionKey
from sidecar.kernel.stop_history import LoadedStops
from sidecar.platform.log_readings import StopHistory
from support.cases import KEY, PROJECT, UNREACHABLE
from support.kept_stops import asked, missing, unasked
from support.logs import stops_in
from support.memory_stores import MemoryStopHistory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=("file", "memory"))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> StopHistory:
    return MemoryStopHistory() if request.param == "memory" else stops_in(tmp_path / "state")


def test_of_a_project_that_was_never_judged_nothing_is_kept(kept: StopHistory) -> None:
    assert kept.last(PROJECT, 20) == LoadedStops()


def test_a_stop_comes_back_whole(kept: StopHistory) -> None:
    stops = (asked(missing("left-work"), at=1.0), asked(UNREACHABLE, at=2.0), unasked(at=3.0))
    for stop in stops:
        kept.keep(stop)
    assert kept.last(PROJECT, 20) == LoadedStops(stops)


def test_the_newest_come_and_no_more_than_were_wanted(kept: StopHistory) -> None:
    for number in range(5):
        kept.keep(unasked(at=float(number)))
    assert [stop.at for stop in kept.last(PROJECT, 2).stops] == [3.0, 4.0]
    assert [stop.at for stop in kept.last(PROJECT, 99).stops] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert kept.last(PROJECT, 0).stops == kept.last(PROJECT, -1).stops == ()


def test_of_more_than_20_the_oldest_go(kept: StopHistory) -> None:
    for number in range(22):
        kept.keep(unasked(at=float(number)))
    assert [stop.at for stop in kept.last(PROJECT, 99).stops] == [float(number) for number in range(2, 22)]


def test_of_a_session_that_is_gone_nothing_stays(kept: StopHistory) -> None:
    kept.keep(unasked(at=1.0))
    kept.keep(asked(at=2.0, key=SessionKey("opencode", "../another")))
    kept.forget(PROJECT, SessionKey("opencode", KEY.id))
    kept.forget("/never/seen", KEY)
    assert len(kept.last(PROJECT, 20).stops) == 2
    kept.forget(PROJECT, KEY)
    assert [stop.at for stop in kept.last(PROJECT, 20).stops] == [2.0]


def test_projects_do_not_mix(kept: StopHistory) -> None:
    kept.keep(unasked(at=1.0, project="/one"))
    kept.keep(unasked(at=2.0, project="/two"))
    assert [stop.at for stop in kept.last("/one", 20).stops] == [1.0]


def test_a_project_by_another_name_is_the_same(kept: StopHistory, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "name").symlink_to(tmp_path / "real")
    kept.keep(unasked(project=str(tmp_path / "name")))
    assert len(kept.last(str(tmp_path / "real"), 1).stops) == 1
