"""Clients of MCP servers that cost next to nothing themselves: lines to a process, or posts to a URL.

Both shake hands when they are made, and ask one thing at a time.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from itertools import count
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec
from stage import SILENCE_S, Stage

HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a benchmark", "version": "1"},
}
SHAKEN: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ACCEPTED: Final = 202
FINE: Final = 200


class Client(Protocol):
    """Somebody who has shaken hands with a server."""

    def ask(self, method: str, params: Mapping[str, object]) -> Any:  # noqa: ANN401 - what JSON has
        """The result of one request. Raises RuntimeError where it is an error."""

    def end(self) -> None:
        """Leave."""


def called(client: Client, session: str) -> float:
    """Call the tool `status`; milliseconds until its answer is there. Raises RuntimeError where it fails."""
    begun = time.perf_counter()
    found = client.ask("tools/call", {"name": "status", "arguments": {"session": session}})
    cost = (time.perf_counter() - begun) * 1000
    if found.get("isError") or session not in str(found):
        raise RuntimeError(f"the tool says {found!r}")
    return cost


def pinged(client: Client) -> float:
    """Milliseconds until a ping is answered."""
    begun = time.perf_counter()
    client.ask("ping", {})
    return (time.perf_counter() - begun) * 1000


class Piped:
    """A server that is started for this client alone, as hosts do it."""

    def __init__(self, stage: Stage, command: Sequence[str]) -> None:
        """Start it and shake hands."""
        self._process = subprocess.Popen(  # noqa: S603 - our own commands
            list(command),
            cwd=stage.project,
            env=dict(stage.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None  # noqa: S101 - for mypy: both are pipes
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._to, self._from = self._process.stdin, self._process.stdout
        self._numbers = count(1)
        self.ask("initialize", HELLO)
        self._say(SHAKEN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, method: str, params: Mapping[str, object]) -> Any:  # noqa: ANN401 - see Client
        number = next(self._numbers)
        self._say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while line := self._from.readline():
            if (found := msgspec.json.decode(line)).get("id") == number:
                return _result(found)
        raise RuntimeError("the server has ended")

    def end(self) -> None:
        self._to.close()
        self._process.wait(SILENCE_S)
        self._from.close()

    def _say(self, message: object) -> None:
        self._to.write(msgspec.json.encode(message) + b"\n")
        self._to.flush()


class Posted:
    """A session at a server that others use too, over one connection that is kept."""

    def __init__(self, url: str, token: str = "") -> None:
        """Connect and shake hands."""
        parts = urlsplit(url)
        self._path = parts.path
        self._line = HTTPConnection(parts.netloc, timeout=SILENCE_S)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }
        self._numbers = count(1)
        self.ask("initialize", HELLO)
        self._post(SHAKEN, ACCEPTED)

    def ask(self, method: str, params: Mapping[str, object]) -> Any:  # noqa: ANN401 - see Client
        number = next(self._numbers)
        said = self._post({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, FINE)
        for line in said.splitlines():
            text = line.removeprefix(b"data:").strip()
            if text.startswith(b"{") and (found := msgspec.json.decode(text)).get("id") == number:
                return _result(found)
        raise RuntimeError(f"no answer to {method} in {said!r}")

    def end(self) -> None:
        self._line.request("DELETE", self._path, headers=self._headers)
        self._line.getresponse().read()
        self._line.close()

    def _post(self, message: object, wanted: int) -> bytes:
        """What is said to it, as JSON or as a stream of events."""
        self._line.request("POST", self._path, msgspec.json.encode(message), self._headers)
        answer = self._line.getresponse()
        said = answer.read()
        if answer.status != wanted:
            raise RuntimeError(f"{answer.status}: {said!r}")
        if session := answer.getheader("mcp-session-id"):
            self._headers = {
                **self._headers,
                "mcp-session-id": session,
                "mcp-protocol-version": str(HELLO["protocolVersion"]),
            }
        return said


def _result(found: Mapping[str, Any]) -> Any:  # noqa: ANN401 - what JSON has
    if "error" in found:
        raise RuntimeError(f"the server says {found['error']}")
    return found["result"]
