"""`supervisor status` shows what others wrote as it was written, and obeys none of it."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from sidecar.cli import doctor, run_command
from sidecar.cli.status import MOST_OTHERS, _decisions_table, other_sessions
from sidecar.hosts.installing import FindingLevel
from sidecar.kernel.goal import ExitCode
from sidecar.kernel.log import RecordEntry, TeamLink
from sidecar.systems.supervision.people import SessionReport, SessionSummary
from support.table import over_table


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("tests/test_api.py::test_get[/api/users]", "tests/test_api.py::test_get[/api/users]"),
        ("test_f[red-1] failed", "test_f[red-1] failed"),
        ("goal set: a\nb", "goal set: a b"),
        ("a \x1b[2J title", "a \\x1b[2J title"),
    ],
)
def test_a_reason_is_text_and_neither_markup_nor_an_order_to_the_terminal(detail: str, shown: str) -> None:
    paper = StringIO()
    entry = RecordEntry(at=0.0, event="stop", decided="continue", detail=detail)
    Console(file=paper, width=200).print(_decisions_table((entry,)))
    assert shown in paper.getvalue()


def test_an_unknown_session_that_was_named_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sidecar.cli.status.call_sidecar", lambda *_: SessionReport())
    assert run_command(["status", "--session", "nobody"]) == 1
    assert capsys.readouterr().err.startswith("supervisor: no session is known as nobody\n  - ")


@over_table("verb", [("status",), ("goal", "status")])
@over_table(
    ("code", "options", "ends"),
    [
        (ExitCode.JUDGED, ("--exit-code",), 4),
        (ExitCode.JUDGED, ("--exit-code", "--accept-judged"), 0),
        (ExitCode.NOT_ACHIEVED, ("--exit-code", "--accept-judged"), 1),
        (ExitCode.UNVERIFIED, ("--exit-code", "--accept-judged"), 2),
        (ExitCode.ACHIEVED, ("--exit-code",), 0),
        (ExitCode.JUDGED, (), 0),
    ],
)
def test_a_judged_goal_ends_in_a_code_of_its_own_unless_that_is_enough(
    monkeypatch: pytest.MonkeyPatch,
    code: ExitCode,
    options: tuple[str, ...],
    ends: int,
    verb: tuple[str, ...],
) -> None:
    report = SessionReport(session="s1", exit_code=code.value)
    monkeypatch.setattr("sidecar.cli.status.call_sidecar", lambda *_: report)
    with pytest.raises(SystemExit) as ended:
        run_command([*verb, *options])
    assert ended.value.code == ends


def test_what_judging_cost_today_is_shown_though_no_model_was_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sidecar.cli.status.call_sidecar", lambda *_: SessionReport())
    with pytest.raises(SystemExit):
        run_command(["status"])
    assert "Judging today (UTC): 0 calls, 0 tokens, 0.0 cents\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("state", "level", "remedy"),
    [
        ("reached", FindingLevel.OK, ""),
        ("away", FindingLevel.WARNING, "supervisor team status"),
    ],
)
async def test_how_a_team_is_reached_is_shown_by_status_and_doctor(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    state: str,
    level: FindingLevel,
    remedy: str,
) -> None:
    report = SessionReport(team=TeamLink(state=state, detail="said of it"))
    monkeypatch.setattr("sidecar.cli.status.call_sidecar", lambda *_: report)
    with pytest.raises(SystemExit):
        run_command(["status"])
    assert "Team: said of it\n" in capsys.readouterr().out
    monkeypatch.setattr("sidecar.cli.doctor.call_sidecar", lambda *_: report)
    found = await doctor._check_sidecar_report()  # noqa: SLF001 - this check alone
    assert (level, "team: said of it", remedy) in {(one.level, one.what, one.remedy) for one in found}


def summary(ident: str, doing: str = "resting", **fields: str) -> SessionSummary:
    usual = {"host": "claude-code", "project": "/p", "status": "none", "condition": ""}
    return SessionSummary(session=ident, doing=doing, exit_code=3, since=0.0, **(usual | fields))


def test_the_other_sessions_are_listed_without_the_one_shown_and_those_that_are_over() -> None:
    waits = summary("s2", "waiting", status="active", condition="it\nworks", detail="which \x1bport?")
    shown = (summary("s1"), waits, summary("s3", "closed"), summary("s4", "closed", detail="left by /clear"))
    first, second = other_sessions(SessionReport(session="s1", host="claude-code", sessions=shown))
    assert first.startswith("  claude-code:s2 in /p: waiting (which \\x1bport?), ")
    assert first.endswith("; goal active: it works")
    assert second.startswith("  claude-code:s4 in /p: closed, ")


def test_of_many_sessions_the_first_are_listed() -> None:
    many = tuple(summary(f"s{number}") for number in range(MOST_OTHERS + 3))
    assert other_sessions(SessionReport(sessions=many))[-1] == "  and 3 more: --json"
