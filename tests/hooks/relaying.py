"""Runs the hooks as the host does, by their own command lines, beside a sidecar that says what it is told."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import sidecar

ROOT: Final = Path(__file__).parents[2]
RELAY: Final = ROOT / "hooks" / "relay.py"
LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
PACKAGE_HOME: Final = Path(sidecar.__file__).parents[1]


def entries() -> dict[str, dict[str, Any]]:
    """Every hook of the plugin, by its event."""
    found = {}
    for file in ("hooks.json", "changed.json", "expansion.json", "failure.json"):
        hooks = json.loads((ROOT / "hooks" / file).read_text(encoding="utf-8"))["hooks"]
        for event, (group, *_) in hooks.items():
            (found[event],) = group["hooks"]
    return found


EVENTS: Final = tuple(entries())


def command(event: str, *, root: Path = ROOT, silence: str = "20", total: str = "25") -> list[str]:
    """The command line of an event, as the host makes it, but with limits for a busy machine."""
    entry = entries()[event]
    line = [entry["command"], *(one.replace("${CLAUDE_PLUGIN_ROOT}", str(root)) for one in entry["args"])]
    return [*line[:-3], silence, total, line[-1]]


def path_of(*folders: Path) -> str:
    """Build a PATH with these folders, and this Python as `python3` without its neighbours."""
    python = Path(os.environ["HOME"], "python", "python3")
    python.parent.mkdir(exist_ok=True)
    if not python.exists():
        python.symlink_to(sys.executable)
    return os.pathsep.join([*map(str, folders), str(python.parent), "/usr/bin", "/bin"])


def run(
    line: Sequence[str], event: bytes, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a hook in the environment of a session: this test's home, a PATH without us, and `environment`."""
    named = {name: os.environ[name] for name in ("HOME", "XDG_STATE_HOME")}
    return subprocess.run(
        line,
        input=event,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
        cwd=cwd,
        env={"PATH": path_of(), **named, **environment},
    )


class FakeSidecar:
    """Serves one connection after the other with the next of `replies`: lines to send, then hang up.

    A reply that ends with None keeps the connection open instead.
    """

    def __init__(self, state: Path, *replies: Sequence[bytes | None]) -> None:
        (state / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
        self.asked: list[bytes] = []
        self._replies = replies
        self._kept: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with chdir(state / "run"):
            self._listener.bind("sidecar.sock")
            Path("sidecar.lock").write_text(f"{os.getpid()}\n", encoding="utf-8")
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for link in self._kept:
            link.close()
        self._thread.join(LIMIT_S)

    def _serve(self) -> None:
        with suppress(OSError):
            for reply in self._replies:
                self._answer(self._listener.accept()[0], reply)

    def _answer(self, link: socket.socket, reply: Sequence[bytes | None]) -> None:
        link.settimeout(LIMIT_S)
        with link.makefile("rb") as file:
            self.asked.append(file.readline())
        for said in reply:
            if said is None:
                self._kept.append(link)
                return
            link.sendall(said)
        link.close()


def answer(text: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"result":' + text + b"}\n"


def refusal(message: str) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":1,"error":%b}\n' % json.dumps({"code": -32602, "message": message}).encode()
    )


class Scene(NamedTuple):
    """Where a session is, and where Supervisor keeps its things."""

    state: Path
    project: Path

    def prints(
        self, *replies: Sequence[bytes | None], event: str = "Stop", given: bytes = b"{}", silence: str = "20"
    ) -> Any:
        """What a hook prints beside a sidecar that says these replies, as JSON; None for nothing."""
        with FakeSidecar(self.state, *replies):
            done = run(command(event, silence=silence), given, self.project)
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    def asks(self, given: bytes, **environment: str) -> bytes:
        """Return the line that the sidecar gets."""
        with FakeSidecar(self.state, [answer(b"{}")]) as fake:
            run(command("Stop"), given, self.project, **environment)
        (line,) = fake.asked
        return line
