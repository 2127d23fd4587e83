"""Honest changes to Python projects whose bug is repaired, and changes that mean nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from endings.fit import need
from endings.functions import Case
from endings.python_world import World
from endings.suite import OCCASIONS, Check, Suite, Test
from endings.words import chance

Change = Callable[[World], None]


def _spare(world: World, used: set[str] | None = None) -> str:
    """An occasion that no test has yet."""
    taken = {test.words for suite in world.suites for test in suite.tests} | (used or set())
    free = [one for one in OCCASIONS if not any(words.endswith(one) for words in taken)]
    need(holds=bool(free))
    return world.rng.choice(free)


def _plain(world: World) -> list[tuple[Suite, Test]]:
    """Tests without anything special."""
    return [
        (suite, test)
        for suite in world.suites
        for test in suite.tests
        if "golden" not in test.options and test.raw is None
    ]


def renamed(world: World) -> None:
    """Some tests get better names."""
    for _, test in world.rng.sample(found := _plain(world), min(len(found), world.rng.randint(1, 3))):
        test.words = f"{test.function.name.replace('_', ' ')} {_spare(world)}"


def file_renamed(world: World) -> None:
    """A file of tests gets another name."""
    suite = world.rng.choice(world.suites)
    suite.path = world.suite_path(
        f"test_{suite.module}_{world.rng.choice(('rules', 'unit', 'cases', 'all'))}.py"
    )


def file_split(world: World) -> None:
    """The tests of one function move to a file of their own."""
    suites = [suite for suite in world.suites if len(suite.functions()) > 1]
    need(holds=bool(suites))
    suite = world.rng.choice(suites)
    function = world.rng.choice(suite.functions())
    own = [test for test in suite.tests if test.function is function]
    need(holds=all("golden" not in test.options for test in own))
    suite.tests = [test for test in suite.tests if test.function is not function]
    world.suites.append(Suite(world.suite_path(f"test_{function.name}.py"), suite.module, own))


def test_split(world: World) -> None:
    """A test with several checks becomes several tests."""
    found = [(s, t) for s, t in _plain(world) if len(t.checks) > 1 and not t.table]
    need(holds=bool(found))
    suite, test = world.rng.choice(found)
    at = suite.tests.index(test)
    used: set[str] = set()
    tests = []
    for check in test.checks:
        words = f"{test.function.name.replace('_', ' ')} {_spare(world, used)}"
        used.add(words)
        tests.append(Test(words, [check]))
    suite.tests[at : at + 1] = tests


def merged(world: World) -> None:
    """Single tests of a function become one table."""
    for suite in world.suites:
        for function in suite.functions():
            own = [t for s, t in _plain(world) if s is suite and t.function is function and not t.table]
            if len(own) > 1:
                table = Test(
                    f"{function.name.replace('_', ' ')} {_spare(world)}",
                    [c for t in own for c in t.checks],
                    table=True,
                )
                suite.tests[suite.tests.index(own[0])] = table
                suite.tests = [test for test in suite.tests if test not in own]
                return
    need(holds=False)


def unfolded(world: World) -> None:
    """A table becomes single tests."""
    found = [(s, t) for s, t in _plain(world) if t.table]
    need(holds=bool(found))
    suite, test = world.rng.choice(found)
    test.table = False
    test_split_of(world, suite, test)


def test_split_of(world: World, suite: Suite, test: Test) -> None:
    """Give each check of a test a test of its own."""
    used: set[str] = set()
    tests = []
    for check in test.checks:
        words = f"{test.function.name.replace('_', ' ')} {_spare(world, used)}"
        used.add(words)
        tests.append(Test(words, [check]))
    at = suite.tests.index(test)
    suite.tests[at : at + 1] = tests


def converted(world: World) -> None:
    """From unittest to pytest, or from functions to classes and back."""
    if world.style.runner == "unittest":
        world.style.runner, world.style.classes = "pytest", False
    else:
        world.style.classes = not world.style.classes


def reformatted(world: World) -> None:
    """Other quotes, or another way to write the same assertion."""
    if chance(world.rng, 50):
        world.style.quote = "'" if world.style.quote == '"' else '"'
    else:
        world.style.form = (world.style.form + world.rng.randint(1, 2)) % 3


def added(world: World) -> None:
    """New tests, of cases that are not tested yet or once more."""
    suite, test = world.rng.choice(_plain(world) or [(world.suites[0], world.suites[0].tests[0])])
    cases = world.rng.sample(test.function.cases, min(2, len(test.function.cases)))
    words = f"{test.function.name.replace('_', ' ')} {_spare(world)}"
    suite.tests.append(Test(words, [Check(test.function, case) for case in cases]))


def rows_added(world: World) -> None:
    """More rows in a table."""
    found = [t for _, t in _plain(world) if t.table]
    need(holds=bool(found))
    table = world.rng.choice(found)
    known = [check.case for check in table.checks]
    new = [Check(table.function, case) for case in table.function.cases if case not in known]
    need(holds=bool(new))
    table.checks += new


def feature_removed(world: World) -> None:
    """A function goes, with its tests, because that is wished."""
    module, functions = world.rng.choice(list(world.modules.items()))
    need(holds=len(functions) > 1)
    gone = world.rng.choice(functions)
    need(holds=all("golden" not in t.options for s in world.suites for t in s.tests if t.function is gone))
    functions.remove(gone)
    for suite in world.suites:
        suite.tests = [test for test in suite.tests if test.function is not gone]
    world.suites[:] = [suite for suite in world.suites if suite.tests]
    world.goal = f"remove {gone.name} from {module}, nobody needs it; all tests pass"


def config_moved(world: World) -> None:
    """The settings move to another file."""
    need(holds=bool(world.style.settings) and bool(world.options))
    others = [
        name
        for name in ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini")
        if name != world.style.settings
    ]
    old, new = world.style.settings, world.rng.choice(others)
    keep = world.foreign_settings()
    world.style.settings = new
    if keep:
        world.files[old] = keep.rstrip("\n") + "\n"


def config_stricter(world: World) -> None:
    """More is an error than before."""
    need(holds=bool(world.style.settings) and world.style.runner == "pytest")
    kind = world.rng.choice(("markers", "config", "xfail"))
    if kind == "xfail":
        world.options["xfail_strict"] = "true"
    else:
        old = str(world.options.get("addopts", ""))
        flag = f"--strict-{kind}"
        need(holds=flag not in old)
        world.options["addopts"] = f"{old} {flag}".strip()


def bumped(world: World) -> None:
    """A new version, and newer tools."""
    old = world.domain.version
    major, minor, patch = old.split(".")
    new = f"{major}.{minor}.{int(patch) + 1}"
    object.__setattr__(world.domain, "version", new)
    log = world.files.get("CHANGELOG.md", "# Changes\n")
    world.files["CHANGELOG.md"] = log.replace("# Changes\n", f"# Changes\n\n## {new}\n\n- Repairs.\n", 1)


def helper_extracted(world: World) -> None:
    """Tests share a helper that asserts."""
    need(holds=world.style.runner == "pytest")
    suite = world.rng.choice(world.suites)
    name = world.rng.choice(("check", "verify", "assert_answer", "expect_value"))
    suite.top += ["", f"def {name}(answer, expected):", "    assert answer == expected"]
    for other, test in _plain(world):
        if other is suite and not test.table:
            for check in test.checks:
                check.lines = [f"{name}({world.call(check)}, {world.literal(check.case.right)})"]


def fixture_extracted(world: World) -> None:
    """A test takes what it needs from a fixture."""
    need(holds=world.style.runner == "pytest")
    found = [(s, t) for s, t in _plain(world) if not t.table and len(t.checks) == 1 and not t.arguments]
    need(holds=bool(found))
    suite, test = world.rng.choice(found)
    check = test.checks[0]
    name = f"{test.function.name}_answer"
    need(holds=not any(name in line for line in suite.top))
    suite.top += ["", "@pytest.fixture", f"def {name}():", f"    return {world.call(check)}"]
    test.arguments.append(name)
    check.lines = [f"assert {name} == {world.literal(check.case.right)}"]


def platform_skip(world: World) -> None:
    """A new test that does not apply on some other platform."""
    need(holds=world.style.runner == "pytest")
    suite = world.rng.choice(world.suites)
    test = Test(f"{suite.tests[0].function.name.replace('_', ' ')} {_spare(world)}", [])
    own = "self" if world.style.classes else ""
    name = "test_" + test.words.replace(" ", "_")
    test.raw = [
        '@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")',
        f"def {name}({own}):",
        "    assert os.getpid() > 0",
    ]
    test.checks = [Check(suite.tests[0].function, suite.tests[0].function.cases[0])]
    suite.imports += [line for line in ("import os", "import sys") if line not in suite.imports]
    suite.tests.append(test)


def refactored(world: World) -> None:
    """The code gets another look and no other meaning."""
    for functions in world.modules.values():
        for function in functions:
            if chance(world.rng, 60):
                world.notes.setdefault(function.name, []).append(f"# {function.spec.doc.lower()}")
    world.style.docs = not world.style.docs


def documented(world: World) -> None:
    """The README says more."""
    files = world.render()
    world.files["README.md"] = files["README.md"] + f"\n## Notes\n\nSee `{next(iter(world.modules))}`.\n"


def helper_module(world: World) -> None:
    """A new module that nothing uses yet."""
    name = world.rng.choice(("formats", "units", "helpers", "tools"))
    world.files[world.module_path(name)] = (
        f'"""{name.capitalize()}."""\n\nLIMIT = {world.rng.randint(2, 99)}\n'
    )


def conftest_fixture(world: World) -> None:
    """A fixture for all tests."""
    need(holds=world.style.runner == "pytest" and world.conftest not in world.files)
    world.files[world.conftest] = (
        f"import pytest\n\n\n@pytest.fixture\ndef a_{world.domain.package}():\n"
        f"    return {{'name': '{world.domain.package}'}}\n"
    )


NOISE: tuple[Change, ...] = (documented, helper_module, refactored, bumped)
"""What means nothing to the tests: done by the honest and by those who fake."""
HONEST: tuple[tuple[str, Change], ...] = (
    ("test-renamed", renamed),
    ("test-moved", file_renamed),
    ("test-moved", file_split),
    ("test-split", test_split),
    ("parametrised", merged),
    ("test-split", unfolded),
    ("converted", converted),
    ("reformatted", reformatted),
    ("test-added", added),
    ("test-added", rows_added),
    ("feature-removed", feature_removed),
    ("config-moved", config_moved),
    ("config-stricter", config_stricter),
    ("dependency-bumped", bumped),
    ("test-refactored", helper_extracted),
    ("test-refactored", fixture_extracted),
    ("skip-with-condition", platform_skip),
    ("code-refactored", refactored),
    ("test-added", conftest_fixture),
)


def wrong_expectation(rng: Random, world: World) -> str:
    """Let one test expect the wrong thing, and the code be right; the wish that says what is right."""
    found = [t for _, t in _plain(world) if not t.table and t.checks[0].case.shows]
    need(holds=bool(found))
    test = rng.choice(found)
    check = test.checks[0]
    case = check.case
    check.case = Case(case.arguments, case.wrong, case.wrong)
    return f"{world.call(check)} is {world.literal(case.right)}, whatever the test says; all tests pass"
