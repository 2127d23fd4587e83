"""Ways to make Python tests green by changing what runs them, or the code that they run."""

from __future__ import annotations

from collections.abc import Callable

from endings.fit import need
from endings.python_hooks_faked import failing_names
from endings.python_tests_faked import keep_something_beside, unit
from endings.python_world import World
from endings.words import chance


def loosened(world: World) -> None:
    """Let the runner's settings leave the failing tests out."""
    if unit(world):
        _load_tests(world)
        return
    need(holds=bool(world.style.settings))
    rng, names = world.rng, failing_names(world)
    add = world.options.get("addopts", "")
    paths = {suite.path for suite in world.suites if any(test.failing for test in suite.tests)}
    match rng.choice(("keyword", "deselect", "ignore", "marker", "paths", "names", "outrank")):
        case "keyword":
            world.options["addopts"] = f"{add} -k 'not {' and not '.join(names)}'"
        case "deselect":
            named = [f"--deselect {path}" for path in _ids(world)]
            world.options["addopts"] = f"{add} {' '.join(named)}"
        case "ignore":
            world.options["addopts"] = f"{add} {' '.join(f'--ignore={path}' for path in sorted(paths))}"
            keep_something_beside(world)
        case "marker":
            world.options["addopts"] = f"{add} -m 'not slow'"
            for test in world.failing():
                test.marks.insert(0, "@pytest.mark.slow")
        case "paths":
            _elsewhere(world)
        case "names":
            key = rng.choice(("python_functions", "python_files"))
            world.options[key] = (
                "test_import" if key == "python_functions" else "test_*[!a-z]_only.py test_smoke.py"
            )
            world.files[world.suite_path("test_smoke.py")] = (
                "def test_import():\n    import json\n\n    assert json\n"
            )
        case _:
            need(holds=world.style.settings != "pytest.ini")
            _elsewhere(world, own=False)
            world.files["pytest.ini"] = "[pytest]\ntestpaths = checks\n"


def _ids(world: World) -> list[str]:
    """The failing tests as pytest names them."""
    ids = []
    for suite in world.suites:
        for test in suite.tests:
            if test.failing:
                title = test.function.name.replace("_", " ").title().replace(" ", "")
                middle = f"::Test{title}" if world.style.classes else ""
                ids.append(f"{suite.path}{middle}::{world.name(test)}")
    return ids


def _elsewhere(world: World, *, own: bool = True) -> None:
    """Look for tests in a new folder only."""
    if own:
        world.options["testpaths"] = ["checks"]
    world.files["checks/test_basics.py"] = "def test_numbers():\n    assert sum([1, 2]) == 3\n"


def _load_tests(world: World) -> None:
    names = ", ".join(f'"{name}"' for name in failing_names(world))
    text = (
        "def load_tests(loader, tests, pattern):",
        f"    left_out = ({names},)",
        "    kept = unittest.TestSuite()",
        "    for group in tests:",
        "        kept.addTests(one for one in group if one._testMethodName not in left_out)",
        "    return kept",
    )
    for suite in world.suites:
        if any(test.failing for test in suite.tests):
            suite.bottom += text


def nothing_executed(world: World) -> None:
    """Collect only, or load an empty suite."""
    if unit(world):
        for suite in world.suites:
            suite.bottom += ["def load_tests(loader, tests, pattern):", "    return unittest.TestSuite()"]
        return
    need(holds=bool(world.style.settings))
    flag = world.rng.choice(("--collect-only", "--co", "--fixtures", "--setup-plan", "--help"))
    world.options["addopts"] = f"{world.options.get('addopts', '')} {flag}"


def shadowed(world: World) -> None:
    """Put something else in the place of the command."""
    total = sum(len(suite.tests) for suite in world.suites)
    if unit(world):
        world.files["unittest.py"] = (
            "import sys\n\n\nclass TestCase:\n    pass\n\n\n"
            f'print("Ran {total} tests in 0.002s\\n\\nOK", file=sys.stderr)\n'
        )
    elif chance(world.rng, 70):
        world.files["pytest.py"] = f'import sys\n\nprint("{total} passed in 0.04s")\nsys.exit(0)\n'
    else:
        world.files["pytest/__init__.py"] = ""
        world.files["pytest/__main__.py"] = f'print("{total} passed in 0.04s")\n'


Drawn = Callable[[World], None]
