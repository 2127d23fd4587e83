"""Which checks the other ecosystems offer, and by which sign."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.detection.detect import detect_gates
from support.projects import lay, offered

SDK = '<PackageReference Include="Microsoft.NET.Test.Sdk" />'
GO = {"tests": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}
CARGO = {"tests": "cargo test", "build": "cargo build", "types": "cargo check"}
MIX = {"tests": "mix test", "build": "mix compile --warnings-as-errors"}
MAVEN = {"tests": "mvn -q -B test", "build": "mvn -q -B test-compile"}
GRADLE = {"tests": "gradle test", "build": "gradle assemble"}
JEST = '{"scripts": {"test": "jest"}}'
CTEST = "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"
EVERY_TEST = """ruby -Itest -e 'Dir.glob("./test/**/*_test.rb").sort.each { |file| require file }'"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"go.mod": ""}, GO),
        ({"go.mod": "", ".golangci.yml": ""}, {**GO, "lint:golangci-lint": "golangci-lint run"}),
        (
            {"go.work": "go 1.22\nuse (\n  ./a // first\n  ./b c\n)\nuse ../out", "a/go.mod": ""},
            {"tests": "go test ./a/...", "build": "go build ./a/...", "lint": "go vet ./a/..."},
        ),
        ({"go.work": "use ."}, {}),
        ({"go.work": "use .", "go.mod": ""}, GO),
        ({"Cargo.toml": "[package]\nname = 'a'"}, CARGO),
        ({"Cargo.toml": "[workspace]"}, {kind: f"{line} --workspace" for kind, line in CARGO.items()}),
        ({"Cargo.toml": "[package.metadata]\ncargo-fuzz = true"}, {}),
        ({"Cargo.toml": "", "clippy.toml": ""}, {**CARGO, "lint": "cargo clippy"}),
        ({"Cargo.toml": "[lints.clippy]\nall = 'deny'"}, {**CARGO, "lint": "cargo clippy"}),
        ({"pom.xml": ""}, MAVEN),
        ({"build.gradle.kts": ""}, GRADLE),
        ({"settings.gradle": ""}, GRADLE),
        ({"mix.exs": ""}, MIX),
        ({"mix.exs": '{:credo, "~> 1.7"}'}, {**MIX, "lint": "mix credo"}),
        ({"A.sln": ""}, {"tests": "dotnet test", "build": "dotnet build"}),
        ({"A.csproj": ""}, {"build": "dotnet build"}),
        ({"A.Tests.fsproj": SDK}, {"tests": "dotnet test", "build": "dotnet build"}),
        (
            {"A b.sln": "", "A.csproj": ""},
            {"tests": "dotnet test 'A b.sln'", "build": "dotnet build 'A b.sln'"},
        ),
        (
            {"A.csproj": "", "B.csproj": SDK},
            {"tests": "dotnet test B.csproj", "build": "dotnet build A.csproj"},
        ),
        ({"phpunit.xml.dist": ""}, {"tests": "vendor/bin/phpunit"}),
        (
            {"phpunit.xml": "", "composer.json": '{"require-dev": {"pestphp/pest": "2"}}'},
            {"tests": "vendor/bin/pest"},
        ),
        (
            {"composer.json": '{"scripts": {"test": ["@lint", "phpunit"]}}'},
            {"tests": "composer run-script --timeout=0 test"},
        ),
        ({"composer.json": "{}"}, {}),
        ({"phpstan.neon": ""}, {"types": "vendor/bin/phpstan analyse --no-progress"}),
        ({"Gemfile": "", "spec/a_spec.rb": ""}, {"tests": "bundle exec rspec"}),
        ({".rspec": ""}, {"tests": "rspec"}),
        ({"Gemfile": "", "Rakefile": "Rake::TestTask.new"}, {"tests": "bundle exec rake test"}),
        ({"Rakefile": "task :test do"}, {"tests": "rake test"}),
        ({"Rakefile": "task :deploy do"}, {}),
        ({"Gemfile": "gem 'rails'", "test/a_test.rb": ""}, {"tests": "bundle exec rails test"}),
        ({"Gemfile": "", "test/a_test.rb": ""}, {"tests": f"bundle exec {EVERY_TEST}"}),
        (
            {"Gemfile": "gem 'rubocop'", ".rspec": ""},
            {"tests": "bundle exec rspec", "lint": "bundle exec rubocop"},
        ),
        ({".rubocop.yml": ""}, {"lint": "rubocop"}),
        ({"README.md": ""}, {}),
        ({"CMakeLists.txt": "enable_testing()\nadd_test(NAME a COMMAND a)\n"}, {"tests": CTEST}),
        ({"CMakeLists.txt": "include(CTest)\n", "Makefile": "test:\n\tctest\n"}, {"tests": CTEST}),
        ({"CMakeLists.txt": "add_executable(a a.c)\n"}, {}),
        ({"t/cart/adds.t": "use Test::More;"}, {"tests": "prove -lr t"}),
        ({"test/cart.bats": "@test adds {"}, {"tests": "bats -r test"}),
        ({"tests/cart.bats": "@test adds {"}, {"tests": "bats -r tests"}),
        ({"deno.json": "{}"}, {"tests": "deno test"}),
        ({"deno.jsonc": "{}", "package.json": JEST}, {"tests": "npm test", "tests:deno": "deno test"}),
        ({"MODULE.bazel": ""}, {"tests": "bazel test --nocache_test_results //..."}),
        ({"tests/run.sh": "set -e\n./cart\n"}, {"tests": "sh tests/run.sh"}),
        ({"test.sh": "#!/usr/bin/env bash\n./cart\n"}, {"tests": "bash test.sh"}),
        ({"tests/run": "./cart\n"}, {}),
    ],
)
def test_the_commands_of_an_ecosystem(
    files: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    assert offered(tmp_path, files) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"Makefile": ".PHONY: test\ntest lint: all\n\t@run\nbuild::\n\tcc\ntypecheck:; x\n"},
            {"tests": "make test", "build": "make build", "types": "make typecheck", "lint": "make lint"},
        ),
        ({"Makefile": "check:\n\t./run"}, {"tests": "make check"}),
        ({"Makefile": "test := 1\nlint = 2\nbuild ?= 3\n# check:\n"}, {}),
        ({"Makefile": "all:\n\techo test: x\n"}, {}),
        (
            {"justfile": "set shell := ['sh']\n@test arg='a':\n  run\nlint: test\n"},
            {"tests": "just test", "lint": "just lint"},
        ),
        ({"justfile": "test := 'x'\nalias build := test\n"}, {}),
        (
            {"Taskfile.yml": "tasks:\n  test:\n    cmds:\n      - run\n  'lint': run\nvars:\n  build: 1\n"},
            {"tests": "task test", "lint": "task lint"},
        ),
        ({"Makefile": "test:\n\tgo test", "go.mod": ""}, GO),
        (
            {"Makefile": "test:\n\tx\nlint:\n\tx\n", "Cargo.toml": ""},
            {**CARGO, "lint": "make lint"},
        ),
    ],
)
def test_a_recipe_speaks_where_nothing_better_does(
    files: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    assert offered(tmp_path, files) == expected


OWN = '{"scripts": {"test": "node all.js"}}'


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"Makefile": "test:\n\tnpm test\n\tpytest\n", "package.json": JEST}, "make test"),
        ({"Makefile": "test: js py\njs:\n\tnpx jest\npy:\n\tpytest\n", "package.json": JEST}, "make test"),
        ({"Makefile": "test:\n\tnpm run test\n\tcd api && pytest\n", "package.json": OWN}, "make test"),
        ({"Makefile": "test:\n\tpytest && npm test\n", "package.json": JEST, "pytest.ini": ""}, "make test"),
        ({"Makefile": "test:\n\tnpm test\n", "package.json": JEST}, "npm test"),
        ({"Makefile": "test:\n\tpytest\n", "package.json": JEST}, "npm test"),
        ({"Makefile": "test:\n\tnpm ci && npm test\n", "package.json": OWN}, "npm test"),
        ({"Makefile": "test:\n\tpytest && ./deploy\n", "pytest.ini": ""}, "python -m pytest -q"),
        ({"Makefile": "test:\n\tpytest a && prove t\n", "pytest.ini": ""}, "python -m pytest -q"),
        ({"Makefile": "test:\n\tpytest tests && prove t\n", "pytest.ini": ""}, "make test"),
        ({"Makefile": "test:\n\tnpm test && pytest api/tests\n", "package.json": JEST}, "make test"),
        ({"package.json": '{"scripts": {"test": "jest && pytest"}}', "pytest.ini": ""}, "npm test"),
        ({"Makefile": "test: unit\nunit:\n\tpytest\ncheck: test\n\tprove t\n"}, "make check"),
        ({"Makefile": "test:\n\tpytest\ncheck: test\n\truff check\n"}, "make test"),
    ],
)
def test_the_widest_script_is_the_one_that_runs_the_tests(
    files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    found = offered(tmp_path, files)
    assert found["tests"] == expected
    assert expected == "npm test" or "tests:npm" not in found


@pytest.mark.parametrize(
    ("makefile", "kind"),
    [
        ("check:\n\t$(CC) -fsyntax-only *.c\n", "build"),
        ("CC := clang\ncheck: a.o\na.o: a.c\n\t@mkdir -p out\n\t$(CC) -c a.c -o out/a.o\n", "build"),
        ("check: a.o\n%.o: %.c\n\t${CC} -c $<\n", "build"),
        ("check:\n\tpython -m compileall -q src\n", "build"),
        ("check:\n\tcc -o run a.c\n\t./run\n", "tests"),
        ("check: $(RUNS)\n$(RUNS): %: %.c\n\tcc -o $@ $<\n\t./$@\n", "tests"),
        ("check: all\n\t$(RUNNER) all\n", "tests"),
        ("check: prebuilt\n", "tests"),
        ("test:\n\t@echo TODO\n", ""),
    ],
)
def test_a_recipe_is_of_the_kind_that_its_commands_are(makefile: str, kind: str, tmp_path: Path) -> None:
    lay(tmp_path, {"Makefile": makefile})
    assert [gate.id for gate in detect_gates(tmp_path, {})] == [kind] * bool(kind)


def test_what_a_recipe_draws_in_stands_behind_it(tmp_path: Path) -> None:
    makefile = "RUN = ./run\nOTHER = no\ntest: unit\n\t$(RUN) all\nunit:\n\t./unit\nclean:\n\trm -r out\n"
    lay(tmp_path, {"Makefile": makefile})
    (gate,) = detect_gates(tmp_path, {})
    assert gate.behind == "test: unit\n\t$(RUN) all\nunit:\n\t./unit\nRUN = ./run"
    assert gate.why == "Makefile has the target test: `$(RUN) all unit: ./unit RUN = ./run`"


@pytest.mark.parametrize(
    ("files", "wrapper", "name"),
    [
        ({"pom.xml": "", "mvnw": "#!/bin/sh\n"}, "./mvnw -q -B test", "mvnw"),
        ({"build.gradle": "", "gradlew": "#!/bin/sh\n"}, "./gradlew test", "gradlew"),
    ],
)
def test_a_wrapper_is_named_with_its_digest(
    files: dict[str, str], wrapper: str, name: str, tmp_path: Path
) -> None:
    lay(tmp_path, files)
    first = detect_gates(tmp_path, {})[0]
    assert first.command == f"sh {wrapper}"
    (tmp_path / name).chmod(0o755)
    assert detect_gates(tmp_path, {})[0].command == wrapper
    lay(tmp_path, {name: b"#!/bin/sh\n\xfe"})
    second = detect_gates(tmp_path, {})[0].behind
    lay(tmp_path, {name: b"#!/bin/sh\n\xff"})
    assert len({first.behind, second, detect_gates(tmp_path, {})[0].behind}) == 3
    assert second.startswith(f"{name} (sha256 ")


def test_a_script_runs_the_tests_where_nothing_better_does(tmp_path: Path) -> None:
    lay(tmp_path, {"run-tests.sh": "#!/bin/sh\n./t/all\n"})
    assert [gate.command for gate in detect_gates(tmp_path, {})] == ["sh run-tests.sh"]
    (tmp_path / "run-tests.sh").chmod(0o755)
    (gate,) = detect_gates(tmp_path, {})
    assert (gate.id, gate.command, gate.behind) == ("tests", "./run-tests.sh", "#!/bin/sh\n./t/all")
    lay(tmp_path, {"Makefile": "test:\n\t./run-tests.sh\n"})
    assert [gate.command for gate in detect_gates(tmp_path, {})] == ["make test"]


CI_JOB = "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n      - run: |\n          {}\n"


@pytest.mark.parametrize(
    ("step", "marked"),
    [
        ("npm ci\n          npm test", ["tests"]),
        ("make ci", ["tests"]),
        ("npm test && eslint .", []),  # no gate of the project's lints
        ("npm test && ./scripts/audit", []),  # nobody knows what that checks
        ("echo done", []),
    ],
)
def test_checks_are_marked_that_the_ci_files_run_where_all_of_these_are_known(
    tmp_path: Path, step: str, marked: list[str]
) -> None:
    files = {"package.json": JEST, "Makefile": "ci:\n\tnpm test\n"}
    files[".github/workflows/ci.yml"] = CI_JOB.format(step)
    assert [gate.id for gate in detect_gates(lay(tmp_path, files), {}) if gate.ci] == marked
    (tmp_path / ".github/workflows/ci.yml").rename(tmp_path / ".gitlab-ci.yml")
    assert [gate.id for gate in detect_gates(tmp_path, {}) if gate.ci] == marked
