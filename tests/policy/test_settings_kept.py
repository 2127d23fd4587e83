"""Thresholds and test runners: what finds less is found, what finds as much is not."""

from __future__ import annotations

import pytest

from sidecar.model.finding import Change, Weight
from support.changed_settings import found, said

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN
Edit = tuple[str, str, str]
"""A path, its text before and after."""

PYPROJECT = "pyproject.toml"
PYTEST = "[tool.pytest.ini_options]\n"
REPORT = "[tool.coverage.report]\n"


def jest(branches: int) -> str:
    return f'{{"jest": {{"coverageThreshold": {{"global": {{"branches": {branches}}}}}}}}}'


def codecov(line: str) -> str:
    return f"coverage:\n  status:\n    project:\n      default:\n        {line}\n"


LOWERED: dict[str, Edit] = {
    "coverage must reach less": (PYPROJECT, REPORT + "fail_under = 85\n", REPORT + "fail_under = 50\n"),
    "coverage need not reach anything": (PYPROJECT, REPORT + "fail_under = 85\nx=1\n", REPORT + "x = 1\n"),
    "pytest-cov must reach less": (
        PYPROJECT,
        PYTEST + 'addopts = "--cov --cov-fail-under=90"\n',
        PYTEST + 'addopts = "--cov --cov-fail-under=70"\n',
    ),
    "pytest-cov need not reach anything": (
        PYPROJECT,
        PYTEST + 'addopts = "--cov --cov-fail-under=90"\n',
        PYTEST + 'addopts = "--cov"\n',
    ),
    "jest must reach less": ("package.json", jest(90), jest(10)),
    "vitest must reach less": (
        "vitest.config.ts",
        "export default defineConfig({test: {coverage: {thresholds: {lines: 80}}}})",
        "export default defineConfig({test: {coverage: {thresholds: {lines: 20}}}})",
    ),
    "nyc does not check": (
        ".nycrc",
        '{"check-coverage": true, "lines": 90}',
        '{"check-coverage": false, "lines": 90}',
    ),
    "code may be more complex": (
        ".flake8",
        "[flake8]\nmax-complexity = 10\n",
        "[flake8]\nmax-complexity = 40\n",
    ),
    "more warnings are let pass": (
        "package.json",
        '{"scripts": {"lint": "eslint . --max-warnings 0"}}',
        '{"scripts": {"lint": "eslint . --max-warnings 50"}}',
    ),
    "any number of warnings is let pass": (
        "package.json",
        '{"scripts": {"lint": "eslint . --max-warnings=0"}}',
        '{"scripts": {"lint": "eslint ."}}',
    ),
    "codecov wants less": ("codecov.yml", codecov("target: 80%"), codecov("target: 40%")),
    "codecov lets it fall further": ("codecov.yml", codecov("threshold: 1%"), codecov("threshold: 30%")),
    "jacoco wants less": ("build.gradle", "minimum = 0.8\n", "minimum = 0.1\n"),
    "rubocop lets methods grow": (
        ".rubocop.yml",
        "Metrics/MethodLength:\n  Max: 10\n",
        "Metrics/MethodLength:\n  Max: 100\n",
    ),
    "phpstan looks less closely": ("phpstan.neon", "parameters:\n  level: 8\n", "parameters:\n  level: 1\n"),
}


@pytest.mark.parametrize("edit", LOWERED.values(), ids=LOWERED.keys())
def test_a_limit_that_is_looser_is_grave(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == {(Change.THRESHOLD_LOWERED, GRAVE)}


@pytest.mark.parametrize("edit", LOWERED.values(), ids=LOWERED.keys())
def test_a_limit_that_is_stricter_is_nothing(edit: Edit) -> None:
    path, before, after = edit
    if "check-coverage" not in before:
        assert said({path: after}, {path: before}) == set()


def test_longer_lines_are_a_matter_of_taste() -> None:
    before, after = "[tool.ruff]\nline-length = 88\n", "[tool.ruff]\nline-length = 100\n"
    assert said({PYPROJECT: before}, {PYPROJECT: after}) == {(Change.THRESHOLD_LOWERED, SHOWN)}


def test_a_deleted_file_takes_its_threshold_with_it() -> None:
    (finding,) = found({".coveragerc": "[report]\nfail_under = 85\n"}, {})
    assert (finding.change, finding.weight) == (Change.THRESHOLD_LOWERED, GRAVE)
    assert (finding.file, finding.line, finding.before) == (".coveragerc", 2, "report.fail_under = 85")


def test_a_threshold_that_moves_says_nothing_and_one_lowered_on_the_way_is_found() -> None:
    before = {"setup.cfg": "[coverage:report]\nfail_under = 85\n", PYPROJECT: "[project]\n"}
    assert found(before, {PYPROJECT: "[project]\n" + REPORT + "fail_under = 85\n"}) == ()
    (finding,) = found(before, {PYPROJECT: "[project]\n" + REPORT + "fail_under = 80\n"})
    assert (finding.file, finding.line) == (PYPROJECT, 3)
    assert (finding.before, finding.after) == (
        "coverage:report.fail_under = 85",
        "tool.coverage.report.fail_under = 80",
    )


def test_settings_that_move_are_matched_by_their_values_first() -> None:
    before = {
        f"{name}/setup.cfg": f"[coverage:report]\nfail_under = {least}\n"
        for name, least in (("a", 90), ("b", 50))
    }
    after = {
        f"{name}/.coveragerc": f"[report]\nfail_under = {least}\n" for name, least in (("x", 50), ("y", 90))
    }
    assert found(before, after) == ()


def addopts(options: str) -> str:
    return f'{PYTEST}addopts = "-q {options}"\n'


def ignored(*paths: str) -> str:
    return f"module.exports = {{testPathIgnorePatterns: {list(paths)}}}"


RUNNER: dict[str, Edit] = {
    "a filter by name": (PYPROJECT, addopts(""), addopts("-k 'not cart'")),
    "a filter by marker": (PYPROJECT, addopts(""), addopts("-m 'not slow'")),
    "a filter in a list": (
        PYPROJECT,
        PYTEST + 'addopts = ["-q"]\n',
        PYTEST + 'addopts = ["-q", "-k", "not cart"]\n',
    ),
    "a test deselected": (PYPROJECT, addopts(""), addopts("--deselect tests/test_a.py::test_b")),
    "a file ignored": (PYPROJECT, addopts(""), addopts("--ignore=tests/test_a.py")),
    "a second file ignored": (
        PYPROJECT,
        addopts("--ignore=tests/test_a.py"),
        addopts("--ignore=tests/test_a.py --ignore=tests/test_b.py"),
    ),
    "a test file with the name of a build": (PYPROJECT, addopts(""), addopts("--ignore=tests/build_test.py")),
    "a test in the folder of a build": (PYPROJECT, addopts(""), addopts("--ignore=build/test_cart.py")),
    "nothing but collecting": (PYPROJECT, addopts(""), addopts("--collect-only")),
    "a folder of tests less": (
        PYPROJECT,
        PYTEST + 'testpaths = ["tests", "integration"]\n',
        PYTEST + 'testpaths = ["tests"]\n',
    ),
    "a part of the tests": (
        PYPROJECT,
        PYTEST + 'testpaths = ["tests"]\n',
        PYTEST + 'testpaths = ["tests/unit"]\n',
    ),
    "fewer files": (
        PYPROJECT,
        PYTEST + 'python_files = ["test_*.py", "*_test.py"]\n',
        PYTEST + 'python_files = ["test_cart*.py"]\n',
    ),
    "names that no test has": (PYPROJECT, addopts(""), addopts("") + 'python_functions = ["check_*"]\n'),
    "a folder left out": (
        PYPROJECT,
        PYTEST + 'norecursedirs = [".git"]\n',
        PYTEST + 'norecursedirs = [".git", "tests/slow"]\n',
    ),
    "jest leaves a file out": (
        "jest.config.js",
        ignored("/node_modules/"),
        ignored("/node_modules/", "cart.test.js"),
    ),
    "jest leaves sources out": (
        "jest.config.js",
        ignored("/node_modules/"),
        ignored("/node_modules/", "/src/types/"),
    ),
    "jest finds one file": (
        "jest.config.js",
        'module.exports = {testMatch: ["**/*.test.js"]}',
        'module.exports = {testMatch: ["**/math.test.js"]}',
    ),
    "vitest leaves a file out": (
        "vitest.config.ts",
        "export default {test: {globals: true}}",
        'export default {test: {globals: true, exclude: ["**/node_modules/**", "src/cart.test.ts"]}}',
    ),
    "a pass that was not expected passes": (
        PYPROJECT,
        PYTEST + "xfail_strict = true\n",
        PYTEST + "xfail_strict = false\n",
    ),
    "a strictness left to its default": (PYPROJECT, PYTEST + "xfail_strict = true\n", PYTEST),
    "maven skips tests": (
        "pom.xml",
        "<project><properties><a>1</a></properties></project>",
        "<project><properties><a>1</a><skipTests>true</skipTests></properties></project>",
    ),
    "maven ignores failures": (
        "pom.xml",
        "<project><configuration><testFailureIgnore>false</testFailureIgnore></configuration></project>",
        "<project><configuration><testFailureIgnore>true</testFailureIgnore></configuration></project>",
    ),
    "gradle ignores failures": ("build.gradle", "test {\n}\n", "test {\n  ignoreFailures = true\n}\n"),
    "rspec leaves a tag out": (".rspec", "--color\n", "--color\n--tag ~slow\n"),
    "tox ignores the outcome": (
        "tox.ini",
        "[testenv]\ncommands = pytest\n",
        "[testenv]\nignore_outcome = true\ncommands = pytest\n",
    ),
}


@pytest.mark.parametrize("edit", RUNNER.values(), ids=RUNNER.keys())
def test_a_runner_that_finds_or_counts_less_is_grave(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == {(Change.RUNNER_LOOSENED, GRAVE)}


RUNNER_SHOWN: dict[str, Edit] = {
    "warnings are no errors": (
        PYPROJECT,
        PYTEST + 'filterwarnings = ["error"]\n',
        PYTEST + "filterwarnings = []\n",
    ),
    "failures are tried again": (
        "playwright.config.ts",
        'export default {retries: 0, testDir: "e2e"}',
        'export default {retries: 3, testDir: "e2e"}',
    ),
    "reruns": (PYPROJECT, addopts(""), addopts("--reruns 3")),
    "code whose coverage does not count": (
        PYPROJECT,
        "[tool.coverage.run]\nbranch = true\n",
        "[tool.coverage.run]\nbranch = true\nomit = ['src/cart.py']\n",
    ),
    "another filter": (PYPROJECT, addopts("-m 'not slow'"), addopts("-m 'not slow and not big'")),
    "a folder below the tests named first": (
        PYPROJECT,
        addopts(""),
        addopts("") + "testpaths = ['tests/unit']\n",
    ),
    "passing with no tests": (
        "jest.config.js",
        "module.exports = {bail: 1}",
        "module.exports = {passWithNoTests: true}",
    ),
}


@pytest.mark.parametrize("edit", RUNNER_SHOWN.values(), ids=RUNNER_SHOWN.keys())
def test_what_is_as_often_right_as_wrong_is_shown(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == {(Change.RUNNER_LOOSENED, SHOWN)}


def test_a_new_pytest_ini_is_judged_by_what_it_says() -> None:
    sources = {"a.py": "1\n"}, {"a.py": "2\n"}
    loose = "[pytest]\naddopts = --ignore=tests/test_cart.py\n"
    honest = "[pytest]\naddopts = -q\nmarkers =\n    slow: takes long\ntestpaths = tests\n"
    assert said({}, {"pytest.ini": loose}) == {(Change.RUNNER_LOOSENED, GRAVE)}
    assert said({}, {"pytest.ini": honest}) == set()
    assert said(sources[0], sources[1] | {"pytest.ini": "[pytest]\n"}) == {(Change.RUNNER_LOOSENED, SHOWN)}


def test_a_new_pytest_ini_that_hides_a_section_is_shown_and_one_that_it_moved_to_is_not() -> None:
    before = {PYPROJECT: addopts("")}
    there_still = {PYPROJECT: "x = 1\n" + addopts(""), "pytest.ini": "[pytest]\naddopts = -q\n"}
    moved = {PYPROJECT: "x = 1\n", "pytest.ini": "[pytest]\naddopts = -q\n"}
    assert said(before, there_still) == {(Change.RUNNER_LOOSENED, SHOWN)}
    assert said(before, moved) == set()


def test_settings_that_do_not_parse_any_more_are_shown_and_prove_nothing_else() -> None:
    (finding,) = found({PYPROJECT: REPORT + "fail_under = 85\n"}, {PYPROJECT: "[[[\n"})
    assert (finding.change, finding.weight) == (Change.UNREADABLE, SHOWN)


def test_what_is_read_by_its_words_alone_is_weak() -> None:
    (gradle,) = found(
        {"build.gradle": "test {\n}\n"}, {"build.gradle": "test {\n  ignoreFailures = true\n}\n"}
    )
    (toml,) = found({PYPROJECT: REPORT + "fail_under = 85\n"}, {PYPROJECT: REPORT + "fail_under = 5\n"})
    assert (gradle.weak, toml.weak) == (True, False)


def test_before_and_after_are_bounded_and_many_findings_alike_are_cut() -> None:
    long = PYTEST + 'addopts = "' + "--deselect tests/test_a.py::test_b " * 100 + '"\n'
    assert all(len(each.after) <= 300 for each in found({PYPROJECT: addopts("")}, {PYPROJECT: long}))
    rules = ", ".join(f'"rule-{number}": "error"' for number in range(50))
    config = f'{{"rules": {{{rules}}}}}'
    many = found({".eslintrc.json": config}, {".eslintrc.json": config.replace("error", "off")})
    assert 0 < len(many) < 10
