"""What every TeamLog does."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.log import EventData, EventFilter, JudgingPaid, LoggedEvent, SessionNoted, StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.platform.team.ports import TeamEvent
from sidecar.platform.team.store import TeamStore
from support.teams import TeamPlace, at_once

ALL = EventFilter()
KEY = SessionKey("claude-code", "s1")
OTHER = SessionKey("opencode", "s1")


def event(position: int, data: EventData | None = None, **fields: Any) -> LoggedEvent:
    usual: dict[str, Any] = {
        "system": "supervision",
        "session": KEY,
        "project": "/p",
        "at": float(position),
    }
    return LoggedEvent(**usual | fields | {"position": position, "data": data or SessionNoted(what="x")})


def sequences(events: tuple[TeamEvent, ...]) -> list[int]:
    return [one.sequence for one in events]


def test_an_event_is_there_once_however_often_its_machine_sends_it(
    store: TeamStore, other: TeamStore
) -> None:
    assert store.append(event(number) for number in (1, 2, 4)) == 3
    assert store.append(event(number, at=9.0) for number in (2, 3, 4, 5)) == 2
    assert store.append([]) == 0
    assert other.append([event(2)]) == 1

    found = store.read(ALL)
    assert [(one.machine, one.person, one.sequence, one.event.at) for one in found] == [
        *(("m1", "ann", number, float(number)) for number in (1, 2, 4)),
        *(("m1", "ann", number, 9.0) for number in (3, 5)),
        ("m2", "bob", 2, 2.0),
    ]
    places = [one.event.position for one in found]
    assert places == sorted(set(places))


def test_an_event_comes_back_as_it_was_but_for_its_place(store: TeamStore) -> None:
    sent = [
        event(1, StopJudged(decided="continue", detail="why, with \u2028, \0 and 🌱", gates=("tests",))),
        event(2, JudgingPaid(tokens=5, cents=None, calls=1), session=None, project="", origin="a terminal"),
    ]
    store.append(sent)
    found = [one.event for one in store.read(ALL)]
    assert [replace(one, position=number) for number, one in enumerate(found, start=1)] == sent


def test_a_text_that_a_database_does_not_take_is_cleaned(store: TeamStore) -> None:
    store.append([event(1, project="/p\0\udcff", session=SessionKey("claude-code", "s\0"))])
    [found] = store.read(EventFilter(session=SessionKey("claude-code", "s\0")))
    assert found.event.project == "/p?"
    assert [one.session for one in store.sessions(9)] == ["s"]


@pytest.mark.parametrize(
    ("wanted", "machine", "found"),
    [
        (ALL, "", [1, 2, 3, 4, 5]),
        (ALL, "m2", [5]),
        (EventFilter(session=KEY), "", [1, 2, 5]),
        (EventFilter(session=KEY), "m1", [1, 2]),
        (EventFilter(session=OTHER), "", [3]),
        (EventFilter(project="/q"), "", [4]),
        (EventFilter(kinds=("stop-judged", "judging-paid")), "", [2, 3]),
        (EventFilter(since=2.0, before=4.0), "", [2, 3]),
        (EventFilter(kinds=("judging-paid",), project="/p", since=4.0), "", []),
    ],
)
def test_events_are_selected_by_every_field_that_is_given(
    store: TeamStore, other: TeamStore, wanted: EventFilter, machine: str, found: list[int]
) -> None:
    store.append(
        [
            event(1),
            event(2, StopJudged(decided="rest")),
            event(3, JudgingPaid(tokens=1, cents=1.0, calls=1), session=OTHER),
            event(4, session=None, project="/q"),
        ]
    )
    other.append([event(5)])
    assert sequences(store.read(wanted, machine=machine)) == found
    assert sequences(store.newest(wanted, 9, machine=machine)) == found


def test_the_first_after_a_place_and_the_newest_are_read_oldest_first(store: TeamStore) -> None:
    store.append(event(number) for number in range(1, 10))
    places = [one.event.position for one in store.read(ALL)]
    assert sequences(store.read(ALL, after=places[2], limit=3)) == [4, 5, 6]
    assert sequences(store.read(ALL, after=places[-1])) == []
    assert sequences(store.newest(ALL, 2)) == [8, 9]


def test_a_session_is_summed_up_by_what_was_sent_first(store: TeamStore, other: TeamStore) -> None:
    stops = [
        event(1, StopJudged(decided="continue", detail="a test fails\nhere")),
        event(2, StopJudged(decided="achieved")),
    ]
    paid = event(3, JudgingPaid(tokens=5, cents=2.5, calls=1), project="")
    store.append(stops)
    store.append([*stops, paid])
    other.append([event(9, session=OTHER)])
    [latest, one] = store.sessions(9)
    assert (latest.machine, latest.host, latest.decided) == ("m2", "opencode", "")
    assert (one.machine, one.person, one.project, one.began, one.changed) == ("m1", "ann", "/p", 1.0, 3.0)
    assert (one.decided, one.stops, one.sent_back, one.cents) == ("achieved", 2, 1, 2.5)
    assert store.sessions(1) == (latest,)


def test_only_events_of_the_own_machine_are_forgotten(store: TeamStore, other: TeamStore) -> None:
    for one in (store, other):
        one.append([event(1), event(2, session=OTHER), event(3)])
    assert store.forget(EventFilter(session=KEY)) == 2
    assert sequences(store.read(ALL, machine="m1")) == [2]
    assert [(one.machine, one.host) for one in store.sessions(9) if one.machine == "m1"] == [
        ("m1", "opencode")
    ]
    assert store.forget(EventFilter(before=3.0)) == 1
    assert sequences(store.read(ALL)) == [1, 2, 3]
    assert store.append([event(4)]) == 1


def test_who_follows_the_log_misses_no_event_of_machines_that_write_at_once(team: TeamPlace) -> None:
    writers, batches = 4, 12
    ended = threading.Event()

    def follow() -> list[tuple[str, int]]:
        reader, seen, after = team.member("reader"), [], 0
        while True:
            last = ended.is_set()
            for one in reader.read(ALL, after=after):
                seen.append((one.machine, one.sequence))
                after = one.event.position
            if last:
                return seen

    def write(number: int) -> None:
        member = team.member(f"m{number}")
        for batch in range(batches):
            member.append(event(3 * batch + one) for one in (1, 2, 3))

    found: list[tuple[str, int]] = []
    thread = threading.Thread(target=lambda: found.extend(follow()))
    thread.start()
    try:
        at_once(writers, write)
    finally:
        ended.set()
        thread.join(60)
    sent = [(f"m{number}", one) for number in range(writers) for one in range(1, 3 * batches + 1)]
    assert sorted(found) == sent
