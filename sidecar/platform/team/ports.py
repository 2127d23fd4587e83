"""What a team shares, and the words for it. One contract suite is played on PostgreSQL and on a file.

Rules of these ports:

- The clock is the database's: no time of a machine is compared with that of another one.
- Who holds something is shown by a token that is new each time, and never by a name.
- What is repeated after a cut connection, with the same key, is done once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import EventFilter, LoggedEvent

MOST_SEQUENCE: Final = 2**63 - 1
LEASE_S: Final = 90.0
"""Seconds for which a task, a slot or a reservation is held unless it is renewed."""


class TeamAwayError(OSError):
    """The team's database cannot be reached for now. What was asked may be repeated."""

    moves = (
        "see that the URL is right and its server runs; one for trying is started by: supervisor team up",
    )


class TeamRefusedError(OSError):
    """The team's database refused: rights, a schema of another version, a value that it does not take."""

    moves = (
        "see that the URL is as it was printed; a new login is made by: supervisor team invite NAME",
        "see how this machine is joined: supervisor team status",
    )


class Member(Struct, frozen=True, kw_only=True):
    """Who writes. `machine`: its id, unique in the team; `person`: the user on it, as people know them."""

    machine: str
    person: str


# --- Log ----------------------------------------------------------------------------------------------------


class TeamEvent(Struct, frozen=True, kw_only=True):
    """An event of some machine. `event.position` is its place in the team's log.

    `sequence` is its position in the log of its machine.
    """

    machine: str
    person: str
    sequence: int
    event: LoggedEvent


class TeamLog(Protocol):
    """The logs of all machines, in one order. An event is named by machine and sequence: it is there once."""

    def append(self, events: Iterable[LoggedEvent]) -> int:
        """Append events of this machine in one transaction; return how many were new.

        Their positions in the log of the machine are their sequence numbers. The machine must have joined.
        """

    def read(
        self, wanted: EventFilter, *, after: int = 0, limit: int = 1000, machine: str = ""
    ) -> tuple[TeamEvent, ...]:
        """The first events after a place of the team's log, oldest first."""

    def newest(self, wanted: EventFilter, number: int, *, machine: str = "") -> tuple[TeamEvent, ...]:
        """The newest events, oldest first."""

    def shipped(self, number: int, most: int = MOST_SEQUENCE) -> tuple[TeamEvent, ...]:
        """The events of this machine with the greatest sequence numbers up to `most`, the greatest first."""

    def forget(self, wanted: EventFilter) -> int:
        """Remove events of this machine; return how many. `wanted` names a session, or times."""

    def trim(self, seconds: float) -> int:
        """Remove of this machine what is that old, a part at a time; return how many events, 0 at the end.

        The event with the greatest sequence number stays, which tells how far the machine came.
        """


# --- Records ------------------------------------------------------------------------------------------------


ORGANISATION: Final = "organisation/"
"""How the keys of documents begin that are files in force on each machine."""


class Record(Struct, frozen=True, kw_only=True):
    """A document of the team. `person` saved it last; `changed`: seconds since the epoch."""

    key: str
    value: bytes
    revision: int
    person: str = ""
    changed: float = 0.0


class RecordConflictError(OSError):
    """Another revision is stored than the expected one. Nothing was written."""


class Records(Protocol):
    """Documents of the team by key.

    An agent's login saves keys under `machine/`, and only over its own. A value has 8 MB at most.
    """

    def load(self, key: str) -> Record | None:
        """The document of this key."""

    def find(self, prefix: str) -> tuple[Record, ...]:
        """The documents whose keys begin so, in their order."""

    def save(self, key: str, value: bytes, expected: int) -> int:
        """Save it over the expected revision, 0 for none; return the new one. Raises RecordConflictError."""

    def remove(self, key: str) -> None:
        """Remove a document."""


# --- Tasks --------------------------------------------------------------------------------------------------


class TeamTaskState(StrEnum):
    """How a task of a list stands."""

    OPEN = "open"
    CLAIMED = "claimed"
    MERGED = "merged"
    HELD = "held"
    """A person has to look: its goal did not end well, or its work could not be merged."""
    DROPPED = "dropped"
    """A person took it off the list, in which it is not shown; its id is not given again."""


class TeamTask(Struct, frozen=True, kw_only=True):
    """A task of a list. `needs`: the tasks that are merged before it begins. `checks`: its own commands.

    `until`: seconds since the epoch, by the database's clock, at which its claim runs out, 0 without one.
    `attempts` counts claims, and `failures` those that were settled since a person gave it a state, so not
    those that were lost; `branch` is the pushed branch of the last one, `note` says how that ended.
    """

    list: str
    id: str
    content: str
    checks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    state: TeamTaskState = TeamTaskState.OPEN
    until: float = 0.0
    machine: str = ""
    person: str = ""
    attempts: int = 0
    failures: int = 0
    branch: str = ""
    note: str = ""


class Claim(Struct, frozen=True, kw_only=True):
    """A task that this machine works on. Whoever has another token works on it no longer."""

    task: TeamTask
    token: str


class Queue(Protocol):
    """The tasks of all lists. None or False: the token is not that of the task any more, so stop working."""

    def add(self, task: TeamTask) -> bool:
        """Add a task; False where its list has one of that id, which stays as it is."""

    def tasks(self, list_name: str) -> tuple[TeamTask, ...]:
        """The tasks of a list, in the order in which they were added."""

    def claim(self, list_name: str, lease: float = LEASE_S) -> Claim | None:
        """Take the next task that is open, or whose claim ran out, and whose needs are merged; None for none.

        Of a list that is paused nothing is given. A need that its list does not have is not merged.
        """

    def extend(self, claim: Claim, lease: float = LEASE_S) -> bool:
        """Renew a claim from now on, also one that ran out and that nobody took."""

    def extend_all(self, claims: Sequence[Claim], lease: float = LEASE_S) -> set[str]:
        """Renew claims in one exchange with the database; return the tokens of those that are lost."""

    def settle_task(self, claim: Claim, state: TeamTaskState, *, note: str = "", branch: str = "") -> bool:
        """End a claim: the task is merged, held, or open again."""

    def put(self, list_name: str, ident: str, state: TeamTaskState, note: str = "") -> bool:
        """Order of a person: give a task another state, whoever holds it. False for an unknown one."""


# --- Money and limits ---------------------------------------------------------------------------------------


WHOLE_TEAM: Final = "team/"
AT_ONCE: Final = "at-once/"
"""Accounts: `team/cents` and `team/tokens` of the whole team, `at-once/PROGRAM` for calls of it at once."""
UNITS: Final = ("cents", "tokens")


class Account(Struct, frozen=True, kw_only=True):
    """What may be spent, in its unit (cents, tokens); no `most` is no limit. `daily`: anew each UTC day."""

    name: str
    most: float | None = None
    daily: bool = False
    used: float = 0.0
    reserved: float = 0.0


class Money(Protocol):
    """Reserve before something is spent, settle after. Each has a key in its account: it counts once."""

    def set_limit(self, account: Account) -> None:
        """Order of a person: make an account, or change its limit.

        What is reserved already counts. What was spent before it was made, or before it became daily or
        total, does not.
        """

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, in the order of their names."""

    def reserve(self, account: str, amount: float, key: str, lease: float = LEASE_S) -> bool:
        """Reserve an amount, or renew it under the same key. False where it does not fit; nothing is done.

        An account that nobody made has no limit.
        """

    def settle(self, account: str, amount: float, key: str) -> None:
        """Count what was spent under this key, once, and give back what was reserved under it."""


class Limits(Protocol):
    """What holds for all machines: slots of a key (a model, a merge lane), and services that are limited."""

    def take_slot(self, key: str, most: int, token: str, lease: float = LEASE_S) -> bool:
        """Take one of `most` slots, or renew the one of this token. False where all are taken."""

    def free_slot(self, key: str, token: str) -> None:
        """Give a slot back."""

    def note_limit(self, limit: ServiceLimit) -> None:
        """Say that a service is limited. An earlier `until` of the account is replaced, a later one stays."""

    def limits(self) -> tuple[ServiceLimit, ...]:
        """The limits that have not passed."""


# --- Machines and orders ------------------------------------------------------------------------------------


class Machine(Struct, frozen=True, kw_only=True):
    """A machine of the team. `seen`: its last sign of life by the database's clock, seconds since the epoch.

    `fingerprint` tells two copies of one state folder apart.
    """

    id: str
    name: str
    person: str
    fingerprint: str
    version: str
    seen: float = 0.0


class TeamOrder(Struct, frozen=True, kw_only=True):
    """An order of a person for a session on another machine. `text`: as it is typed there, without slash."""

    number: int = 0
    machine: str
    session: str
    text: str
    person: str = ""
    at: float = 0.0


class Machines(Protocol):
    """The machines of the team, and what people on others want of their sessions."""

    def join(self, machine: Machine) -> bool:
        """Enter a machine, or renew its sign of life; False where its id has another fingerprint."""

    def leave(self) -> None:
        """Take this machine off the list, and give back its tasks and what it reserved."""

    def machines(self) -> tuple[Machine, ...]:
        """The machines, the one seen last first."""

    def order(self, order: TeamOrder) -> None:
        """Send an order."""

    def take_orders(self) -> tuple[TeamOrder, ...]:
        """Take the orders for this machine; each is given once."""

    def now(self) -> float:
        """The database's clock, in seconds since the epoch."""


class Team(TeamLog, Records, Queue, Money, Limits, Machines, Protocol):
    """All of it. Every method raises TeamAwayError or TeamRefusedError."""

    def transaction(self) -> AbstractContextManager[None]:
        """Everything that is called in the block, in this thread, is one transaction."""

    def close(self) -> None:
        """Close the connection."""
