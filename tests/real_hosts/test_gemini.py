"""Gemini CLI, where the scenes of all hosts do not reach: doctor, the tools, a folder without trust."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.contract.gemini import Gemini
from real_hosts.install import GEMINI, GEMINI_PINNED, InstallError, hosts_folder, installed, missing
from sidecar.kernel.settings import Settings, WorkerSettings
from sidecar.platform.secrets import SecretForms
from sidecar.wiring.headless import build_workers
from sidecar.workers.ports import WorkerTask
from support.memory_stores import MemorySpending
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.worker_agents import GOOD, LIMIT_S, Answer

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
    assert "Gemini CLI answers: a typed command" in doctor.stdout, doctor.stdout
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
    checked = host.supervisor("check", "gemini:", "--json")
    assert json.loads(checked.stdout)["project"] == str(host.project), checked.stderr


def test_a_worker_gets_the_tools_of_its_task_stays_in_its_folder_and_is_not_judged(host: Gemini) -> None:
    inside, outside = host.project / "test_half.py", host.home.parent / "outside.py"
    script = [*host.write(outside, "x"), host.run("touch by-shell"), *host.write(inside, "x")]
    host.model.add(*(ReplyRule(reply_with_calls(call), RequestMatch(tools="some")) for call in script))
    answer = json.dumps(GOOD)
    host.model.add(
        ReplyRule(reply_with_text(f"Done {{it}}:\n```json\n{answer}\n```"), RequestMatch(tools="some"))
    )
    task = WorkerTask(
        prompt="Write a test.",
        answer=Answer,
        tools=("Read", "Write"),
        model="gemini-2.5-pro",
        project=str(host.project),
        environment=host.env,
        seconds=LIMIT_S,
    )
    settings = Settings(workers=WorkerSettings(backend="gemini"))
    done = asyncio.run(build_workers(host.state, MemorySpending(), SecretForms()).run(task, settings, print))
    assert (done.answer.ok, done.tokens > 0, done.cents) == (True, True, None)
    assert (inside.exists(), outside.exists(), (host.project / "by-shell").exists()) == (True, False, False)
    assert not any("run_shell_command" in request.tools for request in host.model.requests)
    assert not list(host.state.glob("sessions/*"))
