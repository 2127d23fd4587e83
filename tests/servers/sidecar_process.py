"""A real sidecar with methods for tests:  sidecar_process.py STATE VERSION [SUCCESSION_S]."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from msgspec import Raw

from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import Paths
from sidecar.platform.rpc import HelloAnswer
from sidecar.servers import serve as serving
from sidecar.servers.control import Methods, Peer, SidecarControl


def build(_control: SidecarControl) -> Methods:
    released = asyncio.Event()

    async def wait(_params: Raw, peer: Peer) -> bytes:
        peer.notify("begun")
        await released.wait()
        return b'"done"'

    async def release(_params: Raw, _peer: Peer) -> bytes:
        released.set()
        return b"{}"

    return {"wait": wait, "release": release}


def main() -> int:
    state, version = Path(sys.argv[1]), sys.argv[2]
    paths = Paths(state, state)
    paths.prepare()
    for seconds in sys.argv[3:]:
        serving.SUCCESSION_S = float(seconds)  # type: ignore[misc]

    def greet() -> HelloAnswer | None:
        return SidecarClient(paths, version=version).greet()

    return serving.serve_sidecar(serving.SidecarSetup(paths.run, paths.log, version, build), greet)


if __name__ == "__main__":
    sys.exit(main())
