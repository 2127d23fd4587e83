"""An editor that speaks the Agent Client Protocol with an agent's process, line by line.

    with AcpEditor([SUPERVISOR, "acp", "--", "opencode", "acp"], folder, environment) as editor:
        session = editor.open()
        done = editor.prompt(session, "Repair it.")
        assert done["result"]["stopReason"] == "end_turn"
        assert "sent back" in editor.text

It allows whatever the agent asks permission for. Every wait is bounded.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

LIMIT_S: Final = 180.0
"""Longest wait, in seconds, for one line of an agent."""
HELLO: Final[dict[str, Any]] = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
}


class AcpEditor:
    """One editor and the agent that it started. `heard`: every message of the agent, in order."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._command, self._folder, self._environment = list(command), folder, dict(environment)
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._ids = itertools.count(1)
        self.heard: list[dict[str, Any]] = []
        self.modes: Any = None

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        number = next(self._ids)
        self.send(id=number, method=method, params=params)
        return number

    def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read until a message is `found`. Raises EOFError at the agent's end, queue.Empty after LIMIT_S."""
        while True:
            line = self._lines.get(timeout=LIMIT_S)
            if line is None:
                raise EOFError(self.heard[-3:])
            message: dict[str, Any] = json.loads(line)
            self.heard.append(message)
            if message.get("method") == "session/request_permission":
                chosen = next(one for one in message["params"]["options"] if one["kind"] == "allow_once")
                outcome = {"outcome": "selected", "optionId": chosen["optionId"]}
                self.send(id=message["id"], result={"outcome": outcome})
            if found(message):
                return message

    def answer(self, number: int) -> dict[str, Any]:
        """Wait for the answer to a request."""
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def call(self, method: str, **params: Any) -> Any:
        """Send a request and return its result."""
        return self.answer(self.ask(method, **params))["result"]

    def open(self, folder: Path | None = None) -> str:
        """Shake hands and open a session; return its id."""
        self.call("initialize", **HELLO)
        opened = self.call("session/new", cwd=str(folder or self._folder), mcpServers=[])
        self.modes = opened.get("modes")
        return str(opened["sessionId"])

    def begin(self, session: str, text: str) -> int:
        """Send a prompt; return the id of its request."""
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        """Send a prompt and wait for the response."""
        return self.answer(self.begin(session, text))

    def update(self, *kinds: str) -> Callable[[dict[str, Any]], bool]:
        """Return what finds an update of one of these kinds."""
        return lambda message: _update(message).get("sessionUpdate") in kinds

    def said(self, kind: str = "agent_message_chunk") -> str:
        """All text of one kind of update so far."""
        updates = map(_update, self.heard)
        return "".join(one["content"].get("text", "") for one in updates if one.get("sessionUpdate") == kind)

    def close(self) -> int:
        """Close the agent's input as an editor does, and wait for its end; return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=LIMIT_S)


def _update(message: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = message.get("params", {}).get("update", {}) if "method" in message else {}
    return found
