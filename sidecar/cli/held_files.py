"""The files that steer Supervisor, as the command line reads and writes them."""

from __future__ import annotations

from pathlib import Path

from sidecar.kernel.held_edits import HeldEdit
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.systems.supervision.people import HeldEditsRequest
from sidecar.wiring.platform import build_steering


class CommandLineFiles:
    """Implements FilesInForce for a process beside the sidecar: reads what it keeps, and asks it to vouch."""

    def __init__(self) -> None:
        """Read what the sidecar of this user keeps."""
        self._kept = build_steering(user_paths().state, None)

    def path_in_force(self, path: Path) -> Path:
        return self._kept.path_in_force(path)

    def vouch(self, path: Path) -> None:
        """Let what was just written count; where no sidecar runs, it will. Raises SidecarError."""
        client = SidecarClient(user_paths())
        if client.greet() is None:
            return
        held = client.call("held", HeldEditsRequest(project=""), tuple[HeldEdit, ...])
        digests = tuple(edit.digest for edit in held if edit.path == str(path))
        if digests:
            client.call("accept", HeldEditsRequest(project="", digests=digests), tuple[str, ...])
