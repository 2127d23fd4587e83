"""Interfaces for gathering evidence: project files, their changes, and the project's own checks (gates)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sidecar.kernel.effects import Wanted
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.evidence import FileBaseline, ProjectChanges, RepositoryState
from sidecar.kernel.gate import AvailableGates, CheckComparison, CheckTrial, Gate, GateRun, Kind
from sidecar.kernel.session import Environment
from sidecar.platform.services import PlatformServices


class GateContext(Struct, frozen=True, kw_only=True):
    """Where gates run: the project, its tree digest as just taken, and the session's environment.

    `since`: when the work began, in seconds since the epoch; 0 where nobody asks what changed outside.
    `base`: the files as they were then, by which copies are made. `watch`: the files, relative to the
    project, of which a run tells whether it opened them. `whole`: keep all output that is read, not only its
    end. `names`: keep the names of the tests that ran. `hear` gets what gates print while they run. `origin`:
    of what `project` is a copy or a worktree for a while; a run counts as one there, on these files.
    """

    project: str
    tree: str
    environment: Environment
    since: float = 0.0
    base: FileBaseline = FileBaseline()
    watch: tuple[str, ...] = ()
    whole: bool = False
    names: bool = False
    hear: Callable[[str], None] | None = None
    origin: GateContext | None = None


class CopyVersion(StrEnum):
    """Which version of a project's files a copy holds."""

    BASE = "base"
    NOW = "now"
    WHOLE = "now, with newer ignored files"
    OLD_CHECKS = "old checks, new code"
    ADDED_CHECKS = "old checks and added ones, new code"
    NEW_CHECKS = "new checks, old code"
    PRODUCT_ALONE = "new code, all else old"
    BASE_PRODUCT = "old code, all else new, with newer ignored files"


class ProjectCopy(Struct, frozen=True, kw_only=True):
    """A copy of a project. `project` is its folder, `environment` the one for commands in it.

    `checks` are the changed files that a mixed copy took from the other version than the code, and `absent`
    those that are not there in it. `content` is
    the same for two copies of the same files, "" where nobody can tell; of a project's files it is their
    digest. `unseen` says why there is no copy, else "".
    """

    project: str = ""
    environment: Environment = {}
    checks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    content: str = ""
    unseen: str = ""


class WorkPlace(Struct, frozen=True):
    """The folder in which the work of a session is. `unseen` says why looking there decides nothing."""

    project: str
    unseen: str = ""


class Workspace(Protocol):
    """Access to the project's files and their changes."""

    def place(self, project: str, cwd: str, edited: Iterable[str] = ()) -> WorkPlace:
        """Return where to look: another checkout of the project's repository where `cwd` lies in one.

        `edited`: paths of files that the agent wrote, which may be elsewhere.
        """

    async def fingerprint(self, project: str, environment: Environment) -> str:
        """Return one digest of all content that is not ignored; "" where none can be computed."""

    async def remember(self, project: str, environment: Environment) -> FileBaseline:
        """Store the current files as a baseline. Never raises: `unseen` says what is missing and why."""

    async def since(self, base: FileBaseline, project: str, environment: Environment) -> ProjectChanges:
        """Return the changes since `base`, also of ignored files that affect a test runner. Never raises."""

    async def repository(
        self, base: FileBaseline, project: str, environment: Environment
    ) -> RepositoryState | None:
        """Return git's state of the project; None where there is no repository. Contacts no remote."""

    async def copy(
        self,
        base: FileBaseline,
        project: str,
        environment: Environment,
        version: CopyVersion,
        into: Path,
    ) -> ProjectCopy:
        """Write a copy of the project below `into`, an empty folder. Never raises."""

    async def copy_at(
        self, tree: str, base: FileBaseline, project: str, environment: Environment, into: Path
    ) -> ProjectCopy:
        """Write a copy of the files as they were when `tree` was the fingerprint, lately. Never raises."""

    async def touched(self, project: str, environment: Environment, since: float) -> bool:
        """Whether a file was written, or a name in a folder came or went, since this time of the epoch.

        Also where the content is the same again. False where nobody can tell. Never raises.
        """

    async def moved(
        self, tree: str, base: FileBaseline, project: str, environment: Environment
    ) -> tuple[str, ...]:
        """Return the files that differ from when `tree` was the fingerprint; none where nobody can tell."""

    async def recent_ignored(
        self, base: FileBaseline, project: str, environment: Environment
    ) -> tuple[str, ...]:
        """Return ignored files that changed since the baseline, which a copy therefore lacks.

        Without those in folders of the environment and what tools are known to write. Never raises.
        """

    async def followed(self, project: str, environment: Environment, paths: Sequence[str]) -> tuple[str, ...]:
        """Return those of these paths that end the path of a file, which git does not ignore.

        All bare names where nobody can tell, as without a repository. Never raises.
        """

    def absent(self, project: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the paths that do not exist. Paths that lead out of the project are not examined."""

    def forget(self, base: FileBaseline, project: str) -> None:
        """Delete a stored baseline; do nothing where it is already gone."""


class CheckpointError(ToolRuleError):
    """A checkpoint could not be saved, read or restored, and nothing was changed. The message says why."""

    def __init__(self, why: str) -> None:
        super().__init__("checkpoint-refused", why=why)
        self.args = (why,)


class TreeDifference(Struct, frozen=True, kw_only=True):
    """What a restore would change.

    `changes`: `before` is the present, `after` the checkpoint. `conflicts`: why it would be refused, a line
    for each file. `left`: files that the checkpoint does not hold, and that would stay because it ignored
    them or could not save them.
    """

    changes: ProjectChanges = ProjectChanges()
    conflicts: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class RestoredTree(Struct, frozen=True, kw_only=True):
    """What a restore did. `present` is the id of how the files were before; `left` as above."""

    present: str
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class TreeCheckpoints(Protocol):
    """Saves and restores a project's files. Paths are relative to the project.

    All but `forget` raise CheckpointError, also while another process is at work on the same project's
    checkpoints; in this process they wait for one another.
    """

    async def save(self, project: str, environment: Environment) -> str:
        """Save the files as they are, but for ignored ones; return the id. Of many the oldest go.

        Files are left out that are bigger than 64 MiB, not open to us, or no plain files.
        """

    async def difference(self, project: str, environment: Environment, checkpoint: str) -> TreeDifference:
        """Return what restoring the checkpoint of this id would change."""

    async def restore(self, project: str, environment: Environment, checkpoint: str) -> RestoredTree:
        """Give all files the bytes, modes and link targets of the checkpoint, or change nothing.

        The present state is saved first, as another checkpoint.
        """

    def forget(self, project: str, checkpoint: str) -> None:
        """Delete a checkpoint; do nothing where there is none."""


class GateCatalog(Protocol):
    """Lists the checks that a project offers."""

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:
        """Return detected and configured gates with reasons, the configured ones first. Never raises.

        `place`: the folder in which they are detected, where that is not the project.
        """

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        """Approve exactly these gates, for the user saw and wants them. Raises BadInputError, OSError."""


GateProgressCallback = Callable[[Gate, GateRun | None], None]
"""Called when a gate begins (with None) and when it has ended (with its run)."""


HearGates = Callable[[int, int, Gate, GateRun | None], None]
"""The same, with the numbers of ended and of all gates before it."""


class GateRunner(Protocol):
    """Runs the project's own checks."""

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        """Run these gates, independent ones in parallel, each within `seconds` or its own deadline.

        Results are in the order of `gates`. Never raises for a failing or missing command. Cancelling kills
        running commands.
        """


class RemoteGates(Protocol):
    """Gates that query the code host of the repository."""

    async def offer(
        self, project: str, environment: Environment, wanted: Mapping[Kind, bool]
    ) -> tuple[Gate, ...]:
        """Return the gates that can be asked, and those that are wanted, which are required. Never raises."""

    async def run(self, gate: Gate, site: GateContext, seconds: float) -> GateRun:
        """Check the pull request or its CI checks. Raises nothing except when cancelled."""


class OldChecks(Protocol):
    """Runs the checks as they were at the baseline of a context on today's code."""

    async def compare(
        self, at: GateContext, runs: Sequence[GateRun], seconds: float, wanted: Wanted = Wanted.NOTHING
    ) -> tuple[CheckComparison, ...]:
        """Compare each of these runs, which passed, with its check as it was; empty where none changed.

        `wanted`: what else they are to show. All together take at most `seconds`. Never raises;
        cancelling kills running commands.
        """

    async def run_base(self, at: GateContext, runs: Sequence[GateRun], seconds: float) -> tuple[GateRun, ...]:
        """Run these gates as all files were at the baseline; one that could not be run there is left out."""

    async def try_to_fail(
        self, at: GateContext, runs: Sequence[GateRun], seconds: float
    ) -> tuple[CheckTrial, ...]:
        """Try in copies whether each of these gates, which passed and had failed before, could fail at all.

        One that took longer than `seconds` is not tried; all together take at most twice as long. Never
        raises; cancelling kills running commands.
        """


@dataclass(frozen=True, kw_only=True)
class EvidenceServices(PlatformServices):
    """The platform's adapters and those of this package, one per port: what all systems share."""

    catalog: GateCatalog
    checkpoints: TreeCheckpoints
    gates: GateRunner
    old_checks: OldChecks
    workspace: Workspace
