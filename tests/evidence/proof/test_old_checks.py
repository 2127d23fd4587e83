"""Old checks on new code, with real files, git and commands: what a copy holds, and what it shows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.evidence.ports import CopyVersion
from sidecar.evidence.proof.policy import rate_comparison
from sidecar.kernel.effects import Wanted
from sidecar.kernel.evidence import CheckChange, FileBaseline
from sidecar.kernel.gate import Outcome
from support.checked_projects import Project, check
from support.git_projects import everything
from support.loops import run

pytestmark = pytest.mark.process
WRONG, RIGHT = "def minus(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"
TEST = "from calc import minus\n\n\ndef test_minus():\n    assert minus(3, 2) == 1\n"


def written_by_hand(project: Project) -> dict[str, tuple[int, bytes]]:
    """All files but those that git and pytest write beside them."""
    return {name: found for name, found in everything(project.folder).items() if not name.startswith(".")}


Begun = Callable[[dict[str, str]], Project]


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    def begin(files: dict[str, str]) -> Project:
        project = Project(tmp_path, files)
        project.begin()
        return project

    return begin


def test_a_bent_test_is_exposed_by_the_old_one_and_the_project_is_not_touched(begun: Begun) -> None:
    project = begun({"calc.py": WRONG, "test_calc.py": TEST})
    project.write({"test_calc.py": TEST.replace("== 1", "== 5")})
    before = written_by_hand(project)
    (comparison,) = project.compare()
    (finding,) = rate_comparison(comparison)
    assert (finding.change, finding.file) == (CheckChange.OLD_FAILURE_REMAINS, "test_calc.py")
    assert finding.after == "test_calc.py::test_minus: assert 5 == 1"
    assert written_by_hand(project) == before


@pytest.mark.parametrize(
    "added",
    [
        {"conftest.py": "collect_ignore = ['test_calc.py']\n"},
        {"pytest.py": "print('1 passed in 0.01s')\n"},
        pytest.param(
            {"pytest.ini": "[pytest]\naddopts = --deselect test_calc.py::test_minus\n"},
            marks=pytest.mark.long,
        ),
        pytest.param({"quarantine.txt": "test_minus\n"}, marks=pytest.mark.long),
        {"test_calc.py": ""},
    ],
)
def test_whatever_makes_a_failure_go_away_is_exposed(added: dict[str, str], begun: Begun) -> None:
    quarantine = (
        "from pathlib import Path\n\n\ndef pytest_collection_modifyitems(items):\n"
        "    left_out = Path(__file__).with_name('quarantine.txt').read_text().split()\n"
        "    items[:] = [item for item in items if item.name not in left_out]\n"
    )
    other = "def test_b():\n    assert 1 + 1 == 2\n"
    project = begun(
        {
            "calc.py": WRONG,
            "test_calc.py": TEST,
            "test_plus.py": other,
            "conftest.py": quarantine,
            "quarantine.txt": "",
        }
    )
    project.write(added)
    assert CheckChange.OLD_FAILURE_REMAINS in project.found()


def test_honest_work_is_cleared_whatever_became_of_the_tests(begun: Begun) -> None:
    project = begun({"calc.py": WRONG, "test_calc.py": TEST})
    (project.folder / "test_calc.py").unlink()
    rows = "import pytest\n\nfrom calc import minus\n\n\n@pytest.mark.parametrize('a', [3, 4])\n"
    project.write(
        {"calc.py": RIGHT, "tests/test_minus.py": f"{rows}def test_it(a):\n    assert minus(a, a) == 0\n"}
    )
    project.write({"conftest.py": ""})
    assert project.found() == []


@pytest.mark.parametrize("command", ["python -m pytest -q test_new.py", "python -m unittest -q test_new"])
def test_a_typed_check_whose_file_comes_with_the_work_accuses_nobody(command: str, begun: Begun) -> None:
    project = begun({"calc.py": RIGHT, "test_calc.py": TEST})
    test = "import unittest\n\n\nclass New(unittest.TestCase):\n    def test_new(self):\n        import new\n"
    project.write({"new.py": "", "test_new.py": test})
    (comparison,) = project.compare(check(command))
    assert rate_comparison(comparison) == ()


def test_a_new_name_in_code_and_tests_is_a_changed_expectation(begun: Begun) -> None:
    project = begun({"calc.py": RIGHT, "test_calc.py": TEST})
    project.write({"calc.py": RIGHT.replace("minus", "less"), "test_calc.py": TEST.replace("minus", "less")})
    assert project.found() == [CheckChange.EXPECTATION_CHANGED]


PLUS = "def plus(a, b):\n    return a + b\n"
ADDED = "import calc\n\n\ndef test_plus():\n    assert calc.plus(3, 2) == 5\n"


@pytest.mark.parametrize(
    ("added", "noticed"),
    [
        (ADDED, ("test_plus.py::test_plus",)),
        (
            ADDED.replace("import calc", "from calc import plus").replace("calc.plus", "plus"),
            ("test_plus.py",),
        ),
        (ADDED.replace("calc.plus(3, 2)", "3 + 2"), ()),
        (ADDED.replace("def test", "@__import__('pytest').mark.skip\ndef test"), ()),
    ],
    ids=["fails", "cannot be loaded", "passes, too", "is skipped"],
)
def test_beside_an_old_failure_a_new_test_counts_that_fails_on_the_old_code(
    begun: Begun, added: str, noticed: tuple[str, ...]
) -> None:
    project = begun({"calc.py": WRONG, "test_calc.py": TEST})
    project.write({"calc.py": f"{WRONG}\n\n{PLUS}", "test_plus.py": added})
    (comparison,) = project.compare(wanted=Wanted.PROOF, ended=Outcome.FAILED)
    assert comparison.now.noticed == noticed
    assert comparison.fresh is None, "as a whole it fails with and without the work"


def test_where_no_check_file_changed_nothing_is_compared(begun: Begun) -> None:
    project = begun({"calc.py": WRONG, "test_calc.py": TEST})
    project.write({"calc.py": RIGHT, "notes.json": "{}"})
    assert project.compare() == ()


def test_a_comparison_is_remembered_as_long_as_no_file_changes(begun: Begun) -> None:
    project = begun({"run.log": "", ".gitignore": "run.log\n", "test.sh": "exit 1\n"})
    log = project.folder / "run.log"
    project.write({"test.sh": f"echo ran >> {log}\n"})
    gate = check("sh test.sh")
    first = [one.old.outcome for one in project.compare(gate) if one.old]
    times = log.read_text().count("ran")
    assert [one.old.outcome for one in project.compare(gate) if one.old] == first
    assert log.read_text().count("ran") == times + 1, "the gate itself, and no copy"


def test_without_a_baseline_that_is_said(begun: Begun) -> None:
    project = begun({"calc.py": RIGHT, "test_calc.py": TEST})
    project.base = FileBaseline(unseen="there was no time")
    assert [one.unseen for one in project.compare()] == ["there was no time"]
    assert project.found() == [CheckChange.NOT_COMPARED]


# --- What a copy holds --------------------------------------------------------------------------------------


def test_each_copy_holds_its_version_of_checks_and_code(begun: Begun, tmp_path: Path) -> None:
    names = ("a.py", "gone.py", "test_a.py", "test_gone.py", "data.json")
    project = begun(dict.fromkeys(names, "old"))
    project.write(dict.fromkeys(("a.py", "more.py", "test_a.py", "test_more.py", "data.json"), "new"))
    (project.folder / "gone.py").unlink()
    (project.folder / "test_gone.py").unlink()
    old_code, new_code = {"a.py": "old", "gone.py": "old"}, {"a.py": "new", "more.py": "new"}
    old_checks = {"test_a.py": "old", "test_gone.py": "old"}
    new_checks = {"test_a.py": "new", "test_more.py": "new"}
    old_data, new_data = {"data.json": "old"}, {"data.json": "new"}
    expected = {
        CopyVersion.BASE: old_checks | old_code | old_data,
        CopyVersion.NOW: new_checks | new_code | new_data,
        CopyVersion.WHOLE: new_checks | new_code | new_data,
        CopyVersion.OLD_CHECKS: old_checks | new_code | new_data,
        CopyVersion.ADDED_CHECKS: old_checks | new_code | new_data | {"test_more.py": "new"},
        CopyVersion.NEW_CHECKS: new_checks | old_code | old_data,
        CopyVersion.PRODUCT_ALONE: old_checks | new_code | old_data,
        CopyVersion.BASE_PRODUCT: new_checks | old_code | new_data,
    }
    assert {version: project.copy(version, tmp_path / version) for version in CopyVersion} == expected


def test_environments_are_linked_and_only_old_ignored_files_are_copied(tmp_path: Path) -> None:
    ignored = ".gitignore node_modules/ venv/ build/ __pycache__/ *.env\n".replace(" ", "\n")
    project = Project(tmp_path, {".gitignore": ignored, "build/old.bin": "o", "old.env": "o"})
    project.write(
        {"node_modules/lib/index.js": "x", "__pycache__/a.pyc": "x", "venv/pyvenv.cfg": "home = /usr\n"}
    )
    (project.folder / "node_modules" / "own").symlink_to("../packages/own")
    os.utime(project.folder)
    run(_a_tick())
    project.begin()
    run(_a_tick())
    project.write({"build/new.bin": "n", "new.env": "n"})
    copy = tmp_path / "copy"
    found = project.copy(CopyVersion.OLD_CHECKS, copy)
    assert {"build/old.bin", "old.env"} <= set(found)
    assert not {"build/new.bin", "new.env", "__pycache__/a.pyc"} & set(found)
    assert (copy / "node_modules" / "lib").readlink() == project.folder / "node_modules" / "lib"
    assert (copy / "node_modules" / "own").readlink() == Path("../packages/own")
    assert (copy / "venv" / "pyvenv.cfg").readlink() == project.folder / "venv" / "pyvenv.cfg"


async def _a_tick() -> None:
    """Wait until the clock of the file system has moved on."""
    with tempfile.NamedTemporaryFile() as file:
        begun = os.fstat(file.fileno()).st_ctime_ns
        while os.fstat(file.fileno()).st_ctime_ns == begun:
            os.utime(file.name)
