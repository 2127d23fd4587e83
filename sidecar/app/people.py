"""What a person may ask and order outside the host, by command line."""

from __future__ import annotations

from pathlib import PurePath

from msgspec import Struct

from sidecar.app.house import House
from sidecar.app.supervisor import Supervisor
from sidecar.model.effects import Reply
from sidecar.model.events import CommandTyped
from sidecar.model.session import Session, SessionKey
from sidecar.model.spending import Spending
from sidecar.policy.rubrics import told
from sidecar.policy.status import describe, exit_code
from sidecar.ports import BadInputError, Entry


class Who(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which session is meant: by the host's id, else the one seen last in or above the folder `project`."""

    session: str = ""
    project: str = ""
    host: str = ""


class Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command of ours that was typed in a shell instead of the host."""

    who: Who
    name: str
    arguments: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """Where a session stands. `session` is empty where none is known.

    `exit_code`: see ExitCode. `rubric` is the file in force. `spending` is what judging cost today, all
    sessions together. `story` are the newest entries of the record;
    `set_aside` and `troubles` are lines that say what is wrong and where.
    """

    session: str = ""
    host: str = ""
    project: str = ""
    status: str = "none"
    text: str = ""
    exit_code: int = 3
    off: str = ""
    rubric: str = ""
    spending: Spending = Spending()
    story: tuple[Entry, ...] = ()
    set_aside: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()


class Toggle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Switch Supervisor on or off for a folder, or for the user where `project` is None."""

    on: bool
    project: str | None = None


class People:
    """Answers the command line."""

    def __init__(self, house: House, supervisor: Supervisor) -> None:
        """Live in `house`; commands take the same way as those typed in the host."""
        self._house = house
        self._supervisor = supervisor

    def report(self, who: Who) -> Report:
        """Where the session stands; a folder without one gets a report that says so."""
        settings, errors = self._house.configuration.load()
        off = self._house.switches.off(who.project)
        session, spending = self._find(who), self._house.purse.today()
        rubric = self._house.rubrics.load(session.project if session else who.project, {})
        troubles = (*errors, *rubric.rejected, *filter(None, [told(rubric)]))
        if session is None:
            text = f"Supervisor: no session is known for {who.session or who.project or 'this folder'}."
            return Report(text=text, off=off, rubric=rubric.origin, spending=spending, troubles=troubles)
        goal = session.goal
        return Report(
            session=session.key.id,
            host=session.key.host,
            project=session.project,
            status=goal.status.value if goal else "none",
            text=describe(session, settings),
            exit_code=exit_code(session).value,
            off=off,
            story=self._house.record.read(session.key),
            set_aside=self._house.record.set_aside(session.key),
            rubric=rubric.origin,
            spending=spending,
            troubles=troubles,
        )

    async def order(self, order: Order) -> Reply:
        """Carry out a command; raises BadInputError where no session is known."""
        session = self._find(order.who)
        if session is None:
            where = order.who.session or order.who.project
            raise BadInputError(
                f"no session is known as {where}. Its folder's `supervisor status` knows its name."
                if order.who.session
                else f"no session is known for {where}. Start the host there once, or name one: --session"
            )
        answer = await self._supervisor.tell(
            CommandTyped(
                key=session.key,
                project=session.project,
                name=order.name,
                arguments=order.arguments,
                prompt_id="",
            )
        )
        return answer if isinstance(answer, Reply) else Reply(text="")

    def toggle(self, toggle: Toggle) -> str:
        """Switch, and say what holds now; raises OSError."""
        self._house.switches.turn(on=toggle.on, project=toggle.project)
        where = toggle.project or "you, everywhere"
        return f"Supervisor is {'on' if toggle.on else 'off'} for {where}."

    def session(self, ident: str, key: SessionKey | None = None) -> Session | None:
        """The session of this key, else the one seen last with this id; None where it is not known."""
        return self._load(key) if key is not None else self._find(Who(session=ident))

    def _find(self, who: Who) -> Session | None:
        for key in self._house.store.known():
            if (who.session and key.id != who.session) or (who.host and key.host != who.host):
                continue
            session = self._load(key)
            if session is not None and (who.session or _inside(who.project, session.project)):
                return session
        return None

    def _load(self, key: SessionKey) -> Session | None:
        try:
            return self._house.store.load(key)
        except (BadInputError, OSError):
            return None


def _inside(folder: str, project: str) -> bool:
    return bool(folder and project) and PurePath(folder).is_relative_to(project)
