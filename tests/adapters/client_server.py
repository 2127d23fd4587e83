"""A sidecar of the version that is named, for the tests of the client."""

from __future__ import annotations

import os
import sys

from msgspec import Raw

from sidecar.adapters.client import Client
from sidecar.adapters.paths import of_user
from sidecar.ports import BadInputError
from sidecar.servers.control import Control, Methods, Peer
from sidecar.servers.serve import Life, serve


def build(_control: Control) -> Methods:
    async def pid(_params: Raw, _peer: Peer) -> bytes:
        return b'{"pid":%d}' % os.getpid()

    async def echo(params: Raw, _peer: Peer) -> Raw:
        return params

    async def refuse(_params: Raw, _peer: Peer) -> bytes:
        raise BadInputError("no session is known")

    return {"pid": pid, "echo": echo, "refuse": refuse}


if __name__ == "__main__":
    version = sys.argv[1]
    paths = of_user()
    paths.prepare()
    life = Life(paths.run, paths.log, version, build)
    sys.exit(serve(life, lambda: Client(paths, version=version).greet()))
