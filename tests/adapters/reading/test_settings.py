"""Settings of every format come out as keys, values and exact lines; damage raises ValueError alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.reading.settings import is_settings, is_textual, settings_of

Rows = list[tuple[int, str, str]]


def rows(path: str, text: str) -> Rows:
    return [(each.line, each.key, each.value) for each in settings_of(path, text)]


TOML = """\
[tool.pytest.ini_options]
addopts = "-q"  # quietly
testpaths = [
    "tests",  # all
]
markers = []
"x.y" = {a = true}
[[tool.mypy.overrides]]
module = 'a'
[[tool.mypy.overrides]]
module = 'b'
[tool.tox]
legacy_tox_ini = \"\"\"
[testenv]
commands = pytest \\\\
  -q
\"\"\"
"""


def test_toml() -> None:
    ini = "tool.pytest.ini_options"
    assert rows("pyproject.toml", TOML) == [
        (2, f"{ini}.addopts", "-q"),
        (4, f"{ini}.testpaths[0]", "tests"),
        (6, f"{ini}.markers", ""),
        (7, f"{ini}.x.y.a", "true"),
        (9, "tool.mypy.overrides[0].module", "a"),
        (11, "tool.mypy.overrides[1].module", "b"),
        (14, "tool.tox.legacy_tox_ini[0]", "[testenv]"),
        (15, "tool.tox.legacy_tox_ini[1]", "commands = pytest \\ -q"),
    ]


YAML = """\
on: [push, pull_request]
jobs:
  test:
    # why
    steps:
      - run: pytest -q
      - name: x
        run: |
          set -e
          # nothing
          pytest \\
            -q || true
        "continue-on-error": true
      - !ref [a]
      - &anchor foo
      - *anchor
x: {a: 1, b: 'q'}
empty:
"""


def test_yaml_and_the_lines_of_its_scripts() -> None:
    assert rows(".github/workflows/ci.yml", YAML) == [
        (1, "on[0]", "push"),
        (1, "on[1]", "pull_request"),
        (6, "jobs.test.steps[0].run", "pytest -q"),
        (7, "jobs.test.steps[1].name", "x"),
        (9, "jobs.test.steps[1].run[0]", "set -e"),
        (11, "jobs.test.steps[1].run[1]", "pytest -q || true"),
        (13, "jobs.test.steps[1].continue-on-error", "true"),
        (14, "jobs.test.steps[2][0]", "a"),
        (15, "jobs.test.steps[3]", "foo"),
        (16, "jobs.test.steps[4]", "*anchor"),
        (17, "x.a", "1"),
        (17, "x.b", "q"),
        (18, "empty", ""),
    ]


def test_json_with_comments() -> None:
    text = '{\n// why\n"scripts": {"test": "jest \\"a\\""},\n"files": ["a", "b"], /* x */ "jest": {"n": -1}}'
    assert rows("package.json", text) == [
        (3, "scripts.test", 'jest "a"'),
        (4, "files[0]", "a"),
        (4, "files[1]", "b"),
        (4, "jest.n", "-1"),
    ]


SCRIPT = """\
const {a} = require('x');
module.exports = {
  bail: 1, ...base,
  testMatch: ['**/*.test.js'],
  retries: process.env.CI ? 2 : 0,
};
module.exports.foo.bar = 3;
"""


def test_javascript_objects_and_assignments() -> None:
    assert rows("jest.config.js", SCRIPT) == [
        (3, "bail", "1"),
        (4, "testMatch[0]", "**/*.test.js"),
        (5, "retries", "process.env.CI ? 2 : 0"),
        (7, "foo.bar", "3"),
    ]


def test_typescript_and_calls() -> None:
    text = "import {d} from 'v'\nexport default d({\n  test: {coverage: {lines: 80}}\n} as X)\n"
    assert rows("vitest.config.ts", text) == [(3, "test.coverage.lines", "80")]


def test_eslint_lists() -> None:
    text = 'export default [js.recommended, {rules: {"no-x": ["error", 10]}}];'
    assert rows("eslint.config.mjs", text) == [
        (1, "[0]", "js.recommended"),
        (1, "[1].rules.no-x[0]", "error"),
        (1, "[1].rules.no-x[1]", "10"),
    ]


def test_ini_with_lists_and_comments() -> None:
    text = "[testenv]\n# why\ncommands =\n    pytest  # quietly\n    ruff check\n"
    text += "deps = x\n[flake8]\nignore: E1,\n  E2\n"
    assert rows("tox.ini", text) == [
        (4, "testenv.commands[0]", "pytest"),
        (5, "testenv.commands[1]", "ruff check"),
        (6, "testenv.deps", "x"),
        (8, "flake8.ignore[0]", "E1,"),
        (9, "flake8.ignore[1]", "E2"),
    ]


def test_makefiles() -> None:
    text = "SHELL := /bin/bash\n.PHONY: test\ntest lint: deps ; echo a\n"
    text += "\t-pytest \\\n\t  -q\n\t@echo ok\nX ?= 1\n"
    assert rows("Makefile", text) == [
        (1, "SHELL", "/bin/bash"),
        (2, "target .PHONY.needs", "test"),
        (3, "target test.needs", "deps"),
        (3, "target test[0]", "echo a"),
        (3, "target lint.needs", "deps"),
        (3, "target lint[0]", "echo a"),
        (4, "target test[1]", "-pytest -q"),
        (4, "target lint[1]", "-pytest -q"),
        (6, "target test[2]", "@echo ok"),
        (6, "target lint[2]", "@echo ok"),
        (7, "X", "1"),
    ]


def test_justfiles() -> None:
    assert rows("justfile", "x := 'a'\ntest arg='1': build\n  pytest {{arg}}\n") == [
        (1, "x", "'a'"),
        (2, "target test.needs", "build"),
        (3, "target test[0]", "pytest {{arg}}"),
    ]


def test_scripts() -> None:
    text = "#!/bin/sh\nset -e\n\npytest \\\n  -q\n"
    assert rows("scripts/test.sh", text) == [(2, "line", "set -e"), (4, "line", "pytest -q")]


def test_xml_without_its_comments() -> None:
    text = '<project>\n<!-- <skipTests>\nx -->\n<maven.test.skip>true</maven.test.skip><a b="3"/>\n</project>'
    assert rows("pom.xml", text) == [(4, "project.maven.test.skip", "true"), (4, "project.a@b", "3")]


def test_words_of_other_programs() -> None:
    text = "test {\n    ignoreFailures = true\n    exclude '**/FooTest*'\n    // why\n}\nminimum = 0.8\n"
    assert rows("build.gradle", text) == [
        (1, "line", "test {"),
        (2, "ignoreFailures", "true"),
        (3, "exclude", "**/FooTest*"),
        (5, "line", "}"),
        (6, "minimum", "0.8"),
    ]


STEER = (
    "pyproject.toml", "sub/pytest.ini", "setup.cfg", ".coveragerc", "package.json",
    "packages/a/tsconfig.build.json", ".eslintrc", "jest.config.ts", ".github/workflows/a.yml",
    ".gitlab-ci.yml", ".circleci/config.yml", "Makefile", "justfile", "Taskfile.yml",
    "scripts/run_tests.sh", ".husky/pre-commit", "tests/run.sh", "bin/pytest", "pytest.py",
    "node_modules/.bin/jest", "sitecustomize.py", "Cargo.toml", ".golangci.yml", "pom.xml",
    "build.gradle.kts", "phpunit.xml.dist", ".rspec", ".supervisor/config.toml",
    ".pre-commit-config.yaml", "noxfile.py", "codecov.yml",
)  # fmt: skip
STEER_NOT = (
    "src/app.py", "tests/test_a.py", "tests/conftest.py", "scripts/deploy.sh", "latest.sh",
    "node_modules/x/package.json", "tests/fixtures/tox.ini", "README.md", "src/coverage.py",
    "data/config.json", "src/contest/index.js", "",
)  # fmt: skip


@pytest.mark.parametrize("path", STEER)
def test_a_file_that_steers_a_check_is_known_by_its_path(path: str) -> None:
    assert is_settings(path)


@pytest.mark.parametrize("path", STEER_NOT)
def test_another_file_is_not(path: str) -> None:
    assert not is_settings(path)
    assert settings_of(path, "a = 1\n") == ()


def test_only_what_has_no_reader_of_its_own_is_textual() -> None:
    assert [is_textual(path) for path in ("pom.xml", "build.gradle", "noxfile.py")] == [True] * 3
    assert [is_textual(path) for path in ("pyproject.toml", "tox.ini", "Makefile", "src/a.py")] == [False] * 4


BROKEN = {
    "toml": ("pyproject.toml", "[tool\n"),
    "yaml": (".gitlab-ci.yml", "a: [1\nb: }\n"),
    "json": ("package.json", '{"a": '),
    "javascript": ("jest.config.js", "module.exports = {"),
}


@pytest.mark.parametrize(("path", "text"), BROKEN.values(), ids=BROKEN.keys())
def test_what_does_not_parse_raises_a_value_error(path: str, text: str) -> None:
    with pytest.raises(ValueError, match="parse"):
        settings_of(path, text)


HOSTILE = {
    "deep yaml": (".gitlab-ci.yml", "[" * 20_000 + "]" * 20_000),
    "deep json": ("package.json", "[" * 20_000 + "]" * 20_000),
    "deep xml": ("pom.xml", "<a>" * 20_000),
    "many values": ("pyproject.toml", "".join(f"a{number} = 1\n" for number in range(21_000))),
    "too much text": ("tox.ini", "a = 1\n" * 200_000),
    "too much toml": ("pyproject.toml", "# x\n" * 300_000),
}


@pytest.mark.parametrize(("path", "text"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_nests_too_deep_or_is_too_long_raises_a_value_error(path: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"deep|many|at most"):
        settings_of(path, text)


@given(
    st.sampled_from(STEER), st.text(st.sampled_from("[]{}<>=:\"'\\\n\t -#|&;a1.!*$`\ud800\0"), max_size=80)
)
@settings(max_examples=150)
def test_any_text_gives_values_on_lines_of_the_file_or_a_value_error(path: str, text: str) -> None:
    try:
        found = settings_of(path, text)
    except ValueError:
        return
    assert all(1 <= each.line <= text.count("\n") + 1 for each in found)
    assert not any("\n" in each.value for each in found)
