"""What every Money and every Limits does."""

from __future__ import annotations

import pytest

from sidecar.kernel.limits import ServiceLimit
from sidecar.platform.team.ports import Account, TeamRefusedError
from sidecar.platform.team.store import TeamStore
from support.teams import TeamPlace, at_once

LOST = -1.0
"""A lease that has run out."""
A = "cents"
Step = tuple[object, ...]
TOTAL, DAILY = ("limit", 10.0), ("limit", 10.0, True)

SCENES: dict[str, tuple[list[Step], tuple[float, float]]] = {
    "what does not fit is not reserved": (
        [TOTAL, ("reserve", 6, "a", True), ("reserve", 5, "b", False), ("reserve", 4, "c", True)],
        (0, 10),
    ),
    "a repeated request reserves once": (
        [TOTAL, ("reserve", 6, "a", True), ("reserve", 6, "a", True), ("reserve", 4, "b", True)],
        (0, 10),
    ),
    "a renewal for less gives the rest back": (
        [TOTAL, ("reserve", 9, "a", True), ("reserve", 2, "a", True), ("reserve", 8, "b", True)],
        (0, 10),
    ),
    "a renewal for more must fit": (
        [TOTAL, ("reserve", 6, "a", True), ("reserve", 3, "b", True), ("reserve", 8, "a", False)],
        (0, 9),
    ),
    "what is spent counts once, and gives back what was reserved": (
        [TOTAL, ("reserve", 6, "a", True), ("settle", 2, "a"), ("settle", 2, "a"), ("reserve", 8, "b", True)],
        (2, 8),
    ),
    "more may be spent than was reserved, and it counts": (
        [TOTAL, ("reserve", 6, "a", True), ("settle", 12, "a"), ("reserve", 1, "b", False)],
        (12, 0),
    ),
    "what was not reserved may be spent": ([TOTAL, ("settle", 3, "a")], (3, 0)),
    "a request that is repeated after it was settled reserves nothing": (
        [TOTAL, ("reserve", 6, "a", True), ("settle", 6, "a"), ("reserve", 6, "a", True)],
        (6, 0),
    ),
    "a reservation that ran out counts for others as given back": (
        [TOTAL, ("reserve", 9, "a", True, LOST), ("reserve", 10, "b", True)],
        (0, 10),
    ),
    "a reservation that ran out must fit again": (
        [TOTAL, ("reserve", 9, "a", True, LOST), ("reserve", 8, "b", True), ("reserve", 9, "a", False)],
        (0, 8),
    ),
    "what is settled after its reservation ran out gives nothing back of others": (
        [TOTAL, ("reserve", 6, "a", True, LOST), ("reserve", 10, "b", True), ("settle", 4, "a")],
        (4, 10),
    ),
    "a limit that is made later counts what is reserved": (
        [
            ("reserve", 6, "a", True),
            TOTAL,
            ("reserve", 5, "b", False),
            ("settle", 1, "a"),
            ("reserve", 9, "b", True),
        ],
        (1, 9),
    ),
    "a limit that is made later does not count what was spent before": (
        [("reserve", 6, "a", True), ("settle", 6, "a"), TOTAL, ("reserve", 10, "b", True)],
        (0, 10),
    ),
    "a limit that is lowered leaves what is held": (
        [
            TOTAL,
            ("reserve", 8, "a", True),
            ("limit", 5.0),
            ("reserve", 8, "a", True),
            ("reserve", 1, "b", False),
        ],
        (0, 8),
    ),
    "an account without a most counts and refuses nothing": (
        [("limit", None), ("reserve", 1e9, "a", True), ("settle", 7, "a")],
        (7, 0),
    ),
    "a daily account begins anew at midnight": (
        [DAILY, ("settle", 9, "a"), ("reserve", 2, "b", False), ("midnight",), ("reserve", 2, "b", True)],
        (0, 2),
    ),
    "a reservation over midnight counts on the new day, when it is spent": (
        [
            DAILY,
            ("settle", 9, "x"),
            ("reserve", 1, "a", True),
            ("midnight",),
            ("settle", 3, "a"),
            ("settle", 1, "b"),
        ],
        (4, 0),
    ),
    "what a total account spent stays at midnight": (
        [TOTAL, ("settle", 9, "a"), ("midnight",), ("reserve", 2, "b", False)],
        (9, 0),
    ),
    "an account that becomes daily begins its count anew": (
        [TOTAL, ("settle", 9, "a"), DAILY, ("reserve", 10, "b", True)],
        (0, 10),
    ),
    "fractions that add up to the limit fit": (
        [
            ("limit", 0.3),
            ("reserve", 0.1, "a", True),
            ("reserve", 0.1, "b", True),
            ("reserve", 0.1, "c", True),
        ],
        (0, 0.3),
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_money_is_reserved_before_and_counted_once_after(
    team: TeamPlace, store: TeamStore, scene: str
) -> None:
    steps, balance = SCENES[scene]
    for step in steps:
        match step:
            case ("limit", most, *daily):
                store.set_limit(Account(name=A, most=most, daily=bool(daily)))  # type: ignore[arg-type]
            case ("reserve", float() | int() as amount, str() as key, fits, *lease):
                assert store.reserve(A, amount, key, *lease) == fits, step  # type: ignore[arg-type]
            case ("settle", float() | int() as amount, str() as key):
                store.settle(A, amount, key)
            case _:
                team.change("UPDATE accounts SET day = '2001-01-01'")
    [account] = store.accounts()
    assert (account.used, account.reserved) == pytest.approx(balance)


def test_a_key_is_one_of_its_account(store: TeamStore) -> None:
    for name in ("tokens", "cents"):
        store.set_limit(Account(name=name, most=10))
        assert store.reserve(name, 8, "agent 1")
    store.settle("cents", 3, "agent 1")
    assert [(one.name, one.used, one.reserved) for one in store.accounts()] == [
        ("cents", 3, 0),
        ("tokens", 0, 8),
    ]


def test_nothing_is_spent_or_reserved_below_zero(store: TeamStore) -> None:
    store.set_limit(Account(name=A, most=10))
    for refused in (lambda: store.settle(A, -5, "a"), lambda: store.reserve(A, -5, "b")):
        with pytest.raises(TeamRefusedError):
            refused()
    assert store.accounts() == (Account(name=A, most=10),)


def test_no_more_is_reserved_than_there_is_by_who_asks_at_once(team: TeamPlace, store: TeamStore) -> None:
    store.set_limit(Account(name=A, most=10))

    def ask(number: int) -> int:
        member = team.member(f"m{number}")
        return sum(member.reserve(A, 1, f"{number}/{one}") for one in range(4))

    assert sum(at_once(8, ask)) == 10
    at_once(8, lambda number: team.member(f"m{number}").settle(A, 2, f"{number % 4}/0"))
    [account] = store.accounts()
    assert account.used == 8


def test_a_machine_that_leaves_gives_back_what_it_reserved(store: TeamStore, other: TeamStore) -> None:
    store.set_limit(Account(name=A, most=10))
    assert store.reserve(A, 6, "a")
    assert other.reserve(A, 1, "b")
    store.leave()
    assert [one.reserved for one in other.accounts()] == [1]


def test_of_the_slots_of_a_key_no_more_are_taken_than_it_has(store: TeamStore, other: TeamStore) -> None:
    assert store.take_slot("model", 2, "a")
    assert store.take_slot("model", 2, "a"), "it is renewed"
    assert store.take_slot("model", 2, "b")
    assert not other.take_slot("model", 2, "c")
    assert other.take_slot("another", 1, "a"), "a token is one of its key"
    other.free_slot("another", "b")
    store.free_slot("model", "a")
    assert other.take_slot("model", 2, "c")
    assert store.take_slot("model", 1, "b"), "who holds one renews it, also where there are fewer"
    assert not store.take_slot("model", 1, "d")


def test_a_slot_whose_lease_ran_out_is_given_to_another(store: TeamStore, other: TeamStore) -> None:
    assert store.take_slot("merge/L", 1, "a", LOST)
    assert other.take_slot("merge/L", 1, "b")
    assert not store.take_slot("merge/L", 1, "a")


def test_no_more_slots_are_taken_by_who_asks_at_once(team: TeamPlace) -> None:
    keys = [f"model {number}" for number in range(20)]

    def take(number: int) -> int:
        member = team.member(f"m{number}")
        return sum(member.take_slot(key, 3, str(number)) for key in keys)

    assert sum(at_once(8, take)) == 3 * len(keys)


def test_the_latest_limit_of_a_service_is_known_to_all(store: TeamStore, other: TeamStore) -> None:
    at = store.now()
    for said, until in (("first", at + 60), ("later", at + 90), ("earlier", at + 30)):
        store.note_limit(ServiceLimit(account="claude 1a", until=until, said=f"{said}\0", met=2))
    other.note_limit(ServiceLimit(account="passed", until=at - 1, said="x"))
    assert other.limits() == (ServiceLimit(account="claude 1a", until=at + 90, said="later", met=2),)
