"""What an agent of the task loop is: one Markdown file, with what it is for at its head.

    ---
    id: implementer-python
    name: Python implementer
    category: implementation
    model: dynamic
    complexity: {min: 1, max: 14}
    purpose: Adds behaviour to Python code, and restructures it.
    role: You change Python code so that the task's criteria hold.
    scope: {can_modify: ["*.py"], cannot_modify: [".github/"]}
    outputs: {format: json, fields: [files_changed, summary]}
    keywords: [python, pytest]
    file_types: ["*.py"]
    task_types: [feature, refactor]
    languages: [python]
    ---
    Before you write ...

The instructions are the text. Globs are as in .gitignore: `*.py` is at any depth, `docs/` all that is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from sidecar.kernel.decoding import parse_instructions
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Task
from sidecar.kernel.loop import Loop, Tier
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings, resolve_model
from sidecar.rubric.conventions import glob_matches_path
from sidecar.systems.taskloop.policy.loop import first_tier

LEAST_COMPLEXITY: Final = 1
MOST_COMPLEXITY: Final = 14

TaskType = Literal["feature", "bug", "security", "refactor", "docs"]
Complexity = Annotated[int, Meta(ge=LEAST_COMPLEXITY, le=MOST_COMPLEXITY)]
Word = Annotated[str, Meta(min_length=1, max_length=60)]
Keyword = Annotated[str, Meta(min_length=1, max_length=60, pattern=r"^[^*]*\*?[^*]*$")]
"""One `*` at most, because each is a search of its own."""
PATH: Final = re.compile(r"[\w@+~.-]+(?:/[\w@+~.-]+)*")
"""A word that could be a path. Paths with blanks are not seen."""
Line = Annotated[str, Meta(min_length=1, max_length=300)]
Glob = Annotated[str, Meta(min_length=1, max_length=200)]


class ComplexityRange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The complexities of tasks that an agent is for, both included."""

    min: Complexity = LEAST_COMPLEXITY
    max: Complexity = MOST_COMPLEXITY

    def holds(self, complexity: int) -> bool:
        return self.min <= complexity <= self.max


class Scope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent may change: files that match a glob of `can_modify` and none of `cannot_modify`."""

    can_modify: tuple[Glob, ...] = ("**",)
    cannot_modify: tuple[Glob, ...] = ()

    def allows(self, path: str) -> bool:
        """Whether this file may be changed. `path` is relative to the project."""
        return matches_any(self.can_modify, path) and not matches_any(self.cannot_modify, path)


class Outputs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent hands over."""

    format: Literal["json", "markdown", "text"]
    fields: tuple[Word, ...]


class AgentHead(Struct, frozen=True, kw_only=True):
    """The head of an agent's file. `model` is "dynamic" (the loop chooses), a tier, or a model's name.

    An agent that names no file types, no task types or no languages takes any.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
    name: Word
    category: Word
    model: Annotated[str, Meta(min_length=1, max_length=200)] = "dynamic"
    complexity: ComplexityRange = ComplexityRange()
    purpose: Line
    role: Line
    scope: Scope = Scope()
    outputs: Outputs
    keywords: tuple[Keyword, ...] = ()
    file_types: tuple[Glob, ...] = ()
    task_types: tuple[TaskType, ...] = ()
    languages: tuple[Word, ...] = ()


class Agent(AgentHead, frozen=True, kw_only=True):
    """An agent. `instructions` is the text of its file, `source` the file's path."""

    instructions: str
    source: str


def matches_any(globs: tuple[str, ...], path: str) -> bool:
    """Return whether a path of the project matches one of the globs."""
    return any(glob_matches_path(glob, path) for glob in globs)


def find_paths(text: str) -> Iterator[str]:
    """Yield what could be a relative path; a word alone is one if it has a `.` or begins with a capital."""
    for found in PATH.finditer(text):
        path = found[0].rstrip("./-").removeprefix("./")
        absolute = text[max(0, found.start() - 1) : found.start()] == "/"
        if path and not absolute and ("." in path or "/" in path or path[0].isupper()):
            yield path


def parse_agent(content: str, source: str) -> Agent:
    """Parse an agent's file. Raises BadInputError, with a line for each fault."""
    head, text = parse_instructions(content, source, AgentHead, "id")
    least, most = head.complexity.min, head.complexity.max
    if least > most:
        raise BadInputError(f"{source}: complexity: min {least} is above max {most}; exchange them")
    return Agent(**asdict(head), instructions=text.strip(), source=source)


# --- a task at work: who may change what, and on which model ------------------------------------------------


DYNAMIC: Final = "dynamic"
"""An agent's model that the loop chooses."""


class TaskWork(Struct, frozen=True, kw_only=True):
    """A task at work in a session. `agent` is None where it is not known any more.

    `models`: what a worker really runs on, by the names of models that can be asked for. It is empty in an
    agent's own loop, where the agent's model is not known and the loop's choice is advice.
    """

    session: Session
    loop: Loop
    task: Task
    agent: Agent | None
    settings: Settings
    models: Mapping[str, str] = {}

    @property
    def model_name(self) -> str:
        """The tier, or a name of the settings: the agent's own until the first step up, then the tier.

        Where that cannot run, the last that can.
        """
        tier = self.loop.tier
        first = first_tier(self.loop.mode, self.task.complexity, self.settings.loop)
        if self.agent is not None and self.agent.model != DYNAMIC and tier is first:
            wanted = self.agent.model
        else:
            wanted = Tier.LARGE if tier is Tier.COUNCIL else tier
        return wanted if wanted in self.models or not self.models else list(self.models)[-1]

    @property
    def model(self) -> str:
        """The model that a worker runs on, or that an agent is advised to use, as a service names it."""
        return self.worker_model or resolve_model(self.model_name, self.settings)

    @property
    def worker_model(self) -> str:
        """The model that a worker runs on; "" in an agent's own loop."""
        return self.models.get(self.model_name, "")

    @property
    def scope(self) -> Scope:
        """What the agent may change."""
        return self.agent.scope if self.agent is not None else Scope()

    def files_outside(self, files: Iterable[str]) -> tuple[str, ...]:
        """Return the files that the task or its agent may not change. A task without globs allows all."""
        globs = self.task.scope_files or ("**",)
        return tuple(one for one in files if not (matches_any(globs, one) and self.scope.allows(one)))
