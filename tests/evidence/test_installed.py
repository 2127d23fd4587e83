"""What is not installed is no failure of the project's, and has its remedy; what ran has a version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from sidecar.evidence.gates.installed import describe_runner, with_remedy
from sidecar.kernel.gate import Gate, GateRun, Outcome
from support.loops import run
from support.projects import lay

GATE = Gate(id="tests", command="x", why="")
LISTS = {"package.json": '{"devDependencies": {"chai": "5", "@scope/kit": "1"}}'}
LOCKED = {**LISTS, "package-lock.json": ""}
GO = {"go.mod": "// of us\nmodule example.com/shop\n"}
NO_CHAI = "a.test.js: Cannot find module 'chai' from 'a.test.js'"
NO_KIT = "b.test.js: Cannot find package '@scope/kit' imported from '/p/b.test.js'"
NO_ASSERT = (
    "example.com/shop: a_test.go:5:2: no required module provides package github.com/stretchr/assert; to"
)
NO_YAML = "missing go.sum entry for module providing package gopkg.in/yaml.v3 (imported by example.com/shop);"
NO_CLOCK = "test_a.py: ModuleNotFoundError: No module named 'frozen_clock'"
MOCHA = "\n Exception during run: Error: Cannot find module '{}'\nRequire stack:\n- /p/test/a.js\n"


def ended(project: Path, files: Mapping[str, str], outcome: Outcome, **told: object) -> GateRun:
    lay(project, files)
    known = GateRun(gate=GATE, outcome=outcome, tree="t", **told)  # type: ignore[arg-type] # of several types
    return with_remedy(known, [project, project.parent])


@pytest.mark.parametrize(
    ("files", "failures", "output", "reason"),
    [
        (LOCKED, [NO_CHAI], "", "chai is not installed; type: npm ci"),
        (LOCKED, [NO_CHAI, NO_KIT], "", "chai, @scope/kit are not installed; type: npm ci"),
        (LISTS, [NO_CHAI], "", "chai is not installed; type: npm install"),
        ({**LISTS, "pnpm-lock.yaml": ""}, [NO_CHAI], "", "chai is not installed; type: pnpm install"),
        ({**LISTS, "yarn.lock": ""}, [NO_CHAI], "", "chai is not installed; type: yarn install"),
        (LISTS, [], MOCHA.format("chai"), "chai is not installed; type: npm install"),
        (LISTS, ["a.js: test failed"], MOCHA.format("chai"), "chai is not installed; type: npm install"),
        (GO, [NO_ASSERT], "", "github.com/stretchr/assert is not installed; type: go mod tidy"),
        (
            GO,
            [NO_ASSERT],
            NO_YAML,
            "github.com/stretchr/assert, gopkg.in/yaml.v3 are not installed; type: go mod tidy",
        ),
        ({}, [NO_CLOCK], "", "frozen_clock is not installed; type: pip install frozen_clock"),
        ({"uv.lock": "", **LOCKED}, [NO_CLOCK], "", "frozen_clock is not installed; type: uv sync"),
    ],
)
def test_what_only_misses_packages_of_others_could_not_run(
    files: dict[str, str], failures: list[str], output: str, reason: str, tmp_path: Path
) -> None:
    told = {"failures": tuple(failures), "failing": tuple(failures), "output": output}
    found = ended(tmp_path, files, Outcome.FAILED, **told)
    assert (found.outcome, found.reason, found.failing) == (Outcome.COULD_NOT_RUN, reason, ())


def test_at_most_five_packages_are_named(tmp_path: Path) -> None:
    failures = tuple(f"ModuleNotFoundError: No module named 'p{number}'" for number in range(9))
    found = ended(tmp_path, {}, Outcome.FAILED, failures=failures, failing=failures)
    assert found.reason.endswith("p4 are not installed; type: pip install p0 p1 p2 p3 p4")


@pytest.mark.parametrize(
    ("files", "failures", "output"),
    [
        (LOCKED, [NO_CHAI.replace("chai", "./chai")], ""),
        (LOCKED, [NO_CHAI.replace("chai", "/p/chai")], ""),
        (LOCKED, [NO_CHAI.replace("chai", "@/chai")], ""),
        (LOCKED, [NO_CHAI.replace("chai", "unlisted")], ""),
        ({**LOCKED, "node_modules/chai/index.js": ""}, [NO_CHAI.replace("chai", "chai/gone")], ""),
        (LOCKED, [NO_CHAI, "b.test.js: adds: 1 != 2"], ""),
        (LOCKED, [NO_CHAI], MOCHA.format("./gone")),
        (LISTS, ["a.js: test failed", "b.js: test failed"], MOCHA.format("chai")),
        (GO, ["a_test.go:5:2: no required module provides package example.com/shop/gone; to add it:"], ""),
        (GO, ["example.com/shop: TestA: 1 != 2"], NO_YAML),
        ({"frozen_clock.py": ""}, [NO_CLOCK], ""),
        ({}, [], NO_CLOCK.replace("test_a", "a")),
    ],
)
def test_what_of_the_project_is_missing_or_fails_besides_stays_a_failure(
    files: dict[str, str], failures: list[str], output: str, tmp_path: Path
) -> None:
    told = {"failures": tuple(failures), "failing": tuple(failures), "output": output}
    assert ended(tmp_path, files, Outcome.FAILED, **told).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("files", "reason", "remedy"),
    [
        ({}, "the command was not found: /bin/sh: 1: mypy: not found", "pip install mypy"),
        ({}, "the command was not found: bash: line 1: ruff: command not found", "pip install ruff"),
        ({"uv.lock": ""}, "error: Failed to spawn: `mypy`", "uv sync"),
        ({}, "pytest is not installed in /p/.venv", "pip install pytest"),
        ({}, "no Python with flake8: neither VIRTUAL_ENV, nor", "pip install flake8"),
        (LOCKED, "the command was not found: sh: 1: tsc: not found", "npm install --save-dev typescript"),
        ({"package.json": '{"a": {"typescript": "5"}}'}, 'error Command "tsc" not found.', "npm install"),
        (LOCKED, "eslint gave up: Error [X]: Cannot find package 'chai' imported from /p/a.mjs", "npm ci"),
        ({}, "the command was not found: /bin/sh: 1: own-tool: not found", ""),
        ({}, "it did not end within 60 s", ""),
    ],
)
def test_a_tool_that_is_not_installed_has_its_remedy(
    files: dict[str, str], reason: str, remedy: str, tmp_path: Path
) -> None:
    found = ended(tmp_path, files, Outcome.COULD_NOT_RUN, reason=reason)
    assert (found.outcome, found.reason) == (
        Outcome.COULD_NOT_RUN,
        f"{reason}; type: {remedy}" if remedy else reason,
    )


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "runner"),
    [
        ("python -m pytest -q", ".venv (Python 3.11.7), pytest 8.3.4"),
        ("pip-audit", ".venv (Python 3.11.7), pip-audit 2.10"),
        ("mocha", ".venv (Python 3.11.7), node v20.20.2, mocha 10.7.0"),
        ("npm test", ".venv (Python 3.11.7), node v20.20.2, tsc 5.4.5"),
        ("node --test", ".venv (Python 3.11.7), node v20.20.2"),
        ("go test ./...", ".venv (Python 3.11.7), go 1.19.8"),
        ("cargo test", ".venv (Python 3.11.7)"),
        ("bun test", ".venv (Python 3.11.7)"),
        ("go vet ./... && go test", ".venv (Python 3.11.7)"),
    ],
)
def test_what_ran_a_check_is_named_with_its_version(line: str, runner: str, tmp_path: Path) -> None:
    """A program inside of the project is not started for it."""
    site = ".venv/lib/python3.11/site-packages"
    project = lay(
        tmp_path / "project",
        {
            ".venv/pyvenv.cfg": "version = 3.11.7\n",
            f"{site}/pytest-8.3.4.dist-info/METADATA": "Name: pytest\nVersion: 8.3.4\n",
            f"{site}/pip_audit-2.10.dist-info/METADATA": "Name: pip-audit\nVersion: 2.10\n",
            "node_modules/mocha/package.json": '{\n  "name": "mocha",\n  "version": "10.7.0"\n}\n',
            "node_modules/typescript/package.json": '{\n  "version": "5.4.5"\n}\n',
            "package.json": '{"scripts": {"test": "tsc --noEmit"}}',
            "bin/cargo": "#!/bin/sh\necho cargo 1.0.0\n",
            "bin/bun": "#!/bin/sh\necho 1.0.0\n",
        },
    )
    programs = lay(
        tmp_path / "programs",
        {
            "node": "#!/bin/sh\necho v20.20.2\n",
            "bun": "#!/bin/sh\necho 1.2.0\n",
            "go": '#!/bin/sh\n[ "$*" = version ] && echo go version go1.19.8 linux/amd64\n',
        },
    )
    for program in (*(project / "bin").iterdir(), *programs.iterdir()):
        program.chmod(0o755)
    search = os.pathsep.join((f"{project}/bin", str(programs), "/bin"))
    environment = {"VIRTUAL_ENV": f"{project}/.venv", "PATH": search}
    assert run(describe_runner(line, project, environment, str(project))) == runner
