"""Whatever asked for a check, a stop runs nothing again on the same files, nor anything else before it."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from servers.tools.core_room import GOOD, SESSION, CoreRoom
from servers.tools.test_loop_tools import ADHOC, DONE
from sidecar.evidence.tree.checkout import map_environment, place_ignored_files
from sidecar.kernel.effects import Rest, RestReason
from sidecar.kernel.governance import AnalyzeInput, GovernedPhase, ImplementInput, ReviewInput
from sidecar.kernel.settings import Mode
from sidecar.platform.worktrees import find_worktrees
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.governance.service import conduct
from support.cases import KEY
from support.git_projects import commit_all, git
from support.governed import ANALYSIS, APPROVED, PASSED, PLAN, TASK, governance_over, implemented
from support.scripted_workers import ScriptedWorkers

pytestmark = pytest.mark.process

BETTER: Final = GOOD.replace("2 * number", "number + number  # twice")
COUNTING: Final = "def pytest_sessionstart():\n    print('ran', file=open({!r}, 'a'))\n"


class Counted(CoreRoom):
    """A session whose tests pass. A file outside of the project counts how often the suite ran anywhere."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write("doubling.py", GOOD)
        self.write("tests/conftest.py", COUNTING.format(str(folder / "log")))
        commit_all(self.project, "counted")
        subprocess.run(("python", "-m", "pytest"), cwd=self.project, env=SESSION, check=False)  # as people do
        assert self.ran() == 1

    def ran(self) -> int:
        """Tell how often the suite ran since this was asked last."""
        log = self.folder / "log"
        times = log.read_text().count("ran") if log.exists() else 0
        log.unlink(missing_ok=True)
        return times


async def loop(room: Counted) -> int:
    await room.ask("session_start", command="double", command_type="bug")
    await room.ask("task_start", **ADHOC)
    room.write("doubling.py", BETTER)
    await room.ask("report_completion", **DONE)
    return 1


async def phases(room: Counted) -> int:
    def implements(folder: Path) -> dict[str, Any]:
        (folder / "doubling.py").write_text(BETTER)
        return implemented("doubling.py")

    task = {**TASK, "verify_by": "text: doubling.py contains twice"}
    steps = (ANALYSIS, {**PLAN, "tasks": [task]}, APPROVED, PASSED)
    analysis, plan, *others = (lambda _, answer=answer: answer for answer in steps)
    workers = ScriptedWorkers((analysis, plan, implements, *others))
    given = {
        GovernedPhase.ANALYZE: AnalyzeInput(problem_statement="double must double"),
        GovernedPhase.IMPLEMENT: ImplementInput(),
        GovernedPhase.REVIEW: ReviewInput(),
    }
    await conduct(
        governance_over(room.services, room.folder / "state", workers),
        PhaseCaller(project=str(room.project), environment=SESSION, session=KEY),
        given,
        mode=Mode.FAST,
        tell=lambda _: None,
        show=lambda _: None,
        ask=lambda _: None,
    )
    return 1


async def jobs(room: Counted) -> int:
    """Two tasks, each in a worktree of its own, and checked as `supervisor run --jobs` does."""
    for name in ("user.name", "user.email"):
        git(room.project, "config", name, "a@b")
    furnish = partial(place_ignored_files, since=2e10)
    environment = {**SESSION, "HOME": str(room.folder)}
    trees = await find_worktrees(str(room.project), environment, KEY.id, room.folder / "trees", furnish)

    async def accept(place: Path, *_: object) -> str:
        session, mapped = room.services.store.load(KEY), map_environment(dict(SESSION), room.project, place)
        assert session
        found = await room.supervisor.checks.run_elsewhere(session, str(place), mapped, ())
        return "" if [run.passed for run in found.runs] == [True] else "no"

    for number in (1, 2):
        place = await trees.open(f"T{number}-1")
        (place / "doubling.py").write_text(f"{BETTER}# {number}\n")
        await trees.close(f"T{number}-1", "part")
        assert (await trees.merge(f"T{number}-1", "part", accept)).why == ""
    return 2


@pytest.mark.parametrize("work", [loop, phases, jobs])
async def test_a_stop_runs_nothing_again(work: Callable[[Counted], Awaitable[int]], tmp_path: Path) -> None:
    room = Counted(tmp_path)
    await room.approve()
    await room.meet()
    await room.goal("all tests pass")
    await room.ask("gates_run")
    assert room.ran() == 1
    expected = await work(room)
    assert "twice" in (room.project / "doubling.py").read_text()
    assert room.ran() == expected
    answer = await room.stop()
    assert isinstance(answer, Rest)
    assert (answer.reason, room.ran()) == (RestReason.ACHIEVED, 0)
