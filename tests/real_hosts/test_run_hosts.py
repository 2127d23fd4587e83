"""`supervisor run` with real agents: each iteration a fresh host, its tools over HTTP; the model is scripted.

The hosts have the plugin too, as a user's do: it stays out of the way, and the run judges alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from real_hosts import opencode_supervised, supervised
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.supervised import SUPERVISOR
from sidecar.cli.demo_agent import REPAIRED_SOURCE
from sidecar.platform.installation import plugin_root
from support.model_script import HttpErrorReply, ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("runs and the journal")

LIMIT_S: Final = 300.0
"""Longest time, in seconds, of one run."""
CHECK: Final = "python -m pytest -q"
TASK: Final = "take the tenth off as a rate"


def rules(prefix: str, repair: tuple[ReplyToolCall, ...]) -> list[ReplyRule]:
    """Two agents. The first plans and stops; the second repairs, completes its task and sums up."""
    ours = RequestMatch(has_tool=f"{prefix}task_add")

    def tool(name: str, **arguments: object) -> ReplyRule:
        return ReplyRule(reply_with_calls(ReplyToolCall(f"{prefix}{name}", arguments)), ours)

    return [
        tool("task_add", content=TASK),
        tool("iteration_summary", summary="I planned."),
        ReplyRule(reply_with_text("All tests pass. Done."), ours),
        tool("task_status", id="T1", status="in_progress"),
        *(ReplyRule(reply_with_calls(step), ours) for step in repair),
        tool("task_status", id="T1", status="completed"),
        tool("iteration_summary", summary="I repaired shop.py."),
        ReplyRule(reply_with_text("Repaired."), ours),
    ]


def run(
    environment: Mapping[str, str], project: Path, *agent: str, condition: str = "all tests pass"
) -> list[dict[str, Any]]:
    """What `supervisor run --json` tells."""
    goal = ("--goal", condition, "--check", CHECK, "--session", "demo", "--json")
    done = subprocess.run(
        [str(SUPERVISOR), "run", *goal, "--", *agent],
        cwd=project,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def achieved_in_two(events: list[dict[str, Any]], model: ScriptedModel) -> None:
    """The first agent is sent back, the second one knows what the first planned, and the goal is achieved."""
    assert [event["reason"] for event in events if event["event"] == "verdict"] == [
        "gates-failed",
        "achieved",
    ]
    assert [event["id"] for event in events if event["event"] == "task"] == ["T1"]
    assert not [event for event in events if event["event"] == "warning"]
    assert model.unmatched == ()
    first, second = (
        next(request for request in model.requests if f"agent of iteration {number} " in request.last)
        for number in (1, 2)
    )
    assert TASK not in first.last
    assert f"T1 [remaining, medium] by agent: {TASK}" in second.last
    assert "1: I planned." in second.last
    assert "Sent back 1 of 16" in second.last
    refused = [request.last for request in model.requests if "haven't granted" in request.last]
    assert refused == []


@pytest.fixture
def claude_under(host: Host, model: ScriptedModel) -> Iterator[supervised.Supervised]:
    with supervised.supervised(host, model, environment=supervised.WAITS_FOR_TOOLS) as made:
        yield made


def test_claude_code_works_in_fresh_iterations_until_the_goal_holds(
    claude_under: supervised.Supervised,
) -> None:
    host = claude_under.host
    shop = str(host.project / "shop.py")
    repair = (
        ReplyToolCall("Read", {"file_path": shop}),
        ReplyToolCall("Write", {"file_path": shop, "content": REPAIRED_SOURCE}),
    )
    claude_under.script(*rules("mcp__supervisor__", repair))
    agent = ("claude", "-p", "--plugin-dir", str(plugin_root()), "--permission-mode", "acceptEdits")
    path = os.pathsep.join((str(host.binary.parent), host.env["PATH"]))

    events = run({**host.env, "PATH": path}, host.project, *agent)

    achieved_in_two(events, claude_under.model)
    assert events[-1]["iterations"] == 2
    assert claude_under.continuations() == []  # the host's own hooks did not judge too


def achieved_in_one(events: list[dict[str, Any]], model: ScriptedModel, refused: int) -> None:
    """The first agent got no answer, the second worked: one iteration, and nothing is charged."""
    (verdict,) = (event for event in events if event["event"] == "verdict")
    assert (verdict["reason"], verdict["continuations"]) == ("achieved", 0)
    assert [event["event"] for event in events].count("agent") == events[-1]["iterations"] == 1
    begun = [request for request in model.requests if "agent of iteration 1 " in request.last]
    assert len(begun) > refused
    assert model.unmatched == ()


def test_claude_code_is_started_again_when_its_limit_is_over(claude_under: supervised.Supervised) -> None:
    """It reports until when in a field only where a subscription is limited."""
    host = claude_under.host
    reset = {"anthropic-ratelimit-unified-status": "rejected", "x-should-retry": "false"}
    reset["anthropic-ratelimit-unified-reset"] = str(int(time.time()))
    limited = HttpErrorReply(429, "rate_limit_error", "This would exceed your account's rate limit.", reset)
    claude_under.script(
        ReplyRule(limited, supervised.AGENT),
        supervised.reads_shop(host),
        supervised.writes_shop(host),
        supervised.says("Repaired."),
    )
    path = os.pathsep.join((str(host.binary.parent), host.env["PATH"]))
    own = {name: value for name, value in host.env.items() if name != "ANTHROPIC_API_KEY"}
    own |= {"PATH": path, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-not-a-real-token"}

    events = run(own, host.project, "claude", "-p", "--permission-mode", "acceptEdits")

    achieved_in_one(events, claude_under.model, 1)


def test_opencode_is_started_again_when_its_limit_is_over(
    opencode_host: OpenCode, model: ScriptedModel
) -> None:
    """It asks six times by itself, as often as the service says."""
    with opencode_supervised.supervised(opencode_host, model) as under:
        host = under.host
        limited = HttpErrorReply(
            429, "rate_limit_error", "This would exceed the rate limit.", {"retry-after": "0.2"}
        )
        under.script(
            ReplyRule(limited, opencode_supervised.agent(host.project), times=6),
            opencode_supervised.reads_shop(host),
            opencode_supervised.writes_shop(host),
            opencode_supervised.says("Repaired."),
        )
        events = run(host.env, host.project, "opencode", "run")
        achieved_in_one(events, model, 6)
