"""A project, a home and a sidecar of their own below a temporary folder, and the ways to reach the sidecar.

Nothing of the user's is read or written. Every process that a benchmark starts is waited for, or ended by its
id.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import shutil
import signal
import socket
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Raw, Struct

from sidecar.cli.demo_agent import build_shop_project
from sidecar.platform.installation import plugin_root

HERE: Final = Path(__file__).resolve().parent
SILENCE_S: Final = 60.0
"""Longest wait for an answer on the socket, and for a process to listen."""
SHELL: Final = {f"SESSION_VARIABLE_{number}": f"/opt/tools/of/number/{number}" * 2 for number in range(30)}
"""A developer's shell has some fifty variables, and the relay sends them all with every event."""


class Unfit(Exception):  # noqa: N818 - it is no error of the benchmark
    """Something that a benchmark needs is not on this machine."""


class Stage(Struct, frozen=True):
    """Where it plays. `environment` is the complete one of hosts and hooks."""

    folder: Path
    project: Path
    home: Path
    environment: Mapping[str, str]
    supervisor: Path

    @property
    def run(self) -> Path:
        """The folder of the socket and the lock."""
        return self.home / ".local" / "state" / "supervisor" / "run"

    @property
    def python(self) -> str:
        """The interpreter that the hooks' `python3` is."""
        return self.program("python3")

    def program(self, name: str) -> str:
        """A program on the session's PATH. Raises Unfit."""
        found = shutil.which(name, path=self.environment["PATH"])
        if not found:
            raise Unfit(f"{name} is not on PATH")
        return found

    def hook(self, event: str) -> list[str]:
        """The command line by which the host starts our hook, from hooks.json."""
        hooks = msgspec.json.decode((plugin_root() / "hooks" / "hooks.json").read_bytes())
        hook = hooks["hooks"][event][0]["hooks"][0]
        root = str(plugin_root())
        return [
            self.program(hook["command"]),
            *(part.replace("${CLAUDE_PLUGIN_ROOT}", root) for part in hook["args"]),
        ]

    def start(self) -> float:
        """Start a sidecar; milliseconds until its socket accepts."""
        return self.started([str(self.supervisor), "serve"], self.run)

    def started(self, command: Sequence[str], place: Path) -> float:
        """Start a process; milliseconds until it has closed its output and its socket in `place` accepts."""
        begun = time.perf_counter()
        read_end, write_end = os.pipe()
        try:
            _spawn(command, self.environment, stdout=write_end)
        finally:
            os.close(write_end)
        if not select.select([read_end], [], [], SILENCE_S)[0]:
            raise RuntimeError(f"{command[0]} does not listen")
        with chdir(place), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect("sidecar.sock")
        cost = (time.perf_counter() - begun) * 1000
        os.close(read_end)
        return cost

    def end(self, place: Path | None = None) -> None:
        """End the sidecar, whoever started it, and wait until it is gone."""
        with suppress(FileNotFoundError), ((place or self.run) / "sidecar.lock").open("rb") as lock:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            pid = int(lock.read())
            os.kill(pid, signal.SIGTERM)
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets it go when the process is gone
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def pid(self, place: Path | None = None) -> int:
        """The process that holds the lock."""
        return int(((place or self.run) / "sidecar.lock").read_bytes())

    def timed(self, command: Sequence[str], given: bytes = b"") -> tuple[float, bytes]:
        """Run a command to its end: milliseconds from its start to its end, and what it printed.

        Raises RuntimeError where it failed.
        """
        stdin, stdout = self.folder / "stdin", self.folder / "stdout"
        stdin.write_bytes(given)
        with stdin.open("rb") as source, stdout.open("wb") as target:
            begun = time.perf_counter()
            pid = _spawn(command, self.environment, stdin=source.fileno(), stdout=target.fileno())
            _, status = os.waitpid(pid, 0)
            cost = (time.perf_counter() - begun) * 1000
        if status:
            raise RuntimeError(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
        return cost, stdout.read_bytes()


class Line:
    """One connection to the sidecar that is kept: what a call costs without a process of its own."""

    def __init__(self, stage: Stage) -> None:
        """Connect."""
        self._environment = stage.environment
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(SILENCE_S)
        with chdir(stage.run):
            self._socket.connect("sidecar.sock")
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def hook(self, event: bytes) -> bytes:
        """Tell of an event as the relay does; the answer. Raises RuntimeError where it is an error."""
        params = {
            "host": "claude-code",
            "event": Raw(event),
            "environment": self._environment,
            "host_pid": os.getpid(),
        }
        self.send("hook", params)
        answer = self.receive()
        if b'"error":' in answer[:40]:
            raise RuntimeError(answer.decode())
        return answer

    def timed(self, event: bytes) -> float:
        """Tell of an event; milliseconds until the answer is there."""
        begun = time.perf_counter()
        self.hook(event)
        return (time.perf_counter() - begun) * 1000

    def await_built(self) -> None:
        """Wait until the sidecar has built everything: before, it cannot say what it does not know."""
        self.send("no such method", {})
        self.receive()

    def send(self, method: str, params: Mapping[str, object]) -> None:
        """Ask something."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._socket.sendall(msgspec.json.encode(call) + b"\n")

    def receive(self) -> bytes:
        """The next answer; signs of work are passed over."""
        while (line := self._file.readline()).startswith(b'{"jsonrpc":"2.0","method":'):
            pass
        return line


@contextmanager
def staged() -> Iterator[Stage]:
    """Lay everything out; in the end no process and no file is left. Raises Unfit."""
    supervisor = Path(sysconfig.get_path("scripts")) / "supervisor"
    if not supervisor.is_file():
        raise Unfit(f"{supervisor} is not there: install the package into this Python first")
    folder = Path(tempfile.mkdtemp(prefix="sv-bench-"))
    try:
        scene = asyncio.run(build_shop_project(folder, supervisor))
        environment = {**scene.environment, **SHELL, **_told_by_host(scene.project, scene.home)}
        stage = Stage(folder, scene.project, scene.home, environment, supervisor)
        stage.run.mkdir(parents=True, mode=0o700, exist_ok=True)
        try:
            yield stage
        finally:
            stage.end()
    finally:
        shutil.rmtree(folder)


def _told_by_host(project: Path, home: Path) -> dict[str, str]:
    """What Claude Code adds to the environment of its hooks."""
    return {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_PLUGIN_ROOT": str(plugin_root()),
        "CLAUDE_PLUGIN_DATA": str(home / ".claude" / "plugins" / "data" / "supervisor"),
        "CLAUDE_PROJECT_DIR": str(project),
        "PWD": str(project),
    }


def _spawn(
    command: Sequence[str], environment: Mapping[str, str], *, stdout: int, stdin: int | None = None
) -> int:
    """Start a process at the least cost of ours, which would be in every figure; its id.

    All descriptors of ours but these are closed in it, for Python opens them so.
    """
    actions: list[tuple[int, int, int]] = [(os.POSIX_SPAWN_DUP2, stdout, 1)]
    with Path(os.devnull).open("r+b") as null:
        actions.append((os.POSIX_SPAWN_DUP2, null.fileno() if stdin is None else stdin, 0))
        actions.append((os.POSIX_SPAWN_DUP2, null.fileno(), 2))
        return os.posix_spawn(  # noqa: TID251 - subprocess adds a millisecond
            command[0], list(command), environment, file_actions=actions
        )
