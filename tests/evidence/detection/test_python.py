"""Which checks a Python package offers, and by which sign."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.detection.python import PYTEST_COMMAND
from sidecar.kernel.gate import Gate, Kind
from support.projects import lay, offered

UNITTEST = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
BANDIT = "bandit -q -r . -x ./.git,./.nox,./.tox,./.venv,./venv,./node_modules"


def only(project: Path, kind: Kind, path: str = "") -> Gate | None:
    found = [gate for gate in detect_gates(project, {"PATH": path}) if gate.kind is kind]
    assert len(found) < 2
    return found[0] if found else None


@pytest.mark.parametrize(
    ("files", "command", "sign"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, PYTEST_COMMAND, "[tool.pytest.ini_options]"),
        ({"pyproject.toml": "[tool.pytest]\naddopts = ['-q']"}, PYTEST_COMMAND, "[tool.pytest]"),
        ({".pytest.ini": ""}, PYTEST_COMMAND, ".pytest.ini"),
        ({"setup.cfg": "[tool:pytest]\naddopts = -q"}, PYTEST_COMMAND, "[tool:pytest]"),
        ({"tox.ini": "[pytest]"}, PYTEST_COMMAND, "tox.ini has [pytest]"),
        ({"tests/conftest.py": ""}, PYTEST_COMMAND, "conftest.py"),
        ({"requirements-dev.txt": "pytest>=8"}, PYTEST_COMMAND, "requirements-dev.txt lists pytest"),
        ({"requirements/dev.txt": "pytest"}, PYTEST_COMMAND, "requirements/dev.txt lists pytest"),
        (
            {"setup.py": "setup(extras_require={'t': ['pytest >= 3']})"},
            PYTEST_COMMAND,
            "setup.py lists pytest",
        ),
        ({"Pipfile": "[dev-packages]\npytest = '*'"}, PYTEST_COMMAND, "Pipfile lists pytest"),
        (
            {"setup.cfg": "[options.extras_require]\nx =\n  PyTest\n"},
            PYTEST_COMMAND,
            "setup.cfg lists pytest",
        ),
        (
            {"pyproject.toml": "[dependency-groups]\nx = ['pytest']"},
            PYTEST_COMMAND,
            "pyproject.toml lists pytest",
        ),
        (
            {"pyproject.toml": "[tool.poetry.group.x.dependencies]\npytest = '8'"},
            PYTEST_COMMAND,
            "lists pytest",
        ),
        (
            {"tests/a_test.py": "def test_a(): pass", "tox.ini": "[testenv]\ncommands=x"},
            PYTEST_COMMAND,
            "tox.ini",
        ),
        (
            {"pyproject.toml": "[tool.pytest]", "noxfile.py": "x"},
            PYTEST_COMMAND,
            "faster alone than by way of nox",
        ),
        ({"tests/test_a.py": UNITTEST}, "python3 -m unittest discover -s tests", "unittest's"),
        ({"tests/test_a.py": UNITTEST, "tests/__init__.py": ""}, "python3 -m unittest discover", "test_a.py"),
        ({"test_a.py": UNITTEST, "setup.py": ""}, "python3 -m unittest discover", "test_a.py"),
        ({"test_a.py": UNITTEST, "test_b.py": "def test_b(): pass"}, PYTEST_COMMAND, "test_b.py"),
        ({"test_a.py": "from unittest import mock\ndef test_b(): pass"}, PYTEST_COMMAND, "test_a.py"),
        ({"test_a.py": UNITTEST, "requirements.txt": "pytest"}, PYTEST_COMMAND, "lists pytest"),
        ({"tox.ini": "[testenv]\ncommands =\n  stestr run\n"}, "tox -q -e py", "tox.ini has commands"),
        ({"tox.ini": "[testenv:unit]\ncommands = stestr run"}, "tox -q", "tox.ini has commands"),
        ({"noxfile.py": "def tests(session):\n  pass"}, "nox --non-interactive -s tests", "noxfile.py"),
        ({"noxfile.py": "def other(session):\n  pass"}, "nox --non-interactive", "noxfile.py"),
        ({"manage.py": "import django"}, "python3 manage.py test", "Django"),
    ],
)
def test_the_tests_have_the_runner_of_the_best_sign(
    files: dict[str, str], command: str, sign: str, tmp_path: Path
) -> None:
    found = only(lay(tmp_path, files), Kind.TESTS)
    assert found is not None
    assert (found.command, found.id, found.counts) == (command, "tests", True)
    assert sign in found.why


NPM = {"package.json": '{"scripts": {"test": "jest"}}'}
CART = {**NPM, "api/cart.py": "total = sum\n"}
DJANGO = {"backend/manage.py": "import django", "backend/requirements/base.txt": "django"}
SOME = "\n\ndef test_a(): pass\n"
DEEP = f"{PYTEST_COMMAND} in api"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({**CART, "requirements.txt": "flask", "api/tests/test_a.py": f"from cart import total{SOME}"}, DEEP),
        (
            {**CART, "requirements.txt": "pytest", "api/tests/test_a.py": f"from cart import total{SOME}"},
            DEEP,
        ),
        ({**CART, "api/tests/unit/test_a.py": f"import cart{SOME}"}, DEEP),
        ({**CART, "api/test_a.py": f"import cart{SOME}"}, PYTEST_COMMAND),
        ({**CART, "requirements.txt": "pytest", "api/test_a.py": f"import cart{SOME}"}, PYTEST_COMMAND),
        ({**CART, "api/tests/test_a.py": f"from api.cart import total{SOME}"}, PYTEST_COMMAND),
        ({**CART, "requirements.txt": "flask", "api/tests/test_a.py": SOME}, PYTEST_COMMAND),
        (
            {**CART, "api/tests/test_a.py": f"import cart\n{UNITTEST}"},
            "python3 -m unittest discover -s tests in api",
        ),
        (
            {**CART, "api/tests/test_a.py": f"import api.cart\n{UNITTEST}"},
            "python3 -m unittest discover -s api/tests",
        ),
        ({**NPM, **DJANGO, "backend/shop/tests/test_a.py": SOME}, "python3 manage.py test in backend"),
        (
            {**NPM, "backend/requirements/dev.txt": "pytest", "backend/shop/tests/test_a.py": SOME},
            f"{PYTEST_COMMAND} in backend",
        ),
        ({**NPM, "backend/Pipfile": "", "backend/tests/test_a.py": SOME}, f"{PYTEST_COMMAND} in backend"),
        ({**NPM, "tools/gyp/test_a.py": f"import os{SOME}"}, ""),
        ({**NPM, "examples/a/x.py": "", "examples/a/test_a.py": f"import x{SOME}"}, ""),
    ],
)
def test_tests_deep_in_the_tree_are_gates_beside_those_of_the_root(
    files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    gates = [gate for gate in detect_gates(lay(tmp_path, files), {}) if gate.kind is Kind.TESTS]
    named = [f"{gate.command} in {gate.folder}".removesuffix(" in ") for gate in gates]
    assert named == ["npm test", *([expected] if expected else [])]


@pytest.mark.parametrize(
    ("sign", "command", "why"),
    [
        ("tox.ini", "tox -q -e py", "tox.ini has commands, but tox is not installed"),
        ("noxfile.py", "nox --non-interactive", "the project has a noxfile.py, but nox is not installed"),
    ],
)
def test_a_starter_that_is_not_installed_gives_way_to_what_runs_the_tests(
    sign: str, command: str, why: str, tmp_path: Path
) -> None:
    project = lay(tmp_path / "project", {sign: "[testenv]\ncommands = x", "test_a.py": UNITTEST})
    found = only(project, Kind.TESTS)
    assert found is not None
    assert (found.command, found.why) == (
        "python3 -m unittest discover",
        f"tests such as test_a.py are unittest's; {why}",
    )
    for folder in (tmp_path / "bin", project / ".venv" / "bin"):
        for program in ("python", command.partition(" ")[0]):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / program).touch(0o755)
        found = only(project, Kind.TESTS, str(folder) if folder.parent == tmp_path else "")
        assert found is not None
        assert found.command == command
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("commands", "command"),
    [
        ("pytest {posargs}\n  python -m unittest discover old", "tox -q -e py"),
        ("pytest {posargs}\n  ruff check", PYTEST_COMMAND),
        ("python -m unittest", PYTEST_COMMAND),
    ],
)
def test_an_installed_tox_that_runs_more_tests_than_pytest_is_the_gate(
    commands: str, command: str, tmp_path: Path
) -> None:
    lay(tmp_path, {"tox.ini": f"[pytest]\n[testenv]\ncommands =\n  {commands}\n", "bin/tox": ""})
    (tmp_path / "bin/tox").chmod(0o755)
    found = only(tmp_path, Kind.TESTS, str(tmp_path / "bin"))
    assert found is not None
    assert found.command == command
    without = only(tmp_path, Kind.TESTS)
    assert without is not None
    assert without.command == PYTEST_COMMAND


def test_what_tox_and_nox_run_stands_behind_them(tmp_path: Path) -> None:
    lay(tmp_path, {"tox.ini": "[testenv]\ncommands =\n  one\n  two\n[testenv:b]\ncommands = three"})
    found = only(tmp_path, Kind.TESTS)
    assert found is not None
    assert found.behind == "one\ntwo\nthree"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject.toml": "[tool.mypy]"}, {"types": "mypy ."}),
        ({"pyproject.toml": "[tool.mypy]\nfiles = ['a']"}, {"types": "mypy"}),
        ({"mypy.ini": "[mypy]\npackages = a"}, {"types": "mypy"}),
        ({"setup.cfg": "[mypy]\nstrict = true"}, {"types": "mypy ."}),
        ({"requirements.txt": "mypy"}, {"types": "mypy ."}),
        ({"pyrightconfig.json": "{}"}, {"types": "pyright"}),
        ({"pyproject.toml": "[tool.pyright]\n[tool.basedpyright]"}, {"types": "basedpyright"}),
        ({"pyproject.toml": "[tool.mypy]\n[tool.pyright]"}, {"types": "mypy .", "types:pyright": "pyright"}),
        ({"ty.toml": ""}, {"types": "ty check"}),
        ({"ruff.toml": ""}, {"lint": "ruff check --no-fix ."}),
        ({"pyproject.toml": "[tool.ruff.lint]"}, {"lint": "ruff check --no-fix ."}),
        ({"pyproject.toml": "[tool.ruff.format]"}, {}),
        ({"requirements.txt": "ruff==1"}, {"lint": "ruff check --no-fix ."}),
        ({"ruff.toml": "", ".flake8": ""}, {"lint": "ruff check --no-fix .", "lint:flake8": "flake8"}),
        ({"tox.ini": "[flake8]"}, {"lint": "flake8"}),
        ({".pylintrc": ""}, {"lint": "pylint --recursive=y ."}),
        ({"requirements.txt": "flake8\npylint\n"}, {}),
        (
            {"requirements.txt": "bandit\npip_audit\n"},
            {"security": BANDIT, "security:pip-audit": "pip-audit"},
        ),
        ({"pyproject.toml": "[tool.bandit]\nskips = []"}, {"security": f"{BANDIT} -c pyproject.toml"}),
        ({"a.py": "", "requirements.txt": "# mypy, ruff\nflask"}, {}),
    ],
)
def test_a_tool_is_listed_when_it_is_set_up_or_listed(
    files: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    found = offered(tmp_path, files)
    assert {name: line for name, line in found.items() if name != "tests"} == expected


def test_tools_run_beside_others_and_tests_do_not(tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": "[tool.mypy]\n[tool.ruff]\n[tool.bandit]\na=1\n[tool.pytest]"})
    assert {gate.id: gate.alone for gate in detect_gates(tmp_path, {})} == {
        "tests": True,
        "types": False,
        "lint": False,
        "security": False,
    }


@pytest.mark.parametrize(
    ("files", "command", "least"),
    [
        ({"pytest.ini": "[pytest]\naddopts = --cov=a --cov-fail-under=80"}, PYTEST_COMMAND, 80),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\naddopts=['--cov','--cov-fail-under=7.5']"},
            PYTEST_COMMAND,
            7.5,
        ),
        (
            {".coveragerc": "[report]\nfail_under = 90", "requirements.txt": "pytest-cov\npytest"},
            f"{PYTEST_COMMAND} --cov",
            90,
        ),
        (
            {"pyproject.toml": "[tool.pytest]\n[tool.coverage.report]\nfail_under = 85"},
            "coverage run -m pytest -q && coverage report",
            85,
        ),
        (
            {
                "setup.cfg": "[coverage:report]\nfail_under: 60\n[coverage:run]\nparallel = True",
                "a_test.py": UNITTEST,
            },
            "coverage run -m unittest discover && coverage combine && coverage report",
            60,
        ),
        ({"pyproject.toml": "[tool.pytest]\n[tool.coverage.report]\nfail_under = 0"}, None, None),
        ({"pyproject.toml": "[tool.pytest]\n[tool.coverage.report]\nfail_under = 'x'"}, None, None),
        ({"tox.ini": "[testenv]\ncommands = x\n[coverage:report]\nfail_under = 60"}, None, None),
    ],
)
def test_coverage_is_a_gate_where_a_least_is_set(
    files: dict[str, str], command: str | None, least: float | None, tmp_path: Path
) -> None:
    found = only(lay(tmp_path, files), Kind.COVERAGE)
    assert (found and found.command, found and found.least) == (command, least)
    assert found is None or (found.alone and not found.counts)
