"""Rules of a list that several machines work on: what a task's run is, what becomes of it, when all is done.

- A task is one ordinary run, so what counts as done is what counts there.
- Work that could not be merged, and that of an agent which could not work, is tried again from its branch. A
  task that failed MAX_FAILURES times, or that ended in any other way, is held for a person.
- What ends because of this machine alone (a program that cannot work, a spent budget, Ctrl-C) gives its task
  back, and nothing more is begun here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.shared import checked_session_id
from sidecar.kernel.goal import ExitCode
from sidecar.kernel.runs import RunRequest
from sidecar.platform.team.ports import TeamTask, TeamTaskState
from sidecar.work.progress import RunFinished

NAMED: Final = 5
"""Tasks that a sentence names."""
MAX_FAILURES: Final = 3
"""Attempts after which a task waits for a person; one that was lost with its machine does not count."""
DONE: Final = (TeamTaskState.MERGED, TeamTaskState.DROPPED)
"""States in which a task holds up no other one."""
OF_THE_MACHINE: Final = ("agent-failed", "broken", "interrupted")
"""Outcomes of a run for which its task is not to blame."""


class TaskEnd(Struct, frozen=True, kw_only=True):
    """What becomes of a task: "merge" is still to be tried. `stops`: why nothing more is begun here."""

    state: TeamTaskState | Literal["merge"]
    note: str = ""
    stops: str = ""


def task_name(task: TeamTask) -> str:
    """Return the name of a claim's worktree and branch: ID-ATTEMPT."""
    return f"{task.id}-{task.attempts}"


def earlier_name(task: TeamTask, known: Sequence[str]) -> str:
    """Return the last attempt before this one among those that are `known`, oldest first; "" for none."""
    before = (name for name in reversed(known) if int(name.rpartition("-")[2]) < task.attempts)
    return next(before, "")


def task_title(task: TeamTask) -> str:
    """Return the name of a task in the trailer of its merge."""
    return f"{task.list}/{task.id}"


def team_task_session(task: TeamTask) -> str:
    """Return the name of the session of a claim's run: LIST-ID-ATTEMPT."""
    return f"{task.list}-{task_name(task)}"


def task_request(asked: RunRequest, task: TeamTask) -> RunRequest:
    """Return the run of a task. Raises BadInputError where its id is not safe as a file name."""
    goal = replace(asked.goal, condition=task.content, checks=(*task.checks, *asked.goal.checks))
    return replace(asked, session=checked_session_id(team_task_session(task)), goal=goal, jobs=0)


def end_after_run(task: TeamTask, ended: RunFinished, code: int, *, spent: bool) -> TaskEnd:
    """Return what follows from a run. `code`: as it was asked to be taken; `spent`: no agent may begin."""
    note = f"{ended.outcome}: {ended.detail}" if ended.detail else ended.outcome
    if code == ExitCode.ACHIEVED:
        return TaskEnd(state="merge")
    if spent and ended.outcome == "exhausted":
        return TaskEnd(state=TeamTaskState.OPEN, note=note, stops="exhausted")
    if ended.outcome in OF_THE_MACHINE:
        return replace(end_to_try_again(task, note), stops=ended.outcome)
    return TaskEnd(state=TeamTaskState.HELD, note=note)


def end_to_try_again(task: TeamTask, note: str) -> TaskEnd:
    """Return the end of a task that is tried again, unless it was tried often enough."""
    state = TeamTaskState.OPEN if task.failures + 1 < MAX_FAILURES else TeamTaskState.HELD
    return TaskEnd(state=state, note=note)


def tasks_left(tasks: Sequence[TeamTask]) -> bool:
    """Return whether any task is at work, or can be claimed."""
    done = {task.id for task in tasks if task.state in DONE}
    return any(
        task.state is TeamTaskState.CLAIMED
        or (task.state is TeamTaskState.OPEN and done.issuperset(task.needs))
        for task in tasks
    )


def describe_waiting(tasks: Sequence[TeamTask], machines: Mapping[str, str], *, paused: bool) -> str:
    """Say why nothing begins on this machine. `machines`: their names by their ids."""
    if paused:
        return f"the list is paused. To go on: supervisor team resume {tasks[0].list}"
    held = [
        f"{task.id} on {machines.get(task.machine, task.machine)}"
        for task in tasks
        if task.state is TeamTaskState.CLAIMED
    ]
    more = f" and {len(held) - NAMED} more" if len(held) > NAMED else ""
    return f"waits for {', '.join(held[:NAMED])}{more}" if held else "waits for a task"


def describe_end(task: TeamTask, end: TaskEnd, branch: str, *, lost: bool) -> str:
    """Say what became of a task that is not merged. `branch`: where its work is, "" for none."""
    where = f" What was done is on the branch {branch}." if branch else ""
    if lost:
        return f"{task.id}: another machine has this task, because its claim ran out here.{where}"
    if end.state is TeamTaskState.HELD:
        return f"{task.id} is held: {end.note}.{where} To try again: {give_back(task)}"
    return f"{task.id} is given back: {end.note}.{where}"


def give_back(*tasks: TeamTask) -> str:
    """Return what a person types to have tasks of a list tried again."""
    return f"supervisor team give-back {tasks[0].list} {' '.join(task.id for task in tasks)}"


def describe_open_tasks(tasks: Sequence[TeamTask]) -> str:
    """Say which tasks are not merged, and what a person types; "" where all are."""
    held = [task for task in tasks if task.state is TeamTaskState.HELD]
    left = [task.id for task in tasks if task.state not in (*DONE, TeamTaskState.HELD)]
    waits = (
        [f"{', '.join(left)} {'wait' if len(left) > 1 else 'waits'} for tasks that are not merged"]
        if left
        else []
    )
    said = [f"{task.id} is held: {task.note}" for task in held] + waits
    if held:
        said.append(f"To try again: {give_back(*held)}")
    return "\n".join(said)
