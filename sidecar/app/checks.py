"""Which checks apply to a session's project, and how they end now, for an agent or a person who asks.

The laws of this file:

- What runs is what a stop would run: the same gates, approvals, deadlines and environment, and one batch at a
  time for each project.
- No stop believes what ran here: an agent is at work meanwhile and can put other files in place while a check
  looks. So no tree is named to the runner, and where none is named nothing is remembered or recalled.
- A stop comes first: it ends what runs here for its project, and nothing begins while it is judged.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sidecar.app.house import House
from sidecar.model.events import NO_RUBRIC, PromptSubmitted, Stopped, Surveyed, ToolCalled
from sidecar.model.events import Told as HostTold
from sidecar.model.gate import Catalog, Gate, GateRun, Outcome
from sidecar.model.session import Session, SessionKey
from sidecar.policy import gates
from sidecar.policy.masking import mask_run
from sidecar.policy.skip import active_goal
from sidecar.policy.status import switch_on
from sidecar.ports import Entry, Environment, Mask, Progress, Site

REMEMBERED = 200
"""Sessions whose environment is remembered. Each has some kilobytes."""
NAMED = 20
"""Gates that a refusal names."""
STORY = 20
"""Entries of the record in which the last stop with gates is looked for."""


Told = Callable[[int, int, Gate, GateRun | None], None]
"""Told when a gate begins (None) and when it has ended, and how many have ended of how many."""


class ChecksError(Exception):
    """Nothing runs. `rule` is the section of rubric/tools.md that says why; `values` are its blanks."""

    def __init__(self, rule: str, /, **values: object) -> None:
        """Name the rule."""
        super().__init__(rule)
        self.rule = rule
        self.values = {name: str(value) for name, value in values.items()}


class Offered(Struct, frozen=True, kw_only=True):
    """The gates of a session's project, the required ones first, and what is wrong with their files.

    `may` are the ids of those that somebody approved. `at_stops`: whether a stop runs any now. `last` is the
    entry of the last stop that ran gates, `moved` whether files changed since, None where it is not known.
    """

    gates: tuple[Gate, ...]
    problems: tuple[str, ...]
    may: frozenset[str]
    at_stops: bool
    last: Entry | None = None
    moved: bool | None = None


class Checks:
    """Runs gates in the environment that a session's host sent last."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
        self._environments: OrderedDict[SessionKey, Environment] = OrderedDict()
        self._read_only: set[SessionKey] = set()
        self._running: dict[asyncio.Task[tuple[GateRun, ...]], str] = {}
        self._gave_way: set[asyncio.Task[tuple[GateRun, ...]]] = set()
        self._judging: Counter[str] = Counter()

    def met(self, event: HostTold) -> None:
        """Remember the environment of a session, and whether it may change anything."""
        if event.ours:
            return
        if event.environment:
            self._environments[event.key] = event.environment
            self._environments.move_to_end(event.key)
            while len(self._environments) > REMEMBERED:
                self._read_only.discard(self._environments.popitem(last=False)[0])
        if not isinstance(event, PromptSubmitted | Stopped | ToolCalled) or event.subagent:
            return
        if event.read_only is not None:
            (self._read_only.add if event.read_only else self._read_only.discard)(event.key)
        elif isinstance(event, PromptSubmitted):
            self._read_only.discard(event.key)

    @contextlib.contextmanager
    def giving_way(self, stop: Stopped) -> Iterator[None]:
        """While this stop is judged, nothing runs here for its project; a helper's stop is not judged."""
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
        """What the session's host sent last, None where nothing came since Supervisor started."""
        return self._environments.get(session.key)

    def mask(self, session: Session) -> Mask:
        """What takes the session's secrets out of a text."""
        return self._house.secrets.masker(self._environments.get(session.key, {}))

    async def list(self, session: Session) -> Offered:
        """The gates of a session's project, and what is known of them; raises ChecksError."""
        environment = self._known(session)
        catalog, tree = await asyncio.gather(
            self._house.catalog.list(session.project, environment),
            self._house.workspace.fingerprint(session.project, environment),
        )
        every, goal = _applying(session, catalog), active_goal(session)
        settings, _ = self._house.configuration.load()
        last = next((one for one in reversed(self._house.record.read(session.key, STORY)) if one.gates), None)
        return Offered(
            gates=every,
            problems=catalog.problems,
            may=frozenset(gate.id for gate in gates.runnable(every)),
            at_stops=goal is not None or settings.gates.without_goal,
            last=last,
            moved=last.tree != tree if last and last.tree and tree else None,
        )

    async def run(
        self, session: Session, only: Sequence[str] = (), tell: Told | None = None
    ) -> tuple[GateRun, ...]:
        """Run these gates, all where none is named, as a stop would run them; in the order of `list`.

        What nobody approved could not run. Cancelling kills what runs. Raises ChecksError.
        """
        environment = self._known(session)
        if off := self._house.switches.off(session.project):
            raise ChecksError("gates-off", off=off, type=switch_on(off))
        if session.key in self._read_only:
            raise ChecksError("gates-read-only")
        if self._judging[session.project]:
            raise ChecksError("gates-gave-way")
        task = asyncio.create_task(self._run(session, only, environment, tell))
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

    async def _run(
        self, session: Session, only: Sequence[str], environment: Environment, tell: Told | None
    ) -> tuple[GateRun, ...]:
        project, look = session.project, self._house.workspace.fingerprint
        catalog = await self._house.catalog.list(project, environment)
        wanted = _named(_applying(session, catalog), only)
        tree = await look(project, environment)
        may, ended = gates.runnable(wanted), list[GateRun]()

        def hear(gate: Gate, run: GateRun | None) -> None:
            if run is not None:
                ended.append(run)
            if tell is not None:
                tell(len(ended), len(may), gate, run)

        late = await self._batches(may, catalog, _unseen(project, environment), hear)
        moved = bool(ended) and await look(project, environment) != tree
        seen = (replace(run, tree=tree, moved=moved and run.outcome is Outcome.PASSED) for run in ended)
        mask = self._house.secrets.masker(environment)
        runs = {run.gate.id: mask_run(run, mask) for run in (*gates.unapproved(wanted, tree), *seen)}
        return tuple(
            runs.get(gate.id) or GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=tree, reason=late)
            for gate in wanted
        )

    async def _batches(self, may: Sequence[Gate], catalog: Catalog, at: Site, hear: Progress) -> str:
        """Run the required gates, then the others; why those that have not ended did not, if any."""
        settings, _ = self._house.configuration.load()
        limits = ((True, catalog.settings.seconds), (False, catalog.settings.advisory_seconds))
        try:
            async with asyncio.timeout(settings.stop_seconds):
                for required, seconds in limits:
                    batch = tuple(gate for gate in may if gate.required is required)
                    await self._house.gates.run(batch, at, seconds, hear)
        except TimeoutError:
            return f"all checks together took longer than {settings.stop_seconds} seconds"
        return ""

    def _known(self, session: Session) -> Environment:
        """The environment of a session; raises ChecksError."""
        found = self._environments.get(session.key)
        if found is None:
            raise ChecksError("gates-no-environment")
        return found


def _unseen(project: str, environment: Environment) -> Site:
    """A place without a tree: what is found there is neither remembered nor recalled."""
    return Site(project=project, tree="", environment=environment)


def _applying(session: Session, catalog: Catalog) -> tuple[Gate, ...]:
    """What a stop would find required now, then all others that the project offers."""
    survey = Surveyed(tree="", rubric=NO_RUBRIC, catalog=catalog)
    required = gates.required(active_goal(session), survey)
    ids = {gate.id for gate in required}
    return (*required, *(gate for gate in catalog.gates if gate.id not in ids))


def _named(every: tuple[Gate, ...], only: Sequence[str]) -> tuple[Gate, ...]:
    """Those that are named, all where none is; raises ChecksError."""
    known = [gate.id for gate in every]
    if unknown := [one for one in only if one not in known]:
        raise ChecksError("gates-unknown", id=unknown[0], known=", ".join(known[:NAMED]) or "none")
    return tuple(gate for gate in every if gate.id in only) if only else every
