"""What a person asks for: the tasks of a plan, or those of a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.journal import Task, TaskStatus


class PlannedTask(Struct, frozen=True, kw_only=True):
    """A task as a person wrote it. In a session it is known by its title.

    `about` is what else is said of it. `after`: titles of tasks that must be completed first. `complexity` is
    1 to 14, 0 for an estimate. `done`: whether the person says that it is done or is to be done again; None
    where they leave it to the journal. See `Task` for the others.
    """

    title: str
    about: str = ""
    criteria: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    complexity: int = 0
    done: bool | None = None

    @property
    def content(self) -> str:
        """The task as the journal has it."""
        return f"{self.title}\n\n{self.about}" if self.about else self.title


def fill_task(task: PlannedTask, typed: Mapping[str, Any]) -> PlannedTask:
    """Return a task with these values for fields of which it says nothing."""
    return replace(task, **{name: value for name, value in typed.items() if not getattr(task, name)})


def task_title(task: Task) -> str:
    """Return by what a task of the journal is known in a plan."""
    return task.content.partition("\n")[0]


def apply_planned(task: Task, planned: PlannedTask, ids: Mapping[str, str]) -> Task:
    """Return a task of the journal as it is planned. `ids`: those of the session's tasks, by title.

    What is done stays as it was when it was done, unless the person says that it is to be done again. What a
    person takes as done waits for nothing.
    """
    if planned.done:
        return replace(task, status=TaskStatus.COMPLETED, depends_on=()) if task.open else task
    if not task.open and planned.done is None:
        return task
    return replace(
        task,
        content=planned.content,
        status=task.status if task.open else TaskStatus.REMAINING,
        depends_on=tuple(ids[title] for title in planned.after),
        acceptance_criteria=planned.criteria,
        checks=planned.checks,
        scope_files=planned.scope,
        complexity=planned.complexity,
        shown=task.shown if task.open else None,
    )
