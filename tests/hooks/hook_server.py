"""A runtime for tests: serves hooks that say who answered, and dies where an event tells it to."""

from __future__ import annotations

import json
import os
import signal
import sys

from msgspec import Raw, Struct

from sidecar import __version__
from sidecar.platform import rpc
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.servers.control import Methods, Peer, SidecarControl
from sidecar.servers.serve import SidecarSetup, serve_sidecar


class Event(Struct):
    die: int = 0


class Call(Struct):
    event: Event


def build(control: SidecarControl) -> Methods:
    async def hook(params: Raw, _peer: Peer) -> bytes:
        if rpc.read_params(params, Call).event.die == control.pid:
            os.kill(control.pid, signal.SIGKILL)
        return json.dumps({"systemMessage": f"hook of {control.pid}"}).encode()

    return {"hook": hook}


if __name__ == "__main__":
    paths = user_paths()
    paths.prepare()
    sys.exit(
        serve_sidecar(
            SidecarSetup(paths.run, paths.log, __version__, build), lambda: SidecarClient(paths).greet()
        )
    )
