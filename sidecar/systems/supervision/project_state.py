"""The state of a project at a stop, and the baselines with which it is compared.

A goal's baseline is stored before the agent sees the goal. The results of its advisory gates are collected
in the background, and count only if no file changed meanwhile. Without a goal, the baseline is that of the
last human prompt.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates import policy as gates
from sidecar.evidence.gates.approvals import gate_digest
from sidecar.evidence.ports import GateContext
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import NO_RUBRIC, AgentStopped, HostEvent, ProjectState
from sidecar.kernel.evidence import FileBaseline, FileDiff, IntegrityFinding, ProjectChanges
from sidecar.kernel.gate import AvailableGates
from sidecar.kernel.goal import Goal
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Session, SessionKey, active_goal
from sidecar.kernel.text import escape_unencodable
from sidecar.kernel.turn import CallOutcome, ToolAction, Turn
from sidecar.platform.ports import load_readable
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.sessions import change_session


class ProjectStateReader:
    """Reads files, gates and git, and compares them with the baseline; changes nothing."""

    def __init__(self, services: Services, bases: Baselines) -> None:
        """Compare with these baselines."""
        self._services = services
        self._bases = bases

    async def look(
        self, stop: AgentStopped, goal: Goal | None, turn: Turn, *, brief: bool = False
    ) -> ProjectState:
        """Read the state of this stop's project, except for its rubric. `goal`: the active one.

        `brief`: nothing more is wanted where no file and no commit is known to be new since the baseline.
        """
        # A waiting sidecar does without these.
        from sidecar.evidence.claims.utterances import claimed_files  # noqa: PLC0415 - see above
        from sidecar.evidence.proof.check_files import (  # noqa: PLC0415 - see above
            changes_dependencies,
            find_product_code,
            may_bear_on_checks,
        )

        services = self._services
        where = services.workspace.place(stop.project, stop.cwd, _edited_paths(turn))
        at = (where.project, stop.environment)
        base = goal.base if goal is not None else await self._bases.of_turn(stop.key)
        changing = asyncio.create_task(self._changes(base, *at))
        seen = ProjectState(
            tree="",
            rubric=NO_RUBRIC,
            since_prompt=goal is None,
            place=where.project if where.project != stop.project else "",
            elsewhere=where.unseen,
        )
        if brief and not (known := await changing).files and known.head == base.head:
            return replace(seen, tree=known.tree, changed=known.paths, unseen=known.unseen)
        gates = (stop.project, stop.environment, where.project)
        listing = _none() if brief else services.catalog.list(*gates)
        git = services.workspace.repository(base, *at)
        changes, catalog, repository = await asyncio.gather(changing, listing, git)
        named, changed = claimed_files(turn.last_message), changes.paths
        nowhere = services.workspace.absent(where.project, named)
        followed = await services.workspace.followed(*at, named)
        missing = [path for path in nowhere if path not in followed]
        tree = changes.tree or await services.workspace.fingerprint(*at)
        mask = services.secrets.masker(stop.environment)
        names = (*(repository.tags or ()), *(repository.branches or ())) if repository else ()
        found, edits, untouched, code = await asyncio.to_thread(  # seconds for a large change
            lambda: (
                _product_findings(changes),
                _masked_edits(changes, mask),
                _untouched_parts(goal, changes, catalog, names),
                find_product_code(changes.files),
            )
        )
        return replace(
            seen,
            tree=tree,
            catalog=catalog,
            changed=changed,
            checks_changed=may_bear_on_checks(changes.files),
            dependencies_changed=changes_dependencies(changes.files),
            unseen=changes.unseen,
            findings=tuple(_mask_finding(finding, mask) for finding in found),
            repository=repository,
            edits=edits,
            code=tuple(path for path in code if path == escape_unencodable(path)),
            untouched=untouched,
            absent=tuple(path for path in missing if _is_surely_absent(path, changed)),
            unchanged=tuple(path for path in followed if repository and _is_surely_unchanged(path, changed)),
            present=tuple(path for path in named if path not in missing and not path.startswith(("/", ".."))),
        )

    async def _changes(
        self, base: FileBaseline, project: str, environment: Mapping[str, str]
    ) -> ProjectChanges:
        if not base.snapshot:
            return ProjectChanges(unseen=base.unseen or NO_BASELINE)
        return await self._services.workspace.since(base, project, environment)


async def _none() -> AvailableGates:
    """Return no gates: at a brief look none is run."""
    return AvailableGates()


def _edited_paths(turn: Turn) -> tuple[str, ...]:
    """Return the paths that the host's own tools wrote in this turn."""
    done = (call for call in turn.calls if call.doing is ToolAction.EDIT and call.outcome is CallOutcome.OK)
    return tuple(path for call in done for path in call.paths)


def _is_surely_absent(path: str, changed: tuple[str, ...] | None) -> bool:
    """Whether a file that is not there is not anywhere else either: a bare name may be in any folder."""
    return "/" in path or (changed is not None and not any(one.endswith(f"/{path}") for one in changed))


def _is_surely_unchanged(path: str, changed: tuple[str, ...] | None) -> bool:
    return changed is not None and not any(f"/{one}".endswith(f"/{path}") for one in changed)


def _product_findings(changes: ProjectChanges) -> tuple[IntegrityFinding, ...]:
    # A cold start does without these.
    from sidecar.evidence.proof.check_files import find_product_marks  # noqa: PLC0415 - see above
    from sidecar.evidence.proof.weakened import find_weakened_commands  # noqa: PLC0415 - see above

    return (*find_product_marks(changes.files), *find_weakened_commands(changes.files))


def _untouched_parts(
    goal: Goal | None, changes: ProjectChanges, catalog: AvailableGates, names: tuple[str, ...]
) -> tuple[str, ...]:
    from sidecar.evidence.proof.untouched import find_unread_inputs, find_untouched  # noqa: PLC0415 - as above

    if goal is None or changes.unseen:
        return ()
    checks = (*goal.checks, *(gate.command for gate in catalog.gates))
    unread = (f"{found}, which nothing in it reads" for found in find_unread_inputs(changes.files))
    return (*find_untouched(goal.condition, changes.files, checks, names), *unread)


def _masked_edits(changes: ProjectChanges, mask: SecretMask) -> tuple[FileDiff, ...]:
    from sidecar.evidence.diffs import build_file_diffs  # noqa: PLC0415 - a cold start does without differences

    return tuple(
        replace(
            edit,
            **{name: escape_unencodable(getattr(edit, name)) for name in ("path", "old_path", "hunks")},
        )
        for edit in build_file_diffs(changes, mask)
    )


def _mask_finding(finding: IntegrityFinding, mask: SecretMask) -> IntegrityFinding:
    texts = (finding.file, finding.before, finding.after)
    file, before, after = (mask(escape_unencodable(text)) for text in texts)
    return replace(finding, file=file, before=before, after=after)


# --- The baselines of goals and turns: what a project's files were when the work began ----------------------


MAX_TURNS_REMEMBERED = 200
"""Sessions without a goal whose last baseline is remembered."""
KEEPING = 10.0
"""Seconds within which a baseline must be stored, because a typed goal waits for it."""
NO_BASELINE = "nothing was kept when the work began"
BASELINE_TOO_SLOW = FileBaseline(unseen=f"the files could not be kept within {KEEPING:g} seconds")

log = logging.getLogger(__name__)


_GoalChange = Callable[[Goal], Goal]


class _TurnBaseline(Struct, frozen=True):
    """The baseline stored at a prompt, and its project."""

    project: str
    keeping: asyncio.Task[FileBaseline]


class Baselines:
    """Stores baselines, one for each session."""

    def __init__(self, services: Services) -> None:
        """Use these services."""
        self._services = services
        self._turns: OrderedDict[SessionKey, _TurnBaseline] = OrderedDict()
        self._baselines: dict[SessionKey, asyncio.Task[None]] = {}

    def begin_turn(self, event: HostEvent) -> None:
        """Store the present state in the background, and discard that of the previous prompt.

        A goal has a baseline of its own; a goal that was set in a shell, where the session's environment is
        unknown, gets it here.
        """
        self.end(event.key)
        if (goal := self._goal(event.key)) is not None:
            if goal.base == FileBaseline():
                self._baselines[event.key] = asyncio.create_task(self.begin_goal(event))
            return
        keeping = asyncio.create_task(self._keep(event))
        self._turns[event.key] = _TurnBaseline(event.project, keeping)
        if len(self._turns) > MAX_TURNS_REMEMBERED:
            self.end(next(iter(self._turns)))

    async def of_turn(self, key: SessionKey) -> FileBaseline:
        """Return the baseline of the last human prompt."""
        begun = self._turns.get(key)
        return await asyncio.shield(begun.keeping) if begun else FileBaseline(unseen=NO_BASELINE)

    async def begin_goal(self, event: HostEvent) -> None:
        """Store the baseline of a new goal, then collect its gate results in the background."""
        goal = self._goal(event.key)
        if goal is None or goal.base != FileBaseline() or not event.environment:
            return
        place = self._place(event)
        base, catalog = await asyncio.gather(
            self._keep(event),
            self._services.catalog.list(event.project, event.environment, place),
        )
        defined = tuple(map(gate_digest, catalog.gates))
        self._save(event.key, goal.id, lambda now: replace(now, base=base, gates=defined))
        if base.tree:
            work = self._baseline(event, replace(goal, base=base), catalog)
            self._baselines[event.key] = asyncio.create_task(work)

    def rest(self, key: SessionKey) -> None:
        """Stop collecting gate results: something newer happened, and files may have changed."""
        running = self._baselines.pop(key, None)
        if running is not None:
            running.cancel()

    def end(self, key: SessionKey) -> None:
        """Discard what was stored for a turn."""
        self.rest(key)
        begun = self._turns.pop(key, None)
        if begun is None:
            return
        if not begun.keeping.done():
            begun.keeping.cancel()
        elif not begun.keeping.cancelled():
            self._services.workspace.forget(begun.keeping.result(), begun.project)

    async def _keep(self, event: HostEvent) -> FileBaseline:
        try:
            async with asyncio.timeout(KEEPING):
                return await self._services.workspace.remember(self._place(event), event.environment)
        except TimeoutError:
            return BASELINE_TOO_SLOW

    async def _baseline(self, event: HostEvent, goal: Goal, catalog: AvailableGates) -> None:
        services, tree = self._services, goal.base.tree
        advice = gates.advisory_gates(goal, ProjectState(tree=tree, rubric=NO_RUBRIC, catalog=catalog))
        if not advice:
            return
        place, environment = self._place(event), event.environment
        site = GateContext(project=place, tree=tree, environment=environment, since=goal.set_at)
        runs = await services.gates.run(advice, site, catalog.settings.advisory_seconds)
        if await services.workspace.fingerprint(site.project, event.environment) != tree:
            return
        known = gates.build_gate_baseline(runs)
        self._save(event.key, goal.id, lambda now: replace(now, baseline=known))

    def _place(self, event: HostEvent) -> str:
        return self._services.workspace.place(event.project, event.cwd).project

    def _goal(self, key: SessionKey) -> Goal | None:
        session = load_readable(self._services.store, key)
        return active_goal(session) if session is not None else None

    def _save(self, key: SessionKey, name: str, change: _GoalChange) -> None:
        """Change the goal if it is still the same; what cannot be saved is reported missing at the stop."""

        def changed(session: Session) -> Session | None:
            goal = session.goal
            return replace(session, goal=change(goal)) if goal is not None and goal.id == name else None

        try:
            change_session(self._services.store, key, changed)
        except (BadInputError, OSError) as error:
            log.warning("%s: what the goal begins with could not be saved: %s", key.id, error)
