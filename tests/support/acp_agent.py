"""An agent that speaks the Agent Client Protocol by a script; this file is also the program.

    agent = Scripted(tmp_path, {**GREETING, "session/prompt": [says("Hello."), reply(stopReason="end_turn")]})
    await AcpAgent(agent.command).run(...)
    assert agent.received[0]["method"] == "initialize"

The script gives for each method what the agent does when it is told or asked that: a list of steps. A method
without an entry is heard and not answered.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

Step = Sequence[Any]
Script = Mapping[str, Sequence[Step]]
SESSION: Final = "ses_1"


def reply(**result: object) -> Step:
    """Answer the question."""
    return ("reply", result)


def fail(code: int, message: str, data: object = None) -> Step:
    """Answer it with an error."""
    return ("fail", {"code": code, "message": message, "data": data})


def update(what: str, of: str = SESSION, **fields: object) -> Step:
    """Tell of a session."""
    return ("tell", "session/update", {"sessionId": of, "update": {"sessionUpdate": what, **fields}})


def says(text: str, session: str = SESSION) -> Step:
    """Say something."""
    return update("agent_message_chunk", session, content={"type": "text", "text": text})


def asks(method: str, **params: object) -> Step:
    """Ask the client, and wait for its answer."""
    return ("ask", method, {"sessionId": SESSION, **params})


GREETING: Final[Script] = {
    "initialize": [
        reply(protocolVersion=1, agentCapabilities={"mcpCapabilities": {"http": True}}, authMethods=[])
    ],
    "session/new": [reply(sessionId=SESSION)],
}
DONE: Final = reply(stopReason="end_turn")


class Scripted:
    """A scripted agent whose files are in a folder."""

    def __init__(self, folder: Path, script: Script) -> None:
        self._log = folder / "received"
        self.script = folder / "script"
        self.script.write_text(json.dumps(script), "utf-8")

    @property
    def command(self) -> list[str]:
        return [sys.executable, __file__, str(self.script), str(self._log)]

    @property
    def received(self) -> list[dict[str, Any]]:
        """Every message that the client sent, in order."""
        return [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]

    def told(self, method: str) -> Any:
        """The parameters of the one message of that method."""
        (found,) = (message["params"] for message in self.received if message.get("method") == method)
        return found


class _Agent:
    def __init__(self, script: Script, log: Path) -> None:
        self._script = script
        self._log = log
        self._asked: dict[str, object] = {}

    def serve(self) -> None:
        while message := self._read():
            method = message.get("method", "")
            if "id" in message:
                self._asked[method] = message["id"]
            for step in self._script.get(method, ()):
                self._do(method, step)

    def _read(self) -> dict[str, Any] | None:
        line = sys.stdin.readline()
        with self._log.open("a", encoding="utf-8") as log:
            log.write(line)
        return json.loads(line) if line else None

    def _do(self, method: str, step: Step) -> None:
        match step:
            case ["reply", result]:
                self._send(id=self._asked[method], result=result)
            case ["reply to", earlier, result]:
                self._send(id=self._asked[earlier], result=result)
            case ["fail", error]:
                self._send(id=self._asked[method], error=error)
            case ["tell", name, params]:
                self._send(method=name, params=params)
            case ["ask", name, params]:
                self._send(id="its own", method=name, params=params)
                self._read()
            case _:
                _misbehave(step)

    def _send(self, **message: object) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def _misbehave(step: Step) -> None:
    match step:
        case ["print", text, times]:
            sys.stdout.write(text * times)
            sys.stdout.flush()
        case ["complain", text]:
            sys.stderr.write(text)
            sys.stderr.flush()
        case ["leave a child", fifo]:
            _leave_a_child(fifo)
        case ["leave a runaway", fifo]:
            subprocess.Popen(["/bin/cat", fifo], start_new_session=True)
        case ["close", descriptor]:
            os.close(descriptor)
        case ["hang"]:
            signal.pause()
        case ["exit", code]:
            os._exit(code)
        case _:
            raise AssertionError(step)


def _leave_a_child(fifo: str) -> None:
    """Start a process that holds the named pipe, and our standard output, open for long."""
    held = os.open(fifo, os.O_WRONLY)
    os.write(held, b"here")
    subprocess.Popen(["/bin/sleep", "1000"], pass_fds=(held,))


if __name__ == "__main__":
    _Agent(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2])).serve()
