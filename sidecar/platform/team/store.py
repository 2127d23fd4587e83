"""Implements `Team` by the statements of data/team.sql."""

from __future__ import annotations

import datetime as dt
import json
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from sidecar.kernel.effects import RestReason
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import (
    EventFilter,
    JudgingPaid,
    LoggedEvent,
    StopJudged,
    WorkerRan,
    find_decision,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.stop_history import CONTINUE_DECISION, StopFigures
from sidecar.kernel.text import clean_line
from sidecar.platform.event_log import pack_event_data, unpack_event_data
from sidecar.platform.team.database import Connection, Row, TeamDatabase, fill, team_statements
from sidecar.platform.team.ports import (
    LEASE_S,
    MOST_SEQUENCE,
    UNITS,
    WHOLE_TEAM,
    Account,
    Claim,
    Machine,
    Member,
    Record,
    RecordConflictError,
    TeamEvent,
    TeamOrder,
    TeamTask,
    TeamTaskState,
)

T = TypeVar("T", bound=Struct)
DETAIL_LENGTH: Final = 300
"""Characters of a decision's reason in the list of sessions."""
TRIMMED_AT_ONCE: Final = 5000
"""Sequence numbers of which old events are removed at a time: a statement has some seconds."""
FIGURES_BY: Final = {
    **{name: f"figures.{name}" for name in ("day", "project", "host", "person")},
    "machine": "COALESCE(machines.name, figures.machine)",
    "all": "'all'",
}
"""By what the figures of a team are summed up, and its expression."""
LISTS: Final = ("checks", "needs")
"""Columns that hold a list as JSON."""


class TeamSession(Struct, frozen=True, kw_only=True):
    """A session of some machine. Times are in seconds since the epoch; `decided` is its last decision."""

    machine: str
    host: str
    session: str
    person: str
    project: str
    began: float
    changed: float
    decided: str
    detail: str
    stops: int
    sent_back: int
    cents: float


class ListCount(Struct, frozen=True, kw_only=True):
    """How many tasks of a list are in a state."""

    list: str
    state: str
    tasks: int


class TeamStore:
    """One member's view of the team."""

    def __init__(self, database: TeamDatabase, member: Member) -> None:
        self._database, self._member = database, member
        self._named = team_statements(database.dialect.name).named
        self._here = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if getattr(self._here, "connection", None) is not None:
            yield
            return
        with self._database.transaction() as connection:
            self._here.connection = connection
            try:
                yield
            finally:
                self._here.connection = None

    def close(self) -> None:
        self._database.close()

    # --- the log ---

    def append(self, events: Iterable[LoggedEvent]) -> int:
        rows = {event.position: (self._event_row(event), event) for event in events}
        if not rows:
            return 0
        with self.transaction():
            self._rows("lock_events")
            places = {"machine": self._member.machine, "first": min(rows), "last": max(rows)}
            known = {row["sequence"] for row in self._rows("known_events", **places)}
            new = [pair for sequence, pair in rows.items() if sequence not in known]
            self._many("append_event", [row for row, _ in new])
            told: dict[tuple[str, str], dict[str, Any]] = {}
            days: dict[tuple[str, ...], dict[str, Any]] = {}
            for row, event in new:
                _tell_session(told, row, event)
                _add_figures(days, row, event)
            self._many("tell_session", list(told.values()))
            self._many("add_figures", list(days.values()))
            costs = [event.data for _, event in new if isinstance(event.data, JudgingPaid | WorkerRan)]
            for unit in UNITS:
                amount = sum(getattr(cost, unit) or 0.0 for cost in costs)
                self._rows("spend", account=WHOLE_TEAM + unit, amount=amount)
        return len(new)

    def read(
        self, wanted: EventFilter, *, after: int = 0, limit: int = 1000, machine: str = ""
    ) -> tuple[TeamEvent, ...]:
        return self._events("read_events", wanted, machine, after=after, limit=limit)

    def newest(self, wanted: EventFilter, number: int, *, machine: str = "") -> tuple[TeamEvent, ...]:
        return self._events("newest_events", wanted, machine, limit=number)[::-1]

    def forget(self, wanted: EventFilter) -> int:
        where, values = _condition(wanted, "")
        with self.transaction():
            if wanted.session is not None:
                host, session = wanted.session.host, wanted.session.id
                self._rows("forget_session", machine=self._member.machine, host=host, session=session)
            values["machine"] = self._member.machine
            return len(self._rows("forget_events", where, **values))

    def shipped(self, number: int, most: int = MOST_SEQUENCE) -> tuple[TeamEvent, ...]:
        rows = self._rows("shipped_events", machine=self._member.machine, most=most, limit=number)
        return tuple(_event(row) for row in rows)

    def trim(self, seconds: float) -> int:
        values = {"machine": self._member.machine, "seconds": seconds, "part": TRIMMED_AT_ONCE}
        with self.transaction():
            self._rows("trim_sessions", **values)
            return self._connection.many(self._sql("trim_events"), [values])

    def sessions(self, limit: int, first: int = 0, search: str = "") -> tuple[TeamSession, ...]:
        """The sessions from `first` on in which this text is, the one that changed last first."""
        like = f"%{search.lower()}%" if search else ""
        return self._found(TeamSession, "list_sessions", limit=limit, first=first, search=like)

    def figures(self, since: str, by: str) -> tuple[StopFigures, ...]:
        """What was decided from the UTC day `since` on ("2026-11-22"), summed up by one of FIGURES_BY.

        What came afterwards is not known.
        """
        sql = fill(self._sql("sum_figures"), {"by": FIGURES_BY[by]})
        with self.transaction():
            rows = self._connection.rows(sql, {"since": since})
        rounded = (
            {**row, "seconds": round(row["seconds"], 2), "cents": round(row["cents"], 2)} for row in rows
        )
        return tuple(msgspec.convert(row, StopFigures) for row in rounded)

    def _events(
        self, statement: str, wanted: EventFilter, machine: str, **values: object
    ) -> tuple[TeamEvent, ...]:
        where, more = _condition(wanted, machine)
        return tuple(_event(row) for row in self._rows(statement, where, **values, **more))

    def _event_row(self, event: LoggedEvent) -> dict[str, Any]:
        return {
            **asdict(self._member),
            "sequence": event.position,
            "at": event.at,
            "host": event.session.host if event.session else "",
            "session": event.session.id if event.session else "",
            "project": event.project,
            "system": event.system,
            "kind": event.kind,
            "origin": event.origin,
            "data": pack_event_data(event.data),
        }

    # --- records ---

    def load(self, key: str) -> Record | None:
        found = self._found(Record, "load_record", key=key)
        return found[0] if found else None

    def find(self, prefix: str) -> tuple[Record, ...]:
        return self._found(Record, "find_records", prefix=prefix)

    def save(self, key: str, value: bytes, expected: int) -> int:
        statement = "save_record" if expected else "create_record"
        saved = self._rows(statement, key=key, value=value, expected=expected, person=self._member.person)
        if not saved:
            raise RecordConflictError(f"{key} was changed meanwhile: it has not revision {expected} any more")
        return int(saved[0]["revision"])

    def remove(self, key: str) -> None:
        self._rows("remove_record", key=key)

    # --- tasks ---

    def add(self, task: TeamTask) -> bool:
        row = {**asdict(task), **{name: json.dumps(getattr(task, name)) for name in LISTS}}
        with self.transaction():
            added = bool(self._rows("add_task", **row))
            if added:
                needs = [{"list": task.list, "id": task.id, "needed": needed} for needed in task.needs]
                self._many("add_need", needs)
        return added

    def tasks(self, list_name: str) -> tuple[TeamTask, ...]:
        return tuple(_task(row) for row in self._rows("list_tasks", list=list_name))

    def lists(self) -> tuple[ListCount, ...]:
        """How the tasks of each list stand."""
        return self._found(ListCount, "count_lists")

    def claim(self, list_name: str, lease: float = LEASE_S) -> Claim | None:
        token = secrets.token_hex(16)
        values = {"list": list_name, "token": token, "lease": lease, **asdict(self._member)}
        row = self._rows("claim_task", **values)
        return Claim(task=_task(row[0]), token=token) if row else None

    def extend(self, claim: Claim, lease: float = LEASE_S) -> bool:
        return bool(self._rows("extend_task", **_held(claim), lease=lease))

    def extend_all(self, claims: Sequence[Claim], lease: float = LEASE_S) -> set[str]:
        rows = [_held(claim) | {"lease": lease} for claim in claims]
        with self.transaction():
            if self._many("extend_task", rows) == len(rows):
                return set()
            return {claim.token for claim in claims if not self.extend(claim, lease)}

    def settle_task(self, claim: Claim, state: TeamTaskState, *, note: str = "", branch: str = "") -> bool:
        return bool(self._rows("settle_task", **_held(claim), state=state, note=note, branch=branch))

    def put(self, list_name: str, ident: str, state: TeamTaskState, note: str = "") -> bool:
        return bool(self._rows("put_task", list=list_name, id=ident, state=state, note=note))

    def pause(self, list_name: str, *, paused: bool = True) -> None:
        statement = "pause_list" if paused else "resume_list"
        self._rows(statement, list=list_name, person=self._member.person)

    def is_paused(self, list_name: str) -> bool:
        return bool(self._rows("paused_list", list=list_name))

    # --- money ---

    def set_limit(self, account: Account) -> None:
        self._rows("set_account", name=account.name, most=account.most, daily=account.daily)

    def accounts(self) -> tuple[Account, ...]:
        return self._found(Account, "list_accounts")

    def reserve(self, account: str, amount: float, key: str, lease: float = LEASE_S) -> bool:
        charge = self._charge(account, amount, key)
        with self.transaction():
            self._rows("lock_account", account=account)
            # A repeated request whose answer was lost, and what it reserved is spent already, is granted.
            return bool(self._rows("spent_charge", **charge) or self._rows("reserve", **charge, lease=lease))

    def settle(self, account: str, amount: float, key: str) -> None:
        charge = self._charge(account, amount, key)
        with self.transaction():
            self._rows("lock_account", account=account)
            if self._rows("spend_charge", **charge):
                self._rows("spend", **charge)

    def _charge(self, account: str, amount: float, key: str) -> dict[str, object]:
        return {"account": account, "amount": amount, "key": key, "machine": self._member.machine}

    # --- limits ---

    def take_slot(self, key: str, most: int, token: str, lease: float = LEASE_S) -> bool:
        values = {"key": key, "most": most, "token": token, "lease": lease, "machine": self._member.machine}
        with self.transaction():
            if self._rows("renew_slot", **values):
                return True
            self._rows("lock_slots", key=key)
            self._rows("end_slots", key=key)
            return bool(self._rows("take_slot", **values))

    def free_slot(self, key: str, token: str) -> None:
        self._rows("free_slot", key=key, token=token)

    def note_limit(self, limit: ServiceLimit) -> None:
        self._rows("note_limit", account=limit.account, until=limit.until, said=limit.said, met=limit.met)

    def limits(self) -> tuple[ServiceLimit, ...]:
        return self._found(ServiceLimit, "list_limits")

    # --- machines ---

    def join(self, machine: Machine) -> bool:
        return bool(self._rows("join_machine", **asdict(machine)))

    def leave(self) -> None:
        with self.transaction():
            for statement in ("give_back_tasks", "give_back_money", "leave_machine"):
                self._rows(statement, machine=self._member.machine)

    def machines(self) -> tuple[Machine, ...]:
        return self._found(Machine, "list_machines")

    def order(self, order: TeamOrder) -> None:
        values = {"machine": order.machine, "session": order.session, "text": order.text}
        self._rows("give_order", **values, person=self._member.person)

    def take_orders(self) -> tuple[TeamOrder, ...]:
        found = self._found(TeamOrder, "take_orders", machine=self._member.machine)
        return tuple(sorted(found, key=lambda one: one.number))

    def now(self) -> float:
        return float(self._rows("now")[0]["now"])

    # --- statements ---

    @property
    def _connection(self) -> Connection:
        connection: Connection = self._here.connection
        return connection

    def _sql(self, name: str, where: str = "") -> str:
        return fill(self._named[name], self._database.dialect.parts | {"where": where})

    def _rows(self, statement: str, where: str = "", /, **values: object) -> list[Row]:
        with self.transaction():
            return self._connection.rows(self._sql(statement, where), _clean_row(values))

    def _many(self, statement: str, rows: list[dict[str, Any]]) -> int:
        return self._connection.many(self._sql(statement), [_clean_row(row) for row in rows]) if rows else 0

    def _found(self, kind: type[T], statement: str, /, **values: object) -> tuple[T, ...]:
        return tuple(msgspec.convert(row, kind, strict=False) for row in self._rows(statement, **values))


# --- rows ---------------------------------------------------------------------------------------------------


def _clean(text: str) -> str:
    """Return a text that a database takes: no lone surrogates, no NUL."""
    return text.encode(errors="replace").decode().replace("\0", "")


def _clean_row(values: Row) -> Row:
    return {name: _clean(value) if isinstance(value, str) else value for name, value in values.items()}


def _held(claim: Claim) -> dict[str, object]:
    return {"list": claim.task.list, "id": claim.task.id, "token": claim.token}


def _task(row: Row) -> TeamTask:
    lists = {name: json.loads(row[name]) for name in LISTS}
    return msgspec.convert({**row, **lists}, TeamTask, strict=False)


def _event(row: Row) -> TeamEvent:
    session = SessionKey(row["host"], row["session"]) if row["session"] else None
    event = LoggedEvent(
        position=row["position"],
        at=row["at"],
        session=session,
        project=row["project"],
        system=row["system"],
        origin=row["origin"],
        data=unpack_event_data(row["kind"], bytes(row["data"])),
    )
    return TeamEvent(machine=row["machine"], person=row["person"], sequence=row["sequence"], event=event)


def _tell_session(told: dict[tuple[str, str], dict[str, Any]], row: Row, event: LoggedEvent) -> None:
    """Add what an event says of its session to what is told of it."""
    if event.session is None:
        return
    new = {**row, "began": event.at, "decided": "", "detail": "", "stops": 0, "sent_back": 0, "cents": 0.0}
    of = told.setdefault((row["host"], row["session"]), new)
    of |= {"at": event.at, "project": row["project"] or of["project"]}
    if found := find_decision(event.data):
        what, stop = found
        of |= {"decided": stop.decided, "detail": clean_line(stop.detail, DETAIL_LENGTH)}
        of["stops"] += not what
        of["sent_back"] += not what and stop.decided == CONTINUE_DECISION
    if isinstance(event.data, JudgingPaid | WorkerRan):
        of["cents"] += event.data.cents or 0.0


def _add_figures(days: dict[tuple[str, ...], dict[str, Any]], row: Row, event: LoggedEvent) -> None:
    """Add what an event says of a stop to the figures of its day."""
    if not isinstance(stop := event.data, StopJudged) or stop.decided == RestReason.SUBAGENT:
        return
    day = dt.datetime.fromtimestamp(event.at, tz=dt.UTC).date().isoformat()
    found = {
        "stops": 1,
        "sent_back": stop.decided == CONTINUE_DECISION,
        "achieved": stop.decided == RestReason.ACHIEVED,
        "judged": stop.decided == RestReason.JUDGED,
        "seconds": stop.seconds,
        "tokens": stop.judge_tokens,
        "cents": stop.judge_cents or 0.0,
        "unpriced": bool(stop.judge) and stop.judge_cents is None,
    }
    of = days.setdefault((day, row["project"], row["host"]), {**row, "day": day, **dict.fromkeys(found, 0)})
    for name, amount in found.items():
        of[name] += amount


def _condition(wanted: EventFilter, machine: str) -> tuple[str, dict[str, object]]:
    """Return the condition of a query, and its values."""
    parts: list[tuple[str, dict[str, object]]] = [("TRUE", {})]
    if machine:
        parts.append(("machine = %(of_machine)s", {"of_machine": machine}))
    if wanted.session is not None:
        key: dict[str, object] = {"of_session": wanted.session.id, "of_host": wanted.session.host}
        parts.append(("session = %(of_session)s AND host = %(of_host)s", key))
    if wanted.project:
        parts.append(("project = %(of_project)s", {"of_project": wanted.project}))
    if wanted.kinds:
        kinds: dict[str, object] = {f"kind{number}": kind for number, kind in enumerate(wanted.kinds)}
        parts.append((f"kind IN ({', '.join(f'%({name})s' for name in kinds)})", kinds))
    if wanted.since is not None:
        parts.append(("at >= %(since)s", {"since": wanted.since}))
    if wanted.before is not None:
        parts.append(("at < %(before)s", {"before": wanted.before}))
    values = {name: value for _, some in parts for name, value in some.items()}
    return " AND ".join(part for part, _ in parts), values
