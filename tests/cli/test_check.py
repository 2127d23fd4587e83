"""`supervisor check` on a transcript, with the real checks of a small project."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from hosts.claude_code.writing import Transcript
from sidecar.cli.check import check
from sidecar.cli.demo_agent import BROKEN_SOURCE, REPAIRED_SOURCE, TEST_SOURCE
from sidecar.kernel.session import SessionKey
from sidecar.platform.paths import user_paths
from sidecar.platform.state import Incidents
from sidecar.systems.supervision.checking import CheckResult
from sidecar.wiring.platform import build_rubrics, build_steering
from support.git_projects import commit_all, repository

pytestmark = [pytest.mark.process, pytest.mark.proves("seeing and asking back")]

RUBRIC = "# R\n\n## Patterns\n\n- **{}**: it is.\n\n## Antipatterns\n\n- **Faked**: it is.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = repository(tmp_path / "shop", commit=False)
    (made / "shop.py").write_text(BROKEN_SOURCE, encoding="utf-8")
    (made / "test_shop.py").write_text(TEST_SOURCE, encoding="utf-8")
    (made / ".gitignore").write_text("__pycache__\n.pytest_cache\n", encoding="utf-8")
    commit_all(made, "begin")
    monkeypatch.chdir(made)
    return made


def talks(session: Transcript, _project: Path) -> None:
    session.prompt("What does shop.py do?")
    session.says("It adds up prices.")


def repairs(session: Transcript, project: Path) -> None:
    session.prompt("Fix the failing test.")
    session.calls("Edit", "c1", {"file_path": str(project / "shop.py")})
    (project / "shop.py").write_text(REPAIRED_SOURCE, encoding="utf-8")
    session.result("c1", "ok")
    session.says("The rate is multiplied now.")


def repairs_and_documents(session: Transcript, project: Path) -> None:
    repairs(session, project)
    documents(session, project)


def documents(session: Transcript, project: Path) -> None:
    session.prompt("Describe total() in README.md.")
    session.calls("Write", "c2", {"file_path": str(project / "README.md")})
    (project / "README.md").write_text("total() adds up prices.\n", encoding="utf-8")
    session.result("c2", "ok")
    session.says("README.md describes total() now.")


def skips(session: Transcript, project: Path) -> None:
    session.prompt("Fix the failing test.")
    session.calls("Edit", "c1", {"file_path": str(project / "test_shop.py")})
    (project / "test_shop.py").write_text(
        "import unittest\n\n\nclass Total(unittest.TestCase):\n    def test_x(self):\n        pass\n",
        encoding="utf-8",
    )
    session.result("c1", "ok")
    session.says("The test passes now.")


def has_no_tests(session: Transcript, project: Path) -> None:
    (project / "test_shop.py").unlink()
    repairs(session, project)


@pytest.mark.parametrize(
    ("began", "plays", "ended"),
    [
        (
            "red",
            repairs,
            (0, "✔ nothing speaks against it: `python3 -m unittest discover` passed (2 tests)"),
        ),
        ("red", repairs_and_documents, (0, "beyond that (no model is asked without --ask)")),
        ("green", documents, (0, "it: the checks pass; what they do not show stays open")),
        ("red", skips, (1, "✗ not done: test_shop.py: as it was when the work began, it still fails")),
        ("red", has_no_tests, (2, "? not known: ")),
        ("red", talks, (2, "? not known: ")),
    ],
)
def test_a_session_is_judged_as_its_stop_would_have_been_and_nothing_is_kept(
    project: Path,
    tmp_path: Path,
    began: str,
    plays: Callable[[Transcript, Path], None],
    ended: tuple[int, str],
) -> None:
    if began == "green":
        (project / "shop.py").write_text(REPAIRED_SOURCE, encoding="utf-8")
        commit_all(project, "repair")
    session = Transcript(tmp_path / "s1.jsonl")
    session.line(timestamp=dt.datetime.now(tz=dt.UTC).isoformat(), cwd=str(project))
    plays(session, project)
    done = CliRunner().invoke(check, [str(session.path)])
    assert (done.exit_code, ended[1] in done.output) == (ended[0], True), done.output
    assert done.output.startswith(f"claude-code:s1 in {project}, since ")
    assert not user_paths().state.exists()


def test_what_the_sidecar_keeps_of_a_rubric_is_not_written(project: Path, tmp_path: Path) -> None:
    rubric = project / ".supervisor" / "rubric.md"
    rubric.parent.mkdir()
    rubric.write_text(RUBRIC.format("Tested"), encoding="utf-8")
    incidents = Incidents()
    steering = build_steering(user_paths().state, incidents)
    steering.decide(lambda: True)
    steering.watch(str(project), {})
    session = Transcript(tmp_path / "s1.jsonl")
    session.line(timestamp=dt.datetime.now(tz=dt.UTC).isoformat(), cwd=str(project))
    repairs(session, project)
    rubric.write_text(RUBRIC.format("Documented"), encoding="utf-8")
    before = {path: path.read_bytes() for path in user_paths().state.glob("*") if path.is_file()}
    assert CliRunner().invoke(check, [str(session.path)]).exit_code == CheckResult.CLEAR
    assert {path: path.read_bytes() for path in user_paths().state.glob("*") if path.is_file()} == before
    assert [one.name for one in build_rubrics(steering).load(str(project), {}).patterns] == ["Documented"]
    assert not incidents.take(SessionKey("claude-code", "s1"))


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("", ("has recorded a session of {project}", "supervisor check TRANSCRIPT")),
        ("nothere.jsonl", ("nothere.jsonl: no such file",)),
        ("gone/s1", ("gone/s1: no such file",)),
        ("export.json", ("/nowhere is not on this machine",)),
    ],
)
def test_where_nothing_can_be_judged_the_reason_is_told_and_nothing_is_known(
    project: Path, monkeypatch: pytest.MonkeyPatch, named: str, said: tuple[str, ...]
) -> None:
    info = {"id": "s", "directory": "/nowhere", "time": {"created": 1, "updated": 1}}
    (project / "export.json").write_text(json.dumps({"info": info, "messages": []}), encoding="utf-8")
    monkeypatch.setenv("PATH", str(project))
    done = CliRunner().invoke(check, [named])
    assert done.exit_code == CheckResult.UNKNOWN
    assert all(words.format(project=project) in done.output for words in said), done.output
