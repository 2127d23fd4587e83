"""A sidecar of the version that is named, for the tests of the client."""

from __future__ import annotations

import os
import sys

from msgspec import Raw

from sidecar.kernel.errors import BadInputError
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.servers.control import Methods, Peer, SidecarControl
from sidecar.servers.serve import SidecarSetup, serve_sidecar


def build(_control: SidecarControl) -> Methods:
    async def pid(_params: Raw, _peer: Peer) -> bytes:
        return b'{"pid":%d}' % os.getpid()

    async def echo(params: Raw, _peer: Peer) -> Raw:
        return params

    async def refuse(_params: Raw, _peer: Peer) -> bytes:
        raise BadInputError("no session is known")

    return {"pid": pid, "echo": echo, "refuse": refuse}


if __name__ == "__main__":
    version, code = sys.argv[1:]

    def read_code() -> str:
        return code

    paths = user_paths()
    paths.prepare()
    life = SidecarSetup(paths.run, paths.log, version, build, read_code)
    sys.exit(serve_sidecar(life, SidecarClient(paths, version=version, read_code=read_code).greet))
