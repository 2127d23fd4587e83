"""Entry point of the `supervisor` command.

Commands that a host starts and waits for (`serve`, `mcp`) take a shorter path to start fast.
"""

# ruff: noqa: PLC0415 - what one way imports would slow down the other

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from types import ModuleType

    from sidecar.platform.rpc import HelloAnswer
    from sidecar.servers.control import Methods, SidecarControl


def main() -> None:
    """Run one command and exit: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error."""
    if os.name != "posix":
        sys.exit(
            "Supervisor runs on Linux and macOS. On Windows, run it inside WSL, together with the agent."
        )
    if sys.argv[1:] == ["serve"]:
        sys.exit(run_sidecar())
    if sys.argv[1:] == ["mcp"]:
        sys.exit(run_mcp_pipe())
    from sidecar.cli import run_command

    sys.exit(run_command(serve=run_sidecar))


def run_sidecar() -> int:
    """Run the user's sidecar process until it ends; return the exit code."""
    if "msgspec" not in sys.modules:
        _import_msgspec_alone()
    from sidecar import __version__
    from sidecar.platform import paths
    from sidecar.servers.serve import SidecarSetup
    from sidecar.servers.serve import serve_sidecar as serve_until_idle

    folders = paths.user_paths()
    try:
        folders.prepare()
    except OSError as error:
        sys.exit(f"supervisor: the state folder cannot be used: {error}")

    def greet() -> HelloAnswer | None:
        from sidecar.platform.client import SidecarClient

        return SidecarClient(folders).greet()

    return serve_until_idle(SidecarSetup(folders.run, folders.log, __version__, _build_methods), greet)


def _import_msgspec_alone() -> None:
    """Import msgspec without typing_extensions, which it takes where it is there; `typing` has all of it.

    A host waits for the sidecar's first answer, and this is a twentieth of that.
    """
    sys.modules["typing_extensions"] = cast("ModuleType", None)  # the documented way to hide a module
    import msgspec  # noqa: F401

    del sys.modules["typing_extensions"]


def run_mcp_pipe() -> str | None:
    """Connect a host's pipe to the sidecar until the host leaves; return an error text, None for success."""
    from sidecar import __version__
    from sidecar.servers.mcp.pipe import PipeError, live

    try:
        live(__version__, _start_sidecar)
    except (OSError, PipeError) as error:
        return f"supervisor: the sidecar does not answer ({error})\n  - see what is wrong: supervisor doctor"
    return None


def _start_sidecar(_run: str) -> None:
    """Start the sidecar of this installation; raises PipeError."""
    from sidecar.platform import paths
    from sidecar.platform.client import SidecarClient, SidecarError
    from sidecar.servers.mcp.pipe import PipeError

    try:
        SidecarClient(paths.user_paths()).start()
    except SidecarError as error:
        raise PipeError(str(error)) from error


def _build_methods(control: SidecarControl) -> Methods:
    from sidecar.wiring.sidecar import build_methods

    return build_methods(control)


if __name__ == "__main__":
    main()
