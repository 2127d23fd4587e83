"""The real Copilot CLI, with the plugin as `supervisor install copilot` has it read."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from real_hosts.contract.adapter import ESC_JUDGING, HIDES_WORDS, RealHost, with_program
from real_hosts.host import Ran
from real_hosts.install import COPILOT, COPILOT_PINNED, hosts_folder
from real_hosts.terminal import SESSION, TRIES, Terminal
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.model_server import ScriptedModel

FREE: Final = "--allow-all-tools"
TRUST: Final = "Confirm folder trust"
INPUT: Final = "/ commands"
"""What the terminal shows below an input that takes a prompt."""
RUN_LIMIT_S: Final = 240.0
"""Longest time, in seconds, of one run without a terminal."""
CANNOT: Final = {
    HIDES_WORDS: "a reason is a prompt, shown as if it had been typed",
    ESC_JUDGING: "it ignores Esc while a hook runs",
}


class CopilotTerminal(Terminal, frozen=True):
    """Its input is the line above a ruler, and Enter counts only once it shows what was typed."""

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", SESSION, "-l", "--", text)
        self.wait_for(re.escape(text) + r"\s*\n\N{BOX DRAWINGS LIGHT HORIZONTAL}")


class Copilot(RealHost):
    """Hooks as processes; the person reads what they write on standard error."""

    title = "Copilot CLI"
    program = "copilot"
    package = COPILOT
    versions = (COPILOT_PINNED, "newest")
    tool = "bash"
    judging = "Working"
    interrupted = "Operation cancelled by user"
    busy = "esc interrupt"
    acp = ("--acp", FREE)
    memory = (
        *(".copilot/session-state", ".copilot/logs", ".copilot/plugin-data"),
        ".copilot/command-history-state.json",
        *(f".copilot/session-store.db{end}" for end in ("", "-shm", "-wal")),
    )
    cannot = CANNOT

    def __init__(self, binary: Path, version: str, folder: Path, model: ScriptedModel) -> None:
        super().__init__(binary, version, folder, model)
        self.home, self.project, scratch = folder / "home", folder / "project", folder / "tmp"
        for place in (self.home, self.project, scratch):
            place.mkdir()
        provider = {"TYPE": "anthropic", "BASE_URL": model.url, "API_KEY": "no-key"}
        path = os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"))
        self.env = with_program({"PATH": path}, binary) | {
            "HOME": str(self.home),
            "TMPDIR": str(scratch),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "claude-sonnet-4.5",
            "XDG_CACHE_HOME": str(hosts_folder() / "copilot-unpacked"),  # 235 MB at the first start
            **{f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()},
        }

    def headless(self, prompt: str, *arguments: str) -> Ran:
        with subprocess.Popen(
            [str(self.binary), FREE, *arguments, "-p", prompt],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=RUN_LIMIT_S)
            finally:
                with suppress(ProcessLookupError):  # the launcher's child would stay
                    os.killpg(process.pid, signal.SIGKILL)
        return Ran(process.returncode, stdout, stderr)

    @contextmanager
    def terminal(self) -> Iterator[Terminal]:
        command = [str(self.binary), FREE]
        with CopilotTerminal.running(command, self.home.parent, self.project, self.env) as terminal:
            terminal.wait_for(TRUST, timeout=60)
            terminal.agree(TRUST)
            terminal.wait_for(INPUT)
            yield terminal

    def write(self, path: Path, content: str) -> list[ReplyToolCall]:
        written = f"cat > {path} << 'END'\n{content}END"
        return [self.run(written)]

    def run(self, command: str) -> ReplyToolCall:
        return ReplyToolCall("bash", {"command": command, "description": "Run it"})

    def interrupt(self, terminal: Terminal) -> None:
        for _ in range(TRIES):  # the second Esc must come soon after the first one
            with suppress(TimeoutError):
                terminal.press("Escape")
                terminal.wait_for("esc again to interrupt", timeout=2)
                terminal.press("Escape")
                terminal.wait_for(self.interrupted, timeout=2)
                return

    def leave(self, terminal: Terminal) -> None:
        """It queues what is typed until the judging ends: another shell ends the goal, and so the judging."""
        assert self.supervisor("goal", "clear").returncode == 0
        (self.project / "release").touch()
        terminal.wait_until_gone(self.busy)
