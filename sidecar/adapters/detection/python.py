"""Python: which runner its tests have, and how much of the code they must cover.

pytest is preferred to tox and nox, which run it slowly, in environments of their own. It needs a sign of its
own: settings, a conftest.py, a dependency, tests that are not unittest's. Without one, what else is there
decides; where nothing is, a file that belongs to Python makes it pytest, weakly.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats, python_tools
from sidecar.adapters.detection.found import Found, one_line, whole
from sidecar.adapters.detection.python_dependencies import listed
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

PYTEST: Final = "python -m pytest -q"
"""The tests of a Python project. It names no interpreter: the project's own is chosen when it runs."""
TEST_FILES: Final = ("test_*.py", "*_test.py")
TEST_FOLDERS: Final = ("tests", "test")
PYTEST_FILES: Final = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
CONFTESTS: Final = ("conftest.py", "tests/conftest.py", "test/conftest.py")
PACKAGE_FILES: Final = ("pyproject.toml", "setup.cfg", "setup.py")
READ: Final = 20
"""Test files that are read to see whose they are."""
UNITTEST: Final = re.compile(r"^[ \t]*(?:import unittest\b|from unittest import\b)", re.MULTILINE)
NOT_UNITTEST: Final = re.compile(
    r"^(?:async )?def test_|^[ \t]*(?:import pytest\b|from pytest\b)", re.MULTILINE
)
NOX_TESTS: Final = re.compile(r"^def (tests?|unit|unit_tests?)\(", re.MULTILINE)
COV: Final = re.compile(r"(?<!\S)--cov(?![\w-])")
COV_FAIL_UNDER: Final = re.compile(r"--cov-fail-under[= ](\d{1,3}(?:\.\d{1,9})?)(?!\S)")


def find(root: Folder) -> Iterator[Found]:
    """Tests, coverage, then the tools."""
    tests = _tests(root)
    if tests:
        yield tests
        yield from _coverage(root, tests)
    yield from python_tools.find(root)


def spans(root: Folder, member: Folder, found: Found) -> bool:
    """Whether the command of the root goes through the member as well."""
    if found.kind is Kind.TESTS and found.tool == "pytest":
        return _collects(root, member)
    if found.kind is Kind.TYPES:
        return not python_tools.set_up(member, Kind.TYPES)
    return found.kind in {Kind.LINT, Kind.SECURITY}


def _collects(root: Folder, member: Folder) -> bool:
    """Whether pytest in the root comes to the member's tests: by testpaths, else unless both are set up."""
    settings = _pytest_settings(root)
    paths = settings.get("testpaths")
    if paths is not None:
        below = member.below(root)
        said = paths.split() if isinstance(paths, str) else formats.strings(paths)
        return any(_reaches(path.removeprefix("./").rstrip("/"), below) for path in said)
    return bool(_set_up(root)) and not _set_up(member)


def _reaches(path: str, folder: str) -> bool:
    """Whether one of them holds the other; `packages/*/tests` goes into `packages/a`."""
    parts, inside = path.split("/"), folder.split("/")
    common = min(len(parts), len(inside))
    return path in {"", "."} or fnmatchcase("/".join(inside[:common]), "/".join(parts[:common]))


# --- tests --------------------------------------------------------------------------------------------------


def _tests(root: Folder) -> Found | None:
    if sign := _pytest_sign(root):
        other = root.has("tox.ini", "noxfile.py")
        more = f"; it is faster alone than by way of {other}" if other else ""
        return Found(kind=Kind.TESTS, tool="pytest", command=PYTEST, why=sign + more)
    return _tox(root) or _nox(root) or _django(root) or _unittest(root) or _weak(root)


def _pytest_sign(root: Folder) -> str:
    if sign := _set_up(root):
        return sign
    if name := root.has(*CONFTESTS):
        return f"the project has a {name}"
    if where := listed(root).get("pytest"):
        return f"{where} lists pytest"
    named = next((path for path in islice(_test_files(root), READ) if not _is_unittest(root, path)), "")
    return f"the project has tests such as {one_line(named)}" if named else ""


def _set_up(root: Folder) -> str:
    if name := root.has(*PYTEST_FILES):
        return f"the project has a {name}"
    tools = formats.table(root.toml("pyproject.toml"), "tool")
    if "pytest" in tools:
        has_options = "ini_options" in formats.table(tools, "pytest")
        return f"pyproject.toml has [tool.pytest{'.ini_options' if has_options else ''}]"
    for name, section in (("setup.cfg", "tool:pytest"), ("tox.ini", "pytest")):
        if section in root.ini(name):
            return f"{name} has [{section}]"
    return ""


def _pytest_settings(root: Folder) -> formats.Table:
    """The settings that pytest would read: the first file that has any."""
    for name in PYTEST_FILES[:2]:
        if root.has(name):
            return dict(root.ini(name).get("pytest", {}))
    pytest = formats.table(root.toml("pyproject.toml"), "tool", "pytest")
    if pytest:
        return formats.table(pytest, "ini_options") or pytest
    return dict(root.ini("tox.ini").get("pytest") or root.ini("setup.cfg").get("tool:pytest") or {})


def _tox(root: Folder) -> Found | None:
    sections = root.ini("tox.ini")
    commands = "\n".join(values.get("commands", "") for values in sections.values()).strip()
    tool = formats.table(root.toml("pyproject.toml"), "tool")
    if not commands and "tox" not in tool and not root.has("tox.toml"):
        return None
    plain = "commands" in sections.get("testenv", {})
    sign = "tox.ini has commands" if commands else "the project sets up tox"
    behind = whole(commands or root.text("tox.toml", "pyproject.toml"))
    command = "tox -q -e py" if plain else "tox -q"
    return Found(kind=Kind.TESTS, tool="tox", command=command, why=sign, behind=behind)


def _nox(root: Folder) -> Found | None:
    text = root.text("noxfile.py")
    if not text:
        return None
    session = NOX_TESTS.search(text)
    command = f"nox --non-interactive -s {session[1]}" if session else "nox --non-interactive"
    why = "the project has a noxfile.py"
    return Found(kind=Kind.TESTS, tool="nox", command=command, why=why, behind=whole(text))


def _django(root: Folder) -> Found | None:
    if "django" not in root.text("manage.py"):
        return None
    command, why = "python3 manage.py test", "manage.py is Django's"
    return Found(kind=Kind.TESTS, tool="django", command=command, why=why)


def _unittest(root: Folder) -> Found | None:
    path = next(_test_files(root), "")
    if not path:
        return None
    folder = path.partition("/")[0] if "/" in path else ""
    # Without an __init__.py the folder is no package, and discovery from the root would not go into it.
    start = f" -s {folder}" if folder and not root.has(f"{folder}/__init__.py") else ""
    why = f"tests such as {one_line(path)} are unittest's"
    command = f"python3 -m unittest discover{start}"
    return Found(kind=Kind.TESTS, tool="unittest", command=command, why=why)


def _weak(root: Folder) -> Found | None:
    name = root.has(*PACKAGE_FILES)
    if not name or root.name:
        return None
    why = f"the project has a {name}"
    return Found(kind=Kind.TESTS, tool="pytest", command=PYTEST, why=why, weak=True)


def _test_files(root: Folder) -> Iterator[str]:
    """Test files in the test folders, then those right in the root."""
    for folder in TEST_FOLDERS:
        yield from root.search(folder, *TEST_FILES)
    yield from root.matching(*TEST_FILES)


def _is_unittest(root: Folder, path: str) -> bool:
    text = root.text(path)
    return "TestCase" in text and bool(UNITTEST.search(text)) and not NOT_UNITTEST.search(text)


# --- coverage -----------------------------------------------------------------------------------------------


def _coverage(root: Folder, tests: Found) -> Iterator[Found]:
    """The check that as much is covered as the project asks for, where it asks."""
    added = _pytest_settings(root).get("addopts", "")
    options = added if isinstance(added, str) else " ".join(formats.strings(added))
    if said := COV_FAIL_UNDER.search(options):
        least, why = float(said[1]), f"addopts of pytest has --cov-fail-under={said[1]}"
    else:
        least, why = _fail_under(root)
    command = _measured(root, tests, measures=bool(COV.search(options)))
    if least and command:
        yield Found(kind=Kind.COVERAGE, tool="coverage", command=command, why=why, least=least)


def _measured(root: Folder, tests: Found, *, measures: bool) -> str:
    """The tests with their coverage; "" for a runner that measures in its own way."""
    if tests.tool == "pytest" and measures:
        return PYTEST
    if tests.tool == "pytest" and "pytest-cov" in listed(root):
        return f"{PYTEST} --cov"
    if tests.tool not in {"pytest", "unittest"}:
        return ""
    combined = " && coverage combine" if _parallel(root) else ""
    return f"coverage run {tests.command.partition(' ')[2]}{combined} && coverage report"


def _fail_under(root: Folder) -> tuple[float, str]:
    for name, section, values in _coverage_settings(root, "report"):
        least = _percent(values.get("fail_under"))
        if least:
            return least, f"{name} has fail_under = {least:g} in [{section}]"
    return 0.0, ""


def _parallel(root: Folder) -> bool:
    found = (values.get("parallel", "") for _, _, values in _coverage_settings(root, "run"))
    return any(str(value).lower() in {"true", "1", "yes", "on"} for value in found)


def _coverage_settings(root: Folder, part: str) -> Iterator[tuple[str, str, formats.Table]]:
    """File, section and values, from the file that coverage reads first."""
    yield ".coveragerc", part, dict(root.ini(".coveragerc").get(part, {}))
    for name in ("setup.cfg", "tox.ini"):
        yield name, f"coverage:{part}", dict(root.ini(name).get(f"coverage:{part}", {}))
    section = formats.table(root.toml("pyproject.toml"), "tool", "coverage", part)
    yield "pyproject.toml", f"tool.coverage.{part}", section


def _percent(value: object) -> float:
    """A number from 0 to 100, 0 for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if 0 < number <= 100 else 0.0  # noqa: PLR2004 - percent
