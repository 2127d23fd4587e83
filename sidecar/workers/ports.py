"""Interface to workers: a task for a headless agent, its validated answer, and how a run can fail."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from sidecar.kernel.evidence import FileBaseline, ProjectChanges
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings

A = TypeVar("A", bound=Struct)
"""The Struct of a worker's answer."""

SELF = "self"
"""The name of the host's own model."""


class WorkerFailure(StrEnum):
    """Why a worker gave no answer that can be used."""

    NOT_STARTED = "not-started"
    TIMED_OUT = "timed-out"
    EXITED = "exited"
    UNPARSABLE = "unparsable"
    INVALID = "invalid"
    WROTE_OUTSIDE = "wrote-outside"
    SPENT = "spent"


FINAL_FAILURES = frozenset((WorkerFailure.NOT_STARTED, WorkerFailure.SPENT))
"""Failures that another worker would meet, too."""


class WorkerError(Exception):
    """A worker gave no answer that can be used.

    `message` is one sentence: what was wrong and what to do. `output` is the end of what the agent printed,
    without control codes, at most 20,000 characters. `tokens` and `cents` were spent all the same.
    """

    def __init__(
        self,
        failure: WorkerFailure,
        message: str,
        output: str = "",
        *,
        tokens: int = 0,
        cents: float | None = None,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.output = output
        self.tokens = tokens
        self.cents = cents


class WorkerTask(Struct, Generic[A], frozen=True, kw_only=True):
    """One task for a worker.

    `answer` is the Struct of the answer; its JSON schema goes to the agent. `tools` are named as in Claude
    Code: Bash, Read, Write, Edit, Grep, Glob. `model` is a name of the settings or of the backend, "" for the
    backend's default, "self" for the host's own model. `project` is the work folder: the project itself or a
    scratch copy of `guarded`, which must stay as it is. `seconds` is the deadline, 0 for `[workers] seconds`.
    `files` are paths in the folder that are shown to a model that cannot read files by itself.
    """

    prompt: str
    answer: type[A]
    tools: tuple[str, ...]
    model: str
    project: str
    environment: Environment
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    guarded: str = ""


class WorkerRun(Struct, Generic[A], frozen=True, kw_only=True):
    """The answer of a worker, the model that gave it ("self" for the host's own), and what it took.

    `tokens` are uncached input plus output; `cents` is None where the price is unknown. `output` is the end
    of what the agent printed, as in WorkerError.
    """

    answer: A
    model: str
    tokens: int = 0
    cents: float | None = None
    output: str = ""


class Projects(Protocol):
    """Finds what changed in a project; see evidence.ports.Workspace."""

    async def remember(self, project: str, environment: Environment) -> FileBaseline:
        """Store the current files as a baseline."""

    async def since(self, base: FileBaseline, project: str, environment: Environment) -> ProjectChanges:
        """Return the changes since `base`."""


class Workers(Protocol):
    """Starts workers."""

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        """Run one worker to its end. `hear` gets its output piece by piece. Raises WorkerError.

        Cancelling kills the worker and all that it started.
        """


class CountedWorkers:
    """Implements `Workers` on others. A worker that failed counts as well."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.tokens = 0
        self.cents: float | None = 0.0
        """What all took, None where a price is unknown."""

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        try:
            done = await self._workers.run(task, settings, hear)
        except WorkerError as error:
            self._add(error.tokens, error.cents)
            raise
        self._add(done.tokens, done.cents)
        return done

    def _add(self, tokens: int, cents: float | None) -> None:
        self.tokens += tokens
        unpriced = self.cents is None or (cents is None and tokens)
        self.cents = None if unpriced else (self.cents or 0.0) + (cents or 0.0)
