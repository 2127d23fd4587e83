"""A run of another copy of the package than this project's has neither passed nor failed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import py_compile
import sys
from pathlib import Path

import pytest

from sidecar.evidence.gates.origins import find_other_copy, find_unexplained_changes
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from support.loops import run

PYTEST = Gate(id="tests", command="python3 -m pytest -q", why="", kind=Kind.TESTS, counts=True)
TEST = "from shopkit import total\n\n\ndef test_total():\n    assert total() == 1\n"


def gate(project: Path, **environment: str) -> GateRun:
    session = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    at = GateContext(project=str(project), tree="t", environment={**session, "PATH": path, **environment})
    return run(run_gate_once(PYTEST, at, 60))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A source layout whose package is broken, and a good copy of it that is installed elsewhere."""
    for folder, value in (("project/src/shopkit", 2), ("installed/shopkit", 1)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text(f"def total():\n    return {value}\n")
    (tmp_path / "project" / "test_total.py").write_text(TEST)
    return tmp_path / "project"


@pytest.mark.process
def test_a_pass_of_an_installed_copy_could_not_run_and_says_which(project: Path) -> None:
    installed = project.parent / "installed"
    found = gate(project, PYTHONPATH=str(installed))
    assert found.outcome is Outcome.COULD_NOT_RUN
    assert found.reason == (
        f"it tested another copy: shopkit from {installed}/shopkit; install this one, for example with: "
        "pip install -e ."
    )


@pytest.mark.process
def test_the_projects_own_copy_is_tested_and_nothing_of_ours_is_inherited(project: Path) -> None:
    assert gate(project, PYTHONPATH=str(project / "src")).outcome is Outcome.FAILED
    (project / "test_total.py").write_text(
        "import os, sys\n\n\ndef test_environment():\n"
        "    assert os.environ.get('PYTEST_ADDOPTS') == '-p no:cacheprovider'\n"
        f"    assert os.environ['PYTHONPATH'] == {str(project / 'src')!r}\n"
        "    assert not any('supervisor' in path for path in sys.path if 'pytest' not in path)\n"
    )
    found = gate(project, PYTHONPATH=str(project / "src"), PYTEST_ADDOPTS="-p no:cacheprovider")
    assert found.outcome is Outcome.PASSED, found.output


@pytest.mark.process
@pytest.mark.parametrize("of", ["src/shopkit/__init__.py", "test_total.py"])
def test_compiled_code_of_other_content_decides_nothing(project: Path, of: str) -> None:
    """Planted as "unchecked", or left by a version of the same size and second: it would be loaded."""
    bytecode = gate(project, PYTHONPATH=str(project / "src"), PYTHONDONTWRITEBYTECODE="")
    assert bytecode.outcome is Outcome.FAILED
    source, better = project / of, project.parent / "better.py"
    better.write_text(source.read_text().replace("return 2", "return 1").replace("== 1", "== 2"))
    tag = f"{sys.implementation.cache_tag}{f'-pytest-{pytest.__version__}' * of.startswith('test')}"
    cached = source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc"
    py_compile.compile(
        str(better), str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    if of.startswith("test"):  # pytest looks at time and size
        about = source.stat()
        head = (int(about.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + about.st_size.to_bytes(4, "little")
        cached.write_bytes(cached.read_bytes()[:4] + bytes(4) + head + cached.read_bytes()[16:])
    found = gate(project, PYTHONPATH=str(project / "src"))
    assert found.outcome is Outcome.FAILED, found.output


@pytest.mark.process
def test_a_package_that_is_not_installed_is_no_failure_and_one_of_the_projects_own_is(project: Path) -> None:
    assert gate(project).outcome is Outcome.FAILED, "shopkit is the project's own"
    (project / "test_total.py").write_text("import frozen_clock\n")
    found = gate(project)
    assert (found.outcome, found.reason) == (
        Outcome.COULD_NOT_RUN,
        "frozen_clock is not installed; type: pip install frozen_clock",
    )


@pytest.mark.process
def test_settings_and_a_conftest_above_the_project_that_came_during_the_work_are_told(project: Path) -> None:
    (project / "test_total.py").write_text("def test_a():\n    pass\n")
    above = project.parent
    (above / "pytest.ini").write_text("[pytest]\naddopts = --deselect test_total.py::test_b\n")
    (above / "conftest.py").write_text("")
    begun = (above / "conftest.py").stat().st_ctime
    line = "python3 -m pytest -q ../conftest.py ."
    session = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    environment = {**session, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def unexplained(since: float) -> tuple[str, ...]:
        at = GateContext(project=str(project), tree="t", environment=environment, since=since)
        return run(run_gate_once(Gate(id="check:1", command=line, why=""), at, 60)).unexplained

    assert unexplained(begun - 1) == (str(above / "conftest.py"), str(above / "pytest.ini"))
    assert unexplained(begun + 3600) == ()


def test_a_patched_runner_is_told_and_one_as_its_installer_wrote_it_is_not(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "site-packages"
    (site / "runner").mkdir(parents=True)
    (site / "runner-1.dist-info").mkdir()
    files = {
        name: site / name for name in ("runner/good.py", "runner/patched.py", "sitecustomize.py", "late.pth")
    }
    for file in files.values():
        file.write_text("x = 1\n")
    raw = hashlib.sha256(b"x = 1\n").digest()
    digest = f"sha256={base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"
    record = f"runner/good.py,{digest},6\nrunner/patched.py,{digest},6\nrunner-1.dist-info/RECORD,,\n"
    (site / "runner-1.dist-info" / "RECORD").write_text(record)
    files["runner/patched.py"].write_text("x = 2\n")
    written, project = tmp_path / "written", tmp_path / "project"
    written.mkdir()
    project.mkdir()
    loaded = {name: str(file) for name, file in files.items() if file.suffix == ".py"}
    (written / "origins-1.json").write_text(json.dumps(loaded))
    assert set(find_unexplained_changes(written, project, 1.0)) == {
        str(files["runner/patched.py"]),
        str(files["sitecustomize.py"]),
        str(files["late.pth"]),
    }
    assert len(find_unexplained_changes(written, tmp_path, 1.0)) == 3, "an environment inside the project"
    assert find_unexplained_changes(written, project, files["late.pth"].stat().st_ctime + 3600) == ()


def test_a_copy_with_the_same_content_is_this_projects_code(tmp_path: Path) -> None:
    """So tox and nox test: they install what they were called for."""
    for place, value in (("src/shop", 1), (".venv/lib/site-packages/shop", 1), ("elsewhere/shop", 2)):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "__init__.py").write_text("")
        (tmp_path / place / "cart.py").write_text(f"x = {value}\n")
        (tmp_path / place / "_version.py").write_text(f"version = '{place}'\n")
    written = tmp_path / "written"
    written.mkdir()

    def other(place: str) -> str:
        loaded = {
            f"shop.{name}".removesuffix(".__init__"): str(tmp_path / place / f"{name}.py")
            for name in ("__init__", "_version", "gone", "cart")
        }
        (written / "origins-1.json").write_text(json.dumps(loaded))
        return find_other_copy(written, tmp_path, tmp_path)

    assert other(".venv/lib/site-packages/shop") == ""
    assert other("elsewhere/shop") == "", "a file of the project is its own, wherever it lies"
    assert find_other_copy(written, tmp_path, tmp_path / "src") == f"shop.cart from {tmp_path}/elsewhere/shop"
    for place in ("src/shop", ".venv/lib/site-packages/shop"):
        (tmp_path / place / "conversion.py").write_text(place)
    converts = str(tmp_path / ".venv/lib/site-packages/shop/conversion.py")
    (written / "origins-1.json").write_text(json.dumps({"shop.conversion": converts}))
    assert find_other_copy(written, tmp_path, tmp_path).startswith("shop.conversion from "), "no version"
    (tmp_path / "src/shop/cart.py").write_text("x = broken\n")
    installed = f"{tmp_path}/.venv/lib/site-packages/shop"
    assert other(".venv/lib/site-packages/shop") == f"shop.cart from {installed}"
