"""Detects the test runner of a Python project and the coverage that it requires.

pytest is preferred to tox and nox, which would run it slowly in their own environments; an installed tox that
runs other tests, too, is preferred to it. pytest needs its own sign: settings, a conftest.py, a dependency,
or tests not written for unittest. Without one, the other runners
are tried, tox and nox only if they are installed or nothing else can run the tests; if there are none, a file
such as pyproject.toml makes pytest a weak gate.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain, islice
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.detection.folder import DetectedGate, PackageRoot, approval_text, one_line_excerpt
from sidecar.evidence.detection.started import list_started_commands
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import Tool, ToolGate, detected_tools

PYTEST_COMMAND: Final = "python -m pytest -q"
"""Runs the tests of a Python project. The project's own interpreter is chosen when the command runs."""
TEST_FILES: Final = ("test_*.py", "*_test.py")
TEST_FOLDERS: Final = ("tests", "test")
PYTEST_FILES: Final = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
CONFTEST_FILES: Final = ("conftest.py", "tests/conftest.py", "test/conftest.py")
PACKAGE_FILES: Final = ("pyproject.toml", "setup.cfg", "setup.py")
TEST_FILE_LIMIT: Final = 20
"""Maximum number of test files that are read to find out their framework."""
UNITTEST_IMPORT: Final = re.compile(r"^[ \t]*(?:import unittest\b|from unittest import\b)", re.MULTILINE)
PYTEST_STYLE: Final = re.compile(
    r"^(?:async )?def test_|^[ \t]*(?:import pytest\b|from pytest\b)", re.MULTILINE
)
NOX_TESTS: Final = re.compile(r"^def (tests?|unit|unit_tests?)\(", re.MULTILINE)
COV_OPTION: Final = re.compile(r"(?<!\S)--cov(?![\w-])")
COV_FAIL_UNDER: Final = re.compile(r"--cov-fail-under[= ](\d{1,3}(?:\.\d{1,9})?)(?!\S)")


IMPORTED_MODULE: Final = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
REQUIREMENTS_FOLDER: Final = "requirements"


def find_python_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, coverage, then the gates of the tools."""
    tests = _find_tests_gate(root)
    if tests:
        yield tests
        yield from _find_coverage_gate(root, tests)
    yield from find_python_tool_gates(root)


def covers_python_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:
    """Return whether the root's command also covers the member."""
    if found.kind is Kind.TESTS and found.tool == "pytest":
        return _pytest_collects_member(root, member)
    if found.kind is Kind.TYPES:
        return not has_tool_settings(member, Kind.TYPES)
    return found.kind in {Kind.LINT, Kind.SECURITY}


def _pytest_collects_member(root: PackageRoot, member: PackageRoot) -> bool:
    """Return whether the root's pytest runs the member's tests: by testpaths, else by who has settings.

    A member that only has tests is collected by any pytest above it.
    """
    settings = _pytest_settings(root)
    paths = settings.get("testpaths")
    if paths is not None:
        below = member.below(root)
        said = paths.split() if isinstance(paths, str) else formats.string_items(paths)
        return any(_paths_overlap(path.removeprefix("./").rstrip("/"), below) for path in said)
    if not _is_python_package(member):
        return True
    return bool(_pytest_settings_sign(root)) and not _pytest_settings_sign(member)


def _paths_overlap(path: str, folder: str) -> bool:
    """Return whether one contains the other; `packages/*/tests` overlaps with `packages/a`."""
    parts, inside = path.split("/"), folder.split("/")
    common = min(len(parts), len(inside))
    return path in {"", "."} or fnmatchcase("/".join(inside[:common]), "/".join(parts[:common]))


# --- tests --------------------------------------------------------------------------------------------------


def _find_tests_gate(root: PackageRoot) -> DetectedGate | None:
    tox = _find_tox_gate(root)
    if sign := _pytest_sign(root):
        if tox and root.has_program("tox") and _test_runners(tox) > {"pytest"}:
            return replace(tox, why=f"{tox.why}, which run more tests than pytest")
        other = root.has("tox.ini", "noxfile.py")
        more = f"; it is faster alone than by way of {other}" if other else ""
        bare = not _pytest_files_sign(root) and not any(_test_files(root))  # the tests are those of members
        return DetectedGate(Kind.TESTS, "pytest", PYTEST_COMMAND, sign + more, weak=bare)
    starters = [gate for gate in (tox, _find_nox_gate(root)) if gate]
    tests = _find_django_gate(root) or _find_unittest_gate(root)
    for gate in starters:
        if not tests or root.has_program(gate.tool):
            return gate
        tests = replace(tests, why=f"{tests.why}; {gate.why}, but {gate.tool} is not installed")
    return tests or _find_weak_pytest_gate(root)


def _pytest_files_sign(root: PackageRoot) -> str:
    """Return the sign of settings or a conftest.py of the package's own."""
    name = root.has(*CONFTEST_FILES)
    return _pytest_settings_sign(root) or (f"the project has a {name}" if name else "")


def _pytest_sign(root: PackageRoot) -> str:
    if sign := _pytest_files_sign(root):
        return sign
    if where := listed_dependencies(root).get("pytest"):
        return f"{where} lists pytest"
    if _find_django_gate(root):
        return ""
    named = next(
        (path for path in islice(_test_files(root), TEST_FILE_LIMIT) if not _is_unittest(root, path)), ""
    )
    return f"the project has tests such as {one_line_excerpt(named)}" if named else ""


def _pytest_settings_sign(root: PackageRoot) -> str:
    if name := root.has(*PYTEST_FILES):
        return f"the project has a {name}"
    tools = formats.table_at(root.toml("pyproject.toml"), "tool")
    if "pytest" in tools:
        has_options = "ini_options" in formats.table_at(tools, "pytest")
        return f"pyproject.toml has [tool.pytest{'.ini_options' if has_options else ''}]"
    for name, section in (("setup.cfg", "tool:pytest"), ("tox.ini", "pytest")):
        if section in root.ini(name):
            return f"{name} has [{section}]"
    return ""


def _pytest_settings(root: PackageRoot) -> formats.Table:
    """Return the settings that pytest would read: those of the first file that has any."""
    for name in PYTEST_FILES[:2]:
        if root.has(name):
            return dict(root.ini(name).get("pytest", {}))
    pytest = formats.table_at(root.toml("pyproject.toml"), "tool", "pytest")
    if pytest:
        return formats.table_at(pytest, "ini_options") or pytest
    return dict(root.ini("tox.ini").get("pytest") or root.ini("setup.cfg").get("tool:pytest") or {})


def _find_tox_gate(root: PackageRoot) -> DetectedGate | None:
    sections = root.ini("tox.ini")
    commands = "\n".join(values.get("commands", "") for values in sections.values()).strip()
    tool = formats.table_at(root.toml("pyproject.toml"), "tool")
    if not commands and "tox" not in tool and not root.has("tox.toml"):
        return None
    plain = sections.get("testenv", {}).get("commands", "")
    starts = tuple(list_started_commands(plain.splitlines()))
    sign = "tox.ini has commands" if commands else "the project sets up tox"
    behind = approval_text(commands or root.text("tox.toml", "pyproject.toml"))
    return DetectedGate(
        Kind.TESTS, "tox", "tox -q -e py" if plain else "tox -q", sign, behind=behind, starts=starts
    )


def _test_runners(gate: DetectedGate) -> set[str]:
    return {one.name for one in gate.starts if Kind.TESTS in one.kinds}


def _find_nox_gate(root: PackageRoot) -> DetectedGate | None:
    text = root.text("noxfile.py")
    if not text:
        return None
    session = NOX_TESTS.search(text)
    command = f"nox --non-interactive -s {session[1]}" if session else "nox --non-interactive"
    why = "the project has a noxfile.py"
    return DetectedGate(Kind.TESTS, "nox", command, why, behind=approval_text(text))


def _find_django_gate(root: PackageRoot) -> DetectedGate | None:
    if "django" not in root.text("manage.py"):
        return None
    command, why = "python3 manage.py test", "manage.py is Django's"
    return DetectedGate(Kind.TESTS, "django", command, why)


def _find_unittest_gate(root: PackageRoot) -> DetectedGate | None:
    path = next(_test_files(root), "")
    if not path:
        return None
    # Discovery enters packages only, so it starts below the last folder that is none.
    folder = posixpath.dirname(path)
    while folder and root.has(f"{folder}/__init__.py"):
        folder = posixpath.dirname(folder)
    start = f" -s {shlex.quote(folder)}" if folder else ""
    why = f"tests such as {one_line_excerpt(path)} are unittest's"
    return DetectedGate(Kind.TESTS, "unittest", f"python3 -m unittest discover{start}", why)


def _find_weak_pytest_gate(root: PackageRoot) -> DetectedGate | None:
    name = root.has(*PACKAGE_FILES)
    if not name or root.name:
        return None
    return DetectedGate(Kind.TESTS, "pytest", PYTEST_COMMAND, f"the project has a {name}", weak=True)


def _test_files(root: PackageRoot) -> Iterator[str]:
    """Yield the test files in the test folders, those directly in the root, then those deep in its tree."""
    yield from _tests_in_folders(root)
    yield from root.matching(*TEST_FILES)
    own = _is_python_package(root)
    for path in root.search("", *TEST_FILES):
        inside_member = path.startswith(tuple(root.members))
        beside = posixpath.dirname(path)
        if beside and not inside_member and (own or _imports_modules_of(root, path, ("", f"{beside}/"))):
            yield path


def _tests_in_folders(root: PackageRoot) -> Iterator[str]:
    for folder in TEST_FOLDERS:
        yield from root.search(folder, *TEST_FILES)


def _is_python_package(root: PackageRoot) -> bool:
    """Return whether a folder has a file or folder that says so, as far as it is no setting of a tool."""
    return bool(root.has(*PACKAGE_FILES, "Pipfile", "manage.py") or listed_dependencies(root))


def tests_own_modules(root: PackageRoot) -> bool:
    """Return whether the test folder of a folder without a manifest has tests of modules of this folder."""
    if not {*root.name.split("/")}.isdisjoint(TEST_FOLDERS):
        return False
    paths = islice(_tests_in_folders(root), TEST_FILE_LIMIT)
    return any(_imports_modules_of(root, path, ("",)) for path in paths)


def _imports_modules_of(root: PackageRoot, path: str, places: tuple[str, ...]) -> bool:
    """Return whether a file imports a module that lies in one of these places of the package."""
    names = {*IMPORTED_MODULE.findall(root.text(path))} - {*TEST_FOLDERS}
    modules = [f"{place}{name}" for place in places for name in names]
    return any(root.has(f"{module}.py") or (root.path / module).is_dir() for module in modules)


def _is_unittest(root: PackageRoot, path: str) -> bool:
    text = root.text(path)
    return "TestCase" in text and bool(UNITTEST_IMPORT.search(text)) and not PYTEST_STYLE.search(text)


# --- coverage -----------------------------------------------------------------------------------------------


def _find_coverage_gate(root: PackageRoot, tests: DetectedGate) -> Iterator[DetectedGate]:
    """Yield a check that coverage reaches the minimum that the project requires, if it requires one."""
    added = _pytest_settings(root).get("addopts", "")
    options = added if isinstance(added, str) else " ".join(formats.string_items(added))
    if said := COV_FAIL_UNDER.search(options):
        least, why = float(said[1]), f"addopts of pytest has --cov-fail-under={said[1]}"
    else:
        least, why = _required_coverage(root)
    command = _coverage_command(root, tests, measures=bool(COV_OPTION.search(options)))
    if least and command:
        yield DetectedGate(Kind.COVERAGE, "coverage", command, why, least=least)


def _coverage_command(root: PackageRoot, tests: DetectedGate, *, measures: bool) -> str:
    """Return the command that measures coverage, "" for a runner with its own way to measure."""
    if tests.tool == "pytest" and measures:
        return PYTEST_COMMAND
    if tests.tool == "pytest" and "pytest-cov" in listed_dependencies(root):
        return f"{PYTEST_COMMAND} --cov"
    if tests.tool not in {"pytest", "unittest"}:
        return ""
    combined = " && coverage combine" if _measures_in_parallel(root) else ""
    return f"coverage run {tests.command.partition(' ')[2]}{combined} && coverage report"


def _required_coverage(root: PackageRoot) -> tuple[float, str]:
    for name, section, values in _coverage_settings(root, "report"):
        least = _parse_percent(values.get("fail_under"))
        if least:
            return least, f"{name} has fail_under = {least:g} in [{section}]"
    return 0.0, ""


def _measures_in_parallel(root: PackageRoot) -> bool:
    found = (values.get("parallel", "") for _, _, values in _coverage_settings(root, "run"))
    return any(str(value).lower() in {"true", "1", "yes", "on"} for value in found)


def _coverage_settings(root: PackageRoot, part: str) -> Iterator[tuple[str, str, formats.Table]]:
    """Yield file, section and values, starting with the file that coverage reads first."""
    yield ".coveragerc", part, dict(root.ini(".coveragerc").get(part, {}))
    for name in ("setup.cfg", "tox.ini"):
        yield name, f"coverage:{part}", dict(root.ini(name).get(f"coverage:{part}", {}))
    section = formats.table_at(root.toml("pyproject.toml"), "tool", "coverage", part)
    yield "pyproject.toml", f"tool.coverage.{part}", section


def _parse_percent(value: object) -> float:
    """Return a number above 0 and up to 100; 0 for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if 0 < number <= 100 else 0.0  # noqa: PLR2004 - percent


# --- dependencies that a Python package lists ---------------------------------------------------------------


REQUIREMENT_NAME: Final = re.compile(r"\s{0,9}([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
NAME_SEPARATORS: Final = re.compile(r"[-_.]+")
QUOTED_REQUIREMENT: Final = re.compile(r"""["']([A-Za-z0-9][\w.-]{0,80})[^"'\n]{0,80}["']""")
DEPENDENCY_PATHS: Final = (
    *("project.dependencies", "project.optional-dependencies.*", "dependency-groups.*"),
    *("tool.pdm.dev-dependencies.*", "tool.hatch.envs.*.dependencies", "tool.uv.dev-dependencies"),
    *("tool.poetry.dependencies", "tool.poetry.dev-dependencies", "tool.poetry.group.*.dependencies"),
)
"""Where a pyproject.toml lists dependencies; `*` is any key."""
REQUIREMENT_PATTERNS: Final = ("requirements*.txt", "requirements*.in", "*requirements.txt")
REQUIREMENT_FILE_LIMIT: Final = 10
"""Maximum number of requirements files that are read."""


def listed_dependencies(root: PackageRoot) -> dict[str, str]:
    """Return the normalized names of the dependencies, each with the file that lists it first."""
    if root.dependencies is None:
        root.dependencies = {}
        for where, names in _dependency_lists(root):
            for name in names:
                root.dependencies.setdefault(name, where)
    return root.dependencies


def _dependency_lists(root: PackageRoot) -> Iterator[tuple[str, Iterable[str]]]:
    yield "pyproject.toml", _pyproject_dependencies(root.toml("pyproject.toml"))
    files = [*root.matching(*REQUIREMENT_PATTERNS), *root.search(REQUIREMENTS_FOLDER, "*.txt", "*.in")]
    for name in files[:REQUIREMENT_FILE_LIMIT]:
        yield name, _requirement_names(root.text(name).splitlines())
    setup = root.ini("setup.cfg")
    options = [setup.get("options", {}).get("install_requires", "")]
    extras = setup.get("options.extras_require", {}).values()
    yield "setup.cfg", _requirement_names("\n".join((*options, *extras)).splitlines())
    yield "setup.py", map(_normalize_name, QUOTED_REQUIREMENT.findall(root.text("setup.py")))
    pipfile = root.toml("Pipfile")
    packages, more = (formats.table_at(pipfile, name) for name in ("packages", "dev-packages"))
    yield "Pipfile", _requirement_names((*packages, *more))


def _pyproject_dependencies(pyproject: formats.Table) -> Iterator[str]:
    """Yield the names in lists of requirements, and the keys of tables by name."""
    found = (value for path in DEPENDENCY_PATHS for value in _values_at(pyproject, *path.split(".")))
    return _requirement_names(
        chain.from_iterable(
            value if isinstance(value, dict) else formats.string_items(value) for value in found
        )
    )


def _values_at(value: object, *path: str) -> Iterator[object]:
    """Yield what is at a path below a table, of which a part `*` is any key."""
    if not path:
        yield value
    elif isinstance(value, dict):
        for key in value if path[0] == "*" else (path[0],):
            yield from _values_at(value.get(key), *path[1:])


def _requirement_names(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        if found := REQUIREMENT_NAME.match(requirement):
            yield _normalize_name(found[1])


def _normalize_name(name: str) -> str:
    return NAME_SEPARATORS.sub("-", name).lower()


# --- tools --------------------------------------------------------------------------------------------------


KINDS: Final = (Kind.TYPES, Kind.LINT, Kind.SECURITY)
MYPY_TARGETS: Final = ("files", "packages", "modules")
"""Settings of mypy that say what to check; the command must then name no target."""


def find_python_tool_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield a gate for every tool that has a sign."""
    signs = {tool.name: _tool_sign(root, tool, gate) for tool, gate in detected_tools("python", KINDS)}
    if signs["basedpyright"]:  # it reads pyright's settings and replaces it
        signs["pyright"] = ""
    for tool, gate in detected_tools("python", KINDS):
        if sign := signs[tool.name]:
            yield DetectedGate(gate.kind, tool.name, _tool_command(root, tool.name, gate), sign)


def has_tool_settings(root: PackageRoot, kind: Kind) -> bool:
    """Return whether the package has its own settings for a tool of this kind."""
    return any(_tool_settings_sign(root, tool.name, gate) for tool, gate in detected_tools("python", {kind}))


def _tool_sign(root: PackageRoot, tool: Tool, gate: ToolGate) -> str:
    where = listed_dependencies(root).get(tool.package) if gate.listed else None
    return _tool_settings_sign(root, tool.name, gate) or (f"{where} lists {tool.package}" if where else "")


def _tool_settings_sign(root: PackageRoot, name: str, gate: ToolGate) -> str:
    if file := root.has(*gate.files):
        return f"the project has a {file}"
    tools = formats.table_at(root.toml("pyproject.toml"), "tool")
    # A table with only [tool.ruff.format] configures only the formatter.
    if name in tools and set(formats.table_at(tools, name)) != {"format"}:
        return f"pyproject.toml has [tool.{name}]"
    found = ((file, section) for file, section in gate.sections if section in root.ini(file))
    return next((f"{file} has [{section}]" for file, section in found), "")


def _tool_command(root: PackageRoot, name: str, gate: ToolGate) -> str:
    if name == "mypy" and _mypy_names_targets(root):
        return "mypy"
    if name == "bandit" and formats.table_at(root.toml("pyproject.toml"), "tool", "bandit"):
        return f"{gate.command} -c pyproject.toml"
    return gate.command


def _mypy_names_targets(root: PackageRoot) -> bool:
    files = ("mypy.ini", ".mypy.ini", "setup.cfg")
    table = formats.table_at(root.toml("pyproject.toml"), "tool", "mypy")
    sections = (table, *(root.ini(file).get("mypy", {}) for file in files))
    return any(name in section for section in sections for name in MYPY_TARGETS)
