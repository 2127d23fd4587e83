"""What every EventLog does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.goal import Spending
from sidecar.kernel.journal import Task
from sidecar.kernel.log import (
    AUDIT_KIND,
    AuditEntry,
    EventData,
    EventFilter,
    JournalChanged,
    JudgingPaid,
    LoggedEvent,
    OrderGiven,
    RecordEntry,
    SessionNoted,
    StopJudged,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.log_readings import DailySpending, read_record
from support.logs import event_log
from support.memory_stores import ManualClock, MemoryEventLog

if TYPE_CHECKING:
    from pathlib import Path

    from sidecar.platform.ports import EventLog

KEY = SessionKey("claude-code", "s1")
OTHER = SessionKey("opencode", "s1")
ALL = EventFilter()


@pytest.fixture(params=("file", "memory"))
def log(request: pytest.FixtureRequest, tmp_path: Path) -> EventLog:
    return MemoryEventLog() if request.param == "memory" else event_log(tmp_path / "state")


def event(at: float = 1.0, data: EventData | None = None, **fields: object) -> LoggedEvent:
    usual: dict[str, object] = {"system": "supervision", "session": KEY, "project": "/p"}
    return LoggedEvent(**usual | fields | {"at": at, "data": data or SessionNoted(what="x")})  # type: ignore[arg-type]


def times(events: tuple[LoggedEvent, ...]) -> list[float]:
    return [one.at for one in events]


WHOLE = [
    event(
        1.5,
        StopJudged(
            decided="continue",
            detail="why, with \u2028 and 🌱",
            gates=("tests", "lint"),
            confidence=0.5,
            seconds=0.25,
        ),
        origin="supervisor < zsh",
    ),
    event(2.5, OrderGiven(name="goal", decided="done", detail="two\nlines"), project="/\udcff"),
    event(3.5, JudgingPaid(tokens=7, cents=None, calls=1), session=None, project=""),
    event(
        4.5, JournalChanged(tasks=(Task(id="T1", content="x" * 10_000),), removed=("N1",)), system="iteration"
    ),
]


def test_an_empty_log_holds_nothing(log: EventLog) -> None:
    assert log.read(ALL) == log.newest(ALL, 5) == ()
    assert log.forget(ALL) == log.last() == log.count(ALL) == 0


def test_events_come_back_whole_in_the_order_of_their_positions(log: EventLog) -> None:
    positions = [log.append(one) for one in WHOLE]
    found = log.read(ALL)
    assert [one.position for one in found] == positions == sorted(set(positions))
    assert log.last() == positions[-1]
    assert [(one.at, one.session, one.system, one.data, one.origin) for one in found] == [
        (one.at, one.session, one.system, one.data, one.origin) for one in WHOLE
    ]
    assert [one.kind for one in found] == ["stop-judged", "order-given", "judging-paid", "journal-changed"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EventFilter(session=KEY), [1.0, 3.0, 4.0]),
        (EventFilter(session=OTHER), [2.0]),
        (EventFilter(project="/q"), [3.0]),
        (EventFilter(kinds=("order-given",)), [3.0]),
        (EventFilter(kinds=("order-given", "session-noted"), session=KEY), [1.0, 3.0, 4.0]),
        (EventFilter(since=2.0, before=4.0), [2.0, 3.0]),
        (EventFilter(session=SessionKey("' OR 1", "\udcff")), []),
    ],
)
def test_a_filter_selects(log: EventLog, wanted: EventFilter, found: list[float]) -> None:
    log.append(event(1.0))
    log.append(event(2.0, session=OTHER))
    log.append(event(3.0, OrderGiven(name="goal", decided="done"), project="/q"))
    log.append(event(4.0, system="iteration"))
    assert times(log.read(wanted)) == times(log.newest(wanted, 9)) == found
    assert log.count(wanted) == len(found)
    assert log.forget(wanted) == len(found)
    assert sorted(times(log.read(ALL)) + found) == [1.0, 2.0, 3.0, 4.0]


def test_all_but_the_newest_are_forgotten_and_positions_go_on(log: EventLog) -> None:
    positions = [log.append(event(float(number))) for number in range(5)]
    assert log.forget(ALL, keep=2) == 3
    assert times(log.read(ALL)) == [3.0, 4.0]
    log.forget(ALL)
    assert log.append(event(9.0)) > positions[-1]


def test_the_audit_goes_only_where_its_kind_is_named(log: EventLog) -> None:
    audit = AuditEntry(tool="lock", lock="gov-1", mode=Mode.FULL)
    for number in range(6):
        log.append(event(float(number), audit if number % 2 else None))
    assert log.forget(ALL, keep=1) == 2
    assert log.forget(EventFilter(session=KEY, before=9.0)) == 1
    assert times(log.read(ALL)) == [1.0, 3.0, 5.0]
    assert log.forget(EventFilter(kinds=(AUDIT_KIND,), before=4.0)) == 2
    assert times(log.read(ALL)) == [5.0]


def test_who_listens_hears_of_every_append_until_the_end(log: EventLog) -> None:
    heard: list[int] = []
    stop = log.listen(lambda: heard.append(len(log.read(ALL))))
    log.append(event())
    log.append(event())
    stop()
    log.append(event())
    assert heard == [1, 2]


def test_text_that_is_no_unicode_is_replaced(log: EventLog) -> None:
    log.append(event(1.0, SessionNoted(what="a\udcffb")))
    assert [one.data for one in log.read(ALL)] == [SessionNoted(what="a\ufffdb")]


# --- readings -----------------------------------------------------------------------------------------------


def test_the_record_of_a_session_is_what_was_decided(log: EventLog) -> None:
    for one in WHOLE:
        log.append(one)
    log.append(event(5.0, SessionNoted(what="session-ended", detail="exit")))
    log.append(event(6.0, StopJudged(decided="continue"), session=OTHER))
    stop, order, ended = read_record(log, KEY)
    assert (stop.event, stop.decided, stop.gates, stop.origin) == (
        "stop",
        "continue",
        ("tests", "lint"),
        "supervisor < zsh",
    )
    assert order == RecordEntry(at=2.5, event="command goal", decided="done", detail="two\nlines")
    assert (ended.event, ended.decided) == ("session-ended", "noted")
    assert read_record(log, KEY, 1) == (ended,)


def test_what_judging_cost_is_added_up_by_the_day_for_all_processes(log: EventLog) -> None:
    clock = ManualClock(0.0)
    spending = DailySpending(log, clock)
    assert spending.today() == Spending(day="1970-01-01")
    spending.add(1000, 1.5, 1)
    DailySpending(log, clock).add(500, None, 2)
    assert spending.today() == Spending(day="1970-01-01", calls=3, tokens=1500, cents=1.5, unpriced=2)
    clock.advance(86_400.0)
    assert spending.today() == Spending(day="1970-01-02")
