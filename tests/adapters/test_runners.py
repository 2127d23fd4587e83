"""Which test runner a project has, and whether a line is pytest's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.adapters import pytest_runs
from sidecar.adapters.runners import PYTEST, detect


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"go.mod": ""}, "go test ./..."),
        ({"package.json": '{"scripts": {"test": "vitest"}}'}, "npm test"),
        ({"pyproject.toml": ""}, PYTEST),
        ({"pytest.ini": ""}, PYTEST),
        ({"setup.cfg": ""}, PYTEST),
        ({"tests/unit/test_a.py": ""}, PYTEST),
        ({"test_a.py": ""}, PYTEST),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"Gemfile": ""}, "bundle exec rspec"),
        ({"mix.exs": ""}, "mix test"),
        ({"mix.exs": "", "Cargo.toml": "", "pyproject.toml": "", "go.mod": ""}, "go test ./..."),
        ({"package.json": '{"scripts": {"test": "x"}}', "pyproject.toml": ""}, "npm test"),
        ({"package.json": "{}", "pyproject.toml": ""}, PYTEST),
        ({"pyproject.toml": "", "Cargo.toml": ""}, PYTEST),
    ],
)
def test_the_first_sign_decides(files: dict[str, str], command: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = detect(tmp_path)
    assert found is not None
    assert (found.id, found.command, found.counts, found.required) == ("tests", command, True, False)
    assert next(iter(files)).rpartition("/")[2] in found.why or len(files) > 1


@pytest.mark.parametrize(
    "package",
    [
        '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
        '{"scripts": {"test": " "}}',
        '{"scripts": {"test": null}}',
        '{"scripts": []}',
        '{"scripts": {"build": "tsc"}}',
        "{",
        "\x00",
    ],
)
def test_a_package_without_real_tests_is_no_sign(package: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(package)
    assert detect(tmp_path) is None


@pytest.mark.parametrize("project", ["/no/such/folder", "/dev/null", "/\x00"])
def test_no_project_is_no_sign(project: str) -> None:
    assert detect(Path(project)) is None


def test_a_folder_with_the_name_of_a_sign_is_no_sign(tmp_path: Path) -> None:
    (tmp_path / "go.mod").mkdir()
    assert detect(tmp_path) is None


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("pytest", True),
        ("pytest -q tests/test_a.py::test_b -k 'a or b'", True),
        ("python3.12 -Werror -m pytest", True),
        ("/opt/venv/bin/python -m pytest -x", True),
        ("FOO=1 BAR=2 py.test", True),
        ("uv run pytest -q", True),
        ("poetry run python -m pytest", True),
        ("coverage run -m pytest", True),
        ("cd sub && pytest", False),
        ("pytest; true", False),
        ("pytest | tee log", False),
        ("pytest > log", False),
        ("pytest $(cat args)", False),
        ("pytest `cat args`", False),
        ("pytest\nruff check", False),
        ("pytest # all", False),
        ("pytest 'unbalanced", False),
        ("python -m unittest", False),
        ("python pytest.py", False),
        ("echo pytest", False),
        ("uv pytest", False),
        ("", False),
    ],
)
def test_only_one_simple_command_is_known_as_pytests(line: str, known: bool) -> None:  # noqa: FBT001
    assert pytest_runs.is_pytest(line) is known


@pytest.mark.parametrize(
    "line", ["pytest --junitxml=mine.xml", "pytest --junit-xml mine.xml", "pytest -- a.py"]
)
def test_a_line_that_takes_no_report_stays_as_it_is(line: str) -> None:
    assert pytest_runs.reporting(line, Path("/tmp/r.xml")) == line  # noqa: S108 - only a name
