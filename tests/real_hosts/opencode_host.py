"""A real OpenCode in a clean room: a home and a project of its own, a scripted model, nothing else.

    done = host.run("run", "Say hello.")
    assert done.stdout == "Hello.\n"
    with host.serve() as server:
        desk = server.at(host.project)
        desk.prompt(desk.session(), "Say hello.")

Every process is bounded, and its process group is killed afterwards, whatever happened. A start
takes about 5 s of processor time; with the real catalogue of models it would be 8.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from real_hosts.host import Ran
from real_hosts.install import OPENCODE_PINNED
from real_hosts.opencode_server import Server
from real_hosts.terminal import COLUMNS, ROWS, Terminal

RUN_LIMIT_S: Final = 240.0
"""Longest time, in seconds, that one run of a host may take."""
INPUT: Final = "Ask anything"
"""What the interactive host shows where it takes its first input."""
BUSY: Final = "esc interrupt"
"""What it shows while a turn runs; judging is none."""
MODEL: Final = "claude-sonnet-4-5"
SMALL_MODEL: Final = "claude-haiku-4-5"
"""Asked for the title of a session; such a request has no tools."""


class OpenCode(msgspec.Struct, frozen=True):
    """One installed OpenCode with a home and a project of its own; see `prepare`."""

    binary: Path
    home: Path
    project: Path
    env: Mapping[str, str]
    """The whole environment of the host; nothing else is inherited."""

    @classmethod
    def prepare(cls, binary: Path, folder: Path, model_url: str) -> Self:
        """Lay out a home and a project below `folder` (which must exist) for a host that asks `model_url`."""
        home, project, scratch = folder / "home", folder / "project", folder / "tmp"
        for path in (home, project, scratch):
            path.mkdir()
        catalogue = folder / "models.json"
        catalogue.write_bytes(msgspec.json.encode(_catalogue()))
        host = cls(binary, home, project, _environment(home, scratch, catalogue))
        _settle_packages(host.config)
        host.configure(**_config(model_url))
        return host

    @property
    def config(self) -> Path:
        """The folder of the user's configuration."""
        return self.home / ".config" / "opencode"

    @property
    def log(self) -> Path:
        """What `serve` printed."""
        return self.home.parent / "serve.log"

    def having(self, **variables: str) -> Self:
        """The same host with more environment variables."""
        return msgspec.structs.replace(self, env={**self.env, **variables})

    def at(self, project: Path) -> Self:
        """The same host in another project."""
        return msgspec.structs.replace(self, project=project)

    def configure(self, **entries: object) -> None:
        """Set entries of the user's `opencode.json`; the others stay."""
        file = self.config / "opencode.json"
        now: dict[str, Any] = msgspec.json.decode(file.read_bytes()) if file.exists() else {}
        file.write_bytes(msgspec.json.encode({**now, **entries}))

    def unsettle_packages(self) -> None:
        """Take away what `prepare` laid out so that OpenCode does not wait for npm."""
        (self.config / "node_modules").rmdir()
        (self.config / "package-lock.json").unlink()

    def run(self, *arguments: str, stdin: str = "", timeout: float = RUN_LIMIT_S) -> Ran:
        """Run `opencode ARGUMENTS` to its end; what `opencode run` is told on `stdin` joins the prompt.

        Raises `subprocess.TimeoutExpired`, with the output so far, after `timeout` seconds.
        """
        with self.started(*arguments) as process:
            stdout, stderr = process.communicate(stdin, timeout=timeout)
        return Ran(process.returncode, stdout, stderr)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Start `opencode ARGUMENTS` with pipes in the project; its process group is killed at the end.

        `opencode run` begins when its standard input is at its end.
        """
        with (
            subprocess.Popen(
                [str(self.binary), *arguments],
                cwd=self.project,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            ) as process,
            _killed_at_the_end(process),
        ):
            yield process

    @contextmanager
    def serve(self, password: str = "") -> Iterator[Server]:
        """Start `opencode serve` on a free port and wait until it answers."""
        secret = {"OPENCODE_SERVER_PASSWORD": password} if password else {}
        port = _free_port()
        with (
            self.log.open("ab") as output,
            subprocess.Popen(
                [str(self.binary), "serve", "--hostname", "127.0.0.1", "--port", str(port)],
                cwd=self.project,
                env={**self.env, **secret},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            ) as process,
            Server(port, password, process) as server,
            _killed_at_the_end(process),
        ):
            try:
                server.begin()
            except TimeoutError as error:
                raise TimeoutError(f"{error}; its log: {self.log.read_text('utf-8')}") from error
            yield server

    @contextmanager
    def terminal(self, *arguments: str, columns: int = COLUMNS) -> Iterator[Terminal]:
        """Start `opencode ARGUMENTS` in a terminal of its own and wait until it takes input."""
        command, folder = [str(self.binary), *arguments], self.home.parent
        with Terminal.running(command, folder, self.project, self.env, (columns, ROWS)) as terminal:
            terminal.wait_for(INPUT)
            yield terminal


@contextmanager
def _killed_at_the_end(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def _environment(home: Path, scratch: Path, catalogue: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")),
        "TMPDIR": str(scratch),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        "OPENCODE_MODELS_PATH": str(catalogue),
    }


def _settle_packages(config: Path) -> None:
    """Pretend that the package for plugins is here: else every start waits for npm, offline a minute."""
    (config / "node_modules").mkdir(parents=True)
    wanted = {"dependencies": {"@opencode-ai/plugin": OPENCODE_PINNED}}
    lock = {"name": "opencode", "lockfileVersion": 3, "packages": {"": wanted}}
    (config / "package-lock.json").write_bytes(msgspec.json.encode(lock))


def _config(model_url: str) -> dict[str, object]:
    return {
        "model": f"anthropic/{MODEL}",
        "small_model": f"anthropic/{SMALL_MODEL}",
        "provider": {"anthropic": {"options": {"baseURL": f"{model_url}/v1", "apiKey": "fake"}}},
        "permission": "allow",
        "share": "disabled",
        "autoupdate": False,
    }


def _catalogue() -> dict[str, object]:
    """The two models that are used, in the form of the catalogue that OpenCode fetches."""
    return {
        "anthropic": {
            "id": "anthropic",
            "name": "Anthropic",
            "env": ["ANTHROPIC_API_KEY"],
            "npm": "@ai-sdk/anthropic",
            "models": {name: _model(name) for name in (MODEL, SMALL_MODEL)},
        }
    }


def _model(name: str) -> dict[str, object]:
    """Prices are in dollars for a million tokens."""
    return {
        "id": name,
        "name": name,
        "attachment": True,
        "reasoning": False,
        "temperature": True,
        "tool_call": True,
        "open_weights": False,
        "release_date": "2025-09-29",
        "last_updated": "2025-09-29",
        "modalities": {"input": ["text"], "output": ["text"]},
        "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75},
        "limit": {"context": 200_000, "output": 64_000},
    }
