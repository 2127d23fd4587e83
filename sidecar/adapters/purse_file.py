"""What judging costs this user, day by day: `spending.json` in the state folder."""

from __future__ import annotations

import datetime as dt
import fcntl
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.files import ensure_folder, set_aside, write_whole
from sidecar.adapters.state_json import BrokenError, read_state
from sidecar.model.spending import Spending, added

if TYPE_CHECKING:
    from sidecar.ports import Clock

VERSION: Final = 1
FILE_LIMIT: Final = 64 * 1024
"""Bytes of the file."""
DAYS: Final = 31
"""Days that are kept."""

log = logging.getLogger(__name__)


class _Book(Struct, frozen=True, kw_only=True):
    """The days, the newest last."""

    version: int = VERSION
    days: tuple[Spending, ...] = ()


class PurseFile:
    """The Purse of a state folder. The sidecar and `supervisor eval` may write it at the same time."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._path = folder / "spending.json"
        self._clock = clock

    def today(self) -> Spending:
        day = self._day()
        try:
            book = read_state(self._path, _Book, FILE_LIMIT)
        except (BrokenError, OSError) as error:
            log.warning("%s cannot be used: %s", self._path, error)
            return Spending(day=day)
        return next((spent for spent in book.days if spent.day == day), Spending(day=day))

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        ensure_folder(self._path.parent)
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._add(tokens, cents, calls)

    def _add(self, tokens: int, cents: float | None, calls: int) -> None:
        try:
            book = read_state(self._path, _Book, FILE_LIMIT)
        except BrokenError as error:
            set_aside(self._path, error.fault, str(error))
            book = _Book()
        day = self._day()
        spent = next((one for one in book.days if one.day == day), Spending(day=day))
        others = tuple(one for one in book.days if one.day != day)
        days = (*others, added(spent, tokens, cents, calls))[-DAYS:]
        write_whole(self._path, msgspec.json.encode(replace(book, days=days)) + b"\n", durable=True)

    def _day(self) -> str:
        return dt.datetime.fromtimestamp(self._clock.now(), tz=dt.UTC).date().isoformat()
