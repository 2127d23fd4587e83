"""A host with the plugin, a runtime and a project whose tests fail: what every scenario starts from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from real_hosts.host import BUSY, Host, Result
from real_hosts.terminal import COLUMNS, Terminal
from sidecar.cli.demo_agent import BROKEN_SOURCE, REPAIRED_SOURCE
from sidecar.platform.installation import plugin_root
from sidecar.systems.supervision.people import SessionReport
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.projects import PYTEST_SOURCE

SUPERVISOR = Path(sys.executable).parent / "supervisor"
AGENT = RequestMatch(has_tool="Bash")
"""Requests of the agent itself: not of a judge, not for a title."""


class Supervised(msgspec.Struct, frozen=True):
    """A host under supervision, and the model it asks."""

    host: Host
    model: ScriptedModel

    @property
    def plugin(self) -> tuple[str, str]:
        """The host's arguments that load the plugin."""
        return ("--plugin-dir", str(plugin_root()))

    @property
    def state(self) -> Path:
        """The state folder of this home."""
        return self.host.home / ".local" / "state" / "supervisor"

    def ask(self, prompt: str, *arguments: str) -> Result:
        """Run `claude -p` with the plugin and every permission."""
        free = ("--permission-mode", "bypassPermissions")
        return self.host.ask(prompt, *self.plugin, *free, *arguments)

    @contextmanager
    def terminal(self, columns: int = COLUMNS) -> Iterator[Terminal]:
        """Start the host in a terminal, with every permission; at the end, wait until it is at rest.

        A stop that is being judged when its host is gone would start the sidecar anew.
        """
        free = ("--permission-mode", "bypassPermissions")
        with self.host.terminal(*self.plugin, *free, columns=columns) as terminal:
            yield terminal
            terminal.wait_until_gone(BUSY)

    def script(self, *rules: ReplyRule) -> None:
        """Add to what the model answers."""
        self.model.add(*rules)

    def supervisor(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor ARGUMENTS` in a shell of this home's user."""
        return subprocess.run(
            [str(SUPERVISOR), *arguments],
            cwd=self.host.project,
            env=dict(self.host.env),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def report(self) -> SessionReport:
        """What `supervisor status --json` says of this project."""
        done = self.supervisor("status", "--json")
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=SessionReport)

    def stops(self) -> list[str]:
        """What was decided at each stop, oldest first."""
        return [entry.decided for entry in self.report().story if entry.event == "stop"]

    def continuations(self) -> list[str]:
        """What the agent was told when it was sent back, oldest first, each once."""
        found = [request.last for request in self.model.requests if "[supervisor " in request.last]
        return [
            text[text.index("[supervisor ") :] for text in found if "Stop hook additional context" in text
        ]


WAITS_FOR_TOOLS: Final = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000"}
"""Lets Claude Code wait for its servers (5 s otherwise): a scripted model waits for nothing."""


@contextmanager
def supervised(host: Host, model: ScriptedModel, *, environment: Mapping[str, str]) -> Iterator[Supervised]:
    """Lay out the project, record the runtime, and end the sidecar afterwards."""
    (host.project / "shop.py").write_text(BROKEN_SOURCE, encoding="utf-8")
    (host.project / "test_shop.py").write_text(PYTEST_SOURCE, encoding="utf-8")
    (host.project / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], cwd=host.project, env=dict(host.env), check=True, timeout=120)
    path = os.pathsep.join((str(host.binary.parent), host.env["PATH"]))
    under = Supervised(host.having(**{"PATH": path, **environment}), model)
    under.state.mkdir(parents=True, mode=0o700)
    (under.state / "runtime").write_text(f"{SUPERVISOR}\n", encoding="utf-8")
    try:
        yield under
    finally:
        under.supervisor("stop")


def writes_shop(host: Host) -> ReplyRule:
    """The agent repairs the project."""
    write = ReplyToolCall("Write", {"file_path": str(host.project / "shop.py"), "content": REPAIRED_SOURCE})
    return ReplyRule(reply_with_calls(write), AGENT)


def reads_shop(host: Host) -> ReplyRule:
    """The agent reads the file, without which the host refuses to overwrite it."""
    return ReplyRule(
        reply_with_calls(ReplyToolCall("Read", {"file_path": str(host.project / "shop.py")})), AGENT
    )


def runs(command: str) -> ReplyRule:
    """The agent runs a command."""
    return ReplyRule(
        reply_with_calls(ReplyToolCall("Bash", {"command": command, "description": "Run it"})), AGENT
    )


def says(text: str) -> ReplyRule:
    """The agent writes and stops."""
    return ReplyRule(reply_with_text(text), AGENT)
