"""The command `supervisor`. What a host starts and waits for goes a shorter way than the rest."""

# ruff: noqa: PLC0415 - what one way imports would slow down the other

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidecar.adapters.client import Hello
    from sidecar.servers.control import Control, Methods


def main() -> None:
    """Run one command and exit: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error."""
    if os.name != "posix":
        sys.exit(
            "Supervisor runs on Linux and macOS. On Windows, run it inside WSL, together with the agent."
        )
    if sys.argv[1:] == ["serve"]:
        sys.exit(serve())
    if sys.argv[1:] == ["mcp"]:
        sys.exit(mcp())
    from sidecar.cli import run

    sys.exit(run(serve=serve))


def serve() -> int:
    """Be the sidecar of this user, to the end of its life; the exit code."""
    from sidecar import __version__
    from sidecar.adapters import paths
    from sidecar.servers.serve import Life
    from sidecar.servers.serve import serve as live

    folders = paths.of_user()
    try:
        folders.prepare()
    except OSError as error:
        sys.exit(f"supervisor: the state folder cannot be used: {error}")

    def greet() -> Hello | None:
        from sidecar.adapters.client import Client

        return Client(folders).greet()

    return live(Life(folders.run, folders.log, __version__, _build), greet)


def mcp() -> str | None:
    """Be a host's pipe to the sidecar, until the host leaves; what went wrong, None for nothing."""
    from sidecar import __version__
    from sidecar.servers.mcp.pipe import PipeError, live

    try:
        live(__version__, _start)
    except (OSError, PipeError) as error:
        return f"supervisor: the sidecar does not answer ({error})\n  - see what is wrong: supervisor doctor"
    return None


def _start(_run: str) -> None:
    """Start the sidecar of this very installation; raises PipeError."""
    from sidecar.adapters import paths
    from sidecar.adapters.client import Client, SidecarError
    from sidecar.servers.mcp.pipe import PipeError

    try:
        Client(paths.of_user()).start()
    except SidecarError as error:
        raise PipeError(str(error)) from error


def _build(control: Control) -> Methods:
    from sidecar.wiring import build_methods

    return build_methods(control)


if __name__ == "__main__":
    main()
