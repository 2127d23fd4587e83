"""Files as older programs wrote them are in force as they were: only a held lock of version 0.1.0 is not.

`version_0_1_0`, and in `landed` the commits of this repository by their ids, hold what the program of that
commit left of a session that was sent back once, in whose turn the agent edited the project's configuration:
the state folder without snapshots, and the event log as SQL.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.evidence.gates.approvals import TrustFile
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import EventFilter, UnreadableEvent
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.systems.governance.locks import SHELL
from sidecar.systems.supervision.ports import Services
from sidecar.wiring.headless import build_locks
from sidecar.wiring.supervision import build_services

pytestmark = pytest.mark.proves("crashes and bad input")

LEFT = Path(__file__).parent / "version_0_1_0"
LANDED = sorted(LEFT.with_name("landed").iterdir())
KEY = SessionKey("claude-code", "0f1e2d3c-0001-4000-8000-000000000010")
SHOP, OTHER = "/home/user/shop", "/home/user/other"


@pytest.fixture
def left() -> Path:
    return LEFT


@pytest.fixture
def state(left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    shutil.copytree(left, folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "supervisor").mkdir(parents=True)
    (folder / "config.toml").rename(tmp_path / "config" / "supervisor" / "config.toml")
    with closing(sqlite3.connect(folder / "events.sqlite3")) as log:
        log.executescript((folder / "events.sql").read_text(encoding="utf-8"))
    return folder


@pytest.fixture
def services(state: Path) -> Services:
    return build_services(state)


def test_goal_budget_and_tasks_of_a_session_go_on(services: Services) -> None:
    session, journal = services.store.load(KEY), services.journals.load(KEY)
    assert session is not None
    assert session.goal is not None
    assert (session.goal.condition, session.goal.status) == ("all tests pass", GoalStatus.ACTIVE)
    assert (session.retry, session.goal.spent.tokens, session.pending is not None) == (7, 120, True)
    assert journal is not None
    assert [task.content for task in journal.tasks] == ["write the parser"]
    services.store.save(session)  # its chain is as we would have written it
    assert services.incidents.take(KEY) == ()


def test_settings_approvals_and_switches_hold(services: Services, state: Path) -> None:
    settings, problems = services.configuration.load()
    assert (settings.max_attempts, settings.judge.daily_cents, problems) == (5, 200, ())
    assert services.switches.off(OTHER) == "off for this project"
    assert services.switches.off(SHOP) == ""
    assert set(TrustFile(state, services.steering).approvals(SHOP)) == {"docs", "lint", "tests"}
    assert services.incidents.take(KEY) == ()


def test_every_event_is_read_and_the_audit_is_whole(services: Services, state: Path) -> None:
    events = services.log.read(EventFilter(), after=0, limit=100)
    assert len(events) == 7
    assert not [event for event in events if isinstance(event.data, UnreadableEvent)]
    assert build_locks(state, services.log, services.clock).audit.verify().faults == ()


def test_a_context_lock_of_then_holds_nobody_and_the_project_can_be_locked_anew(
    services: Services, state: Path
) -> None:
    built = build_locks(state, services.log, services.clock)
    assert built.held() == ()  # CHANGELOG: begin that work again
    anew = built.acquire(SHOP, SHELL, Mode.LIGHT, 60.0)
    assert built.held() == (anew,)
    assert built.audit.verify().faults == ()


@pytest.mark.parametrize("left", LANDED, ids=lambda left: left.name)
def test_what_the_last_landed_states_left_is_read_whole(services: Services, state: Path) -> None:
    session, journal = services.store.load(KEY), services.journals.load(KEY)
    assert session is not None
    assert session.goal is not None
    assert (session.goal.condition, session.goal.status) == ("all tests pass", GoalStatus.ACTIVE)
    assert (session.retry, session.pending is not None) == (7, True)
    assert journal is not None
    assert [task.content for task in journal.tasks] == ["write the parser"]
    settings, problems = services.configuration.load()
    assert (settings.max_attempts, settings.judge.daily_cents, problems) == (5, 200, ())
    assert services.switches.off(OTHER) == "off for this project"
    assert set(TrustFile(state, services.steering).approvals(SHOP)) == {"docs", "tests"}
    events = services.log.read(EventFilter(), after=0, limit=100)
    assert "stop-kept" in {event.kind for event in events}
    assert not [event for event in events if isinstance(event.data, UnreadableEvent)]
    (held,) = services.steering.held(SHOP)
    assert (held.before, held.path) == ('[gate.docs]\ncommand = "true"\n', f"{SHOP}/.supervisor/config.toml")
    services.store.save(session)
    assert services.incidents.take(KEY) == ()
    assert not list(state.rglob("*.why"))
