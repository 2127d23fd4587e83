"""What is typed after `supervisor goal`, and the names of hosts."""

from __future__ import annotations

from typing import Any

import click
import pytest

from sidecar.cli import goal as goal_module
from sidecar.cli.options import CLAUDE_CODE, OPENCODE, HostChoice
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.orders import Order
from support.typed import typed


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    given: list[str] = []

    def note(_session: str, order: Order) -> None:
        assert order.name == "goal"
        given.append(order.text)

    monkeypatch.setattr(goal_module, "_send_order", note)
    return given


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (("all tests pass",), "all tests pass"),
        (("all", "tests", "pass"), "all tests pass"),
        (("set", "all tests pass"), "all tests pass"),
        (("--check", "make a", "it works"), 'it works --check "make a"'),
        (("clear",), "clear"),
        (("cancel",), "clear"),
        (("pause",), "pause"),
        (("hold", "it is", "right"), "hold it is right"),
        (("hold",), None),
        (("unhold",), "unhold"),
        (("pause", "works"), None),
        (("claer",), None),
        (("set", "pause"), None),
    ],
)
def test_what_is_no_command_sets_a_goal(
    orders: list[str], words: tuple[str, ...], arguments: str | None
) -> None:
    assert typed("goal", *words) == (0 if arguments else 2)
    assert orders == ([arguments] if arguments else [])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("retry", "5"), "type: supervisor goal clear"),
        (("retry",), "type: supervisor goal clear"),
        (("goal", "x" * 5000), "the condition has 5000 characters"),
    ],
)
@pytest.mark.parametrize("refused", [True, False])
def test_a_shell_is_answered_with_what_is_typed_in_a_shell(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    shown: str,
    *,
    refused: bool,
) -> None:
    reply = CommandReply(headline="To end it, type: /supervisor:goal clear", refused=refused)
    monkeypatch.setattr(goal_module, "refuse_agents", lambda: None)
    monkeypatch.setattr(goal_module, "call_sidecar", lambda *_: reply)
    typed(*words)
    said = "".join(capsys.readouterr())
    assert (shown in said, "/supervisor:" in said) == (True, False)


@pytest.mark.parametrize(
    ("typed_name", "meant"), [("claude", CLAUDE_CODE), (CLAUDE_CODE, CLAUDE_CODE), (OPENCODE, OPENCODE)]
)
def test_a_host_has_one_name_and_claude_is_taken_too(typed_name: str, meant: str) -> None:
    choice: Any = HostChoice([CLAUDE_CODE, OPENCODE])
    assert choice.convert(typed_name, None, None) == meant


def test_an_unknown_host_is_refused_with_those_there_are() -> None:
    with pytest.raises(click.BadParameter, match="'claude-code', 'opencode'"):
        HostChoice([CLAUDE_CODE, OPENCODE]).convert("codex", None, None)


@pytest.mark.parametrize(
    "marker",
    [
        "CLAUDECODE",
        "OPENCODE",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "GEMINI_CLI",
        "COPILOT_CLI",
        "COPILOT_AGENT_SESSION_ID",
        "SUPERVISOR_WORKER",
        "SUPERVISOR_PROXIED",
    ],
)
def test_the_shell_of_any_hosts_agent_is_refused(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    goal_module.refuse_agent_shell()
    monkeypatch.setenv(marker, "1")
    with pytest.raises(click.ClickException, match=f"only the user may do this, and {marker} says"):
        goal_module.refuse_agent_shell()
