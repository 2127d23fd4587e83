"""A client of our tools that offers forms and answers them: `CALLS ACTION [COMMAND...]`.

CALLS is JSON: names of tools, each with its arguments. It prints what each call was answered. COMMAND is a
pipe to the sidecar; without one this process is connected itself.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import chdir
from typing import IO, Any

WHO = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x", "version": "1"}}


def connect(command: list[str]) -> tuple[IO[bytes], IO[bytes]]:
    """Return what the sidecar says, and where it listens."""
    if command:
        pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert pipe.stdout is not None
        assert pipe.stdin is not None
        return pipe.stdout, pipe.stdin
    link = socket.socket(socket.AF_UNIX)
    with chdir(os.path.expanduser("~/.local/state/supervisor/run")):  # noqa: PTH111 - nothing else is a path
        link.connect("sidecar.sock")
    heard, said = link.makefile("rb"), link.makefile("wb")
    said.write(b'{"jsonrpc":"2.0","id":1,"method":"mcp","params":{"version":"0"}}\n')
    said.flush()
    while b"result" not in heard.readline():
        pass
    return heard, said


def main(calls: str, action: str, *command: str) -> None:
    heard, said = connect([*command])

    def say(**message: Any) -> None:
        said.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        said.flush()

    say(id=1, method="initialize", params={**WHO, "capabilities": {"elicitation": {}}})
    heard.readline()
    say(method="notifications/initialized")
    for name, given in json.loads(calls):
        say(id=2, method="tools/call", params={"name": name, "arguments": given})
        while "method" in (told := json.loads(heard.readline())):
            if "id" in told:
                say(id=told["id"], result={"action": action})
        sys.stdout.write(json.dumps(told["result"]["content"]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
