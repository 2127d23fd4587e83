"""Commands that check: hidden failures, commands that do nothing, checks that are gone or look at less."""

from __future__ import annotations

import pytest

from sidecar.model.finding import Change, Weight
from support.changed_settings import found, said

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN
Edit = tuple[str, str, str]

MAKE = ".PHONY: test\ntest:\n\tpytest -q\n\nclean:\n\trm -rf x\n"
SCRIPT = "#!/bin/sh\nset -e\npytest -q\nruff check .\n"
TOX = "[testenv]\ncommands =\n    pytest {posargs}\n    mypy src\n"
PLACEHOLDER = 'echo \\"Error: no test specified\\" && exit 1'


def npm(test: str, others: str = "") -> str:
    return f'{{"scripts": {{"test": "{test}"{others}}}}}'


HIDDEN = {
    "or true": "jest || true",
    "or a colon": "(jest) || :",
    "or an echo": "jest || echo failed",
    "or an exit": "jest || exit 0",
    "an exit behind it": "jest; exit 0",
    "anything behind it": "jest; node report.js",
    "true behind it": "jest > /dev/null 2>&1; true",
    "in the background": "jest &",
    "a condition": "if jest; then echo ok; fi",
    "turned round": "! jest",
    "into a pipe": "jest | cat",
    "nothing": "true",
    "only a word": "echo ok",
    "a word that names it": "echo jest",
    "an exit before it": "exit 0 && jest",
    "an exit and then it": "exit 0; jest",
    "true before it": "true || jest",
    "never": "false && jest; true",
    "another program that always ends well": "node fake.js && exit 0 || exit 0",
    "one file": "jest src/math.test.js",
}


@pytest.mark.parametrize("line", HIDDEN.values(), ids=HIDDEN.keys())
def test_a_test_script_that_cannot_fail_any_more_is_grave(line: str) -> None:
    says = said({"package.json": npm("jest")}, {"package.json": npm(line)})
    assert says == {(Change.COMMAND_CHANGED, GRAVE)}


FAKED: dict[str, Edit] = {
    "a script is gone": ("package.json", npm("jest"), '{"scripts": {}}'),
    "one of two checks is gone": ("package.json", npm("eslint . && jest"), npm("jest")),
    "one check instead of both": ("package.json", npm("npm run lint && jest"), npm("npm run lint || jest")),
    "a file of a folder": ("package.json", npm("mocha test"), npm("mocha test/a.js")),
    "make ignores the outcome": ("Makefile", MAKE, MAKE.replace("\tpytest", "\t-pytest")),
    "make hides the outcome": ("Makefile", MAKE, MAKE.replace("pytest -q", "pytest -q || true")),
    "make says ok": ("Makefile", MAKE, MAKE.replace("pytest -q", "@echo ok")),
    "make ignores all outcomes": ("Makefile", MAKE, MAKE + ".IGNORE: test\n"),
    "make ignores errors": ("Makefile", MAKE, "MAKEFLAGS += -i\n" + MAKE),
    "make has a shell that does nothing": ("Makefile", MAKE, "SHELL = /bin/true\n" + MAKE),
    "make tests one file": ("Makefile", MAKE, MAKE.replace("pytest -q", "pytest -q tests/test_a.py")),
    "go tests one package": ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test ./a\n"),
    "just ignores the outcome": ("justfile", "test:\n  pytest\n", "test:\n  -pytest\n"),
    "a script hides the outcome": (
        "scripts/test.sh",
        SCRIPT,
        SCRIPT.replace("pytest -q", "pytest -q || true"),
    ),
    "a script goes on": ("scripts/test.sh", SCRIPT, SCRIPT.replace("set -e", "set +e")),
    "a script may go on": ("scripts/test.sh", SCRIPT, SCRIPT.replace("set -e\n", "")),
    "a script is emptied": ("scripts/test.sh", SCRIPT, "#!/bin/sh\nexit 0\n"),
    "a script leaves at once": (
        "scripts/test.sh",
        SCRIPT,
        "#!/bin/sh\nexit 0\nset -e\npytest -q\nruff check .\n",
    ),
    "a script ends well": ("scripts/test.sh", "pytest -q\n", "pytest -q\nexit 0\n"),
    "tox has a check less": ("tox.ini", TOX, TOX.replace("    mypy src\n", "")),
    "tox ignores a command": ("tox.ini", TOX, TOX.replace("pytest", "- pytest")),
    "tox does nothing": ("tox.ini", TOX, "[testenv]\ncommands = python -c 'pass'\n"),
    "nox does nothing": ("noxfile.py", "def t(s):\n    s.run('pytest')\n", "def t(s):\n    pass\n"),
    "nox lets failures pass": (
        "noxfile.py",
        "    session.run('pytest')\n",
        "    session.run('pytest', success_codes=[0, 1])\n",
    ),
    "our own gate does nothing": (
        ".supervisor/config.toml",
        '[gates.tests]\ncommand = "pytest"\n',
        '[gates.tests]\ncommand = "true"\n',
    ),
    "our own gate is gone": (".supervisor/config.toml", '[gates.tests]\ncommand = "pytest"\n', ""),
}


@pytest.mark.parametrize("edit", FAKED.values(), ids=FAKED.keys())
def test_a_command_that_checks_less_is_grave(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == {(Change.COMMAND_CHANGED, GRAVE)}


OPTIONS = {
    "jest": ("jest", "jest -t 'adds'"),
    "jest's list": ("jest", "jest --testPathIgnorePatterns cart"),
    "pytest through a variable": ("pytest", "PYTEST_ADDOPTS='-k foo' pytest"),
    "python without asserts": ("python -m pytest", "python -O -m pytest"),
    "go": ("go test ./...", "go test -run XXX ./..."),
    "cargo": ("cargo test", "cargo test --no-run"),
    "maven": ("mvn verify", "mvn verify -DskipTests"),
    "maven, before what it does": ("mvn -q verify", "mvn -q -DskipTests verify"),
    "gradle": ("./gradlew check", "./gradlew check -x test"),
    "a version": ("vitest run", "vitest run --version"),
    "what is passed on": ("npm run unit:test", "npm run unit:test -- --testNamePattern=adds"),
}


@pytest.mark.parametrize(("before", "after"), OPTIONS.values(), ids=OPTIONS.keys())
def test_an_option_that_leaves_tests_out_is_grave(before: str, after: str) -> None:
    says = said({"package.json": npm(before)}, {"package.json": npm(after)})
    assert says == {(Change.RUNNER_LOOSENED, GRAVE)}


OTHERS = {
    "another runner": ("jest", "vitest run"),
    "a script instead": ("jest", "node scripts/run.js"),
    "other settings": ("jest", "jest --config other.js"),
}


@pytest.mark.parametrize(("before", "after"), OTHERS.values(), ids=OTHERS.keys())
def test_any_other_change_of_the_test_command_is_shown(before: str, after: str) -> None:
    says = said({"package.json": npm(before)}, {"package.json": npm(after)})
    assert says == {(Change.COMMAND_CHANGED, SHOWN)}


HONEST: dict[str, Edit] = {
    "coverage is measured": ("package.json", npm("jest"), npm("jest --coverage --ci")),
    "a check comes first": ("package.json", npm("jest"), npm("npm run lint && jest")),
    "a check comes last": ("package.json", npm("jest"), npm("jest && npm run lint")),
    "a check gets its own script": (
        "package.json",
        npm("eslint . && jest"),
        npm("jest && npm run lint", ', "lint": "eslint ."'),
    ),
    "the first test command": ("package.json", npm(PLACEHOLDER), npm("jest")),
    "the placeholder goes": ("package.json", npm(PLACEHOLDER), '{"scripts": {}}'),
    "another build": (
        "package.json",
        '{"scripts": {"build": "webpack"}}',
        '{"scripts": {"build": "vite build"}}',
    ),
    "what was hidden before stays so": ("package.json", npm("jest || true"), npm("jest --ci || true")),
    "cleaning may fail": (
        "package.json",
        '{"scripts": {"clean": "rm -rf x"}}',
        '{"scripts": {"clean": "rm -rf x || true"}}',
    ),
    "other scripts and versions": (
        "package.json",
        npm("jest"),
        '{"scripts": {"start": "node .", "test": "jest"}, "dependencies": {"a": "2"}}',
    ),
    "make cleans on": ("Makefile", MAKE, MAKE.replace("rm -rf x", "-rm -rf x y || true")),
    "make stops a container first": (
        "Makefile",
        MAKE,
        MAKE.replace("\tpytest", "\tdocker stop x || true\n\tpytest"),
    ),
    "make gets a target": ("Makefile", MAKE, MAKE + "lint:\n\truff check .\n"),
    "make names the folder": ("Makefile", MAKE, MAKE.replace("pytest -q", "pytest -q tests")),
    "make measures": ("Makefile", MAKE, MAKE.replace("pytest -q", "pytest -q --cov=src --cov-report=term")),
    "make has a shell": ("Makefile", MAKE, "SHELL := /bin/bash\n" + MAKE),
    "a stricter script": ("scripts/test.sh", SCRIPT, SCRIPT.replace("set -e", "set -euo pipefail")),
    "a script that ends well and would have ended": ("scripts/test.sh", SCRIPT, SCRIPT + "exit 0\n"),
    "a script checks more": ("scripts/test.sh", SCRIPT, SCRIPT + "mypy .\n"),
    "a script cleans up": (
        "scripts/test.sh",
        SCRIPT,
        SCRIPT.replace("pytest", "docker compose up -d\ntrap 'docker compose down || true' EXIT\npytest"),
    ),
    "tox in another order": ("tox.ini", TOX, "[testenv]\ncommands =\n    mypy src\n    pytest {posargs}\n"),
    "tox with an environment more": (
        "tox.ini",
        TOX,
        TOX.replace("    mypy src\n", "") + "[testenv:types]\ncommands = mypy src\n",
    ),
    "a newer runner": (
        "tox.ini",
        "[testenv]\ndeps = pytest==7\ncommands = pytest\n",
        "[testenv]\ndeps = pytest==8\ncommands = pytest\n",
    ),
}


@pytest.mark.parametrize("edit", HONEST.values(), ids=HONEST.keys())
def test_a_command_that_checks_as_much_says_nothing(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == set()


def test_environments_of_tox_may_move_to_toml() -> None:
    before = {"tox.ini": TOX + "[testenv:style]\ncommands = ruff check\n"}
    after = (
        "[tool.tox.env_run_base]\ncommands = [['pytest', {replace = 'posargs'}], ['mypy', 'src']]\n"
        "[tool.tox.env.style]\ncommands = [['ruff', 'check']]\n"
    )
    assert (Change.COMMAND_CHANGED, GRAVE) not in said(before, {"pyproject.toml": after})
    assert (Change.COMMAND_CHANGED, GRAVE) in said(
        before, {"pyproject.toml": after.replace("'mypy', 'src'", "'true'")}
    )


def test_a_run_that_is_split_in_several_is_shown() -> None:
    after = MAKE.replace("pytest -q", "pytest -q -m unit\n\tpytest -q -m 'not unit'")
    assert said({"Makefile": MAKE}, {"Makefile": after}) == {(Change.RUNNER_LOOSENED, SHOWN)}


def test_new_commands_say_nothing() -> None:
    new = npm("jest --passWithNoTests", ', "lint": "eslint ."')
    assert said({}, {"package.json": new, "Makefile": MAKE, "scripts/test.sh": SCRIPT}) == set()


def test_a_finding_names_the_line_before_and_after() -> None:
    (finding,) = found({"Makefile": MAKE}, {"Makefile": "# tests\n" + MAKE.replace("-q", "-q || true")})
    assert (finding.file, finding.line) == ("Makefile", 4)
    assert (finding.before, finding.after) == (
        "target test[0] = pytest -q",
        "target test[0] = pytest -q || true",
    )


SHADOWS = {
    "a program": ("bin/pytest", "#!/bin/sh\nexit 0\n"),
    "a module": ("pytest.py", "import sys\n"),
    "a package": ("pytest/__init__.py", "VERSION = 1\n"),
    "an installed program": ("node_modules/.bin/jest", "#!/bin/sh\nexit 0\n"),
    "what the interpreter starts with": ("sitecustomize.py", "import sys\nsys.modules['x'] = 1\n"),
}


@pytest.mark.parametrize(("path", "text"), SHADOWS.values(), ids=SHADOWS.keys())
def test_a_new_file_in_the_place_of_a_check_is_grave(path: str, text: str) -> None:
    assert said({}, {path: text}) == {(Change.COMMAND_SHADOWED, GRAVE)}


def test_an_installed_program_that_hands_over_is_none_and_one_in_the_tree_is_shown() -> None:
    node = "#!/usr/bin/env node\nrequire('jest-cli')\n"
    ruby = "#!/usr/bin/env ruby\nload Gem.bin_path('rspec-core', 'rspec')\n"
    python = "#!/x/python\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"
    assert said({}, {"node_modules/.bin/jest": node, ".venv/bin/pytest": python}) == set()
    assert said({}, {"bin/rspec": ruby}) == {(Change.COMMAND_SHADOWED, SHOWN)}
    assert said({"bin/rspec": ruby}, {"bin/rspec": "exit 0\n"}) >= {(Change.COMMAND_SHADOWED, GRAVE)}


def test_measuring_coverage_of_processes_is_no_shadow() -> None:
    assert said({}, {"sitecustomize.py": "import coverage\ncoverage.process_startup()\n"}) == set()
