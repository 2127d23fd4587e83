"""Gemini CLI, where the scenes of all hosts do not reach: doctor, the tools, a folder without trust."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.contract.gemini import Gemini
from real_hosts.install import GEMINI, GEMINI_PINNED, InstallError, hosts_folder, installed, missing
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("every host")


@pytest.fixture(scope="session")
def binary() -> Path:
    try:
        return installed(GEMINI, GEMINI_PINNED, hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def host(binary: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[Gemini]:
    made = Gemini(binary, GEMINI_PINNED, tmp_path, model)
    made.begin()
    try:
        assert made.supervisor("install", "gemini").returncode == 0
        yield made
    finally:
        made.supervisor("stop")


def test_doctor_calls_through_the_host_and_a_call_of_our_tools_is_that_sessions(host: Gemini) -> None:
    (host.home / ".gemini" / "trustedFolders.json").unlink()
    doctor = host.supervisor("doctor")
    assert "hooks fire" in doctor.stdout, doctor.stdout
    assert "Gemini CLI can reach the tools: " in doctor.stdout
    assert "is not trusted, so `gemini -p` refuses" in doctor.stdout
    assert host.headless("hello there").returncode != 0
    assert host.asked() == 0
    (host.home / ".gemini" / "trustedFolders.json").write_text(
        json.dumps({str(host.project): "TRUST_FOLDER"}), encoding="utf-8"
    )
    asks = ReplyToolCall("mcp_supervisor_status", {})
    host.model.add(*host.calls(asks), host.says("It is not met."))
    host.headless('/supervisor:goal it is blue --check "true"')
    answered = next(request for request in host.model.requests if request.n == 2)
    told = bytes(answered.body).decode()
    assert "continuations 0/16" in told[told.rindex("functionResponse") :]
