"""Tasks of a loop at once, on a real git repository: what is merged when, and what is left after a kill."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import Struct

from sidecar.cli.config import CommandLineFiles
from sidecar.kernel.journal import Task
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.paths import user_paths
from sidecar.platform.worktrees import Worktrees
from sidecar.systems.taskloop.player import PlayEnd, PlayOutcome, PlayRequest
from sidecar.systems.taskloop.policy.plan import PlannedTask
from sidecar.wiring.command_line import build_loop_player
from sidecar.wiring.platform import build_platform
from sidecar.work.merging import WorkMerging
from sidecar.workers.budget import Budget
from sidecar.workers.ports import WorkerTask
from sidecar.workers.service import WorkerService
from support.git_projects import commit_all, git
from support.memory_stores import MemorySpending
from support.scripted_workers import ScriptedWorkers, Step, writes
from support.tdd_projects import lay_out

pytestmark = pytest.mark.process

EMPTY: Final[Mapping[str, str]] = {}
KEY: Final = SessionKey("loop", "shop")
FILES: Final = {"Makefile": "test:\n\tfor one in *.check; do sh $$one || exit 1; done\n", "a.check": "true\n"}


class KilledError(BaseException):
    """The process ends here, and nothing is cleaned up."""


class Shop:
    """A person's project, and workers that do a task by its title."""

    def __init__(self, project: Path) -> None:
        self.project, self.lines = project, list[str]()
        self.steps: dict[str, list[Step]] = {}
        self.places: dict[str, str] = {}
        self.begun, self.prompts = list[str](), list[str]()

    async def run(self, task: WorkerTask[Struct], settings: Settings, hear: Callable[[str], None]) -> Any:
        found = re.search(r"Task (T\d+): (\w+)", task.prompt)
        assert found
        title = found[2]
        self.places[title] = task.project
        self.begun.append(title)
        self.prompts.append(task.prompt)
        steps = self.steps.get(title) or [does(title)]
        worker = ScriptedWorkers([steps.pop(0) if len(steps) > 1 else steps[0]])
        return await worker.run(task, settings, hear)

    def plays(self, *tasks: PlannedTask, jobs: int = 3, **asked: Any) -> PlayEnd:
        async def play() -> PlayEnd:
            request = PlayRequest(
                session=Session(key=KEY, project=str(self.project)),
                environment=dict(os.environ),
                tasks=tasks,
                **asked,
            )
            budget = Budget(MemorySpending())
            player = await build_loop_player(request, self.tell, CommandLineFiles(), jobs, budget)
            async with asyncio.timeout(120):
                return await player.play()

        self.lines.clear()
        self.begun.clear()
        return asyncio.run(play())

    def tell(self, what: Any) -> None:
        self.lines.append(what.text)

    def tasks(self) -> dict[str, Task]:
        journal = build_platform(user_paths().state).journals.load(KEY)
        assert journal
        return {task.content: task for task in journal.tasks}

    def statuses(self) -> dict[str, str]:
        return {title: task.status.value for title, task in self.tasks().items()}

    def commits(self) -> list[str]:
        return git(self.project, "log", "--no-merges", "--format=%s", "--reverse").splitlines()[1:]

    def branches(self) -> list[str]:
        return git(self.project, "branch", "--list", "--format=%(refname:short)", "supervisor/*").split()

    def nothing_is_left(self) -> None:
        assert (self.branches(), git(self.project, "status", "--porcelain")) == ([], "")
        assert len(git(self.project, "worktree", "list").splitlines()) == 1


def does(title: str, text: str = "done", more: Mapping[str, str] = EMPTY) -> Step:
    check = f'test "$(cat {title}.txt)" = done\n'
    files = {f"{title}.txt": f"{text}\n", f"{title}.check": check, **more}
    return writes(files, summary=f"{title} is there")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    project = tmp_path / "project"
    lay_out(project, FILES)
    git(project, "init", "--quiet", "--initial-branch=main")
    for name in ("user.name", "user.email"):
        git(project, "config", name, "a@b")
    commit_all(project, "first")
    settings = '[judge]\nbackend = "rules"\n[loop]\nmax_iterations = 2\n'
    lay_out(Path(os.environ["HOME"]), {".config/supervisor/config.toml": settings})
    made = Shop(project)
    monkeypatch.setattr(WorkerService, "run", lambda _, *given: made.run(*given))
    monkeypatch.setattr(WorkerService, "models", ScriptedWorkers(()).models)
    return made


def planned(title: str, *after: str, **more: Any) -> PlannedTask:
    return PlannedTask(title=title, after=after, **more)


def test_what_waits_begins_on_what_was_merged_and_others_go_on_past_a_lost_one(shop: Shop) -> None:
    shop.steps["lost"] = [does("lost", "wrong")]
    seen = list[set[str]]()

    def looks(folder: Path) -> dict[str, Any]:
        seen.append({file.name for file in folder.glob("*.txt")})
        return does("last")(folder)

    shop.steps["last"] = [looks]
    end = shop.plays(
        planned("one", criteria=("one is done",)),
        planned("lost"),
        planned("never", "lost"),
        planned("two"),
        planned("last", "one", "two"),
    )
    assert end.outcome is PlayOutcome.FAILED, shop.lines
    assert seen == [{"one.txt", "two.txt"}]
    assert shop.statuses() == {
        "one": "completed",
        "lost": "failed",
        "never": "remaining",
        "two": "completed",
        "last": "completed",
    }
    assert "What was done is on the branch supervisor/shop/T2-1: git diff HEAD...supervisor/" in end.message
    assert (set(shop.commits()), shop.commits()[-1]) == ({"one", "two", "last"}, "last")
    assert git(shop.project, "show", "supervisor/shop/T2-1:lost.txt") == "wrong\n"
    body = git(shop.project, "log", "--grep=one is done", "--no-merges", "--format=%b")
    assert body.startswith("Criteria:\n- one is done\nChecks:\n- `tests`: passed\nShown: not judged")
    assert all(not Path(place).exists() for place in shop.places.values())
    shop.steps.clear()
    again = shop.plays()
    assert again.outcome is PlayOutcome.JUDGED, shop.lines
    assert (set(shop.statuses().values()), (shop.project / "never.txt").exists()) == ({"completed"}, True)
    shop.nothing_is_left()


@pytest.mark.parametrize(
    ("how", "why", "ends"),
    [
        ("once", "conflict with what was merged before, in shared", PlayOutcome.JUDGED),
        ("each time", "conflict with what was merged before, in shared", PlayOutcome.FAILED),
        ("checks", "with it `make test` does not pass any more", PlayOutcome.FAILED),
    ],
)
def test_what_cannot_be_merged_is_played_once_more_on_the_new_files_and_its_branch_is_told(
    shop: Shop, how: str, why: str, ends: PlayOutcome
) -> None:
    mine = "other.txt" if how == "checks" else "shared"

    def meanwhile(folder: Path) -> dict[str, Any]:
        if how == "each time" or len(shop.begun) == 1:
            (shop.project / mine).write_text(f"{len(shop.begun)}\n")
            commit_all(shop.project, "mine")
        more = {"never.check": "test ! -e other.txt\n"} if how == "checks" else {"shared": "ours\n"}
        return does("one", more=more)(folder)

    shop.steps["one"] = [meanwhile]
    end = shop.plays(planned("one"))
    (told, *_) = (line for line in shop.lines if "T1 is not merged" in line)
    assert end.outcome is ends, shop.lines
    assert why in told
    assert "is on the branch supervisor/shop/T1-1: git diff" in told
    assert "T1 is not merged" in shop.prompts[1]
    if ends is PlayOutcome.JUDGED:
        assert (shop.project / "shared").read_text() == "ours\n"
        shop.nothing_is_left()
    else:
        assert shop.branches() == ["supervisor/shop/T1-1", "supervisor/shop/T1-2"]
        assert (shop.statuses()["one"], (shop.project / "one.txt").exists()) == ("failed", False)
        assert "branch supervisor/shop/T1-2" in end.message


@pytest.mark.proves("the loop")
@pytest.mark.parametrize("killed", ["claimed", "made", "at work", "done", "closed", "merged"])
def test_after_a_kill_the_same_command_goes_on_and_loses_nothing(
    shop: Shop, killed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **_more: object) -> Any:
        raise KilledError

    def half(folder: Path) -> dict[str, Any]:
        (folder / "half.txt").write_text("kept\n")
        raise KilledError

    def cut_short(trees: Worktrees, name: str) -> Any:
        place = trees.place(name)
        Path((place / ".git").read_text().split()[1], "locked").write_text("initializing")
        (place / "Makefile").unlink()
        raise KilledError

    ways = {"claimed": "open", "done": "close", "closed": "merge", "merged": "delete"}
    shop.steps["one"] = [half, does("one")] if killed == "at work" else [does("one")]
    with monkeypatch.context() as patches:
        if killed == "made":
            patches.setattr(Worktrees, "_furnish_place", cut_short)
        if killed in ways:
            patches.setattr(WorkMerging, ways[killed], dies)
        with pytest.raises(KilledError):
            shop.plays(planned("one"), jobs=1)
    done = killed in {"done", "closed", "merged"}
    assert shop.statuses() == {"one": "completed" if killed == "merged" else "in_progress"}
    assert shop.plays(jobs=1).outcome is PlayOutcome.JUDGED, shop.lines
    assert (shop.commits(), shop.begun) == (["one"], [] if done else ["one"])
    assert (shop.project / "half.txt").exists() is (killed == "at work")
    assert git(shop.project, "show", "HEAD:Makefile") == FILES["Makefile"]
    shop.nothing_is_left()


def test_a_persons_own_changes_stay_theirs_and_what_they_looked_at_is_merged_as_it_is(shop: Shop) -> None:
    plan = shop.project / "plan.md"
    plan.write_text("mine\n")
    shop.steps["one"] = [does("one", "wrong", more={"plan.md": "ticked\n"})]
    assert shop.plays(planned("one"), plan=str(plan)).outcome is PlayOutcome.FAILED, shop.lines
    assert "workers begin with what is committed; these changes of yours are not: plan.md" in shop.lines
    shop.plays(accept=("t1",))
    assert (shop.statuses(), shop.commits(), shop.begun) == ({"one": "completed"}, ["one"], [])
    assert (git(shop.project, "status", "--porcelain"), shop.branches()) == ("?? plan.md\n", [])
    assert plan.read_text() == "mine\n"
