"""Gate requests: lists, runs and approves the checks of a session's project for an agent or a person.

Rules of this module:

- A request runs what a stop would run: the same gates, approvals, deadlines and environment, and one batch at
  a time for each project.
- A stop uses a pass only with a goal, whose baseline tells what the agent, which is at work meanwhile, may
  have replaced during a check. Else no tree is passed to the runner, which neither stores nor reuses results.
- A stop has priority: it cancels what runs here for its project, and nothing begins while it is judged.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates import policy as gates
from sidecar.evidence.ports import GateContext, HearGates
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.events import (
    NO_RUBRIC,
    AgentStopped,
    CommandTyped,
    ProjectState,
    PromptSubmitted,
    ToolCalled,
)
from sidecar.kernel.events import AnyHostEvent as HostTold
from sidecar.kernel.gate import AvailableGates, Gate, GateRun, Kind, Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.masking import SecretMask, mask_gate_run
from sidecar.kernel.runs import CheckRun, MergeChecks
from sidecar.kernel.session import Environment, Session, SessionKey, active_goal
from sidecar.kernel.text import escape_unprintable, last_characters
from sidecar.platform.log_readings import read_record
from sidecar.platform.ports import remember_newest
from sidecar.platform.slots import CALLER, Caller
from sidecar.systems.supervision.policy.orders import refusal, switch_on_command
from sidecar.systems.supervision.ports import Services

T = TypeVar("T")

MAX_GATES_NAMED = 20
"""Maximum number of gates that an error names."""
OUTPUT_TOLD: Final = 600
"""Characters of a failing check's output that a refused merge is told with, from its end."""
MAX_GATE_ID_LENGTH = 64
"""Maximum characters of a gate's id."""
RECORD_ENTRIES_SEARCHED = 20
"""Record entries in which the last stop with gates is searched for."""


class ChecksError(ToolRuleError):
    """A request was refused, and nothing runs."""


class GateListing(Struct, frozen=True, kw_only=True):
    """The gates of a session's project, and problems in the files that define them.

    `at_stops`: whether a stop runs any gates now. `last` is the record entry of the last stop that ran gates;
    `moved` says whether files changed since, None where that is unknown.
    """

    gates: tuple[Gate, ...]
    problems: tuple[str, ...]
    at_stops: bool
    last: RecordEntry | None = None
    moved: bool | None = None


class SessionChecks:
    """Runs gates in the environment that counts for a session."""

    def __init__(self, services: Services, environments: Callable[[SessionKey], Environment | None]) -> None:
        """Use these services. `environments`: what counts for a session, None where that is unknown."""
        self._services = services
        self._environments = environments
        self._read_only: set[SessionKey] = set()
        self._running: dict[asyncio.Task[Any], str] = {}
        self._gave_way: set[asyncio.Task[Any]] = set()
        self._judging: Counter[str] = Counter()

    def met(self, event: HostTold) -> None:
        """Remember whether a session may change anything."""
        if not isinstance(event, PromptSubmitted | AgentStopped | ToolCalled) or event.subagent:
            return
        if event.read_only is not None:
            (self._read_only.add if event.read_only else self._read_only.discard)(event.key)
        elif isinstance(event, PromptSubmitted):
            self._read_only.discard(event.key)

    @contextlib.contextmanager
    def giving_way(self, stop: AgentStopped) -> Iterator[None]:
        """Run nothing for the stop's project while the stop is judged; a subagent's stop is not judged."""
        if stop.subagent:
            yield
            return
        self._judging[stop.project] += 1
        for task, place in self._running.items():
            if place == stop.project:
                self._gave_way.add(task)
                task.cancel()
        try:
            yield
        finally:
            self._judging -= Counter([stop.project])

    def environment(self, session: Session) -> Environment | None:
        """Return the environment that counts, None where nothing came since the sidecar started."""
        return self._environments(session.key)

    def mask(self, session: Session) -> SecretMask:
        """Return a function that masks the session's secrets in a text."""
        return self._services.secrets.masker(self.environment(session) or {})

    async def offered(self, session: Session) -> tuple[Gate, ...]:
        """List the gates of a session's project; raises ChecksError."""
        catalog = await self._services.catalog.list(session.project, self._known(session))
        return _offered_gates(session, catalog)

    async def list(self, session: Session) -> GateListing:
        """List the gates of a session's project, and what is known of them; raises ChecksError."""
        environment = self._known(session)
        catalog, tree = await asyncio.gather(
            self._services.catalog.list(session.project, environment),
            self._services.workspace.fingerprint(session.project, environment),
        )
        goal = active_goal(session)
        settings, _ = self._services.configuration.load()
        last = next(
            (
                one
                for one in reversed(read_record(self._services.log, session.key, RECORD_ENTRIES_SEARCHED))
                if one.gates and one.event == "stop"
            ),
            None,
        )
        return GateListing(
            gates=_offered_gates(session, catalog),
            problems=catalog.problems,
            at_stops=goal is not None or settings.gates.without_goal,
            last=last,
            moved=last.tree != tree if last and last.tree and tree else None,
        )

    async def run(
        self, session: Session, only: Sequence[str] = (), tell: HearGates | None = None
    ) -> tuple[GateRun, ...]:
        """Run these gates, or all where none is named, as a stop would; results are in the order of `list`.

        Gates that nobody approved are not run. Cancelling kills what runs. Raises ChecksError.
        """
        environment = self.permitted_environment(session)
        return await self.give_way(session, self._run(session, only, environment, tell))

    async def give_way(self, session: Session, work: Coroutine[Any, Any, T]) -> T:
        """Do this work, unless a stop of its project is judged meanwhile. Raises ChecksError then."""
        task = asyncio.create_task(work)
        self._running[task] = session.project
        try:
            return await task
        except asyncio.CancelledError:
            if task in self._gave_way:
                raise ChecksError("gates-gave-way") from None
            raise
        finally:
            self._running.pop(task)
            self._gave_way.discard(task)

    async def run_elsewhere(
        self, session: Session, folder: str, environment: Environment, only: Sequence[str], asked: str = ""
    ) -> MergeChecks:
        """Run the gates that bear on a session's goal, or these of them, in another worktree of its project.

        Return also which of what passed is not the check that it was when the goal was set. The goal may have
        ended, because work is merged afterwards. `asked`: what the user asked for beside it.
        """
        from sidecar.work.place import CheckedCopy, NoCopyError, WorkCopy, session_context  # noqa: PLC0415 - a waiting sidecar does without

        if session.goal and session.goal.status is not GoalStatus.CLEARED:
            session = replace(session, goal=replace(session.goal, status=GoalStatus.ACTIVE))
        catalog, services = await self._services.catalog.list(session.project, environment), self._services
        bearing = tuple(
            gate
            for gate in gates.runnable_gates(_applicable_gates(session, catalog))
            if (gate.required or gate.kind is Kind.TESTS) and (not only or gate.named in only)
        )
        known = self.environment(session) or environment
        own = GateContext(project=session.project, tree="", environment=known)
        base = await services.workspace.remember(folder, environment)
        at = await session_context(services, session.key, folder, environment)
        ended, late = await self._batches(bearing, catalog, replace(at, base=base, origin=own))
        mask, goal = services.secrets.masker(environment), active_goal(session)
        runs = _results(bearing, ended, mask, "", late)
        found = MergeChecks(runs=tuple(map(_told_elsewhere, runs)))
        if goal is None:
            return found
        place = WorkCopy(project=folder, environment=environment, origin=session.project)
        copy = CheckedCopy(services=services, copy=place, base=goal.base, origin=own, mask=mask)
        try:
            weakened = await copy.weakened(runs, f"{goal.condition}\n{asked}")
        except NoCopyError as error:
            weakened = (f"what changed is not known: {error}",)
        return replace(found, weakened=weakened)

    async def _run(
        self,
        session: Session,
        only: Sequence[str],
        environment: Environment,
        tell: HearGates | None,
    ) -> tuple[GateRun, ...]:
        from sidecar.work.place import session_context  # noqa: PLC0415 - a waiting sidecar does without

        project, look = session.project, self._services.workspace.fingerprint
        catalog = await self._services.catalog.list(project, environment)
        wanted = _select_gates(_applicable_gates(session, catalog), only)
        at = await session_context(self._services, session.key, project, environment)
        tree = at.tree or await look(project, environment)
        may = gates.runnable_gates(wanted)

        ended, late = await self._batches(may, catalog, at, tell)
        moved = bool(ended) and await look(project, environment) != tree
        seen = (replace(run, tree=tree, moved=moved and run.outcome is Outcome.PASSED) for run in ended)
        runs = (*gates.unapproved_gate_runs(wanted, tree), *seen)
        return _results(wanted, runs, self._services.secrets.masker(environment), tree, late)

    async def _batches(
        self, may: Sequence[Gate], catalog: AvailableGates, at: GateContext, tell: HearGates | None = None
    ) -> tuple[Sequence[GateRun], str]:
        """Run the required gates, then the others; return what ended, and why the rest did not."""
        settings, _ = self._services.configuration.load()
        limits = ((True, catalog.settings.seconds), (False, catalog.settings.advisory_seconds))
        ended = list[GateRun]()

        def hear(gate: Gate, run: GateRun | None) -> None:
            if run is not None:
                ended.append(run)
            if tell is not None:
                tell(len(ended), len(may), gate, run)

        CALLER.set(caller := Caller(attended=at.origin is None))
        try:
            async with asyncio.timeout(settings.stop_seconds):
                for required, seconds in limits:
                    batch = tuple(gate for gate in may if gate.required is required)
                    await self._services.gates.run(batch, at, seconds, hear)
        except TimeoutError:
            late = f"all checks together took longer than {settings.stop_seconds} seconds"
            return ended, late + caller.excuse
        return ended, ""

    def permitted_environment(self, session: Session) -> Environment:
        """Return a session's environment if commands may run for it now; raises ChecksError."""
        environment = self._known(session)
        if off := self._services.switches.off(session.project):
            raise ChecksError("gates-off", off=off, type=switch_on_command(off))
        if session.key in self._read_only:
            raise ChecksError("gates-read-only")
        if self._judging[session.project]:
            raise ChecksError("gates-gave-way")
        return environment

    def _known(self, session: Session) -> Environment:
        """Return the environment of a session; raises ChecksError."""
        found = self.environment(session)
        if found is None:
            raise ChecksError("gates-no-environment")
        return found


def _results(
    wanted: Iterable[Gate], runs: Iterable[GateRun], mask: SecretMask, tree: str, late: str
) -> tuple[GateRun, ...]:
    """Return a masked run of each gate; for one that did not end, that it could not run."""
    ended = {run.gate.id: mask_gate_run(run, mask) for run in runs}
    return tuple(
        ended.get(gate.id) or GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=tree, reason=late)
        for gate in wanted
    )


def _told_elsewhere(run: GateRun) -> CheckRun:
    why = run.reason or last_characters(run.output, OUTPUT_TOLD)
    passed = run.outcome is Outcome.PASSED
    return CheckRun(id=run.gate.named, command=run.gate.command, passed=passed, why=why, failing=run.failing)


def _applicable_gates(session: Session, catalog: AvailableGates) -> tuple[Gate, ...]:
    """Return the gates that a stop would require now, then all others of the project."""
    project_state = ProjectState(tree="", rubric=NO_RUBRIC, catalog=catalog)
    required = gates.required_gates(active_goal(session), project_state)
    ids = {gate.id for gate in required}
    return (*required, *(gate for gate in catalog.gates if gate.id not in ids))


def _offered_gates(session: Session, catalog: AvailableGates) -> tuple[Gate, ...]:
    """Return the applicable gates; those that may run count as approved."""
    every = _applicable_gates(session, catalog)
    may = set(gates.runnable_gates(every))
    return tuple(replace(gate, approved=gate in may) for gate in every)


def _select_gates(every: tuple[Gate, ...], only: Sequence[str]) -> tuple[Gate, ...]:
    """Return the named gates, or all where none is named; raises ChecksError."""
    known = [gate.id for gate in every]
    if unknown := [one for one in only if one not in known]:
        raise ChecksError(
            "gates-unknown",
            id=unknown[0][:MAX_GATE_ID_LENGTH],
            known=", ".join(known[:MAX_GATES_NAMED]) or "none",
        )
    return tuple(gate for gate in every if gate.id in only) if only else every


# --- /supervisor:trust shows the commands of the project that are not approved, and approves them -----------
# What was shown is what can be approved, as `supervisor trust` does in a shell (law 12): a gate
# that was changed in between must be looked at again.


ALL: Final = ("yes",)
"""What is typed to approve all that was shown."""
PROJECTS_REMEMBERED: Final = 64
SHOWN_LENGTH: Final = 3000
"""Characters that a host shows of an answer; commands beyond them are for `supervisor trust`."""


class GateApprovals:
    """Remembers for each project what was shown last."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._shown: OrderedDict[str, tuple[Gate, ...]] = OrderedDict()

    async def obey(self, event: CommandTyped) -> CommandReply:
        """Show what is not approved, or approve what was shown."""
        catalog = await self._services.catalog.list(event.project, event.environment)
        new = tuple(gate for gate in catalog.approvable if not gate.approved)
        wanted = event.order.gates
        if not wanted or not new:
            return self._show(event.project, new)
        shown = self._shown.get(event.project, ())
        chosen = shown if wanted == ALL else tuple(gate for gate in shown if gate.id in wanted)
        if not chosen or (wanted != ALL and len(chosen) < len(set(wanted))):
            return self._refuse("approve what was shown, by `yes` or by name.", event.project, new)
        if changed := [gate.id for gate in chosen if gate not in new]:
            said = f"changed since it was shown: {', '.join(changed)}; nothing was approved."
            return self._refuse(said, event.project, new)
        try:
            self._services.catalog.approve(event.project, chosen)
        except (BadInputError, OSError) as error:
            return refusal(f"nothing was approved: {error}")
        return CommandReply(headline=f"approved: {', '.join(gate.named for gate in chosen)}.")

    def _refuse(self, why: str, project: str, gates: Sequence[Gate]) -> CommandReply:
        return CommandReply(headline=why, details=self._show(project, gates).lines, refused=True)

    def _show(self, project: str, gates: Sequence[Gate]) -> CommandReply:
        """Describe gates as far as a host shows them; these can be approved by the next command."""
        shown, lines, room = list[Gate](), list[str](), SHOWN_LENGTH
        for gate in gates:
            text = "\n".join(_describe_gate(gate))
            room -= len(text)
            if room > 0:
                shown.append(gate)
                lines.append(text)
        remember_newest(self._shown, project, tuple(shown), PROJECTS_REMEMBERED)
        if not gates:
            return CommandReply(headline="every command that was found here is approved.")
        if len(shown) < len(gates):
            lines.append(
                f"{len(gates) - len(shown)} more are too long for here: supervisor trust, in a shell"
            )
        names = " ".join(gate.id for gate in shown[:2])
        lines.append(f"To approve: /supervisor:trust yes, or some of them: /supervisor:trust {names}")
        return CommandReply(headline="not approved yet:", details=tuple(lines))


def _describe_gate(gate: Gate) -> Iterator[str]:
    """Say everything that an approval covers."""
    where = f" in {gate.folder}" if gate.folder else ""
    python = f" with {gate.python}" if gate.python else ""
    yield escape_unprintable(f"- {gate.id}: `{gate.command}`{where}{python} ({gate.why})")
    if gate.behind:
        yield f"  which runs: {escape_unprintable(gate.behind)}"
