"""`supervisor watch`: what is shown of sessions, and what each key does."""

from __future__ import annotations

import io

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from sidecar.cli import watch as watch_module
from sidecar.cli.screen import Screen
from sidecar.cli.watch import DOWN, UP, WatchView, watch
from sidecar.kernel.journal import Journal, Note, NoteKind, Task
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.session import short_session
from sidecar.systems.supervision.people import SessionReport, SessionSummary
from sidecar.systems.supervision.policy.sessions import Activity

pytestmark = pytest.mark.proves("seeing and asking back")


def summary(ident: str, doing: str, status: str = "active", detail: str = "") -> SessionSummary:
    return SessionSummary(
        session=ident, host="opencode", project="/p", status=status, condition="it \x1b[2Jworks",
        exit_code=1, doing=doing, since=0.0, detail=detail,
    )  # fmt: skip


SESSIONS = (
    summary("s1", "judging", detail="running the checks"),
    summary("s2", "waiting", detail="May I push?"),
    summary("s3", "resting", status="stalled"),
)
REPORT = SessionReport(
    session="s1",
    host="opencode",
    project="/p",
    text="goal of s1",
    story=(RecordEntry(at=0.0, event="stop", decided="continue", detail="a [red]test fails"),),
    sessions=SESSIONS,
    troubles=("rubric.md was edited while the agent worked",),
    activity=Activity(
        state="judging", since=0.0, output="\n".join(f"test {number} \x1b[2Jruns" for number in range(100))
    ),
    journal=Journal(
        tasks=(Task(id="T1", content="write it"),),
        notes=(Note(id="N1", kind=NoteKind.TIP, content="use make", at=0.0),),
    ),
)


def drawn(view: WatchView, width: int = 80) -> list[str]:
    file = io.StringIO()
    Screen(file=file, width=width, height=24, highlight=False).print(view)
    return file.getvalue().splitlines()


def view_of(report: SessionReport, height: int = 0) -> WatchView:
    view = WatchView(lambda: 60.0, height)
    view.report = report
    return view


@pytest.mark.parametrize("width", [80, 120])
def test_sessions_and_what_needs_a_person_come_first_and_all_fits_the_screen(width: int) -> None:
    lines = drawn(view_of(REPORT), width)
    assert lines[:3] == [
        "▸ opencode:s1 · judging (running the checks), 60 s · goal active: it works",
        "  opencode:s2 · needs you: waiting (May I push?), 60 s · goal active: it works",
        "  opencode:s3 · needs you: resting, 60 s · goal stalled: it works",
    ]
    assert len(lines) == 24
    assert max(map(len, lines)) <= width
    assert lines[-1] == watch_module.KEYS
    shown = "\n".join(lines)
    for text in ("goal of s1", "! rubric.md was edited", "T1", "write it", "N1, tip: use make", "test 99"):
        assert text in shown
    assert "\x1b" not in shown


def test_the_arrows_choose_a_session_and_q_ends() -> None:
    view = view_of(REPORT)
    view.press(DOWN[0])
    assert view.chosen == "opencode:s2"
    view.press(UP[0])
    view.press(UP[1])
    assert (view.chosen, view.ended) == ("opencode:s3", False)
    view.press("q")
    assert view.ended


def test_of_many_sessions_the_shown_one_is_in_sight() -> None:
    many = tuple(replace(SESSIONS[0], session=f"s{number}") for number in range(200))
    lines = drawn(view_of(replace(REPORT, session="s150", sessions=many)))
    assert any(line.startswith("▸ opencode:s150") for line in lines)
    assert any("200 sessions" in line for line in lines)
    assert len(lines) == 24


def test_an_error_is_shown_and_the_last_report_stays() -> None:
    view = view_of(REPORT)
    view.trouble = "no sidecar answers\x1b[2J"
    shown = "\n".join(drawn(view))
    assert "no sidecar answers" in shown
    assert "goal of s1" in shown
    assert "\x1b" not in shown


def test_without_a_terminal_it_is_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "call_sidecar", lambda *_: REPORT)
    done = CliRunner().invoke(watch)
    assert done.exit_code == 0
    assert "a [red]test fails" in done.output
    assert watch_module.KEYS not in done.output


def test_names_of_runs_are_told_apart_and_ids_of_hosts_are_short() -> None:
    assert short_session("chores-T4-2") == "chores-T4-2"
    assert short_session("0b0f6a1e-53f5-4f0f-9e0c-1a2b3c4d5e6f") == "0b0f6a1e"
