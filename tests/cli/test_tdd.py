"""`supervisor tdd`: what a person may type, and what is said where a phase cannot be tried."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.cli.tdd import tdd
from support.table import over_table
from support.tdd_projects import PYTHON, SPEC, lay_out

pytestmark = pytest.mark.process

REFUSED = {
    "nothing": ((), "say what is to be built"),
    "green alone": (("--phase", "green"), "name the file of the test: --test PATH"),
    "refactor alone": (("--phase", "refactor", "--test", "a"), "the file to improve: --impl PATH"),
}


@over_table("case", REFUSED)
def test_what_a_phase_needs_is_said(case: str) -> None:
    typed, said = REFUSED[case]
    done = CliRunner().invoke(tdd, typed)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_without_a_runner_it_says_what_to_type(tmp_path: Path) -> None:
    done = CliRunner().invoke(tdd, [SPEC, "--project", str(tmp_path)])
    assert done.exit_code == 2
    assert '--test-cmd "COMMAND" in a shell' in done.output


def test_without_an_agent_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, PYTHON)
    monkeypatch.setenv("PATH", os.defpath)
    done = CliRunner().invoke(tdd, [SPEC, "--project", str(tmp_path), "--test-cmd", "false"])
    assert done.exit_code == 2
    assert "no agent can be started: `claude` is not on" in done.output
    assert "install one of these programs" in done.output
