"""What judging costs is added up by the day, and outlives the process."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.goal import Spending
from sidecar.kernel.session import SessionKey
from sidecar.platform.incidents import Incidents
from sidecar.platform.user_state import DAYS_KEPT, SpendingFile
from support.memory_stores import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0.0)


@pytest.fixture
def spending(tmp_path: Path, clock: ManualClock) -> SpendingFile:
    return SpendingFile(tmp_path / "state", clock)


def test_nothing_was_spent_before_anything_was(spending: SpendingFile) -> None:
    assert spending.today() == Spending(day="1970-01-01")


def test_judgements_add_up_and_those_without_a_price_are_counted(
    spending: SpendingFile, tmp_path: Path, clock: ManualClock
) -> None:
    spending.add(1000, 1.5, 1)
    spending.add(500, None, 2)
    spent = Spending(day="1970-01-01", calls=3, tokens=1500, cents=1.5, unpriced=2)
    assert spending.today() == spent
    assert SpendingFile(tmp_path / "state", clock).today() == spent
    assert stat.S_IMODE((tmp_path / "state" / "spending.json").stat().st_mode) == 0o600


async def test_a_new_day_begins_at_nothing(spending: SpendingFile, clock: ManualClock) -> None:
    spending.add(1000, 1.5, 1)
    clock.advance(DAY)
    assert spending.today() == Spending(day="1970-01-02")


async def test_a_month_is_kept(spending: SpendingFile, clock: ManualClock, tmp_path: Path) -> None:
    for _ in range(DAYS_KEPT + 5):
        spending.add(1, 0.1, 1)
        clock.advance(DAY)
    text = (tmp_path / "state" / "spending.json").read_text()
    assert text.count('"day"') == DAYS_KEPT
    assert "1970-01-05" not in text
    assert "1970-01-06" in text


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 99}', b'{"days": 3}', b"\xff"])
def test_a_file_that_cannot_be_read_is_set_aside_and_spending_goes_on(
    content: bytes, spending: SpendingFile, tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "spending.json").write_bytes(content)
    assert spending.today().tokens == 0
    spending.add(7, None, 1)
    assert spending.today().tokens == 7
    assert any(path.name != "spending.json" for path in folder.iterdir())


def test_what_was_seen_to_be_spent_stays_spent_and_a_file_that_says_less_is_told(
    tmp_path: Path, clock: ManualClock
) -> None:
    incidents = Incidents()
    spending = SpendingFile(tmp_path, clock, incidents)
    spending.add(1000, 1.5, 1)
    (tmp_path / "spending.json").unlink()
    assert spending.today().tokens == 1000
    spending.add(500, 1.0, 1)
    assert SpendingFile(tmp_path, clock).today().tokens == 1500
    (told,) = incidents.take(SessionKey("claude-code", "s1"))
    assert "says less than was spent today" in told
