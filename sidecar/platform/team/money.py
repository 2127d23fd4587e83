"""What a machine may spend of its team's limits, and how many calls of a model a team makes at once.

- What was paid is charged by the log itself: an event that is new in the team's log is charged in the same
  transaction, so it is counted once.
- A machine reserves a share ahead, in the background, and keeps it in a file, so that nobody waits for the
  network: agents and judges go on while what was paid and not shipped yet is less than the share.
- Where the team is away, calls at once are not limited: nothing stops for the network. A program that no
  limit of the team names does not ask it.
"""

from __future__ import annotations

import logging
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.kernel.errors import BadInputError, ServiceError
from sidecar.kernel.log import EventFilter, JudgingPaid, WorkerRan
from sidecar.kernel.session import format_number
from sidecar.platform.files import write_whole
from sidecar.platform.log_readings import MOST_PAYMENTS, PAID_KINDS
from sidecar.platform.paths import SHARE_FILE
from sidecar.platform.state import read_usable_state
from sidecar.platform.team.membership import JoinedTeam
from sidecar.platform.team.ports import AT_ONCE, UNITS, WHOLE_TEAM, Account, Money

if TYPE_CHECKING:
    from sidecar.platform.ports import EventLog

FILE_LIMIT: Final = 4096
SHARE_S: Final = 86_400.0
"""Seconds for which a share is reserved: a day without the team."""
PART: Final = 0.02
"""The part of a limit that one machine reserves ahead."""

UNUSABLE: Final = (OSError, ServiceError, BadInputError)
"""How a team cannot be used: it is away, refuses, or its password is not to be had."""
log = logging.getLogger(__name__)


class Share(Struct, frozen=True, kw_only=True):
    """What is reserved for this machine. `shipped`: the position up to which its payments are charged.

    `cents` and `tokens` are None without a limit. `full` says which limit is taken, "" for none. `at_once`:
    most calls at once in the team, by account.
    """

    version: int = 1
    shipped: int = 0
    cents: float | None = None
    tokens: float | None = None
    full: str = ""
    at_once: dict[str, float | None] = {}


def renew_share(team: Money, state: Path, machine: str, shipped: int) -> Share:
    """Reserve the share of this machine for what it pays after the position `shipped`, and keep it."""
    before = read_share(state)
    accounts = {one.name: one for one in team.accounts()}
    held = {
        unit: _reserve(team, account, f"share/{machine}/{unit}", getattr(before, unit) or 0.0)
        for unit in UNITS
        if (account := accounts.get(WHOLE_TEAM + unit)) and account.most is not None
    }
    full = [_taken(accounts[WHOLE_TEAM + unit]) for unit, amount in held.items() if not amount]
    share = Share(
        shipped=shipped,
        cents=held.get("cents"),
        tokens=held.get("tokens"),
        full="".join(full[:1]),
        at_once={name: one.most for name, one in accounts.items() if name.startswith(AT_ONCE)},
    )
    if share != before:
        write_whole(state / SHARE_FILE, msgspec.json.encode(share))
    return share


def read_share(state: Path) -> Share:
    """Return the share of this machine; one without limits where none is kept. Raises OSError."""
    return read_usable_state(state / SHARE_FILE, Share, FILE_LIMIT)


def share_refusal(state: Path, events: EventLog) -> str:
    """Say why the team lets nothing more be spent on this machine, "" where it does. Raises OSError."""
    share = read_share(state)
    if share.full or (share.cents is None and share.tokens is None):
        return share.full
    paid = events.read(EventFilter(kinds=PAID_KINDS), after=share.shipped, limit=MOST_PAYMENTS)
    costs = [one.data for one in paid if isinstance(one.data, JudgingPaid | WorkerRan)]
    for unit, most in (("cents", share.cents), ("tokens", share.tokens)):
        spent = sum(getattr(cost, unit) or 0.0 for cost in costs)
        if spent >= (inf if most is None else most):
            return (
                f"the team is away, and {format_number(spent)} of the {format_number(most or 0.0)} {unit} "
                "that this machine reserved are spent"
            )
    return ""


def _reserve(team: Money, account: Account, key: str, own: float) -> float:
    """Reserve what there is of a share; return how much that is.

    Where another machine was quicker, what this one had is still reserved.
    """
    most = account.most or 0.0
    amount = max(0.0, min(PART * most, most - account.used - account.reserved + own))
    return amount if team.reserve(account.name, amount, key, SHARE_S) else own


def _taken(account: Account) -> str:
    day = " today" if account.daily else ""
    unit = account.name.removeprefix(WHOLE_TEAM)
    return f"the team's limit of {format_number(account.most or 0.0)} {unit}{day} is taken"


class TeamSlots:
    """Implements `platform.limits.CallSlots` by the team that this machine joined; else nobody waits."""

    def __init__(self, state: Path) -> None:
        """`state`: the user's state folder."""
        self._state, self._joined = state, JoinedTeam(state)

    def limits(self, program: str) -> bool:
        try:
            return AT_ONCE + program in read_share(self._state).at_once
        except OSError:
            return False

    def take(self, program: str, token: str) -> bool:
        try:
            most = read_share(self._state).at_once.get(AT_ONCE + program)
            team = None if most is None else self._joined.find()
            return most is None or team is None or team.take_slot(program, int(most), token)
        except UNUSABLE as error:
            log.warning("calls at once of %s are not limited: %s", program, error)
            return True

    def free(self, program: str, token: str) -> None:
        try:
            if (team := self._joined.find()) is not None:
                team.free_slot(program, token)
        except UNUSABLE as error:  # it runs out by itself
            log.warning("a slot of %s could not be given back: %s", program, error)
