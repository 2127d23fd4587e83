"""`supervisor trust`: what is shown is what is approved, by a person, and no more."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

import sidecar
from sidecar.cli.trust import describe_approval
from sidecar.evidence.gates.approvals import Approval, TrustFile, gate_digest
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.wiring.platform import build_steering

pytestmark = pytest.mark.process

LIMIT_S = 60.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder whose own file names one gate."""
    (tmp_path / "shop" / ".supervisor").mkdir(parents=True)
    name(tmp_path / "shop", "make check")
    return tmp_path / "shop"


def name(project: Path, command: str) -> None:
    (project / ".supervisor" / "config.toml").write_text(f"[gate.own]\ncommand = '{command}'\n")


def trust(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type it where there is no terminal."""
    return subprocess.run(
        [sys.executable, "-m", "sidecar", "trust", *arguments],
        capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=project,
        stdin=subprocess.DEVNULL, env=outside(**environment),
    )  # fmt: skip


def outside(**environment: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(sidecar.__file__).parents[1]), **environment}


def answered(project: Path, answer: str) -> tuple[int, str]:
    """Type it on a terminal, and this when it asks."""
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "trust"],
        cwd=project, env=outside(), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said, _ = process.communicate(timeout=LIMIT_S)
    os.close(theirs)
    os.close(ours)
    return process.returncode, said


def own(command: str = "make check") -> Gate:
    return Gate(id="own", command=command, why="", origin=GateOrigin.PROJECT)


def approved(project: Path, command: str = "make check") -> bool:
    return TrustFile(user_paths().state).approved(str(project), own(command))


def test_the_list_is_there_for_a_script_and_an_empty_one_says_so(project: Path, tmp_path: Path) -> None:
    (gate,) = json.loads(trust(project, "--list", "--json").stdout)
    assert (gate["id"], gate["approval"], gate["command"]) == ("own", "not approved", "make check")
    assert trust(project, "--json").returncode == 2
    (tmp_path / "empty").mkdir()
    said = trust(project, "--list", str(tmp_path / "empty")).stdout
    assert said == "No file here names a command that Supervisor would run.\n"


def test_a_yes_on_a_terminal_approves_what_was_shown(project: Path) -> None:
    code, said = answered(project, "y\n")
    assert code == 0, said
    assert "own: not approved" in said
    assert "why      named in .supervisor/config.toml:1" in said
    assert "command  make check" in said
    assert approved(project)
    assert answered(project, "") == (0, said[: said.index("Approve 1")].replace("not approved", "approved")
                                     + "There is nothing to approve.\n")  # fmt: skip


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_anything_but_yes_approves_nothing(project: Path, answer: str) -> None:
    code, said = answered(project, answer)
    assert (code, "Nothing was approved." in said) == (1, True)
    assert not approved(project)


def test_without_a_terminal_it_refuses_and_yes_is_for_scripts(project: Path) -> None:
    done = trust(project)
    assert done.returncode == 2
    assert "there is no terminal to ask on" in done.stderr
    assert not approved(project)
    assert trust(project, "--yes").returncode == 0
    assert approved(project)


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE"])
@pytest.mark.parametrize("arguments", [(), ("--yes",), ("--revoke",)])
def test_an_agents_shell_is_refused(project: Path, marker: str, arguments: tuple[str, ...]) -> None:
    TrustFile(user_paths().state).approve(str(project), [own("other")])
    done = trust(project, *arguments, **{marker: "1"})
    assert done.returncode == 1
    assert "only the user may do this" in done.stderr
    assert not approved(project)
    assert approved(project, "other")


def test_an_agents_shell_may_look(project: Path) -> None:
    done = trust(project, "--list", CLAUDECODE="1")
    assert (done.returncode, "own: not approved" in done.stdout) == (0, True)


def test_a_changed_command_must_be_approved_again_and_the_change_is_shown(project: Path) -> None:
    assert trust(project, "--yes").returncode == 0
    name(project, "make check || true")
    assert not approved(project, "make check || true")
    listed = trust(project, "--list").stdout
    assert "own: CHANGED since you approved it" in listed
    assert "command before -> after:\n      -make check\n      +make check || true\n" in listed
    assert trust(project, "--yes").returncode == 0
    assert approved(project, "make check || true")
    assert not approved(project)


def test_revoking_takes_all_back(project: Path) -> None:
    assert trust(project, "--yes").returncode == 0
    assert trust(project, "--revoke").stdout.startswith("1 approved before, none now")
    assert not approved(project)


def test_a_folder_can_be_named_and_nothing_else_is_approved(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert trust(tmp_path / "other", "--yes", str(project)).returncode == 0
    assert approved(project)
    assert not approved(tmp_path / "other")


@pytest.mark.parametrize("arguments", [("--list", "--yes"), ("--revoke", "--yes"), ("--list", "--revoke")])
def test_options_that_do_not_go_together_are_refused(project: Path, arguments: tuple[str, ...]) -> None:
    assert trust(project, *arguments).returncode == 2


def test_a_wrong_file_is_told_beside_its_gates(project: Path) -> None:
    path = project / ".supervisor" / "config.toml"
    path.write_text('mode = "shadow"\n[gate.own]\ncommand = "make check"\n')
    said = trust(project, "--list").stderr
    assert f"supervisor: {path}:1: mode: only the user's own file may say this" in said


def test_nothing_of_what_is_approved_can_be_hidden_from_the_eye() -> None:
    gate = Gate(
        id="x",
        command="echo ok\n\n\n\x1b[8mrm -rf ~\x1b[0m\u202e",
        why="a\nb",
        folder="a\rb",
        behind="one\ntwo\x07",
        least=80,
    )
    assert list(describe_approval(gate, None)) == [
        "x: not approved",
        "    why      a\\nb",
        "    command  echo ok",
        "             ",
        "             ",
        "             \\x1b[8mrm -rf ~\\x1b[0m\\u202e",
        "    in       a\\rb",
        "    behind   one",
        "             two\\x07",
        "    least    80 percent of coverage",
    ]


@pytest.mark.parametrize(
    ("gate", "standing"),
    [
        (
            Gate(id="x", command="c", why="", origin=GateOrigin.USER, approved=True),
            "approved by your own config.toml",
        ),
        (Gate(id="pr", command="c", why="", kind=Kind.PR, approved=True), "needs no approval, it only reads"),
        (Gate(id="x", command="c", why="", origin=GateOrigin.DETECTED, approved=True), "approved"),
    ],
)
def test_who_approved_it_is_told(gate: Gate, standing: str) -> None:
    assert next(describe_approval(gate, None)) == f"{gate.id}: {standing}"


def test_a_script_behind_a_command_that_grew_a_line_is_shown_as_a_change() -> None:
    before = Gate(id="x", command="npm test", why="", origin=GateOrigin.DETECTED, behind="jest\nexit 1")
    approval = Approval(digest=gate_digest(before), command="npm test", behind="jest\nexit 1")
    after = replace(before, behind="jest\nexit 0")
    assert list(describe_approval(after, approval))[-4:] == [
        "    behind before -> after:",
        "       jest",
        "      -exit 1",
        "      +exit 0",
    ]


def test_a_change_that_cannot_be_shown_is_told() -> None:
    before = Gate(id="x", command="npm test", why="", origin=GateOrigin.DETECTED, counts=True)
    approval = Approval(digest=gate_digest(before), command="npm test")
    *_, last = describe_approval(replace(before, counts=False), approval)
    assert last.startswith("    what changed is how it counts")


def test_only_one_of_them_can_be_approved(project: Path) -> None:
    (project / ".supervisor" / "config.toml").write_text(
        "[gate.own]\ncommand = 'make check'\n[gate.other]\ncommand = 'make other'\n"
    )
    done = trust(project, "--only", "own", "--yes")
    assert (done.returncode, "make other" in done.stdout, approved(project)) == (0, False, True)
    approvals = TrustFile(user_paths().state).approvals(str(project))
    assert list(approvals) == ["own"]
    assert "there is no check 'gone' here" in trust(project, "--only", "gone", "--yes").stderr


def test_what_is_approved_while_no_sidecar_runs_is_listed_as_approved(project: Path) -> None:
    build_steering(user_paths().state).decide(lambda: True)  # one ran, and ended
    user_paths().config.mkdir(parents=True)
    (user_paths().config / "config.toml").write_text("max_attempts = 7\n")  # read while gates are looked for
    assert "Approved: own." in trust(project, "--yes").stdout
    try:
        assert "own: approved" in trust(project, "--list").stdout
    finally:
        SidecarClient(user_paths()).stop()
