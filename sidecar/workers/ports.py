"""Interface to workers: a task for a headless agent, its validated answer, and how a run can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from sidecar.kernel.evidence import FileBaseline, ProjectChanges
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings

A = TypeVar("A", bound=Struct)
"""The Struct of a worker's answer."""

SELF = "self"
"""The name of the host's own model."""


class WorkerFailure(StrEnum):
    """Why a worker gave no answer that can be used."""

    NOT_STARTED = "not-started"
    REFUSED = "refused"
    TIMED_OUT = "timed-out"
    EXITED = "exited"
    UNPARSABLE = "unparsable"
    INVALID = "invalid"
    WROTE_OUTSIDE = "wrote-outside"
    SPENT = "spent"
    LIMITED = "limited"


FINAL_FAILURES = frozenset(
    (WorkerFailure.NOT_STARTED, WorkerFailure.REFUSED, WorkerFailure.SPENT, WorkerFailure.LIMITED)
)
"""Failures that every other worker would meet, too, until a person does something or the limit is over."""


class WorkerError(Exception):
    """A worker gave no answer that can be used.

    `message` is one sentence: what was wrong and what to do. `output` is the end of what the agent printed,
    without control codes, at most 20,000 characters. `tokens` and `cents` were spent all the same. `limit`
    belongs to WorkerFailure.LIMITED.
    """

    def __init__(  # noqa: PLR0913 - one for each attribute
        self,
        failure: WorkerFailure,
        message: str,
        output: str = "",
        *,
        tokens: int = 0,
        cents: float | None = None,
        limit: ServiceLimit | None = None,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.output = output
        self.tokens = tokens
        self.cents = cents
        self.limit = limit

    def is_final(self, before: WorkerError | None = None) -> bool:
        """Whether the next worker would fail alike: it is such a failure, or how the one `before` it failed.

        Give `before` where nothing changed in between. Digits are not compared: they may be times.
        """
        return self.failure in FINAL_FAILURES or (before is not None and _wording(self) == _wording(before))


def _wording(error: WorkerError) -> str:
    return "".join(one for one in f"{error.message}\n{error.output}" if not one.isdigit())


class WorkerPlace(Struct, frozen=True, kw_only=True):
    """What the choice of a backend depends on: the model that is asked for, and where it is to work.

    `model` is a name of the settings or of the backend, "" for the backend's default, "self" for the host's
    own model. `project` is the work folder.
    """

    model: str
    project: str
    environment: Environment


class WorkerTask(WorkerPlace, Generic[A], frozen=True, kw_only=True):
    """One task for a worker.

    `answer` is the Struct of the answer; its JSON schema goes to the agent. `tools` are named as in Claude
    Code: Bash, Read, Write, Edit, Grep, Glob. The work folder is the project itself or a scratch copy of
    `guarded`, which must stay as it is. `seconds` is the deadline, 0 for `[workers] seconds`. `files` are
    paths in the folder that are shown to a model that cannot read files by itself.
    """

    prompt: str
    answer: type[A]
    tools: tuple[str, ...]
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    guarded: str = ""


class WorkerRun(Struct, Generic[A], frozen=True, kw_only=True):
    """The answer of a worker, the model that gave it ("self" for the host's own), and what it took.

    `tokens` are uncached input plus output; `cents` is None where the price is unknown. `output` is the end
    of what the agent printed, as in WorkerError; `meanwhile` is as in WorkerRan.
    """

    answer: A
    model: str
    tokens: int = 0
    cents: float | None = None
    output: str = ""
    meanwhile: tuple[str, ...] = ()


class Projects(Protocol):
    """Finds what changed in a project; see evidence.ports.Workspace."""

    async def remember(self, project: str, environment: Environment) -> FileBaseline:
        """Store the current files as a baseline."""

    async def since(self, base: FileBaseline, project: str, environment: Environment) -> ProjectChanges:
        """Return the changes since `base`."""


class Workers(Protocol):
    """Starts workers."""

    def models(self, wanted: Iterable[WorkerPlace], settings: Settings, *, limited: bool) -> dict[str, str]:
        """Return the model that a worker would really run on, by the names of those that one can run on.

        It is "self" for the host's own. Starts nothing. Raises WorkerError where `run` could start none now.
        `limited`: what is spent is to be held to a limit in cents, so that its price must be known.
        """

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        """Run one worker to its end. `hear` gets its output piece by piece. Raises WorkerError.

        Cancelling kills the worker and all that it started.
        """


class CountedWorkers:
    """Runs workers, and counts what they took; one that failed counts as well."""

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
