"""Which checks a command is, and how far it reaches."""

from __future__ import annotations

from pathlib import Path

from sidecar.evidence.claims.check_runs import (
    CheckScope,
    find_check_scope,
    summary_says_failed,
    summary_says_no_tests_ran,
    summary_says_tests_passed,
)
from sidecar.evidence.claims.turn_effects import writes_into_project
from sidecar.evidence.commands.kinds import kinds_of
from sidecar.kernel.gate import Kind
from sidecar.platform.shell.commands import unwrap_command
from sidecar.platform.shell.line import parse_simple_commands
from support.table import over_table

KINDS: dict[str, set[str]] = {
    # tests
    "pytest -q": {"tests"},
    ".venv/bin/python -m pytest": {"tests"},
    "python3.12 -W error -m unittest discover": {"tests"},
    "PYTHONPATH=. python -m pytest": {"tests"},
    "$PY -m pytest": {"tests"},
    "coverage run -m pytest": {"tests"},
    "python -m coverage run -m pytest": {"tests"},
    "python manage.py test": {"tests"},
    "uv run pytest": {"tests"},
    "uv run --with pytest-xdist pytest -n 2": {"tests"},
    "poetry run pytest": {"tests"},
    "hatch run test": {"tests"},
    "hatch test": {"tests"},
    "pdm run test": {"tests"},
    "timeout 60 env CI=1 nice -n 5 pytest": {"tests"},
    "xvfb-run -a npm test": {"tests"},
    "docker compose exec -T app pytest": {"tests"},
    "docker compose run --rm app pytest": {"tests"},
    "tox": {"tests"},
    "tox -e py311": {"tests"},
    "tox -e lint": {"lint"},
    "tox -e types,py311": {"types", "tests"},
    "nox -s tests": {"tests"},
    "npm test": {"tests"},
    "npm t": {"tests"},
    "npm run test:ci": {"tests"},
    "npm --prefix web test": {"tests"},
    "pnpm -r test": {"tests"},
    "pnpm exec vitest run": {"tests"},
    "yarn jest": {"tests"},
    "bun test": {"tests"},
    "bun run test": {"tests"},
    "npx jest": {"tests"},
    "npx --yes vitest run": {"tests"},
    "node --test": {"tests"},
    "node node_modules/.bin/jest": {"tests"},
    "deno test": {"tests"},
    "go test ./...": {"tests"},
    "cargo test": {"tests"},
    "cargo +nightly nextest run": {"tests"},
    "mvn -q test": {"tests"},
    "./mvnw package": {"tests", "build"},
    "mvn package -DskipTests": {"build"},
    "./gradlew test": {"tests"},
    "./gradlew build": {"tests", "build"},
    "./gradlew build -x test": {"build"},
    "bundle exec rspec": {"tests"},
    "bin/rails test": {"tests"},
    "mix test": {"tests"},
    "dotnet test": {"tests"},
    "vendor/bin/phpunit": {"tests"},
    "php artisan test": {"tests"},
    "make test": {"tests"},
    "make -C app check": {"tests"},
    "make lint test": {"lint", "tests"},
    "just test": {"tests"},
    "task test": {"tests"},
    "ctest --test-dir build": {"tests"},
    # the others
    "make": {"build"},
    "make build": {"build"},
    "npm run build": {"build"},
    "tsc -b": {"build", "types"},
    "go build ./...": {"build"},
    "cargo build --release": {"build"},
    "cargo check": {"build", "types"},
    "dotnet build": {"build"},
    "cmake --build build": {"build"},
    "npx tsc --noEmit": {"types"},
    "mypy .": {"types"},
    "python -m mypy src": {"types"},
    "pyright": {"types"},
    "npm run typecheck": {"types"},
    "ruff check .": {"lint"},
    "ruff format --check": {"lint"},
    "uvx ruff check": {"lint"},
    "npx eslint src": {"lint"},
    "biome ci": {"lint"},
    "flake8": {"lint"},
    "golangci-lint run": {"lint"},
    "cargo clippy -- -D warnings": {"lint"},
    "cargo fmt --check": {"lint"},
    "go vet ./...": {"lint"},
    "black --check .": {"lint"},
    "pre-commit run --all-files": {"lint"},
    "npm run lint": {"lint"},
    "pip-audit": {"security"},
    "npm audit": {"security"},
    # none
    "ls tests": set(),
    "cat pytest.ini": set(),
    "grep -rn pytest .": set(),
    "pip install pytest": set(),
    "uv add pytest": set(),
    "npm install jest": set(),
    "npm run test:watch": set(),
    "npm run lint:fix": set(),
    "npm run check": set(),
    "echo pytest": set(),
    "which pytest": set(),
    "command -v pytest": set(),
    "git commit -m 'run pytest'": set(),
    "python -c 'import pytest; pytest.main()'": set(),
    "python latest.py": set(),
    "test -f x": set(),
    "black .": set(),
    "ruff format": set(),
    "cargo fmt": set(),
    "prettier --write .": set(),
    "find . -name 'test_*' -exec pytest {} +": set(),
    "watch pytest": set(),
    "make clean": set(),
    "env CI=1": set(),
    "exec": set(),
}


@over_table("line", KINDS)
def test_a_check_is_known_by_its_command(line: str) -> None:
    found = {kind for run in parse_simple_commands(line) for kind in kinds_of(run)}
    assert found == {Kind(name) for name in KINDS[line]}


REACHES: dict[str, CheckScope] = {
    "pytest": CheckScope.WHOLE,
    "pytest -q -x --maxfail=2": CheckScope.WHOLE,
    "pytest tests": CheckScope.WHOLE,
    "pytest -n 4 tests/": CheckScope.WHOLE,
    "pytest --cov=src --cov-report term": CheckScope.WHOLE,
    "pytest -p no:cacheprovider": CheckScope.WHOLE,
    "python -m unittest discover -s tests": CheckScope.WHOLE,
    "npm test": CheckScope.WHOLE,
    "npm run test:ci": CheckScope.WHOLE,
    "npx vitest run": CheckScope.WHOLE,
    "go test ./...": CheckScope.WHOLE,
    "go test -race ./...": CheckScope.WHOLE,
    "cargo test --workspace": CheckScope.WHOLE,
    "cargo test --all-features": CheckScope.WHOLE,
    "mvn -q test": CheckScope.WHOLE,
    "./gradlew test": CheckScope.WHOLE,
    "make -j4 test": CheckScope.WHOLE,
    "make -C app test": CheckScope.WHOLE,
    "tox -e py311": CheckScope.WHOLE,
    "node --test": CheckScope.WHOLE,
    "bundle exec rspec": CheckScope.WHOLE,
    "pytest tests/test_a.py": CheckScope.PART,
    "pytest tests/policy": CheckScope.PART,
    "pytest tests/test_a.py::test_b": CheckScope.PART,
    "pytest -k parser": CheckScope.PART,
    "pytest -m 'not slow'": CheckScope.PART,
    "pytest --lf": CheckScope.PART,
    "pytest --deselect tests/test_a.py::test_b": CheckScope.PART,
    "pytest --ignore=tests/slow": CheckScope.PART,
    "PYTEST_ADDOPTS='-k parser' pytest": CheckScope.PART,
    "python -m unittest tests.test_a": CheckScope.PART,
    "npx jest src/a.test.ts": CheckScope.PART,
    "npx vitest run parser": CheckScope.PART,
    "npx jest -t parser": CheckScope.PART,
    "npm test -- -t parser": CheckScope.PART,
    "npm test -- src/a.test.ts": CheckScope.PART,
    "npm run test:unit": CheckScope.PART,
    "go test ./parser": CheckScope.PART,
    "go test -run TestParser ./...": CheckScope.PART,
    "cargo test parser": CheckScope.PART,
    "cargo test -p core": CheckScope.PART,
    "mvn test -Dtest=ParserTest": CheckScope.PART,
    "./gradlew :app:test": CheckScope.PART,
    "./gradlew test --tests ParserTest": CheckScope.PART,
    "bundle exec rspec spec/a_spec.rb:12": CheckScope.PART,
    "dotnet test --filter Parser": CheckScope.PART,
    "phpunit --filter Parser": CheckScope.PART,
    "mix test test/a_test.exs": CheckScope.PART,
    "mypy src/a.py": CheckScope.PART,
    "eslint src/a.ts": CheckScope.PART,
    "pytest --collect-only": CheckScope.NOTHING,
    "pytest --co -q": CheckScope.NOTHING,
    "pytest --help": CheckScope.NOTHING,
    "pytest -h": CheckScope.NOTHING,
    "pytest --version": CheckScope.NOTHING,
    "pytest -V": CheckScope.NOTHING,
    "pytest -k nothing": CheckScope.NOTHING,
    "PYTEST_ADDOPTS=--co pytest": CheckScope.NOTHING,
    "env PYTEST_ADDOPTS=--collect-only pytest": CheckScope.NOTHING,
    "npx jest --listTests": CheckScope.NOTHING,
    "npx vitest list": CheckScope.PART,
    "go test -run '^$' ./...": CheckScope.NOTHING,
    "go test -run=^$ ./...": CheckScope.NOTHING,
    "go test -c ./...": CheckScope.NOTHING,
    "cargo test --no-run": CheckScope.NOTHING,
    "cargo test -- --list": CheckScope.NOTHING,
    "make -n test": CheckScope.NOTHING,
    "make --dry-run test": CheckScope.NOTHING,
    "./gradlew test --dry-run": CheckScope.NOTHING,
    "ctest -N": CheckScope.NOTHING,
    "make -i test": CheckScope.TOOTHLESS,
    "mvn test -Dmaven.test.failure.ignore=true": CheckScope.TOOTHLESS,
    "mvn -fn test": CheckScope.TOOTHLESS,
    "ruff check --exit-zero": CheckScope.TOOTHLESS,
    "golangci-lint run --issues-exit-code=0": CheckScope.TOOTHLESS,
    "npx jest --testFailureExitCode=0": CheckScope.TOOTHLESS,
    "npx jest --passWithNoTests": CheckScope.COUNTED,
    "npm test --if-present": CheckScope.COUNTED,
}


@over_table("line", REACHES)
def test_how_far_a_check_reaches(line: str) -> None:
    (run,) = parse_simple_commands(line)
    (kind, *_) = kinds_of(run)
    assert find_check_scope(run, kind) is REACHES[line]


WRITES = (
    "sed -i s/a/b/ a.py",
    "sed -Ei.bak s/a/b/ a.py",
    "perl -pi -e s/a/b/ a.py",
    "git checkout -- a.py",
    "git checkout main",
    "git apply fix.patch",
    "git stash",
    "git stash pop",
    "git reset --hard",
    "git -C sub pull",
    "mv a.py b.py",
    "cp a.py src/b.py",
    "ruff check --fix",
    "ruff format",
    "black .",
    "npx prettier --write .",
    "npx eslint --fix src",
    "cargo fmt",
    "gofmt -w .",
    "patch -p1 < fix.patch",
    "echo x > a.py",
    "cat > a.py <<'EOF'\nx\nEOF",
    "echo x | tee a.py",
)
WRITES_NOTHING = (
    "sed -n 1,5p a.py",
    "git status",
    "git checkout -b feature",
    "git switch -c feature",
    "git stash list",
    "git restore --staged a.py",
    "git reset --soft HEAD~1",
    "git commit -am x",
    "git push",
    "ruff check",
    "ruff format --check",
    "black --check .",
    "prettier --check .",
    "cargo fmt --check",
    "gofmt -l .",
    "cp a.py /tmp/a.py",
    "echo x > /dev/null",
    "echo x > /tmp/x",
    "cat log > run.log",
    "pytest > out.txt",
    "pytest | tee run.log",
    "grep x a.py 2>/dev/null",
    "env",
)


@over_table("line", WRITES)
def test_a_command_that_clearly_writes_into_the_project_is_an_edit(line: str) -> None:
    assert any(writes_into_project(run, line) for run in parse_simple_commands(line))


@over_table("line", WRITES_NOTHING)
def test_a_command_that_only_reads_or_writes_elsewhere_is_no_edit(line: str) -> None:
    assert not any(writes_into_project(run, line) for run in parse_simple_commands(line))


def test_wrappers_are_taken_off_to_a_bound() -> None:
    assert unwrap_command(("env",) * 3 + ("pytest",)) == ("pytest",)
    assert unwrap_command(("env",) * 40 + ("pytest",))[-1] == "pytest"
    assert unwrap_command(()) == ()
    assert unwrap_command(("command", "-v", "pytest")) == ()
    assert unwrap_command(("env", "command", "pytest")) == ("command", "pytest")


RECORDED = Path(__file__).parent / "recorded"
OF_NO_TESTS = {"cargo-build.txt", "eslint.txt", "mypy.txt", "ruff-format.txt", "tsc.txt"}


def test_every_recorded_run_of_tests_is_seen_to_have_failed_by_its_output_alone() -> None:
    texts = {file.name: file.read_text() for file in RECORDED.glob("*.txt")}
    failed = {name for name, text in texts.items() if summary_says_failed(Kind.TESTS, text)}
    assert failed == texts.keys() - OF_NO_TESTS
    assert not any(map(summary_says_tests_passed, texts.values()))


@over_table(
    ("output", "seen"),
    [
        ("  3 failed, 86 passed (3.9m)", "failed"),  # Playwright
        ("FAILED | 1 passed | 1 failed (12ms)", "failed"),  # Deno
        (" 1 pass\n 1 fail\n", "failed"),  # Bun
        ("2 failed", "failed"),
        ("  Tests:    92 passed (231 assertions)", "passed"),
        ("5 passed, 2 warnings in 1.20s", "passed"),
        ("ok  \tx/lib\t0.1s\n?   \tx/cmd\t[no test files]", "passed"),
        ("ok  \tx/lib\t0.1s [no tests to run]", "none"),
        ("3 skipped in 0.02s", "none"),
        ("make: Nothing to be done for 'test'.", "none"),
        ("I ran pytest: 12 passed.", ""),
        ("Tests           63\nPassing         63", ""),
    ],
)
def test_a_summary_says_how_tests_ended(output: str, seen: str) -> None:
    ends = {
        "failed": summary_says_failed(Kind.TESTS, output),
        "passed": summary_says_tests_passed(output),
        "none": summary_says_no_tests_ran(output),
    }
    assert [name for name, holds in ends.items() if holds] == ([seen] if seen else [])
