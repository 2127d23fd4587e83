"""Copilot CLI, where the scenes of all hosts do not reach: doctor, Claude Code's plugin, autopilot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.contract.copilot import Copilot
from real_hosts.install import COPILOT, COPILOT_PINNED, InstallError, hosts_folder, installed, missing
from real_hosts.opencode_supervised import SUPERVISOR
from sidecar.platform.installation import plugin_root
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("every host")

GOAL = '/supervisor:goal it is blue --check "true"'


@pytest.fixture(scope="session")
def binary() -> Path:
    try:
        return installed(COPILOT, COPILOT_PINNED, hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def host(binary: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[Copilot]:
    made = Copilot(binary, COPILOT_PINNED, tmp_path, model)
    made.begin()
    try:
        yield made
    finally:
        made.supervisor("stop")


def test_doctor_calls_through_the_host_and_its_autopilot_is_left_alone(host: Copilot) -> None:
    assert host.supervisor("install", "copilot").returncode == 0
    doctor = host.supervisor("doctor")
    assert "Copilot CLI answers: a typed command reached the sidecar" in doctor.stdout, doctor.stdout
    assert "Copilot CLI can reach the tools: " in doctor.stdout
    assert host.asked() == 0
    host.model.add(host.says("I begin."), host.says("I go on."))
    done = host.headless(GOAL, "--autopilot", "--max-autopilot-continues", "1")
    assert "goal set: it is blue" in done.stderr
    assert set(host.stops()) == {"native-goal"}
    assert host.told() == []


def test_claude_codes_plugin_works_there_our_tools_know_the_session_and_its_shell_gives_no_orders(
    host: Copilot,
) -> None:
    helper = {"agent_type": "general-purpose", "name": "looker", "description": "Look", "mode": "sync"}
    host.model.add(
        *host.calls(ReplyToolCall("task", {**helper, "prompt": "Look at the shop."})),
        host.says("I looked."),
        *host.calls(host.run(f"{SUPERVISOR} goal clear")),
        *host.calls(ReplyToolCall("supervisor-status", {"session": "made-up"})),
        host.says("It is not met."),
    )
    done = host.headless(GOAL, "--plugin-dir", str(plugin_root()))
    assert "goal active: it is blue" in done.stdout
    assert host.stops() == ["subagent", "unjudged"]
    assert host.asked() == 5
