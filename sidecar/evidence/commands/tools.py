"""The tools that are known by their names, and what they check."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from sidecar.kernel.gate import Kind

Kinds: TypeAlias = frozenset[Kind]
NONE: Final[Kinds] = frozenset()
TESTS: Final = frozenset({Kind.TESTS})
BUILD: Final = frozenset({Kind.BUILD})
TYPES: Final = frozenset({Kind.TYPES})
LINT: Final = frozenset({Kind.LINT})
SECURITY: Final = frozenset({Kind.SECURITY})

BY_NAME: Final[dict[str, Kinds]] = {
    **dict.fromkeys(
        (
            *(
                "pytest",
                "py.test",
                "unittest",
                "nose2",
                "trial",
                "stestr",
                "behave",
                "nox",
                "jest",
                "vitest",
                "mocha",
            ),
            *(
                "ava",
                "tap",
                "rspec",
                "cucumber",
                "phpunit",
                "pest",
                "paratest",
                "ctest",
                "bats",
                "busted",
                "prove",
            ),
            *("minitest", "gotestsum", "ginkgo", "cypress", "karma", "wtr", "testem"),
        ),
        TESTS,
    ),
    **dict.fromkeys(
        (
            "mypy",
            "dmypy",
            "pyright",
            "basedpyright",
            "pytype",
            "pyre",
            "ty",
            "vue-tsc",
            "svelte-check",
            "flow",
            "phpstan",
            "psalm",
            "srb",
        ),
        TYPES,
    ),
    **dict.fromkeys(
        (
            *(
                "flake8",
                "pylint",
                "eslint",
                "golangci-lint",
                "rubocop",
                "shellcheck",
                "stylelint",
                "oxlint",
                "xo",
            ),
            *(
                "standard",
                "ktlint",
                "detekt",
                "pre-commit",
                "actionlint",
                "hadolint",
                "yamllint",
                "staticcheck",
            ),
            *("pycodestyle", "pydocstyle", "swiftlint", "markdownlint", "lint-imports", "tslint"),
        ),
        LINT,
    ),
    **dict.fromkeys(("webpack", "rollup", "esbuild", "ninja", "parcel", "tsup", "ng-packagr"), BUILD),
    **dict.fromkeys(("pip-audit", "bandit", "safety", "semgrep", "trivy", "gosec", "cargo-audit"), SECURITY),
}
BY_WORD: Final[dict[str, dict[str, Kinds]]] = {
    "ruff": {"check": LINT},
    "biome": {"check": LINT, "ci": LINT, "lint": LINT},
    "go": {"test": TESTS, "build": BUILD, "vet": LINT},
    "cargo": {
        **dict.fromkeys(("test", "t", "nextest"), TESTS),
        **dict.fromkeys(("build", "b"), BUILD),
        **dict.fromkeys(("check", "c"), BUILD | TYPES),
        "clippy": LINT,
        "fmt": LINT,
        "audit": SECURITY,
    },
    "deno": {"test": TESTS, "lint": LINT, "check": TYPES},
    "mix": {"test": TESTS, "compile": BUILD, "credo": LINT, "dialyzer": TYPES},
    "dotnet": {"test": TESTS, "build": BUILD, "publish": BUILD},
    "swift": {"test": TESTS, "build": BUILD},
    "bazel": {"test": TESTS, "build": BUILD},
    "zig": {"build": BUILD, "test": TESTS},
    "rails": {"test": TESTS, "spec": TESTS},
    "artisan": {"test": TESTS},
    "manage.py": {"test": TESTS},
    "setup.py": {"test": TESTS, "build": BUILD},
    "playwright": {"test": TESTS},
    "ng": {"test": TESTS, "build": BUILD, "lint": LINT},
    "vite": {"build": BUILD},
    "next": {"build": BUILD, "lint": LINT},
    "react-scripts": {"test": TESTS, "build": BUILD},
    "hatch": {"test": TESTS, "build": BUILD},
    "flutter": {"test": TESTS, "build": BUILD, "analyze": LINT},
    "dart": {"test": TESTS, "analyze": LINT},
    "stack": {"test": TESTS, "build": BUILD},
    "cabal": {"test": TESTS, "build": BUILD},
    "sbt": {"test": TESTS, "compile": BUILD},
    "lein": {"test": TESTS},
    "xcodebuild": {"test": TESTS, "build": BUILD},
    "meson": {"test": TESTS, "compile": BUILD},
    "docker": {"build": BUILD},
    "turbo": {"test": TESTS, "build": BUILD, "lint": LINT},
    "nx": {"test": TESTS, "build": BUILD, "lint": LINT},
    "lerna": {"test": TESTS, "build": BUILD, "lint": LINT},
    "composer": {"test": TESTS},
}
"""Tools whose first word says what they do."""
TARGETS: Final = (
    (re.compile(r"(?:unit-?|integration-?|run-?)?(?:tests?|spec|check)(?:[:_-].*)?"), TESTS),
    (re.compile(r"(?:build|compile|all)(?:[:_-].*)?"), BUILD),
    (re.compile(r"type-?checks?|types?|check-?types|check:types|types:check|tsc|mypy|pyright"), TYPES),
    (re.compile(r"(?:lint|eslint|ruff|clippy)(?:[:_-].*)?"), LINT),
)
"""What a project calls its own scripts and targets."""
NOT_TARGETS: Final = re.compile(r".*[:_-](?:watch|fix|dev|debug|setup|data|db|clean|ui|install|update|write)")
