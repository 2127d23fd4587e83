"""Removes what is stored of sessions, because their user wants it gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import AUDIT_KIND, EventFilter, LoggedEvent, OrderGiven
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import counted
from sidecar.platform.log_readings import SUPERVISION
from sidecar.systems.supervision.people import CommandLineService
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.supervisor import Supervisor


class ForgetRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names a session, by ID or HOST:ID, or a time in seconds since the epoch before which all is to go."""

    session: str = ""
    before: float | None = None


class SessionRemover:
    """Carries out `supervisor forget`."""

    def __init__(
        self,
        services: Services,
        supervisor: Supervisor,
        people: CommandLineService,
        elsewhere: Callable[[Sequence[EventFilter]], bool] = lambda _: False,
    ) -> None:
        """Share the other parameters with those who use the sessions.

        `elsewhere` lets a team forget the same; it returns whether one was joined, and raises OSError.
        """
        self._elsewhere = elsewhere
        self._services = services
        self._supervisor = supervisor
        self._people = people

    def forget(self, asked: ForgetRequest, pid: int = 0) -> str:
        """Remove, and say what was removed.

        Raises OSError, and BadInputError for an agent's order and for an unknown session.
        """
        if asked.session:
            keys: tuple[SessionKey, ...] = (self._key(asked.session),)
            wanted = [EventFilter(session=keys[0])]
        elif asked.before is not None:
            keys = tuple(key for key in self._services.store.known() if self._rests_since(key, asked.before))
            wanted = [EventFilter(before=asked.before), *(EventFilter(session=key) for key in keys)]
        else:
            raise BadInputError("name a session or a time")
        self._people.check_order("forget", "", pid, *keys)
        team = " The team forgets the same when it answers next." if self._elsewhere(wanted) else ""
        events = sum(map(self._services.log.forget, wanted))
        removed = sum(self._supervisor.forget(key) for key in keys)
        said = f"{counted(events, 'event')}, {counted(removed, 'session')}"
        order = OrderGiven(name="forget", decided="done", detail=said)  # without what was forgotten
        self._services.log.append(LoggedEvent(at=self._services.clock.now(), system=SUPERVISION, data=order))
        answer = f"Supervisor: forgotten: {said} with state, journal and kept files.{team}"
        kept = self._services.log.count(replace(wanted[0], kinds=(AUDIT_KIND,)))
        stay = f"{kept} audit entr{'y stays' if kept == 1 else 'ies stay'}"
        return f"{answer} {stay}; `supervisor uninstall --purge` removes them." if kept else answer

    def _key(self, named: str) -> SessionKey:
        """The key of a session that has a state or events. Raises BadInputError."""
        host, _, ident = named.rpartition(":")
        session = self._people.session(ident, SessionKey(host, ident) if host else None)
        if session is not None and session.key.id != ident:  # what cannot be taken back is named whole
            raise BadInputError(f"name the session whole to forget it: supervisor forget {session.key.id}")
        key = session.key if session is not None else SessionKey(host, ident)
        if session is None and not self._services.log.newest(EventFilter(session=key), 1):
            raise BadInputError(
                f"no session is known as {named[:200]}; if its state is gone, name it HOST:ID"
            )
        return key

    def _rests_since(self, key: SessionKey, before: float) -> bool:
        session = self._people.session(key.id, key)
        return session is not None and session.seen_at < before
