"""Which lines are asked for a report, and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.evidence.reports.tools import add_report_flags, parse_tool_command

SCRATCH: Final = Path("/s")
JUNIT: Final = "--junitxml=/s/report -o junit_family=xunit1"
VITEST: Final = "--reporter=default --reporter=junit --outputFile.junit=/s/report"
NODE: Final = (
    "--test-reporter=spec --test-reporter-destination=stdout"
    " --test-reporter=junit --test-reporter-destination=/s/report"
)
JEST: Final = "--json --outputFile=/s/report"


@pytest.mark.parametrize(
    ("line", "reporting"),
    [
        ("pytest", f"pytest {JUNIT}"),
        ("python -m pytest -q", f"python -m pytest {JUNIT} -q"),
        (
            "CI=1 /v/bin/python3.11 -W error -m pytest a.py",
            f"CI=1 /v/bin/python3.11 -W error -m pytest {JUNIT} a.py",
        ),
        ("uv run --frozen pytest -- a.py", f"uv run --frozen pytest {JUNIT} -- a.py"),
        ("timeout 60 pytest", f"timeout 60 pytest {JUNIT}"),
        ("poetry run python -m pytest", f"poetry run python -m pytest {JUNIT}"),
        ("coverage run -m pytest tests", f"coverage run -m pytest {JUNIT} tests"),
        ("'./my env/bin/pytest' -k \"a or b\"", f"'./my env/bin/pytest' {JUNIT} -k \"a or b\""),
        ("pytest --cov=x", f"pytest {JUNIT} --cov-report=term --cov-report=json:/s/coverage.json --cov=x"),
        (
            "pytest --cov --cov-report=xml",
            f"pytest {JUNIT} --cov-report=json:/s/coverage.json --cov --cov-report=xml",
        ),
        ("pytest a.py::test_b[1,+@%] -p no:x", f"pytest {JUNIT} a.py::test_b[1,+@%] -p no:x"),
        ("npx vitest run", f"npx vitest {VITEST} run"),
        ("pnpm exec vitest run", f"pnpm exec vitest {VITEST} run"),
        ("yarn jest", f"yarn jest {JEST}"),
        ("./node_modules/.bin/jest --ci", f"./node_modules/.bin/jest {JEST} --ci"),
        (
            "node --test a.js",
            f"node --test {NODE} a.js",
        ),
        ("go test -count=1 ./...", "go test -json -count=1 ./..."),
        ("php vendor/bin/phpunit", "php vendor/bin/phpunit --log-junit /s/report"),
        ("npx eslint src", "npx eslint -f json -o /s/report src"),
        ("python -m mypy src", "python -m mypy --output json src"),
        ("pyright", "pyright --outputjson"),
        ("bandit -r src", "bandit -f json -o /s/report -r src"),
        ("pip-audit", "pip-audit -f json -o /s/report"),
        ("bun test", "bun test --reporter=junit --reporter-outfile=/s/report"),
    ],
)
def test_a_known_simple_command_is_asked_for_a_report(line: str, reporting: str, tmp_path: Path) -> None:
    assert add_report_flags(line, tmp_path, SCRATCH).line == reporting


@pytest.mark.parametrize(
    "line",
    [
        "cd sub && pytest",
        "pytest; true",
        "pytest | tee log",
        "pytest > log",
        "pytest 2>&1",
        "pytest&",
        "pytest;true",
        "(pytest)",
        "pytest||true",
        "pytest $(cat args)",
        "pytest `cat args`",
        "pytest\nruff check",
        "pytest # all",
        "pytest 'unbalanced",
        "python -m unittest",
        "python pytest.py",
        "echo pytest",
        "uv pytest",
        "",
        "A=1",
        "npx",
        "python -m",
        "docker exec -it web pytest",
        "sudo docker exec web pytest",
        "pytest --junitxml=mine.xml",
        "pytest --junit-xml mine.xml",
        "vitest --reporter=verbose",
        "jest --watchAll",
        "mocha a.js",
        "go test -json ./...",
        "go vet ./...",
        "ruff format --check",
        "ruff check .",
        "eslint -f unix .",
        "node a.js",
        "x" * 5000,
    ],
)
def test_any_other_line_stays_as_it_is(line: str, tmp_path: Path) -> None:
    assert add_report_flags(line, tmp_path, SCRATCH).line == line


@pytest.mark.parametrize(
    ("line", "reporting"),
    [
        ("npm test", f"npm test -- {VITEST}"),
        ("npm t", f"npm t -- {VITEST}"),
        ("npm run test", f"npm run test -- {VITEST}"),
        ("npm test -- --run a", f"npm test -- --run a {VITEST}"),
        ("yarn test", f"yarn test {VITEST}"),
        ("pnpm test", f"pnpm test {VITEST}"),
        ("bun run test", f"bun run test {VITEST}"),
        ("npm test --silent", "npm test --silent"),
        ("npm run twice", "npm run twice"),
        ("npm run node", "npm run node"),
        ("npm run own", "npm run own"),
        ("npm run missing", "npm run missing"),
        ("npm run number", "npm run number"),
        ("npm ci", "npm ci"),
        ("npm", "npm"),
    ],
)
def test_what_a_script_runs_is_asked_through_the_package_manager(
    line: str, reporting: str, tmp_path: Path
) -> None:
    scripts = {
        "test": "vitest run",
        "ci": "vitest run",
        "twice": "vitest run && vitest run",
        "node": "node --test",
        "own": "vitest run --reporter=dot",
        "number": 3,
    }
    (tmp_path / "package.json").write_text(json.dumps({"scripts": scripts}))
    assert add_report_flags(line, tmp_path, SCRATCH).line == reporting


def test_a_broken_package_json_names_no_script(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_bytes(b"\xff{" * 99)
    assert add_report_flags("npm test", tmp_path, SCRATCH).line == "npm test"


@pytest.mark.parametrize("line", ["mvn -q verify", "./mvnw test", "./gradlew check"])
def test_what_reports_by_itself_is_read_and_not_asked(line: str, tmp_path: Path) -> None:
    asked = add_report_flags(line, tmp_path, SCRATCH)
    assert asked.line == line
    assert asked.tool is not None


def test_a_scratch_folder_with_blanks_is_quoted(tmp_path: Path) -> None:
    asked = add_report_flags("pytest", tmp_path, Path("/a b"))
    assert asked.line == "pytest --junitxml='/a b/report' -o junit_family=xunit1"
    assert asked.runs_pytest


@given(st.text(alphabet="py test'\"\\ -=;&|$`\n#", max_size=60))
def test_words_of_any_line_end_where_they_stand(line: str) -> None:
    simple = parse_tool_command(line)
    if simple is not None:
        assert len(simple.words) == len(simple.ends)
        assert simple.with_flags("F").replace(" F", "", 1).strip() == line.strip()
        assert not set(";&|`\n#") & set(line) or "'" in line or '"' in line or "\\" in line
