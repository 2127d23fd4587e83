"""Test-driven development with the real hosts as workers: `supervisor tdd`, the tools, and what is killed.

The model is scripted. What comes into the project, and what is told, is decided by our own runs of the tests.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.tdd_rooms import NODE_PROJECT, PYTHON_PROJECT, Room, Session, tdd_session
from real_hosts.worker_processes import LIMIT_S, nobody_is_left
from support.git_projects import everything
from support.model_server import ScriptedModel
from support.tdd_projects import SPEC

pytestmark = pytest.mark.proves("tests first")


@pytest.fixture(params=["claude", pytest.param("opencode", marks=pytest.mark.long)])
def room(request: pytest.FixtureRequest, host: Host, opencode_host: OpenCode, model: ScriptedModel) -> Room:
    """Claude Code in a Python project, OpenCode in one of Node."""
    if request.param == "claude":
        return Room(host, model, PYTHON_PROJECT)
    return Room(opencode_host, model, NODE_PROJECT)


@pytest.fixture(params=["claude", "opencode"])
def session(
    request: pytest.FixtureRequest, host: Host, opencode_host: OpenCode, model: ScriptedModel
) -> Iterator[Session]:
    chosen = (host, PYTHON_PROJECT) if request.param == "claude" else (opencode_host, NODE_PROJECT)
    with tdd_session(chosen[0], model, chosen[1]) as made:
        yield made


# --- `supervisor tdd` ---------------------------------------------------------------------------------------


def test_workers_write_a_behaviour_in_three_verified_phases_after_one_lied(room: Room) -> None:
    files = room.begin()
    room.plays("passes at once", "red", "green", "refactor")
    done = room.tdd(SPEC)
    test = room.language.test
    assert (done.returncode, done.stderr) == (0, "")
    assert " red       refused: The new test passes at once" in done.stdout
    assert [line.partition(" ")[2] for line in done.stdout.splitlines() if "verified:" in line] == [
        f"red       verified: A failing test is in {test}, and it fails for the right reason.",
        f"green     verified: {test} passes, and every other test ends as before.",
        "refactor  verified: The structure was changed, and the tests end as before.",
    ]
    assert room.holds(room.language.after(files, "red", "green", "refactor"))


@pytest.mark.parametrize(
    ("room", "number", "code", "said"),
    [
        pytest.param(
            *("claude", signal.SIGINT, 130),
            "Interrupted: the agent was ended, and the project is as it was.\n",
            marks=pytest.mark.long,
            id="Ctrl-C",
        ),
        pytest.param("opencode", signal.SIGKILL, -signal.SIGKILL, "", id="kill -9"),
    ],
    indirect=["room"],
)
def test_whatever_ends_the_command_ends_its_worker(
    room: Room, number: signal.Signals, code: int, said: str
) -> None:
    room.begin()
    room.hangs()
    before = everything(room.host.project)
    with room.typed(SPEC) as process:
        room.working()
        process.send_signal(number)
        _, told = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, told) == (code, said)
    assert nobody_is_left(room.host.home)
    assert everything(room.host.project) == before


# --- the tools, called by the agent of a session ------------------------------------------------------------


@pytest.mark.parametrize(
    "session", ["claude", pytest.param("opencode", marks=pytest.mark.long)], indirect=True
)
def test_an_agent_calls_for_red_and_green_stops_and_is_judged_on_the_whole(session: Session) -> None:
    files, language = session.room.begin(), session.room.language
    for phase in ("red", "green"):
        session.calls(phase)
        session.room.plays(phase)
    session.its.says("sub is there, and tested.")
    session.its.goal(session.goal)
    red, green = session.its.told
    assert f"fails for the right reason. Next: tdd_green with test_path {language.test}" in red
    assert f"{language.test} passes, and every other test ends as before" in green
    assert session.room.holds(language.after(files, "red", "green"))
    assert (session.its.under.report().status, session.its.under.continuations()) == ("achieved", [])
    assert len(list(session.its.under.state.glob("sessions/*.json"))) == 1, "a worker became a session"


@pytest.mark.parametrize(
    "phase",
    [pytest.param("red", marks=pytest.mark.long), "green", pytest.param("refactor", marks=pytest.mark.long)],
)
@pytest.mark.parametrize(
    "session", [pytest.param("claude", marks=pytest.mark.long), "opencode"], indirect=True
)
def test_kill_9_of_worker_sidecar_and_host_leaves_the_project_and_the_log_whole(
    session: Session, phase: str
) -> None:
    room, files = session.room, session.room.begin(phase)
    session.calls(phase)
    session.calls(phase)
    room.hangs()
    with session.its.started(session.goal) as host:
        os.kill(room.working(), signal.SIGKILL)
        room.working(2)
        assert "ended with exit code -9" in room.prompts[1]
        os.kill(session.sidecar(), signal.SIGKILL)
        assert nobody_is_left(room.host.home)
        room.working(3)
        assert "ended during this call" in session.its.told[0]
        assert room.holds(files)
        host.kill()
        assert nobody_is_left(room.host.home)
    assert room.holds(files)
    session.its.under.supervisor("stop")
    assert session.kinds_logged() == ["order-given", "worker-ran", "worker-ran", "order-given"]
