"""Linters and type checkers: a tool or its strictness that goes is grave, a single rule is shown."""

from __future__ import annotations

import pytest

from sidecar.model.finding import Change, Weight
from support.changed_settings import said

Edit = tuple[str, str, str]

PYPROJECT = "pyproject.toml"
STRICT_MYPY = "[tool.mypy]\nstrict = true\n"
RUFF = "[tool.ruff.lint]\n"
HOOKS = "repos:\n- repo: a\n  rev: v1\n  hooks:\n  - id: ruff\n  - id: mypy\n"
STRICT = '{"compilerOptions": {"strict": true}}'

WHOLE: dict[str, Edit] = {
    "mypy is not strict": (PYPROJECT, "[tool.mypy]\nstrict = true\n", "[tool.mypy]\nstrict = false\n"),
    "mypy's strictness is gone": (
        PYPROJECT,
        "[tool.mypy]\nstrict = true\npretty = true\n",
        "[tool.mypy]\npretty = true\n",
    ),
    "mypy ignores every error": (
        PYPROJECT,
        "[tool.mypy]\nstrict = true\n",
        "[tool.mypy]\nstrict = true\nignore_errors = true\n",
    ),
    "mypy ignores errors of a package": (
        PYPROJECT,
        "[tool.mypy]\nstrict = true\n",
        "[tool.mypy]\nstrict = true\n[[tool.mypy.overrides]]\nmodule = 'app.*'\nignore_errors = true\n",
    ),
    "the strict file is deleted": ("mypy.ini", "[mypy]\nstrict = True\n", ""),
    "typescript is not strict": ("tsconfig.json", STRICT, STRICT.replace("true", "false")),
    "typescript checks nothing": (
        "tsconfig.json",
        STRICT,
        '{"compilerOptions": {"strict": true, "noCheck": true}}',
    ),
    "pyright is off": ("pyrightconfig.json", '{"typeCheckingMode": "strict"}', '{"typeCheckingMode": "off"}'),
    "biome is off": ("biome.json", '{"linter": {"enabled": true}}', '{"linter": {"enabled": false}}'),
    "ruff has a few rules instead of all": (
        PYPROJECT,
        RUFF + "select = ['ALL']\n",
        RUFF + "select = ['E']\n",
    ),
    "flake8 selects nothing": (".flake8", "[flake8]\nselect = E,F\n", "[flake8]\nselect =\n"),
    "pylint is off": (".pylintrc", "[MESSAGES CONTROL]\ndisable=a\n", "[MESSAGES CONTROL]\ndisable=all\n"),
    "eslint ignores everything": (
        ".eslintrc.json",
        '{"rules": {"a": "error"}}',
        '{"rules": {"a": "error"}, "ignorePatterns": ["**/*"]}',
    ),
    "a hook is gone": (".pre-commit-config.yaml", HOOKS, HOOKS.replace("  - id: mypy\n", "")),
    "ruff ends well whatever it finds": (
        "package.json",
        '{"scripts": {"lint": "ruff check ."}}',
        '{"scripts": {"lint": "ruff check . --exit-zero"}}',
    ),
}


@pytest.mark.parametrize("edit", WHOLE.values(), ids=WHOLE.keys())
def test_a_tool_or_its_strictness_that_goes_is_grave(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after} if after else {}) == {(Change.LINT_LOOSENED, Weight.GRAVE)}


RULES: dict[str, Edit] = {
    "libraries are not checked": (
        "tsconfig.json",
        STRICT,
        '{"compilerOptions": {"strict": true, "skipLibCheck": true}}',
    ),
    "an eslint rule is off": (".eslintrc.json", '{"rules": {"a": "error"}}', '{"rules": {"a": "off"}}'),
    "an eslint rule warns": (
        "eslint.config.js",
        'export default [{rules: {"a": ["error", {b: 1}]}}]',
        'export default [{rules: {"a": ["warn", {b: 1}]}}]',
    ),
    "a rule of another severity is gone": (
        "eslint.config.js",
        'export default [{rules: {"a": "error", "b": "error"}}]',
        'export default [{rules: {"b": "error"}}]',
    ),
    "the recommended rules are gone": (
        "eslint.config.js",
        'export default [js.configs.recommended, {rules: {"a": "error"}}]',
        'export default [{rules: {"a": "error"}}]',
    ),
    "a rule is ignored": (
        PYPROJECT,
        RUFF + "select = ['E', 'F']\nignore = ['E1']\n",
        RUFF + "select = ['E', 'F']\nignore = ['E1', 'F401']\n",
    ),
    "a group of rules is gone": (PYPROJECT, RUFF + "select = ['E', 'F']\n", RUFF + "select = ['E']\n"),
    "a file is excepted": (
        PYPROJECT,
        RUFF + "select = ['E']\n",
        RUFF + "select = ['E']\n[tool.ruff.lint.per-file-ignores]\n'src/a.py' = ['E1']\n",
    ),
    "a go linter is gone": (
        ".golangci.yml",
        "linters:\n  enable:\n    - errcheck\n    - govet\n",
        "linters:\n  enable:\n    - govet\n",
    ),
    "clippy allows": (
        "Cargo.toml",
        '[lints.clippy]\nunwrap_used = "deny"\n',
        '[lints.clippy]\nunwrap_used = "allow"\n',
    ),
    "a cop is off": (".rubocop.yml", "Style/Foo:\n  Enabled: true\n", "Style/Foo:\n  Enabled: false\n"),
    "a check of mypy is off": (
        PYPROJECT,
        "[tool.mypy]\nwarn_return_any = true\n",
        "[tool.mypy]\nwarn_return_any = false\n",
    ),
    "an error code of mypy is off": (
        PYPROJECT,
        "[tool.mypy]\npretty = true\n",
        "[tool.mypy]\npretty = true\ndisable_error_code = ['attr-defined']\n",
    ),
}


@pytest.mark.parametrize("edit", RULES.values(), ids=RULES.keys())
def test_a_single_rule_is_shown(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == {(Change.LINT_LOOSENED, Weight.SHOWN)}


HONEST: dict[str, Edit] = {
    "strict instead of its parts": (
        PYPROJECT,
        "[tool.mypy]\nwarn_return_any = true\n",
        "[tool.mypy]\nstrict = true\n",
    ),
    "a library without types": (
        PYPROJECT,
        STRICT_MYPY,
        STRICT_MYPY + "[[tool.mypy.overrides]]\nmodule = 'yaml'\nignore_missing_imports = true\n",
    ),
    "all rules instead of a few": (PYPROJECT, RUFF + "select = ['E', 'F']\n", RUFF + "select = ['ALL']\n"),
    "a tool is adopted with exceptions": (
        PYPROJECT,
        "a = 1\n",
        "a = 1\n" + RUFF + "select = ['E']\nignore = ['E501']\n",
    ),
    "a rule is stricter": (
        ".eslintrc.json",
        '{"rules": {"a": "warn"}}',
        '{"rules": {"a": "error", "b": "error"}}',
    ),
    "linters are sorted": (
        ".golangci.yml",
        "linters:\n  enable: [errcheck]\n",
        "linters:\n  enable: [govet, errcheck]\n",
    ),
    "hooks get newer and more": (
        ".pre-commit-config.yaml",
        HOOKS,
        HOOKS.replace("v1", "v2") + "  - id: black\n",
    ),
    "dependencies are left out": (".pre-commit-config.yaml", HOOKS, HOOKS + "    exclude: ^node_modules/\n"),
    "another language version, and comments": (
        "tsconfig.json",
        '{"compilerOptions": {"target": "es5", "strict": true}, "include": ["src"]}',
        '{\n// why\n"compilerOptions": {"strict": true, "target": "es2020"}, "include": ["src", "test"]}',
    ),
    "a rust dependency": ("Cargo.toml", '[dependencies]\na = "1"\n', '[dependencies]\na = "2"\n'),
}


@pytest.mark.parametrize("edit", HONEST.values(), ids=HONEST.keys())
def test_what_finds_as_much_says_nothing(edit: Edit) -> None:
    path, before, after = edit
    assert said({path: before}, {path: after}) == set()


def test_a_new_linter_may_begin_with_exceptions() -> None:
    assert said({}, {"ruff.toml": "[lint]\nselect = ['E']\nignore = ['E501']\n"}) == set()


def test_lists_that_move_between_files_say_nothing_in_any_order() -> None:
    before = {"setup.cfg": "[flake8]\nignore = E501,W503\n"}
    assert said(before, {"setup.cfg": "", ".flake8": "[flake8]\nignore = W503, E501\n"}) == set()


def test_the_old_format_of_eslint_may_give_way_to_the_new_one() -> None:
    before = {".eslintrc.json": '{"extends": ["eslint:recommended"], "rules": {"a": "error"}}'}
    after = {"eslint.config.js": 'export default [js.configs.recommended, {rules: {"a": "error"}}]'}
    assert said(before, after) == set()
    assert said(before, {"eslint.config.js": 'export default [{rules: {"a": "off"}}]'}) == {
        (Change.LINT_LOOSENED, Weight.SHOWN)
    }
