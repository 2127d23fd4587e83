"""A real host with our plugin and a scripted model: its agent has a goal and calls our tools."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from real_hosts import opencode_supervised, supervised
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from support.model_script import (
    ReplyRule,
    RequestMatch,
    ScriptedReply,
    reply_with_calls,
    reply_with_text,
    request_matches,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.tdd_projects import lay_out

FREE = ("--permission-mode", "bypassPermissions")


class AgentSession(Struct, frozen=True):
    """`prefix` is how the host names our tools; `agent` are that agent's requests.

    `arguments` are those of the host that give it a goal.
    """

    under: supervised.Supervised | opencode_supervised.Supervised
    prefix: str
    agent: RequestMatch
    arguments: Callable[[str], Sequence[str]]

    @contextmanager
    def started(self, goal: str) -> Iterator[subprocess.Popen[str]]:
        """Start the host, and give its agent a goal."""
        with self.under.host.started(*self.arguments(goal)) as process:
            if process.stdin is not None:
                process.stdin.close()
                process.stdin = None
            yield process

    def goal(self, goal: str) -> None:
        """Let the agent work for a goal until it rests."""
        with self.started(goal) as process:
            process.communicate(timeout=240.0)

    def calls(self, tool: str, **given: object) -> None:
        self.under.script(ReplyRule(reply_with_calls(ReplyToolCall(self.prefix + tool, given)), self.agent))

    def writes(self, files: Mapping[str, str]) -> None:
        self.under.script(ReplyRule(reply_that_writes(self.under.host, files), self.agent))

    def says(self, text: str) -> None:
        self.under.script(ReplyRule(reply_with_text(text), self.agent, None))

    @property
    def told(self) -> list[str]:
        """What the agent was told after each call."""
        asked = [request for request in self.under.model.requests if request_matches(self.agent, request)]
        return [request.last for request in asked[1:]]


@contextmanager
def agent_session(
    host: Host | OpenCode, model: ScriptedModel, files: Mapping[str, str], toolset: str
) -> Iterator[AgentSession]:
    """Lay out these files in place of the usual project, and let the toolset's tools be offered."""
    if isinstance(host, Host):
        with supervised.supervised(host, model, environment=supervised.WAITS_FOR_TOOLS) as claude:
            _lay_out(claude.host, files, toolset)
            agent = RequestMatch(has_tool="Bash", lacks_tool="StructuredOutput")
            yield AgentSession(
                claude,
                "mcp__plugin_supervisor_supervisor__",
                agent,
                lambda goal: ("-p", f"/supervisor:goal {goal}", *claude.plugin, *FREE),
            )
    else:
        with opencode_supervised.supervised(host, model) as opencode:
            _lay_out(opencode.host, files, toolset)
            agent = RequestMatch(has_tool="supervisor_status")
            yield AgentSession(opencode, "supervisor_", agent, _opencode_goal)


def _opencode_goal(goal: str) -> Sequence[str]:
    return ("run", "--command", "supervisor:goal", goal)


def _lay_out(host: Host | OpenCode, files: Mapping[str, str], toolset: str) -> None:
    for name in ("shop.py", "test_shop.py"):
        (host.project / name).unlink()
    lay_out(host.home, {".config/supervisor/config.toml": f'toolsets = ["core", "{toolset}"]\n'})
    lay_out(host.project, files)


def reply_that_writes(host: Host | OpenCode, files: Mapping[str, str]) -> ScriptedReply:
    """Return the call of the host's shell that writes these files."""
    line = "; ".join(
        f"mkdir -p $(dirname {name}) && printf %s {shlex.quote(text)} > {name}"
        for name, text in files.items()
    )
    shell = "Bash" if isinstance(host, Host) else "bash"
    return reply_with_calls(ReplyToolCall(shell, {"command": line, "description": "Write"}))
