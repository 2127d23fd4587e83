"""What a person may query and command outside the host, on the command line."""

from __future__ import annotations

import logging
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.markers.codec import HOST as MARKER
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import CommandTyped
from sidecar.kernel.goal import Spending
from sidecar.kernel.held_edits import HeldEdit
from sidecar.kernel.log import LoggedEvent, OrderGiven, RecordEntry
from sidecar.kernel.origin import Giver, Origin
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.log_readings import SUPERVISION, read_record
from sidecar.rubric.policy import held_edit_message
from sidecar.systems.supervision.policy.commands import describe_session, session_exit_code
from sidecar.systems.supervision.policy.origins import order_message, refusal_of_agents
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.supervisor import Supervisor

NAME_LENGTH = 40
"""Characters of a command's name that are told."""

log = logging.getLogger(__name__)


class SessionSelector(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Selects a session: by ID or HOST:ID, else the one seen last in or above the folder `project`.

    `host`: only sessions of this host; "" for any. A file marker may carry the id of a host's session: unless
    the host is named, the host's session is meant.
    """

    session: str = ""
    project: str = ""
    host: str = ""


class CommandRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Supervisor command that was typed in a shell instead of the host."""

    who: SessionSelector
    name: str
    arguments: str = ""


class SessionReport(Struct, frozen=True, kw_only=True):
    """The status of a session. `session` is empty where none is known.

    `exit_code`: see ExitCode. `rubric` is the file in force. `spending` is the cost of judging today, for all
    sessions together. `story` are the newest entries of the record; `set_aside` and `troubles` are lines that
    say what is wrong and where.
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
    story: tuple[RecordEntry, ...] = ()
    set_aside: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()


class SwitchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Switch Supervisor on or off for a folder, or for the user where `project` is None."""

    on: bool
    project: str | None = None


class HeldEditsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for the edits that wait in a folder, or lets those with these digests count."""

    project: str
    environment: dict[str, str] = {}
    digests: tuple[str, ...] = ()


class PermissionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks whether the calling process may do what only the user may."""

    name: str


class CommandLineService:
    """Answers requests of the command line."""

    def __init__(self, services: Services, supervisor: Supervisor) -> None:
        """Pass commands to `supervisor`, like those typed in the host."""
        self._services = services
        self._supervisor = supervisor

    def report(self, who: SessionSelector) -> SessionReport:
        """Report the session's status; a folder without a session gets a report that says so."""
        settings, errors = self._services.configuration.load()
        off = self._services.switches.off(who.project)
        session, spending = self._find(who), self._services.spending.today()
        rubric = self._services.rubrics.load(session.project if session else who.project, {})
        held = self._supervisor.steering.held(session.project if session else who.project, {})
        troubles = (*errors, *rubric.rejected, *map(held_edit_message, held))
        if session is None:
            text = f"Supervisor: no session is known for {who.session or who.project or 'this folder'}."
            return SessionReport(
                text=text, off=off, rubric=rubric.origin, spending=spending, troubles=troubles
            )
        goal = session.goal
        return SessionReport(
            session=session.key.id,
            host=session.key.host,
            project=session.project,
            status=goal.status.value if goal else "none",
            text=describe_session(session, settings) + self._shared_id_note(session.key),
            exit_code=session_exit_code(session).value,
            off=off,
            story=read_record(self._services.log, session.key),
            set_aside=self._services.store.set_aside(session.key),
            rubric=rubric.origin,
            spending=spending,
            troubles=troubles,
        )

    async def order(self, order: CommandRequest, pid: int = 0) -> CommandReply:
        """Carry out a command of the process `pid`; raises BadInputError where no session is known.

        An order of an agent is refused, with BadInputError. One that may be, is told to the user.
        """
        origin = self._origin(order.name, pid)
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
                origin=origin.seen,
            )
        )
        if not isinstance(answer, CommandReply):
            return CommandReply(text="")
        if origin.giver is Giver.UNSURE and not answer.refused:
            told = order_message(order.name, order.arguments, origin, session)
            self._supervisor.steering.owe(session.key, [told])
        return replace(answer, text=answer.text + self._shared_id_note(session.key))

    def toggle(self, toggle: SwitchRequest, pid: int = 0) -> str:
        """Switch Supervisor on or off and return what applies now; raises OSError, and as `order` does."""
        self.check_order("on" if toggle.on else "off", toggle.project or "", pid)
        self._services.switches.turn(on=toggle.on, project=toggle.project)
        where = toggle.project or "you, everywhere"
        return f"Supervisor is {'on' if toggle.on else 'off'} for {where}."

    def held(self, asked: HeldEditsRequest) -> tuple[HeldEdit, ...]:
        """Return the edits that wait, of the user's files and of this folder's."""
        return self._supervisor.steering.held(asked.project, asked.environment)

    def accept(self, asked: HeldEditsRequest, pid: int = 0) -> tuple[str, ...]:
        """Put edits in force; return a line for each. Raises OSError, and as `order` does."""
        self.check_order("accept", "", pid)
        return tuple(self._supervisor.steering.put_in_force(asked.project, asked.environment, asked.digests))

    def is_agent(self, pid: int) -> bool:
        """Whether a process is below the host of an agent at work."""
        return self._supervisor.hosts.origin(pid).giver is Giver.AGENT

    def permission(self, asked: PermissionRequest, pid: int = 0) -> str:
        """Say why a process may not do this, "" where it may. An agent that asks is told to the user."""
        try:
            self._origin(asked.name[:NAME_LENGTH], pid)
        except BadInputError as error:
            return str(error)
        return ""

    def refusal(self, name: str, pid: int) -> str:
        """Say why a process may not give this order, "" where it may."""
        try:
            self.check_order(name, "", pid)
        except BadInputError as error:
            return str(error)
        return ""

    def check_order(self, name: str, arguments: str, pid: int) -> None:
        """Refuse an order of an agent, with BadInputError; tell the user of one that may be."""
        origin = self._origin(name, pid)
        self._note_order(name, "permitted", origin)
        if origin.giver is Giver.UNSURE:
            self._services.incidents.report(order_message(name, arguments, origin, None))

    def _origin(self, name: str, pid: int) -> Origin:
        """Return who gives an order. Raises BadInputError where that is an agent, and tells the user."""
        origin = self._supervisor.hosts.origin(pid)
        log.info("order %s of %s: %s", name, origin.giver, origin.seen)
        if origin.giver is Giver.AGENT:
            why = refusal_of_agents(origin)
            self._note_order(name, "refused", origin)
            self._services.incidents.report(f"Supervisor: refused `{name}`: {why}.")
            raise BadInputError(why)
        return origin

    def _note_order(self, name: str, decided: str, origin: Origin) -> None:
        """Append an order that is no session's to the log."""
        event = LoggedEvent(
            at=self._services.clock.now(),
            system=SUPERVISION,
            data=OrderGiven(name=name, decided=decided),
            origin=origin.seen,
        )
        try:
            self._services.log.append(event)
        except (OSError, ValueError) as error:
            log.warning("the order %s could not be written to the log: %s", name, error)

    def session(self, ident: str, key: SessionKey | None = None) -> Session | None:
        """Return the session with this key, else the one seen last with this id; None where it is unknown."""
        return self._load(key) if key is not None else self._find(SessionSelector(session=ident))

    def _find(self, who: SessionSelector) -> Session | None:
        host, _, ident = who.session.rpartition(":")
        host = host or who.host
        keys = self._services.store.known()
        of_hosts = set() if host else {key.id for key in keys if key.host != MARKER}
        for key in keys:
            if (ident and key.id != ident) or (host and key.host != host):
                continue
            if key.host == MARKER and key.id in of_hosts:
                continue
            session = self._load(key)
            if session is not None and (ident or _is_inside_project(who.project, session.project)):
                return session
        return None

    def _shared_id_note(self, key: SessionKey) -> str:
        """Say whose session this is if another host has one with the same id; else ""."""
        others = [each for each in self._services.store.known() if each.id == key.id and each != key]
        if not others:
            return ""
        named = " or ".join(f"--session {each.host}:{each.id}" for each in others)
        return f"\nThis is the session of {key.host}. For the other one with this id: {named}"

    def _load(self, key: SessionKey) -> Session | None:
        try:
            return self._services.store.load(key)
        except (BadInputError, OSError):
            return None


def _is_inside_project(folder: str, project: str) -> bool:
    return bool(folder and project) and PurePath(folder).is_relative_to(project)
