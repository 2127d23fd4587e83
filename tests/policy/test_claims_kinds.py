"""Which checks a command is, and how far it reaches."""

from __future__ import annotations

import pytest

from sidecar.adapters.shell.line import runs
from sidecar.model.gate import Kind
from sidecar.policy.claims.edits import writes
from sidecar.policy.claims.kinds import kinds_of
from sidecar.policy.claims.reach import Reach, reach
from sidecar.policy.peeling import peeled

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


@pytest.mark.parametrize("line", KINDS)
def test_a_check_is_known_by_its_command(line: str) -> None:
    found = {kind for run in runs(line) for kind in kinds_of(run)}
    assert found == {Kind(name) for name in KINDS[line]}


REACHES: dict[str, Reach] = {
    "pytest": Reach.WHOLE,
    "pytest -q -x --maxfail=2": Reach.WHOLE,
    "pytest tests": Reach.WHOLE,
    "pytest -n 4 tests/": Reach.WHOLE,
    "pytest --cov=src --cov-report term": Reach.WHOLE,
    "pytest -p no:cacheprovider": Reach.WHOLE,
    "python -m unittest discover -s tests": Reach.WHOLE,
    "npm test": Reach.WHOLE,
    "npm run test:ci": Reach.WHOLE,
    "npx vitest run": Reach.WHOLE,
    "go test ./...": Reach.WHOLE,
    "go test -race ./...": Reach.WHOLE,
    "cargo test --workspace": Reach.WHOLE,
    "cargo test --all-features": Reach.WHOLE,
    "mvn -q test": Reach.WHOLE,
    "./gradlew test": Reach.WHOLE,
    "make -j4 test": Reach.WHOLE,
    "make -C app test": Reach.WHOLE,
    "tox -e py311": Reach.WHOLE,
    "node --test": Reach.WHOLE,
    "bundle exec rspec": Reach.WHOLE,
    "pytest tests/test_a.py": Reach.PART,
    "pytest tests/policy": Reach.PART,
    "pytest tests/test_a.py::test_b": Reach.PART,
    "pytest -k parser": Reach.PART,
    "pytest -m 'not slow'": Reach.PART,
    "pytest --lf": Reach.PART,
    "pytest --deselect tests/test_a.py::test_b": Reach.PART,
    "pytest --ignore=tests/slow": Reach.PART,
    "PYTEST_ADDOPTS='-k parser' pytest": Reach.PART,
    "python -m unittest tests.test_a": Reach.PART,
    "npx jest src/a.test.ts": Reach.PART,
    "npx vitest run parser": Reach.PART,
    "npx jest -t parser": Reach.PART,
    "npm test -- -t parser": Reach.PART,
    "npm test -- src/a.test.ts": Reach.PART,
    "npm run test:unit": Reach.PART,
    "go test ./parser": Reach.PART,
    "go test -run TestParser ./...": Reach.PART,
    "cargo test parser": Reach.PART,
    "cargo test -p core": Reach.PART,
    "mvn test -Dtest=ParserTest": Reach.PART,
    "./gradlew :app:test": Reach.PART,
    "./gradlew test --tests ParserTest": Reach.PART,
    "bundle exec rspec spec/a_spec.rb:12": Reach.PART,
    "dotnet test --filter Parser": Reach.PART,
    "phpunit --filter Parser": Reach.PART,
    "mix test test/a_test.exs": Reach.PART,
    "mypy src/a.py": Reach.PART,
    "eslint src/a.ts": Reach.PART,
    "pytest --collect-only": Reach.NOTHING,
    "pytest --co -q": Reach.NOTHING,
    "pytest --help": Reach.NOTHING,
    "pytest -h": Reach.NOTHING,
    "pytest --version": Reach.NOTHING,
    "pytest -V": Reach.NOTHING,
    "pytest -k nothing": Reach.NOTHING,
    "PYTEST_ADDOPTS=--co pytest": Reach.NOTHING,
    "env PYTEST_ADDOPTS=--collect-only pytest": Reach.NOTHING,
    "npx jest --listTests": Reach.NOTHING,
    "npx vitest list": Reach.PART,
    "go test -run '^$' ./...": Reach.NOTHING,
    "go test -run=^$ ./...": Reach.NOTHING,
    "go test -c ./...": Reach.NOTHING,
    "cargo test --no-run": Reach.NOTHING,
    "cargo test -- --list": Reach.NOTHING,
    "make -n test": Reach.NOTHING,
    "make --dry-run test": Reach.NOTHING,
    "./gradlew test --dry-run": Reach.NOTHING,
    "ctest -N": Reach.NOTHING,
    "make -i test": Reach.TOOTHLESS,
    "mvn test -Dmaven.test.failure.ignore=true": Reach.TOOTHLESS,
    "mvn -fn test": Reach.TOOTHLESS,
    "ruff check --exit-zero": Reach.TOOTHLESS,
    "golangci-lint run --issues-exit-code=0": Reach.TOOTHLESS,
    "npx jest --testFailureExitCode=0": Reach.TOOTHLESS,
    "npx jest --passWithNoTests": Reach.COUNTED,
    "npm test --if-present": Reach.COUNTED,
}


@pytest.mark.parametrize("line", REACHES)
def test_how_far_a_check_reaches(line: str) -> None:
    (run,) = runs(line)
    (kind, *_) = kinds_of(run)
    assert reach(run, kind) is REACHES[line]


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


@pytest.mark.parametrize("line", WRITES)
def test_a_command_that_clearly_writes_into_the_project_is_an_edit(line: str) -> None:
    assert any(writes(run, line) for run in runs(line))


@pytest.mark.parametrize("line", WRITES_NOTHING)
def test_a_command_that_only_reads_or_writes_elsewhere_is_no_edit(line: str) -> None:
    assert not any(writes(run, line) for run in runs(line))


def test_wrappers_are_taken_off_to_a_bound() -> None:
    assert peeled(("env",) * 3 + ("pytest",)) == ("pytest",)
    assert peeled(("env",) * 40 + ("pytest",))[-1] == "pytest"
    assert peeled(()) == ()
    assert peeled(("command", "-v", "pytest")) == ()
    assert peeled(("env", "command", "pytest")) == ("command", "pytest")
