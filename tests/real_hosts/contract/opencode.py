"""The real OpenCode, with our plugin file as `supervisor install opencode` puts it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from real_hosts.contract.adapter import ESC_JUDGING, RealHost, with_program
from real_hosts.install import OPENCODE, OPENCODE_PINNED
from real_hosts.opencode_host import BUSY
from real_hosts.opencode_host import OpenCode as Host
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from real_hosts.host import Ran
    from real_hosts.terminal import Terminal
    from support.model_server import ScriptedModel

CANNOT: Final = {ESC_JUDGING: "to OpenCode the session is idle then, so that Esc does nothing"}


class OpenCode(RealHost):
    """One file in the host's process; a run that is sent back goes on inside its own end."""

    title = "OpenCode"
    program = "opencode"
    package = OPENCODE
    versions = (OPENCODE_PINNED,)
    tool = "bash"
    judging = "running `touch begun"
    interrupted = "interrupted"
    busy = BUSY
    acp = ("acp",)
    memory = (".local/share/opencode", ".local/state/opencode", ".cache")
    cannot = CANNOT

    def __init__(self, binary: Path, version: str, folder: Path, model: ScriptedModel) -> None:
        super().__init__(binary, version, folder, model)
        made = Host.prepare(binary, folder, model.url)
        made.unsettle_packages()
        self._host = made.having(PATH=with_program(made.env, binary)["PATH"])
        self.home, self.project, self.env = made.home, made.project, self._host.env

    def headless(self, prompt: str) -> Ran:
        return self._host.run("run", prompt, timeout=240)

    def terminal(self) -> AbstractContextManager[Terminal]:
        return self._host.terminal()

    def write(self, path: Path, content: str) -> list[ReplyToolCall]:
        named = {"filePath": str(path)}
        return [ReplyToolCall("read", named), ReplyToolCall("write", {**named, "content": content})]

    def run(self, command: str) -> ReplyToolCall:
        return ReplyToolCall("bash", {"command": command, "description": "Run it"})

    def interrupt(self, terminal: Terminal) -> None:
        terminal.press("Escape")
        terminal.wait_for("again to interrupt")
        terminal.press("Escape")
