"""`supervisor tdd` and `skill`: what a person may type, and what is said where a phase cannot be tried."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.cli.tdd import skill, tdd
from sidecar.cli.tool import tool
from sidecar.platform.client import SidecarClient
from sidecar.servers.tools.door import ToolOutcome
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


def test_a_phase_that_a_tool_could_not_do_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ToolOutcome(text="not verified", failed=True)
    monkeypatch.setattr(SidecarClient, "call", lambda *_, **__: answer)
    done = CliRunner().invoke(tool, ["tdd_red", "--session", "s"])
    assert (done.exit_code, done.output) == (1, "not verified\n")


HAIKU = """---
name: haiku
about: Writes about the code.
answer: {verse: text, words: list}
---
Write a haiku about $request.
"""
POET = f"""#!{sys.executable}
import json, sys
print(json.dumps({{"verse": sys.stdin.read().split(".")[0], "words": ["round", "again"]}}))
"""


def test_a_skill_of_ones_own_is_listed_and_its_answer_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, poet, project = tmp_path / "config" / "supervisor", tmp_path / "poet", tmp_path / "project"
    (own / "skills").mkdir(parents=True)
    (own / "skills" / "haiku.md").write_text(HAIKU)
    (own / "config.toml").write_text(f'[workers]\nbackend = "command"\ncommand = ["{poet}"]\n')
    poet.write_text(POET)
    poet.chmod(0o755)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    lay_out(project, PYTHON)
    assert "haiku: Writes about the code.\n" in CliRunner().invoke(skill, []).output
    done = CliRunner().invoke(skill, ["haiku", "the", "loops", "--project", str(project)])
    assert done.exit_code == 0, done.output
    assert done.stdout == 'verse: Write a haiku about the loops\nwords: [\n  "round",\n  "again"\n]\n'


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        (("review",), 2, "say what it is to do"),
        (("tdd_red", "x"), 2, "supervisor tdd"),
        (("poem", "x"), 1, "there are: debug, review"),
    ],
)
def test_a_skill_that_cannot_be_done_is_refused_in_words(
    typed: tuple[str, ...], code: int, said: str
) -> None:
    done = CliRunner().invoke(skill, typed)
    assert done.exit_code == code
    assert said in f"{done.output}{done.exception}"
