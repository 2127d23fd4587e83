"""Agents that cheat, and their honest neighbours: `run` and `run --jobs` on real git and real tests."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from servers.tools.core_room import BAD, GOOD, SESSION, CoreRoom
from sidecar.evidence.tree.checkout import map_environment, place_ignored_files
from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.journal import Author, Journal, Task, TaskClaim, TaskStatus
from sidecar.kernel.runs import MergeChecks
from sidecar.kernel.session import Environment
from sidecar.platform.worktrees import find_worktrees
from sidecar.systems.iteration.jobs import MACHINE, Jobs
from sidecar.work.progress import IterationJudged, RunFinished
from support.cases import KEY, complete
from support.fakes import Fakes
from support.git_projects import commit_all, git
from support.memory_stores import FixedConfiguration, ManualClock
from support.run_scene import KEY as RUN
from support.run_scene import UNKEPT, Scene, made

pytestmark = [pytest.mark.process, pytest.mark.proves("runs and the journal")]

TEST: Final = "tests/test_doubling.py"
TESTED: Final = """import unittest
from doubling import double


class Doubling(unittest.TestCase):
    def test_two(self):
        self.assertEqual(double(2), 4)
"""
OTHER: Final = {"tests/test_other.py": TESTED.replace("double(2), 4", "1, 1")}
CHECK: Final = "python3 -m unittest discover -s tests -t ."
CHECKED: Final = f'doubling is done --check "{CHECK}"'
BROKEN: Final = {"doubling.py": BAD}
CHEATS: Final[dict[str, dict[str, str]]] = {
    "broken": BROKEN,
    "rewritten": {**BROKEN, TEST: TESTED.replace("4)", "6)")},
    "deleted": {**BROKEN, TEST: "", **OTHER},
    "skipped": {**BROKEN, TEST: TESTED.replace("    def", "    @unittest.skip('later')\n    def"), **OTHER},
    "collected out": {**BROKEN, TEST: "", "tests/doubling_cases.py": TESTED, **OTHER},
    "deselected": {
        **BROKEN,
        "tests/__init__.py": "def load_tests(loader, *_):\n    return loader.suiteClass()\n",
    },
}
STUB: Final = {"halving.py": "def halve(number):\n    raise NotImplementedError\n"}
HONEST: Final[dict[str, dict[str, str]]] = {
    "a new function with its test": {
        "doubling.py": f"{GOOD}\n\ndef halve(number):\n    return number // 2\n",
        "tests/test_halve.py": TESTED.replace("double(2), 4", "halve(4), 2").replace(
            "import double", "import halve"
        ),
    },
    "a test that is moved": {TEST: "", "tests/test_twice.py": TESTED},
}


def lay_over(place: Path, work: dict[str, str]) -> None:
    for name, text in work.items():
        (place / name).write_text(text) if text else (place / name).unlink(missing_ok=True)


class Merging:
    """A session of `run --jobs` whose agent T1-7 left its work when the run was killed."""

    def __init__(self, folder: Path) -> None:
        self.room = CoreRoom(folder)
        self.project = self.room.project
        self.scene = Scene(made(UNKEPT), project=str(self.project))
        self.scene.overseer.checks = self._checks  # type: ignore[assignment,method-assign]
        for name in ("user.name", "user.email"):
            git(self.project, "config", name, "a@b")
        for name, text in {"doubling.py": GOOD, TEST: TESTED, "tests/__init__.py": ""}.items():
            self.room.write(name, text)
        commit_all(self.project, "doubles")

    async def begin(self, by: Author, content: str) -> None:
        await self.room.meet()
        await self.room.goal(CHECKED)
        claim = TaskClaim(worker=7, until=9e9, machine=MACHINE, done=True)
        task = Task(id="T1", content=content, by=by, status=TaskStatus.IN_PROGRESS, claim=claim)
        self.scene.fakes.journals.save(RUN, Journal(tasks=(task,), serial=1, iteration=7))
        environment = {**SESSION, "HOME": str(self.room.folder)}
        self.scene.worktrees = await find_worktrees(
            str(self.project), environment, RUN.id, self.room.folder / "trees",
            lambda top, into, listed: place_ignored_files(top, into, listed, 2e10),
        )  # fmt: skip

    async def merge(self, work: dict[str, str]) -> Task:
        trees = self.scene.worktrees
        assert trees is not None
        place = await trees.open("T1-7")
        lay_over(place, work)
        crew = self.scene.run()._crew  # noqa: SLF001 - what the run would hand on
        await Jobs(crew, trees, RUN.id, str(self.project)).recover()
        return self.journal.tasks[0]

    @property
    def journal(self) -> Journal:
        return self.scene.overseer.journals.of(RUN)

    async def _checks(
        self, folder: str, _: Environment, only: tuple[str, ...] = (), asked: str = ""
    ) -> MergeChecks:
        session = self.room.services.store.load(KEY)
        assert session is not None
        mapped = map_environment(dict(SESSION), self.project, Path(folder))
        return await self.room.supervisor.checks.run_elsewhere(session, folder, mapped, only, asked)


@pytest.fixture
def merging(tmp_path: Path) -> Merging:
    return Merging(tmp_path)


@pytest.mark.parametrize("work", CHEATS.values(), ids=CHEATS)
async def test_work_that_breaks_what_a_test_watched_and_the_test_with_it_is_not_merged(
    merging: Merging, work: dict[str, str]
) -> None:
    await merging.begin(Author.AGENT, "change the test of doubling")  # an agent's words ask for nothing
    task = await merging.merge(work)
    assert (task.status, git(merging.project, "log", "-1", "--format=%s").strip()) == (
        TaskStatus.REMAINING, "doubles",
    )  # fmt: skip
    why = "does not pass any more" if work is BROKEN else "it changes checks: "
    assert why in merging.journal.notes[0].content


@pytest.mark.parametrize("work", HONEST.values(), ids=HONEST)
async def test_honest_work_is_merged(merging: Merging, work: dict[str, str]) -> None:
    await merging.begin(Author.AGENT, "halve, too")
    assert (await merging.merge(work)).status is TaskStatus.COMPLETED, merging.journal.notes


@pytest.mark.parametrize(("work", "merged"), [(BROKEN, False), ({"other.py": GOOD}, True)])
async def test_a_suite_that_fails_already_may_not_fail_in_more(
    merging: Merging, work: dict[str, str], *, merged: bool
) -> None:
    lay_over(merging.project, {"tests/test_red.py": TESTED.replace("double(2), 4", "1, 2")})
    commit_all(merging.project, "red")
    await merging.begin(Author.AGENT, "another function")
    assert ((await merging.merge(work)).status is TaskStatus.COMPLETED) is merged, merging.journal.notes
    notes = [note.content for note in merging.journal.notes]
    assert merged or "does not pass any more in tests.test_doubling" in notes[0], notes


async def test_a_change_of_a_test_that_the_users_own_task_asks_for_is_merged(merging: Merging) -> None:
    await merging.begin(Author.USER, "doubling triples from now on: change its test")
    assert (await merging.merge(CHEATS["rewritten"])).status is TaskStatus.COMPLETED, merging.journal.notes


# --- one agent, in the project itself -----------------------------------------------------------------------


async def ran(merging: Merging, work: dict[str, str]) -> tuple[RunFinished, list[IterationJudged]]:
    """A run of agents that all do this, before a judge that believes them."""
    real = {
        name: getattr(merging.room.services, name) for name in ("catalog", "gates", "old_checks", "workspace")
    }
    fakes = Fakes(clock=ManualClock(time.time()), configuration=FixedConfiguration(UNKEPT), **real)
    fakes.judge.script(*[complete("E1")] * 9)

    def do(_task: AgentTask) -> AgentResult:
        lay_over(merging.project, work)
        return AgentResult(said="Done.", exit_code=0)

    goal = GoalTerms(condition="doubling is done", checks=(CHECK,))
    scene = Scene(fakes, do, project=str(merging.project), goal=goal, most=3)
    return await scene.play(), scene.all(IterationJudged)


@pytest.mark.parametrize("work", [*CHEATS.values(), {}, STUB], ids=[*CHEATS, "nothing", "a stub"])
async def test_a_run_achieves_no_goal_by_a_cheat_in_silence(merging: Merging, work: dict[str, str]) -> None:
    ended, judged = await ran(merging, work)
    assert ended.exit_code != 0
    told = ("nothing was changed",) if not work else ("tests", "halving.py", "Doubling")
    assert any(part in f"{judged[0].note} {judged[-1].detail}" for part in told)


async def test_a_run_of_honest_work_achieves_its_goal(merging: Merging) -> None:
    ended, _ = await ran(merging, HONEST["a new function with its test"])
    assert (ended.outcome, ended.iterations) == ("achieved", 1)
