"""What a person may query and command outside the host, on the command line."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.shared import CLIENT, HOST_ALIASES
from sidecar.hosts.unrecorded import HOST as MARKER
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import CommandTyped
from sidecar.kernel.goal import GoalStatus, Spending
from sidecar.kernel.journal import Journal
from sidecar.kernel.log import EventFilter, OrderGiven, RecordEntry, StopJudged, TeamLink, event_kind
from sidecar.kernel.loop import LOOP_HOST
from sidecar.kernel.orders import Giver, Order, Origin
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Session, SessionKey, continuation_budget
from sidecar.platform.limits import current_limits
from sidecar.platform.log_readings import SUPERVISION, read_record
from sidecar.platform.ports import load_readable
from sidecar.platform.services import note_event
from sidecar.platform.state import LOOK
from sidecar.rubric.policy import held_edit_message
from sidecar.systems.supervision.environments import running_host
from sidecar.systems.supervision.loops import show_loop
from sidecar.systems.supervision.policy.orders import (
    FREEING_ORDERS,
    describe_session,
    frees_agent,
    general_order_message,
    order_message,
    refusal_of_agents,
    session_exit_code,
)
from sidecar.systems.supervision.policy.sessions import Activity, describe_activity, find_activity, goal_runs
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.supervisor import Supervisor

MOST_SESSIONS = 100
"""Sessions of a folder that a report names, those seen last. A watch asks every second."""
MOST_LOOPS = 20
"""Task loops that are looked at for a report."""
MOST_TOLD = 20
"""Sessions, those seen last, that are told of an order."""
NO_PAGE = "while an agent works, the page is opened from a terminal that was there before"
WATCH_INSTEAD = "To see the same here: supervisor watch"
NO_SESSION_HINT = "Start your agent there and type: /supervisor:goal all tests pass"
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


class OrderRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An order that was typed in a shell instead of the host.

    `environment`: the shell's, by which the checks of a new goal are named; they run in the host's.
    """

    who: SessionSelector
    order: Order
    environment: dict[str, str] = {}


class SessionSummary(Struct, frozen=True, kw_only=True):
    """One session of a folder. `doing`, `since` and `detail`: see Activity. `exit_code`: see ExitCode."""

    session: str
    host: str
    project: str
    status: str
    condition: str
    exit_code: int
    doing: str
    since: float
    detail: str = ""


class BudgetReport(Struct, frozen=True, kw_only=True):
    """How many continuations a session's goal may have, and has had."""

    host: str
    session: str
    continuations: int
    used: int


class SessionReport(Struct, frozen=True, kw_only=True):
    """The status of a session, and of all others of the folder. `session` is empty where none is known.

    `text` says in lines where its goal stands and what it does; `activity` is the latter. `shadow` is
    what shadow mode would have done, "" where it is off. `exit_code`: see ExitCode. `rubric` is the file
    in force. `spending` is the cost of judging today, for all sessions together, `limits` say whose
    agents wait for a model service, `team` whether a team answers that was joined. `story` are the newest
    entries of the record; `set_aside` and `troubles` are lines that say what is wrong and where.
    `sessions` are those in the folder, above and below it, those whose goal is held now first. `session`
    is the first of them, unless one was asked for. `journal` has its tasks and notes.
    """

    session: str = ""
    host: str = ""
    project: str = ""
    status: str = "none"
    text: str = ""
    activity: Activity | None = None
    exit_code: int = 3
    budget: BudgetReport | None = None
    off: str = ""
    shadow: str = ""
    rubric: str = ""
    spending: Spending = Spending()
    limits: tuple[str, ...] = ()
    team: TeamLink | None = None
    story: tuple[RecordEntry, ...] = ()
    set_aside: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    sessions: tuple[SessionSummary, ...] = ()
    journal: Journal = Journal()

    @property
    def output(self) -> str:
        """The end of what the checks that run now print."""
        return self.activity.output if self.activity else ""


class SwitchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Switch Supervisor on or off for a folder, or for the user where `project` is None.

    `folder` is where it was typed, to say what holds there.
    """

    on: bool
    project: str | None = None
    folder: str = ""


class HeldEditsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for the edits that wait in a folder, or lets those with these digests count."""

    project: str
    environment: dict[str, str] = {}
    digests: tuple[str, ...] = ()


class OrderPermission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks whether the calling process may do what only the user may. `folder`: where, if it is noted."""

    name: str
    folder: str = ""


class CommandLineService:
    """Answers requests of the command line."""

    def __init__(self, services: Services, supervisor: Supervisor) -> None:
        """Pass commands to `supervisor`, like those typed in the host. Wiring sets `team_link`."""
        self._services = services
        self._supervisor = supervisor
        self.team_link: Callable[[], TeamLink | None] = lambda: None

    def report(self, who: SessionSelector) -> SessionReport:
        """Report the session's status; a folder without a session gets a report that says so."""
        settings, errors = self._services.configuration.load()
        off = self._services.switches.off(who.project)
        spending = self._services.spending.today()
        seen = self._sessions_of(who.project, who.host) if who.project else ()
        session = self.find(who) if who.session else next((one for one, _ in seen), None)
        played = tuple(self._loops_of(who)) if who.project and not who.host else ()
        session = session or next((one for one, _ in played), None)
        summaries = tuple(_summarize(one, activity) for one, activity in (*played, *seen))
        held = self.held(session.project if session else who.project)
        rubric = self._services.rubrics.load(session.project if session else who.project, {})
        common = SessionReport(
            off=off,
            shadow=self._supervisor.shadow_line(settings),
            rubric=rubric.origin,
            spending=spending,
            limits=current_limits(self._services.log, self._services.clock.now()),
            team=self.team_link(),
            troubles=(*errors, *rubric.rejected, *map(held_edit_message, held)),
        )
        if session is None:
            unknown = f"no session is known for {who.session or who.project or 'this folder'}."
            return replace(common, text=f"{unknown}\n{NO_SESSION_HINT}")
        session, activity = self._seen(session)
        goal, doing = session.goal, describe_activity(activity, self._services.clock.now())
        about = describe_session(session, settings)
        about = about[:1] if session.key.host == LOOP_HOST else about  # its tasks are no goal with a budget
        text = (*about, doing, *self._shared_id_note(session.key))
        return replace(
            common,
            session=session.key.id,
            host=session.key.host,
            project=session.project,
            status=goal.status.value if goal else "none",
            text="\n".join(text),
            activity=activity,
            exit_code=session_exit_code(session).value,
            budget=BudgetReport(
                host=session.key.host,
                session=session.key.id,
                continuations=continuation_budget(session, settings),
                used=goal.spent.continuations if goal else 0,
            ),
            story=read_record(self._services.log, session.key),
            set_aside=self._services.store.set_aside(session.key),
            sessions=summaries,
            journal=self.journal(session.key),
        )

    def _sessions_of(self, folder: str, host: str) -> tuple[tuple[Session, Activity], ...]:
        """Return the sessions in a folder, above and below it; first those whose goal is held now."""
        known = self._load(self._keys(SessionSelector(host=host)))
        related = (one for one in known if are_related(folder, one.project))
        found = [(one, self._activity(one)) for one in itertools.islice(related, MOST_SESSIONS)]
        outside = {one.key for one, _ in found if not _is_inside_project(folder, one.project)}
        return tuple(sorted(found, key=lambda pair: (not goal_runs(*pair), pair[0].key in outside)))

    def _loops_of(self, who: SessionSelector) -> Iterator[tuple[Session, Activity]]:
        """Yield loops that `supervisor loop` plays there, above or below it, until they are completed."""
        keys = (key for key in self._services.store.known() if key.host == LOOP_HOST)
        for one in self._load(itertools.islice(keys, MOST_LOOPS)):
            session, activity = self._seen(one)
            if are_related(who.project, session.project) and activity.state != "closed":
                yield session, activity

    def _seen(self, session: Session) -> tuple[Session, Activity]:
        played = show_loop(self._services, session) if session.key.host == LOOP_HOST else None
        return played or (session, self._activity(session))

    def describe(self, key: SessionKey) -> tuple[Session, Activity] | None:
        """Return a session, and what it does; None where it cannot be loaded."""
        return next(map(self._seen, self._load([key])), None)

    def _load(self, keys: Iterable[SessionKey]) -> Iterator[Session]:
        return filter(None, (load_readable(self._services.store, key) for key in keys))

    def _activity(self, session: Session) -> Activity:
        judged = EventFilter(session=session.key, kinds=(event_kind(StopJudged),))
        last = next((event.data for event in self._services.log.newest(judged, 1)), None)
        return find_activity(
            session,
            self._supervisor.judging(session.key),
            last if isinstance(last, StopJudged) else None,
            running=self._may_run(session),
            missed=self._supervisor.missed.ended(session),
        )

    def journal(self, key: SessionKey) -> Journal:
        """Return the tasks and notes of a session; none where they cannot be read."""
        try:
            return self._services.journals.load(key) or Journal()
        except (BadInputError, OSError) as error:
            log.warning("%s: the journal could not be read: %s", key.id, error)
            return Journal()

    def _may_run(self, session: Session) -> bool:
        """Whether the session's host runs, or may, where that cannot be seen."""
        processes = self._services.processes
        if not session.host_process or processes.find(os.getpid()) is None:
            return True
        return running_host(processes, session) is not None

    async def order(self, asked: OrderRequest, pid: int = 0) -> CommandReply:
        """Carry out a command of the process `pid`; raises BadInputError where no session is known.

        An order of an agent is refused, with BadInputError. One that may be, is told to the user.
        """
        return await self.carry_out(asked, self._origin(asked.order.name, pid))

    async def carry_out(self, asked: OrderRequest, origin: Origin) -> CommandReply:
        """Carry out a command of a person, however it came here; raises BadInputError as `order` does."""
        order = asked.order
        session = self._find_for_order(asked)
        if session is None:
            where = asked.who.session or asked.who.project
            raise BadInputError(
                f"no session is known as {where}. Its folder's `supervisor status` knows its name."
                if asked.who.session
                else no_session_message(where)
            )
        key, project = session.key, session.project
        if key.host == CLIENT:
            raise BadInputError(
                f"{key.id} is for tools alone: no stop is reported, so nothing would be enforced"
            )
        typed = CommandTyped(key=key, project=project, order=order, prompt_id="", origin=origin.seen)
        answer = await self._supervisor.tell(typed)
        if not isinstance(answer, CommandReply):
            return CommandReply(headline="")
        if answer.work:
            there = replace(typed, environment=asked.environment)
            answer = await self._supervisor.name_checks(there, answer, in_shell=True)
        after = load_readable(self._services.store, session.key) or session
        frees = frees_agent(session, after, self._services.configuration.load()[0])
        if not answer.refused and (frees or origin.giver is Giver.UNSURE):
            self._tell(order_message(order, origin, session), [key])
        return replace(answer, notes=(*answer.notes, *self._shared_id_note(key)))

    def toggle(self, toggle: SwitchRequest, pid: int = 0) -> str:
        """Switch Supervisor on or off and return what applies now; raises OSError, and as `order` does."""
        self.check_order("on" if toggle.on else "off", toggle.project or "", pid)
        self._services.switches.turn(on=toggle.on, project=toggle.project)
        said = f"Supervisor is {'on' if toggle.on else 'off'} for {toggle.project or 'you'}."
        still = self._services.switches.off(toggle.folder) if toggle.on and toggle.folder else ""
        more = "" if toggle.project else " --project"
        return f"{said} Here it is {still}: supervisor on{more}" if still else said

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Let count what was changed while no agent was at work; return what waits, also of the user's."""
        self._supervisor.steering.saved()
        return self._supervisor.steering.held(project)

    def accept(self, asked: HeldEditsRequest, pid: int = 0) -> tuple[str, ...]:
        """Put edits in force; return a line for each. Raises OSError, and as `order` does."""
        self.check_order("accept", asked.project, pid)
        return tuple(self._supervisor.steering.put_in_force(asked.project, asked.digests))

    def is_agent(self, pid: int) -> bool:
        """Whether a process is below the host of an agent at work."""
        return self._supervisor.hosts.origin(pid).giver is Giver.AGENT

    def permission(self, asked: OrderPermission, pid: int = 0) -> str:
        """Say why a process may not do this, "" where it may. An agent that asks is told to the user."""
        return self.refusal(asked.name[:NAME_LENGTH], pid, asked.folder or None)

    def refusal(self, name: str, pid: int, folder: str | None = "") -> str:
        """Say why a process may not give this order, "" where it may. No `folder`: it is not given here."""
        try:
            if folder is None:
                self._origin(name, pid)
            else:
                self.check_order(name, folder, pid)
        except BadInputError as error:
            return str(error)
        return ""

    def check_order(self, name: str, folder: str, pid: int, *keys: SessionKey) -> Giver:
        """Refuse an order of an agent, with BadInputError; tell of one that may be, or that frees an agent.

        It is told in the sessions that it concerns: `keys`, else those of the folder, else in any one.
        Return whose it is.
        """
        origin = self._origin(name, pid)
        self._note_order(name, "permitted", origin, folder)
        if origin.giver is Giver.UNSURE or name in FREEING_ORDERS:
            there = self._concerned(folder) if folder or name in FREEING_ORDERS else [None]
            self._tell(general_order_message(name, folder, origin), keys or there)
        return origin.giver

    def check_page(self, pid: int) -> None:
        """Refuse the page to an agent, and while one works to whoever may be one; as `check_order` does."""
        origin = self._supervisor.hosts.origin(pid)
        if pid and origin.giver is Giver.UNSURE and self._supervisor.steering.working():
            self._note_order("dashboard", "refused", origin)
            raise BadInputError(f"{NO_PAGE} ({origin.seen}). {WATCH_INSTEAD}")
        self.check_order("dashboard", "", pid)

    def _concerned(self, folder: str) -> Sequence[SessionKey | None]:
        """Return the sessions that work in a folder, above or below it; "": anywhere."""
        known = self._load(self._keys(SessionSelector()))
        related = (one.key for one in known if not folder or are_related(folder, one.project))
        return list(itertools.islice(related, MOST_TOLD))

    def _tell(self, line: str, keys: Iterable[SessionKey | None]) -> None:
        """Tell each of these sessions once, at its next prompt or stop; None: the first that asks."""
        masked = self._services.secrets.masker({})(line)
        for key in keys:
            self._services.incidents.report(masked, key)

    def _origin(self, name: str, pid: int) -> Origin:
        """Return who gives an order. Raises BadInputError where that is an agent, and tells the user."""
        origin = self._supervisor.hosts.origin(pid)
        log.info("order %s of %s: %s", name, origin.giver, origin.seen)
        if origin.giver is Giver.AGENT:
            why = refusal_of_agents(origin)
            self._note_order(name, "refused", origin)
            self._services.incidents.report(f"Supervisor: refused `{name}`: {why}. {LOOK}")
            raise BadInputError(why)
        return origin

    def _note_order(self, name: str, decided: str, origin: Origin, about: str = "") -> None:
        """Append an order that is no session's to the log. `about`: the folder that it is about."""
        order, services = OrderGiven(name=name, decided=decided, detail=about), self._services
        note_event(services.log, services.clock, SUPERVISION, order, origin=origin.seen)

    def session(self, ident: str, key: SessionKey | None = None) -> Session | None:
        """Return the session with this key, else the one seen last with this id; None where it is unknown."""
        return load_readable(self._services.store, key) if key else self.find(SessionSelector(session=ident))

    def find(self, who: SessionSelector) -> Session | None:
        """Return the session with this id, or the one seen last in or above the folder; None for unknown."""
        known = self._load(self._keys(who))
        wanted = (one for one in known if who.session or _is_inside_project(who.project, one.project))
        return next(wanted, None)

    def _find_for_order(self, asked: OrderRequest) -> Session | None:
        """Return the session that an order is about: what changes a goal is about one that is held now."""
        who, order = asked.who, asked.order
        if who.session or order.name != "goal" or not order.word:
            return self.find(who)
        seen = (one for one, _ in self._sessions_of(who.project, who.host))
        return next((one for one in seen if _is_inside_project(who.project, one.project)), None)

    def _keys(self, who: SessionSelector) -> list[SessionKey]:
        """Return the sessions of this host and this id, where they are given; those seen last first.

        Those of clients come after all others: nothing is known of when they are used.
        """
        host, _, ident = who.session.rpartition(":")
        host = HOST_ALIASES.get(host, host) or who.host
        keys = self._services.store.known()
        ident = _whole_id(ident, keys)
        of_hosts = set() if host else {key.id for key in keys if key.host != MARKER}
        found = [
            key
            for key in keys
            if (not ident or key.id == ident)
            and (not host or key.host == host)
            and not (key.host == MARKER and key.id in of_hosts)
        ]
        return sorted(found, key=lambda key: key.host == CLIENT)

    def _shared_id_note(self, key: SessionKey) -> tuple[str, ...]:
        """Say whose session this is if another host has one with the same id."""
        others = [each for each in self._services.store.known() if each.id == key.id and each != key]
        if not others:
            return ()
        named = " or ".join(f"--session {each.host}:{each.id}" for each in others)
        return (f"This is the session of {key.host}. For the other one with this id: {named}",)


def _summarize(session: Session, activity: Activity) -> SessionSummary:
    goal = session.goal if session.goal and session.goal.status is not GoalStatus.CLEARED else None
    return SessionSummary(
        session=session.key.id,
        host=session.key.host,
        project=session.project,
        status=goal.status.value if goal else "none",
        condition=goal.condition if goal else "",
        exit_code=session_exit_code(session).value,
        doing=activity.state,
        since=activity.since,
        detail=activity.detail,
    )


SHORTEST_ID = 4
"""Characters of the beginning of an id that may stand for it."""


def _whole_id(ident: str, keys: Sequence[SessionKey]) -> str:
    """Return the one known id that this is the beginning of; itself where there is none, or several."""
    ids = {key.id for key in keys if len(ident) >= SHORTEST_ID and key.id.startswith(ident)}
    return ids.pop() if len(ids) == 1 else ident


def no_session_message(folder: str) -> str:
    """Say that nothing is known of this folder, and what to do."""
    return (
        f"no agent has worked in {folder} yet, and this belongs to an agent's session. Start your "
        "agent there once, or name a session: --session"
    )


def are_related(one: str, other: str) -> bool:
    """Whether one of the folders is in the other."""
    return _is_inside_project(one, other) or _is_inside_project(other, one)


def _is_inside_project(folder: str, project: str) -> bool:
    return bool(folder and project) and PurePath(folder).is_relative_to(project)
