"""What a machine may spend of its team's limits, and calls at once; the database is the local twin."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.kernel.log import JudgingPaid, LoggedEvent, WorkerRan
from sidecar.kernel.session import reached_daily_limit
from sidecar.kernel.settings import Settings
from sidecar.platform.limits import SLOT_RENEWED_S, call_slot
from sidecar.platform.log_readings import DailySpending
from sidecar.platform.team import membership
from sidecar.platform.team.membership import Membership, save_membership
from sidecar.platform.team.money import TeamSlots, read_share, renew_share, share_refusal
from sidecar.platform.team.ports import Account, Machine, Member
from sidecar.platform.team.store import TeamStore
from sidecar.workers.budget import Budget
from support.logs import event_log
from support.memory_stores import ManualClock, MemoryEventLog
from support.team_sqlite import SqliteDatabase

MACHINE = "m1"
BOUND_S = 20.0


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TeamStore]:
    store = TeamStore(SqliteDatabase(tmp_path / "team.sqlite3"), Member(machine=MACHINE, person="ann"))
    store.join(Machine(id=MACHINE, name="one", person="ann", fingerprint="f", version="1"))
    yield store
    store.close()


def paid(cents: float, position: int = 0) -> LoggedEvent:
    data = JudgingPaid(tokens=10, cents=cents, calls=1)
    return LoggedEvent(at=1.0, system="supervision", position=position, data=data)


def test_what_was_paid_is_charged_once_however_often_it_is_sent(team: TeamStore) -> None:
    team.set_limit(Account(name="team/cents", most=100))
    worker = WorkerRan(backend="run", model="", tokens=5, cents=None, calls=1, seconds=1.0)
    events = [paid(3.0, 1), paid(4.0, 2), LoggedEvent(at=1.0, system="workers", position=3, data=worker)]
    team.append(events[:2])
    team.append(events)
    assert [(one.name, one.used) for one in team.accounts()] == [("team/cents", 7.0)]


def test_a_machine_spends_its_share_while_the_team_is_away_and_no_more(
    tmp_path: Path, team: TeamStore
) -> None:
    team.set_limit(Account(name="team/cents", most=100))
    share = renew_share(team, tmp_path, MACHINE, 0)
    assert (share.cents, share.tokens, share.full) == (2.0, None, "")
    log = event_log(tmp_path)
    log.append(paid(1.5))
    assert not share_refusal(tmp_path, log)
    log.append(paid(0.5))
    assert share_refusal(tmp_path, log) == (
        "the team is away, and 2 of the 2 cents that this machine reserved are spent"
    )
    team.append([paid(1.5, 1), paid(0.5, 2)])
    assert renew_share(team, tmp_path, MACHINE, 2).cents == 2.0
    assert not share_refusal(tmp_path, log)


def test_what_is_reserved_and_spent_by_all_machines_stays_within_the_limit(
    tmp_path: Path, team: TeamStore
) -> None:
    team.set_limit(Account(name="team/cents", most=100, daily=True))
    assert team.reserve("team/cents", 97.0, "others")
    folders = [tmp_path / str(number) for number in range(3)]
    shares = []
    for number, folder in enumerate(folders):
        folder.mkdir()
        shares.append(renew_share(team, folder, f"m{number}", 0))
    assert [one.cents for one in shares] == [2.0, 1.0, 0.0]
    assert shares[2].full == "the team's limit of 100 cents today is taken"
    team.settle("team/cents", 90.0, "others")
    assert renew_share(team, folders[2], "m2", 0).cents == 2.0


def test_judges_and_agents_are_refused_what_the_team_refuses() -> None:
    said = "the team's limit of 100 cents is taken"
    spending = DailySpending(MemoryEventLog(), ManualClock(), refusal=lambda _: said)
    assert reached_daily_limit(spending.today(), Settings()) == said
    obstacle = Budget(spending).obstacle(0, Settings())
    assert obstacle is not None
    assert obstacle.text == said


def test_what_was_spent_counts_where_the_share_of_the_team_cannot_be_read() -> None:
    def unreadable(_events: object) -> str:
        raise OSError("no such disk")

    events = MemoryEventLog()
    DailySpending(events, ManualClock()).add(500, 1.0, 1)
    assert DailySpending(events, ManualClock(), refusal=unreadable).today().tokens == 500


def test_a_machine_without_a_team_has_no_share(tmp_path: Path) -> None:
    assert not read_share(tmp_path).full
    assert not share_refusal(tmp_path, event_log(tmp_path))


def test_only_a_program_whose_calls_at_once_are_limited_asks_the_team(
    tmp_path: Path, team: TeamStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Membership] = []

    def opens(joined: Membership) -> TeamStore:
        opened.append(joined)
        return team

    monkeypatch.setattr(membership, "open_team", opens)
    save_membership(tmp_path, Membership(url="postgresql://ann@/team", machine=MACHINE))
    team.set_limit(Account(name="at-once/claude", most=1))
    renew_share(team, tmp_path, MACHINE, 0)
    slots = TeamSlots(tmp_path)
    assert [slots.limits(program) for program in ("opencode", "claude")] == [False, True]
    assert not opened
    assert [slots.take("claude", token) for token in "aba"] == [True, False, True]
    slots.free("claude", "a")
    assert slots.take("claude", "b")


class OneSlot:
    """Implements `CallSlots` with one slot; `asked` has who took or renewed it, or tried to."""

    def __init__(self) -> None:
        self.holder = ""
        self.asked: list[str] = []

    def limits(self, program: str) -> bool:
        return program == "claude"

    def take(self, program: str, token: str) -> bool:
        assert program == "claude"
        self.asked.append(token)
        if self.holder in ("", token):
            self.holder = token
        return self.holder == token

    def free(self, program: str, token: str) -> None:
        assert (self.holder, program) == (token, "claude")
        self.holder = ""


async def test_the_next_call_waits_for_a_slot_and_each_is_renewed_while_it_lasts() -> None:
    slots, clock, order = OneSlot(), ManualClock(), list[str]()

    async def call(name: str, end: asyncio.Event) -> None:
        async with call_slot(slots, "claude", clock):
            order.append(name)
            await end.wait()

    async def until(holds: Callable[[], bool]) -> None:
        while not holds():
            clock.advance(SLOT_RENEWED_S)
            await asyncio.to_thread(int)  # the calls' own threads come in between

    first, second = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as calls:
        calls.create_task(call("first", first))
        await until(lambda: order == ["first"])
        calls.create_task(call("second", second))
        await until(lambda: slots.asked.count(slots.holder) > 2 and len(set(slots.asked)) == 2)
        assert order == ["first"]
        first.set()
        await until(lambda: order == ["first", "second"])
        second.set()
        await until(lambda: not slots.holder)


async def test_nobody_waits_until_a_slot_is_given_back() -> None:
    slots, freed = OneSlot(), threading.Event()
    slots.free = lambda *_: freed.wait(BOUND_S)  # type: ignore[method-assign,assignment]
    async with asyncio.timeout(BOUND_S / 2):
        async with call_slot(slots, "claude", ManualClock()):
            done = True
        assert done
    freed.set()
