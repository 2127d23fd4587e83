"""The real Claude Code, with the plugin as `supervisor install claude-code` installs it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from real_hosts.contract.adapter import HIDES_WORDS, RealHost, with_program
from real_hosts.host import BUSY, Host
from real_hosts.install import CLAUDE, PINNED
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from real_hosts.host import Ran
    from real_hosts.terminal import Terminal
    from support.model_server import ScriptedModel

CANNOT: Final = {HIDES_WORDS: "what a hook tells the agent is on the screen, folded"}
FREE: Final = ("--permission-mode", "bypassPermissions")


class ClaudeCode(RealHost):
    """Hooks as processes; Esc ends a judging."""

    title = "Claude Code"
    program = "claude-code"
    package = CLAUDE
    versions = (PINNED, "newest")
    tool = "Bash"
    judging = "Supervisor checks the work; Esc ends it"
    interrupted = "Interrupted"
    busy = BUSY
    memory = (
        *(".cache", ".claude/backups", ".claude/projects", ".claude/history.jsonl", ".claude.json"),
        *(".claude/mcp-needs-auth-cache.json", ".local/share/applications"),
    )
    cannot = CANNOT

    def __init__(self, binary: Path, version: str, folder: Path, model: ScriptedModel) -> None:
        super().__init__(binary, version, folder, model)
        made = Host.prepare(binary, version, folder, model.url)
        self._host = made.having(PATH=with_program(made.env, binary)["PATH"])
        self.home, self.project, self.env = made.home, made.project, self._host.env

    def headless(self, prompt: str) -> Ran:
        return self._host.run("-p", prompt, *FREE, timeout=240)

    @contextmanager
    def terminal(self) -> Iterator[Terminal]:
        with self._host.terminal(*FREE) as terminal:
            yield terminal
            terminal.wait_until_gone(BUSY, timeout=60)

    def write(self, path: Path, content: str) -> list[ReplyToolCall]:
        named = {"file_path": str(path)}
        return [ReplyToolCall("Read", named), ReplyToolCall("Write", {**named, "content": content})]

    def run(self, command: str) -> ReplyToolCall:
        return ReplyToolCall("Bash", {"command": command, "description": "Run it"})

    def wipe(self, terminal: Terminal) -> None:
        terminal.wipe()
