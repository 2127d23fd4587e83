"""The lines of a change that a check runs are counted by the coverage.py that the project has."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof.covered import count_run_lines
from sidecar.kernel.evidence import FileChange
from sidecar.kernel.gate import Gate, Kind
from support.loops import run

pytestmark = pytest.mark.process

BEFORE = """def f(x):
    if x:
        return 1
    return 2
"""
AFTER = """def f(x):
    if x:
        return int(
            1
        )
    y = 2
    return y


def g():
    return 3
"""
TEST = (
    "import unittest, m\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        assert m.f(1) == 1\n"
)


@pytest.mark.parametrize(
    ("command", "path", "folder", "counted"),
    [
        ("python -m unittest -q", Path(sys.executable).parent, "", (2, 5)),
        ("python -m unittest -q", Path(sys.executable).parent, "packages/a", (2, 5)),
        ("python -m unittest missing", Path(sys.executable).parent, "", (0, 0)),
        ("python -m unittest -q", Path("/nonexistent"), "", (0, 0)),
    ],
    ids=["counted", "in a package", "nothing ran", "no coverage.py"],
)
def test_changed_lines_that_a_check_runs_are_counted_and_nothing_is_written(  # noqa: PLR0913, PLR0917 - a table
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    path: Path,
    folder: str,
    counted: tuple[int, int],
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    place = tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "m.py").write_text(AFTER, encoding="utf-8")
    (place / "test_m.py").write_text(TEST, encoding="utf-8")
    (place / ".coveragerc").write_text("[run]\nomit = *\n", encoding="utf-8")
    files = (FileChange(path=str(Path(folder, "m.py")), before=BEFORE, after=AFTER),)
    environment = {**os.environ, "PATH": str(path), "VIRTUAL_ENV": "", "PYTHONDONTWRITEBYTECODE": "1"}
    at = GateContext(project=str(tmp_path), tree="", environment=environment)
    gate = Gate(id="tests", command=command, folder=folder, kind=Kind.TESTS, why="")
    before = sorted(tmp_path.rglob("*"))
    assert run(count_run_lines(gate, at, files, 60.0)) == counted
    assert sorted(tmp_path.rglob("*")) == before
