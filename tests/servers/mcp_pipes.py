"""The pipe as a process, both ways that hosts start it, in a home whose one session has a goal."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from servers.mcp_clients import CONDITION, HELLO
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.installation import plugin_root
from sidecar.platform.session_store import SessionFiles
from support.cases import goal

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
COMMAND: Final = (str(SUPERVISOR), "mcp")
PLUGIN: Final = (sys.executable, "-I", "-S", str(plugin_root() / "hooks" / "mcp.py"))
WAYS: Final = {"the command": COMMAND, "the plugin": PLUGIN}
LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
KEY: Final = SessionKey("opencode", "ses_1")
INITIALIZE: Final = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}


def status(ident: int) -> Any:
    params = {"name": "status", "arguments": {"session": KEY.id}}
    return {"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": params}


class Home:
    """A user's home with one session whose goal is active."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.state = folder / ".local" / "state" / "supervisor"
        self.environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        self.project.mkdir(parents=True)
        held = Session(
            key=KEY,
            project=str(self.project),
            goal=goal(CONDITION),
            host_process=os.getpid(),
            seen_at=time.time(),
        )
        SessionFiles(self.state).save(held)
        (self.state / "runtime").write_text(f"{SUPERVISOR}\n", encoding="utf-8")

    @property
    def log(self) -> str:
        return (self.state / "log" / "sidecar.log").read_text(encoding="utf-8")

    def sidecar(self) -> int:
        return int((self.state / "run" / "sidecar.lock").read_text(encoding="ascii"))

    def end_sidecar(self, number: signal.Signals) -> None:
        """Signal it, and wait until the kernel has let its lock go."""
        os.kill(self.sidecar(), number)
        with (self.state / "run" / "sidecar.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def supervisor(self, *arguments: str) -> None:
        subprocess.run(
            [str(SUPERVISOR), *arguments],
            env=self.environment,
            check=True,
            capture_output=True,
            timeout=LIMIT_S,
        )

    @contextmanager
    def pipe(self, command: Sequence[str] = COMMAND, **environment: str) -> Iterator[Pipe]:
        with subprocess.Popen(
            command,
            cwd=self.project,
            env={**self.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            bound = threading.Timer(LIMIT_S, process.kill)  # ends every wait for a line
            bound.start()
            try:
                yield Pipe(process)
            finally:
                bound.cancel()
                process.kill()


class Pipe:
    """The process, and lines to and from it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, message: object) -> Any:
        self.say(json.dumps(message).encode() + b"\n")
        return self.hear()

    def end(self) -> tuple[int, bytes, bytes]:
        """Let the host leave; exit code, and what it said on both outputs since."""
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, err

    def ended(self) -> tuple[int, bytes]:
        """Wait for its end, with the host still there; exit code and errors."""
        assert self.process.stderr is not None
        return self.process.wait(LIMIT_S), self.process.stderr.read()
