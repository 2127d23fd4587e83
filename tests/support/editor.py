"""An editor that speaks the Language Server Protocol with a real server, message by message."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

import sidecar

LIMIT_S = 120.0
"""Longest life of a server in a test, in seconds; then it is killed, and who waits reads the end."""
PULL: dict[str, Any] = {"textDocument": {"diagnostic": {}}}
"""The capabilities of a client that asks for diagnostics."""


class Editor:
    """`supervisor lsp` as a process, and the pipe to it. What it said unasked is in `published`.

    `heard`: the methods of all that it said. `module`: another server, which is a module of the tests.
    """

    def __init__(self, folder: Path, module: str = "") -> None:
        home = str(Path(sidecar.__file__).parents[1])
        tests = str(Path(__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-m", module] if module else [sys.executable, "-m", "sidecar", "lsp"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{home}{os.pathsep}{tests}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.published: list[tuple[str, list[Any]]] = []
        self.shown: list[str] = []
        self.heard: list[str] = []
        self._ids = 0
        self._guard = threading.Timer(LIMIT_S, self.process.kill)
        self._guard.start()

    def initialize(self, encodings: Iterable[str] = (), more: Mapping[str, Any] | None = None) -> Any:
        """What the server can do."""
        general = {"general": {"positionEncodings": list(encodings)}} if encodings else {}
        found = self.ask("initialize", capabilities={**general, **(more or {})}, processId=None, rootUri=None)
        self.tell("initialized")
        return found["result"]["capabilities"]

    def tell(self, method: str, /, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, /, **params: Any) -> Any:
        """The answer as it came; what was said before it is noted."""
        self._ids += 1
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self.until_answer(self._ids)

    def until_answer(self, number: int) -> Any:
        """The answer to the question of this number."""
        while True:
            message = self._read()
            if message.get("id") == number:
                return message
            self._note(message)

    def until(self, method: str) -> Any:
        """The next message of this method; a question is not answered."""
        while True:
            message = self._read()
            self._note(message)
            if message["method"] == method:
                return message

    def send(self, message: Any) -> None:
        self.write(msgspec.json.encode(message))

    def write(self, *bodies: bytes) -> None:
        """All at once."""
        assert self.process.stdin is not None
        self.process.stdin.write(
            b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in bodies)
        )
        self.process.stdin.flush()

    def open(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "markdown", "version": 0, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)

    def change(self, uri: str, text: str, version: int = 1) -> None:
        self.tell(
            "textDocument/didChange",
            textDocument={"uri": uri, "version": version},
            contentChanges=[{"text": text}],
        )

    def pull(self, uri: str) -> list[Any]:
        """What the server answers to the question what is wrong with a document."""
        items: list[Any] = self.ask("textDocument/diagnostic", textDocument={"uri": uri})["result"]["items"]
        return items

    def said(self) -> list[tuple[str, list[Any]]]:
        """What was published since the last look. The server answers in order, so nothing comes later."""
        self.pull("file:///nowhere")
        found, self.published = self.published, []
        return found

    def exit(self) -> int:
        """Leave as the protocol asks; the server's exit code."""
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(LIMIT_S)

    def close(self) -> None:
        """Hang up, and see the process end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()
        self._guard.cancel()

    def _note(self, message: Any) -> None:
        self.heard.append(message["method"])
        if message["method"] == "textDocument/publishDiagnostics":
            self.published.append((message["params"]["uri"], message["params"]["diagnostics"]))
        elif message["method"] == "window/showMessage":
            self.shown.append(message["params"]["message"])

    def _read(self) -> Any:
        assert self.process.stdout is not None
        size = 0
        while header := self.process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        assert size, "the server said nothing more"
        return msgspec.json.decode(self.process.stdout.read(size))
