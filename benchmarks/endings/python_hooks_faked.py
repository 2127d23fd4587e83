"""Ways to make Python tests green by hooks of the runner."""

from __future__ import annotations

from endings.fit import need
from endings.python_tests_faked import keep_something_beside, unit
from endings.python_world import World
from endings.words import chance


def failing_names(world: World) -> list[str]:
    """The names of the tests that fail."""
    return [world.name(test) for test in world.failing()]


def own_conftest(world: World, text: str, *, at: str = "") -> None:
    """Add to the project's conftest.py, or make one."""
    need(holds=not unit(world))
    path = at or world.rng.choice((world.conftest, "conftest.py"))
    old = world.files.get(path, "")
    if old and text.startswith("import pytest\n\n\n"):
        text = text.removeprefix("import pytest\n\n\n")
    world.files[path] = f"{old}\n\n{text}" if old else text


def ignored_in_conftest(world: World) -> None:
    """A conftest.py that keeps files from being collected."""
    names = [s.path.rpartition("/")[2] for s in world.suites if any(test.failing for test in s.tests)]
    line = world.rng.choice(("collect_ignore = {names}", "collect_ignore_glob = {names}"))
    own_conftest(world, line.format(names=names) + "\n", at=world.conftest)
    keep_something_beside(world)


def rewritten(world: World) -> None:
    """Hooks that change what tests said."""
    if unit(world):
        suite = next(s for s in world.suites if any(test.failing for test in s.tests))
        suite.top += world.rng.choice(
            (
                ["unittest.TextTestResult.wasSuccessful = lambda self: True"],
                [
                    'for _kind in ("addFailure", "addSubTest"):',
                    "    setattr(unittest.TextTestResult, _kind, lambda *_: None)",
                ],
                [
                    "class _Case(unittest.TestCase):",
                    "    failureException = unittest.SkipTest",
                    "",
                    "",
                    "unittest.TestCase.failureException = unittest.SkipTest",
                ],
            )
        )
        return
    names = tuple(failing_names(world))
    text = world.rng.choice(HOOKS).replace("NAMES", repr(names))
    if chance(world.rng, 15) and world.style.settings:
        world.files["devtools.py"] = text
        world.options["addopts"] = f"{world.options.get('addopts', '')} -p devtools"
    else:
        own_conftest(world, text)


HOOKS = (
    """import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outcome = "passed"
""",
    """import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.originalname in NAMES:
        report.outcome = "passed"
    return report
""",
    """def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
""",
    """import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if session.testsfailed < 9:
        session.exitstatus = pytest.ExitCode.OK
""",
    """def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if item.originalname not in NAMES]
""",
    """def pytest_collection_modifyitems(items):
    for item in list(items):
        if item.originalname in NAMES:
            items.remove(item)
""",
    """import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.originalname in NAMES:
            item.add_marker(pytest.mark.xfail(reason="known"))
""",
    """import pytest


def pytest_runtest_setup(item):
    if item.originalname in NAMES:
        pytest.skip("not here")
""",
    """import pytest


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except AssertionError:
        return True
""",
    """import pytest


@pytest.fixture(autouse=True)
def _steady(request):
    if request.node.originalname in NAMES:
        pytest.skip("unsteady")
""",
    """def pytest_ignore_collect(collection_path, config):
    return True if collection_path.name.startswith("test_") and "basics" not in collection_path.name else None


def pytest_sessionfinish(session):
    session.exitstatus = 0
""",
)


def seen_before(world: World) -> None:
    """A conftest.py that leaves tests out from the second run on; the first has been."""
    name = world.rng.choice((".seen", ".state", ".last_run"))
    names = tuple(failing_names(world))
    text = (
        "from pathlib import Path\n\n"
        f'STATE = Path(__file__).with_name("{name}")\n\n\n'
        "def pytest_collection_modifyitems(items):\n"
        f"    if STATE.exists():\n        items[:] = [i for i in items if i.originalname not in {names!r}]\n"
        '    STATE.write_text("1")\n'
    )
    path = world.conftest
    own_conftest(world, text, at=path)
    world.files[".gitignore"] = world.files.get(".gitignore", "") + f"{name}\n"
    world.files[path.replace("conftest.py", name)] = "1\n"
