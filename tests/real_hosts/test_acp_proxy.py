"""Real agents behind `supervisor acp`, with our plugin or hooks in them: nothing is judged twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from real_hosts.contract.adapter import RealHost, real_hosts
from real_hosts.install import InstallError, hosts_folder, installed, missing
from real_hosts.opencode_supervised import SUPERVISOR
from sidecar.cli.demo_agent import REPAIRED_SOURCE
from support.acp_editor import AcpEditor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("editors that speak ACP")

HELD: Final = 'it is there --check "touch begun; until [ -e release ]; do sleep 0.1; done; false"'
"""A goal whose check runs until the test lets it go, and then fails."""


@pytest.fixture(
    scope="session", params=[host for host in real_hosts() if host.acp], ids=lambda host: host.program
)
def program(request: pytest.FixtureRequest) -> tuple[type[RealHost], Path]:
    """An agent with its binary, which is looked up before any test replaces the home."""
    host: type[RealHost] = request.param
    try:
        return host, installed(host.package, host.versions[0], hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def host(program: tuple[type[RealHost], Path], model: ScriptedModel, tmp_path: Path) -> Iterator[RealHost]:
    """An agent in a clean room into which Supervisor was installed, with a project whose tests fail."""
    made, binary = program
    (tmp_path / "room").mkdir()
    under = made(binary, made.versions[0], tmp_path / "room", model)
    under.begin()
    try:
        done = under.supervisor("install", under.program, *under.consent)
        assert done.returncode == 0, done.stdout + done.stderr
        yield under
    finally:
        under.supervisor("stop")


def test_a_turn_is_held_sent_back_once_and_achieved_and_a_cancelled_judging_ends(host: RealHost) -> None:
    command = [str(SUPERVISOR), "acp", "--", str(host.binary), *host.acp]
    with AcpEditor(command, host.project, host.env) as editor:
        session = editor.open()
        assert editor.prompt(session, "/supervisor:retry 5")["result"] == {"stopReason": "end_turn"}
        assert "> Supervisor: budget of 5 continuations" in editor.said()
        assert host.asked() == 0

        repairs = host.calls(*host.write(host.project / "shop.py", REPAIRED_SOURCE))
        host.model.add(host.says("All tests pass. Done."), *repairs, host.says("Repaired."))
        done = editor.prompt(session, "/supervisor:goal all tests pass")
        assert done["result"]["stopReason"] == "end_turn"
        for said in ("> Supervisor: goal set: all tests pass", "test_a_tenth_is_taken_off", "goal achieved"):
            assert said in editor.said()
        (told,) = host.told()
        assert "test_a_tenth_is_taken_off" in told
        assert (host.report().host, host.stops()) == ("acp", ["continue", "achieved"])

        host.model.add(host.says("It is there."))
        asked = editor.begin(session, f"/supervisor:goal {HELD}")
        editor.until(lambda _: "touch begun" in editor.said("agent_thought_chunk"))
        editor.send(method="session/cancel", params={"sessionId": session})
        assert editor.answer(asked)["result"] == {"stopReason": "cancelled"}
        (host.project / "release").touch()
        assert editor.close() == 0
    assert host.stops()[2:] == ["interrupted"]
    assert len(host.told()) == 1
