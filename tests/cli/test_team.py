"""`supervisor team` as people type it: making a database, joining and leaving it, and their orders."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from sidecar.cli import run_loop
from sidecar.cli.team import team
from sidecar.evidence.gates.approvals import TrustFile, gate_digest
from sidecar.kernel.gate import Gate, GateOrigin
from sidecar.kernel.log import (
    LoggedEvent,
    RunIterationBegan,
    RunIterationEnded,
    StopJudged,
    TeamLink,
    WorkEnded,
)
from sidecar.kernel.session import SessionKey
from sidecar.platform.client import SidecarClient
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import SystemClock
from sidecar.platform.rpc import HelloAnswer
from sidecar.platform.team import trial_server
from sidecar.platform.team.membership import Membership, load_membership, open_team, save_membership
from sidecar.platform.team.ports import TeamTaskState
from sidecar.systems.supervision.people import SessionReport
from support.postgres import PostgresServer, run_sql
from support.typed import typed

URL = re.compile(r"postgresql://[^']+")
READS = {"list", "status"}
"""Commands that agents may type."""
EMPTY = "template0"
NOWHERE = "postgresql://ann-agents@/team?host=/nowhere"


@pytest.fixture
def says(capsys: pytest.CaptureFixture[str]) -> Says:
    return Says(capsys)


class Says:
    """Types a command of the group; it must end with `code`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        ended = typed("team", *words)
        out, err = self._capsys.readouterr()
        assert ended == code, f"{out}\n{err}"
        return f"{out}{err}"


@pytest.fixture
def empty_url(postgres: PostgresServer) -> Iterator[str]:
    """The administrator's URL of an empty database."""
    name = postgres.new_database(EMPTY)
    yield postgres.url(name)
    run_sql(postgres.url("postgres"), f"DROP DATABASE {name} WITH (FORCE)")


def invited(says: Says, url: str, *options: str) -> str:
    """Invite ann, to this database alone; return the URL that is printed once."""
    ann = "ann" + url.partition("?")[0].rpartition("/")[2]
    found = URL.search(says("invite", ann, url, *options))
    assert found
    return found[0]


def joined() -> Membership:
    found = load_membership(user_paths().state)
    assert found is not None
    return found


def test_a_machine_joins_a_database_works_in_it_and_leaves(
    says: Says, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "supervisor team invite NAME URL" in says("init", empty_url)
    assert "schema" in says("init", empty_url)
    agents, person = invited(says, empty_url), invited(says, empty_url, "--person")
    log = EventLogFile(user_paths().state, SystemClock())
    log.append(LoggedEvent(at=0.5, system="x", data=WorkEnded(since=0.0)))  # before, so not the team's
    assert "Next: supervisor team status" in says("join", agents, "--name", "box")
    assert joined().person == joined().url.partition("//")[2].partition("-agents")[0]
    assert "in a team already, as box" in says("join", agents, code=1)

    monkeypatch.setenv("SUPERVISOR_TEAM_PERSON", person)
    assert "Make one: supervisor team add" in says("list")
    assert "Added: T1" in says("add", "L", "make", "it", "--check", "true")
    assert "Added: T2" in says("add", "L", "then that", "--needs", "T1")
    assert "L has no T9" in says("add", "L", "never", "--needs", "T9", code=1)
    assert "supervisor team resume L" in says("pause", "L")
    assert says("list", "L").splitlines()[1:] == ["T1   open     make it", "T2   open     then that"]
    says("resume", "L")
    with closing(open_team(joined())) as store:
        store.claim("L")
    assert "by ann" in says("list", "L")
    assert " on box\n" in says("list", "L")
    assert says("accept", "L", "T1") == "L/T1 is merged.\n"
    assert says("drop", "L", "T2") == "L/T2 is dropped.\n"
    assert "L has no T7" in says("give-back", "L", "T1", "T7", code=1)
    assert says("list") == "L: 1 dropped, 1 merged\n"
    assert says("give-back", "L", "T1", "T2") == "L/T1 is open.\nL/T2 is open.\n"
    for words in ("list",), ("pause",), ("resume",), ("drop", "T1"):
        assert "these are there: L" in says(words[0], "M", *words[1:], code=1)
    assert "supervisor team list L" in says("drop", "L", "T7", code=1)
    assert says("list") == "L: 2 open\n"
    says("limit", "team", "--cents", "500", "--daily")
    says("limit", "claude", "--at-once", "3")
    for name in "teem", "list/L":
        assert "team --cents N" in says("limit", name, "--cents", "5", code=2), "nobody would charge that"
    says("limit", "opencode", "--at-once", "1")
    assert says("limit", "opencode", "--lift") == "at-once/opencode is limited no more.\n"
    assert "nothing limits that" in says("limit", "opencode", "--lift", code=1)
    assert "box takes it" in says("order", "box", "s1", "goal", "pause")
    assert "box (" in says("order", "boks", "s1", "goal", "pause", code=1)
    assert "only this can be ordered: goal" in says("order", "box", "s1", "gaol", "pause", code=1)

    stop = StopJudged(decided="rest", detail="all passed")
    log.append(LoggedEvent(at=1.0, system="supervision", session=SessionKey("claude-code", "s"), data=stop))
    shown = says("status")
    assert "log      1 event to be shipped" in shown
    for told in "role agent", "claude: 3 calls at once", "team/cents: 0 spent, 0 reserved of 500 a day":
        assert told in shown
    found = json.loads(says("status", "--json"))
    assert [machine["name"] for machine in found["machines"]] == ["box"]
    assert {one["name"]: one["most"] for one in found["accounts"]} == {
        "at-once/claude": 3,
        "at-once/opencode": None,
        "team/cents": 500,
    }

    assert "Shipped just now: 1" in says("leave")
    assert load_membership(user_paths().state) is None
    assert not (user_paths().state / "team-password").exists()
    assert run_sql(
        empty_url, "SELECT (SELECT COUNT(*) FROM supervisor.events), COUNT(*) FROM supervisor.machines"
    ) == [(1, 0)]


def test_people_see_what_was_decided_on_all_machines(
    says: Says, team_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says("join", invited(says, team_url), "--name", "box")
    monkeypatch.setenv("SUPERVISOR_TEAM_PERSON", invited(says, team_url, "--person"))
    says("add", "L", "make", "it")
    stop = StopJudged(decided="continue", detail="`pytest` fails", seconds=2.0)
    key = SessionKey("claude-code", "abcdef")
    event = LoggedEvent(at=1.7e9, system="supervision", position=1, session=key, data=stop)
    with closing(open_team(joined())) as team:
        team.append([event])
    who = joined().person
    seen: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
        (("history", "--team"), (who, "box", "abcdef", "sent back", "`pytest` fails", "unknown")),
        (("history", "abc", "--team"), ("abcdef",)),
        (("stats", "--team", "--days", "3650", "--by", "person"), (f"{who} ", "2.0")),
        (("stats", "--team", "--days", "3650", "--by", "machine", "--csv"), ("box,1,1",)),
        (("watch", "--team"), ("list L: 1 open", "1 machine", f"{who} on box", "sent back (1 of 1 stop")),
    )
    for words, shown in seen:
        assert typed(*words) == 0, words
        out = capsys.readouterr().out
        for text in shown:
            assert text in out, (words, text, out)
    with closing(open_team(joined())) as team:
        claim = team.claim("L")
        assert claim is not None
        ran = SessionKey("run", "L-T1-1")
        begun = RunIterationBegan(number=1, iteration=1, most=1, prompt="")
        ended = RunIterationEnded(number=1, decided="exhausted", seconds=60.0, tokens=900, cents=1.5)
        told = LoggedEvent(at=1.7e9, system="iteration", position=2, session=ran, data=begun)
        team.append([told, replace(told, position=3, data=ended)])
        team.settle_task(claim, TeamTaskState.HELD, note="exhausted: its check fails")
    assert typed("run", "report", "--team", "L") == 0
    out = capsys.readouterr().out
    for text in ("List L: 0 of 1 done", "its check fails", f"{who} on box", "900", "team give-back L T1"):
        assert text in out, (text, out)
    refused: tuple[tuple[tuple[str, ...], str], ...] = (
        (("history", "zzz", "--team"), "the team knows no stop of zzz"),
        (("stats", "--by", "person"), "needs --team"),
        (("run", "report", "--team", "M"), "there is no list M"),
        (("stats", "--team", "--by", "check"), "--team goes with --by"),
    )
    for words, why in refused:
        assert typed(*words) != 0
        assert why in capsys.readouterr().err


def test_the_tasks_of_a_plan_are_added_with_what_they_need(
    says: Says, team_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.md").write_text(
        "- [x] old\n- [ ] one\n  - it is red\n  - check: true\n- [ ] two\n  - after: one\n"
    )
    monkeypatch.setenv("SUPERVISOR_TEAM_PERSON", invited(says, team_url, "--person"))
    assert "Added: T1, T2" in says("add", "L", "--file", str(tmp_path / "plan.md"), "--check", "make")
    assert "Added: T3" in says("add", "L", "three")
    rows = run_sql(team_url, "SELECT id, content, checks, needs FROM supervisor.tasks ORDER BY place")
    assert rows == [
        ("T1", "one\n- it is red", '["true", "make"]', "[]"),
        ("T2", "two", '["make"]', '["T1"]'),
        ("T3", "three", "[]", "[]"),
    ]


def test_files_of_the_organisation_are_looked_at_before_they_count(
    says: Says, team_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERVISOR_TEAM_PERSON", invited(says, team_url, "--person"))
    file = tmp_path / "file"
    for text, why in (("max_stops = ", "no TOML"), ("stop_secnds = 5\n", "stop_secnds")):
        file.write_text(text)
        assert why in says("settings", str(file), code=1)
    assert "cannot be a rubric" in says("rubric", str(file), code=1)
    for text in ("stop_seconds = 500\n", "stop_seconds = 600\n"):
        file.write_text(text)
        says("settings", str(file))
    (row,) = run_sql(team_url, "SELECT key, convert_from(value, 'UTF8') FROM supervisor.records")
    assert row == ("organisation/config.toml", text)
    says("withdraw", "config.toml")
    assert "supervisor trust" in says("approve", str(tmp_path), code=1)
    lint = Gate(id="lint", command="npm run lint", why="", origin=GateOrigin.PROJECT)
    TrustFile(user_paths().state).approve(str(tmp_path), [lint])
    assert "approved: npm run lint" in says("approve", str(tmp_path))
    (record,) = run_sql(team_url, "SELECT convert_from(value, 'UTF8') FROM supervisor.records")
    assert json.loads(record[0])["projects"][""][gate_digest(lint)]["command"] == "npm run lint"
    says("withdraw", "trust.json")
    assert not run_sql(team_url, "SELECT key FROM supervisor.records")


def test_only_the_login_of_agents_joins(says: Says, team_url: str, empty_url: str) -> None:
    assert "agents must not have" in says("join", invited(says, team_url, "--person"), code=1)
    stranger = team_url.replace("supervisor@", "nobody-here:x@")
    assert "nobody-here" in says("join", stranger, code=1)
    agents = invited(says, team_url)
    database = empty_url.partition("?")[0].rpartition("/")[2]
    elsewhere = re.sub(r"/team\d+\?", f"/{database}?", agents)
    assert "supervisor team init URL" in says("join", elsewhere, code=1)
    assert "DROP ROLE" in says("invite", agents.partition("//")[2].partition("-agents")[0], team_url, code=1)
    run_sql(team_url, "UPDATE supervisor.version SET number = 1")
    assert "tables are older" in says("join", agents, code=1)
    assert load_membership(user_paths().state) is None


def test_a_database_that_is_away_keeps_a_machine_unless_it_insists(says: Says) -> None:
    user_paths().prepare()
    save_membership(user_paths().state, Membership(url=NOWHERE, machine="m1", person="ann"), "secret")
    shown = says("status")
    assert "away" in shown
    assert "secret" not in shown + says("status", "--json")
    assert "supervisor team leave --force" in says("leave", code=1)
    assert joined().machine == "m1"
    assert "supervisor events" in says("leave", "--force")
    assert load_membership(user_paths().state) is None


def test_the_sidecar_knows_since_when_it_is_away(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    user_paths().prepare()
    save_membership(user_paths().state, Membership(url=NOWHERE, machine="m1", person="ann"), "secret")
    known = SessionReport(team=TeamLink(state="away", detail="away since 14:02, 120 events to send"))
    monkeypatch.setattr(SidecarClient, "greet", lambda _self: HelloAnswer(version="1", pid=1))
    monkeypatch.setattr(SidecarClient, "call", lambda _self, method, *_: known if method == "report" else "")
    for words, code in (("status",), 0), (("leave",), 1):
        assert "away since 14:02, 120 events to send" in says(*words, code=code)
    known = SessionReport(team=TeamLink(state="reached", detail="joined as box"))  # it did not notice yet
    shown = says("status")
    assert "joined as box" not in shown
    assert "is not available" in shown


@pytest.mark.parametrize("words", [("status",), ("leave",), ("list",)])
def test_where_no_team_was_joined_it_says_what_to_type(says: Says, words: tuple[str, ...]) -> None:
    assert "supervisor team join URL" in says(*words, code=1)


def test_an_agent_without_a_price_is_refused_before_a_task_is_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_loop, "greet_sidecar", lambda: None)
    user_paths().prepare()
    save_membership(user_paths().state, Membership(url=NOWHERE, machine="m1", person="ann"), "secret")
    assert typed("run", "--team", "L", "--max-cents", "5", "--", "sh", "agent.sh") == 1
    assert "no price of sh" in capsys.readouterr().err


def test_an_order_says_whose_login_it_needs(says: Says) -> None:
    assert "supervisor team invite NAME --person" in says("pause", "L", code=1)


def arguments(command: click.Command, tmp_path: Path) -> list[str]:
    (tmp_path / "file").touch()
    found = [one for one in command.params if isinstance(one, click.Argument)]
    words = {"file": str(tmp_path / "file"), "name": "config.toml", "folder": ".", "url": NOWHERE}
    return [words.get(str(one.name), "L") for one in found]


@pytest.mark.parametrize("name", sorted(set(team.commands) - READS))
def test_an_agent_may_type_none_of_it(
    name: str, says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("SUPERVISOR_TEAM_PERSON", NOWHERE)
    assert "an agent's shell is typing" in says(name, *arguments(team.commands[name], tmp_path), code=1)


def test_without_psycopg_it_says_what_to_install(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert "'psycopg[binary]'" in says("join", NOWHERE, code=1)


def test_without_a_postgresql_it_says_what_to_install(
    says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_server, "DEBIAN_PROGRAMS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install postgresql" in says("up", "--folder", str(tmp_path / "server"), code=1)


@pytest.fixture
def short_folder(postgres: PostgresServer) -> Iterator[Path]:  # noqa: ARG001 - skipped where there is none
    """A folder that PostgreSQL's own user can enter, with a path that is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder / "server"
    CliRunner().invoke(team, ["down", "--remove", "--folder", str(folder / "server")])
    shutil.rmtree(folder)


def test_a_team_is_tried_on_one_machine(says: Says, short_folder: Path) -> None:
    folder = ("--folder", str(short_folder))
    agents, person, _administrator = URL.findall(says("up", *folder))
    assert "This machine is in the team" in says("join", agents)
    assert "Added: T1" in says("add", "L", "try", "--as", person)
    assert "supervisor team up" in says("down", *folder)
    assert "away" in says("status")
    assert "supervisor team down --remove" in says("up", *folder)
    assert says("list") == "L: 1 open\n"
    wrong = re.sub(":[^:@]+@", ":wrong@", person)
    assert "password authentication failed" in says("pause", "L", "--as", wrong, code=1)
    says("down", *folder, "--remove")
    assert not (short_folder / "data").exists()
    assert "supervisor team up" in says("down", *folder, code=1)
