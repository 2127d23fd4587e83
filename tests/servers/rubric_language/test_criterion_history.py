"""What the language server is told of a criterion: from kept stops and from the last measurement."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from sidecar.judging.labelled_stops import (
    CRITERIA_LIMIT,
    MEASURED_FILE_NAME,
    MeasuredFile,
    read_measured_figures,
)
from sidecar.judging.replays import CriteriaFiring, fired_criteria
from sidecar.kernel.stop_history import (
    CONTINUE_DECISION,
    CriterionStats,
    EvaluatedStop,
    GroundTruth,
    RecordedStop,
)
from sidecar.platform.event_log import LOG_FILE
from sidecar.platform.log_readings import StopHistory
from sidecar.servers.rubric_language import desk as criterion_history
from sidecar.servers.rubric_language.desk import CriterionHistory
from support.cases import PROJECT, RUBRIC
from support.kept_stops import asked, missing, unasked
from support.logs import stops_in
from support.memory_stores import ManualClock

DAY = 86_400.0


def sent_back(*criteria: str, truth: GroundTruth = GroundTruth.PREMATURE) -> EvaluatedStop:
    return EvaluatedStop(
        id="1",
        family="f",
        truth=truth,
        origin="by-hand",
        language="en",
        host="h",
        ended=CONTINUE_DECISION,
        stage="judge",
        criteria=criteria,
    )


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def stops(state: Path) -> StopHistory:
    return stops_in(state)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0.0)


@pytest.fixture
def measured(state: Path, clock: ManualClock) -> MeasuredFile:
    return MeasuredFile(state, clock)


def test_of_what_never_happened_nothing_is_known(state: Path) -> None:
    history = CriterionHistory(state)
    assert history.of(PROJECT, "left-work") == CriterionStats()
    assert history.of("", "x") == history.of("/\x00", "x") == CriterionStats()


def test_what_spoke_lately_and_how_it_was_measured_come_together(
    state: Path, stops: StopHistory, measured: MeasuredFile
) -> None:
    stops.keep(asked(missing("left-work"), at=1.0))
    stops.keep(unasked(at=2.0))
    measured.keep(
        [sent_back("left-work"), sent_back("left-work", truth=GroundTruth.LEGITIMATE)], RUBRIC, "rules"
    )
    history = CriterionHistory(state)
    assert history.of(PROJECT, "left-work") == CriterionStats(
        fired=1,
        stops=2,
        last=1.0,
        measured_right=1,
        measured_of=2,
        measured_on="1970-01-01",
        measured_by="rules",
    )
    assert history.of(PROJECT, "permission-seeking") == CriterionStats(fired=1, stops=2, last=2.0)
    assert history.of("/another", "left-work").stops == 0


def test_a_stop_is_read_once_and_a_new_one_is_seen(
    state: Path, stops: StopHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[RecordedStop] = []

    def counted(stop: RecordedStop) -> CriteriaFiring:
        reads.append(stop)
        return fired_criteria(stop)

    monkeypatch.setattr(criterion_history, "fired_criteria", counted)
    history = CriterionHistory(state)
    stops.keep(asked(at=1.0))
    assert [history.of(PROJECT, name).fired for name in ("left-work", "left-work", "other")] == [1, 1, 0]
    assert len(reads) == 1
    stops.keep(asked(at=2.0))
    assert history.of(PROJECT, "left-work") == CriterionStats(fired=2, stops=2, last=2.0)
    assert len(reads) == 2


def test_a_new_measurement_is_seen_by_who_asked_before(state: Path, measured: MeasuredFile) -> None:
    history = CriterionHistory(state)
    for times in (0, 1, 2):
        assert history.of(PROJECT, "left-work").measured_of == times
        measured.keep([sent_back("left-work")] * (times + 1), RUBRIC, "rules")


def test_damaged_stops_and_figures_say_nothing(
    state: Path, stops: StopHistory, measured: MeasuredFile
) -> None:
    stops.keep(asked(at=1.0))
    stops.keep(asked(at=2.0))
    with contextlib.closing(sqlite3.connect(state / LOG_FILE)) as log, log:
        log.execute("UPDATE events SET data = x'00' WHERE position = 1")
    measured.keep([sent_back("left-work")], RUBRIC, "rules")
    (state / MEASURED_FILE_NAME).write_bytes(b'{"version": 1, "figures": 7}')
    assert CriterionHistory(state).of(PROJECT, "left-work") == CriterionStats(fired=1, stops=1, last=2.0)


def test_a_later_measurement_replaces_what_it_measured_and_leaves_the_rest(
    state: Path, measured: MeasuredFile, clock: ManualClock
) -> None:
    measured.keep([sent_back("a", "b")], RUBRIC, "rules")
    clock.advance(DAY)
    measured.keep([sent_back("b"), sent_back("b")], RUBRIC, "openai")
    known = read_measured_figures(state)
    assert {name: (one.right, one.of, one.on, one.by) for name, one in known.items()} == {
        "a": (1, 1, "1970-01-01", "rules"),
        "b": (2, 2, "1970-01-02", "openai"),
    }


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 99}', b"\xff"])
def test_figures_that_cannot_be_read_are_set_aside_and_measuring_goes_on(
    content: bytes, state: Path, measured: MeasuredFile
) -> None:
    state.mkdir(mode=0o700)
    (state / MEASURED_FILE_NAME).write_bytes(content)
    measured.keep([sent_back("a")], RUBRIC, "rules")
    assert list(read_measured_figures(state)) == ["a"]
    assert any(path.name.startswith(f"{MEASURED_FILE_NAME}.") for path in state.iterdir())


def test_of_too_many_criteria_those_measured_first_go(state: Path, measured: MeasuredFile) -> None:
    measured.keep([sent_back(*(f"c{number}" for number in range(CRITERIA_LIMIT)))], RUBRIC, "rules")
    measured.keep([sent_back("new")], RUBRIC, "rules")
    assert len(read_measured_figures(state)) == CRITERIA_LIMIT
    assert "new" in read_measured_figures(state)
