"""Codex under supervision, beyond the contract: the oldest version, its tools, its helpers, its modes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from real_hosts.contract.codex import Codex
from real_hosts.install import CODEX_OLDEST, CODEX_PINNED, InstallError, hosts_folder, installed, missing
from real_hosts.opencode_supervised import SUPERVISOR
from real_hosts.test_contract import CLAIM, sent_back_once_and_achieved
from sidecar.cli.demo_agent import REPAIRED_SOURCE
from support.model_script import ReplyRule, RequestMatch, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("Codex")

BINARIES: Final[dict[str, Path]] = {}


@pytest.fixture(scope="session", autouse=True)
def _binaries() -> None:
    """Look them up before any test replaces the home."""
    try:
        for version in (CODEX_PINNED, CODEX_OLDEST):
            BINARIES[version] = installed(Codex.package, version, hosts_folder())
    except InstallError as error:
        missing(str(error))


@contextmanager
def codex(version: str, folder: Path, model: ScriptedModel) -> Iterator[Codex]:
    """A host in a clean room, with the plugin and its trust."""
    (folder / "room").mkdir()
    made = Codex(BINARIES[version], version, folder / "room", model)
    made.begin()
    try:
        done = made.supervisor("install", "codex", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        yield made
    finally:
        made.supervisor("stop")


def test_the_oldest_version_is_sent_back_and_achieved_in_the_same_way(
    model: ScriptedModel, tmp_path: Path
) -> None:
    with codex(CODEX_OLDEST, tmp_path, model) as host:
        model.add(
            host.says(CLAIM),
            *host.calls(*host.write(host.project / "shop.py", REPAIRED_SOURCE)),
            host.says("Repaired and tested."),
        )
        done = host.execute("/supervisor:goal all tests pass")  # which `exec` passes on as it is
        assert (done.returncode, done.stdout.strip()) == (0, "Repaired and tested.")
        sent_back_once_and_achieved(host, 16)


def test_tools_know_the_session_helpers_are_no_persons_and_a_sandbox_without_writing_is_not_judged(
    model: ScriptedModel, tmp_path: Path
) -> None:
    with codex(CODEX_PINNED, tmp_path, model) as host:
        assert host.execute("$supervisor:retry 4").stdout == ""  # said to nobody: there is no screen
        assert host.asked() == 0

        helper = RequestMatch(last="SUBTASK")
        model.add(
            ReplyRule(reply_with_text("The helper is done."), helper),
            *host.calls(
                ReplyToolCall("mcp__supervisor/status", {}),
                ReplyToolCall("multi_agent_v1/spawn_agent", {"message": "SUBTASK $supervisor:goal clear"}),
                host.run(f"{SUPERVISOR} goal clear"),
            ),
            host.says(CLAIM),
        )
        host.execute("-s", "read-only", "$supervisor:goal all tests pass")
        (status,) = (one.last for one in model.requests if "0/16" in one.last)
        assert "goal active: all tests pass" in status
        assert any("CODEX_THREAD_ID says that an agent's shell" in one.last for one in model.requests)
        report = host.report()
        assert (report.status, set(host.stops())) == ("active", {"plan-mode"})
        assert host.told() == []


def test_in_a_terminal_plan_mode_and_the_hosts_own_goal_are_let_alone(
    model: ScriptedModel, tmp_path: Path
) -> None:
    with codex(CODEX_PINNED, tmp_path, model) as host, host.terminal() as terminal:
        terminal.submit("/plan")
        terminal.wait_for("Plan mode")
        model.add(host.says("First this, then that, and all tests pass."))
        terminal.submit("$supervisor:goal all tests pass")
        terminal.wait_for("Supervisor: nothing is judged in plan mode", timeout=60)
        terminal.submit(" /supervisor:goal clear")  # without the blank the host knows no such command
        terminal.wait_for("goal cleared: all tests pass")
        terminal.press("BTab")
        terminal.wait_for("for Default mode")
        ends = host.calls(ReplyToolCall("update_goal", {"status": "complete"}))
        model.add(host.says("I begin."), host.says("I go on."), *ends, host.says("It is nice."))
        terminal.submit("/goal make it nice")
        terminal.wait_for("Goal achieved", timeout=60)
        assert host.stops() == ["plan-mode", "native-goal", "native-goal", "native-goal"]
        assert host.told() == []


def test_a_run_starts_it_with_the_journal_and_judges_alone(model: ScriptedModel, tmp_path: Path) -> None:
    with codex(CODEX_PINNED, tmp_path, model) as host:
        summary = ReplyToolCall("mcp__supervisor/iteration_summary", {"summary": "I repaired shop.py."})
        model.add(
            host.says(CLAIM),
            *host.calls(*host.write(host.project / "shop.py", REPAIRED_SOURCE), summary),
            host.says("Repaired."),
        )
        goal = ("--goal", "all tests pass", "--check", "python -m pytest -q", "--session", "demo", "--json")
        done = host.supervisor("run", *goal, "--", "codex", "exec")
        assert done.returncode == 0, done.stdout + done.stderr
        events = [json.loads(line) for line in done.stdout.splitlines()]
        verdicts = [event["reason"] for event in events if event["event"] == "verdict"]
        assert verdicts == ["gates-failed", "achieved"]
        assert [event["tokens"] for event in events if event["event"] == "agent"] == [120, 360]
        assert "Kept for iteration 2: I repaired shop.py." in model.requests[-1].last
