"""Programs from npm that the machine's own Node is too old for, run in a room of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from real_hosts.host import Ran
from real_hosts.install import (
    NODE_PINNED,
    InstallError,
    Package,
    hosts_folder,
    installed,
    missing,
    node_binary,
)

LIMIT_S: Final = 180.0
"""Longest time, in seconds, that one run may take."""


class NodeProgram(msgspec.Struct, frozen=True):
    """A program and the Node that it runs in."""

    binary: Path
    node: Path

    def run(self, arguments: Sequence[str], home: Path, more: Mapping[str, str] | None = None) -> Ran:
        """Run it to its end, with nothing of the user's. `more`: variables."""
        path = os.pathsep.join((str(self.node.parent), "/usr/bin", "/bin"))
        done = subprocess.run(
            [str(self.binary), *arguments],
            cwd=home,
            env={"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def node_program(package: Package, version: str) -> NodeProgram:
    """Get it, and its Node; where that fails the test ends."""
    folder = hosts_folder()
    try:
        node = node_binary(folder)
        return NodeProgram(installed(package, version, folder, node), node)
    except InstallError as error:
        missing(f"node {NODE_PINNED}, {package.name} {version}: {error}")
