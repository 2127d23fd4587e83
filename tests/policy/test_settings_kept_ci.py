"""CI: a failure that does not count, a check that does not run. New jobs and steps may be as they like."""

from __future__ import annotations

import pytest

from sidecar.model.finding import Change, Weight
from support.changed_settings import said

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN
Edit = tuple[str, str, str]

GITHUB = ".github/workflows/ci.yml"
BASE = """\
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v3
      - run: pip install -e .
      - run: pytest -q
      - run: ruff check .
"""
SCRIPT = "on: push\njobs:\n  t:\n    steps:\n      - run: |\n          set -e\n          pytest -q\n"
MATRIX = BASE.replace(
    "    runs-on", "    strategy:\n      matrix:\n        python: ['3.10','3.11','3.12']\n    runs-on"
)
GITLAB = "test:\n  script:\n    - pytest\nlint:\n  script:\n    - ruff check .\n"


def github(old: str, new: str) -> Edit:
    return (GITHUB, BASE, BASE.replace(old, new))


FAKED: dict[str, Edit] = {
    "a step may fail": github("- run: pytest -q", "- run: pytest -q\n        continue-on-error: true"),
    "a step may fail, by an expression": github(
        "- run: pytest -q", "- run: pytest -q\n        continue-on-error: ${{ true }}"
    ),
    "a job may fail": github("    runs-on", "    continue-on-error: true\n    runs-on"),
    "a step hides its failure": github("pytest -q", "pytest -q || true"),
    "a step never runs": github("- run: pytest -q", "- run: pytest -q\n        if: false"),
    "a job never runs": github("    runs-on", "    if: ${{ false }}\n    runs-on"),
    "the tests are gone": github("      - run: pytest -q\n", ""),
    "the linter is gone": github("      - run: ruff check .\n", ""),
    "the tests are a word": github("pytest -q", "echo ok"),
    "the workflow is gone": (GITHUB, BASE, ""),
    "a script goes on": (GITHUB, SCRIPT, SCRIPT.replace("set -e", "set +e")),
    "a script hides its failure": (GITHUB, SCRIPT, SCRIPT.replace("pytest -q", "pytest -q || echo bad")),
    "gitlab: a job may fail": (
        ".gitlab-ci.yml",
        GITLAB,
        GITLAB.replace("lint:\n", "lint:\n  allow_failure: true\n"),
    ),
    "gitlab: a job never runs": (
        ".gitlab-ci.yml",
        GITLAB,
        GITLAB.replace("lint:\n", "lint:\n  when: never\n"),
    ),
    "circle": (
        ".circleci/config.yml",
        "jobs:\n  t:\n    steps:\n      - run: pytest\n",
        "jobs:\n  t:\n    steps:\n      - run: pytest || true\n",
    ),
    "azure": (
        "azure-pipelines.yml",
        "steps:\n- script: pytest\n",
        "steps:\n- script: pytest\n  continueOnError: true\n",
    ),
    "travis": (".travis.yml", "script:\n- pytest\n", "script:\n- pytest || true\n"),
    "jenkins": (
        "Jenkinsfile",
        "stage('t') {\n  sh 'pytest -q'\n}\n",
        "stage('t') {\n  sh 'pytest -q || true'\n}\n",
    ),
    "jenkins says a word": (
        "Jenkinsfile",
        "stage('t') {\n  sh 'pytest -q'\n}\n",
        "stage('t') {\n  sh 'echo'\n}\n",
    ),
}


@pytest.mark.parametrize("edit", FAKED.values(), ids=FAKED.keys())
def test_a_check_that_does_not_count_any_more_is_grave(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after} if after else {}) == {(Change.CI_LOOSENED, GRAVE)}


def test_options_that_leave_tests_out_are_those_of_the_runner() -> None:
    filtered = BASE.replace("pytest -q", "pytest -q -m 'not slow'")
    outside = BASE.replace("jobs:", "env:\n  PYTEST_ADDOPTS: '-k foo'\njobs:")
    for after in (filtered, outside):
        assert said({GITHUB: BASE}, {GITHUB: after}) == {(Change.RUNNER_LOOSENED, GRAVE)}


DOUBTFUL: dict[str, Edit] = {
    "an event less": github("[push, pull_request]", "[push]"),
    "by hand only": github("[push, pull_request]", "workflow_dispatch"),
    "a version less": (GITHUB, MATRIX, MATRIX.replace(",'3.12'", "")),
    "a condition": github("- run: pytest -q", "- run: pytest -q\n        if: github.event_name == 'push'"),
    "another command that may hold it": github("- run: pytest -q\n      - run: ruff check .", "- run: tox"),
    "some files are left out": github(
        "on: [push, pull_request]", "on:\n  pull_request:\n  push:\n    paths: [a]"
    ),
}


@pytest.mark.parametrize("edit", DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_what_may_be_right_is_shown(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == {(Change.CI_LOOSENED, SHOWN)}


HONEST: dict[str, Edit] = {
    "a step moves to a job of its own": (
        GITHUB,
        BASE,
        BASE.replace("      - run: ruff check .\n", "") + "  lint:\n    steps:\n      - run: ruff check .\n",
    ),
    "an expression chooses": github("pytest -q", "pytest -q ${{ matrix.x || format('a{0}', matrix.y) }}"),
    "a job is renamed": github("  test:", "  unit:"),
    "an action is newer": github("checkout@v3", "checkout@v4"),
    "another machine and a limit": github("ubuntu-latest", "ubuntu-22.04\n    timeout-minutes: 10"),
    "a new step may fail": (
        GITHUB,
        BASE,
        BASE + "      - uses: codecov/codecov-action@v3\n        continue-on-error: true\n",
    ),
    "a new check may fail for now": (
        GITHUB,
        BASE,
        BASE + "      - run: mypy .\n        continue-on-error: true\n",
    ),
    "a new check may fail": (GITHUB, BASE, BASE + "      - run: npm test || true\n"),
    "an optional package may be missing": github(
        "pip install -e .", "pip install -e .[dev]\n      - run: pip install x || true"
    ),
    "a step always runs and has a name": github(
        "- run: ruff check .", "- name: Lint\n        if: always()\n        run: ruff check ."
    ),
    "a command in a block with others": github(
        "- run: pytest -q", "- name: Tests\n        run: |\n          echo hi\n          pytest -q --cov"
    ),
    "events in the long form": github("on: [push, pull_request]", "on:\n  push:\n  pull_request:"),
    "another linter": github("ruff check .", "pre-commit run -a"),
    "a version more": (GITHUB, MATRIX, MATRIX.replace("'3.12'", "'3.12','3.13'")),
    "newer versions": (GITHUB, MATRIX, MATRIX.replace("'3.10','3.11','3.12'", "'3.11','3.12','3.13'")),
    "all versions run to their end": (
        GITHUB,
        MATRIX,
        MATRIX.replace("    strategy:\n", "    strategy:\n      fail-fast: false\n"),
    ),
    "gitlab: a new job by hand": (
        ".gitlab-ci.yml",
        GITLAB,
        GITLAB + "deploy:\n  when: manual\n  script: [./deploy.sh]\n",
    ),
}


@pytest.mark.parametrize("edit", HONEST.values(), ids=HONEST.keys())
def test_a_ci_that_checks_as_much_says_nothing(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == set()


def test_a_new_ci_says_nothing_and_neither_does_one_that_takes_over() -> None:
    assert said({}, {GITHUB: BASE}) == set()
    taken_over = "test:\n  script:\n    - pytest -q\n    - ruff check .\n"
    assert said({GITHUB: BASE}, {".gitlab-ci.yml": taken_over}) == set()
