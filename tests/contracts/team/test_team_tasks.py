"""What every Queue does."""

from __future__ import annotations

import pytest

from sidecar.platform.team.ports import Claim, TeamTask, TeamTaskState
from sidecar.platform.team.store import ListCount, TeamStore
from support.teams import TeamPlace, at_once

OPEN, CLAIMED, MERGED, HELD, DROPPED = TeamTaskState
LOST = -1.0
"""A lease that has run out."""


def add(store: TeamStore, *idents: str, needs: tuple[str, ...] = (), name: str = "L") -> None:
    for ident in idents:
        assert store.add(TeamTask(list=name, id=ident, content=f"do {ident}", needs=needs))


def claim(store: TeamStore, lease: float = 90.0) -> Claim:
    taken = store.claim("L", lease)
    assert taken is not None
    return taken


@pytest.mark.parametrize("lost", [(), (1,), (0, 2)])
def test_claims_are_renewed_at_once_and_those_that_are_lost_are_named(
    store: TeamStore, other: TeamStore, lost: tuple[int, ...]
) -> None:
    add(store, "T1", "T2", "T3")
    claims = [claim(store, LOST if number in lost else 1.0) for number in range(3)]
    for _ in lost:
        claim(other)
    assert store.extend_all(claims, 3600.0) == {claims[number].token for number in lost}
    kept = {task.id for task in store.tasks("L") if task.until > store.now() + 1800}
    assert kept == {one.task.id for number, one in enumerate(claims) if number not in lost}
    assert store.extend_all([]) == set()


def test_a_task_is_given_as_it_was_added_to_whoever_claims_it(store: TeamStore, other: TeamStore) -> None:
    task = TeamTask(list="L", id="T1", content="first\nthen 🌱", checks=("pytest -q", "true"))
    assert store.add(task)
    assert not other.add(TeamTask(list="L", id="T1", content="else"))
    taken = claim(other).task
    assert (taken.content, taken.checks, taken.needs) == (task.content, task.checks, ())
    assert (taken.state, taken.machine, taken.person, taken.attempts) == (CLAIMED, "m2", "bob", 1)
    assert 0 < taken.until - store.now() <= 90
    assert store.tasks("L") == (taken,)


def test_tasks_are_given_in_their_order_and_one_by_one(store: TeamStore, other: TeamStore) -> None:
    add(store, "T2", "T1", "T10")
    assert [claim(one).task.id for one in (store, other, store)] == ["T2", "T1", "T10"]
    assert other.claim("L") is None


@pytest.mark.parametrize(("state", "given"), [(MERGED, True), (HELD, False), (OPEN, False), (CLAIMED, False)])
def test_a_task_waits_until_its_needs_are_merged(store: TeamStore, state: TeamTaskState, given: bool) -> None:  # noqa: FBT001 - a row of the table
    add(store, "T1", "T2")
    add(store, "T3", needs=("T1", "T2"))
    first, second = claim(store), claim(store)
    assert store.settle_task(first, MERGED)
    if state != CLAIMED:
        assert store.settle_task(second, state)
    if state == OPEN:
        claim(store)
    assert (store.claim("L") is not None) == given


def test_a_dropped_task_is_gone_is_waited_for_by_nobody_and_keeps_its_id(store: TeamStore) -> None:
    add(store, "T1")
    add(store, "T2", needs=("T1",))
    lost = claim(store)
    assert store.put("L", "T1", DROPPED)
    assert not store.extend(lost)
    assert [task.id for task in store.tasks("L")] == ["T2"]
    assert not store.add(TeamTask(list="L", id="T1", content="again"))
    assert claim(store).task.id == "T2"


def test_a_machine_that_leaves_gives_its_tasks_back(store: TeamStore, other: TeamStore) -> None:
    add(store, "T1", "T2")
    kept = claim(other)
    claim(store)
    store.leave()
    assert other.extend(kept)
    assert claim(other).task.id == "T2"


def test_a_need_that_its_list_does_not_have_is_waited_for(store: TeamStore) -> None:
    add(store, "T2", needs=("T1",))
    add(store, "T1", name="other list")
    assert store.claim("L") is None
    add(store, "T1")
    assert store.settle_task(claim(store), MERGED)
    assert claim(store).task.id == "T2"


def test_of_a_list_that_is_paused_or_not_there_nothing_is_given(store: TeamStore, other: TeamStore) -> None:
    add(store, "T1")
    store.pause("L")
    store.pause("L")
    assert other.is_paused("L")
    assert other.claim("L") is None
    store.pause("L", paused=False)
    claim(other)

    assert store.tasks("none") == ()
    assert store.claim("none") is None
    assert not store.put("none", "T1", OPEN)
    assert not store.put("L", "T9", OPEN)
    assert not store.is_paused("none")


def test_a_claim_that_ran_out_is_renewed_unless_somebody_took_the_task(
    store: TeamStore, other: TeamStore
) -> None:
    add(store, "T1")
    mine = claim(store, LOST)
    assert store.extend(mine, LOST)
    theirs = claim(other)
    assert (theirs.task.attempts, theirs.task.machine) == (2, "m2")
    assert not store.extend(mine)
    assert not store.settle_task(mine, MERGED)
    assert other.extend(theirs)
    assert store.claim("L") is None
    assert other.settle_task(theirs, MERGED)
    assert store.tasks("L")[0].state == MERGED


def test_attempts_that_ended_count_as_failures_until_a_person_gives_the_task_a_state(
    store: TeamStore,
) -> None:
    add(store, "T1")
    claim(store, LOST)
    assert store.settle_task(claim(store), OPEN)
    assert store.settle_task(claim(store), HELD)
    assert [(one.attempts, one.failures) for one in store.tasks("L")] == [(3, 2)]
    assert store.put("L", "T1", OPEN)
    assert claim(store).task.failures == 0


def test_a_claim_that_ran_out_may_still_be_settled_by_the_last_who_held_it(store: TeamStore) -> None:
    add(store, "T1")
    mine = claim(store, LOST)
    assert store.settle_task(mine, MERGED)
    assert not store.settle_task(mine, OPEN)
    assert not store.extend(mine)


def test_a_task_that_is_given_back_goes_on_where_it_was(store: TeamStore, other: TeamStore) -> None:
    add(store, "T1")
    assert store.settle_task(claim(store), OPEN, note="cut off\0\udcff", branch="supervisor/L/T1-1")
    again = claim(other).task
    assert (again.branch, again.note, again.attempts) == ("supervisor/L/T1-1", "cut off?", 2)


@pytest.mark.parametrize("state", [OPEN, HELD, MERGED])
def test_a_person_takes_a_task_out_of_the_hands_of_who_holds_it(
    store: TeamStore, state: TeamTaskState
) -> None:
    add(store, "T1")
    held = claim(store)
    assert store.put("L", "T1", state, "because")
    assert not store.extend(held)
    assert not store.settle_task(held, MERGED)
    assert [(one.state, one.note, one.until) for one in store.tasks("L")] == [(state, "because", 0.0)]
    assert (store.claim("L") is not None) == (state == OPEN)


def test_lists_are_counted_by_state(store: TeamStore) -> None:
    add(store, "T1", "T2", "T3")
    add(store, "T1", name="K")
    store.settle_task(claim(store), MERGED)
    assert [(one.list, one.state, one.tasks) for one in store.lists()] == [
        ("K", "open", 1),
        ("L", "merged", 1),
        ("L", "open", 2),
    ]
    assert isinstance(store.lists()[0], ListCount)


def test_no_task_is_given_to_two_who_ask_at_once(team: TeamPlace, store: TeamStore) -> None:
    add(store, *(f"T{number}" for number in range(50)))

    def work(number: int) -> list[str]:
        member, done = team.member(f"m{number}"), []
        # None says that others hold what is left for the moment: PostgreSQL passes over a row that is locked.
        while any(one.state != MERGED for one in member.tasks("L")):
            if (taken := member.claim("L")) is not None:
                done.append(taken.task.id)
                assert member.settle_task(taken, MERGED)
        return done

    done = at_once(8, work)
    assert sorted(one for some in done for one in some) == sorted(f"T{number}" for number in range(50))
    assert {one.attempts for one in store.tasks("L")} == {1}
