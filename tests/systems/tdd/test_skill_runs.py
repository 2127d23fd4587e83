"""Skills on real projects with real test runners; only the worker is played."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, Kind, Outcome
from sidecar.kernel.log import EventFilter, SkillEnded
from sidecar.platform.steering import UNHELD
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.skills import Skills
from sidecar.systems.tdd.workbench import SkillRequest, SkillResult
from sidecar.wiring.headless import build_skills
from sidecar.wiring.platform import build_evidence, build_platform
from sidecar.work import progress
from sidecar.workers.ports import WorkerError, WorkerFailure
from support import tdd_projects
from support.git_projects import everything
from support.scripted_workers import ScriptedWorkers, Step, writes
from support.tdd_projects import NODE, PYTHON, SUB, SUB_JS, SUB_TEST, SUB_TEST_JS, contents, lay_out

pytestmark = pytest.mark.process

SPEC = {"spec": tdd_projects.SPEC}
WRITES_TEST = writes({"tests/test_sub.py": SUB_TEST}, file_path="tests/test_sub.py")
PASSES_AT_ONCE = writes({"tests/test_sub.py": "def test_sub():\n    assert 30 - 13 == 17\n"})
RED_DONE = PYTHON | {"tests/test_sub.py": SUB_TEST}
GREEN = {"test_path": "tests/test_sub.py"}
REFACTOR = {"test_path": "tests/test_calc.py", "impl_path": "calc.py"}


class Room:
    """A project, and skills whose workers do what a test wrote."""

    def __init__(self, folder: Path) -> None:
        self.project, self.state = folder / "project", folder / "state"
        self.state.mkdir()
        self.workers = ScriptedWorkers(())
        self.told: list[progress.Step] = []
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def skills(self, *steps: Step) -> Skills:
        self.workers = ScriptedWorkers(steps)
        shared = build_evidence(self.state, build_platform(self.state), UNHELD)
        return build_skills(self.state, shared, self.workers, UNHELD)

    async def phase(
        self, phase: Phase, files: dict[str, str], values: dict[str, str], *steps: Step, **more: Any
    ) -> SkillResult:
        lay_out(self.project, files)
        return await self.skills(*steps).run(phase, self.request(values, **more), self.told.append)

    def request(self, values: dict[str, str], **more: Any) -> SkillRequest:
        wish = {"approved": True, **more}
        return SkillRequest(project=str(self.project), environment=self.environment, values=values, **wish)

    def holds(self, files: dict[str, str]) -> bool:
        """Whether the project holds these files and nothing else."""
        return contents(self.project) == files


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def test_a_failing_test_comes_into_the_project(room: Room) -> None:
    result = await room.phase(Phase.RED, PYTHON, SPEC, WRITES_TEST)

    assert (result.status, result.verified, result.file_path) == ("pass", True, "tests/test_sub.py")
    assert "cannot import name 'sub'" in result.runner_output
    assert room.holds(RED_DONE)
    assert (result.attempts, result.tokens, result.cents, result.model_used) == (1, 100, 0.5, "self")
    (logged,) = build_platform(room.state).log.read(EventFilter(kinds=("skill-ended",)))
    assert isinstance(logged.data, SkillEnded)
    assert (logged.data.phase, logged.data.verified, logged.project) == ("red", True, str(room.project))


async def test_a_worker_that_says_pass_is_not_believed(room: Room) -> None:
    """Its answer has the shape that was asked for, and says that all is well."""
    result = await room.phase(Phase.RED, PYTHON, SPEC, PASSES_AT_ONCE, PASSES_AT_ONCE)

    assert (result.status, result.verified) == ("fail", False)
    assert "passes at once" in result.message
    assert room.holds(PYTHON)


async def test_the_next_attempt_is_told_why_and_begins_anew(room: Room) -> None:
    result = await room.phase(Phase.RED, PYTHON, SPEC, writes({"calc.py": SUB}), WRITES_TEST)

    assert (result.verified, result.attempts) == (True, 2)
    assert {task.guarded for task in room.workers.tasks} == {str(room.project)}
    first, second = (task.prompt for task in room.workers.tasks)
    assert "was refused" not in first
    assert "no product code, but these files changed: calc.py" in second
    assert any("refused: A red phase writes a test and no product code" in step.text for step in room.told)
    assert room.holds(RED_DONE)


async def test_the_same_once_more_ends_it(room: Room) -> None:
    result = await room.phase(Phase.RED, PYTHON, SPEC, PASSES_AT_ONCE)

    assert (result.attempts, len(room.workers.tasks)) == (2, 2)
    assert "the same twice" in result.message


async def test_a_file_that_somebody_changed_meanwhile_is_a_conflict(room: Room) -> None:
    def meanwhile(folder: Path) -> dict[str, Any]:
        lay_out(room.project, {"tests/test_sub.py": "# mine\n"})
        return WRITES_TEST(folder)

    result = await room.phase(Phase.RED, PYTHON, SPEC, meanwhile)

    assert (result.status, result.verified) == ("fail", False)
    assert "tests/test_sub.py was changed meanwhile" in result.message
    assert room.holds({**PYTHON, "tests/test_sub.py": "# mine\n"})


@pytest.mark.parametrize("failure", [WorkerFailure.TIMED_OUT, WorkerFailure.NOT_STARTED])
async def test_a_worker_that_fails_is_an_error_and_only_some_are_tried_again(
    room: Room, failure: WorkerFailure
) -> None:
    def fails(_folder: Path) -> dict[str, Any]:
        raise WorkerError(failure, f"the worker: {failure}", "its output", tokens=7)

    result = await room.phase(Phase.RED, PYTHON, SPEC, fails, WRITES_TEST)

    again = failure is WorkerFailure.TIMED_OUT
    assert result.verified is again
    assert result.tokens == (107 if again else 7)
    if not again:
        assert (result.status, result.message) == ("error", "the worker: not-started\nits output")
        assert result.cents is None


async def test_code_that_makes_the_test_pass_comes_into_the_project(room: Room) -> None:
    result = await room.phase(Phase.GREEN, RED_DONE, GREEN, writes({"calc.py": SUB}))

    assert result.verified
    assert room.holds({**RED_DONE, "calc.py": SUB})
    assert "cannot import name 'sub'" in room.workers.tasks[0].prompt


async def test_no_phase_runs_the_tests_on_files_on_which_they_ran_before(room: Room) -> None:
    """What a stop ran before is known to the first phase, and the end of the last one to the next stop."""
    log = room.project.parent / "log"
    lay_out(room.project, PYTHON | {"tests/conftest.py": f"print('ran', file=open({str(log)!r}, 'a'))\n"})
    better = SUB.replace("(a, b)", "(first, second)").replace("a - b", "first - second")
    better = better.replace("a + b", "first + second")
    skills = room.skills(WRITES_TEST, writes({"calc.py": SUB}), writes({"calc.py": better}))
    shared = skills._services.shared  # noqa: SLF001 - what the sidecar's stops use, too

    async def stop() -> int:
        gate = Gate(id="tests", command="python -m pytest -q", why="", kind=Kind.TESTS, counts=True)
        tree = await shared.workspace.fingerprint(str(room.project), room.environment)
        at = GateContext(project=str(room.project), tree=tree, environment=room.environment)
        (run,) = await shared.gates.run((gate,), at, 60)
        assert run.outcome is Outcome.PASSED
        return log.read_text().count("ran")

    assert await stop() == 1
    values, ran = dict(SPEC), []
    for phase in Phase:
        done = await skills.run(phase, room.request({"impl_path": "calc.py", **values}), room.told.append)
        assert done.verified, done.message
        values["test_path"] = "tests/test_sub.py"
        ran.append(log.read_text().count("ran"))
    assert (ran, await stop()) == ([2, 3, 4], 4)


async def test_values_of_the_test_in_the_code_are_told(room: Room) -> None:
    code = SUB.replace("a - b", "17")
    result = await room.phase(Phase.GREEN, RED_DONE, GREEN, writes({"calc.py": code}))

    assert result.verified
    assert "repeats values of the test (17)" in result.message


KNOWS: Final = 'import sys\n\n\ndef sub(a, b):\n    return 17 if "pytest" in sys.modules else 0\n'
CHEATS: Final[Mapping[str, tuple[dict[str, str | None], str]]] = {
    "skips the test": ({"tests/test_sub.py": "def test_sub():\n    pass\n"}, "changed: tests/test_sub.py"),
    "deletes another": ({"calc.py": SUB, "tests/test_calc.py": None}, "changed: tests/test_calc.py"),
    "leaves it out": (
        {"calc.py": SUB, "conftest.py": "collect_ignore = ['tests/test_sub.py']\n"},
        "conftest.py",
    ),
    "breaks another": ({"calc.py": SUB.replace("a + b", "a")}, "fail now: tests/test_calc.py::test_add"),
    "does not do it": ({"calc.py": SUB.replace("a - b", "a")}, "does not pass: tests/test_sub.py::test_sub"),
    "knows that it is under test": (
        {"calc.py": PYTHON["calc.py"] + KNOWS},
        "gets around its checks: calc.py",
    ),
}


@pytest.mark.parametrize("case", CHEATS)
async def test_green_drops(room: Room, case: str) -> None:
    files, said = CHEATS[case]
    result = await room.phase(Phase.GREEN, RED_DONE, GREEN, writes(files))

    assert (result.status, result.verified) == ("fail", False)
    assert said in result.message
    assert room.holds(RED_DONE)


OLD: Final = {"tests/test_old.py": "def test_old():\n    assert False\n"}


async def test_a_test_that_failed_before_hinders_no_phase(room: Room) -> None:
    """The values of the first phase go along, as `supervisor tdd` and its tools pass them."""
    red = await room.phase(Phase.RED, PYTHON | OLD, SPEC, WRITES_TEST)
    green = await room.phase(Phase.GREEN, {}, SPEC | {"test_path": red.file_path}, writes({"calc.py": SUB}))

    assert (red.verified, green.verified) == (True, True), (red.message, green.message)


@pytest.mark.parametrize(
    ("test", "verified"),
    [
        ("def test_v():\n    assert 1 == 2\n", False),
        ("def test_v():\n    from calc import add\n    assert add('1', '2') == 3\n", True),
    ],
    ids=["nothing of the product", "the product"],
)
async def test_a_test_that_never_looks_at_the_product_fails_for_no_reason(
    room: Room, test: str, *, verified: bool
) -> None:
    result = await room.phase(Phase.RED, PYTHON, SPEC, writes({"tests/test_v.py": test}))

    assert result.verified is verified
    assert ("without a look at the product" in result.message) is not verified


async def test_a_module_that_a_test_waits_for_is_no_missing_package(room: Room) -> None:
    waits = {"test_slug.py": "from slug import slugify\n\n\ndef test_slug():\n    assert slugify('a')\n"}
    result = await room.phase(Phase.RED, waits, SPEC, WRITES_TEST, test_cmd="python -m pytest -q")

    assert (result.status, room.workers.tasks) == ("error", [])
    assert "slug is not written yet, and these tests wait for it: test_slug.py" in result.message


async def test_all_that_a_worker_makes_is_applied_or_it_is_told_why_not(room: Room) -> None:
    def links_out(folder: Path) -> dict[str, Any]:
        (folder / "all").symlink_to("/etc")
        return writes({"calc.py": SUB})(folder)

    def makes_all(folder: Path) -> dict[str, Any]:
        (folder / "app.db").write_bytes(b"\0" * (1 << 20))
        (folder / "again.py").symlink_to("calc.py")
        return writes({"calc.py": SUB})(folder)

    result = await room.phase(Phase.GREEN, RED_DONE, GREEN, links_out, makes_all)

    assert (result.verified, result.attempts) == (True, 2), result.message
    assert "all is a link out of the project, to /etc" in room.workers.tasks[1].prompt
    assert (room.project / "app.db").read_bytes() == b"\0" * (1 << 20)
    assert (room.project / "again.py").readlink() == Path("calc.py")


async def test_a_worker_that_says_it_cannot_be_done_is_not_asked_again(room: Room) -> None:
    cannot = writes({}, status="fail", message="it is there already")
    result = await room.phase(Phase.RED, SHELL, SPEC, cannot, test_cmd="sh run.sh")

    assert (result.status, result.attempts) == ("fail", 1)
    assert "it is there already" in result.message


SHELL: Final = {
    "run.sh": "for c in cases/*.sh; do sh $c || { echo FAIL $c; bad=1; }; done; exit ${bad:-0}\n",
    "lib.sh": "add() { echo $(($1 + $2)); }\n",
    "cases/add.sh": '. ./lib.sh; [ "$(add 1 2)" = 3 ]\n',
}


async def test_where_no_layout_tells_what_a_test_is_the_run_does(room: Room) -> None:
    case = {"cases/sub.sh": '. ./lib.sh; [ "$(sub 3 2)" = 1 ]\n'}
    code = {"lib.sh": SHELL["lib.sh"] + "sub() { echo $(($1 - $2)); }\n"}
    red = await room.phase(Phase.RED, SHELL, SPEC, writes(dict(case)), test_cmd="sh run.sh")
    path = {"test_path": str(room.project / red.file_path)}
    green = await room.phase(Phase.GREEN, {}, path, writes(dict(code)), test_cmd="sh run.sh")

    assert (red.verified, red.file_path, green.verified) == (True, "cases/sub.sh", True), red.message
    assert room.holds(SHELL | case | code)


async def test_a_refactoring_needs_a_file_and_is_no_work_where_nothing_changes(room: Room) -> None:
    values = {"test_path": "cases/add.sh", "impl_path": "nope.sh"}
    refused = await room.phase(Phase.REFACTOR, SHELL, values, writes({}), test_cmd="sh run.sh")
    values["impl_path"] = "./lib.sh"
    idle = await room.phase(Phase.REFACTOR, {}, values, writes({}), test_cmd="sh run.sh")

    assert (refused.status, "There is no file nope.sh" in refused.message) == ("error", True)
    assert (idle.status, idle.verified, "nothing to improve" in idle.message) == ("pass", False, True)


async def test_a_refactoring_that_breaks_a_test_leaves_every_byte_as_it_was(room: Room) -> None:
    lay_out(room.project, PYTHON)
    (room.project / "calc.py").write_bytes(b"# \xff latin\r\n" + PYTHON["calc.py"].encode())
    before = everything(room.project)
    worse = writes({"calc.py": "def add(first, second):\n    return first\n", "new.py": "x = 1\n"})
    result = await room.skills(worse).run(Phase.REFACTOR, room.request(REFACTOR), room.told.append)

    assert (result.status, result.verified) == ("fail", False)
    assert everything(room.project) == before


async def test_a_refactoring_under_green_tests_comes_into_the_project(room: Room) -> None:
    code = "def add(first, second):\n    return first + second\n"
    result = await room.phase(Phase.REFACTOR, PYTHON, REFACTOR, writes({"calc.py": code}))

    assert result.verified
    assert room.holds({**PYTHON, "calc.py": code})


@pytest.mark.long
async def test_node_red_and_green(room: Room) -> None:
    red = await room.phase(Phase.RED, NODE, SPEC, writes({"sub.test.js": SUB_TEST_JS}))
    green = await room.phase(Phase.GREEN, {}, {"test_path": red.file_path}, writes({"calc.js": SUB_JS}))

    assert (red.verified, red.file_path, green.verified) == (True, "sub.test.js", True)
    assert room.holds({**NODE, "sub.test.js": SUB_TEST_JS, "calc.js": SUB_JS})


@pytest.mark.long
async def test_the_first_module_of_an_empty_project(room: Room) -> None:
    """The missing module is what the test is about, and no fault of the installation."""
    room.project.mkdir()
    test = {
        "test_slug.py": "from slug import slugify\n\ndef test_slug():\n    assert slugify('a b') == 'a-b'\n"
    }
    command = {"test_cmd": "python -m pytest -q"}
    spec = {"spec": "slugify turns spaces into hyphens"}
    red = await room.phase(Phase.RED, {}, spec, writes(dict(test)), **command)
    code = {"slug.py": "def slugify(text):\n    return text.replace(' ', '-')\n"}
    green = await room.phase(Phase.GREEN, {}, {"test_path": "test_slug.py"}, writes(dict(code)), **command)

    assert (red.verified, green.verified) == (True, True), (red.message, green.message)
    assert room.holds(test | code)


async def test_a_skill_answers_and_what_it_wrote_is_dropped(room: Room) -> None:
    lay_out(room.project, PYTHON)
    found = {
        "verdict": "rejected",
        "summary": "s",
        "issues": [{"severity": "major", "file": "a", "description": "d"}],
    }

    def reviews(folder: Path) -> dict[str, Any]:
        (folder / "calc.py").write_text("")
        return found

    result = await room.skills(reviews).run("review", room.request({"request": "calc.py"}), room.told.append)

    assert result.status == "pass"
    assert (answer := result.answer)
    assert (answer["verdict"], answer["issues"][0]["line"]) == ("rejected", 0)
    assert "calc.py" in room.workers.tasks[0].prompt
    assert room.holds(PYTHON)
