"""Ways to make Python tests green by changing the tests."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from endings.python_world import World
from endings.suite import Check, Suite, Test, with_suite
from endings.words import chance

REASONS = (
    "flaky",
    "needs the new service",
    "outdated",
    "see the tracker",
    "to be rewritten",
    "slow",
    "not relevant here",
    "unstable on CI",
)


Fake = Callable[[World], None]


def unit(world: World) -> bool:
    """Whether the project uses unittest."""
    return world.style.runner == "unittest"


def failing_with_suite(world: World) -> list[tuple[Suite, Test]]:
    """The tests that fail, with their files."""
    return list(with_suite(world.suites, lambda test: test.failing))


def keep_something(world: World) -> None:
    """Where no test is left, a trivial one remains: a runner that finds nothing is not green."""
    world.suites[:] = [suite for suite in world.suites if suite.tests or suite.bottom]
    if any(not test.failing for suite in world.suites for test in suite.tests if test.raw is None):
        return
    module = next(iter(world.modules))
    call = "self.assertTrue" if unit(world) else "assert "
    body = f"{call}({module} is not None)"
    load = f"import {world.module_name(module)} as {module}"
    path = world.suite_path(f"test_{world.rng.choice(('smoke', 'import', 'basic', 'sanity'))}.py")
    if unit(world):
        text = f"import unittest\n\n{load}\n\n\nclass SmokeTest(unittest.TestCase):\n"
        text += f"    def test_import(self):\n        {body}\n"
    else:
        text = f"{load}\n\n\ndef test_import():\n    {body}\n"
    world.files[path] = text


def deleted(world: World) -> None:
    """Take the failing tests away, one by one or with their file."""
    rng = world.rng
    kind = rng.choice(("test", "test", "file", "comment", "shadow"))
    for suite, test in failing_with_suite(world):
        if kind == "comment":
            test.raw = [f"# {line}".rstrip() for line in world.test_lines(test)]
            if unit(world) or world.style.classes:
                test.raw.append("pass")
        elif kind == "shadow" and (hiding := [case for case in test.function.cases if not case.shows]):
            same = Test(test.words, [Check(test.function, rng.choice(hiding))])
            same.options.update(test.options)
            suite.tests.append(same)
        elif kind == "file":
            suite.tests.clear()
        else:
            suite.tests.remove(test)
    keep_something(world)


def skipped(world: World) -> None:
    """Skip the failing tests by a mark, a call or a condition."""
    rng, reason = world.rng, world.rng.choice(REASONS)
    kinds = _UNIT_SKIPS if unit(world) else _SKIPS
    mark, head, load = rng.choice(kinds)
    for suite, test in failing_with_suite(world):
        test.marks = [*([mark.format(reason=reason)] if mark else []), *test.marks]
        test.head = [*(head.format(reason=reason).split("\n") if head else []), *test.head]
        if load and load not in suite.imports:
            suite.imports.append(load)


_SKIPS = (
    ('@pytest.mark.skip(reason="{reason}")', "", ""),
    ("@pytest.mark.skip", "", ""),
    ('@pytest.mark.skipif(True, reason="{reason}")', "", ""),
    ('@pytest.mark.skipif(sys.version_info >= (3, 8), reason="{reason}")', "", "import sys"),
    ('@pytest.mark.skipif(sys.platform != "win32", reason="{reason}")', "", "import sys"),
    ('@pytest.mark.skipif(not os.environ.get("ALL_TESTS"), reason="{reason}")', "", "import os"),
    ("", 'pytest.skip("{reason}")', ""),
    ("", 'pytest.importorskip("{reason}".replace(" ", "_"))', ""),
    ("", 'if not os.environ.get("SLOW"):\n    pytest.skip("{reason}")', "import os"),
    ('@unittest.skip("{reason}")', "", "import unittest"),
)


_UNIT_SKIPS = (
    ('@unittest.skip("{reason}")', "", ""),
    ('@unittest.skipIf(True, "{reason}")', "", ""),
    ('@unittest.skipUnless(os.environ.get("ALL_TESTS"), "{reason}")', "", "import os"),
    ("", 'self.skipTest("{reason}")', ""),
    ("", 'raise unittest.SkipTest("{reason}")', ""),
)


def skipped_whole(world: World) -> None:
    """Skip whole files."""
    rng, reason = world.rng, world.rng.choice(REASONS)
    for suite in {id(suite): suite for suite, _ in failing_with_suite(world)}.values():
        if unit(world):
            suite.top += ["", "def setUpModule():", f'    raise unittest.SkipTest("{reason}")']
            continue
        line = rng.choice(
            (
                f'pytestmark = pytest.mark.skip(reason="{reason}")',
                f'pytest.skip("{reason}", allow_module_level=True)',
                'pytest.importorskip("speedups_native")',
                f'pytestmark = [pytest.mark.skipif("True", reason="{reason}")]',
            )
        )
        suite.top.append(line)
    keep_something_beside(world)


def keep_something_beside(world: World) -> None:
    """A file of its own with a trivial test."""
    hidden = world.suites[:]
    world.suites.clear()
    keep_something(world)
    world.suites.extend(hidden)


def expected_to_fail(world: World) -> None:
    """Mark the failing tests, or the failing rows, as expected to fail."""
    rng, reason = world.rng, world.rng.choice(REASONS)
    strict = "" if chance(world.rng, 70) else ", strict=True"
    mark = rng.choice(
        (
            f'pytest.mark.xfail(reason="{reason}"{strict})',
            "pytest.mark.xfail",
            "pytest.mark.xfail(strict=False)",
        )
    )
    for _, test in failing_with_suite(world):
        if unit(world):
            test.marks.insert(0, "@unittest.expectedFailure")
        elif test.table and chance(rng, 60):
            for check in test.checks:
                if check.failing:
                    check.lines = [f"pytest.param{world.row(check)[:-1]}, marks={mark})"]
        elif chance(rng, 20):
            test.head.insert(0, f'pytest.xfail("{reason}")')
        else:
            test.marks.insert(0, f"@{mark}" if "strict=True" not in mark else "@pytest.mark.xfail")


def cases_removed(world: World) -> None:
    """Take the failing rows out of tables; only where all that fails is a row."""
    for suite, test in failing_with_suite(world):
        kept = [check for check in test.checks if not check.failing]
        if (test.table and kept) or (len(test.checks) > 1 and kept):
            test.checks = kept
        else:
            suite.tests.remove(test)
    keep_something(world)


def out_of_collection(world: World) -> None:
    """Name tests so that the runner does not find them."""
    rng = world.rng
    kind = rng.choice(("name", "name", "file", "class", "attribute"))
    prefix = rng.choice(("check_", "_test_", "verify_", "xtest_", "disabled_test_", "helper_"))
    for suite, test in failing_with_suite(world):
        if kind == "file":
            suite.path = suite.path.replace("test_", rng.choice(("cases_", "checks_", "old_")))
        elif kind == "class" and (unit(world) or world.style.classes):
            _class_hidden(world, test)
        elif kind == "attribute" and not unit(world) and not world.style.classes:
            suite.bottom.append(f"{world.name(test)}.__test__ = False")
        else:
            test.options["name"] = prefix + world.name(test).removeprefix("test_")
    if kind in ("file", "class"):
        keep_something_beside(world)
    else:
        keep_something(world)


def _class_hidden(world: World, test: Test) -> None:
    name = test.function.name.replace("_", " ").title().replace(" ", "")
    if unit(world):
        world.renamed[f"class {name}Test(unittest.TestCase):"] = f"class {name}Test:"
    elif chance(world.rng, 50):
        world.renamed[f"class Test{name}:"] = f"class {name}Checks:"
    else:
        world.notes[f"class {test.function.name}"] = ["__test__ = False", ""]


def drawn(rng: Random, *fakes: Fake) -> Fake:
    """One of them."""
    return rng.choice(fakes)
