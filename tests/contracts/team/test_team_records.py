"""What every Records and every Machines does, and what a transaction of a team is."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sidecar.kernel.log import EventFilter, LoggedEvent, SessionNoted
from sidecar.platform.team.ports import (
    Account,
    Machine,
    RecordConflictError,
    TeamOrder,
    TeamRefusedError,
    TeamTask,
)
from sidecar.platform.team.store import TeamStore
from support.teams import TeamPlace, at_once


def test_a_record_comes_back_as_it_was_saved_with_who_and_when(store: TeamStore, other: TeamStore) -> None:
    value = bytes(range(256))
    assert store.load("machine/x") is None
    assert store.save("machine/x", b"first", 0) == 1
    assert other.save("machine/x", value, 1) == 2
    found = store.load("machine/x")
    assert found is not None
    assert (found.key, found.value, found.revision, found.person) == ("machine/x", value, 2, "bob")
    assert abs(found.changed - store.now()) < 60
    store.remove("machine/x")
    store.remove("machine/x")
    assert store.load("machine/x") is None
    assert store.save("machine/x", b"", 0) == 1


@pytest.mark.parametrize("expected", [0, 1, 3, -1])
def test_a_record_is_not_saved_over_another_revision(store: TeamStore, expected: int) -> None:
    store.save("a", b"1", 0)
    store.save("a", b"2", 1)
    with pytest.raises(RecordConflictError, match="a was changed meanwhile"):
        store.save("a", b"3", expected)
    with pytest.raises(RecordConflictError):
        store.save("not there", b"3", 1)
    found = store.load("a")
    assert found is not None
    assert (found.value, found.revision) == (b"2", 2)


def test_records_are_found_by_how_their_keys_begin_literally(store: TeamStore) -> None:
    for key in ("b", "a_1", "a%2", "ab3", "A4", "a_0"):
        store.save(key, key.encode(), 0)
    assert [one.key for one in store.find("a_")] == ["a_0", "a_1"]
    assert [one.key for one in store.find("a%")] == ["a%2"]
    assert len(store.find("")) == 6


def test_a_record_that_is_too_large_is_refused(store: TeamStore) -> None:
    assert store.save("fits", bytes(7_000_000), 0) == 1
    with pytest.raises(TeamRefusedError, match="at_most_8_mb"):
        store.save("large", bytes(16_000_000), 0)
    assert store.load("large") is None


def test_of_who_saves_at_once_each_sees_the_others(team: TeamPlace, store: TeamStore) -> None:
    store.save("sum", b"0", 0)

    def add(number: int) -> None:
        member, left = team.member(f"m{number}"), 5
        while left:
            found = member.load("sum")
            assert found is not None
            try:
                member.save("sum", b"%d" % (int(found.value) + 1), found.revision)
            except RecordConflictError:
                continue
            left -= 1

    at_once(4, add)
    found = store.load("sum")
    assert found is not None
    assert (found.value, found.revision) == (b"20", 21)


def machine(**fields: Any) -> Machine:
    usual: dict[str, Any] = {"id": "m1", "name": "box", "person": "ann", "fingerprint": "f", "version": "1"}
    return Machine(**usual | fields)


def test_a_machine_that_joined_is_seen_until_it_leaves(store: TeamStore, other: TeamStore) -> None:
    assert store.join(machine())
    assert other.join(machine(id="m2", person="bob"))
    assert store.join(machine(name="new box", version="2"))
    first, second = store.machines()
    assert (first.id, first.name, first.version, second.id) == ("m1", "new box", "2", "m2")
    assert abs(first.seen - store.now()) < 60
    store.leave()
    assert [one.id for one in other.machines()] == ["m2"]


def test_a_copy_of_a_machines_state_is_told_from_it(store: TeamStore) -> None:
    assert store.join(machine())
    assert not store.join(machine(fingerprint="g", name="copy"))
    assert [one.name for one in store.machines()] == ["box"]


def test_an_order_is_given_once_to_the_machine_that_it_is_for(team: TeamPlace, other: TeamStore) -> None:
    for text in ("goal pause", "retry 5"):
        other.order(TeamOrder(machine="m1", session="s", text=text))
    other.order(TeamOrder(machine="m3", session="s", text="goal clear"))
    taken = [one for some in at_once(4, lambda _: team.member("m1").take_orders()) for one in some]
    assert sorted((one.text, one.session, one.person) for one in taken) == [
        ("goal pause", "s", "bob"),
        ("retry 5", "s", "bob"),
    ]
    assert other.take_orders() == ()
    assert abs(taken[0].at - other.now()) < 60


def change_everything(store: TeamStore) -> None:
    store.save("machine/x", b"1", 0)
    store.append([LoggedEvent(at=1.0, system="s", position=1, data=SessionNoted(what="x"))])
    store.add(TeamTask(list="L", id="T1", content="x"))
    assert store.claim("L") is not None
    store.set_limit(Account(name="cents", most=1))
    assert store.reserve("cents", 1, "a")
    assert store.take_slot("model", 1, "a")
    store.order(TeamOrder(machine="m1", session="s", text="goal pause"))


def everything(store: TeamStore) -> list[int]:
    account = sum(one.reserved for one in store.accounts())
    events, tasks = store.read(EventFilter()), store.tasks("L")
    slots = not store.take_slot("model", 1, "another")
    return [len(store.find("")), len(events), len(tasks), int(account), slots, len(store.take_orders())]


def test_a_transaction_is_there_whole_or_not_at_all(team: TeamPlace, store: TeamStore) -> None:
    same = team.member()

    def fail() -> None:
        with store.transaction():
            change_everything(store)
            with store.transaction():
                store.save("machine/x", b"2", 9)

    with pytest.raises(RecordConflictError):
        fail()
    assert everything(same) == [0, 0, 0, 0, False, 0]
    same.free_slot("model", "another")
    with store.transaction():
        change_everything(store)
    assert everything(same) == [1, 1, 1, 1, True, 1]


def test_a_transaction_is_that_of_its_thread(store: TeamStore) -> None:
    """What another thread saves meanwhile waits, and is not rolled back with it."""
    inside = threading.Event()

    def save() -> None:
        inside.wait(60)
        store.save("theirs", b"1", 0)

    def fail() -> None:
        with store.transaction():
            store.save("ours", b"1", 0)
            inside.set()
            raise ValueError("rolled back")

    thread = threading.Thread(target=save)
    thread.start()
    with pytest.raises(ValueError, match="rolled back"):
        fail()
    thread.join(60)
    assert [one.key for one in store.find("")] == ["theirs"]
