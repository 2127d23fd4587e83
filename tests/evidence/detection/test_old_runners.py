"""The test runner of a project with one sign, and of one with several: the order is part of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.detection.python import PYTEST_COMMAND
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from support.projects import lay


def runners(project: Path) -> list[Gate]:
    return [gate for gate in detect_gates(project, {}) if gate.kind is Kind.TESTS]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"go.mod": ""}, "go test ./..."),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test"),
        ({"pyproject.toml": ""}, PYTEST_COMMAND),
        ({"pytest.ini": ""}, PYTEST_COMMAND),
        ({"setup.cfg": ""}, PYTEST_COMMAND),
        ({"tests/unit/test_a.py": ""}, PYTEST_COMMAND),
        ({"test_a.py": ""}, PYTEST_COMMAND),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"Gemfile": ""}, "bundle exec rspec"),
        ({"mix.exs": ""}, "mix test"),
        ({"mix.exs": "", "Cargo.toml": "", "pyproject.toml": "", "go.mod": ""}, "go test ./..."),
        ({"package.json": '{"scripts": {"test": "x"}}', "pyproject.toml": ""}, "npm test"),
        ({"package.json": "{}", "pyproject.toml": ""}, PYTEST_COMMAND),
        ({"pyproject.toml": "", "Cargo.toml": ""}, PYTEST_COMMAND),
    ],
)
def test_the_first_sign_gets_the_plain_id(files: dict[str, str], command: str, tmp_path: Path) -> None:
    lay(tmp_path, files)
    found = runners(tmp_path)[0]
    assert (found.id, found.command, found.counts, found.required) == ("tests", command, True, False)
    assert (found.origin, found.folder, found.alone) == (GateOrigin.DETECTED, "", True)
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
    lay(tmp_path, {"package.json": package})
    assert runners(tmp_path) == []


def test_every_ecosystem_of_a_mixed_root_has_its_tests(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "go.mod": "",
            "package.json": '{"scripts": {"test": "jest"}}',
            "pytest.ini": "",
            "Cargo.toml": "",
            ".rspec": "",
            "mix.exs": "",
            "pom.xml": "",
            "phpunit.xml": "",
            "Makefile": "test:\n\ttrue\n",
        },
    )
    assert [gate.id for gate in runners(tmp_path)] == [
        "tests",
        "tests:npm",
        "tests:pytest",
        "tests:cargo",
        "tests:ruby",
        "tests:mix",
        "tests:maven",
        "tests:phpunit",
    ]
