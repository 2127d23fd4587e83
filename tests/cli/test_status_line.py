"""`supervisor status-line`: one short part, and nothing where there is no goal."""

from __future__ import annotations

import time

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from sidecar.cli.status_line import status_line
from sidecar.kernel.goal import GoalSpending, GoalStatus
from sidecar.kernel.session import SessionKey
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.platform.session_store import SessionFiles
from sidecar.systems.supervision.people import SessionReport
from sidecar.systems.supervision.policy.sessions import Activity
from support.cases import goal, session

pytestmark = pytest.mark.proves("seeing and asking back")

ASKED = b'{"session_id": "s1", "model": {"id": "x"}}'


@pytest.mark.parametrize(
    ("status", "continuations", "shown"),
    [
        (GoalStatus.ACTIVE, 0, "supervisor: goal active\n"),
        (GoalStatus.ACTIVE, 2, "supervisor: goal active, sent back 2x\n"),
        (GoalStatus.ACHIEVED, 1, "supervisor: goal achieved, sent back 1x\n"),
        (GoalStatus.JUDGED, 0, "supervisor: goal judged\n"),
        (GoalStatus.CLEARED, 1, "\n"),
    ],
)
def test_where_the_goal_stands(status: GoalStatus, continuations: int, shown: str) -> None:
    held = goal(status=status, spent=GoalSpending(continuations=continuations))
    SessionFiles(user_paths().state).save(session(goal=held))
    assert CliRunner().invoke(status_line, input=ASKED).output == shown


def test_another_host_says_who_it_is() -> None:
    key = SessionKey("opencode", "ses_1")
    SessionFiles(user_paths().state).save(replace(session(goal=goal()), key=key))
    said = b'{"host": "opencode", "session_id": "ses_1"}'
    assert CliRunner().invoke(status_line, input=said).output == "supervisor: goal active\n"


@pytest.mark.parametrize(
    "said", [b"", b"no JSON", b"\xff", b'{"session_id": "../x"}', b'{"session_id": "other"}']
)
def test_nothing_is_shown_for_a_session_that_is_not_known(said: bytes) -> None:
    done = CliRunner().invoke(status_line, input=said)
    assert (done.exit_code, done.output) == (0, "\n")


@pytest.mark.process
def test_it_stands_behind_the_line_that_was_there_which_gets_the_hosts_words_too() -> None:
    SessionFiles(user_paths().state).save(session(goal=goal()))
    beside = "cut -c2-11; echo second; exit 3"
    done = CliRunner().invoke(status_line, ["--beside", beside], input=ASKED)
    assert done.output == '"session_i | supervisor: goal active\nsecond\n'


def test_while_a_stop_is_judged_it_says_what_is_done_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    SessionFiles(user_paths().state).save(session(goal=goal()))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    does = Activity(state="judging", since=now - 8.5, detail="running `make`")
    monkeypatch.setattr(SidecarClient, "call", lambda *_, **__: SessionReport(activity=does))
    assert CliRunner().invoke(status_line, input=ASKED).output == "supervisor: running `make`, 8 s\n"
