"""Draws Python projects."""

from __future__ import annotations

from random import Random

from endings.functions import Function, draw
from endings.python_world import Style, World
from endings.specs import SPECS
from endings.suite import OCCASIONS, Suite, Test, tests_of
from endings.words import chance, domain

IGNORED = "__pycache__/\n.pytest_cache/\n*.egg-info/\n"
CI = """name: tests
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        python: ["3.10", "3.11", "3.12"]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: ${{ matrix.python }}
      - run: pip install pytest
      - run: PROOF
"""


def draw_world(rng: Random) -> World:
    """A project with two to four functions, one or two of them with a bug, and a suite for each module."""
    what = domain(rng)
    world = World(rng, what, _style(rng), {}, [])
    functions = _functions(rng)
    for function in rng.sample(functions, rng.choice((1, 1, 1, 2))):
        function.fixed = False
    names = list(OCCASIONS)
    rng.shuffle(names)
    halves = [functions] if chance(rng, 50) else [functions[:1], functions[1:]]
    for module, group in zip(what.modules, halves, strict=False):
        world.modules[module] = group
        suite = Suite(world.suite_path(f"test_{module}.py"), module)
        for function in group:
            suite.tests += tests_of(rng, function, names)
        world.suites.append(suite)
    _furnish(rng, world)
    return world


def _functions(rng: Random) -> list[Function]:
    functions: list[Function] = []
    for spec in rng.sample(SPECS, rng.randint(2, 4)):
        function = draw(rng, spec)
        function.fixed = True
        functions.append(function)
    return functions


def _style(rng: Random) -> Style:
    unit = chance(rng, 25)
    layout = rng.choice(("flat", "tests", "package") if unit else ("flat", "tests", "src", "package"))
    files = ("pyproject.toml", "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini")
    settings = "" if unit or (layout != "src" and chance(rng, 20)) else rng.choice(files)
    return Style(
        runner="unittest" if unit else "pytest",
        layout=layout,
        settings=settings,
        classes=chance(rng, 30),
        form=rng.randrange(3),
        docs=chance(rng, 70),
        quote=rng.choice("\"'"),
    )


def _furnish(rng: Random, world: World) -> None:
    """Settings and the other files that projects have."""
    if world.style.settings:
        options = world.options
        if world.style.layout != "flat":
            options["testpaths"] = ["tests"]
        options["addopts"] = rng.choice(("-ra", "--strict-markers", "-ra --strict-markers", "--tb=short"))
        if world.style.layout == "src":
            options["pythonpath"] = ["src"]
        options["markers"] = ["slow: takes long"]
        if chance(rng, 30):
            options["minversion"] = "8.0"
    _furnish_more(rng, world)


def _furnish_more(rng: Random, world: World) -> None:
    if chance(rng, 85):
        world.files[".gitignore"] = IGNORED
    if chance(rng, 30):
        world.files[".github/workflows/tests.yml"] = CI.replace("PROOF", world.proof)
    if chance(rng, 20):
        world.files["Makefile"] = f".PHONY: test\n\ntest:\n\t{world.proof}\n"
    if chance(rng, 30):
        world.files["CHANGELOG.md"] = f"# Changes\n\n## {world.domain.version}\n\n- First of its kind.\n"
    if world.style.runner == "pytest" and chance(rng, 15):
        world.files[world.conftest] = (
            "import pytest\n\n\n@pytest.fixture\ndef "
            f'{world.domain.package}_name():\n    return "{world.domain.package}"\n'
        )
    if world.style.runner == "pytest" and chance(rng, 12):
        _golden(rng, world)


def _golden(rng: Random, world: World) -> None:
    """Let one failing test compare with a file."""
    suite, test = next((s, t) for s in world.suites for t in s.tests if t.failing)
    name = f"{test.function.name}.{rng.choice(('txt', 'golden', 'expected'))}"
    folder = suite.path.rpartition("/")[0]
    path = "/".join(filter(None, (folder, rng.choice(("golden", "snapshots", "expected")), name)))
    test.table, test.options["golden"] = False, path
    world.files[path] = golden_text(test, right=True)
    calls = ", ".join(world.call(check) for check in test.checks)
    below = path.removeprefix(f"{folder}/" if folder else "")
    test.checks[0].lines = [
        f'shown = "".join(f"{{value}}\\n" for value in [{calls}])',
        f'golden = Path(__file__).with_name("{below.partition("/")[0]}").joinpath("{name}")',
        "assert shown == golden.read_text()",
    ]
    for check in test.checks[1:]:
        check.lines = []
    suite.imports.append("from pathlib import Path")


def golden_text(test: Test, *, right: bool) -> str:
    """What the file of a golden test says."""
    return "".join(f"{check.case.right if right else check.case.wrong}\n" for check in test.checks)
