"""Ports that answer as told: a catalog of checks, a judge, a workspace, agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sidecar.evidence.ports import (
    CheckpointError,
    ProjectCopy,
    RestoredTree,
    TreeDifference,
    WorkPlace,
)
from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.effects import Wanted
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import FileBaseline, Judgement, ProjectChanges, RepositoryState, Verdict
from sidecar.kernel.gate import AvailableGates, CheckTrial, Gate
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import GateSettings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sidecar.evidence.ports import CopyVersion, GateContext
    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.gate import CheckComparison, GateRun
    from sidecar.kernel.settings import Settings


class ScriptedCatalog:
    """A `GateCatalog` that looks at nothing. Its attributes may be set anew between two stops."""

    def __init__(self, gates: tuple[Gate, ...] = (), problems: tuple[str, ...] = ()) -> None:
        self.gates = gates
        self.problems = problems
        self.settings = GateSettings()

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:  # noqa: ARG002 - the port's
        return AvailableGates(self.gates, self.problems, self.settings)

    def approve(self, project: str, gates: Iterable[Gate]) -> None:  # noqa: ARG002 - the port's
        chosen = {gate.id for gate in gates}
        self.gates = tuple(replace(gate, approved=gate.approved or gate.id in chosen) for gate in self.gates)


class ScriptedCheckpoints:
    """`TreeCheckpoints` of a project whose files are what `tree` says."""

    def __init__(self) -> None:
        self.tree = "tree"
        self.saved: dict[str, str] = {}
        self._made = 0
        self.difference_to = TreeDifference()
        self.error = ""

    async def save(self, project: str, environment: Environment) -> str:  # noqa: ARG002 - the port's
        if self.error:
            raise CheckpointError(self.error)
        self._made += 1
        self.saved[f"{self._made:016x}"] = self.tree
        return f"{self._made:016x}"

    async def difference(
        self,
        project: str,  # noqa: ARG002 - the port's
        environment: Environment,  # noqa: ARG002 - the port's
        checkpoint: str,
    ) -> TreeDifference:
        self._find(checkpoint)
        return self.difference_to

    async def restore(self, project: str, environment: Environment, checkpoint: str) -> RestoredTree:
        target = self._find(checkpoint)
        if self.difference_to.conflicts:
            raise CheckpointError(self.difference_to.conflicts[0])
        present, self.tree = await self.save(project, environment), target
        return RestoredTree(present=present)

    def forget(self, project: str, checkpoint: str) -> None:  # noqa: ARG002 - the port's
        self.saved.pop(checkpoint, None)

    def _find(self, checkpoint: str) -> str:
        if checkpoint not in self.saved:
            raise CheckpointError(f"there is no checkpoint {checkpoint}")
        return self.saved[checkpoint]


class ScriptedOldChecks:
    """`OldChecks` that run nothing. `asked` are the commands whose old checks were asked for."""

    def __init__(self) -> None:
        self.comparisons: tuple[CheckComparison, ...] = ()
        self.base: tuple[GateRun, ...] = ()
        self.asked: list[str] = []

    async def compare(
        self,
        at: GateContext,  # noqa: ARG002 - the port's
        runs: Sequence[GateRun],
        seconds: float,  # noqa: ARG002 - the port's
        wanted: Wanted = Wanted.NOTHING,  # noqa: ARG002 - the port's
    ) -> tuple[CheckComparison, ...]:
        self.asked += [run.gate.command for run in runs]
        return self.comparisons

    async def run_base(
        self,
        at: GateContext,  # noqa: ARG002 - the port's
        runs: Sequence[GateRun],  # noqa: ARG002 - the port's
        seconds: float,  # noqa: ARG002 - the port's
    ) -> tuple[GateRun, ...]:
        return self.base

    async def try_to_fail(
        self,
        at: GateContext,  # noqa: ARG002 - the port's
        runs: Sequence[GateRun],
        seconds: float,  # noqa: ARG002 - the port's
    ) -> tuple[CheckTrial, ...]:
        return tuple(CheckTrial(now=run) for run in runs)


# --- A judge that answers as told. --------------------------------------------------------------------------


class ScriptedJudge:
    """A `Judge` without a model.

    It gives its answers in order and fails when they are used up. `cases` is what it was asked, `cancelled`
    counts the questions that were taken back. While `released` is not set, it thinks.
    """

    def __init__(self, *answers: Verdict | JudgeAnswered | JudgeFailed) -> None:
        self._answers = list(answers)
        self.cases: list[JudgeCase] = []
        self.cancelled = 0
        self.released = asyncio.Event()
        self.released.set()

    def script(self, *answers: Verdict | JudgeAnswered | JudgeFailed) -> None:
        """Say more answers."""
        self._answers += answers

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Itself."""
        return ChosenBackend("scripted", "a script answers")

    async def ask(
        self,
        case: JudgeCase,
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
        settings: Settings,  # noqa: ARG002 - the port's
    ) -> JudgeAnswered | JudgeFailed:
        """Give the next answer."""
        self.cases.append(case)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        answer = self._answers.pop(0) if self._answers else JudgeFailed("the script has no answer left")
        if isinstance(answer, JudgeAnswered | JudgeFailed):
            return answer
        return JudgeAnswered(Judgement(verdict=answer, backend="scripted"))


# --- A project whose files are what one says they are. ------------------------------------------------------


class ScriptedWorkspace:
    """A `Workspace` that looks at no file, and answers what its attributes say.

    `tree` stands for all content; "" cannot be had. `base` is what is remembered, None for the present tree.
    `changes` is what changed since any base, but for those in `forgotten`. `known` is what git knows,
    `missing` are paths that are not there, `tracked` those that git follows, `mentioned` names that still
    stand. `written`: files were written since any time. `placed`: where the work is, None for the project.
    """

    def __init__(self, tree: str = "tree-1") -> None:
        self.tree = tree
        self.base: FileBaseline | None = None
        self.changes = ProjectChanges()
        self.known: RepositoryState | None = None
        self.missing: set[str] = set()
        self.tracked: set[str] = set()
        self.forgotten: set[str] = set()
        self.written = False
        self.placed: WorkPlace | None = None
        self._number = 0

    def place(self, project: str, cwd: str, edited: Iterable[str] = ()) -> WorkPlace:  # noqa: ARG002 - the port's
        return self.placed or WorkPlace(project)

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:  # noqa: ARG002 - the port's
        return self.tree

    async def remember(self, project: str, environment: Mapping[str, str]) -> FileBaseline:  # noqa: ARG002 - the port's
        self._number += 1
        present = FileBaseline(tree=self.tree, snapshot=f"snapshot-{self._number}")
        unseen = FileBaseline(unseen="it cannot be seen")
        return self.base or (present if self.tree else unseen)

    async def since(self, base: FileBaseline, project: str, environment: Mapping[str, str]) -> ProjectChanges:  # noqa: ARG002
        if not base.snapshot or base.snapshot in self.forgotten:
            return ProjectChanges(unseen=base.unseen or "nothing was kept")
        return replace(self.changes, tree=self.tree)

    async def copy(
        self,
        base: FileBaseline,  # noqa: ARG002 - the port's
        project: str,  # noqa: ARG002 - the port's
        environment: Environment,  # noqa: ARG002 - the port's
        version: CopyVersion,  # noqa: ARG002 - the port's
        into: Path,  # noqa: ARG002 - the port's
    ) -> ProjectCopy:
        return ProjectCopy(unseen="there are no files")

    async def copy_at(
        self,
        tree: str,  # noqa: ARG002 - the port's
        base: FileBaseline,  # noqa: ARG002 - the port's
        project: str,  # noqa: ARG002 - the port's
        environment: Environment,  # noqa: ARG002 - the port's
        into: Path,  # noqa: ARG002 - the port's
    ) -> ProjectCopy:
        return ProjectCopy(unseen="there are no files")

    async def repository(
        self,
        base: FileBaseline,  # noqa: ARG002 - the port's
        project: str,  # noqa: ARG002 - the port's
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
    ) -> RepositoryState | None:
        return self.known

    async def touched(self, project: str, environment: Mapping[str, str], since: float) -> bool:  # noqa: ARG002 - the port's
        return self.written

    async def moved(
        self,
        tree: str,  # noqa: ARG002 - the port's
        base: FileBaseline,  # noqa: ARG002 - the port's
        project: str,  # noqa: ARG002 - the port's
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
    ) -> tuple[str, ...]:
        return ()

    async def recent_ignored(
        self,
        base: FileBaseline,  # noqa: ARG002 - the port's
        project: str,  # noqa: ARG002 - the port's
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
    ) -> tuple[str, ...]:
        return ()

    async def followed(
        self,
        project: str,  # noqa: ARG002 - the port's
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
        paths: Sequence[str],
    ) -> tuple[str, ...]:
        return tuple(path for path in paths if path in self.tracked)

    def absent(self, project: str, paths: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return tuple(path for path in paths if path in self.missing)

    def forget(self, base: FileBaseline, project: str) -> None:  # noqa: ARG002 - the port's
        self.forgotten.add(base.snapshot)


# --- Agents that do what they are told, in this process. ----------------------------------------------------


if TYPE_CHECKING:
    Work = Callable[[AgentTask], Awaitable[AgentResult]]


class ScriptedAgents:
    """An AgentRunner: one work after the other, and the last one again and again. `errands` are those run."""

    def __init__(self, *work: Work) -> None:
        """Script the agents, in the order in which they are started."""
        self._work = work
        self.errands: list[AgentTask] = []

    async def run(self, errand: AgentTask, hear: Callable[[str], None]) -> AgentResult:
        """Run it once; what it says is heard when it rests."""
        self.errands.append(errand)
        work = self._work[min(len(self.errands), len(self._work)) - 1]
        try:
            async with asyncio.timeout(errand.seconds):
                rest = await work(errand)
        except TimeoutError:
            return AgentResult(trouble=f"it did not end within {errand.seconds:g} s")
        if rest.said:
            hear(rest.said)
        return rest
