"""`supervisor explain`, `history` and `stats` where there is little to read."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sidecar.cli.history import explain, history, stats
from sidecar.kernel.log import (
    AuditEntry,
    EventData,
    LoggedEvent,
    LoopReportRuled,
    LoopSessionChanged,
    RunIterationEnded,
    SkillEnded,
    StopJudged,
    record_entries,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.event_log import LOG_FILE, LogFileError
from sidecar.platform.paths import user_paths
from support.logs import event_log

pytestmark = pytest.mark.proves("seeing and asking back")

VERBS = (explain, history, stats)


@pytest.mark.parametrize("verb", VERBS)
def test_where_nothing_happened_it_is_said(verb: click.Command) -> None:
    done = CliRunner().invoke(verb)
    assert (done.exit_code, "no agent has stopped here" in done.output) == (1, True)


def corrupt(log: Path) -> None:
    log.write_bytes(b"no log" * 1000)


def newer(log: Path) -> None:
    with contextlib.closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(("write", "why"), [(corrupt, "not a database"), (newer, "version 99")])
@pytest.mark.parametrize("verb", VERBS)
def test_a_log_that_cannot_be_read_is_an_error_and_stays(
    verb: click.Command, write: Callable[[Path], None], why: str
) -> None:
    place = user_paths().state / LOG_FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    write(place)
    before = place.read_bytes()
    error = CliRunner().invoke(verb).exception
    assert isinstance(error, LogFileError)
    assert (why in str(error), "supervisor status" in error.moves[0]) == (True, True)
    assert place.read_bytes() == before


def test_a_session_is_named_by_the_beginning_of_its_id_and_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = event_log(user_paths().state)
    for host, project in (("claude-code", tmp_path), ("opencode", tmp_path / "sub"), ("opencode", "/other")):
        stop = StopJudged(decided="achieved", detail=f"of \x1b[2J{host}")
        event = LoggedEvent(
            at=2e9,
            system="supervision",
            session=SessionKey(host, f"abc-{host}"),
            project=str(project),
            data=stop,
        )
        log.append(event)

    def stops(*words: str) -> str:
        done = CliRunner().invoke(stats, [*words, "--by", "project", "--csv"])
        return str([line.rpartition("/")[2].split(",")[0] for line in done.output.splitlines()[1:]])

    assert stops() == str([tmp_path.name, "sub"])
    assert stops("--all") == str([tmp_path.name, "sub", "other"])
    assert stops("abc-c") == stops("claude:abc") == str([tmp_path.name])
    shown = CliRunner().invoke(history, ["claude-code:abc", "--last", "5000"]).output
    assert ("achieved" in shown, "\x1b" in shown) == (True, False)
    assert "\n2033-05-18T" in CliRunner().invoke(history, ["abc-c", "--days", "3650", "--csv"]).output
    refused = CliRunner().invoke(explain, ["nobody"])
    assert (refused.exit_code, "no stop of nobody is known" in refused.output) == (1, True)


@pytest.mark.parametrize("verb", VERBS)
def test_an_exact_id_wins_over_a_beginning_and_several_beginnings_are_named(verb: click.Command) -> None:
    log = event_log(user_paths().state)
    for ident in ("mono", "mono2", "mono3"):
        key = SessionKey("run", ident)
        stop = StopJudged(decided="achieved", detail=f"of {ident}")
        log.append(LoggedEvent(at=2e9, system="supervision", session=key, project=f"/{ident}", data=stop))

    def told(session: str) -> str:
        done = CliRunner().invoke(verb, [session, *(("--by", "project") if verb is stats else ())])
        return done.output or str(done.exception)

    for exact in ("mono", "run:mono"):
        assert "is known" not in told(exact)
        assert not re.search("mono[23]", told(exact))
    assert "mono2" in told("mono2")
    assert "mon may mean 3 sessions: run:mono, run:mono2, run:mono3" in told("mon")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            LoopReportRuled(
                task="T1", action="iterate", verdict="fail", reason="pytest fails", iteration=1, tier="small"
            ),
            "task T1: iterate",
        ),
        (LoopSessionChanged(status="failed", reason="three tries"), "loop: failed"),
        (SkillEnded(skill="tdd_green", status="done", attempts=1), "tdd tdd_green: done"),
        (
            RunIterationEnded(number=3, decided="continue", trouble="it was killed"),
            "run iteration 3: sent back",
        ),
        (
            AuditEntry(tool="phase_review", lock="L1", mode=Mode.FULL, result="APPROVED"),
            "phase review: APPROVED",
        ),
    ],
)
def test_loops_tasks_phases_and_runs_are_told_as_stops_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: EventData, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    key = None if isinstance(data, AuditEntry) else SessionKey("loop", "abc")
    event = LoggedEvent(at=2e9, system="governance", session=key, project=str(tmp_path), data=data)
    event_log(user_paths().state).append(event)
    listed = CliRunner().invoke(history, ["--days", "3650"]).output
    assert told in listed
    story = CliRunner().invoke(explain).output
    assert told in story
    assert "only this line of the record is left" not in story
    assert "no agent has stopped in these days" in CliRunner().invoke(stats, ["--days", "3650"]).output
    (entry,) = record_entries((event,))
    assert entry.event == told.partition(":")[0]
