"""The real Gemini CLI, with the extension as `supervisor install gemini` links it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from real_hosts.contract.adapter import RealHost, with_program
from real_hosts.host import Ran
from real_hosts.install import GEMINI, GEMINI_OLDER, GEMINI_PINNED
from real_hosts.terminal import SESSION, Terminal
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.model_server import ScriptedModel

INPUT: Final = "Type your message"
"""What the interactive host shows where it takes input."""
SETTINGS: Final = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
}
FREE: Final = ("--yolo", "-m", "gemini-2.5-pro")
"""Every permission, and a model that no router chooses."""
RUN_LIMIT_S: Final = 240.0


class Screen(Terminal, frozen=True):
    """A terminal of this host, which takes an Enter that follows too soon for a part of what was typed."""

    def submit(self, text: str) -> None:
        self.type(text)
        typed = rf"(?m)^ \* +{re.escape(text[:80])}"
        self.wait_for(typed)
        self.agree(typed)

    def kill(self) -> None:
        """End the host with all that it started: it outlives its terminal."""
        leader = self._tmux("display-message", "-p", "-t", SESSION, "#{pane_pid}")
        with suppress(ProcessLookupError):
            os.killpg(int(leader), signal.SIGKILL)


class Gemini(RealHost):
    """Hooks as processes of an extension; Esc shows in the chat that it records."""

    title = "Gemini CLI"
    program = "gemini"
    package = GEMINI
    versions = (GEMINI_PINNED,)
    older = (GEMINI_OLDER,)
    tool = "run_shell_command"
    judging = r"Supervisor checks the work \(esc to cancel"
    interrupted = "Request cancelled"
    busy = "esc to cancel"
    acp = ("--acp", *FREE)
    memory = (".gemini/tmp", ".gemini/history")

    def __init__(self, binary: Path, version: str, folder: Path, model: ScriptedModel) -> None:
        super().__init__(binary, version, folder, model)
        self.home, self.project, scratch = folder / "home", folder / "project", folder / "tmp"
        for path in (self.home / ".gemini", self.project, scratch):
            path.mkdir(parents=True)
        (self.home / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
        trusted = {str(self.project): "TRUST_FOLDER"}
        (self.home / ".gemini" / "trustedFolders.json").write_text(json.dumps(trusted), encoding="utf-8")
        env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")),
            "TMPDIR": str(scratch),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "GEMINI_API_KEY": "not-a-real-key",
            "GOOGLE_GEMINI_BASE_URL": model.url,
        }
        self.env = with_program(env, binary)

    def headless(self, prompt: str) -> Ran:
        done = subprocess.run(
            [str(self.binary), *FREE, "-p", prompt],
            cwd=self.project,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def terminal(self) -> Iterator[Terminal]:
        command = [str(self.binary), *FREE]
        with Screen.running(command, self.home.parent, self.project, self.env) as terminal:
            try:
                terminal.wait_for(INPUT, timeout=90)
                yield terminal
                terminal.wait_until_gone(self.busy, timeout=60)
            finally:
                terminal.kill()

    def write(self, path: Path, content: str) -> list[ReplyToolCall]:
        return [ReplyToolCall("write_file", {"file_path": str(path), "content": content})]

    def run(self, command: str) -> ReplyToolCall:
        return ReplyToolCall("run_shell_command", {"command": command, "description": "Run it"})
