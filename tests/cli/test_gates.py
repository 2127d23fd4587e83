"""`supervisor gates`: what applies, how it ends, and the exit code that a script reads."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from sidecar.cli.gate_report import GatesExitCode, GatesReport, gates_exit_code
from sidecar.cli.gates import DUTIES, GateServices, GatesOptions, execute_gates, show_gates
from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.ports import GateContext, GateProgressCallback
from sidecar.kernel.gate import AvailableGates, Gate, GateRun, Kind, Outcome
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import GateSettings
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from support.table import over_table

PASSED, FAILED, UNRUN = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN
TESTS = Gate(id="tests", command="npm test", why="a script", kind=Kind.TESTS, counts=True, approved=True)
LINT = Gate(id="lint", command="ruff [red]check[/red]", why="ruff.toml", kind=Kind.LINT, approved=True)
LIMIT_S = 60.0


class Runner:
    """Ends each gate as it is told, and remembers what it was asked to run."""

    def __init__(self, ends: Mapping[str, GateRun]) -> None:
        self.ends = ends
        self.asked: list[Gate] = []
        self.seconds = 0.0
        self.places: list[GateContext] = []

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        assert progress is not None
        self.asked, self.seconds = list(gates), seconds
        self.places.append(at)
        for gate in gates:
            progress(gate, None)
        runs = tuple(msgspec.structs.replace(self.ends[gate.id], gate=gate, tree=at.tree) for gate in gates)
        for run in runs:
            progress(run.gate, run)
        return runs


class Listed:
    def __init__(self, catalog: AvailableGates) -> None:
        self.catalog = catalog

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:  # noqa: ARG002 - the port's
        assert project == "/code/shop"
        assert environment is os.environ
        return self.catalog

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        raise NotImplementedError


async def fingerprint(_project: str, _environment: Environment) -> str:
    return "T1"


def ended(gate: Gate, outcome: Outcome, **more: Any) -> GateRun:
    return GateRun(gate=gate, outcome=outcome, tree="", seconds=1.25, **more)


class Table:
    """The command over gates that end as told."""

    def __init__(self, tmp_path: Path, *runs: GateRun, **catalog: Any) -> None:
        self.runner = Runner({run.gate.id: run for run in runs})
        listed = Listed(AvailableGates(tuple(run.gate for run in runs), **catalog))
        self.doors = GateServices(listed, self.runner, TrustFile(tmp_path), fingerprint)

    def runs(self, **wish: Any) -> int:
        return asyncio.run(execute_gates(self.doors, GatesOptions(project="/code/shop", **wish)))

    def shows(self, **wish: Any) -> int:
        return asyncio.run(show_gates(self.doors, GatesOptions(project="/code/shop", **wish)))


def test_a_table_tells_how_each_gate_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(
        tmp_path,
        ended(TESTS, FAILED, executed=12, skipped=3, failures=("test_total: 1 != 2", "test_b")),
        ended(LINT, PASSED, cached=True),
    )
    assert table.runs() == 1
    told = capsys.readouterr()
    assert told.err == ""
    assert [" ".join(line.split()) for line in told.out.splitlines()] == [
        "failed tests 1.2 s",
        "passed lint 1.2 s",
        "check counts as outcome tests seconds first failure, or why",
        "tests advises failed 12, 3 skipped 1.2 test_total: 1 != 2",
        "lint advises passed (cached) 1.2",
        "1 passed, 1 failed",
        DUTIES,
    ]


def test_a_failure_that_no_reader_understands_shows_how_its_output_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Table(tmp_path, ended(LINT, FAILED, exit_code=3, output="checking\n3 links lead nowhere\n\n")).runs()
    assert "exit code 3: 3 links lead nowhere\n" in capsys.readouterr().out


@over_table(
    ("required", "advisory", "code"),
    [
        ([], [PASSED, PASSED], 0),
        ([], [PASSED, FAILED], 1),
        ([], [PASSED, UNRUN], 2),
        ([], [UNRUN, FAILED], 1),
        ([PASSED], [FAILED, UNRUN], 0),
        ([PASSED, FAILED], [PASSED], 1),
        ([PASSED, UNRUN], [FAILED], 2),
        ([UNRUN, FAILED], [], 1),
        ([], [], 2),
    ],
)
def test_required_gates_decide_where_there_are_any_else_all_do(
    required: list[Outcome], advisory: list[Outcome], code: int
) -> None:
    must = msgspec.structs.replace(TESTS, required=True)
    runs = [*(ended(must, outcome) for outcome in required), *(ended(LINT, outcome) for outcome in advisory)]
    assert gates_exit_code(runs) == GatesExitCode(code)


def test_what_is_not_approved_does_not_run_and_says_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = msgspec.structs.replace(LINT, approved=False)
    table = Table(tmp_path, ended(TESTS, PASSED), ended(strange, PASSED))
    assert table.runs() == 2
    assert [gate.id for gate in table.runner.asked] == ["tests"]
    assert capsys.readouterr().out.count("supervisor trust") == 1
    assert table.runs(unapproved=True, as_json=True) == 0
    assert [gate.id for gate in table.runner.asked] == ["tests", "lint"]
    assert table.shows(unapproved=True, as_json=True) == 0
    assert re.findall(r'"approved": (\w+)', capsys.readouterr().out) == ["true", "false"] * 2
    assert not table.doors.trust.approved("/code/shop", strange)
    assert list(tmp_path.iterdir()) == []


def test_of_several_that_are_not_approved_one_alone_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd, strange = (
        msgspec.structs.replace(gate, approved=False, id=f"a\x1b{number}")
        for number, gate in enumerate((TESTS, LINT))
    )
    Table(tmp_path, ended(odd, PASSED), ended(strange, PASSED)).runs()
    said = " ".join(capsys.readouterr().out.split())
    assert "Type: supervisor trust, or for one alone: supervisor trust --only a\\x1b0" in said


def test_no_gates_at_all_is_no_pass_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Table(tmp_path).runs() == 2
    assert ".supervisor/config.toml" in capsys.readouterr().out
    assert Table(tmp_path).shows() == 2


def test_a_gate_has_its_own_deadline_or_that_of_its_duty(tmp_path: Path) -> None:
    gates = (
        msgspec.structs.replace(TESTS, required=True),
        LINT,
        msgspec.structs.replace(LINT, id="own", seconds=7),
    )
    settings = GateSettings(seconds=300, advisory_seconds=40)
    table = Table(tmp_path, *(ended(gate, PASSED) for gate in gates), settings=settings)
    assert table.runs() == 0
    assert [gate.seconds for gate in table.runner.asked] == [300, 40, 7]
    assert table.runner.seconds == 300


def test_only_some_are_run(tmp_path: Path) -> None:
    table = Table(tmp_path, ended(TESTS, FAILED), ended(LINT, PASSED))
    assert table.runs(only=("lint",)) == 0
    assert [gate.id for gate in table.runner.asked] == ["lint"]
    with pytest.raises(click.UsageError, match=r"no check 'lnt' here; there are: tests, lint"):
        table.runs(only=("lnt",))


def test_verbose_shows_all_that_a_failing_gate_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = "begin\n" + "line\n" * 5_000 + "end"
    table = Table(tmp_path, ended(TESTS, FAILED, output=output), ended(LINT, PASSED, output="all is well"))
    table.runs()
    assert "The whole output of what did not pass: supervisor gates --verbose\n" in capsys.readouterr().out
    table.runs(verbose=True)
    told = capsys.readouterr().out
    assert f"--- tests\n{output}\n\n" in told
    assert "all is well" not in told
    assert "--verbose" not in told
    assert [at.whole for at in table.runner.places] == [False, True]


def test_a_list_runs_nothing_and_shows_markup_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(
        tmp_path, ended(TESTS, FAILED), ended(LINT, PASSED), problems=("config.toml:3: [x] is odd",)
    )
    assert table.shows() == 0
    told = capsys.readouterr()
    assert "ruff [red]check[/red]" in told.out
    assert told.err == "supervisor: config.toml:3: [x] is odd\n"
    assert table.runner.asked == []


def test_a_list_says_once_with_what_the_gates_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    gates = []
    for tool, version in (("ruff", "0.17"), ("mypy", "2.4")):
        (site / f"{tool}-{version}.dist-info").mkdir(parents=True)
        (site / f"{tool}-{version}.dist-info" / "METADATA").write_text(f"Name: {tool}\nVersion: {version}\n")
        gates.append(ended(msgspec.structs.replace(LINT, id=tool, command=f"{tool} check"), PASSED))
    assert Table(tmp_path, *gates).shows() == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith(f"Environment: {tmp_path}/.venv, ruff 0.17, mypy 2.4 {DUTIES}")


def test_json_is_one_object_of_a_known_schema_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ended(TESTS, FAILED, executed=2, skipped=1, exit_code=1, failures=("a",), output="caf\udce9")
    table = Table(tmp_path, run, problems=("odd",))
    assert table.runs(as_json=True) == 1
    told = capsys.readouterr()
    assert told.err == ""
    assert json.loads(told.out) == {
        "version": 1,
        "project": "/code/shop",
        "tree": "T1",
        "exit_code": 1,
        "problems": ["odd"],
        "gates": [
            {
                "id": "tests",
                "kind": "tests",
                "origin": "typed",
                "command": "npm test",
                "folder": "",
                "why": "a script",
                "required": False,
                "approved": True,
                "outcome": "failed",
                "reason": "",
                "exit_code": 1,
                "seconds": 1.25,
                "executed": 2,
                "skipped": 1,
                "percent": None,
                "failures": ["a"],
                "failing": [],
                "output": "caf\\udce9",
                "cached": False,
                "flaky": False,
                "moved": False,
                "environment": "",
                "waited": 0.0,
            }
        ],
    }
    assert table.shows(as_json=True) == 0
    report = msgspec.json.decode(capsys.readouterr().out, type=GatesReport)
    assert (report.exit_code, report.gates[0]["outcome"]) == (None, None)


def test_secrets_of_the_environment_are_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hunter2hunter2")
    run = ended(TESTS, FAILED, failures=("bad hunter2hunter2",), output="hunter2hunter2")
    Table(tmp_path, run).runs(as_json=True)
    Table(tmp_path, run).runs()
    assert "hunter2" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [b]text[/b] é", "plain [b]text[/b] é"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("rm -rf \u202e", "rm -rf \\u202e"),
        ("caf\udce9", "caf\\udce9"),
        ("\x9b2J\u200b", "\\x9b2J\\u200b"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown(text: str, shown: str) -> None:
    assert escape_unprintable(text) == shown


def test_a_text_of_several_lines_keeps_them() -> None:
    assert escape_unprintable_lines("a\n\tb\x00") == ["a", "        b\\x00"]
