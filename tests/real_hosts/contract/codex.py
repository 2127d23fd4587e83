"""The real Codex, with the plugin and the trust that `supervisor install codex --yes` sets."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from real_hosts.contract.adapter import HIDES_WORDS, RealHost, with_program
from real_hosts.host import Ran
from real_hosts.install import CODEX, CODEX_OLDEST, CODEX_PINNED
from real_hosts.terminal import COLUMNS, ROWS, Terminal
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.model_server import ScriptedModel

CANNOT: Final = {HIDES_WORDS: "what a hook tells the agent is on the screen"}
RUN_LIMIT_S: Final = 240.0
PROMPT_SIGN: Final = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
STOP_LIMIT_S: Final = 30.0
DATABASES: Final = ("goals_1", "logs_2", "memories_1", "queue_1", "state_5", "thread_history_1")
MEMORY: Final = (
    *(f".codex/{name}" for name in ("sessions", "history.jsonl", "packages", "shell_snapshots", "skills")),
    *(f".codex/{name}.sqlite{tail}" for name in DATABASES for tail in ("", "-wal", "-shm")),
)
SETTINGS: Final = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[analytics]
enabled = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui]
screen_reader_detection_done = true

[projects."{project}"]
trust_level = "trusted"
"""
"""The user's config.toml, as it is after a first start in which they kept their model."""


class CodexTerminal(Terminal, frozen=True):
    """Its input completes what is typed after `$`, so Enter may come only when all of it was read."""

    def type(self, text: str) -> None:
        """Type `text` and wait until the input shows the whole of it."""
        self._tmux("send-keys", "-t", "host", "-l", "--", text)
        self.wait_for(rf"(?m)^{PROMPT_SIGN} *{re.escape(text.strip())}\s*$")


class Codex(RealHost):
    """Hooks as processes, in a terminal those of a daemon; Esc ends a judging."""

    title = "Codex"
    program = "codex"
    package = CODEX
    versions = (CODEX_PINNED,)
    older = (CODEX_OLDEST,)
    tool = "exec_command"
    judging = "Supervisor checks the work; Esc ends it"
    working = "background terminal running"
    interrupted = "Conversation interrupted"
    busy = "esc to interrupt"
    consent = ("--yes",)
    memory = MEMORY
    cannot = CANNOT

    def __init__(self, binary: Path, version: str, folder: Path, model: ScriptedModel) -> None:
        super().__init__(binary, version, folder, model)
        self.home, self.project = folder / "home", folder / "project"
        for path in (self.home / ".codex", self.project, folder / "tmp"):
            path.mkdir(parents=True)
        settings = SETTINGS.format(url=model.url, project=self.project)
        (self.home / ".codex" / "config.toml").write_text(settings, encoding="utf-8")
        named = {"HOME": str(self.home), "TMPDIR": str(folder / "tmp"), "SCRIPTED_KEY": "no-real-key"}
        found = os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"))
        plain = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PATH": found}
        self.env = with_program({**named, **plain}, binary)

    def headless(self, prompt: str) -> Ran:
        return self.execute(prompt)

    def execute(self, *arguments: str) -> Ran:
        """Run `codex exec ARGUMENTS` to its end."""
        done = subprocess.run(
            [str(self.binary), "exec", *arguments],
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
        folder, size = self.home.parent, (COLUMNS, ROWS)
        try:
            with CodexTerminal.running([str(self.binary)], folder, self.project, self.env, size) as terminal:
                terminal.wait_for("YOLO mode", timeout=60)
                yield terminal
                terminal.wait_until_gone(self.busy, timeout=60)
        finally:
            self.end_daemon()

    def end_daemon(self) -> None:
        """End the server that a terminal leaves behind, and what keeps it up to date."""
        command = [str(self.binary), "app-server", "daemon", "stop"]
        subprocess.run(command, env=dict(self.env), capture_output=True, timeout=STOP_LIMIT_S, check=False)
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.fsencode(self.home / ".codex") in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)

    def write(self, path: Path, content: str) -> list[ReplyToolCall]:
        """Return a patch, in which each line of the file goes and each of the content comes."""
        lines = [f"-{line}" for line in path.read_text(encoding="utf-8").splitlines()]
        lines += [f"+{line}" for line in content.splitlines()]
        patch = ["*** Begin Patch", f"*** Update File: {path.name}", "@@", *lines, "*** End Patch", ""]
        return [ReplyToolCall("apply_patch", {"input": "\n".join(patch)})]

    def run(self, command: str) -> ReplyToolCall:
        return ReplyToolCall("exec_command", {"cmd": command, "yield_time_ms": 30_000})

    def typed(self, name: str, words: str) -> str:
        return f"$supervisor:{name} {words}"
