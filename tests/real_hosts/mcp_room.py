"""A user's home with a sidecar of its own and one session, for clients of our tools that are no host."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from sidecar.hosts.ports import McpAccess
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import Paths
from sidecar.platform.session_store import SessionFiles
from support.cases import goal

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
KEY: Final = SessionKey("opencode", "ses_1")
CONDITION: Final = "the parser accepts comments"


class _Bound(msgspec.Struct, frozen=True):
    host: str = ""
    session: str = ""


class Room(msgspec.Struct, frozen=True):
    """The home, whose sidecar runs."""

    home: Path

    def access(self, key: SessionKey | None = None) -> McpAccess:
        """Where the tools are over HTTP, and the user's token or that of a session."""
        state, bound = state_of(self.home), _Bound(key.host, key.id) if key else _Bound()
        return SidecarClient(Paths(state, state)).call("mcp_access", bound, McpAccess)


def state_of(home: Path) -> Path:
    """Where Supervisor keeps what it knows."""
    return home / ".local" / "state" / "supervisor"


@contextmanager
def room(home: Path, serve: Sequence[str] = (str(SUPERVISOR), "serve")) -> Iterator[Room]:
    """Lay it out in a folder that is there, and let `serve` be its sidecar; that has ended afterwards."""
    project = home / "project"
    project.mkdir()
    SessionFiles(state_of(home)).save(Session(key=KEY, project=str(project), goal=goal(CONDITION)))
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    with subprocess.Popen(serve, cwd=project, env=environment, stdout=subprocess.PIPE) as sidecar:
        assert sidecar.stdout is not None
        try:
            sidecar.stdout.read()  # it closes its output when it listens
            assert (state_of(home) / "run" / "sidecar.sock").exists()
            yield Room(home)
        finally:
            sidecar.terminate()
            sidecar.wait(LIMIT_S)
