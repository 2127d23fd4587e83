"""Package roots below the project: each has its own gates, unless a command above it does them as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.evidence.detection.detect import ROOT_DEPTH, ROOT_LIMIT, detect_gates, package_roots
from sidecar.kernel.gate import Kind
from support.projects import lay

TEST = '{"scripts": {"test": "jest"}}'
PYTHON_MEMBER = {"a/pyproject.toml": "", "a/tests/test_a.py": ""}

UV_WORKSPACE = "[dependency-groups]\ndev = ['pytest']\n[tool.uv.workspace]\nmembers = ['a']\n"


def places(project: Path, files: dict[str, str], kind: Kind = Kind.TESTS) -> list[str]:
    """The ids of the gates of one kind."""
    return [
        gate.id for gate in detect_gates(lay(project, files), {}) if gate.kind is kind and not gate.covered
    ]


def rooted(**fields: object) -> str:
    return json.dumps({"scripts": {"test": "x"}, **fields})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"web/package.json": TEST, "api/go.mod": "", "api/a_test.go": ""}, ["tests:api", "tests:web"]),
        ({"package.json": rooted(), "a/package.json": TEST}, ["tests", "tests:a"]),
        ({"package.json": rooted(workspaces=["a"]), "a/package.json": TEST}, ["tests"]),
        (
            {"package.json": rooted(workspaces=["./p/*/"]), "p/a/package.json": TEST, "b/package.json": TEST},
            ["tests", "tests:b"],
        ),
        ({"package.json": rooted(workspaces={"packages": ["p/**"]}), "p/a/package.json": TEST}, ["tests"]),
        ({"package.json": '{"workspaces": ["p/*"]}', "p/a/package.json": TEST}, ["tests:p/a"]),
        (
            {
                "package.json": rooted(),
                "pnpm-workspace.yaml": "# x\npackages:\n- 'p/*' # all\n",
                "p/a/package.json": TEST,
            },
            ["tests"],
        ),
        (
            {"package.json": rooted(), "pnpm-workspace.yaml": "other:\n  - p/*\n", "p/a/package.json": TEST},
            ["tests", "tests:p/a"],
        ),
        ({"package.json": rooted(), "turbo.json": "{}", "p/a/package.json": TEST}, ["tests"]),
        ({"turbo.json": "{}", "package.json": "{}", "p/a/package.json": TEST}, ["tests:p/a"]),
        (
            {"package.json": '{"scripts": {"test": "cd web && npm test"}}', "web/package.json": TEST},
            ["tests"],
        ),
        (
            {"package.json": '{"scripts": {"test": "npm --prefix web test"}}', "web/package.json": TEST},
            ["tests"],
        ),
        (
            {"package.json": '{"scripts": {"test": "cd web2 && x"}}', "web/package.json": TEST},
            ["tests", "tests:web"],
        ),
        (
            {
                "Makefile": "test: api\n\tx\napi:\n\t$(MAKE) -C api test\n",
                "api/go.mod": "",
                "api/a_test.go": "",
            },
            ["tests"],
        ),
        ({"Cargo.toml": "[workspace]", "a/Cargo.toml": "[package]"}, ["tests"]),
        ({"Cargo.toml": "[workspace]", "a/package.json": TEST}, ["tests", "tests:a"]),
        ({"Cargo.toml": "[workspace]\nexclude = ['a']", "a/Cargo.toml": ""}, ["tests", "tests:a"]),
        (
            {"Cargo.toml": "[workspace]", "a/Cargo.toml": "[workspace]", "a/b/Cargo.toml": ""},
            ["tests", "tests:a"],
        ),
        ({"Cargo.toml": "[package]", "a/Cargo.toml": ""}, ["tests", "tests:a"]),
        ({"go.work": "use ./a", "a/go.mod": "", "a/a_test.go": ""}, ["tests"]),
        ({"go.mod": "", "a/go.mod": "", "a/a_test.go": ""}, ["tests", "tests:a"]),
        ({"go.mod": "", "a/go.mod": ""}, ["tests"]),
        ({"pom.xml": "<modules><module>a</module></modules>", "a/pom.xml": ""}, ["tests"]),
        ({"pom.xml": "", "a/pom.xml": ""}, ["tests", "tests:a"]),
        ({"settings.gradle.kts": 'include(":a")', "a/build.gradle.kts": ""}, ["tests"]),
        ({"build.gradle": "", "a/build.gradle": ""}, ["tests", "tests:a"]),
        ({"mix.exs": 'apps_path: "apps"', "apps/a/mix.exs": ""}, ["tests"]),
        ({"A.sln": "", "src/a/A.csproj": "Microsoft.NET.Test.Sdk"}, ["tests"]),
        ({"src/a/A.csproj": "Microsoft.NET.Test.Sdk"}, ["tests:src/a"]),
        ({"phpunit.xml": "", "a/composer.json": "{}", "a/phpunit.xml": ""}, ["tests", "tests:a"]),
        ({"pytest.ini": "", **PYTHON_MEMBER}, ["tests"]),
        ({"pytest.ini": "", **PYTHON_MEMBER, "a/pytest.ini": ""}, ["tests", "tests:a"]),
        ({"pytest.ini": "[pytest]\ntestpaths = tests", **PYTHON_MEMBER}, ["tests", "tests:a"]),
        ({"pytest.ini": "[pytest]\ntestpaths = tests ./a/tests", **PYTHON_MEMBER}, ["tests"]),
        ({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['*']", **PYTHON_MEMBER}, ["tests"]),
        ({"conftest.py": "", **PYTHON_MEMBER}, ["tests", "tests:a"]),
        ({"pyproject.toml": "", "a/pyproject.toml": ""}, ["tests"]),
        ({"pyproject.toml": UV_WORKSPACE, **PYTHON_MEMBER}, ["tests:a"]),
        ({"pyproject.toml": UV_WORKSPACE, "tests/test_b.py": "", **PYTHON_MEMBER}, ["tests", "tests:a"]),
        ({"pyproject.toml": UV_WORKSPACE, "tests/test_b.py": ""}, ["tests"]),
        ({"pyproject.toml": UV_WORKSPACE}, ["tests"]),
        ({"pytest.ini": "", "a/x.py": "", "a/tests/test_a.py": "import x"}, ["tests"]),
    ],
)
def test_a_package_is_tested_once(files: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    assert places(tmp_path, files) == expected


def test_a_module_that_the_go_work_leaves_out_is_tested_without_it(tmp_path: Path) -> None:
    lay(tmp_path, {"go.work": "use ./a", "a/go.mod": "", "b/go.mod": "", "b/b_test.go": ""})
    assert [gate.command for gate in detect_gates(tmp_path, {}) if gate.folder == "b"] == [
        "GOWORK=off go test ./...",
        "GOWORK=off go build ./...",
        "GOWORK=off go vet ./...",
    ]


def test_a_tool_of_the_root_lints_all_and_checks_the_types_of_its_own(tmp_path: Path) -> None:
    files = {
        "package.json": '{"workspaces": ["a"], "devDependencies": {"typescript": "5", "eslint": "9"}}',
        "tsconfig.json": '{"include": ["scripts"]}',
        "a/package.json": '{"devDependencies": {"eslint": "9"}}',
        "a/tsconfig.json": "{}",
    }
    lay(tmp_path, files)
    assert [gate.id for gate in detect_gates(tmp_path, {})] == ["types", "lint", "types:a"]
    lay(tmp_path, {"tsconfig.json": '{"compilerOptions": {}}'})
    assert [gate.id for gate in detect_gates(tmp_path, {})] == ["lint", "types:a"]


@pytest.mark.parametrize(
    "folder",
    [
        "node_modules/x",
        ".venv/x",
        "vendor/x",
        "target/x",
        "dist",
        "build",
        ".git/x",
        ".hidden",
        "tests/fixtures/x",
    ],
)
def test_what_was_fetched_made_or_is_material_is_no_package(folder: str, tmp_path: Path) -> None:
    assert places(tmp_path, {f"{folder}/package.json": TEST}) == []


def test_a_repository_of_its_own_is_not_the_projects(tmp_path: Path) -> None:
    files = {"a/.git/HEAD": "", "a/package.json": TEST, "b/.git": "gitdir: x", "b/c/package.json": TEST}
    assert places(tmp_path, files) == []


def test_packages_are_looked_for_to_a_depth_and_a_number(tmp_path: Path) -> None:
    deep = "/".join("abcdefg"[:ROOT_DEPTH])
    lay(tmp_path, {f"{deep}/package.json": TEST, f"{deep}/z/package.json": TEST})
    assert [root.name for root in package_roots(tmp_path)] == ["", deep]
    lay(tmp_path, {f"m{number}/package.json": TEST for number in range(ROOT_LIMIT + 5)})
    names = [root.name for root in package_roots(tmp_path)]
    assert len(names) == ROOT_LIMIT
    assert deep not in names


def test_the_tests_of_a_package_that_a_command_above_runs_are_known_as_covered(tmp_path: Path) -> None:
    member = json.dumps({"scripts": {"test": "node --test"}})
    root = json.dumps({"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}})
    files = {"package.json": root, "packages/a/package.json": member}
    gates = detect_gates(lay(tmp_path, files), {})
    assert [(gate.id, gate.covered) for gate in gates] == [("tests", False), ("tests:packages/a", True)]
