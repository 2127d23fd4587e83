"""The place of an attempt: a copy of the project, what changed there, and what our own checks say of it.

Until a change is applied whole, nothing of the project is touched: an agent, a host or a sidecar that is
killed leaves it as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.cache import environment_for_copies
from sidecar.evidence.gates.policy import runnable_gates, unapproved_gate_runs
from sidecar.evidence.ports import CopyVersion, EvidenceServices, GateContext, Workspace
from sidecar.evidence.proof.check_files import find_product_code
from sidecar.evidence.proof.old_checks import find_weakenings
from sidecar.evidence.proof.policy import describe_findings, standing_findings
from sidecar.evidence.tree.checkout import show_history
from sidecar.evidence.tree.workspace import ChangeCopy, GitWorkspace
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.evidence import FileBaseline, FileChange, ProjectChanges
from sidecar.kernel.gate import Gate, GateRun, Outcome
from sidecar.kernel.masking import SecretMask, mask_gate_run
from sidecar.kernel.session import Environment, SessionKey, active_goal
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.environments import written_patterns
from sidecar.platform.files import scratch_folder
from sidecar.platform.ports import load_readable


class WorkCopy(Struct, frozen=True, kw_only=True):
    """The folder of a copy, the environment for commands in it, and the project that it is a copy of."""

    project: str
    environment: Environment
    origin: str = ""


class NoCopyError(Exception):
    """The project cannot be copied completely; the text says why."""


class ProjectCopies:
    """Copies of a project, all as it was when the first was made."""

    def __init__(self, workspace: Workspace, project: str, environment: Environment) -> None:
        self._workspace = workspace
        self._project, self._environment = project, environment
        self._base = FileBaseline()
        self._remembering = asyncio.Lock()

    @asynccontextmanager
    async def open(self, purpose: str, *, history: bool = False) -> AsyncIterator[WorkCopy]:
        """Yield a copy, and remove it. Raises NoCopyError, OSError. Its folder is named for `purpose`.

        `history`: git in the copy shows the project's commits, and the changes since the last one.
        """
        async with self._remembering:
            if not self._base.snapshot:
                self._base = await self._workspace.remember(self._project, self._environment)
        async with scratch_folder(purpose) as folder:
            copy = await self._workspace.copy(
                self._base, self._project, self._environment, CopyVersion.BASE, folder
            )
            if why := self._base.unseen or copy.unseen:
                raise NoCopyError(why)
            if history:
                await show_history(self._project, self._environment, folder)
            mapped = environment_for_copies(copy.environment)
            yield WorkCopy(project=copy.project, environment=mapped, origin=self._project)


@asynccontextmanager
async def open_change(
    workspace: GitWorkspace, project: str, environment: Environment, base: str, head: str
) -> AsyncIterator[tuple[ChangeCopy, FileBaseline]]:
    """Yield a copy of the files at the end of a change, and its beginning; remove the copy.

    `base` and `head` are as in `copy_change`. Raises BadInputError, OSError.
    """
    async with scratch_folder("change") as folder:
        change = await workspace.copy_change(project, environment, base, head, folder)
        await show_history(project, environment, folder, change.commit)
        began, _ = await workspace.remember_commit(change.project, change.environment, change.began)
        if why := change.unseen or began.unseen:
            raise BadInputError(why)
        yield change, began


def without_written_files(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Leave out what tools write while they run, such as compiled files and caches."""
    folders = {pattern.strip("/") for pattern in written_patterns() if pattern.endswith("/")}
    return tuple(change for change in changes if folders.isdisjoint(change.path.split("/")))


@dataclass(frozen=True, kw_only=True)
class CheckedCopy:
    """A copy in which gates run. `base`: its files before any change; `origin`: the session's project.

    `mask` masks the secrets of whoever asked for the work.
    """

    services: EvidenceServices
    copy: WorkCopy
    base: FileBaseline
    origin: GateContext
    mask: SecretMask

    async def changes(self) -> ProjectChanges:
        """Return what changed in the copy since its base, but for what tools write. Raises NoCopyError."""
        found = await self.services.workspace.since(self.base, self.copy.project, self.copy.environment)
        if why := self.base.unseen or found.unseen:
            raise NoCopyError(why)
        return replace(found, files=without_written_files(found.files))

    def context(self, seen: ProjectChanges) -> GateContext:
        """Return where gates run on these changes, and tell what a stop will ask once they are delivered."""
        return GateContext(
            project=self.copy.project,
            tree=seen.tree,
            environment=self.copy.environment,
            since=self.origin.since,
            base=self.base,
            watch=tuple(dict.fromkeys((*self.origin.watch, *find_product_code(seen.files)))),
            origin=self.origin,
        )

    async def run(
        self, gates: Sequence[Gate], seen: ProjectChanges | None = None, *, watch: Sequence[str] = ()
    ) -> tuple[GateRun, ...]:
        """Run these gates on the files as they are in the copy, those that nobody approved excepted.

        `watch`: files of which a run is to tell, too, whether it opened them.
        """
        runs: tuple[GateRun, ...] = ()
        if may := runnable_gates(gates):
            at = self.context(seen or await self.changes())
            at = replace(at, watch=(*at.watch, *watch))
            runs = await self.services.gates.run(may, at, self._seconds)
        return (*(mask_gate_run(run, self.mask) for run in runs), *unapproved_gate_runs(gates, ""))

    async def weakened(self, runs: Iterable[GateRun], asked: str) -> tuple[str, ...]:
        """Say which checks were changed, and which code gets around one, so that a pass is worth less.

        `asked`: what the user asked for, in their words, which may be just that.
        """
        seen = await self.changes()
        passed = tuple(run for run in runs if run.outcome is Outcome.PASSED)
        compare = partial(self.services.old_checks.compare, self.context(seen), seconds=self._seconds)
        found = await find_weakenings(compare, seen.files, passed, asked)
        return tuple(map(self.mask, describe_findings(standing_findings(found, asked))))

    def apply(self, applier: ChangeApplier, files: Sequence[FileChange]) -> None:
        """Give the project these files of the copy, all or none. Raises ApplyError, OSError."""
        applier.apply(Path(self.copy.origin), Path(self.copy.project), files)

    @property
    def _seconds(self) -> float:
        return float(self.services.configuration.load()[0].gates.seconds)


async def begin_checked_copy(
    services: EvidenceServices, key: SessionKey | None, project: str, environment: Environment, copy: WorkCopy
) -> CheckedCopy:
    """Remember the files of a copy of a session's project that was just made."""
    origin = await session_context(services, key, project, environment)
    base = await services.workspace.remember(copy.project, copy.environment)
    mask = services.secrets.masker(environment)
    return CheckedCopy(services=services, copy=copy, base=base, origin=origin, mask=mask)


# --- where gates run for a session beside its stops, so that a stop can use what they showed ----------------
# Without a goal it cannot: only a goal's baseline tells what changed, and when.


async def session_context(
    services: EvidenceServices, key: SessionKey | None, project: str, environment: Environment
) -> GateContext:
    """Return where gates tell what a stop would ask for; without a tree where nothing may be remembered."""
    session = load_readable(services.store, key) if key else None
    at = GateContext(project=project, tree="", environment=environment)
    if session is None or (goal := active_goal(session)) is None:
        return at
    seen = await services.workspace.since(goal.base, project, environment)
    code = await asyncio.to_thread(find_product_code, seen.files)
    return replace(at, tree=seen.tree, since=goal.set_at, base=goal.base, watch=code)
