"""Keeps the boxes of a plan's file right, and tells a person's edits from those of agents at work.

The file is its person's. Of it only marks in boxes are written, as the journal has the tasks. What else
changes in it while a loop runs may be an agent's: it is left there, counts for nothing, and at the next
beginning the person says whether it is theirs (law 9). That needs the text that was in force, which is kept
in the state folder; it also tells which boxes a person ticked or emptied since.
"""

from __future__ import annotations

import difflib
import logging
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_text, escape_unprintable, quote_as_code_block
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.rubric.texts import read_texts
from sidecar.systems.taskloop.plans import parse_plan, read_marks, set_marks
from sidecar.systems.taskloop.policy.plan import PlannedTask, task_title
from sidecar.work.progress import Step, Tell
from sidecar.workers.ports import WorkerError, WorkerPlace, Workers, WorkerTask

PLAN_LIMIT: Final = 256 * 1024
"""Bytes of a plan."""
NEW_MODE: Final = 0o644
MARKED: Final = "a box was changed while agents worked; it is as the tasks are again"
CHANGED: Final = (
    "the plan was changed while agents worked; begun again, Supervisor asks whether that is your edit"
)

log = logging.getLogger(__name__)


class PlanFile:
    """The plan of one session. Methods raise BadInputError where it cannot be read, and OSError."""

    def __init__(self, path: Path, memory: Path, journal: Callable[[], Journal], tell: Tell) -> None:
        """`memory`: the copy in the state folder; beside it a file says that agents may be at work."""
        self.path, self._memory, self._journal, self._tell = path, memory, journal, tell
        self._unsure = memory.with_suffix(".unsure")
        self._done: Mapping[str, bool] = {}
        self._text = read_plan_text(path)
        before, ticked = read_plan_text(memory) if memory.exists() else "", read_marks(self._text)
        ours = {title: True for title, done in self._completed().items() if done and ticked.get(title)}
        self._before = set_marks(before, ours)  # a crash may have come between a tick and its copy

    def difference(self) -> tuple[str, ...]:
        """Return what may be the edit of an agent, as lines of a difference."""
        return diff_plans(self._before, self._text, self.path) if self._unsure.exists() else ()

    def put_back(self) -> None:
        """Undo what an agent changed."""
        self._text = self._before
        write_plan_text(self.path, self._text)

    def tasks(self) -> tuple[PlannedTask, ...]:
        """Return the tasks. Whether one is done is said only where its person changed its box."""
        try:
            tasks = parse_plan(self._text)
        except BadInputError as error:
            raise BadInputError(f"{self.path} is no plan that can be played:\n{error}") from error
        before = read_marks(self._before)
        return tuple(
            replace(task, done=None) if task.done is before.get(task.title, False) else task for task in tasks
        )

    def tell(self, step: Step) -> None:
        """Pass on what a player tells once it plays the plan, and put the boxes right."""
        self._tell(step)
        self._settle()

    def _settle(self) -> None:
        before, self._done = self._done, self._completed()
        with suppress(OSError, BadInputError):  # a person is told at the end
            now = read_plan_text(self.path)
            if before and set_marks(now, before) != now:
                self._tell(Step(kind="plan", text=MARKED))
            if (marked := set_marks(now, self._done)) != now:
                write_plan_text(self.path, marked)
        if self._done != before:  # the copy comes after the file, see above
            self._memory.parent.mkdir(exist_ok=True)
            self._unsure.touch()
            write_whole(self._memory, set_marks(self._text, self._done).encode())

    def close(self) -> None:
        """Remember that no agent is at work any more. What was not played is left as it is."""
        if self._done:
            self._settle()
        with suppress(OSError, BadInputError):
            if read_plan_text(self.path) == set_marks(self._text, self._done):
                self._unsure.unlink(missing_ok=True)
        if self._unsure.exists():
            self._tell(Step(kind="plan", text=CHANGED))

    def _completed(self) -> dict[str, bool]:
        return {task_title(task): not task.open for task in self._journal().tasks}


def diff_plans(before: str, now: str, path: Path) -> tuple[str, ...]:
    """Return the lines in which two texts of a plan differ; what is not seen is escaped."""
    was, would = ([escape_unprintable(line) for line in text.splitlines()] for text in (before, now))
    return tuple(difflib.unified_diff(was, would, "before", str(path), lineterm=""))


def read_plan_text(path: Path) -> str:
    """Return the text of a plan as it is, with its line breaks. Raises BadInputError, OSError."""
    try:
        return read_whole(path, PLAN_LIMIT, follow=True).decode()
    except (UnusableFileError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from error


def write_plan_text(path: Path, text: str) -> None:
    """Replace the text of a plan, or of what a link there points to; its mode stays. Raises OSError."""
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else NEW_MODE
    write_whole(path, text.encode())
    path.chmod(mode)


class ProposedPlan(Struct, frozen=True, kw_only=True):
    """What an agent answers that writes a plan: the whole text of its file."""

    plan: str


async def propose_plan(
    workers: Workers, settings: Settings, at: WorkerPlace, wishes: str, present: str
) -> str:
    """Return a plan for these wishes, which may change the `present` one; asks again where it is none.

    Raises BadInputError where it is none again, and where no worker can answer.
    """
    words, quoted = read_texts("loop-shell.md"), quote_as_code_block(present) or "nothing"
    prompt = words.say("plan-propose", wishes=quote_as_code_block(wishes), present=quoted)
    for left in (1, 0):
        task = WorkerTask(prompt=prompt, answer=ProposedPlan, tools=("Read", "Grep", "Glob"), **asdict(at))
        try:
            said = (await workers.run(task, settings, log.debug)).answer
            plan = f"{clean_text(said.plan).strip()}\n"  # as its person sees it
            parse_plan(plan)
        except WorkerError as error:
            raise BadInputError(error.message) from error
        except BadInputError as error:
            if not left:
                raise BadInputError(f"the agent wrote no plan that can be read:\n{error}") from error
            prompt += "\n\n" + words.say("plan-refused", plan=quote_as_code_block(plan), why=error)
        else:
            break
    return plan
